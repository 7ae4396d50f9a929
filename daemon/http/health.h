/* Is the daemon of use? One sentence for /health.
 */
#ifndef PW_DAEMON_HTTP_HEALTH_H
#define PW_DAEMON_HTTP_HEALTH_H

#include "daemon/daemon.h"

#define PW_HEALTH_BYTES 160

/* "ok", or what is amiss, with a line end. False: it takes no work (starting, stopping, no device works). Single devices that are
 * down are named, but do not make the host unwell: their executors are being started again. */
bool pw_health(const struct pw_daemon *daemon, char text[PW_HEALTH_BYTES]);

#endif
