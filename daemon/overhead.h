/* Memory of this daemon's own making: control memory, boards, hint pages, futures segments; measured, told to the store.
 */
#ifndef PW_DAEMON_OVERHEAD_H
#define PW_DAEMON_OVERHEAD_H

#include "daemon/daemon.h"

/* Measure again what those memfds take, and tell the store the difference. */
void pw_overhead_refresh(struct pw_daemon *daemon);
/* `granted_bytes` of each memfd of client segments: what the store granted in them. */
void pw_overhead_grants(struct pw_daemon *daemon);

#endif
