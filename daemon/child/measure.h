/* How much memory devices have where nobody said how much of it is theirs: --device-memory 0.
 */
#ifndef PW_DAEMON_CHILD_MEASURE_H
#define PW_DAEMON_CHILD_MEASURE_H

#include "daemon/daemon.h"

/* Sets settings.device_memory: nine tenths of what is free on each device, less PW_NCCL_RESERVE where NCCL may want memory beside;
 * as much as all of them have. Nothing is started yet.   Blocks: until an executor for each device, all at a time, has opened it
 * and looked. Errors: PW_INVALID (of a kind that does not say, or nothing is left), what they say; PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_children_measure(struct pw_daemon *daemon, struct pw_error *ret_err);

#define PW_NCCL_RESERVE (UINT64_C(512) << 20)

#endif
