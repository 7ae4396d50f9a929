/* A private pathwaysd. */
#include "tests/bench/daemon.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ARGS_MAX 48

/* The build tree is two folders above this program's own; libtool may have put the program one deeper. */
enum pw_status pw_bench_build_folder(char folder[PATH_MAX], struct pw_error *ret_err)
{
        ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);

        if (length < 0)
                return pw_error_errno(ret_err, errno, "readlink /proc/self/exe");
        folder[length] = 0;
        char *tail = strstr(folder, "/tests/bench/");
        if (!tail)
                return pw_error_set(ret_err, PW_NOT_FOUND, "%.300s does not lie in tests/bench of a build tree", folder);
        *tail = 0;
        return PW_OK;
}

/* In the child, which ends. */
static void exec_daemon(const struct pw_bench_daemon_params *params, const struct pw_bench_daemon *daemon, const char *build,
                        int ready)
{
        char program[PATH_MAX + 64], executor[PATH_MAX + 64], modules[PATH_MAX + 64], state[96], log[96];
        char devices[32], islands[16], fd[16];
        const char *argv[ARGS_MAX] = { "pathwaysd", "--run-dir", daemon->folder, "--state-dir", state, "--executor", executor,
                                       "--modules", modules, "--devices", devices, "--islands", islands, "--host-memory",
                                       params->host_memory ? params->host_memory : "1GiB", "--device-memory",
                                       params->device_memory ? params->device_memory : "64MiB", "--ready-fd", fd };
        int argc = 19;

        snprintf(program, sizeof program, "%s/daemon/pathwaysd", build);
        snprintf(executor, sizeof executor, "%s/executor/pathways-executor", build);
        snprintf(modules, sizeof modules, "%s/executor/.libs", build);
        snprintf(state, sizeof state, "%s/state", daemon->folder);
        snprintf(log, sizeof log, "%s/log", daemon->folder);
        snprintf(devices, sizeof devices, "emulated:%u", params->devices);
        snprintf(islands, sizeof islands, "%u", params->islands ? params->islands : 1);
        snprintf(fd, sizeof fd, "%d", ready);
        int out = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (const char *const *more = params->more; more && *more && argc < ARGS_MAX - 1; more++)
                argv[argc++] = *more;
        if (out >= 0 && dup2(out, STDERR_FILENO) >= 0)
                execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
}

/* It is ready when it writes a byte; the end of the pipe means that it has ended. */
static enum pw_status await_ready(const struct pw_bench_daemon *daemon, int fd, struct pw_error *ret_err)
{
        char byte, last[400] = "";
        char path[96];
        ssize_t length;

        do
                length = read(fd, &byte, 1);
        while (length < 0 && errno == EINTR);
        if (length == 1)
                return PW_OK;
        snprintf(path, sizeof path, "%s/log", daemon->folder);
        FILE *log = fopen(path, "re");
        while (log && fgets(last, sizeof last, log))
                ;
        if (log)
                fclose(log);
        last[strcspn(last, "\n")] = 0;
        return pw_error_set(ret_err, PW_DAEMON_GONE, "pathwaysd ended before it was ready: %s", last);
}

enum pw_status pw_bench_daemon_start(const struct pw_bench_daemon_params *params, struct pw_bench_daemon *ret_daemon,
                                     struct pw_error *ret_err)
{
        struct pw_bench_daemon *daemon = ret_daemon;
        char build[PATH_MAX];
        int ready[2];

        *daemon = (struct pw_bench_daemon){ .folder = "/tmp/pathways-bench-XXXXXX" };
        enum pw_status status = pw_bench_build_folder(build, ret_err);
        if (status != PW_OK)
                return status;
        if (!mkdtemp(daemon->folder)) {
                status = pw_error_errno(ret_err, errno, "mkdtemp %s", daemon->folder);
                daemon->folder[0] = 0;
                return status;
        }
        snprintf(daemon->socket, sizeof daemon->socket, "%s/pathwaysd.sock", daemon->folder);
        if (pipe2(ready, 0) < 0)
                return pw_error_errno(ret_err, errno, "pipe");
        double start = pw_bench_seconds();
        daemon->pid = fork();
        if (daemon->pid == 0) {
                close(ready[0]);
                exec_daemon(params, daemon, build, ready[1]);
        }
        close(ready[1]);
        status = daemon->pid < 0 ? pw_error_errno(ret_err, errno, "fork") : await_ready(daemon, ready[0], ret_err);
        daemon->start_seconds = pw_bench_seconds() - start;
        close(ready[0]);
        return status;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
        (void)stat;
        (void)kind;
        (void)place;
        return remove(path);
}

void pw_bench_daemon_stop(struct pw_bench_daemon *daemon)
{
        if (daemon->pid > 0) {
                kill(daemon->pid, SIGTERM);
                while (waitpid(daemon->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        if (daemon->folder[0])
                nftw(daemon->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        *daemon = (struct pw_bench_daemon){ 0 };
}

enum pw_status pw_bench_host_start(const struct pw_bench_daemon_params *params, struct pw_bench_host *ret_host,
                                   struct pw_error *ret_err)
{
        ret_host->session = NULL;
        enum pw_status status = pw_bench_daemon_start(params, &ret_host->daemon, ret_err);

        if (status == PW_OK)
                status = pw_connect(ret_host->daemon.socket, &ret_host->session, ret_err);
        return status;
}

void pw_bench_host_stop(struct pw_bench_host *host)
{
        pw_close(host->session);
        pw_bench_daemon_stop(&host->daemon);
        host->session = NULL;
}
