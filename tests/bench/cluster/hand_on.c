/* hand_on: an id goes from a client of one host to a client of another, and another id back. */
#include "tests/bench/cluster/small.h"

#include "base/memory.h"

#include <errno.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static enum pw_status put_one(struct pw_session *session, struct pw_future **ret_future, struct pw_error *ret_err)
{
        static const uint8_t data[PW_BENCH_SMALL_BYTES] = { 1 };

        return pw_put(session, data, sizeof data, NULL, ret_future, ret_err);
}

static bool hear(int fd, struct pw_id *ret_id) { return recv(fd, ret_id, sizeof *ret_id, MSG_WAITALL) == (ssize_t)sizeof *ret_id; }

static bool say(int fd, const struct pw_future *future)
{
        struct pw_id id = pw_future_id(future);

        return send(fd, &id, sizeof id, MSG_NOSIGNAL) == (ssize_t)sizeof id;
}

/* In the other process, until the first one hangs up. What it put it holds until the next id says that it was got. */
static enum pw_status answer_all(const struct pw_bench_cluster *cluster, int fd)
{
        struct pw_session *session;
        struct pw_future *future = NULL;
        struct pw_id id;
        struct pw_error err;
        enum pw_status status = pw_bench_cluster_connect(cluster, 1, &session, &err);

        while (status == PW_OK && hear(fd, &id)) {
                pw_unref(future);
                future = NULL;
                status = pw_bench_small_get(session, id, &err);
                if (status == PW_OK)
                        status = put_one(session, &future, &err);
                if (status == PW_OK && !say(fd, future))
                        break;
        }
        pw_unref(future);
        pw_close(session);
        return status;
}

enum pw_status pw_bench_hand_start(const struct pw_bench_cluster *cluster, struct pw_bench_hand *ret_hand, struct pw_error *ret_err)
{
        int sockets[2];

        *ret_hand = (struct pw_bench_hand){ .fd = -1 };
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return pw_error_errno(ret_err, errno, "socketpair");
        ret_hand->pid = fork();
        if (ret_hand->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(sockets[0]);
                _exit(answer_all(cluster, sockets[1]) != PW_OK);
        }
        close(sockets[1]);
        ret_hand->fd = sockets[0];
        return ret_hand->pid < 0 ? pw_error_errno(ret_err, errno, "fork") : PW_OK;
}

void pw_bench_hand_stop(struct pw_bench_hand *hand)
{
        pw_close_fd(&hand->fd);
        if (hand->pid > 0)
                while (waitpid(hand->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        *hand = (struct pw_bench_hand){ .fd = -1 };
}

static enum pw_status there_and_back(const struct pw_bench_hand *hand, struct pw_session *session, struct pw_error *ret_err)
{
        struct pw_future *future;
        struct pw_id id;
        enum pw_status status = put_one(session, &future, ret_err);

        if (status != PW_OK)
                return status;
        if (!say(hand->fd, future) || !hear(hand->fd, &id))
                status = pw_error_set(ret_err, PW_FAILED, "the other client of the bench has ended");
        if (status == PW_OK)
                status = pw_bench_small_get(session, id, ret_err);
        pw_unref(future);
        return status;
}

enum pw_status pw_bench_hand_on(const struct pw_bench_hand *hand, struct pw_session *session, uint32_t count, double *ret_us,
                                struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < count && status == PW_OK; i++)
                status = there_and_back(hand, session, ret_err);
        *ret_us = (pw_bench_seconds() - start) * 1e6 / count;
        return status;
}
