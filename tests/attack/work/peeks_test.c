/* A process of the executors' own user, as modules of others or anybody's job may be, looks into executors: memory, maps,
 * descriptors. */
#include "tests/attack/attack.h"

#include "tests/integration/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXECUTORS_MAX 16u

struct targets { pid_t pids[EXECUTORS_MAX]; uint32_t count; };

static void cannot_open(pid_t pid, const char *name)
{
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                fail_msg("%s of an executor is open to other processes of its user", path);
        assert_true(errno == EACCES || errno == EPERM);
}

static int peek(void *context, int pipe)
{
        const struct targets *targets = context;
        char byte;
        struct iovec here = { &byte, 1 }, there = { (void *)(uintptr_t)0x400000, 1 };

        (void)pipe;
        for (uint32_t i = 0; i < targets->count; i++) {
                pid_t pid = targets->pids[i];

                cannot_open(pid, "mem");
                cannot_open(pid, "maps");
                cannot_open(pid, "fd");
                cannot_open(pid, "environ");
                assert_int_equal(process_vm_readv(pid, &here, 1, &there, 1, 0), -1);
                assert_int_equal(errno, EPERM);
                assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), -1);
                assert_int_equal(errno, EPERM);
                int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
                assert_true(pidfd >= 0);
                assert_int_equal(syscall(SYS_pidfd_getfd, pidfd, 3, 0), -1);
                assert_int_equal(errno, EPERM);
                close(pidfd);
        }
        return 0;
}

static void run(struct it_host *host)
{
        struct targets targets;
        const struct passwd *user = getpwnam("pathways-executor");
        struct it_child child;

        if (!user)
                user = getpwnam("nobody");
        assert_non_null(user);
        targets.count = attack_children(host->pid, targets.pids, EXECUTORS_MAX);
        assert_true(targets.count > 0);
        child = attack_fork(user->pw_uid, peek, &targets);
        assert_int_equal(it_reap(&child, 0), 0);
}

int main(void)
{
        return attack_main(&(struct attack){
                .name = "peeks",
                .rule = "executors are not dumpable: no process of their user looks into them",
                .users = true,
                .unwatched = true,
                .run = run,
        });
}
