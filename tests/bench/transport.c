/* Bulk streams beside raw sockets: 1 GiB over loopback into touched memory, by tcp and by tls, as many streams both times. Prints
 * the median of some runs of each, and their ratio. Run by hand: figures of a busy machine mean little.
 *
 * Usage: transport_bench [STREAMS [RUNS]], 4 and 5 if not said.
 */
#include "daemon/transport/proof/certificate.h"
#include "daemon/transport/stream/bulk.h"
#include "tests/conformance/transport/place.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#define BYTES (1ul << 30)
#define PIECE (1ul << 20)
#define STREAMS_MAX 16u
#define RUNS_MAX 51u

/* One end of a stream: its part of what is moved. */
struct side {
        uint8_t *at;
        uint64_t bytes;
        bool sends;
        struct pw_bulk_stream *stream; /* of a transport, or: */
        int fd;
        SSL *ssl;
        pthread_t thread;
        pthread_barrier_t *start;
        uint32_t *ended;
};

static uint8_t *rooms[2]; /* what is sent, what is received */
static uint32_t streams = 4;

static void cut(struct side sides[2][STREAMS_MAX])
{
        for (uint32_t i = 0; i < 2 * streams; i++)
                sides[i / streams][i % streams] = (struct side){ .at = rooms[i / streams] + i % streams * (BYTES / streams),
                                                                 .bytes = BYTES / streams, .sends = i < streams, .fd = -1 };
}

/* --- by a transport ----------------------------------------------------------------------------------------------------------- */

static void move(void *context, struct pw_bulk_stream *stream)
{
        struct side *side = context;
        enum pw_status status = PW_OK;

        for (uint64_t done = 0; done < side->bytes && status == PW_OK; done += PIECE) {
                struct iovec part = { side->at + done, pw_min_u64(PIECE, side->bytes - done) };

                status = side->sends ? pw_bulk_stream_send(stream, &part, 1, NULL) : pw_bulk_stream_receive(stream, &part, 1, NULL);
        }
        if (status != PW_OK)
                abort();
}

static void on_ended(void *context) { ++*((struct side *)context)->ended; }

static double by_transport(const char *kind)
{
        struct side sides[2][STREAMS_MAX];
        struct pw_pipe *pipes[2][STREAMS_MAX];
        struct place place;
        uint32_t ended = 0;
        uint64_t began_us;
        double took_us;

        cut(sides);
        place_make(&place, &(struct place_params){ .kind = kind });
        for (uint32_t i = 0; i < streams; i++) {
                assert_int_equal(place_call(&place, "beta", PW_USE_BULK), PW_OK);
                pipes[0][i] = place.called;
                pipes[1][i] = place.came;
                place.called = place.came = NULL;
        }
        began_us = pw_now_us();
        for (uint32_t i = 0; i < 2 * streams; i++) {
                struct side *side = &sides[i / streams][i % streams];
                struct pw_bulk_stream_params params = { move, on_ended, side };

                side->ended = &ended;
                assert_int_equal(pw_bulk_stream_new(pipes[i / streams][i % streams], &params, &side->stream, NULL), PW_OK);
        }
        place_await(&place, &ended, 2 * streams);
        took_us = (double)(pw_now_us() - began_us);
        for (uint32_t i = 0; i < 2 * streams; i++)
                pw_bulk_stream_free(sides[i / streams][i % streams].stream);
        place_remove(&place);
        return took_us;
}

/* --- by hand ------------------------------------------------------------------------------------------------------------------ */

static void *move_raw(void *context)
{
        struct side *side = context;
        uint64_t done = 0;

        if (side->ssl && (side->sends ? SSL_connect(side->ssl) : SSL_accept(side->ssl)) != 1)
                abort();
        pthread_barrier_wait(side->start);
        while (done < side->bytes) {
                uint64_t most = pw_min_u64(PIECE, side->bytes - done);
                ssize_t bytes = !side->ssl ? side->sends ? send(side->fd, side->at + done, most, MSG_NOSIGNAL)
                                                         : recv(side->fd, side->at + done, most, 0)
                                : side->sends ? SSL_write(side->ssl, side->at + done, (int)most)
                                              : SSL_read(side->ssl, side->at + done, (int)most);

                if (bytes <= 0)
                        abort();
                done += (uint64_t)bytes;
        }
        return NULL;
}

static void meet_raw(int fds[2])
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t bytes = sizeof in;
        int door = socket(AF_INET, SOCK_STREAM, 0);

        fds[0] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(door, (struct sockaddr *)&in, bytes) | listen(door, 1), 0);
        assert_int_equal(getsockname(door, (struct sockaddr *)&in, &bytes), 0);
        assert_int_equal(connect(fds[0], (struct sockaddr *)&in, bytes), 0);
        fds[1] = accept(door, NULL, NULL);
        close(door);
}

static double by_hand(SSL_CTX *context)
{
        struct side sides[2][STREAMS_MAX];
        pthread_barrier_t start;
        uint64_t began_us;
        double took_us;

        cut(sides);
        pthread_barrier_init(&start, NULL, 2 * streams + 1);
        for (uint32_t i = 0; i < streams; i++) {
                int fds[2];

                meet_raw(fds);
                for (uint32_t j = 0; j < 2; j++) {
                        struct side *side = &sides[j][i];

                        side->fd = fds[j];
                        side->start = &start;
                        side->ssl = context ? SSL_new(context) : NULL;
                        if (side->ssl)
                                SSL_set_fd(side->ssl, side->fd);
                        assert_int_equal(pthread_create(&side->thread, NULL, move_raw, side), 0);
                }
        }
        pthread_barrier_wait(&start);
        began_us = pw_now_us();
        for (uint32_t i = 0; i < 2 * streams; i++)
                pthread_join(sides[i / streams][i % streams].thread, NULL);
        took_us = (double)(pw_now_us() - began_us);
        for (uint32_t i = 0; i < 2 * streams; i++) {
                SSL_free(sides[i / streams][i % streams].ssl);
                close(sides[i / streams][i % streams].fd);
        }
        pthread_barrier_destroy(&start);
        return took_us;
}

/* --- the table ---------------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

/* Runs of both in turn, so that what the machine does besides falls on both. */
static void row(const char *kind, SSL_CTX *context, uint32_t runs)
{
        double own[RUNS_MAX], raw[RUNS_MAX];

        for (uint32_t i = 0; i < runs; i++) {
                raw[i] = by_hand(context);
                own[i] = by_transport(kind);
        }
        qsort(raw, runs, sizeof *raw, compare);
        qsort(own, runs, sizeof *own, compare);
        printf("%-5s %u streams: raw %.2f GB/s, transport %.2f GB/s, ratio %.2f\n", kind, streams,
               (double)BYTES / raw[runs / 2] / 1e3, (double)BYTES / own[runs / 2] / 1e3, raw[runs / 2] / own[runs / 2]);
}

int main(int count, char **arguments)
{
        uint32_t runs = count > 2 ? (uint32_t)atoi(arguments[2]) : 5;
        struct pw_transport_params params = { .host_name = "beta" };
        SSL_CTX *context;

        streams = count > 1 ? (uint32_t)atoi(arguments[1]) : streams;
        if (!streams || streams > STREAMS_MAX || !runs || runs > RUNS_MAX)
                return 2;
        signal(SIGPIPE, SIG_IGN);
        for (uint32_t i = 0; i < 2; i++) {
                rooms[i] = malloc(BYTES);
                if (!rooms[i])
                        return 1;
                memset(rooms[i], (int)i + 1, BYTES);
        }
        place_files_make();
        place_credentials("tls", "beta", &params);
        if (pw_certificate_context(&params, &context, NULL) != PW_OK)
                return 1;
        row("tcp", NULL, runs);
        row("tls", context, runs);
        SSL_CTX_free(context);
        place_files_remove();
        return 0;
}
