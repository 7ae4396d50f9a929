/* fork and exec of executors. The program is opened before privileges are dropped: its folder may be closed to that user. */
#include "daemon/child/spawn.h"

#include "base/memory.h"
#include "daemon/child/cuda_cache.h"
#include "daemon/closer.h"
#include "daemon/install.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define CHILD_SOCKET 3
#define OWN_USER "pathways-executor" /* runs nothing else; packages make it */
#define ANY_USER "nobody"

struct launch {
        int program, socket;
        struct pw_executor_user user;
        char device[16], name[32], options[PW_DEVICE_OPTIONS_BYTES];
        char *argv[9], *cache, **environment;
};

enum pw_status pw_executor_user(struct pw_daemon *daemon, struct pw_executor_user *ret_user, struct pw_error *ret_err)
{
        const char *given = daemon->settings.executor_user;
        char buffer[4096];
        struct passwd entry, *found = NULL;

        *ret_user = (struct pw_executor_user){ .change = geteuid() == 0 };
        if (!ret_user->change)
                return PW_OK;
        if (getpwnam_r(given ? given : OWN_USER, &entry, buffer, sizeof buffer, &found) != 0)
                found = NULL;
        if (!found && !given && getpwnam_r(ANY_USER, &entry, buffer, sizeof buffer, &found) != 0)
                found = NULL;
        if (!found)
                return pw_error_set(ret_err, PW_NOT_FOUND, "--executor-user %s: no such user", given ? given : ANY_USER);
        if (!found->pw_uid)
                return pw_error_set(ret_err, PW_INVALID,
                                    "--executor-user %s: is root, and executors run clients' modules: name another user", given);
        ret_user->uid = found->pw_uid;
        ret_user->gid = found->pw_gid;
        return PW_OK;
}

static enum pw_status open_program(struct pw_daemon *daemon, struct launch *launch, struct pw_error *ret_err)
{
        char path[4096];

        if (daemon->settings.executor)
                snprintf(path, sizeof path, "%s", daemon->settings.executor);
        else
                pw_install_path(PW_INSTALL_EXECUTOR, path, sizeof path);
        launch->program = open(path, O_RDONLY | O_CLOEXEC);
        if (launch->program < 0)
                return pw_error_errno(ret_err, errno, "open the executor's program %s (--executor FILE names another)", path);
        return PW_OK;
}

void pw_device_options_format(const struct pw_settings *settings, uint32_t device, char *text, size_t text_bytes)
{
        snprintf(text, text_bytes,
                 "kind=%s\ncapacity=%llu\nlaunch_delay_us=%llu\ncopy_bandwidth=%llu\napart=%d\nordinal=%u\nlibrary=%s\n"
                 "nccl_library=%s\nnccl_off=%d\nnccl_nvls=%d\nnccl_channels=%u",
                 settings->kinds.of[device].name, (unsigned long long)settings->device_memory,
                 (unsigned long long)settings->launch_delay_us, (unsigned long long)settings->copy_bandwidth,
                 settings->kinds.of[device].apart, settings->kinds.of[device].ordinal,
                 settings->cuda_driver ? settings->cuda_driver : "", settings->nccl_library ? settings->nccl_library : "",
                 settings->no_nccl, settings->nccl_nvls, settings->nccl_communicators);
}

/* `argument` NULL: `what` has none. */
static void fill_argv(struct launch *launch, const struct pw_daemon *daemon, int device, const char *what, const char *argument)
{
        int i = 0;

        if (device < 0)
                snprintf(launch->name, sizeof launch->name, "describer");
        else
                snprintf(launch->name, sizeof launch->name, "executor h%u:%d", daemon->host, device);
        launch->argv[i++] = (char *)"pathways-executor";
        launch->argv[i++] = (char *)(uintptr_t)what;
        if (argument)
                launch->argv[i++] = (char *)(uintptr_t)argument;
        launch->argv[i++] = (char *)"--fd";
        launch->argv[i++] = (char *)"3";
        launch->argv[i++] = (char *)"--name";
        launch->argv[i++] = launch->name;
        if (daemon->log.journal)
                launch->argv[i++] = (char *)"--journal";
        launch->argv[i] = NULL;
}

/* Modules see nothing of the daemon's environment but where GPUs' code is kept; a sanitizer in them is told there what to do.
 * Own: launch->environment and ->cache are freed in spawn(). */
static enum pw_status fill_environment(struct pw_daemon *daemon, struct launch *launch, struct pw_error *ret_err)
{
#ifdef __SANITIZE_ADDRESS__
        char *const *plain = environ;
#else
        char *const plain[] = { (char *)"PATH=/usr/bin:/bin", NULL };
#endif
        size_t count = 0, at = 0;

        while (plain[count])
                count++;
        launch->environment = calloc(count + 2, sizeof *launch->environment);
        if (!launch->environment)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the environment of an executor");
        launch->cache = pw_cuda_cache(daemon);
        if (launch->cache)
                launch->environment[at++] = launch->cache;
        memcpy(launch->environment + at, plain, count * sizeof *plain);
        return PW_OK;
}

/* In the child: only calls that are safe between fork and exec. */
static void become_executor(const struct launch *launch)
{
        const struct pw_executor_user *user = &launch->user;
        sigset_t none;
        int program = launch->program;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        setpgid(0, 0); /* with all that it starts: they end together */
        if (program == CHILD_SOCKET)
                program = fcntl(program, F_DUPFD_CLOEXEC, CHILD_SOCKET + 1);
        if (launch->socket == CHILD_SOCKET ? fcntl(CHILD_SOCKET, F_SETFD, 0) < 0 : dup2(launch->socket, CHILD_SOCKET) < 0)
                _exit(126);
        close_range(CHILD_SOCKET + 1, ~0U, CLOSE_RANGE_CLOEXEC); /* what the daemon was started with is not theirs */
        if (user->change && (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
                             setresuid(user->uid, user->uid, user->uid) < 0))
                _exit(126);
        syscall(SYS_execveat, program, "", launch->argv, launch->environment, AT_EMPTY_PATH);
        _exit(127);
}

static enum pw_status launch_child(struct launch *launch, struct pw_spawned *ret_spawned, struct pw_error *ret_err)
{
        int pair[2];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return pw_error_errno(ret_err, errno, "socketpair for an executor");
        (void)pw_closer_refuse_files(pair[0]); /* the listener said whether the system can */
        launch->socket = pair[1];
        pid = fork();
        if (pid == 0)
                become_executor(launch);
        if (pid > 0)
                setpgid(pid, pid); /* whoever is first */
        close(pair[1]);
        if (pid < 0) {
                close(pair[0]);
                return pw_error_errno(ret_err, errno, "fork of an executor");
        }
        *ret_spawned = (struct pw_spawned){ pid, (int)syscall(SYS_pidfd_open, pid, 0), pair[0] };
        if (ret_spawned->pidfd >= 0)
                return PW_OK;
        close(pair[0]);
        kill(pid, SIGKILL);
        return pw_error_errno(ret_err, errno, "pidfd_open of an executor");
}

/* Its argv is filled. */
static enum pw_status spawn(struct pw_daemon *daemon, struct launch *launch, struct pw_spawned *ret_spawned,
                            struct pw_error *ret_err)
{
        enum pw_status status = pw_executor_user(daemon, &launch->user, ret_err);

        if (status == PW_OK)
                status = fill_environment(daemon, launch, ret_err);
        if (status == PW_OK)
                status = open_program(daemon, launch, ret_err);
        if (status == PW_OK)
                status = launch_child(launch, ret_spawned, ret_err);
        if (launch->program >= 0)
                close(launch->program);
        free(launch->cache);
        free(launch->environment);
        return status;
}

enum pw_status pw_spawn(struct pw_daemon *daemon, int device, struct pw_spawned *ret_spawned, struct pw_error *ret_err)
{
        struct launch launch = { .program = -1 };
        enum pw_status status;

        snprintf(launch.device, sizeof launch.device, "%d", device);
        if (device < 0)
                fill_argv(&launch, daemon, device, "--describe", NULL);
        else
                fill_argv(&launch, daemon, device, "--device", launch.device);
        status = spawn(daemon, &launch, ret_spawned, ret_err);
        if (status == PW_OK)
                fcntl(ret_spawned->socket, F_SETFL, O_NONBLOCK);
        return status;
}

enum pw_status pw_spawn_measure(struct pw_daemon *daemon, uint32_t device, struct pw_spawned *ret_spawned, struct pw_error *ret_err)
{
        struct launch launch = { .program = -1 };

        pw_device_options_format(&daemon->settings, device, launch.options, sizeof launch.options);
        fill_argv(&launch, daemon, (int)device, "--measure", launch.options);
        return spawn(daemon, &launch, ret_spawned, ret_err);
}
