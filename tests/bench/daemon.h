/* A private pathwaysd from the build tree, in a folder of its own.
 */
#ifndef PW_TESTS_BENCH_DAEMON_H
#define PW_TESTS_BENCH_DAEMON_H

#include "base/error.h"

#include <limits.h>
#include <sys/types.h>

struct pw_session;

struct pw_bench_daemon {
        pid_t pid; /* 0: none */
        char folder[64];
        char socket[96];
        double start_seconds; /* from its start until it said that it is ready */
};

struct pw_bench_daemon_params {
        uint32_t devices, islands;
        const char *host_memory;   /* "2GiB"; NULL: 1GiB */
        const char *device_memory; /* NULL: 64MiB */
        const char *const *more;   /* further arguments, up to a NULL; or NULL */
};

/* The build tree that this program lies in. */
PW_MUST_CHECK enum pw_status pw_bench_build_folder(char folder[PATH_MAX], struct pw_error *ret_err);

/* Own: the caller ends it with pw_bench_daemon_stop(), also after a failure. */
PW_MUST_CHECK enum pw_status pw_bench_daemon_start(const struct pw_bench_daemon_params *params, struct pw_bench_daemon *ret_daemon,
                                                   struct pw_error *ret_err);
void pw_bench_daemon_stop(struct pw_bench_daemon *daemon);

/* A daemon and a session with it. */
struct pw_bench_host {
        struct pw_bench_daemon daemon;
        struct pw_session *session;
};
PW_MUST_CHECK enum pw_status pw_bench_host_start(const struct pw_bench_daemon_params *params, struct pw_bench_host *ret_host,
                                                 struct pw_error *ret_err);
void pw_bench_host_stop(struct pw_bench_host *host);

#endif
