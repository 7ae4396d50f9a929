/* Child processes of a bench. */
#include "tests/bench/child.h"

#include "base/memory.h"
#include "tests/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static _Noreturn void child_work(const struct pw_bench_work *work, int pipe)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool ok = work->prepare(work->context) && write(pipe, "", 1) == 1;

        if (ok && work->live)
                work->live(work->context);
        while (ok)
                pause();
        _exit(1);
}

enum pw_status pw_bench_child_start(const struct pw_bench_work *work, struct pw_bench_child *ret_child, struct pw_error *ret_err)
{
        struct pw_bench_child *child = ret_child;
        int ends[2];
        char byte;

        *child = (struct pw_bench_child){ .pidfd = -1, .pipe = -1 };
        if (pipe2(ends, O_CLOEXEC) < 0)
                return pw_error_errno(ret_err, errno, "pipe");
        child->pipe = ends[0];
        child->pid = fork();
        if (child->pid == 0)
                child_work(work, ends[1]);
        close(ends[1]);
        if (child->pid < 0) {
                child->pid = 0;
                return pw_error_errno(ret_err, errno, "fork");
        }
        child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
        if (child->pidfd < 0)
                return pw_error_errno(ret_err, errno, "pidfd_open");
        return read(child->pipe, &byte, 1) == 1 ? PW_OK : pw_error_set(ret_err, PW_FAILED, "a client of the bench failed");
}

enum pw_status pw_bench_child_kill(struct pw_bench_child *child, double *ret_seconds, struct pw_error *ret_err)
{
        struct pollfd end = { .fd = child->pidfd, .events = POLLIN };

        kill(child->pid, SIGKILL);
        while (poll(&end, 1, -1) < 0)
                if (errno != EINTR)
                        return pw_error_errno(ret_err, errno, "poll of a pidfd");
        *ret_seconds = pw_bench_seconds();
        return PW_OK;
}

void pw_bench_child_done(struct pw_bench_child *child)
{
        if (child->pid > 0) {
                kill(child->pid, SIGKILL);
                while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        pw_close_fd(&child->pidfd);
        pw_close_fd(&child->pipe);
        *child = (struct pw_bench_child){ .pidfd = -1, .pipe = -1 };
}
