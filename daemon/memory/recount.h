/* Counts that the dead left on their tenant's hint page: cleared once the notes of its living sessions were walked
 * (plane/recount.h).
 */
#ifndef PW_DAEMON_MEMORY_RECOUNT_H
#define PW_DAEMON_MEMORY_RECOUNT_H

#include "daemon/session/tenant.h"

/* A session's notes were taken back. A walk of its tenant's begins anew; `marks`, NULL: none. No memory for it: the counts stay. */
void pw_recount_mark(struct pw_daemon *daemon, struct pw_tenant *tenant, const struct pw_hint_marks *marks);
/* Walk some of the notes. True: there is more at once. */
bool pw_recounts_turn(struct pw_daemon *daemon, uint64_t now_us);
uint64_t pw_recounts_next_us(const struct pw_daemon *daemon); /* UINT64_MAX: none */
void pw_recount_free(struct pw_tenant *tenant);

#endif
