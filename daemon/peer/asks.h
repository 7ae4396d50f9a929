/* What sessions ask and other hosts answer (opens, fetches, names), counted: a client that asks without end, of a host that does
 * not answer, is refused, and nobody else notices.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_ASKS_H
#define PW_DAEMON_PEER_ASKS_H

#include "daemon/session/session.h"

#define PW_ASKS_OF_SESSION 1024u /* a thread each */
#define PW_ASKS_OF_TENANT 32768u

/* Errors: PW_LIMIT. */
PW_MUST_CHECK enum pw_status pw_asks_begin(struct pw_dsession *session, struct pw_error *ret_err);
/* It is answered, or will not be; session NULL: it has ended. */
void pw_asks_end(struct pw_tenant *tenant, struct pw_dsession *session);

#endif
