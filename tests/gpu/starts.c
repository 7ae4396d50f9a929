/* How long a daemon with one GPU takes to start, and to have it back after a kernel trapped, after one hung, and after its executor
 * was killed. A line of JSON for each; exit 1: a bar does not hold, or something fails.
 */
#include "tests/gpu/raw.h"
#include "tests/gpu/report.h"
#include "tests/integration/gpus.h"
#include "tests/integration/scene.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAR_S 3.0
#define HANG_LIMIT_S 0.3 /* of gpu/hang */

static struct gpu_options options;
static bool misses;

static void say(const char *name, double value, double driver_s)
{
        misses |= !gpu_figure_say(&options, &(struct gpu_figure){ .name = name, .unit = "s", .value = value, .floor = driver_s,
                                                                  .bar = BAR_S, .rule = GPU_WITHIN });
}

/* What the driver takes of that: a context, in a process of its own. */
static double driver_share(void)
{
        double since = gpu_now_s();
        struct gpu_raw raw;
        pid_t pid = fork();
        int status = -1;

        if (!pid) {
                gpu_raw_open(&raw, options.driver, 0);
                _exit(0);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        assert_int_equal(status, 0);
        return gpu_now_s() - since;
}

static struct pw_future *call(struct it_host *host, struct pw_slice *slice, const char *function)
{
        struct pw_program *program = pw_program_new(host->session, "test/starts");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_BROADCAST, 0), *result;
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *future;
        bool is_add = !strcmp(function, "pw/add");

        result = is_add ? pw_call(program, slice, function, PW_ARGS(value, value), PW_BROADCAST)
                        : pw_call(program, slice, function, PW_ARGS(value), PW_BROADCAST);
        pw_result(program, result);
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &future, IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        return future;
}

/* The time until a call gives what it should. */
static double back(struct it_host *host, struct pw_slice *slice, double since)
{
        static const double expected[] = { 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24 };
        struct pw_future *future = call(host, slice, "pw/add");

        it_expect_f64(future, expected, 12);
        pw_unref(future);
        return gpu_now_s() - since;
}

static void measure(void **state)
{
        /* From the call on, without the limit that its function has. */
        static const struct { const char *function, *name; enum pw_status status; double limit_s; } cases[] = {
                { "gpu/trap", "back_after_trap", PW_CRASHED, 0 }, { "gpu/hang", "back_after_hang", PW_TIME_LIMIT, HANG_LIMIT_S },
        };
        double driver_s = driver_share(), since = gpu_now_s();
        struct it_host host;
        struct pw_slice *slice;
        char said[600];
        int status;

        (void)state;
        it_host_init(&host);
        assert_int_equal(chmod(host.folder, 0755), 0); /* executors of another user keep compiled code in the state dir there */
        if (!it_host_start(&host, IT_ARGS("--devices", "cuda:1", "--cuda-driver", options.driver, "--no-nccl", "--host-memory",
                                          "64MiB", "--device-memory", "64MiB"), &status, said))
                fail_msg("pathwaysd ended with %d: %s", status, said);
        say("start", gpu_now_s() - since, driver_s);
        host.session = it_connect(&host);
        it_ok(pw_slice_open(host.session, &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR));
        gpu_answer("seconds of a call that comes first", back(&host, slice, gpu_now_s()));
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct pw_future *future;

                since = gpu_now_s();
                future = call(&host, slice, cases[i].function);
                it_fails_with(future, cases[i].status, cases[i].function);
                pw_unref(future);
                say(cases[i].name, back(&host, slice, since) - cases[i].limit_s, driver_s);
        }
        since = gpu_now_s();
        assert_true(it_signal_executor(&host, "h0:0", SIGKILL));
        say("back_after_kill", back(&host, slice, since), driver_s);
        pw_slice_close(slice);
        it_host_clean(&host);
        assert_int_equal(it_host_end(&host, SIGTERM), 0);
        it_host_done(&host);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(measure) };
        int failed;

        options = gpu_options_of(argc, argv);
        failed = cmocka_run_group_tests_name("starts", tests, NULL, NULL);
        return failed || misses ? 1 : 0;
}
