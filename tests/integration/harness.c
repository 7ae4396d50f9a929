/* The daemon of a test, and children. */
#include "tests/integration/gpus.h"
#include "tests/integration/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 48
#define CHILDREN_MAX 64
#define QUIET_SLACK 3.0 /* how many times its bound something may take where the test has the machine for itself */

/* Children that nobody has waited for: a test that failed forgets its own. */
static pid_t living[CHILDREN_MAX];

/* --- small things ----------------------------------------------------------------------------------------------------- */

int64_t it_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * IT_SECOND + now.tv_nsec / 1000;
}

uint64_t it_environment(const char *name, uint64_t otherwise)
{
        const char *text = getenv(name);

        return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

bool it_apart(void) { return getenv("PW_APART") || getenv("PW_GPUS"); }

int64_t it_long_us(void) { return getenv("PW_ATTACK_SOCKET") ? IT_TOGETHER : IT_LONG; }

int64_t it_slack(void) { return (int64_t)it_environment("PW_SLACK", 20); }

void it_within(const char *what, int64_t since_us, int64_t bound_us)
{
        int64_t took_us = it_now_us() - since_us;

        double slack = (double)it_slack(), others;

        if (took_us <= bound_us)
                return;
        others = it_others();
        if (!getenv("PW_SLACK")) /* half of the processors gone is as bad as all */
                slack = QUIET_SLACK + (slack - QUIET_SLACK) * (others < 0.5 ? 2 * others : 1);
        print_message("%s: after %d ms, should be %d ms; others took %d %% of the processors\n", what, (int)(took_us / 1000),
                      (int)(bound_us / 1000), (int)(others * 100));
        if (getenv("PW_ATTACK_SOCKET")) /* all attacks at once: the bystander is who judges */
                return;
        assert_true((double)took_us <= (double)bound_us * slack);
}

uint64_t it_random(uint64_t *seed)
{
        uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

void it_judge(enum pw_status got, const struct pw_error *err, const struct it_expected *expected)
{
        const char *texts = expected->texts;
        char part[200];

        if (got != expected->status) {
                print_error("%s\n  gave %s, not %s: %s\n", expected->call, pw_status_name(got), pw_status_name(expected->status),
                            err->text);
                _fail(expected->file, expected->line);
        }
        while (texts && *texts) {
                size_t length = strcspn(texts, "|");

                snprintf(part, sizeof part, "%.*s", (int)length, texts);
                if (!strstr(err->text, part)) {
                        print_error("%s\n  \"%s\" does not say \"%s\"\n", expected->call, err->text, part);
                        _fail(expected->file, expected->line);
                }
                texts += length + (texts[length] == '|');
        }
}

/* The build tree is three folders above this program; libtool may have put the program one deeper. */
char *it_built(const char *name, char path[600])
{
        char self[500] = "";
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        char *tail = length > 0 ? strstr(self, "/tests/") : NULL;

        if (!tail)
                fail_msg("%s does not lie in tests/ of a build tree", self);
        *tail = 0;
        snprintf(path, 600, "%s/%s", self, name);
        return path;
}

/* --- the daemon ------------------------------------------------------------------------------------------------------- */

void it_hear_signals(void)
{
        static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                signal(signals[i], SIG_DFL);
}

/* The daemon's, and a test program's that is killed must not leave any. */
static pid_t fork_with_parent(void)
{
        pid_t parent = getpid(), pid = fork();

        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                it_hear_signals();
                if (getppid() != parent)
                        _exit(127);
        }
        return pid;
}

void it_host_init(struct it_host *host)
{
        const char *tmp = getenv("TMPDIR");

        *host = (struct it_host){ .pidfd = -1 };
        snprintf(host->folder, sizeof host->folder, "%.30s/pathways-test-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
        assert_non_null(mkdtemp(host->folder));
        snprintf(host->socket, sizeof host->socket, "%s/run/pathwaysd.sock", host->folder);
        snprintf(host->log, sizeof host->log, "%s/log", host->folder);
}

/* In the child, which ends. */
static void exec_daemon(const struct it_host *host, const char *const *args, int ready)
{
        char program[600], executor[600], modules[3][600], run_dir[96], state_dir[96], fd[16], sanitizer[300];
        const char *all[ARGS_MAX] = { "pathwaysd",  "--run-dir", run_dir,      "--state-dir", state_dir,
                                      "--ready-fd", fd,          "--executor", executor,      "--modules",
                                      modules[0],   "--modules", modules[1],   "--modules",   modules[2] };
        size_t count = host->no_modules ? 9 : 15;

        it_built("daemon/pathwaysd", program);
        it_built("executor/pathways-executor", executor);
        if (getenv("PW_EXECUTOR"))
                snprintf(executor, sizeof executor, "%s", getenv("PW_EXECUTOR"));
        it_built("executor/modules/.libs", modules[0]);
        it_built("tests/integration/modules/.libs", modules[1]);
        it_built("examples/digits/.libs", modules[2]);
        snprintf(run_dir, sizeof run_dir, "%s/run", host->folder);
        snprintf(state_dir, sizeof state_dir, "%s/state", host->folder);
        snprintf(fd, sizeof fd, "%d", ready);
        while (*args && count < ARGS_MAX - 1)
                all[count++] = *args++;
        if (host->gpus)
                count = it_gpus_arguments(host->gpus, all, count, ARGS_MAX);
        else if (it_apart() && count < ARGS_MAX - 1)
                all[count++] = "--emulated-apart";
        it_gpus_spread(all, count);
        /* Modules crash on purpose: a sanitizer in the executor is to leave the signal as it is. */
        snprintf(sanitizer, sizeof sanitizer, "%s:handle_segv=0", getenv("ASAN_OPTIONS") ? getenv("ASAN_OPTIONS") : "");
        setenv("ASAN_OPTIONS", sanitizer, 1);
        int out = open(host->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (out >= 0 && dup2(out, STDERR_FILENO) >= 0)
                execv(program, (char *const *)all);
        _exit(127);
}

/* Status of a process that has ended. */
static int exit_of(pid_t pid)
{
        int status;

        while (waitpid(pid, &status, 0) < 0)
                assert_int_equal(errno, EINTR);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void it_said_last(const struct it_host *host, char said[600])
{
        FILE *log = fopen(host->log, "re");

        said[0] = 0;
        while (log && fgets(said, 600, log))
                ;
        if (log)
                fclose(log);
        said[strcspn(said, "\n")] = 0;
}

int it_host_launch(struct it_host *host, const char *const *args)
{
        int ready[2];

        if (getenv("PW_GPUS") && !host->gpus) {
                host->gpus = calloc(1, sizeof *host->gpus);
                it_gpus_init(host->gpus, "devices = 16\ndelay_us = 5\n");
                if (!strcmp(getenv("PW_GPUS"), "nccl"))
                        it_gpus_nccl(host->gpus, "");
        }
        assert_int_equal(pipe(ready), 0);
        fcntl(ready[0], F_SETFD, FD_CLOEXEC);
        host->pid = fork_with_parent();
        if (host->pid == 0)
                exec_daemon(host, args, ready[1]);
        close(ready[1]);
        assert_true(host->pid > 0);
        host->pidfd = (int)syscall(SYS_pidfd_open, host->pid, 0);
        return ready[0];
}

bool it_host_await(struct it_host *host, int ready, int *ret_exit, char said[600])
{
        struct pollfd poll_fd = { .fd = ready, .events = POLLIN };
        char byte;

        if (poll(&poll_fd, 1, IT_LONG / 1000) != 1)
                fail_msg("pathwaysd is not ready after %d s", (int)(IT_LONG / IT_SECOND));
        bool is_ready = read(ready, &byte, 1) == 1;
        close(ready);
        if (is_ready)
                return true;
        *ret_exit = exit_of(host->pid);
        close(host->pidfd);
        host->pid = 0;
        host->pidfd = -1;
        it_said_last(host, said);
        return false;
}

bool it_host_start(struct it_host *host, const char *const *args, int *ret_exit, char said[600])
{
        return it_host_await(host, it_host_launch(host, args), ret_exit, said);
}

int it_host_end(struct it_host *host, int signal)
{
        struct pollfd poll_fd = { .fd = host->pidfd, .events = POLLIN };

        assert_int_equal(kill(host->pid, signal), 0);
        if (poll(&poll_fd, 1, IT_LONG / 1000) != 1) {
                kill(host->pid, SIGKILL);
                print_error("pathwaysd did not end within %d s of signal %d\n", (int)(IT_LONG / IT_SECOND), signal);
        }
        int status = exit_of(host->pid);
        close(host->pidfd);
        host->pidfd = -1;
        host->pid = 0;
        return status;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
        (void)stat;
        (void)kind;
        (void)place;
        return remove(path);
}

void it_host_done(struct it_host *host)
{
        pw_close(host->session);
        host->session = NULL;
        if (host->pid)
                it_host_end(host, SIGKILL);
        if (host->gpus)
                it_gpus_done(host->gpus);
        free(host->gpus);
        host->gpus = NULL;
        if (host->folder[0])
                nftw(host->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        host->folder[0] = 0;
}

struct pw_session *it_connect(const struct it_host *host)
{
        struct pw_session *session = NULL;

        it_ok(pw_connect(host->socket, &session, IT_ERR));
        return session;
}

int it_setup_with(void **state, const char *const *args)
{
        struct it_host *host = calloc(1, sizeof *host);
        char said[600];
        int status;

        assert_non_null(host);
        it_host_init(host);
        *state = host;
        if (!it_host_start(host, args, &status, said))
                fail_msg("pathwaysd ended with %d: %s", status, said);
        host->session = it_connect(host);
        return 0;
}

int it_setup(void **state)
{
        return it_setup_with(
                state, IT_ARGS("--devices", "emulated:8", "--islands", "2", "--host-memory", "512MiB", "--device-memory", "16MiB"));
}

static void note_child(pid_t old, pid_t new)
{
        for (int i = 0; i < CHILDREN_MAX; i++) {
                if (living[i] != old)
                        continue;
                living[i] = new;
                return;
        }
        fail_msg("too many children");
}

static void end_forgotten(void)
{
        for (int i = 0; i < CHILDREN_MAX; i++) {
                if (!living[i])
                        continue;
                kill(living[i], SIGKILL);
                exit_of(living[i]);
                living[i] = 0;
        }
}

static void print_log(const struct it_host *host, int status)
{
        FILE *log = fopen(host->log, "re");
        char line[600];

        print_error("pathwaysd ended with %d and said:\n", status);
        while (log && fgets(line, sizeof line, log))
                print_error("  %s", line);
        if (log)
                fclose(log);
}

/* Every test ends here, failed or not: nothing may be left behind. */
int it_teardown(void **state)
{
        struct it_host *host = *state;
        int status;

        end_forgotten();
        it_host_clean(host);
        status = it_host_end(host, SIGTERM);
        if (status)
                print_log(host, status);
        it_host_done(host);
        free(host);
        assert_int_equal(status, 0);
        return 0;
}

/* --- children --------------------------------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
static bool is_awake(const char *task)
{
        char path[300], line[300];
        const char *state = NULL;
        FILE *file;

        snprintf(path, sizeof path, "/proc/self/task/%.200s/stat", task);
        file = fopen(path, "re");
        if (file && fgets(line, sizeof line, file))
                state = strrchr(line, ')');
        if (file)
                fclose(file);
        return state && state[2] == 'R';
}

/* The sanitizer's allocator does not survive a fork while another thread is in it: the child would wait for that thread. */
static void let_others_sleep(void)
{
        for (uint32_t awake = 2; awake > 1;) {
                DIR *tasks = opendir("/proc/self/task");
                struct dirent *task;

                awake = 0;
                while (tasks && (task = readdir(tasks)))
                        awake += task->d_name[0] != '.' && is_awake(task->d_name);
                if (tasks)
                        closedir(tasks);
        }
}
#else
static void let_others_sleep(void) { }
#endif

struct it_child it_fork(int (*work)(void *context, int pipe), void *context)
{
        struct it_child child;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        fflush(NULL);
        let_others_sleep();
        child.pid = fork_with_parent();
        assert_true(child.pid >= 0);
        if (child.pid == 0) {
                close(ends[0]);
                setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion ends the child */
                _exit(work(context, ends[1]));
        }
        note_child(0, child.pid);
        close(ends[1]);
        child.pipe = ends[0];
        return child;
}

void it_read(struct it_child *child, void *data, size_t bytes)
{
        struct pollfd poll_fd = { .fd = child->pipe, .events = POLLIN };
        size_t have = 0;

        while (have < bytes) {
                if (poll(&poll_fd, 1, (int)(it_long_us() / 1000)) != 1)
                        fail_msg("a child said nothing for %d s", (int)(it_long_us() / IT_SECOND));
                ssize_t more = read(child->pipe, (char *)data + have, bytes - have);
                if (more <= 0)
                        fail_msg("a child ended with %d before it said all", it_reap(child, 0));
                have += (size_t)more;
        }
}

void it_adopt(const struct it_child *child) { note_child(0, child->pid); }

void it_forget(struct it_child *child)
{
        note_child(child->pid, 0);
        if (child->pipe >= 0)
                close(child->pipe);
        *child = (struct it_child){ 0, -1 };
}

int it_reap_within(struct it_child *child, int64_t bound_us)
{
        struct pollfd poll_fd = { .fd = (int)syscall(SYS_pidfd_open, child->pid, 0), .events = POLLIN };
        bool ended = poll(&poll_fd, 1, (int)(bound_us / 1000)) == 1;

        close(poll_fd.fd);
        if (!ended)
                kill(child->pid, SIGKILL);
        int status = exit_of(child->pid);
        it_forget(child);
        return ended ? status : -1;
}

int it_reap(struct it_child *child, int signal)
{
        if (signal)
                kill(child->pid, signal);
        int status = it_reap_within(child, IT_LONG);
        if (status < 0)
                fail_msg("a child did not end within %d s", (int)(IT_LONG / IT_SECOND));
        return status;
}

void it_put_and_get(struct it_host *host, int times)
{
        for (int i = 0; i < times; i++) {
                struct pw_future *future;
                struct pw_view view;

                it_ok(pw_put(host->session, &i, sizeof i, NULL, &future, IT_ERR));
                it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
                pw_view_done(&view);
                pw_unref(future);
        }
}

int it_wait_for_pending(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_future *future;

        (void)pipe;
        it_ok(pw_lookup(session, "pending", IT_LONG, &future, IT_ERR));
        it_ok(pw_wait(&future, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(future);
        pw_close(session);
        return 0;
}
