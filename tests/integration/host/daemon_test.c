/* pathwaysd from start to end: its run dir, its death and its clients'.
 */
#include "tests/integration/folder.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"
#include "wire/frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true /* its runtime has to be the first library */
#else
#define SANITIZED false
#endif

/* --- run dir ---------------------------------------------------------------------------------------------------------- */

static void two_on_one_run_dir(void **state)
{
        struct it_host *host = *state, second = *host;
        struct pw_future *future;
        char texts[40];

        snprintf(texts, sizeof texts, "run dir|living|pid %d", (int)host->pid);
        second.pid = 0;
        it_refuses_to_start(&second, IT_ARGS(IT_SMALL), texts);
        it_ok(pw_put(host->session, "x", 1, NULL, &future, IT_ERR)); /* the first one does not notice */
        pw_unref(future);
}

/* Who was built for another layout of the memory is told so, and nobody else notices. */
static void libraries_of_another_layout(void **state)
{
        struct it_host *host = *state;
        char text[200], says[80];

        for (uint32_t layout = PW_LAYOUT_VERSION - 1; layout <= PW_LAYOUT_VERSION + 1; layout++) {
                int fd = raw_connect(host);

                assert_true(fd >= 0);
                assert_int_equal(raw_hello_of(fd, layout, text), layout == PW_LAYOUT_VERSION ? PW_OK : PW_PROTOCOL);
                snprintf(says, sizeof says, "layout %u here, %u at the client: install one version of both", PW_LAYOUT_VERSION,
                         layout);
                if (layout != PW_LAYOUT_VERSION && !strstr(text, says))
                        fail_msg("layout %u: \"%s\"", layout, text);
                close(fd);
        }
        pw_close(it_connect(host));
}

/* --- death ------------------------------------------------------------------------------------------------------------ */

struct waiter { struct it_host *host; int what; };

/* Says that it waits, waits in one of three ways, then writes the status that the wait ends with. */
static int wait_for_ever(void *context, int pipe)
{
        struct waiter *waiter = context;
        struct pw_session *session = it_connect(waiter->host);
        struct pw_future *future, *result = NULL;
        struct pw_view view;
        enum pw_status status;
        void *data;

        it_ok(pw_create(session, 100, NULL, &future, &data, IT_ERR));
        if (waiter->what == 2) {
                struct pw_program *program = pw_program_new(session, "test/sleep");
                struct pw_slice *slice = it_slice(session, 2, 1);

                pw_result(program, it_sleep(program, slice, pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0),
                                            PW_BROADCAST, 600 * 1000000));
                it_ok(pw_compile(program, IT_ERR));
                result = it_run_1(program, it_put_scalar(session, 1));
        }
        assert_int_equal(write(pipe, "w", 1), 1);
        if (waiter->what == 0)
                status = pw_get(future, PW_FOREVER, &view, NULL);
        else if (waiter->what == 1)
                status = pw_lookup(session, "never", PW_FOREVER, &future, NULL);
        else
                status = pw_wait(&result, 1, 1, PW_FOREVER, NULL, NULL);
        assert_int_equal(write(pipe, &status, sizeof status), sizeof status);
        pw_close(session);
        return 0;
}

struct pids { pid_t items[16]; size_t count; };

static struct pids executors_of(struct it_host *host)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);
        struct pids pids = { .count = 0 };

        for (size_t i = 0; i < it_rows(devices); i++)
                pids.items[pids.count++] = (pid_t)it_number(devices, i, "pid");
        pw_listing_free(devices);
        return pids;
}

/* Waits for the end of processes that are not children of this one. */
static void all_end(const struct pids *pids)
{
        for (size_t i = 0; i < pids->count; i++) {
                struct pollfd poll_fd = { .fd = (int)syscall(SYS_pidfd_open, pids->items[i], 0), .events = POLLIN };

                if (poll_fd.fd < 0 && errno == ESRCH)
                        continue;
                if (poll(&poll_fd, 1, IT_LONG / 1000) != 1)
                        fail_msg("process %d lives on", (int)pids->items[i]);
                close(poll_fd.fd);
        }
}

static void a_killed_daemon_is_replaced(void **state)
{
        struct it_host *host = *state;
        struct pids executors = executors_of(host);
        struct waiter waiters[3];
        struct it_child children[3];
        struct pw_future *future, *kept;
        struct pw_id old;
        enum pw_status status;
        char byte;

        it_ok(pw_put(host->session, "x", 1, NULL, &kept, IT_ERR));
        old = pw_future_id(kept);
        for (int i = 0; i < 3; i++) {
                waiters[i] = (struct waiter){ host, i };
                children[i] = it_fork(wait_for_ever, &waiters[i]);
                it_read(&children[i], &byte, 1);
        }
        int64_t start_us = it_now_us();
        assert_int_equal(it_host_end(host, SIGKILL), 128 + SIGKILL);
        for (int i = 0; i < 3; i++) {
                it_read(&children[i], &status, sizeof status);
                assert_int_equal(status, PW_DAEMON_GONE);
                it_within("a wait ends", start_us, IT_SECOND);
                assert_int_equal(it_reap(&children[i], 0), 0);
        }
        all_end(&executors);
        it_fails(pw_unname(host->session, "never", IT_ERR), PW_DAEMON_GONE, ""); /* a put within its grant asks nobody */
        it_fails(pw_put(host->session, "x", 1, NULL, &future, IT_ERR), PW_DAEMON_GONE, "");
        pw_close(host->session);
        host->session = NULL;
        pw_unref(kept);
        it_fails(pw_connect(host->socket, &host->session, IT_ERR), PW_DAEMON_GONE, host->socket);
        it_start(host, IT_ARGS(IT_SMALL));
        host->session = it_connect(host);
        it_fails(pw_open(host->session, old, &future, IT_ERR), PW_GONE, "");
        it_ok(pw_put(host->session, "x", 1, NULL, &future, IT_ERR));
        assert_true(pw_future_id(future).epoch > old.epoch);
        pw_unref(future);
}

static bool socket_exists(const struct it_host *host)
{
        struct stat stat_;

        return stat(host->socket, &stat_) == 0;
}

static void sigterm_leaves_nothing(void **state)
{
        struct it_host *host = *state;
        struct pids executors = executors_of(host);
        struct waiter waiter = { host, 0 };
        struct it_child child = it_fork(wait_for_ever, &waiter);
        enum pw_status status;
        char byte;

        it_read(&child, &byte, 1);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_false(socket_exists(host));
        all_end(&executors);
        it_read(&child, &status, sizeof status);
        assert_int_equal(status, PW_DAEMON_GONE);
        assert_int_equal(it_reap(&child, 0), 0);
        pw_close(host->session);
        host->session = NULL;
        it_start(host, IT_ARGS(IT_SMALL));
}

static bool is_running(const struct pw_listing *gangs, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "state"), "running"))
                        return true;
        return false;
}

/* A run that is in flight at SIGTERM is finished; one that takes longer than the deadline is cut off. */
static void sigterm_lets_runs_finish(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        uint64_t us = 300000;
        struct pw_program *program = it_one_node(host->session, slice, "pw/sleep_us", PW_DIMS(2),
                                                 &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(2), 5), *result = it_run_1(program, input);
        char said[600];

        it_until(host->session, "gangs", is_running, NULL);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_said_last(host, said);
        if (!strstr(said, "runs_done=1"))
                fail_msg("the run was not finished: %s", said);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(host->session);
        host->session = NULL;
        it_start(host, IT_ARGS(IT_SMALL, "--shutdown", "300ms"));
        struct waiter waiter = { host, 2 };
        struct it_child child = it_fork(wait_for_ever, &waiter);
        enum pw_status status;
        char byte;

        host->session = it_connect(host);
        struct pids executors = executors_of(host);
        it_read(&child, &byte, 1);
        it_until(host->session, "gangs", is_running, NULL);
        int64_t start_us = it_now_us();
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_said_last(host, said);
        if (it_now_us() - start_us < 300000)
                fail_msg("pathwaysd ended before its deadline: %s", said);
        it_within("pathwaysd ends", start_us, 300000 + IT_SECOND);
        it_read(&child, &status, sizeof status);
        assert_int_equal(status, PW_DAEMON_GONE);
        assert_int_equal(it_reap(&child, 0), 0);
        all_end(&executors);
        pw_close(host->session);
        host->session = NULL;
        it_start(host, IT_ARGS(IT_SMALL));
}

static bool is_ordered(const struct pw_listing *gangs, void *context)
{
        (void)context;
        return it_rows(gangs) > 0;
}

static void until_it_drains(const struct it_host *host)
{
        char said[600];

        for (int64_t end_us = it_now_us() + IT_LONG; it_said_last(host, said), !strstr(said, "stopping signal="); sched_yield())
                assert_true(it_now_us() < end_us);
}

/* Between SIGTERM and the end, what is in flight goes on, and what comes then is refused. */
static void sigterm_takes_no_new_runs(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(2), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(2), 5), *before, *after;
        struct pw_view view;
        char said[600];

        assert_true(it_signal_executor(host, "h0:0", SIGSTOP));
        before = it_run_1(program, input);
        it_until(host->session, "gangs", is_ordered, NULL);
        assert_int_equal(kill(host->pid, SIGTERM), 0);
        until_it_drains(host);
        after = it_run_1(program, input);
        it_fails(pw_get(after, IT_LONG, &view, IT_ERR), PW_CANCELLED, "pathwaysd, which is about to end");
        assert_int_equal(pw_poll(before), PW_NOT_READY);
        assert_true(it_signal_executor(host, "h0:0", SIGCONT));
        assert_int_equal(it_host_end(host, 0), 0);
        it_said_last(host, said);
        if (!strstr(said, "runs_done=2")) /* else "cut off" */
                fail_msg("the run was not finished: %s", said);
        pw_unref(before);
        pw_unref(after);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(host->session);
        host->session = NULL;
        it_start(host, IT_ARGS(IT_SMALL));
}

/* Connects without a word, and ends: when the daemon takes it, nobody is there. */
static int connect_and_die(void *context, int pipe)
{
        (void)pipe;
        return raw_connect(context) < 0;
}

/* The signal comes while the daemon takes connections, in whichever look at its sockets: it does not go to sleep over it. */
static void sigterm_comes_between(void **state)
{
        struct it_host *host = *state;
        char address[128];

        pw_close(host->session);
        host->session = NULL;
        snprintf(address, sizeof address, "unix:%s/http", host->folder);
        for (uint64_t rounds = it_environment("PW_TERM_ROUNDS", 8); rounds > 0; rounds--) {
                assert_int_equal(kill(host->pid, SIGSTOP), 0);
                struct it_child child = it_fork(connect_and_die, host);

                assert_int_equal(it_reap(&child, 0), 0);
                assert_int_equal(kill(host->pid, SIGCONT), 0);
                assert_int_equal(it_host_end(host, SIGTERM), 0);
                it_start(host, IT_ARGS(IT_SMALL, "--http", address));
        }
}

/* --- pages that the system keeps ---------------------------------------------------------------------------------- */

static bool is_kept(const struct pw_listing *check, void *context)
{
        (void)context;
        return it_rows(check) && strstr(it_text(check, 0, "problem"), "did not take pages back");
}

static void pages_are_not_taken_back(void **state)
{
        struct it_host *host = *state;
        char library[600], said[600], line[600];

        if (SANITIZED)
                it_skip("the runtime of a sanitizer has to be the first library");
        bool logged = false;
        int code;

        setenv("PW_FAULT_IN", "pathwaysd", 1);
        setenv("PW_FAULT_NO_PUNCH", "1", 1);
        setenv("LD_PRELOAD", it_built("tests/integration/fault/.libs/inject.so", library), 1);
        bool started = it_host_start(host, IT_ARGS(IT_SMALL), &code, said);
        unsetenv("LD_PRELOAD");
        unsetenv("PW_FAULT_NO_PUNCH");
        unsetenv("PW_FAULT_IN");
        if (!started)
                fail_msg("pathwaysd ended with %d: %s", code, said);
        host->session = it_connect(host);
        struct pw_session *other = it_connect(host);
        struct pw_future *future;
        void *data;
        it_ok(pw_create(host->session, 40 << 20, NULL, &future, &data, IT_ERR));
        pw_unref(future);
        /* What the first gave back is not there: nobody else is granted it. */
        it_fails(pw_create(other, 40 << 20, &(struct pw_put_params){ .timeout_us = IT_SECOND / 4 }, &future, &data, IT_ERR),
                 PW_NO_SPACE, "of host memory");
        it_until(host->session, "check", is_kept, NULL);
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        size_t row = it_find(memory, "term", "overhead");
        assert_true(it_number(memory, row, "bytes") >= 16 << 20);
        assert_int_equal(it_number(memory, it_find(memory, "term", "unaccounted"), "bytes"), 0);
        pw_listing_free(memory);
        FILE *log = fopen(host->log, "r");
        while (log && fgets(line, sizeof line, log))
                logged |= strstr(line, "pages not given back") && strstr(line, "No space");
        if (log)
                fclose(log);
        assert_true(logged);
        pw_close(other);
        pw_close(host->session);
        host->session = NULL;
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* --- whose rights executors have ---------------------------------------------------------------------------------------------- */

#define GROUP 65530u /* of the daemon, as a service manager may start it */

/* Until it_teardown_groups() this process and what it starts are in a group besides their own. */
static int it_setup_groups(void **state)
{
        gid_t group = GROUP;

        if (geteuid() == 0)
                assert_int_equal(setgroups(1, &group), 0);
        return it_setup_small(state);
}

static int it_teardown_groups(void **state)
{
        if (geteuid() == 0)
                assert_int_equal(setgroups(0, NULL), 0);
        return it_teardown(state);
}

/* The numbers behind `key` in the status of a process. */
static void numbers_of(pid_t pid, const char *key, char numbers[200])
{
        char path[40], line[300];
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
        file = fopen(path, "re");
        assert_non_null(file);
        numbers[0] = 0;
        while (fgets(line, sizeof line, file))
                if (!strncmp(line, key, strlen(key)))
                        snprintf(numbers, 200, "%.*s", (int)strcspn(line + strlen(key), "\n"), line + strlen(key));
        fclose(file);
}

/* What only root's groups may read is not for modules. */
static void executors_have_no_groups(void **state)
{
        struct it_host *host = *state;
        char numbers[200];
        struct pids executors;
        unsigned ids[4];

        if (geteuid() != 0)
                it_skip("only root's executors are another user");
        numbers_of(host->pid, "Groups:", numbers);
        assert_int_equal(strtoul(numbers, NULL, 10), GROUP);
        executors = executors_of(host);
        assert_true(executors.count > 0);
        for (size_t i = 0; i < executors.count; i++) {
                numbers_of(executors.items[i], "Groups:", numbers);
                assert_int_equal(numbers[strspn(numbers, " \t")], 0);
                for (int gid = 0; gid < 2; gid++) {
                        numbers_of(executors.items[i], gid ? "Gid:" : "Uid:", numbers);
                        assert_int_equal(sscanf(numbers, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]), 4);
                        for (int kind = 0; kind < 4; kind++)
                                assert_int_not_equal(ids[kind], 0);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(two_on_one_run_dir, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(libraries_of_another_layout, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(a_killed_daemon_is_replaced, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(sigterm_leaves_nothing, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(sigterm_lets_runs_finish, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(sigterm_takes_no_new_runs, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(sigterm_comes_between, it_setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(executors_have_no_groups, it_setup_groups, it_teardown_groups),
                cmocka_unit_test_setup_teardown(pages_are_not_taken_back, it_setup_folder, it_remove_folder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
