/* A look: the lanes that the store names are read up to what they have now, before something is freed, given to a run or moved.
 *
 * Mostly that is done in one call. Where a tenant's lanes have more than its part of a round, its look goes on in the turns that
 * follow: until then what is of it waits, and its next look. Nobody else's does.
 */
#ifndef PW_DAEMON_CLIENT_LOOK_H
#define PW_DAEMON_CLIENT_LOOK_H

#include "daemon/session/session.h"

void pw_looks_tenant_init(struct pw_tenant *tenant);
/* Between pw_store_reclaim_begin() and what comes after the look. */
void pw_look(struct pw_daemon *daemon);
/* Free what lost its last reference: swap, look, free. */
void pw_look_reclaim(struct pw_daemon *daemon, uint64_t now_us);
/* Go on with those that were not through. True: there is one. */
bool pw_looks_turn(struct pw_daemon *daemon, uint64_t now_us);

#endif
