/* Memory of this daemon's own making: control memory, boards, hint pages, futures segments; measured, told to the store.
 */
#ifndef PW_DAEMON_OVERHEAD_H
#define PW_DAEMON_OVERHEAD_H

#include "daemon/daemon.h"

struct pw_backing;

/* Pages of it are about to be allocated: at the end of the turn it is measured, and some others, each in its turn. */
void pw_overhead_reserved(struct pw_backing *backing);
/* It goes. */
void pw_overhead_forget(struct pw_backing *backing);
/* What is due of that. Who was seen with much more than was granted loses its sessions, and what nothing was granted in is given back. */
void pw_overhead_turn(struct pw_daemon *daemon);
/* Measure again what those memfds take, and tell the store the difference. */
void pw_overhead_refresh(struct pw_daemon *daemon);
/* `granted_bytes` of each memfd of client segments: what the store granted in them. */
void pw_overhead_grants(struct pw_daemon *daemon);

#endif
