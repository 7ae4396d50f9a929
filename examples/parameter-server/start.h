/* Processes of the workers, where the server starts them itself.
 */
#ifndef PARAMETER_SERVER_START_H
#define PARAMETER_SERVER_START_H

#include "examples/parameter-server/options.h"
#include "pathways.h"

#include <sys/types.h>

/* Run this program as worker `worker` of `run`, attached to the socket that is its turn in options->sockets.
 * Errors: PW_SYSTEM. */
enum pw_status start_worker(const struct options *options, const char *run, uint32_t worker, pid_t *ret_pid, struct pw_error *err);
/* Wait for the end of `pid`; 0: none. */
void start_await(pid_t pid);

#endif
