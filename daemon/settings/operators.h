/* Who sees and touches every tenant: root, the user of the daemon, and the members of a group.
 */
#ifndef PW_DAEMON_SETTINGS_OPERATORS_H
#define PW_DAEMON_SETTINGS_OPERATORS_H

#include "daemon/daemon.h"

#include <sys/types.h>

/* The number of the group of --operators; NULL: -1. May ask a server, and wait for it.
 * Errors: PW_NOT_FOUND.   Threads: any. */
PW_MUST_CHECK enum pw_status pw_operators_find(const char *group, int64_t *ret_operators, struct pw_error *ret_err);
/* Is it one who is at the other end of `fd`? */
bool pw_operators_has(const struct pw_daemon *daemon, int fd, uid_t uid);

#endif
