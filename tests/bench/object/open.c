/* open_1k: references by id to what another process put, taken, looked at, given back. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES 1024u
#define OBJECTS 10000u

/* The other process: puts, says the ids, and holds the objects until the socket ends. */
static int put_all(const char *socket, int fd)
{
        static struct pw_id ids[OBJECTS];
        uint8_t data[BYTES] = { 1 };
        struct pw_session *session;
        struct pw_future *future;
        char byte;
        enum pw_status status = pw_connect(socket, &session, NULL);

        for (uint32_t i = 0; i < OBJECTS && status == PW_OK; i++) {
                status = pw_put(session, data, sizeof data, NULL, &future, NULL);
                if (status == PW_OK)
                        ids[i] = pw_future_id(future);
        }
        if (status == PW_OK && send(fd, ids, sizeof ids, MSG_NOSIGNAL) == (ssize_t)sizeof ids)
                (void)!recv(fd, &byte, 1, 0);
        return status != PW_OK;
}

static enum pw_status open_one(struct pw_session *session, struct pw_id id, struct pw_error *ret_err)
{
        struct pw_future *future;
        struct pw_view view;
        enum pw_status status = pw_open(session, id, &future, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_get(future, 0, &view, ret_err);
        if (status == PW_OK && (view.bytes != BYTES || *(const uint8_t *)view.data != 1))
                status = pw_error_set(ret_err, PW_FAILED, "the object holds other bytes");
        if (status == PW_OK)
                pw_view_done(&view);
        pw_unref(future);
        return status;
}

static enum pw_status measure(struct pw_session *session, const struct pw_id *ids, uint32_t count, struct pw_bench_row *row,
                              struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                double start = pw_bench_seconds();
                for (uint32_t i = 0; i < count && status == PW_OK; i++)
                        status = open_one(session, ids[i % OBJECTS], ret_err);
                if (repeat) /* the first one finds rings and maps untouched */
                        pw_bench_row_value(row, (pw_bench_seconds() - start) * 1e6 / count);
        }
        return status;
}

enum pw_status pw_bench_open_1k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        static struct pw_id ids[OBJECTS];
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_daemon daemon;
        struct pw_bench_row *row = pw_bench_row_add(context, "open_1k", "us", PW_BENCH_AT_MOST, 1);
        struct pw_session *session = NULL;
        int sockets[2];
        pid_t pid = 0;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return pw_error_errno(ret_err, errno, "socketpair");
        enum pw_status status = pw_bench_daemon_start(&params, &daemon, ret_err);
        if (status == PW_OK && (pid = fork()) == 0) { /* before there is a session: that one does not outlive a fork */
                close(sockets[0]);
                _exit(put_all(daemon.socket, sockets[1]));
        }
        pw_close_fd(&sockets[1]);
        if (status == PW_OK && pid < 0)
                status = pw_error_errno(ret_err, errno, "fork");
        if (status == PW_OK)
                status = pw_connect(daemon.socket, &session, ret_err);
        if (status == PW_OK && recv(sockets[0], ids, sizeof ids, MSG_WAITALL) != (ssize_t)sizeof ids)
                status = pw_error_set(ret_err, PW_PROTOCOL, "the other process of the bench has ended");
        if (status == PW_OK)
                status = measure(session, ids, context->quick ? 20000 : 200000, row, ret_err);
        pw_close_fd(&sockets[0]);
        if (pid > 0)
                waitpid(pid, NULL, 0);
        pw_close(session);
        pw_bench_daemon_stop(&daemon);
        return status;
}
