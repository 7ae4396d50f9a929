/* Memory of this daemon's own making: control memory, boards, hint pages, futures segments; measured, told to the store.
 */
#ifndef PW_DAEMON_OVERHEAD_H
#define PW_DAEMON_OVERHEAD_H

#include "daemon/daemon.h"

/* Measure again what those memfds take, and tell the store the difference. */
void pw_overhead_refresh(struct pw_daemon *daemon);
/* Compare each client segment's allocated blocks with what the store granted in it; each excess is one call. */
void pw_overhead_audit(struct pw_daemon *daemon, void (*found)(void *context, const char *where, const char *problem), void *context);

#endif
