/* SIGHUP: the config file is read again. What may change while the daemon runs is applied, the rest is said to need a restart; a
 * file with an error in it changes nothing.
 */
#ifndef PW_DAEMON_RELOAD_H
#define PW_DAEMON_RELOAD_H

#include "daemon/daemon.h"

void pw_reload(struct pw_daemon *daemon);

#endif
