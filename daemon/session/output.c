/* What goes out to a session: packed, sent at once, queued where the socket is full. Of what a turn has for one session the first
 * goes at once, so that nobody waits for the turn's end, and the rest together. */
#include "base/memory.h"
#include "daemon/session/kept.h"
#include "daemon/session/output.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define OUTGOING_MAX_BYTES (64u << 20)
#define UNREAD_MAX_BYTES (64u << 20) /* of the clients of a tenant together */
#define SEND_MOST (4u << 20) /* of a session in a turn: who reads as fast as it is written holds nobody else up */
#define PAGE_BYTES 4096u
#define TOGETHER 64u            /* messages by one call, */
#define TOGETHER_BYTES 4096u    /* of so many bytes each */
#define AGAIN_US 10000 /* when the host is short of what a reply takes */

struct pw_outgoing {
        struct pw_list link;
        uint32_t bytes, sent, fd_count;
        bool counted; /* at the tenant */
        int fds[PW_FRAME_FDS_MAX];
        uint8_t data[]; /* header and message */
};

static void count_unread(struct pw_dsession *session, int64_t bytes)
{
        session->unread_bytes = (uint64_t)((int64_t)session->unread_bytes + bytes);
        session->tenant->unread_bytes = (uint64_t)((int64_t)session->tenant->unread_bytes + bytes);
        pw_kept_count(session->daemon, session->tenant, PW_KEPT_SESSIONS, bytes);
}

static void free_outgoing(struct pw_dsession *session, struct pw_outgoing *out)
{
        if (out->counted)
                count_unread(session, -(int64_t)out->bytes);
        for (uint32_t i = 0; i < out->fd_count; i++)
                close(out->fds[i]);
        free(out);
}

enum sent { ALL_SENT, UNREAD, SHORT, ENOUGH, CLOSED }; /* ENOUGH: for this turn */

/* Why the socket did not take it: what went before is unread, the host is short of something, or the session hears nothing more.
 * A client that shut its side may still be heard, and says itself when it leaves. */
static enum sent not_sent(struct pw_dsession *session, int number)
{
        if (number == EAGAIN)
                return UNREAD;
        if (number == ENOBUFS || number == ENOMEM || number == ETOOMANYREFS)
                return SHORT;
        if (number == EPIPE || number == ECONNRESET)
                session->half_closed = true;
        else
                pw_session_end(session, strerrordesc_np(number));
        return CLOSED;
}

/* Has all been read that was sent? A message that was read just now may still count one byte, one that was not counts hundreds. */
static bool all_read(const struct pw_dsession *session)
{
        int unread;

        return ioctl(session->fd, SIOCOUTQ, &unread) < 0 || unread < 256;
}

/* Pages of what was sent go back as it is sent: all at once they take the system longer than a turn may. */
static void give_back(struct pw_outgoing *out, uint32_t from)
{
        uintptr_t first = pw_round_up((uintptr_t)(out->data + from), PAGE_BYTES),
                end = (uintptr_t)(out->data + out->sent) & ~(uintptr_t)(PAGE_BYTES - 1);

        if (first < end)
                (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

/* Send what is left of `out`; descriptors travel with its first byte, and only to who has read all before: the kernel lets no user
 * have more of them on their way than it may have open, and all that the daemon sends are of one user. */
static enum sent send_some(struct pw_dsession *session, struct pw_outgoing *out, const int *fds, uint32_t *budget)
{
        union { struct cmsghdr align; char space[CMSG_SPACE(sizeof out->fds)]; } control;
        uint32_t before = out->sent;

        if (!out->sent && out->fd_count && !all_read(session))
                return UNREAD;
        while (out->sent < out->bytes) {
                struct iovec part = { out->data + out->sent, pw_min_u64(out->bytes - out->sent, *budget) };
                struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
                ssize_t sent;

                if (!*budget) {
                        give_back(out, before);
                        return ENOUGH;
                }
                if (!out->sent && out->fd_count) {
                        message.msg_control = control.space;
                        message.msg_controllen = CMSG_SPACE(out->fd_count * sizeof(int));
                        memset(control.space, 0, message.msg_controllen);
                        *CMSG_FIRSTHDR(&message) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(out->fd_count * sizeof(int)),
                                                                     .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
                        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, out->fd_count * sizeof(int));
                }
                sent = sendmsg(session->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return not_sent(session, errno);
                out->sent += (uint32_t)sent;
                *budget -= (uint32_t)sent;
        }
        return ALL_SENT;
}

/* Keep `out` until the socket takes it: its descriptors are duplicated, since the caller's are borrowed. */
static void enqueue(struct pw_dsession *session, struct pw_outgoing *out, const int *fds)
{
        uint32_t wanted = out->sent ? 0 : out->fd_count;

        out->fd_count = 0;
        for (uint32_t i = 0; i < wanted; i++) {
                out->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
                if (out->fds[i] < 0)
                        break;
                out->fd_count++;
        }
        pw_list_append(&session->outgoing, &out->link);
        session->outgoing_bytes += out->bytes;
        session->outgoing_fds += out->fd_count;
        out->counted = session->role == PW_ROLE_CLIENT;
        if (out->counted)
                count_unread(session, out->bytes);
        if (out->fd_count < wanted)
                pw_session_end(session, "out of descriptors for a reply");
        else if (out->counted && session->tenant->unread_bytes > UNREAD_MAX_BYTES)
                pw_session_end(session, "clients of its tenant do not read their replies: 64 MiB are waiting");
        else if (session->outgoing_bytes > OUTGOING_MAX_BYTES)
                pw_session_end(session, "it does not read its replies: 64 MiB are waiting");
        pw_session_mind(session);
}

static void wait_no_more(struct pw_dsession *session)
{
        if (session->sendable)
                event_free(session->sendable);
        session->sendable = NULL;
        pw_close_fd(&session->sendable_fd);
        session->sendable_fd = -1;
        pw_list_remove(&session->sending);
}

static void on_sendable(evutil_socket_t fd, short what, void *context);

/* Of what the host is short of nobody says when there is some again, nor of a socket that would take more. */
static void try_again(struct pw_dsession *session, enum sent why)
{
        struct pw_loop *loop = &session->daemon->loop;
        uint64_t at_us = pw_now_us() + (why == ENOUGH ? 0 : AGAIN_US);

        loop->send_again_us = pw_list_empty(&loop->sending) ? at_us : pw_min_u64(loop->send_again_us, at_us);
        if (pw_list_empty(&session->sending))
                pw_list_append(&loop->sending, &session->sending);
}

/* A socket that is not full says nothing when the rest is read, unless it is asked for edges: by a descriptor of its own, since
 * what comes in is not. */
static void wait_to_send(struct pw_dsession *session, enum sent why)
{
        if (!session->sendable) {
                session->sendable_fd = fcntl(session->fd, F_DUPFD_CLOEXEC, 0);
                if (session->sendable_fd >= 0)
                        session->sendable =
                                event_new(session->daemon->loop.base, session->sendable_fd, EV_WRITE | EV_ET | EV_PERSIST,
                                          on_sendable, session);
        }
        if (!session->sendable || event_add(session->sendable, NULL) < 0)
                pw_session_end(session, "out of descriptors or memory for a reply");
        else if (why == UNREAD)
                pw_list_remove(&session->sending);
        else
                try_again(session, why);
}

struct pw_outgoing *pw_outgoing_new(enum pw_frame_kind kind, const ProtobufCMessage *message)
{
        size_t bytes = protobuf_c_message_get_packed_size(message);
        struct pw_outgoing *out = bytes <= PW_FRAME_MAX ? malloc(sizeof *out + PW_FRAME_HEADER + bytes) : NULL;

        if (!out)
                return NULL;
        out->sent = out->fd_count = 0;
        out->counted = false;
        out->bytes = PW_FRAME_HEADER + (uint32_t)bytes;
        pw_frame_header(out->data, kind, (uint32_t)bytes, 0);
        protobuf_c_message_pack(message, out->data + PW_FRAME_HEADER);
        return out;
}

/* Something went out in this turn: more that is small goes with what is to come, by pw_outputs_write(). */
static bool is_held(struct pw_dsession *session, const struct pw_outgoing *out)
{
        struct pw_loop *loop = &session->daemon->loop;

        if (session->write_count != loop->write_count || out->fd_count || out->bytes > TOGETHER_BYTES) {
                session->write_count = loop->write_count;
                return false;
        }
        pw_list_append(&loop->held, &session->held);
        return true;
}

static void send_out(struct pw_dsession *session, struct pw_outgoing *out, const int *fds)
{
        bool first = pw_list_empty(&session->outgoing), held = first && is_held(session, out);
        uint32_t budget = SEND_MOST;
        enum sent how = first && !held ? send_some(session, out, fds, &budget) : UNREAD;

        if (how == ALL_SENT || how == CLOSED) {
                free(out);
                return;
        }
        enqueue(session, out, fds);
        if (first && !held && !session->ended)
                wait_to_send(session, how);
}

void pw_session_send(struct pw_dsession *session, struct pw_outgoing *out_take)
{
        if (session->ended || session->half_closed)
                free(out_take);
        else
                send_out(session, out_take, NULL);
}

static void send_frame(struct pw_dsession *session, enum pw_frame_kind kind, const ProtobufCMessage *message, const int *fds,
                       uint32_t fd_count)
{
        struct pw_outgoing *out;

        if (session->ended || session->half_closed)
                return;
        out = fd_count <= PW_FRAME_FDS_MAX ? pw_outgoing_new(kind, message) : NULL;
        if (!out) {
                pw_session_end(session, "out of memory for a reply");
                return;
        }
        out->fd_count = fd_count;
        pw_frame_header(out->data, kind, out->bytes - PW_FRAME_HEADER, fd_count);
        send_out(session, out, fds);
}

bool pw_session_may_send(const struct pw_dsession *session, uint64_t bytes)
{
        return session->role != PW_ROLE_CLIENT ||
               (bytes <= UNREAD_MAX_BYTES && session->tenant->unread_bytes <= UNREAD_MAX_BYTES - bytes);
}

void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        reply->id = id;
        send_frame(session, PW_FRAME_REPLY, &reply->base, fds, fd_count);
}

void pw_session_reply_listing(struct pw_dsession *session, uint64_t id, Pathways__Wire__Listing *listing)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;

        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_LISTING;
        reply.listing = listing;
        if (pw_session_may_send(session, pathways__wire__reply__get_packed_size(&reply)))
                pw_session_reply(session, id, &reply, NULL, 0);
        else
                pw_session_reply_error(session, id, PW_LIMIT,
                                       "replies that clients of this tenant have not read take too much: read them, or ask for "
                                       "fewer rows");
}

void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;

        reply.status = status;
        reply.text = (char *)(uintptr_t)text;
        pw_session_reply(session, id, &reply, NULL, 0);
}

void pw_session_refuse(int fd, enum pw_status status, const char *text)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        uint8_t frame[PW_FRAME_HEADER + sizeof ((struct pw_error *)0)->text + 64];
        size_t bytes;

        reply.status = status;
        reply.text = (char *)(uintptr_t)text;
        bytes = pathways__wire__reply__get_packed_size(&reply);
        if (PW_FRAME_HEADER + bytes > sizeof frame)
                return;
        pw_frame_header(frame, PW_FRAME_REPLY, (uint32_t)bytes, 0);
        pathways__wire__reply__pack(&reply, frame + PW_FRAME_HEADER);
        (void)!send(fd, frame, PW_FRAME_HEADER + bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void pw_session_reply_ok(struct pw_dsession *session, uint64_t id)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;

        pw_session_reply(session, id, &reply, NULL, 0);
}

void pw_session_reply_object(struct pw_dsession *session, uint64_t id, struct pw_id object, struct pw_cell cell)
{
        const struct pw_daemon *daemon = session->daemon;
        struct pw_id here = pw_id_make(daemon->host, daemon->epoch, pw_cell_segment(cell), pw_cell_slot(cell),
                                       pw_cell_generation(cell));
        Pathways__Wire__ObjectCell local = PATHWAYS__WIRE__OBJECT_CELL__INIT;
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Object body = PATHWAYS__WIRE__OBJECT__INIT;
        Pathways__Wire__ObjectId wire = PATHWAYS__WIRE__OBJECT_ID__INIT;

        wire.place = object.place;
        wire.epoch = object.epoch;
        wire.generation = object.generation;
        body.object = &wire;
        local.segment = pw_cell_segment(cell);
        local.slot = pw_cell_slot(cell);
        local.generation = pw_cell_generation(cell);
        if (!pw_id_equal(here, object))
                body.local = &local;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_OBJECT;
        reply.object = &body;
        pw_session_reply(session, id, &reply, NULL, 0);
}

void pw_session_ask(struct pw_dsession *session, Pathways__Wire__Request *request)
{
        send_frame(session, PW_FRAME_REQUEST, &request->base, NULL, 0);
}

static void forget_first(struct pw_dsession *session)
{
        struct pw_outgoing *out = pw_list_first(&session->outgoing, struct pw_outgoing, link);

        pw_list_remove(&out->link);
        session->outgoing_bytes -= out->bytes;
        session->outgoing_fds -= out->fd_count;
        free_outgoing(session, out);
}

/* Those in front that are small and bring nothing, by one call; what is left of the first of them comes first. */
static enum sent send_together(struct pw_dsession *session, uint32_t *budget)
{
        struct iovec parts[TOGETHER];
        struct msghdr message = { .msg_iov = parts };
        struct pw_outgoing *out;
        ssize_t sent;

        pw_list_each(&session->outgoing, out, struct pw_outgoing, link) {
                if (message.msg_iovlen == TOGETHER || out->fd_count || out->bytes > TOGETHER_BYTES)
                        break;
                parts[message.msg_iovlen++] = (struct iovec){ out->data + out->sent, out->bytes - out->sent };
        }
        do
                sent = sendmsg(session->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0)
                return not_sent(session, errno);
        *budget -= pw_min_u64(*budget, (uint64_t)sent);
        for (uint32_t left = (uint32_t)sent; left;) {
                out = pw_list_first(&session->outgoing, struct pw_outgoing, link);
                if (left < out->bytes - out->sent) {
                        out->sent += left;
                        break;
                }
                left -= out->bytes - out->sent;
                forget_first(session);
        }
        return *budget ? ALL_SENT : ENOUGH;
}

static enum sent send_first(struct pw_dsession *session, uint32_t *budget)
{
        struct pw_outgoing *out = pw_list_first(&session->outgoing, struct pw_outgoing, link);
        enum sent how;

        if (!out->fd_count && out->bytes <= TOGETHER_BYTES)
                return send_together(session, budget);
        how = send_some(session, out, out->fds, budget);
        if (how == ALL_SENT)
                forget_first(session);
        return how;
}

static void send_waiting(struct pw_dsession *session)
{
        uint32_t budget = SEND_MOST;

        while (!session->ended && !pw_list_empty(&session->outgoing)) {
                enum sent how = session->half_closed ? CLOSED : send_first(session, &budget);

                if (how == CLOSED && !session->ended) {
                        forget_first(session);
                } else if (how != ALL_SENT && !session->ended) {
                        wait_to_send(session, how);
                        break;
                }
        }
        if (session->ended)
                return;
        if (pw_list_empty(&session->outgoing))
                wait_no_more(session);
        pw_session_mind(session);
}

void pw_session_write(struct pw_dsession *session)
{
        if (pw_list_empty(&session->held))
                return;
        pw_list_remove(&session->held);
        send_waiting(session);
}

void pw_outputs_write(struct pw_daemon *daemon)
{
        struct pw_loop *loop = &daemon->loop;

        loop->write_count++;
        while (!pw_list_empty(&loop->held))
                pw_session_write(pw_list_first(&loop->held, struct pw_dsession, held));
}

static void on_sendable(evutil_socket_t fd, short what, void *context)
{
        (void)fd;
        (void)what;
        send_waiting(context);
}

uint64_t pw_outputs_next_us(const struct pw_daemon *daemon)
{
        return pw_list_empty(&daemon->loop.sending) ? UINT64_MAX : daemon->loop.send_again_us;
}

/* Once around: who has enough again comes in the next turn. */
void pw_outputs_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_list now;

        (void)now_us;
        pw_list_init(&now);
        pw_list_splice(&now, &daemon->loop.sending);
        while (!pw_list_empty(&now)) {
                struct pw_dsession *session = pw_list_first(&now, struct pw_dsession, sending);

                pw_list_remove(&session->sending);
                send_waiting(session);
        }
}

void pw_session_output_done(struct pw_dsession *session)
{
        struct pw_outgoing *out;

        wait_no_more(session);
        pw_list_remove(&session->held);
        pw_list_each(&session->outgoing, out, struct pw_outgoing, link) {
                pw_list_remove(&out->link);
                free_outgoing(session, out);
        }
}
