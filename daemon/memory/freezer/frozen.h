/* Frozen puts: values that nobody but the daemon can write, from the moment that they are ready. The daemon asks the store for room
 * in the tenant's freezer on behalf of the client, which waits for it as for its own. It has the worker copy the value from the
 * client's segment, makes it ready, and hands the reference over.
 */
#ifndef PW_DAEMON_MEMORY_FREEZER_FROZEN_H
#define PW_DAEMON_MEMORY_FREEZER_FROZEN_H

#include "daemon/session/output.h"

/* Answered with the object when it is ready. */
void pw_frozen_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Freeze *request);
/* The worker has copied it, or not. */
void pw_frozen_copied(struct pw_daemon *daemon, uint64_t token, enum pw_status status);
/* Those that are still being copied. */
void pw_frozen_done(struct pw_daemon *daemon);

#endif
