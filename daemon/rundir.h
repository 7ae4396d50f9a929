/* The folders of a daemon: the run dir with its socket, held by a lock, and the state dir.
 */
#ifndef PW_DAEMON_RUNDIR_H
#define PW_DAEMON_RUNDIR_H

#include "daemon/daemon.h"

/* Fill run_dir, state_dir and socket_path; make the run dir and lock it. A dead daemon's run dir is taken over.
 * Errors: PW_EXISTS (a living daemon holds it, with its pid), PW_INVALID, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_rundir_take(struct pw_daemon *daemon, struct pw_error *ret_err);
void pw_rundir_leave(struct pw_daemon *daemon);

#endif
