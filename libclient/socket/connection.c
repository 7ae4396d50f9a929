/* The connection: requests and who waits for their replies, opening and closing. */
#include "libclient/socket/connection_private.h"

#include "libclient/socket/outgoing.h"
#include "libclient/socket/socket.h"
#include "libclient/uncancelled.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

void pw_answer_done(struct pw_answer *answer)
{
        pw_uncancelled;
        for (uint32_t i = 0; i < answer->fd_count; i++)
                if (answer->fds[i] >= 0)
                        close(answer->fds[i]);
        if (answer->reply)
                pathways__wire__reply__free_unpacked(answer->reply, NULL);
        *answer = (struct pw_answer){ 0 };
}

void pw_answer_take(struct pw_answer *ret_answer, Pathways__Wire__Reply *reply_take, struct pw_frame *frame)
{
        ret_answer->reply = reply_take;
        ret_answer->fd_count = frame->fd_count;
        for (uint32_t i = 0; i < frame->fd_count; i++) {
                ret_answer->fds[i] = frame->fds[i];
                frame->fds[i] = -1;
        }
}

const _Atomic uint32_t *pw_connection_life(const struct pw_connection *connection) { return connection->life; }

enum pw_status pw_connection_check(const struct pw_connection *connection, struct pw_error *ret_err)
{
        uint32_t life = atomic_load(connection->life);
        if (life == PW_LIFE_ALIVE)
                return PW_OK;
        if (life == PW_LIFE_FORKED)
                return pw_error_set(ret_err, PW_FORKED, "this session was opened before the process forked: connect again here");
        /* gone_text was written before the life word, and never again. */
        return pw_error_set(ret_err, PW_DAEMON_GONE, "%s", connection->gone_text);
}

uint64_t pw_connection_next_ids(struct pw_connection *connection, uint32_t count)
{
        return atomic_fetch_add(&connection->last_id, count) + 1;
}

/* --- asking ----------------------------------------------------------------------------------------------------------- */

enum pw_status pw_connection_send_request(struct pw_connection *connection, Pathways__Wire__Request *request,
                                          struct pw_error *ret_err)
{
        size_t bytes = pathways__wire__request__get_packed_size(request);
        pw_auto_free uint8_t *message = malloc(bytes + 1);
        if (!message)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a request of %zu bytes", bytes);
        pathways__wire__request__pack(request, message);
        return pw_connection_send(connection, PW_FRAME_REQUEST, message, bytes, ret_err);
}

enum pw_status pw_connection_post(struct pw_connection *connection, Pathways__Wire__Request *request, struct pw_error *ret_err)
{
        pw_uncancelled;
        enum pw_status status = pw_connection_check(connection, ret_err);
        if (status != PW_OK)
                return status;
        request->id = pw_connection_next_ids(connection, 1);
        return pw_connection_send_request(connection, request, ret_err);
}

enum pw_status pw_connection_post_soon(struct pw_connection *connection, Pathways__Wire__Request *request, struct pw_error *ret_err)
{
        enum pw_status status = pw_connection_check(connection, ret_err);
        if (status != PW_OK)
                return status;
        request->id = pw_connection_next_ids(connection, 1);
        return pw_connection_send_soon(connection, PW_FRAME_REQUEST, &request->base, ret_err);
}

void pw_connection_nudge(struct pw_connection *connection)
{
        pw_uncancelled;
        uint64_t one = 1;
        if (pw_connection_holds(connection))
                (void)!write(connection->nudge.fd, &one, sizeof one);
}

/* The reply's own status becomes the call's. */
enum pw_status pw_answer_status(const struct pw_answer *answer, struct pw_error *ret_err)
{
        const Pathways__Wire__Reply *reply = answer->reply;
        if (reply->status == PW_OK)
                return PW_OK;
        if (!pw_status_known(reply->status))
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered with status %u, which is none", reply->status);
        enum pw_status status = (enum pw_status)reply->status;
        return pw_error_set(ret_err, status, "%s", reply->text && *reply->text ? reply->text : pw_status_text(status));
}

/* Frames of `requests`, whose ids are set, one behind the other. NULL: `ret_err` says why. */
static uint8_t *pack_all(Pathways__Wire__Request *const *requests, uint32_t count, size_t *ret_bytes, struct pw_error *ret_err)
{
        size_t bytes = 0, most = 0;
        for (uint32_t i = 0; i < count; i++) {
                size_t own = pathways__wire__request__get_packed_size(requests[i]);
                most = own > most ? own : most;
                bytes += PW_FRAME_HEADER + own;
        }
        uint8_t *frames = most <= PW_FRAME_MAX ? malloc(bytes) : NULL, *at = frames;
        if (most > PW_FRAME_MAX)
                (void)!pw_error_set(ret_err, PW_TOO_LARGE, "a request of %zu bytes: at most %u", most, PW_FRAME_MAX);
        else if (!frames)
                (void)!pw_error_set(ret_err, PW_NO_MEMORY, "no memory for requests of %zu bytes", bytes);
        for (uint32_t i = 0; frames && i < count; i++) {
                size_t own = pathways__wire__request__pack(requests[i], at + PW_FRAME_HEADER);
                at += pw_frame_header(at, PW_FRAME_REQUEST, (uint32_t)own, 0) + own;
        }
        *ret_bytes = bytes;
        return frames;
}

enum pw_status pw_connection_call_all(struct pw_connection *connection, Pathways__Wire__Request *const *requests, uint32_t count,
                                      struct pw_answer *ret_answers, struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_error failed = { .status = PW_NO_MEMORY };
        enum pw_status status = pw_connection_check(connection, ret_err);
        size_t bytes;
        if (status != PW_OK)
                return status;
        memset(ret_answers, 0, count * sizeof *ret_answers);
        struct pw_reply_waiter waiter = { .first = pw_connection_next_ids(connection, count), .count = count, .left = count,
                                          .answers = ret_answers, .answered = PTHREAD_COND_INITIALIZER };
        for (uint32_t i = 0; i < count; i++)
                requests[i]->id = waiter.first + i;
        pw_auto_free uint8_t *frames = pack_all(requests, count, &bytes, &failed);
        if (!frames)
                return pw_error_set(ret_err, failed.status, "%s", failed.text);
        pw_connection_expect(connection, &waiter);
        status = pw_connection_send_frames(connection, frames, bytes, ret_err);
        /* Who finds the socket closed as it sends goes on to read: once a call has said "gone", every other says so. */
        if (status == PW_OK || status == PW_DAEMON_GONE)
                pw_connection_await(connection, &waiter);
        pw_connection_expect_no_more(connection, &waiter);
        pthread_cond_destroy(&waiter.answered);
        if (status == PW_OK || status == PW_DAEMON_GONE)
                status = waiter.left ? pw_connection_check(connection, ret_err) : PW_OK;
        for (uint32_t i = 0; status != PW_OK && i < count; i++)
                pw_answer_done(&ret_answers[i]);
        return status;
}

enum pw_status pw_connection_call(struct pw_connection *connection, Pathways__Wire__Request *request, struct pw_answer *ret_answer,
                                  struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_answer answer;
        enum pw_status status = pw_connection_call_all(connection, &request, 1, &answer, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_answer_status(&answer, ret_err);
        if (status == PW_OK)
                *ret_answer = answer;
        else
                pw_answer_done(&answer);
        return status;
}

/* --- life cycle ------------------------------------------------------------------------------------------------------------- */

static enum pw_status map_life(struct pw_connection *connection, struct pw_error *ret_err)
{
        connection->life_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        void *page = mmap(NULL, connection->life_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "mmap");
        connection->life = page;
        if (madvise(page, connection->life_bytes, MADV_WIPEONFORK) < 0)
                return pw_error_errno(ret_err, errno, "madvise(MADV_WIPEONFORK)");
        atomic_store(connection->life, PW_LIFE_ALIVE);
        return PW_OK;
}

static enum pw_status open_parts(struct pw_connection *connection, struct pw_answer *ret_welcome, struct pw_error *ret_err)
{
        int fd = connection->params.fd;
        enum pw_status status = fd < 0 ? pw_socket_connect(connection->params.path, &fd, ret_err) : PW_OK;
        if (status != PW_OK)
                return status;
        connection->socket = pw_descriptor_of(fd); /* first: it is by the socket that close_fds() knows the other */
        if (connection->socket.fd < 0)
                return pw_error_errno(ret_err, errno, "fstat");
        status = map_life(connection, ret_err);
        if (status != PW_OK)
                return status;
        connection->nudge = pw_descriptor_of(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (connection->nudge.fd < 0)
                return pw_error_errno(ret_err, errno, "eventfd");
        status = pw_connection_shake_hands(connection, ret_welcome, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_connection_watch(connection, ret_err);
        if (status != PW_OK)
                pw_answer_done(ret_welcome);
        return status;
}

enum pw_status pw_connection_open(const struct pw_connection_params *params, struct pw_connection **ret_connection,
                                  struct pw_answer *ret_welcome, struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_connection *connection = calloc(1, sizeof *connection);
        if (!connection)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a connection");
        connection->params = *params;
        connection->socket = connection->nudge = PW_DESCRIPTOR_NONE;
        pthread_mutex_init(&connection->send_lock, NULL);
        pthread_mutex_init(&connection->lock, NULL);
        pthread_cond_init(&connection->given_back, NULL);
        pw_list_init(&connection->waiters);
        pw_list_init(&connection->soon);
        pw_decoder_init(&connection->decoder);
        struct pw_answer welcome = { 0 };
        enum pw_status status = open_parts(connection, &welcome, ret_err);
        connection->params.path = NULL; /* borrowed for this call */
        if (status != PW_OK) {
                pw_connection_close(connection);
                return status;
        }
        *ret_welcome = welcome;
        *ret_connection = connection;
        return PW_OK;
}

static bool forked(const struct pw_connection *connection)
{
        return connection->life && atomic_load(connection->life) == PW_LIFE_FORKED;
}

static void close_fds(struct pw_connection *connection)
{
        /* One of its own kind cannot be told from an eventfd: where the socket is lost, so is that. */
        if (pw_descriptor_is_ours(&connection->socket))
                pw_descriptor_close(&connection->nudge);
        pw_descriptor_close(&connection->socket);
        connection->nudge = PW_DESCRIPTOR_NONE;
}

void pw_connection_end(struct pw_connection *connection)
{
        pw_uncancelled;
        if (forked(connection)) {
                close_fds(connection); /* the parent's session goes on: nothing is said on the shared socket */
        } else if (connection->watching) {
                if (!pw_connection_holds(connection)) /* who closed every descriptor need not have used the session since */
                        pw_connection_lost(connection);
                pw_connection_leave(connection);
                if (atomic_load(&connection->lost))
                        pthread_cancel(connection->watcher); /* it polls what nobody can reach any more */
                else
                        pw_connection_nudge(connection);
                pthread_join(connection->watcher, NULL);
        }
        connection->watching = false;
}

void pw_connection_close(struct pw_connection *connection)
{
        pw_uncancelled;
        if (!connection)
                return;
        pw_connection_end(connection);
        close_fds(connection);
        pw_outgoing_done(connection);
        pw_decoder_done(&connection->decoder);
        pthread_mutex_destroy(&connection->send_lock);
        pthread_cond_destroy(&connection->given_back);
        pthread_mutex_destroy(&connection->lock);
        if (connection->life)
                munmap(connection->life, connection->life_bytes);
        free(connection);
}
