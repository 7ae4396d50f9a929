/* Clients of a bench that are processes of their own, and may be killed.
 */
#ifndef PW_TESTS_BENCH_CHILD_H
#define PW_TESTS_BENCH_CHILD_H

#include "base/error.h"

#include <sys/types.h>

struct pw_bench_child {
        pid_t pid; /* 0: none */
        int pidfd;
        int pipe;  /* the child writes, the bench reads */
};

struct pw_bench_work {
        bool (*prepare)(void *context);
        void (*live)(void *context); /* afterwards; NULL: nothing. It may end, the process does not */
        void *context;
};
/* A process that does the work until it is killed. Returns when it is prepared. Own: the caller ends it with
 * pw_bench_child_done(), also after a failure. Errors: PW_SYSTEM, PW_FAILED (prepare said false). */
PW_MUST_CHECK enum pw_status pw_bench_child_start(const struct pw_bench_work *work, struct pw_bench_child *ret_child,
                                                  struct pw_error *ret_err);
/* SIGKILL, and wait until the kernel reports the end, which was at *ret_seconds. */
PW_MUST_CHECK enum pw_status pw_bench_child_kill(struct pw_bench_child *child, double *ret_seconds, struct pw_error *ret_err);
void pw_bench_child_done(struct pw_bench_child *child);

#endif
