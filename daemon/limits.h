/* How much memory this host can give.
 */
#ifndef PW_DAEMON_LIMITS_H
#define PW_DAEMON_LIMITS_H

#include "base/error.h"

/* The smaller of MemAvailable and what the memory cgroup leaves (memory.max - memory.current), in bytes. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_limits_available(uint64_t *ret_bytes, struct pw_error *ret_err);

#endif
