/* A scan: the lanes that the store names are read up to what they have now, before something is freed, given to a run or moved.
 *
 * Mostly that is done in one call. Where a tenant's lanes have more than its part of a round, its scan goes on in the turns that
 * follow: until then what is of it waits, and its next scan. Nobody else's does.
 */
#ifndef PW_DAEMON_CLIENT_SCAN_H
#define PW_DAEMON_CLIENT_SCAN_H

#include "daemon/session/session.h"

void pw_scans_tenant_init(struct pw_tenant *tenant);
/* Between pw_store_reclaim_begin() and what comes after the scan. */
void pw_scan(struct pw_daemon *daemon);
/* Free what lost its last reference: swap, look, free. */
void pw_scan_reclaim(struct pw_daemon *daemon, uint64_t now_us);
/* Go on with those that were not through. True: there is one. */
bool pw_scans_turn(struct pw_daemon *daemon, uint64_t now_us);

#endif
