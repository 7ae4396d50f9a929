/* SIGHUP: the config file is read again. What may change while the daemon runs is applied, the rest is said to need a restart; a
 * file with an error in it changes nothing.
 */
#ifndef PW_DAEMON_SETTINGS_RELOAD_H
#define PW_DAEMON_SETTINGS_RELOAD_H

#include "daemon/daemon.h"

/* Begins it; it is done later, as the file may lie on a server, and users and groups too. */
void pw_reload(struct pw_daemon *daemon);
void pw_reload_free(struct pw_reload *reload); /* one that is under way ends by itself; NULL is accepted */

#endif
