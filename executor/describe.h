/* The describing executor: owns no device, runs shape functions, one question of the daemon after the other.
 *
 * It speaks in frames on its own thread and not through a connection's watcher: to answer a question it may have to ask for a
 * module first. Shape functions are user code: what they do wrong ends this process, which the daemon starts again.
 */
#ifndef PW_EXECUTOR_DESCRIBE_H
#define PW_EXECUTOR_DESCRIBE_H

#include "base/error.h"

/* Serve over the connected socket `fd` until the daemon is gone. Errors: PW_PROTOCOL, PW_NO_MEMORY, PW_SYSTEM; PW_DAEMON_GONE
 * at the end.   Blocks: yes. */
PW_MUST_CHECK enum pw_status pw_describe_serve(int fd, struct pw_error *ret_err);

#endif
