/* Memory that is measured and told to the store: boards and bells, of the daemon's own making; control memory, hint pages, futures
 * segments, and whatever clients make of their memory besides, each as its tenant's.
 */
#ifndef PW_DAEMON_MEMORY_OVERHEAD_H
#define PW_DAEMON_MEMORY_OVERHEAD_H

#include "daemon/daemon.h"

struct pw_backing;
struct pw_tenant;

/* Pages of it were given back: at the end of the turn it is measured. */
void pw_overhead_returned(struct pw_backing *backing);
/* They are about to be allocated: the same, and some others, each in its turn. */
void pw_overhead_reserved(struct pw_backing *backing);
/* It goes. */
void pw_overhead_forget(struct pw_backing *backing);
void pw_overhead_forget_tenant(struct pw_daemon *daemon, struct pw_tenant *tenant);
/* What is due of that. Who was seen with much more than was granted loses its sessions, and what nothing was granted in is given
 * back. */
void pw_overhead_turn(struct pw_daemon *daemon);
/* Measure again what those memfds take, and tell the store the difference. */
void pw_overhead_refresh(struct pw_daemon *daemon);
/* `granted_bytes` of each memfd of client segments: what the store granted in them. */
void pw_overhead_grants(struct pw_daemon *daemon);

#endif
