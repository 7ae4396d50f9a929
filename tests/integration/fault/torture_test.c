/* Each allocation and each system call of the daemon, of the library and of executors fails once, in turn.
 *
 * A scenario (objects, names, a program and its runs, listings) runs once to find the places where the program under test calls
 * what may fail (inject.c); then once for each place, in which that call fails. Every call of the scenario must succeed or say what
 * is wrong, in time; the daemon must not start, and say why, or live; afterwards the scenario succeeds, nothing is left and every
 * byte is accounted for. PW_FAULTS is how many places are tried, spread from PW_SEED; 0: all.
 *
 * Executors are started with an environment of their own: this program is what the daemon starts, takes the variables out of the
 * environment of the daemon, and becomes the executor.
 */
#include "tests/integration/harness.h"

#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES_MAX 8192
#define IN_TIME (5 * IT_SECOND) /* of one call; nothing in the scenario takes long */
#define CASE_MS INT64_C(20000)
#define ELEMENTS 16
#define NOBODY 65534

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* --- the scenario, in a process of its own ------------------------------------------------------------------------------ */

struct scenario {
        struct pw_session *session;
        bool strict, bad; /* nothing may fail; something was not as it must be */
        struct pw_error err;
};

static bool good(struct scenario *scenario, enum pw_status status, const char *what)
{
        if (status == PW_OK)
                return true;
        if (scenario->strict || status == PW_DEADLINE || !scenario->err.text[0]) {
                fprintf(stderr, "%s: %s \"%s\"\n", what, pw_status_name(status), scenario->err.text);
                scenario->bad = true;
        }
        return false;
}

static void expect(struct scenario *scenario, struct pw_future *future, const void *data, size_t bytes, const char *what)
{
        struct pw_view view;

        scenario->err.text[0] = 0;
        if (!good(scenario, pw_get(future, IN_TIME, &view, &scenario->err), what))
                return;
        if (view.bytes != bytes || memcmp(view.data, data, bytes)) {
                fprintf(stderr, "%s: a wrong value\n", what);
                scenario->bad = true;
        }
        pw_view_done(&view);
}

static void objects(struct scenario *scenario)
{
        size_t bytes = 1 << 20;
        char small[100] = "small", *large = calloc(1, bytes);
        struct pw_put_params params = { .timeout_us = IN_TIME };
        struct pw_future *future, *again;
        struct pw_error *err = &scenario->err;

        if (good(scenario, pw_put(scenario->session, small, sizeof small, &params, &future, err), "put")) {
                expect(scenario, future, small, sizeof small, "get");
                if (good(scenario, pw_open(scenario->session, pw_future_id(future), &again, err), "open")) {
                        expect(scenario, again, small, sizeof small, "get by id");
                        pw_unref(again);
                }
                if (scenario->strict) /* an earlier one may have been cut off with the name bound */
                        (void)!pw_unname(scenario->session, "torture", NULL);
                if (good(scenario, pw_name(future, "torture", err), "name")) {
                        if (good(scenario, pw_lookup(scenario->session, "torture", 0, &again, err), "lookup")) {
                                expect(scenario, again, small, sizeof small, "get by name");
                                pw_unref(again);
                        }
                        good(scenario, pw_unname(scenario->session, "torture", err), "unname");
                }
                pw_unref(future);
        }
        if (large && good(scenario, pw_put(scenario->session, large, bytes, &params, &future, err), "put of 1 MiB")) {
                expect(scenario, future, large, bytes, "get of 1 MiB");
                pw_unref(future);
        }
        free(large);
}

static void programs(struct scenario *scenario)
{
        double ones[ELEMENTS], eights[ELEMENTS];
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(ELEMENTS), .timeout_us = IN_TIME };
        struct pw_slice_params of = { .device_count = 2 };
        struct pw_error *err = &scenario->err;
        struct pw_program *program;
        struct pw_future *future;
        struct pw_slice *slice;
        struct pw_value *x;

        for (int i = 0; i < ELEMENTS; i++)
                eights[i] = 8 * (ones[i] = 1);
        if (!good(scenario, pw_slice_open(scenario->session, &of, &slice, err), "slice"))
                return;
        program = pw_program_new(scenario->session, "torture/double");
        x = pw_input(program, slice, PW_F64, PW_DIMS(ELEMENTS), PW_SPLIT(0), PW_DONATED);
        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(x, x), PW_SPLIT(0)));
        if (good(scenario, pw_compile(program, err), "compile") &&
            good(scenario, pw_put(scenario->session, ones, sizeof ones, &params, &future, err), "put of ones")) {
                bool all = true;

                for (int i = 0; i < 3 && all; i++) {
                        scenario->err.text[0] = 0;
                        all = good(scenario, pw_run(program, PW_FUTURES(pw_donate(&future)), &future, err), "run");
                }
                if (all)
                        expect(scenario, future, eights, sizeof eights, "result");
                if (future)
                        pw_unref(future);
        }
        pw_program_free(program);
        pw_slice_close(slice);
}

static void listings(struct scenario *scenario)
{
        static const char *const what[] = { "status", "memory", "objects", "devices", "runs", "check" };
        struct pw_listing *listing;

        for (size_t i = 0; i < sizeof what / sizeof *what; i++)
                if (good(scenario, pw_list(scenario->session, what[i], NULL, 0, &listing, &scenario->err), what[i]))
                        pw_listing_free(listing);
}

static int run_scenario(const char *socket, bool strict)
{
        struct scenario scenario = { .strict = strict };

        if (!good(&scenario, pw_connect(socket, &scenario.session, &scenario.err), "connect"))
                return scenario.bad;
        objects(&scenario);
        programs(&scenario);
        listings(&scenario);
        pw_close(scenario.session);
        return scenario.bad;
}

/* --- one case ------------------------------------------------------------------------------------------------------------- */

enum target { DAEMON, LIBRARY, EXECUTOR };
static const char *const target_names[] = { "pathwaysd", "torture_test", "pathways-executor" };

struct torture {
        enum target target;
        char list[160]; /* file: the places, as inject.c writes them */
        char at[20];    /* the place that fails; "": none, they are listed */
        char over[160]; /* file: once it is there nothing fails any more */
        struct it_host host;
};

static void prepare_faults(const struct torture *torture)
{
        char library[600];

        setenv(torture->target == EXECUTOR ? "PW_EXECUTOR_PRELOAD" : "LD_PRELOAD",
               it_built("tests/integration/fault/.libs/inject.so", library), 1);
        if (torture->target == EXECUTOR)
                setenv("PW_FAULT_ONCE", "1", 1); /* in one of them */
        setenv("PW_FAULT_IN", target_names[torture->target], 1);
        setenv("PW_FAULT_OVER", torture->over, 1);
        setenv(torture->at[0] ? "PW_FAULT_AT" : "PW_FAULT_LIST", torture->at[0] ? torture->at : torture->list, 1);
}

static void no_faults(void)
{
        unsetenv("LD_PRELOAD");
        unsetenv("PW_EXECUTOR_PRELOAD");
        unsetenv("PW_FAULT_ONCE");
        unsetenv("PW_FAULT_IN");
        unsetenv("PW_FAULT_OVER");
        unsetenv("PW_FAULT_AT");
        unsetenv("PW_FAULT_LIST");
}

/* The scenario in a process of its own; its exit status, 128 + signal, or -1: it hangs. */
static int scenario_ends(const struct torture *torture, bool faulty, bool strict)
{
        struct pollfd poll_fd = { .events = POLLIN };
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                if (faulty)
                        prepare_faults(torture);
                execl("/proc/self/exe", target_names[LIBRARY], "--scenario", torture->host.socket, strict ? "strict" : "lenient",
                      NULL);
                _exit(127);
        }
        poll_fd.fd = (int)syscall(SYS_pidfd_open, pid, 0);
        bool ended = poll(&poll_fd, 1, CASE_MS) == 1;
        close(poll_fd.fd);
        if (!ended)
                kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return !ended ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void faults_are_over(const struct torture *torture)
{
        FILE *over = fopen(torture->over, "we");

        assert_non_null(over);
        fclose(over);
}

/* After a fault an executor may be on its way back: what it takes with it is told, and later everything is as before. */
static void recovers(const struct torture *torture)
{
        int64_t until_us = it_now_us() + IT_LONG / 2;
        int status;

        do
                status = scenario_ends(torture, false, it_now_us() > until_us - IT_SECOND);
        while (status == 0 && it_now_us() < until_us - IT_SECOND && scenario_ends(torture, false, true) != 0);
        if (status)
                fail_msg("the scenario does not succeed afterwards: %d", status);
}

/* An executor is never root, and is to read the environment of the daemon: that is not root either. */
static void become_nobody(void)
{
        if (geteuid())
                return;
        assert_int_equal(setgroups(0, NULL), 0);
        assert_int_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
        assert_int_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
        assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
        assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
}

/* In a child, so that an assertion ends this case alone. */
static int one_case(void *context, int pipe)
{
        struct torture *torture = context;
        struct it_host *host = &torture->host;
        int status;
        char said[600];

        (void)pipe;
        char self[600];
        const char *args[] = { "--devices", "emulated:2", "--host-memory", "64MiB", "--device-memory", "4MiB", NULL, NULL, NULL };

        if (torture->target != LIBRARY)
                prepare_faults(torture);
        if (torture->target == EXECUTOR) {
                ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
                assert_true(length > 0);
                self[length] = 0;
                args[6] = "--executor";
                args[7] = self;
                become_nobody();
        }
        bool started = it_host_start(host, args, &status, said);
        no_faults();
        if (!started && torture->target == EXECUTOR && strncmp(said, "pathwaysd: device h0:", 21)) /* which it could not open */
                fail_msg("pathwaysd ended with %d: \"%s\"", status, said);
        if (!started) {
                if ((status != 1 && status != 2) || strncmp(said, "pathwaysd: ", 11))
                        fail_msg("pathwaysd ended with %d: \"%s\"", status, said);
                return 0;
        }
        status = scenario_ends(torture, torture->target == LIBRARY, false);
        if (status)
                fail_msg("the scenario %s (%d)", status < 0 ? "hangs" : "failed", status);
        faults_are_over(torture);
        recovers(torture);
        host->session = it_connect(host);
        it_host_clean(host);
        status = it_host_end(host, SIGTERM);
        if (status)
                fail_msg("pathwaysd ended with %d", status);
        return 0;
}

/* True: the case went well. */
static bool try_case(struct torture *torture)
{
        char command[200];
        int status;

        it_host_init(&torture->host);
        if (torture->target == EXECUTOR && !geteuid())
                assert_int_equal(chown(torture->host.folder, NOBODY, NOBODY), 0);
        snprintf(torture->over, sizeof torture->over, "%s/over", torture->host.folder);
        struct it_child child = it_fork(one_case, torture);
        status = it_reap_within(&child, 4000 * CASE_MS);
        if (status) {
                print_error("%s %s: %d\n", target_names[torture->target], torture->at, status);
                snprintf(command, sizeof command, "cat %s >&2", torture->host.log);
                if (system(command))
                        print_error("without a log\n");
        }
        it_host_done(&torture->host);
        return status == 0;
}

/* --- all of them -------------------------------------------------------------------------------------------------------------- */

static uint32_t read_places(const char *path, char (*places)[20])
{
        FILE *list = fopen(path, "re");
        uint32_t count = 0;

        assert_non_null(list);
        while (count < PLACES_MAX && fscanf(list, "%19s %*s", places[count]) == 1)
                count++;
        fclose(list);
        return count;
}

static void torture(enum target target)
{
        static char places[PLACES_MAX][20];
        struct torture torture = { .target = target };
        uint64_t most = it_environment("PW_FAULTS", 40), seed = it_environment("PW_SEED", 1);
        uint32_t count, stride, bad = 0, tried = 0;

        snprintf(torture.list, sizeof torture.list, "%s/pathways-places-%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
                 (int)getpid());
        bool listed = try_case(&torture);
        count = listed ? read_places(torture.list, places) : 0;
        unlink(torture.list);
        assert_true(count > 50);
        stride = most && count > most ? count / (uint32_t)most : 1;
        for (uint32_t i = (uint32_t)(it_random(&seed) % stride); i < count; i += stride, tried++) {
                snprintf(torture.at, sizeof torture.at, "%s", places[i]);
                bad += !try_case(&torture);
        }
        print_message("%s: %u places, a fault in each of %u\n", target_names[target], count, tried);
        if (bad)
                fail_msg("%u faults were not endured", bad);
}

static void daemon_under_torture(void **state)
{
        (void)state;
        torture(DAEMON);
}

static void library_under_torture(void **state)
{
        (void)state;
        torture(LIBRARY);
}

static void executors_under_torture(void **state)
{
        (void)state;
        torture(EXECUTOR);
}

/* Started by the daemon in place of an executor. */
static int become_executor(char **argv)
{
        static char all[1 << 16];
        char path[64], executor[600];
        size_t bytes;

        snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
        FILE *file = fopen(path, "re");
        bytes = file ? fread(all, 1, sizeof all - 1, file) : 0;
        for (char *at = all; at < all + bytes; at += strlen(at) + 1)
                if (!strncmp(at, "PW_FAULT_", 9))
                        putenv(at);
                else if (!strncmp(at, "PW_EXECUTOR_PRELOAD=", 20))
                        setenv("LD_PRELOAD", at + 20, 1);
        if (file)
                fclose(file);
        execv(it_built("executor/pathways-executor", executor), argv);
        return 127;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(daemon_under_torture), cmocka_unit_test(library_under_torture),
                                            cmocka_unit_test(executors_under_torture) };

        if (argc > 1 && !strcmp(argv[0], target_names[EXECUTOR]))
                return become_executor(argv);
        if (argc == 4 && !strcmp(argv[1], "--scenario"))
                return run_scenario(argv[2], !strcmp(argv[3], "strict"));
        if (SANITIZED || personality(ADDR_NO_RANDOMIZE) < 0) {
                fprintf(stderr, "skipped: %s\n", SANITIZED ? "sanitizers have allocators of their own" : "no personality()");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
