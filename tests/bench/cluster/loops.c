/* The round trip between two event loops. */
#include "tests/bench/cluster/floors.h"

#include "base/memory.h"
#include "tests/bench/bench.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTION_BYTES 64u
#define ANSWER_BYTES 1024u

enum pw_status pw_bench_socket_pair(int ret_fds[2], struct pw_error *ret_err)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        pw_auto_close int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pw_auto_close int near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t bytes = sizeof address;

        if (door < 0 || near < 0 || bind(door, (struct sockaddr *)&address, bytes) < 0 || listen(door, 1) < 0 ||
            getsockname(door, (struct sockaddr *)&address, &bytes) < 0 || connect(near, (struct sockaddr *)&address, bytes) < 0)
                return pw_error_errno(ret_err, errno, "sockets on loopback");
        pw_auto_close int far = accept4(door, NULL, NULL, SOCK_CLOEXEC);
        if (far < 0)
                return pw_error_errno(ret_err, errno, "accept on loopback");
        setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        ret_fds[0] = near;
        ret_fds[1] = far;
        near = far = -1;
        return PW_OK;
}

/* One end: waits for so many bytes, in a loop that waits in epoll alone. */
static bool await_bytes(int loop, int fd, size_t bytes)
{
        struct epoll_event event;
        uint8_t space[ANSWER_BYTES];
        ssize_t came;

        while (bytes) {
                if (epoll_wait(loop, &event, 1, -1) < 0 && errno != EINTR)
                        return false;
                came = recv(fd, space, bytes, MSG_DONTWAIT);
                if (!came || (came < 0 && errno != EAGAIN))
                        return false;
                bytes -= came > 0 ? (size_t)came : 0;
        }
        return true;
}

static int loop_of(int fd)
{
        struct epoll_event event = { .events = EPOLLIN };
        int loop = epoll_create1(EPOLL_CLOEXEC);

        if (loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) < 0)
                pw_close_fd(&loop), loop = -1;
        return loop;
}

/* In the other process, until the first one hangs up. */
static void answer_all(int fd)
{
        static const uint8_t answer[ANSWER_BYTES];
        int loop = loop_of(fd);

        while (loop >= 0 && await_bytes(loop, fd, QUESTION_BYTES) && send(fd, answer, sizeof answer, MSG_NOSIGNAL) > 0)
                ;
}

enum pw_status pw_bench_loops_trip(uint32_t count, double *ret_us, struct pw_error *ret_err)
{
        static const uint8_t question[QUESTION_BYTES];
        int fds[2];
        enum pw_status status = pw_bench_socket_pair(fds, ret_err);

        if (status != PW_OK)
                return status;
        pid_t pid = fork();
        if (pid == 0) {
                close(fds[0]);
                answer_all(fds[1]);
                _exit(0);
        }
        close(fds[1]);
        int loop = loop_of(fds[0]);
        if (pid < 0 || loop < 0)
                status = pw_error_errno(ret_err, errno, "another process of the bench");
        double start = pw_bench_seconds();
        for (uint32_t i = 0; i < count && status == PW_OK; i++)
                if (send(fds[0], question, sizeof question, MSG_NOSIGNAL) < 0 || !await_bytes(loop, fds[0], ANSWER_BYTES))
                        status = pw_error_errno(ret_err, errno, "a round trip on loopback");
        *ret_us = (pw_bench_seconds() - start) * 1e6 / count;
        pw_close_fd(&loop);
        close(fds[0]);
        if (pid > 0)
                waitpid(pid, NULL, 0);
        return status;
}
