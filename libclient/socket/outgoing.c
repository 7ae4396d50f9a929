/* What goes out over the socket: whole frames by the threads that ask, doorbells, and what the watcher thread has to send.
 *
 * Whatever arrives on the socket is a doorbell, so one that meets a full socket need not be sent. All else that could not be sent
 * at once is `wanted`: who holds the socket sends it when it lets go. What the socket does not take then is `kept` for the watcher
 * thread, which waits for room in it; that thread never blocks.
 */
#include "libclient/socket/outgoing.h"

#include "libclient/uncancelled.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* A message of the watcher's: header and payload. */
struct pw_soon { struct pw_list link; size_t bytes, sent; uint8_t data[]; };

/* Returns what of it is to be tried again: PW_WANT_BELL or 0. */
static uint32_t send_bell(const struct pw_connection *connection)
{
        static const char zero = 0;
        bool sent = send(connection->socket.fd, &zero, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
        return !sent && (errno == ENOBUFS || errno == ENOMEM) ? PW_WANT_BELL | PW_WANT_LATER : 0;
}

static struct pw_soon *first_soon(struct pw_connection *connection)
{
        pthread_mutex_lock(&connection->lock);
        struct pw_soon *soon = pw_list_empty(&connection->soon) ? NULL : pw_list_first(&connection->soon, struct pw_soon, link);
        pthread_mutex_unlock(&connection->lock);
        return soon;
}

static void soon_free(struct pw_connection *connection, struct pw_soon *soon)
{
        pthread_mutex_lock(&connection->lock);
        pw_list_remove(&soon->link);
        pthread_mutex_unlock(&connection->lock);
        free(soon);
}

/* As much as the socket takes; send_lock is held. Returns what is to be tried again. */
static uint32_t send_soon(struct pw_connection *connection)
{
        struct pw_soon *soon;
        while ((soon = first_soon(connection))) {
                ssize_t sent = send(connection->socket.fd, soon->data + soon->sent, soon->bytes - soon->sent,
                                    MSG_DONTWAIT | MSG_NOSIGNAL);
                if (sent < 0)
                        return errno == ENOBUFS || errno == ENOMEM ? PW_WANT_SOON | PW_WANT_LATER : errno == EAGAIN ?
                                PW_WANT_SOON : 0;
                soon->sent += (size_t)sent;
                if (soon->sent == soon->bytes)
                        soon_free(connection, soon);
        }
        return 0;
}

/* A message that was begun is ended before another frame: the rest of it, waiting for room. send_lock is held. */
static void end_begun(struct pw_connection *connection)
{
        struct pw_soon *soon = first_soon(connection);
        uint32_t left = soon && soon->sent ? PW_WANT_SOON : 0;
        while (left && first_soon(connection) == soon && (left = send_soon(connection))) {
                struct pollfd room = { .fd = connection->socket.fd, .events = left & PW_WANT_LATER ? 0 : POLLOUT };
                (void)poll(&room, 1, left & PW_WANT_LATER ? PW_AGAIN_MS : -1);
        }
}

/* Send what somebody wanted to while the socket was taken. Looking changes the word, which orders us after who wanted it: either we
 * see its wish, or it sees the lock free. */
static void send_wanted(struct pw_connection *connection)
{
        uint32_t left = 0;
        while (atomic_fetch_or(&connection->wanted, 0)) {
                if (pthread_mutex_trylock(&connection->send_lock) != 0)
                        break; /* who has it looks at what is wanted when it lets go */
                uint32_t wanted = atomic_exchange(&connection->wanted, 0);
                bool ours = pw_descriptor_is_ours(&connection->socket);
                if (ours && wanted & PW_WANT_BELL)
                        left |= send_bell(connection);
                if (ours && wanted & PW_WANT_SOON)
                        left |= send_soon(connection);
                pthread_mutex_unlock(&connection->send_lock);
                if (!ours)
                        pw_connection_lost(connection);
        }
        if (left) {
                atomic_fetch_or(&connection->kept, left);
                pw_connection_nudge(connection); /* the watcher thread looks what it is to wait for */
        }
}

void pw_connection_doorbell(struct pw_connection *connection)
{
        pw_uncancelled;
        atomic_fetch_or(&connection->wanted, PW_WANT_BELL);
        send_wanted(connection);
}

void pw_connection_send_kept(struct pw_connection *connection)
{
        uint32_t kept = atomic_exchange(&connection->kept, 0);
        if (!kept)
                return;
        atomic_fetch_or(&connection->wanted, kept & ~PW_WANT_LATER);
        send_wanted(connection);
}

/* A message without its header, or (`frames` not NULL) frames that have theirs. */
struct whole { enum pw_frame_kind kind; const uint8_t *message, *frames; size_t bytes; };

static enum pw_status send_whole(struct pw_connection *connection, const struct whole *whole, struct pw_error *ret_err)
{
        pthread_mutex_lock(&connection->send_lock);
        atomic_fetch_and(&connection->wanted, ~PW_WANT_BELL); /* the frame is one */
        bool ours = pw_descriptor_is_ours(&connection->socket);
        enum pw_status status = PW_DAEMON_GONE;
        if (ours) {
                end_begun(connection);
                status = whole->frames ? pw_frames_send(connection->socket.fd, whole->frames, whole->bytes, ret_err)
                                       : pw_frame_send(connection->socket.fd, whole->kind, whole->message, (uint32_t)whole->bytes,
                                                       NULL, 0, ret_err);
        }
        if (status != PW_OK)
                atomic_fetch_or(&connection->wanted, PW_WANT_BELL);
        pthread_mutex_unlock(&connection->send_lock);
        if (!ours) {
                pw_connection_lost(connection);
                return pw_connection_check(connection, ret_err);
        }
        send_wanted(connection);
        return status;
}

enum pw_status pw_connection_send(struct pw_connection *connection, enum pw_frame_kind kind, const uint8_t *message, size_t bytes,
                                 struct pw_error *ret_err)
{
        if (bytes > PW_FRAME_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "a request of %zu bytes: at most %u", bytes, PW_FRAME_MAX);
        return send_whole(connection, &(struct whole){ .kind = kind, .message = message, .bytes = bytes }, ret_err);
}

enum pw_status pw_connection_send_frames(struct pw_connection *connection, const uint8_t *frames, size_t bytes,
                                         struct pw_error *ret_err)
{
        return send_whole(connection, &(struct whole){ .frames = frames, .bytes = bytes }, ret_err);
}

enum pw_status pw_connection_send_soon(struct pw_connection *connection, enum pw_frame_kind kind, const ProtobufCMessage *message,
                                       struct pw_error *ret_err)
{
        size_t bytes = protobuf_c_message_get_packed_size(message);
        struct pw_soon *soon = bytes <= PW_FRAME_MAX ? malloc(sizeof *soon + PW_FRAME_HEADER + bytes) : NULL;
        if (!soon)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a message of %zu bytes", bytes);
        *soon = (struct pw_soon){ .bytes = PW_FRAME_HEADER + bytes };
        pw_frame_header(soon->data, kind, (uint32_t)bytes, 0);
        protobuf_c_message_pack(message, soon->data + PW_FRAME_HEADER);
        pthread_mutex_lock(&connection->lock);
        pw_list_append(&connection->soon, &soon->link);
        pthread_mutex_unlock(&connection->lock);
        atomic_fetch_or(&connection->wanted, PW_WANT_SOON);
        send_wanted(connection);
        return PW_OK;
}

void pw_outgoing_done(struct pw_connection *connection)
{
        struct pw_soon *soon;
        pw_list_each(&connection->soon, soon, struct pw_soon, link) {
                pw_list_remove(&soon->link);
                free(soon);
        }
}
