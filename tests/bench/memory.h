/* What memory a daemon and a process take: from the kernel, and from what the daemon lists.
 */
#ifndef PW_TESTS_BENCH_MEMORY_H
#define PW_TESTS_BENCH_MEMORY_H

#include "base/error.h"

#include <sys/types.h>

struct pw_session;

/* Private memory of the process that is there, and its page tables; shared memory is not in it. 0: no such process. */
uint64_t pw_bench_private_bytes(pid_t pid);
/* What there is in memory of the memfds that a daemon has open. 0: no such process, or out of memory. */
uint64_t pw_bench_shared_bytes(pid_t pid);
/* Bytes of host memory that are granted to somebody. */
PW_MUST_CHECK enum pw_status pw_bench_granted(struct pw_session *session, uint64_t *ret_bytes, struct pw_error *ret_err);
/* Those of them that have values, or had. */
PW_MUST_CHECK enum pw_status pw_bench_used(struct pw_session *session, uint64_t *ret_bytes, struct pw_error *ret_err);

#endif
