/* Who waits for what, read from where the waits themselves are kept: notes of sleeping threads, requests for room, lookups,
 * compilations, objects of other hosts.
 */
#ifndef PW_DAEMON_INSPECT_WAITS_H
#define PW_DAEMON_INSPECT_WAITS_H

#include "daemon/session/session.h"
#include "daemon/wait.h"

/* Those of `session`, or of all (NULL). There may be 65,536 notes a session: false: some were not looked at, since it took too
 * long. */
bool pw_waits_each(struct pw_daemon *daemon, struct pw_dsession *session, void (*row)(void *context, const struct pw_wait_row *row),
                   void *context);

#endif
