/* The connection: requests, their replies, the doorbell, and the watcher thread that reads the socket. */
#include "libclient/connection.h"

#include "base/list.h"
#include "libclient/socket.h"
#include "plane/hint.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define HANDSHAKE_NS (INT64_C(10) * 1000 * 1000 * 1000)

/* A call that waits for its reply; it lies on the caller's stack. */
struct waiter {
        struct pw_list node;
        uint64_t id;
        pthread_cond_t answered;
        bool done;
        struct pw_answer answer;
};

struct pw_connection {
        int fd;
        int nudge_fd;
        _Atomic uint32_t *life; /* a page of its own, MADV_WIPEONFORK */
        uint64_t life_bytes;
        pthread_t watcher;
        bool watching;
        _Atomic bool ending;
        _Atomic uint64_t last_id;
        struct pw_connection_params params;
        struct pw_decoder decoder; /* of the watcher, once it runs */

        pthread_mutex_t send_lock; /* around a whole frame */
        _Atomic uint32_t bell;     /* a doorbell is wanted and not sent */

        pthread_mutex_t lock; /* guards what follows */
        struct pw_list waiters;
        char gone_text[200];
};

void pw_answer_done(struct pw_answer *answer)
{
        for (uint32_t i = 0; i < answer->fd_count; i++)
                if (answer->fds[i] >= 0)
                        close(answer->fds[i]);
        if (answer->reply)
                pathways__wire__reply__free_unpacked(answer->reply, NULL);
        *answer = (struct pw_answer){ 0 };
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

/* --- sending ---------------------------------------------------------------------------------------------------------- */

/* Send the doorbell that somebody wanted while the socket was taken. The exchange orders us after who asked for it: either we
 * see its wish, or it sees the lock free. */
static void send_wanted_bell(struct pw_connection *connection)
{
        while (atomic_exchange(&connection->bell, 0)) {
                if (pthread_mutex_trylock(&connection->send_lock) != 0) {
                        atomic_exchange(&connection->bell, 1);
                        if (pthread_mutex_trylock(&connection->send_lock) != 0)
                                return;
                }
                atomic_store(&connection->bell, 0);
                static const char zero = 0;
                (void)!send(connection->fd, &zero, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
                pthread_mutex_unlock(&connection->send_lock);
        }
}

void pw_connection_doorbell(struct pw_connection *connection)
{
        atomic_exchange(&connection->bell, 1);
        send_wanted_bell(connection);
}

static enum pw_status send_frame(struct pw_connection *connection, enum pw_frame_kind kind, const uint8_t *message, size_t bytes,
                                 struct pw_error *ret_err)
{
        if (bytes > PW_FRAME_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "a request of %zu bytes: at most %u", bytes, PW_FRAME_MAX);
        pthread_mutex_lock(&connection->send_lock);
        atomic_store(&connection->bell, 0); /* the frame wakes the daemon just as well */
        enum pw_status status = pw_frame_send(connection->fd, kind, message, (uint32_t)bytes, NULL, 0, ret_err);
        pthread_mutex_unlock(&connection->send_lock);
        send_wanted_bell(connection);
        return status;
}

static enum pw_status send_request(struct pw_connection *connection, Pathways__Wire__Request *request, struct pw_error *ret_err)
{
        size_t bytes = pathways__wire__request__get_packed_size(request);
        pw_auto_free uint8_t *message = malloc(bytes + 1);
        if (!message)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a request of %zu bytes", bytes);
        pathways__wire__request__pack(request, message);
        return send_frame(connection, PW_FRAME_REQUEST, message, bytes, ret_err);
}

enum pw_status pw_connection_post(struct pw_connection *connection, Pathways__Wire__Request *request, struct pw_error *ret_err)
{
        enum pw_status status = pw_connection_check(connection, ret_err);
        if (status != PW_OK)
                return status;
        request->id = atomic_fetch_add(&connection->last_id, 1) + 1;
        return send_request(connection, request, ret_err);
}

void pw_connection_nudge(struct pw_connection *connection)
{
        uint64_t one = 1;
        (void)!write(connection->nudge_fd, &one, sizeof one);
}

/* The reply's own status becomes the call's. */
static enum pw_status answer_status(const struct pw_answer *answer, struct pw_error *ret_err)
{
        const Pathways__Wire__Reply *reply = answer->reply;
        if (reply->status == PW_OK)
                return PW_OK;
        if (!pw_status_known(reply->status))
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered with status %u, which is none", reply->status);
        enum pw_status status = (enum pw_status)reply->status;
        return pw_error_set(ret_err, status, "%s", reply->text && *reply->text ? reply->text : pw_status_text(status));
}

enum pw_status pw_connection_call(struct pw_connection *connection, Pathways__Wire__Request *request, struct pw_answer *ret_answer,
                                  struct pw_error *ret_err)
{
        enum pw_status status = pw_connection_check(connection, ret_err);
        if (status != PW_OK)
                return status;
        struct waiter waiter = { .id = atomic_fetch_add(&connection->last_id, 1) + 1, .answered = PTHREAD_COND_INITIALIZER };
        request->id = waiter.id;
        pthread_mutex_lock(&connection->lock);
        pw_list_append(&connection->waiters, &waiter.node);
        pthread_mutex_unlock(&connection->lock);
        status = send_request(connection, request, ret_err);
        pthread_mutex_lock(&connection->lock);
        while (status == PW_OK && !waiter.done && atomic_load(connection->life) == PW_LIFE_ALIVE)
                pthread_cond_wait(&waiter.answered, &connection->lock);
        pw_list_remove(&waiter.node);
        pthread_mutex_unlock(&connection->lock);
        pthread_cond_destroy(&waiter.answered);
        if (status == PW_OK)
                status = waiter.done ? answer_status(&waiter.answer, ret_err) : pw_connection_check(connection, ret_err);
        if (status != PW_OK) {
                pw_answer_done(&waiter.answer);
                return status;
        }
        *ret_answer = waiter.answer;
        return PW_OK;
}

/* --- the watcher thread ------------------------------------------------------------------------------------------------- */

/* Own: `reply_take`, and those descriptors that are set to -1 in the frame. */
static void take_answer(struct pw_answer *ret_answer, Pathways__Wire__Reply *reply_take, struct pw_frame *frame)
{
        ret_answer->reply = reply_take;
        ret_answer->fd_count = frame->fd_count;
        for (uint32_t i = 0; i < frame->fd_count; i++) {
                ret_answer->fds[i] = frame->fds[i];
                frame->fds[i] = -1;
        }
}

static void deliver(struct pw_connection *connection, Pathways__Wire__Reply *reply_take, struct pw_frame *frame)
{
        struct waiter *waiter, *found = NULL;
        pthread_mutex_lock(&connection->lock);
        pw_list_each(&connection->waiters, waiter, struct waiter, node) {
                if (waiter->id == reply_take->id && !waiter->done)
                        found = waiter;
        }
        if (found) {
                take_answer(&found->answer, reply_take, frame);
                found->done = true;
                pthread_cond_signal(&found->answered);
        }
        pthread_mutex_unlock(&connection->lock);
        if (found)
                return;
        pathways__wire__reply__free_unpacked(reply_take, NULL);
        if (connection->params.nudged)
                connection->params.nudged(connection->params.context);
}

static enum pw_status serve(struct pw_connection *connection, const struct pw_frame *frame, struct pw_error *ret_err)
{
        Pathways__Wire__Request *request = pathways__wire__request__unpack(NULL, frame->bytes, frame->payload);
        if (!request)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a request that cannot be read");
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        reply.status = PW_UNSUPPORTED;
        if (connection->params.serve)
                connection->params.serve(connection->params.context, request, &reply);
        reply.id = request->id;
        pathways__wire__request__free_unpacked(request, NULL);
        size_t bytes = pathways__wire__reply__get_packed_size(&reply);
        pw_auto_free uint8_t *message = malloc(bytes + 1);
        enum pw_status status;
        if (message) {
                pathways__wire__reply__pack(&reply, message);
                status = send_frame(connection, PW_FRAME_REPLY, message, bytes, ret_err);
        } else {
                status = pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a reply of %zu bytes", bytes);
        }
        if (connection->params.serve && connection->params.served)
                connection->params.served(connection->params.context, &reply);
        return status;
}

static enum pw_status handle_frame(struct pw_connection *connection, struct pw_frame *frame, struct pw_error *ret_err)
{
        if (frame->kind == PW_FRAME_DOORBELL)
                return PW_OK;
        if (frame->kind == PW_FRAME_REQUEST)
                return serve(connection, frame, ret_err);
        Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame->bytes, frame->payload);
        if (!reply)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a reply that cannot be read");
        deliver(connection, reply, frame);
        return PW_OK;
}

static enum pw_status handle_frames(struct pw_connection *connection, struct pw_error *ret_err)
{
        struct pw_frame frame;
        enum pw_status status;
        while ((status = pw_frame_next(&connection->decoder, &frame, ret_err)) == PW_OK) {
                status = handle_frame(connection, &frame, ret_err);
                if (status != PW_OK)
                        return status;
        }
        return status == PW_NOT_READY ? PW_OK : status;
}

/* Wait for the socket and for nudges, once. */
static enum pw_status watch_once(struct pw_connection *connection, struct pw_error *ret_err)
{
        struct pollfd on[2] = { { .fd = connection->fd, .events = POLLIN }, { .fd = connection->nudge_fd, .events = POLLIN } };
        if (poll(on, 2, -1) < 0)
                return errno == EINTR ? PW_OK : pw_error_errno(ret_err, errno, "poll");
        if (on[1].revents) {
                uint64_t count;
                (void)!read(connection->nudge_fd, &count, sizeof count);
                if (atomic_load(&connection->ending))
                        return pw_error_set(ret_err, PW_DAEMON_GONE, "the session was closed");
                if (connection->params.nudged)
                        connection->params.nudged(connection->params.context);
        }
        if (!on[0].revents)
                return PW_OK;
        size_t bytes;
        enum pw_status status = pw_decoder_read(&connection->decoder, connection->fd, false, &bytes, ret_err);
        return status == PW_OK ? handle_frames(connection, ret_err) : status;
}

static void declare_gone(struct pw_connection *connection, const struct pw_error *why)
{
        struct waiter *waiter;
        pthread_mutex_lock(&connection->lock);
        if (atomic_load(&connection->ending))
                snprintf(connection->gone_text, sizeof connection->gone_text, "the session was closed");
        else if (why->status == PW_DAEMON_GONE)
                snprintf(connection->gone_text, sizeof connection->gone_text, "pathwaysd has gone away: it closed the socket");
        else
                snprintf(connection->gone_text, sizeof connection->gone_text, "%.*s", (int)sizeof connection->gone_text - 1, why->text);
        atomic_store(connection->life, PW_LIFE_GONE);
        pw_list_each(&connection->waiters, waiter, struct waiter, node)
                pthread_cond_signal(&waiter->answered);
        pthread_mutex_unlock(&connection->lock);
        shutdown(connection->fd, SHUT_RDWR); /* who blocks in a send is let go */
        pw_futex_wake(connection->life, INT_MAX);
        if (connection->params.gone)
                connection->params.gone(connection->params.context);
}

static void *watch(void *argument)
{
        struct pw_connection *connection = argument;
        struct pw_error err = { .status = PW_OK };
        enum pw_status status = handle_frames(connection, &err); /* what came behind the Welcome */
        while (status == PW_OK)
                status = watch_once(connection, &err);
        declare_gone(connection, &err);
        return NULL;
}

static enum pw_status start_watcher(struct pw_connection *connection, struct pw_error *ret_err)
{
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's: its threads take them, not this one */
        int failed = pthread_create(&connection->watcher, NULL, watch, connection);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (failed)
                return pw_error_errno(ret_err, failed, "start the session's thread");
        pthread_setname_np(connection->watcher, "pathways");
        connection->watching = true;
        return PW_OK;
}

/* --- handshake ------------------------------------------------------------------------------------------------------------ */

static enum pw_status say_hello(struct pw_connection *connection, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Hello hello = PATHWAYS__WIRE__HELLO__INIT;
        hello.version = PW_WIRE_VERSION;
        hello.layout = PW_LAYOUT_VERSION;
        hello.role = (char *)(uintptr_t)connection->params.role;
        hello.device = connection->params.device;
        hello.command = program_invocation_short_name;
        request.id = atomic_fetch_add(&connection->last_id, 1) + 1;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_HELLO;
        request.hello = &hello;
        return send_request(connection, &request, ret_err);
}

/* The first frame, or the deadline. */
static enum pw_status read_first(struct pw_connection *connection, struct pw_frame *ret_frame, struct pw_error *ret_err)
{
        int64_t deadline_ns = pw_now_ns() + HANDSHAKE_NS;
        for (;;) {
                enum pw_status status = pw_frame_next(&connection->decoder, ret_frame, ret_err);
                if (status == PW_OK && ret_frame->kind == PW_FRAME_DOORBELL)
                        continue;
                if (status != PW_NOT_READY)
                        return status;
                int64_t left_ms = (deadline_ns - pw_now_ns()) / 1000000;
                struct pollfd on = { .fd = connection->fd, .events = POLLIN };
                if (left_ms <= 0 || poll(&on, 1, (int)left_ms) == 0)
                        return pw_error_set(ret_err, PW_DAEMON_GONE, "pathwaysd took the connection but did not answer within 10 s");
                size_t bytes;
                status = pw_decoder_read(&connection->decoder, connection->fd, false, &bytes, ret_err);
                if (status != PW_OK)
                        return status;
        }
}

static enum pw_status check_welcome(const struct pw_answer *answer, struct pw_error *ret_err)
{
        enum pw_status status = answer_status(answer, ret_err);
        if (status != PW_OK)
                return status;
        if (answer->reply->body_case != PATHWAYS__WIRE__REPLY__BODY_WELCOME)
                return pw_error_set(ret_err, PW_PROTOCOL, "the answer to the handshake is no Welcome");
        uint32_t version = answer->reply->welcome->version;
        if (version != PW_WIRE_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd speaks version %u, this library %u", version, PW_WIRE_VERSION);
        return PW_OK;
}

static enum pw_status shake_hands(struct pw_connection *connection, struct pw_answer *ret_welcome, struct pw_error *ret_err)
{
        enum pw_status status = say_hello(connection, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_frame frame;
        status = read_first(connection, &frame, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_answer answer = { 0 };
        Pathways__Wire__Reply *reply = NULL;
        if (frame.kind == PW_FRAME_REPLY)
                reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);
        if (!reply)
                return pw_error_set(ret_err, PW_PROTOCOL, "the answer to the handshake cannot be read");
        take_answer(&answer, reply, &frame);
        status = check_welcome(&answer, ret_err);
        if (status != PW_OK) {
                pw_answer_done(&answer);
                return status;
        }
        *ret_welcome = answer;
        return PW_OK;
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
        enum pw_status status = pw_futex_check(ret_err);
        if (status == PW_OK)
                status = map_life(connection, ret_err);
        if (status != PW_OK)
                return status;
        connection->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (connection->nudge_fd < 0)
                return pw_error_errno(ret_err, errno, "eventfd");
        if (connection->fd < 0)
                status = pw_socket_connect(connection->params.path, &connection->fd, ret_err);
        if (status == PW_OK)
                status = shake_hands(connection, ret_welcome, ret_err);
        if (status != PW_OK)
                return status;
        status = start_watcher(connection, ret_err);
        if (status != PW_OK)
                pw_answer_done(ret_welcome);
        return status;
}

enum pw_status pw_connection_open(const struct pw_connection_params *params, struct pw_connection **ret_connection,
                                  struct pw_answer *ret_welcome, struct pw_error *ret_err)
{
        struct pw_connection *connection = calloc(1, sizeof *connection);
        if (!connection)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a connection");
        connection->params = *params;
        connection->fd = params->fd;
        connection->nudge_fd = -1;
        pthread_mutex_init(&connection->send_lock, NULL);
        pthread_mutex_init(&connection->lock, NULL);
        pw_list_init(&connection->waiters);
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
        if (connection->fd >= 0)
                close(connection->fd);
        if (connection->nudge_fd >= 0)
                close(connection->nudge_fd);
        connection->fd = connection->nudge_fd = -1;
}

void pw_connection_end(struct pw_connection *connection)
{
        if (connection->watching && !forked(connection)) {
                atomic_store(&connection->ending, true);
                shutdown(connection->fd, SHUT_RDWR); /* the watcher may be in a send */
                pw_connection_nudge(connection);
                pthread_join(connection->watcher, NULL);
        } else if (forked(connection)) {
                close_fds(connection); /* the parent's session goes on: nothing is said on the shared socket */
        }
        connection->watching = false;
}

void pw_connection_close(struct pw_connection *connection)
{
        if (!connection)
                return;
        pw_connection_end(connection);
        close_fds(connection);
        pw_decoder_done(&connection->decoder);
        pthread_mutex_destroy(&connection->send_lock);
        pthread_mutex_destroy(&connection->lock);
        if (connection->life)
                munmap(connection->life, connection->life_bytes);
        free(connection);
}
