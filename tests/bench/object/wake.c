/* wake: a put in one process, a get and a put back in another, a get in the first. One asleep, both asleep, and both awake.
 *
 * The processes make their objects and tell each other the ids beforehand; a round trip fills and seals one, and waits for
 * the other. Who waits looks for a while before it sleeps: whoever is to find the other asleep burns 100 us before it seals, which
 * is not counted. wake: the one that begins does, and then looks until the answer is there; wake_asleep: both do.
 */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"
#include "tests/bench/pair.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES 1024u
#define TRIPS_MAX 2000u
#define BURN_S 100e-6
#define LOOKS 2016u /* as plane/hint.c */

enum mode { WAKE, ASLEEP, AWAKE, MODES };

/* One end: what it seals, what it waits for. */
struct end {
        struct pw_session *session;
        int socket;
        uint32_t trips;
        enum mode mode;
        struct pw_future *mine[TRIPS_MAX], *others[TRIPS_MAX];
        void *rooms[TRIPS_MAX];
        uint32_t mine_count, others_count;
};

static enum pw_status exchange(struct end *end, const struct pw_id *ids, struct pw_id *others, struct pw_error *ret_err)
{
        size_t bytes = end->trips * sizeof *ids;

        if (send(end->socket, ids, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
            recv(end->socket, others, bytes, MSG_WAITALL) != (ssize_t)bytes)
                return pw_error_set(ret_err, PW_PROTOCOL, "the other process of the bench has ended");
        return PW_OK;
}

static enum pw_status end_open(struct end *end, struct pw_error *ret_err)
{
        struct pw_id ids[TRIPS_MAX], others[TRIPS_MAX];
        enum pw_status status = PW_OK;

        end->mine_count = end->others_count = 0;
        while (end->mine_count < end->trips && status == PW_OK) {
                uint32_t i = end->mine_count;
                status = pw_create(end->session, BYTES, NULL, &end->mine[i], &end->rooms[i], ret_err);
                if (status == PW_OK)
                        ids[end->mine_count++] = pw_future_id(end->mine[i]);
        }
        if (status == PW_OK)
                status = exchange(end, ids, others, ret_err);
        while (end->others_count < end->trips && status == PW_OK) {
                status = pw_open(end->session, others[end->others_count], &end->others[end->others_count], ret_err);
                end->others_count += status == PW_OK;
        }
        if (status == PW_OK) /* nobody drops anything before both have opened all */
                status = exchange(end, ids, others, ret_err);
        return status;
}

static void end_close(struct end *end)
{
        for (uint32_t i = 0; i < end->mine_count; i++)
                pw_unref(end->mine[i]);
        for (uint32_t i = 0; i < end->others_count; i++)
                pw_unref(end->others[i]);
        end->mine_count = end->others_count = 0;
}

static enum pw_status give(struct end *end, uint32_t trip, struct pw_error *ret_err)
{
        memset(end->rooms[trip], (int)trip, BYTES);
        return pw_seal(end->mine[trip], ret_err);
}

static enum pw_status take(struct end *end, uint32_t trip, struct pw_error *ret_err)
{
        struct pw_view view;

        while (end->mode == AWAKE && pw_poll(end->others[trip]) == PW_NOT_READY)
                ;
        enum pw_status status = pw_get(end->others[trip], 10000000, &view, ret_err);
        if (status == PW_OK)
                pw_view_done(&view);
        return status;
}

/* What the other process does: as often as the first one asks for, until its socket ends. */
static enum pw_status answer(const char *socket, int fd, uint32_t trips, struct pw_error *ret_err)
{
        static struct end end;
        char mode;
        enum pw_status status = pw_connect(socket, &end.session, ret_err);

        end.socket = fd;
        end.trips = trips;
        while (status == PW_OK && recv(fd, &mode, 1, MSG_WAITALL) == 1) {
                end.mode = (enum mode)mode;
                status = end_open(&end, ret_err);
                for (uint32_t trip = 0; trip < trips && status == PW_OK; trip++) {
                        status = take(&end, trip, ret_err);
                        if (end.mode == ASLEEP)
                                pw_pair_burn(BURN_S);
                        if (status == PW_OK)
                                status = give(&end, trip, ret_err);
                }
                end_close(&end);
        }
        pw_close(end.session);
        return status;
}

/* Microseconds of a round trip: the mean over all of a repeat. */
static enum pw_status ask(struct end *end, enum mode mode, double *ret_us, struct pw_error *ret_err)
{
        double sum = 0;
        char byte = (char)mode;

        end->mode = mode;
        if (send(end->socket, &byte, 1, MSG_NOSIGNAL) != 1)
                return pw_error_errno(ret_err, errno, "send to the other process");
        enum pw_status status = end_open(end, ret_err);
        for (uint32_t trip = 0; trip < end->trips && status == PW_OK; trip++) {
                if (mode != AWAKE)
                        pw_pair_burn(BURN_S);
                double start = pw_bench_seconds();
                status = give(end, trip, ret_err);
                if (status == PW_OK)
                        status = take(end, trip, ret_err);
                sum += pw_bench_seconds() - start - (mode == ASLEEP ? BURN_S : 0);
        }
        end_close(end);
        *ret_us = sum * 1e6 / end->trips;
        return status;
}

static enum pw_status measure(struct end *end, struct pw_bench_row *const rows[MODES], struct pw_error *ret_err)
{
        const struct pw_pair_trips floors[MODES] = {
                [WAKE] = { .count = end->trips, .looks = LOOKS, .sleeps = true, .begin_burns = BURN_S },
                [ASLEEP] = { .count = end->trips, .sleeps = true, .begin_burns = BURN_S, .answer_burns = BURN_S },
                [AWAKE] = { .count = end->trips },
        };
        double us, floor_us;
        enum pw_status status = ask(end, WAKE, &us, ret_err);

        for (uint32_t i = 0; i < PW_BENCH_REPEATS * MODES && status == PW_OK; i++) {
                status = ask(end, (enum mode)(i % MODES), &us, ret_err);
                if (status == PW_OK)
                        status = pw_pair_round_trip(&floors[i % MODES], &floor_us, ret_err);
                if (status != PW_OK)
                        break;
                pw_bench_row_value(rows[i % MODES], us);
                pw_bench_row_floor(rows[i % MODES], floor_us);
        }
        return status;
}

/* The process that answers, forked before there is a session: that one does not outlive a fork. Ends with the socket. */
static enum pw_status answerer_start(const struct pw_bench_daemon *daemon, uint32_t trips, pid_t *ret_pid, int *ret_socket,
                                     struct pw_error *ret_err)
{
        struct pw_error error;
        int sockets[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return pw_error_errno(ret_err, errno, "socketpair");
        pid_t pid = fork();
        if (pid == 0) {
                close(sockets[0]);
                _exit(answer(daemon->socket, sockets[1], trips, &error) != PW_OK);
        }
        close(sockets[1]);
        if (pid < 0) {
                close(sockets[0]);
                return pw_error_errno(ret_err, errno, "fork");
        }
        *ret_pid = pid;
        *ret_socket = sockets[0];
        return PW_OK;
}

enum pw_status pw_bench_wake(struct pw_bench_context *context, struct pw_error *ret_err)
{
        static struct end end;
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_daemon daemon;
        struct pw_bench_row *const rows[MODES] = {
                pw_bench_row_add(context, "wake", "us", PW_BENCH_RATIO_AT_MOST, 1.3),
                pw_bench_row_add(context, "wake_asleep", "us", PW_BENCH_RATIO_AT_MOST, 1.3),
                pw_bench_row_add(context, "wake_awake", "us", PW_BENCH_AT_MOST, 1),
        };
        pid_t pid = 0;
        enum pw_status status = pw_bench_daemon_start(&params, &daemon, ret_err);

        end = (struct end){ .socket = -1, .trips = context->quick ? 100 : 1000 };
        if (status == PW_OK)
                status = answerer_start(&daemon, end.trips, &pid, &end.socket, ret_err);
        if (status == PW_OK)
                status = pw_connect(daemon.socket, &end.session, ret_err);
        if (status == PW_OK)
                status = measure(&end, rows, ret_err);
        pw_close_fd(&end.socket);
        if (pid > 0)
                waitpid(pid, NULL, 0);
        pw_close(end.session);
        pw_bench_daemon_stop(&daemon);
        return status;
}
