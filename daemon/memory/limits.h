/* How much memory this host can give: what is free of it, and what the memory cgroups that the process is in leave.
 */
#ifndef PW_DAEMON_MEMORY_LIMITS_H
#define PW_DAEMON_MEMORY_LIMITS_H

#include "base/error.h"

#define PW_GROUP_BYTES 128

struct pw_limits {
        uint64_t available_bytes;    /* MemAvailable */
        uint64_t group_bytes;        /* that the tightest cgroup leaves; UINT64_MAX: none has a limit */
        char group[PW_GROUP_BYTES];  /* which: its path; "": none */
};

/* Of cgroups of version 2, and of version 1 with a memory controller, those above the process's own included; pages of files that
 * the kernel would give up count as left. `root`: where proc/ and sys/ are, "" for this host. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_limits_read(const char *root, struct pw_limits *ret_limits, struct pw_error *ret_err);

/* May so many bytes more be allocated now? PW_LIMITS_SPARE is left besides, since what asks for more than a cgroup has is killed.
 * Errors: PW_NO_SPACE, PW_SYSTEM. */
#define PW_LIMITS_SPARE (UINT64_C(16) << 20)
PW_MUST_CHECK enum pw_status pw_limits_allow(const char *root, uint64_t bytes, struct pw_error *ret_err);

#endif
