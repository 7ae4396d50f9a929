/* What pathwaysd is told at its start: a file, options, a memory cgroup, a folder of modules; and what it refuses. */
#include "base/memory.h"
#include "tests/integration/folder.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- configuration ---------------------------------------------------------------------------------------------------- */

static void a_config_file(void **state)
{
        static const char *const not_keys[] = { "help = yes", "version = yes", "help-mdoc = yes", "metrics-mdoc = yes",
                                                "config = x" };
        struct it_host *host = *state;
        char path[128], text[100];

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        it_write_file(path, "# two devices\ndevices = emulated:2\nhost-memory = 64 MiB\ndevice-memroy = 4 MiB\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:4|device-memroy|device-memory");
        it_write_file(path, "devices = emulated:2\nislands\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:2");
        it_write_file(path, "devices = emulated:none\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:1: devices|emulated:none");
        it_write_file(path, "\nislands = 3\nlog-level = much\n"); /* what does not go together, and what is wrong by itself */
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:2: islands 3");
        it_refuses_to_start(host, IT_ARGS("--config", path, "--islands", "1"), "pathways.conf:3: log-level much");
        it_refuses_to_start(host, IT_ARGS("--config", path, "--islands", "4"), "--islands 4");
        it_write_file(path, "quota = bo:host\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:1: quota");
        it_write_file(path, "[pathwaysd]\ndevices = emulated:2\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:1: [pathwaysd]|no sections");
        it_write_file(path, "devices emulated:4\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:1: not of the form key = value");
        it_write_file(path, "host-memory = lots\n");
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:1|host-memory");
        it_refuses_to_start(host, IT_ARGS("--config", "/no/such.conf"), "/no/such.conf");
        for (size_t i = 0; i < pw_array_count(not_keys); i++) {
                snprintf(text, sizeof text, "  islands = 1\n  %s\n", not_keys[i]);
                it_write_file(path, text);
                it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf:2: |is no key of a file");
        }
        it_write_file(path,
                      "devices = emulated:2 ; and one more on the command line\n  host-memory = 64 MiB\n\tdevice-memory = 4 MiB\n");
        it_start(host, IT_ARGS("--config", path, "--devices", "emulated:3"));
        host->session = it_connect(host);
        assert_int_equal(it_listed(host->session, "status", "devices"), 3);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static void expect_in_log(const struct it_host *host, const char *text)
{
        pw_auto_free char *said = calloc(1, 65536);
        FILE *log = fopen(host->log, "re");

        assert_non_null(said);
        assert_non_null(log);
        assert_true(fread(said, 1, 65535, log) > 0);
        fclose(log);
        if (!strstr(said, text))
                fail_msg("no \"%s\" in\n%s", text, said);
}

static void options_that_cannot_be(void **state)
{
        struct it_host *host = *state;

        it_refuses_to_start(host, IT_ARGS("--devices", "emulated:2", "--islands", "3"), "--islands 3|2");
        it_refuses_to_start(host, IT_ARGS("--devices", "gpu:2"), "gpu:2|emulated");
        it_refuses_to_start(host, IT_ARGS("--devices", "emulated:65"), "emulated:65|64");
        it_refuses_to_start(host, IT_ARGS("--devices", "emulated:8", "--host-memory", "16MiB", "--device-memory", "4MiB"),
                            "16 MiB|8 devices|4 MiB");
        it_refuses_to_start(host, IT_ARGS("--host-memory", "900TiB"), "900 TiB");
        it_refuses_to_start(host, IT_ARGS("--no-such-option"), "no-such-option");
        it_refuses_to_start(host, IT_ARGS("--policy", "magic"), "magic|fifo, share");
        it_refuses_to_start(host, IT_ARGS("--weight", "bo"), "--weight|bo|bo=4");
        it_refuses_to_start(host, IT_ARGS("--weight", "bo=0"), "--weight|1 to 1000");
        it_refuses_to_start(host, IT_ARGS("--weight", "bo=1001"), "--weight|1 to 1000");
        it_refuses_to_start(host, IT_ARGS("--weight", "65001=2"), "--weight|65001=2|no user's name|uid-65001=2");
        it_refuses_to_start(host, IT_ARGS("--weight", "bo=4", "--weight", "bo=5"), "--weight|bo=5|already|bo=4");
        it_refuses_to_start(host, IT_ARGS("--shutdown", "18446744073709551615us"), "--shutdown: at most 36500d");
        it_refuses_to_start(host, IT_ARGS("--admit-deadline", "36501d"), "--admit-deadline: at most 36500d");
        it_refuses_to_start(host, IT_ARGS("--admit-deadline", "0"), "--admit-deadline 0: at least 1us");
        it_refuses_to_start(host, IT_ARGS("--socket-mode", "7777"), "--socket-mode 7777: from 0 to 0777");
        it_refuses_to_start(host, IT_ARGS("--ahead", "0"), "--ahead 0: from 2 to 1024");
        it_refuses_to_start(host, IT_ARGS("--ahead", "1025"), "--ahead 1025: from 2 to 1024");
        it_refuses_to_start(host, IT_ARGS("--islands", "0"), "--islands 0: from 1 to 16");
        it_refuses_to_start(host, IT_ARGS("operand"), "operand");
        if (geteuid() == 0)
                it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--executor-user", "root"), "--executor-user root|name another user");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--quota", "bo :host=1MiB"), "bo :host=1MiB|no name of a user");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--quota", ":host=1MiB"), "no name of a user");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--quota", "65001:host=4MiB"), "--quota|65001:host=4MiB|uid-65001:host=4MiB");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--quota", "bo:host=1MiB", "--quota", "al:host=1MiB", "--quota",
                                          "bo:sessions=2,host=2MiB"),
                            "bo:|host is given twice");
        it_start(host, IT_ARGS(IT_SMALL, "--quota", "nosuchuser:host=1MiB", "--quota", "nosuchuser:sessions=2"));
        expect_in_log(host, "quota for a user that does not exist yet user=nosuchuser");
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* A quota in a file, with blanks where a person may put some. */
static void a_quota_for_nobody(void **state)
{
        struct it_host *host = *state;
        char path[128];

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        it_write_file(path, "devices = emulated:2\nquota = bo :host=1MiB\n");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--config", path), "bo :host=1MiB|no name of a user");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        it_refuses_to_start(host, IT_ARGS("--config", path), "pathways.conf|no regular file");
}

/* A program that is no executor, or one that always ends: nobody would ever be served. */
static void no_executor(void **state)
{
        it_refuses_to_start(*state, IT_ARGS("--executor", "/bin/false", IT_SMALL),
                            "its process ended 5 times before it was ready, at last with: exit status 1");
}

/* --- what a process begins with --------------------------------------------------------------------------------------- */

/* pathwaysd itself, started with `begin` done before, until its socket answers; it says what it says to nobody. */
static struct pw_session *start_after(struct it_host *host, void (*begin)(void))
{
        char program[600], executor[600], run_dir[200], state_dir[200];
        int64_t end_us = it_now_us() + IT_LONG;
        struct pw_session *session = NULL;

        it_built("daemon/pathwaysd", program);
        it_built("executor/pathways-executor", executor);
        snprintf(run_dir, sizeof run_dir, "%s/run", host->folder);
        snprintf(state_dir, sizeof state_dir, "%s/state", host->folder);
        host->pid = fork();
        if (host->pid == 0) {
                begin();
                execl(program, program, "--run-dir", run_dir, "--state-dir", state_dir, "--executor", executor, IT_SMALL,
                      "--log-level", "debug", (char *)NULL);
                _exit(127);
        }
        assert_true(host->pid > 0);
        while (pw_connect(host->socket, &session, NULL) != PW_OK)
                if (waitpid(host->pid, NULL, WNOHANG) != 0 || it_now_us() > end_us) {
                        host->pid = 0;
                        return NULL;
                }
        return session;
}

static void close_standard_error(void) { close(STDERR_FILENO); }

/* Nothing that is opened later takes the place of standard error. */
static void standard_error_closed(void **state)
{
        struct it_host *host = *state;
        struct pw_session *session = start_after(host, close_standard_error);
        char path[200], text[200] = "", expected[24];

        assert_non_null(session);
        snprintf(path, sizeof path, "%s/run/pathwaysd.lock", host->folder);
        snprintf(expected, sizeof expected, "%d\n", (int)host->pid);
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        (void)!fread(text, 1, sizeof text - 1, file);
        fclose(file);
        assert_string_equal(text, expected);
        pw_close(session);
        assert_int_equal(kill(host->pid, SIGTERM), 0);
        int status;
        assert_int_equal(waitpid(host->pid, &status, 0), host->pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        host->pid = 0;
}

static void limit_files(void)
{
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1 << 20, 1 << 20 }), 0);
}

static int start_limited(void *context, int pipe)
{
        struct it_host *host = context;
        char program[600], run_dir[200], state_dir[200];

        (void)pipe;
        it_built("daemon/pathwaysd", program);
        snprintf(run_dir, sizeof run_dir, "%s/run", host->folder);
        snprintf(state_dir, sizeof state_dir, "%s/state", host->folder);
        limit_files();
        execl(program, program, "--run-dir", run_dir, "--state-dir", state_dir, IT_SMALL, (char *)NULL);
        return 127;
}

/* An error, and no signal that ends it without a word. */
static void files_that_may_not_grow(void **state)
{
        struct it_child child = it_fork(start_limited, *state);

        assert_int_equal(it_reap(&child, 0), 1);
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
                        snprintf(group->above, sizeof group->above, "/sys/fs/cgroup%s%s", strstr(line, ":memory:") ? "/memory" : "",
                                 path);
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
                it_skip("no memory cgroup can be made here");
        }
        bool started = it_host_start(host, IT_ARGS("--devices", "emulated:1", "--host-memory", "512MiB", "--device-memory", "4MiB"),
                                     &code, said);
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

/* --- modules ---------------------------------------------------------------------------------------------------------- */

static void a_file_that_is_not_a_module(void **state)
{
        struct it_host *host = *state;
        char folder[96], path[128];
        struct pw_slice *slice;

        snprintf(folder, sizeof folder, "%s/modules", host->folder);
        assert_int_equal(chmod(host->folder, 0755), 0);
        assert_int_equal(mkdir(folder, 0755), 0);
        snprintf(path, sizeof path, "%s/text.so", folder);
        it_write_file(path, "this is not a shared library\n");
        snprintf(path, sizeof path, "%s/empty.so", folder);
        it_write_file(path, "");
        it_start(host,
                 IT_ARGS("--modules", folder, "--devices", "emulated:1", "--host-memory", "64MiB", "--device-memory", "4MiB"));
        host->session = it_connect(host);
        slice = it_slice(host->session, 1, 1);
        for (int i = 0; i < 2; i++) {
                struct pw_program *program = pw_program_new(host->session, "bad/module");

                pw_result(program, pw_call(program, slice, i ? "empty/nop" : "text/nop",
                                           PW_ARGS(pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0)), PW_BROADCAST));
                it_fails(pw_compile(program, IT_ERR), PW_BAD_MODULE,
                         i ? "/modules/empty.so: not a file with" : "text does not load|/modules/text.so: file too short");
                pw_program_free(program);
        }
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(a_config_file),
                IT_FOLDER_TEST(options_that_cannot_be), IT_FOLDER_TEST(a_quota_for_nobody),
                IT_FOLDER_TEST(standard_error_closed), IT_FOLDER_TEST(files_that_may_not_grow),
                IT_FOLDER_TEST(no_executor),
                IT_FOLDER_TEST(less_memory_than_asked),
                IT_FOLDER_TEST(a_file_that_is_not_a_module),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
