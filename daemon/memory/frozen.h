/* Frozen puts: values that nobody but the daemon can write, from the moment that they are ready.
 *
 * A freezer is a producer of the tenant that is no process: a session and a segment of the store whose memfd only the daemon has
 * writable; everybody else gets it read-only, as any other. The daemon asks the store for room there on behalf of the client, which
 * waits for it as for its own, has the worker copy the value from the client's segment, makes it ready, and hands the reference
 * over.
 */
#ifndef PW_DAEMON_MEMORY_FROZEN_H
#define PW_DAEMON_MEMORY_FROZEN_H

#include "daemon/session/output.h"

struct pw_freezer;
struct pw_frozen;

/* Answered with the object when it is ready. */
void pw_frozen_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Freeze *request);
/* The store's answer about room for it. */
void pw_frozen_room(struct pw_daemon *daemon, struct pw_frozen *frozen_take, const struct pw_store_action *action);
/* The worker has copied it, or not. */
void pw_frozen_copied(struct pw_daemon *daemon, uint64_t token, enum pw_status status);
/* It has no session any more, and got no room. */
void pw_frozen_free(struct pw_frozen *frozen);
/* Those that are still being copied. */
void pw_frozen_done(struct pw_daemon *daemon);

/* The tenant's freezer takes no more values, unless it has puts under way: it goes when nothing is left in it. The next put makes
 * another. */
void pw_freezer_end(struct pw_daemon *daemon, struct pw_tenant *tenant);
void pw_freezer_free(struct pw_freezer *freezer);
struct pw_backing *pw_freezer_backing(const struct pw_freezer *freezer);

#endif
