/* pathwaysd from start to end: its run dir, its configuration, its death and its clients'.
 */
#include "tests/integration/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

static const char *const small[] = { "--devices", "emulated:2", "--host-memory", "64MiB", "--device-memory", "4MiB", NULL };

static int setup_small(void **state) { return it_setup_with(state, small); }

/* A daemon that must not start: what it says last. */
static void refuses_to_start(struct it_host *host, const char *const *args, const char *const *texts)
{
        char said[600];
        int status;

        if (it_host_start(host, args, &status, said))
                fail_msg("pathwaysd has started");
        assert_int_not_equal(status, 0);
        assert_true(status < 128);
        for (; *texts; texts++)
                if (!strstr(said, *texts))
                        fail_msg("\"%s\" does not say \"%s\"", said, *texts);
}

/* --- run dir ---------------------------------------------------------------------------------------------------------- */

static void two_on_one_run_dir(void **state)
{
        struct it_host *host = *state, second = *host;
        struct pw_future *future;
        char pid[16];

        snprintf(pid, sizeof pid, "pid %d", (int)host->pid);
        second.pid = 0;
        refuses_to_start(&second, small, IT_ARGS("run dir", "living", pid));
        it_ok(pw_put(host->session, "x", 1, NULL, &future, IT_ERR)); /* the first one does not notice */
        pw_unref(future);
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

                pw_result(program, it_sleep(program, slice, pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0), PW_BROADCAST,
                                            600 * 1000000));
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
        char said[600], byte;
        int code;

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
        if (!it_host_start(host, small, &code, said))
                fail_msg("the run dir of a dead daemon is not taken over: %s", said);
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
        char said[600], byte;
        int code;

        it_read(&child, &byte, 1);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_false(socket_exists(host));
        all_end(&executors);
        it_read(&child, &status, sizeof status);
        assert_int_equal(status, PW_DAEMON_GONE);
        assert_int_equal(it_reap(&child, 0), 0);
        pw_close(host->session);
        host->session = NULL;
        if (!it_host_start(host, small, &code, said))
                fail_msg("pathwaysd does not start again: %s", said);
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
        int code;

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
        if (!it_host_start(host, IT_ARGS("--devices", "emulated:2", "--host-memory", "64MiB", "--device-memory", "4MiB", "--shutdown", "300ms"),
                           &code, said))
                fail_msg("pathwaysd does not start again: %s", said);
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
        assert_true(it_host_start(host, small, &code, said));
}

/* --- configuration ---------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

static int setup_folder(void **state)
{
        struct it_host *host = calloc(1, sizeof *host);

        assert_non_null(host);
        it_host_init(host);
        *state = host;
        return 0;
}

static int remove_folder(void **state)
{
        it_host_done(*state);
        free(*state);
        return 0;
}

static void a_config_file(void **state)
{
        struct it_host *host = *state;
        char path[128], said[600];
        int code;

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        write_file(path, "# two devices\ndevices = emulated:2\nhost-memory = 64 MiB\ndevice-memroy = 4 MiB\n");
        refuses_to_start(host, IT_ARGS("--config", path), IT_ARGS("pathways.conf:4", "device-memroy", "device-memory"));
        write_file(path, "devices = emulated:2\nislands\n");
        refuses_to_start(host, IT_ARGS("--config", path), IT_ARGS("pathways.conf:2"));
        write_file(path, "devices = emulated:none\n");
        refuses_to_start(host, IT_ARGS("--config", path), IT_ARGS("emulated:none"));
        write_file(path, "host-memory = lots\n");
        refuses_to_start(host, IT_ARGS("--config", path), IT_ARGS("pathways.conf:1", "host-memory"));
        refuses_to_start(host, IT_ARGS("--config", "/no/such.conf"), IT_ARGS("/no/such.conf"));
        write_file(path, "devices = emulated:2 ; and one more on the command line\nhost-memory = 64 MiB\ndevice-memory = 4 MiB\n");
        if (!it_host_start(host, IT_ARGS("--config", path, "--devices", "emulated:3"), &code, said))
                fail_msg("pathwaysd ended with %d: %s", code, said);
        host->session = it_connect(host);
        assert_int_equal(it_look(host->session, "status", "devices"), 3);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static void options_that_cannot_be(void **state)
{
        struct it_host *host = *state;

        refuses_to_start(host, IT_ARGS("--devices", "emulated:2", "--islands", "3"), IT_ARGS("--islands 3", "2"));
        refuses_to_start(host, IT_ARGS("--devices", "gpu:2"), IT_ARGS("gpu:2", "emulated"));
        refuses_to_start(host, IT_ARGS("--devices", "emulated:65"), IT_ARGS("emulated:65", "64"));
        refuses_to_start(host, IT_ARGS("--devices", "emulated:8", "--host-memory", "16MiB", "--device-memory", "4MiB"),
                         IT_ARGS("16 MiB", "8 devices", "4 MiB"));
        refuses_to_start(host, IT_ARGS("--host-memory", "900TiB"), IT_ARGS("900 TiB"));
        refuses_to_start(host, IT_ARGS("--no-such-option"), IT_ARGS("no-such-option"));
        refuses_to_start(host, IT_ARGS("--policy", "magic"), IT_ARGS("magic"));
        refuses_to_start(host, IT_ARGS("operand"), IT_ARGS("operand"));
}

/* --- a memory cgroup -------------------------------------------------------------------------------------------------- */

struct group { char above[300], path[360]; };

static bool put_number(const char *folder, const char *name, long long number)
{
        char path[400];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        file = fopen(path, "r+"); /* makes none */
        if (!file)
                return false;
        fprintf(file, "%lld\n", number);
        return fclose(file) == 0;
}

/* Make a group of `bytes` below the test's own, of either version, and go into it. False: the system does not allow it. */
static bool enter_group(struct group *group, long long bytes)
{
        char line[256], *path;
        FILE *file = fopen("/proc/self/cgroup", "r");

        group->above[0] = 0;
        while (file && fgets(line, sizeof line, file)) {
                line[strcspn(line, "\n")] = 0;
                path = strrchr(line, ':') + 1;
                if (strstr(line, ":memory:") || (!strncmp(line, "0::", 3) && !group->above[0]))
                        snprintf(group->above, sizeof group->above, "/sys/fs/cgroup%s%s", strstr(line, ":memory:") ? "/memory" : "", path);
        }
        if (file)
                fclose(file);
        snprintf(group->path, sizeof group->path, "%s/pathways-test-%d", group->above, (int)getpid());
        if (mkdir(group->path, 0755) < 0)
                return false;
        if ((put_number(group->path, "memory.max", bytes) || put_number(group->path, "memory.limit_in_bytes", bytes)) &&
            put_number(group->path, "cgroup.procs", getpid()))
                return true;
        rmdir(group->path);
        return false;
}

static void less_memory_than_asked(void **state)
{
        struct it_host *host = *state;
        const uint64_t bytes = 256 << 20, most = bytes - bytes / 8;
        struct pw_put_params params = { .timeout_us = 1000 };
        struct pw_future *futures[16];
        struct group group;
        char said[600];
        size_t count = 0;
        void *data;
        int code;

        if (!enter_group(&group, (long long)bytes)) {
                fprintf(stderr, "no memory cgroup can be made here\n");
                skip();
        }
        bool started = it_host_start(host, IT_ARGS("--devices", "emulated:1", "--host-memory", "512MiB", "--device-memory", "4MiB"), &code, said);
        assert_true(put_number(group.above, "cgroup.procs", getpid()));
        if (!started) {
                rmdir(group.path);
                fail_msg("pathwaysd ended with %d: %s", code, said);
        }
        host->session = it_connect(host);
        struct pw_listing *status = it_list(host->session, "status", NULL), *memory = it_list(host->session, "memory", NULL);
        int64_t capacity = it_number(memory, it_find(memory, "term", "capacity"), "bytes");
        assert_true(capacity <= (int64_t)most && capacity >= (int64_t)most - (64 << 20)); /* it takes some itself */
        assert_non_null(strstr(it_text(status, 0, "capped"), strrchr(group.path, '/')));
        assert_non_null(strstr(it_text(memory, it_find(memory, "term", "capacity"), "about"), "512 MiB were asked for"));
        pw_listing_free(status);
        pw_listing_free(memory);
        while (count < 16 && pw_create(host->session, 16 << 20, &params, &futures[count], &data, NULL) == PW_OK)
                count++;
        assert_in_range(count, 8, 14);
        it_fails(pw_create(host->session, 16 << 20, &params, &futures[count], &data, IT_ERR), PW_NO_SPACE, "MiB");
        it_fails(pw_create(host->session, 300 << 20, &params, &futures[count], &data, IT_ERR), PW_TOO_LARGE, "");
        while (count)
                pw_unref(futures[--count]);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_int_equal(rmdir(group.path), 0);
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
                skip();
        bool logged = false;
        int code;

        setenv("PW_FAULT_IN", "pathwaysd", 1);
        setenv("PW_FAULT_NO_PUNCH", "1", 1);
        setenv("LD_PRELOAD", it_built("tests/integration/.libs/inject.so", library), 1);
        bool started = it_host_start(host, small, &code, said);
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
        it_ok(pw_create(other, 40 << 20, NULL, &future, &data, IT_ERR)); /* partly of what the first gave back, on paper */
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
        pw_unref(future);
        pw_close(other);
        pw_close(host->session);
        host->session = NULL;
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* --- modules ---------------------------------------------------------------------------------------------------------- */

static void a_file_that_is_not_a_module(void **state)
{
        struct it_host *host = *state;
        char folder[96], path[128], said[600];
        struct pw_slice *slice;
        int code;

        snprintf(folder, sizeof folder, "%s/modules", host->folder);
        assert_int_equal(chmod(host->folder, 0755), 0);
        assert_int_equal(mkdir(folder, 0755), 0);
        snprintf(path, sizeof path, "%s/text.so", folder);
        write_file(path, "this is not a shared library\n");
        snprintf(path, sizeof path, "%s/empty.so", folder);
        write_file(path, "");
        if (!it_host_start(host, IT_ARGS("--modules", folder, "--devices", "emulated:1", "--host-memory", "64MiB", "--device-memory", "4MiB"),
                           &code, said))
                fail_msg("pathwaysd ended with %d: %s", code, said);
        host->session = it_connect(host);
        slice = it_slice(host->session, 1, 1);
        for (int i = 0; i < 2; i++) {
                struct pw_program *program = pw_program_new(host->session, "bad/module");

                pw_result(program, pw_call(program, slice, i ? "empty/nop" : "text/nop",
                                           PW_ARGS(pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0)), PW_BROADCAST));
                it_fails(pw_compile(program, IT_ERR), PW_BAD_MODULE, i ? "empty" : "text");
                pw_program_free(program);
        }
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(two_on_one_run_dir, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(a_killed_daemon_is_replaced, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(sigterm_leaves_nothing, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(sigterm_lets_runs_finish, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(a_config_file, setup_folder, remove_folder),
                cmocka_unit_test_setup_teardown(options_that_cannot_be, setup_folder, remove_folder),
                cmocka_unit_test_setup_teardown(less_memory_than_asked, setup_folder, remove_folder),
                cmocka_unit_test_setup_teardown(pages_are_not_taken_back, setup_folder, remove_folder),
                cmocka_unit_test_setup_teardown(a_file_that_is_not_a_module, setup_folder, remove_folder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
