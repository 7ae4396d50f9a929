/* Bytes between threads over bare sockets: TCP with checksums, or TLS 1.3. */
#include "tests/bench/cluster/floors.h"

#include "base/memory.h"
#include "tests/bench/bench.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <xxhash.h>

#define CHUNK_BYTES (1ul << 20)
#define STREAMS_MAX 8u

/* One end of a stream: every so manieth chunk of what is moved. */
struct end {
        uint8_t *room;
        uint64_t bytes;
        uint32_t first, streams;
        bool sends, failed;
        int fd;
        SSL *ssl;
        pthread_t thread;
        pthread_barrier_t *start;
};

enum pw_status pw_bench_rooms_make(uint64_t bytes, struct pw_bench_rooms *ret_rooms, struct pw_error *ret_err)
{
        uint8_t *both = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

        *ret_rooms = (struct pw_bench_rooms){ 0 };
        if (both == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "mmap of two rooms");
        memset(both, 1, 2 * bytes);
        *ret_rooms = (struct pw_bench_rooms){ both, both + bytes, bytes };
        return PW_OK;
}

void pw_bench_rooms_done(struct pw_bench_rooms *rooms)
{
        if (rooms->from)
                munmap(rooms->from, 2 * rooms->bytes);
        *rooms = (struct pw_bench_rooms){ 0 };
}

/* All of it. */
static bool move_bytes(const struct end *end, void *data, size_t bytes)
{
        uint8_t *at = data;

        while (bytes) {
                int piece = (int)pw_min_u64(bytes, CHUNK_BYTES);
                ssize_t moved = end->ssl ? (end->sends ? SSL_write(end->ssl, at, piece) : SSL_read(end->ssl, at, piece))
                                : end->sends ? send(end->fd, at, bytes, MSG_NOSIGNAL) : recv(end->fd, at, bytes, 0);

                if (moved <= 0)
                        return false;
                at += moved;
                bytes -= (size_t)moved;
        }
        return true;
}

static bool move_chunk(const struct end *end, uint8_t *at, size_t bytes)
{
        uint64_t sum;

        if (end->ssl)
                return move_bytes(end, at, bytes);
        if (end->sends) {
                sum = XXH3_64bits(at, bytes);
                return move_bytes(end, &sum, sizeof sum) && move_bytes(end, at, bytes);
        }
        return move_bytes(end, &sum, sizeof sum) && move_bytes(end, at, bytes) && XXH3_64bits(at, bytes) == sum;
}

static void *work(void *context)
{
        struct end *end = context;

        if (end->ssl)
                end->failed = (end->sends ? SSL_connect(end->ssl) : SSL_accept(end->ssl)) != 1;
        pthread_barrier_wait(end->start);
        for (uint64_t at = end->first * CHUNK_BYTES; at < end->bytes && !end->failed; at += end->streams * CHUNK_BYTES)
                end->failed = !move_chunk(end, end->room + at, pw_min_u64(CHUNK_BYTES, end->bytes - at));
        if (end->failed)
                shutdown(end->fd, SHUT_RDWR);
        return NULL;
}

/* --- streams ------------------------------------------------------------------------------------------------------------------ */

/* NULL: it cannot be. */
static SSL_CTX *context_of(const char *folder)
{
        SSL_CTX *context = SSL_CTX_new(TLS_method());
        char cert[96], key[96];

        snprintf(cert, sizeof cert, "%s/cert.pem", folder);
        snprintf(key, sizeof key, "%s/key.pem", folder);
        if (context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
            SSL_CTX_use_certificate_chain_file(context, cert) == 1 &&
            SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 &&
            SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1)
                return context;
        SSL_CTX_free(context);
        return NULL;
}

static enum pw_status open_end(struct end *end, SSL_CTX *context, struct pw_error *ret_err)
{
        end->ssl = context ? SSL_new(context) : NULL;
        if (context && (!end->ssl || SSL_set_fd(end->ssl, end->fd) != 1))
                return pw_error_set(ret_err, PW_FAILED, "no TLS for a bench");
        return PW_OK;
}

/* ends[0] send, ends[1] receive. */
static enum pw_status open_all(const struct pw_bench_streams *streams, const struct pw_bench_rooms *rooms,
                               struct end ends[2][STREAMS_MAX], struct pw_error *ret_err)
{
        SSL_CTX *context = streams->proof ? context_of(streams->proof) : NULL;
        enum pw_status status = PW_OK;
        int fds[2];

        if (streams->proof && !context)
                return pw_error_set(ret_err, PW_FAILED, "no TLS for a bench");
        for (uint32_t i = 0; i < streams->streams && status == PW_OK; i++) {
                status = pw_bench_socket_pair(fds, ret_err);
                for (uint32_t side = 0; side < 2 && status == PW_OK; side++) {
                        ends[side][i] = (struct end){ .room = side ? rooms->to : rooms->from, .bytes = streams->bytes, .first = i,
                                                      .streams = streams->streams, .sends = !side, .fd = fds[side] };
                        status = open_end(&ends[side][i], context, ret_err);
                }
        }
        SSL_CTX_free(context);
        return status;
}

static enum pw_status run_all(const struct pw_bench_streams *streams, struct end ends[2][STREAMS_MAX], double *ret_seconds,
                              struct pw_error *ret_err)
{
        pthread_barrier_t start;
        bool failed = false;

        pthread_barrier_init(&start, NULL, 2 * streams->streams + 1);
        for (uint32_t i = 0; i < 2 * streams->streams; i++) {
                struct end *end = &ends[i % 2][i / 2];

                end->start = &start;
                if (pthread_create(&end->thread, NULL, work, end))
                        return pw_error_set(ret_err, PW_SYSTEM, "no thread for a bench"); /* the others wait for ever: it ends */
        }
        pthread_barrier_wait(&start);
        double began = pw_bench_seconds();
        for (uint32_t i = 0; i < 2 * streams->streams; i++) {
                pthread_join(ends[i % 2][i / 2].thread, NULL);
                failed |= ends[i % 2][i / 2].failed;
        }
        *ret_seconds = pw_bench_seconds() - began;
        pthread_barrier_destroy(&start);
        return failed ? pw_error_set(ret_err, PW_FAILED, "bare streams of a bench broke") : PW_OK;
}

enum pw_status pw_bench_streams_move(const struct pw_bench_streams *streams, const struct pw_bench_rooms *rooms,
                                     double *ret_seconds, struct pw_error *ret_err)
{
        struct end ends[2][STREAMS_MAX];
        enum pw_status status;

        for (uint32_t i = 0; i < 2 * STREAMS_MAX; i++)
                ends[i % 2][i / 2] = (struct end){ .fd = -1 };
        status = open_all(streams, rooms, ends, ret_err);
        if (status == PW_OK)
                status = run_all(streams, ends, ret_seconds, ret_err);
        for (uint32_t i = 0; i < 2 * STREAMS_MAX; i++) {
                SSL_free(ends[i % 2][i / 2].ssl);
                pw_close_fd(&ends[i % 2][i / 2].fd);
        }
        return status;
}
