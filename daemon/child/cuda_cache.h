/* The folder in which the CUDA driver of executors keeps what it has compiled; without one it compiles all PTX anew in each
 * executor: cuda-cache in the state dir, of the user of executors alone, or what the daemon's own $CUDA_CACHE_PATH names.
 */
#ifndef PW_DAEMON_CHILD_CUDA_CACHE_H
#define PW_DAEMON_CHILD_CUDA_CACHE_H

#include "daemon/daemon.h"

/* "CUDA_CACHE_PATH=...", for the environment of executors; NULL: this host has no GPUs, there is no memory for it, or no folder can
 * be made, which the log says once. The folder is made when it is first asked for; the state dir is there. Own: the caller's. */
char *pw_cuda_cache(struct pw_daemon *daemon);

#endif
