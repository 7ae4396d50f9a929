/* Who reads the socket of a connection: the watcher thread, or who waits for a reply while nobody else does. Replies to who waits
 * for them, requests of the daemon, nudges, and the end.
 *
 * While callers read for themselves the socket is *lent*: the watcher polls it for its end alone, so that what arrives wakes only
 * the one that it is for. It takes it back when no caller has read for a while, or several wait at a time.
 */
#include "libclient/socket/outgoing.h"

#include "libclient/uncancelled.h"
#include "plane/hint.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#define LENT_MS 5 /* without a caller that reads */

/* Whoever asked may wait for ever once an answer went to nobody: what was never asked is not passed over. */
static enum pw_status check_id(struct pw_connection *connection, const Pathways__Wire__Reply *reply, struct pw_error *ret_err)
{
        if (reply->id <= atomic_load(&connection->last_id))
                return PW_OK;
        return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered request %llu, which was never asked",
                            (unsigned long long)reply->id);
}

static void deliver(struct pw_connection *connection, enum pw_reader by, Pathways__Wire__Reply *reply_take, struct pw_frame *frame)
{
        struct pw_reply_waiter *waiter, *found = NULL;
        struct pw_answer *answer = NULL;
        pthread_mutex_lock(&connection->lock);
        pw_list_each(&connection->waiters, waiter, struct pw_reply_waiter, node) {
                if (reply_take->id - waiter->first < waiter->count && !waiter->answers[reply_take->id - waiter->first].reply) {
                        found = waiter;
                        answer = &waiter->answers[reply_take->id - waiter->first];
                }
        }
        if (found) {
                pw_answer_take(answer, reply_take, frame);
                if (!--found->left)
                        pthread_cond_signal(&found->answered);
        }
        pthread_mutex_unlock(&connection->lock);
        if (found)
                return;
        pathways__wire__reply__free_unpacked(reply_take, NULL);
        if (by == PW_READER_CALLER)
                pw_connection_nudge(connection);
        else if (connection->params.nudged)
                connection->params.nudged(connection->params.context);
}

/* No request of the daemon is known to clients and executors: say so, and go on. */
static enum pw_status refuse(struct pw_connection *connection, const struct pw_frame *frame, struct pw_error *ret_err)
{
        Pathways__Wire__Request *request = pathways__wire__request__unpack(NULL, frame->bytes, frame->payload);
        if (!request)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a request that cannot be read");
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        reply.status = PW_UNSUPPORTED;
        reply.id = request->id;
        pathways__wire__request__free_unpacked(request, NULL);
        return pw_connection_send_soon(connection, PW_FRAME_REPLY, &reply.base, ret_err);
}

static enum pw_status handle_frame(struct pw_connection *connection, enum pw_reader by, struct pw_frame *frame,
                                   struct pw_error *ret_err)
{
        if (frame->kind == PW_FRAME_DOORBELL)
                return PW_OK;
        if (frame->kind == PW_FRAME_REQUEST)
                return refuse(connection, frame, ret_err);
        Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame->bytes, frame->payload);
        if (!reply)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a reply that cannot be read");
        enum pw_status status = check_id(connection, reply, ret_err);
        if (status == PW_OK)
                deliver(connection, by, reply, frame);
        else
                pathways__wire__reply__free_unpacked(reply, NULL);
        return status;
}

static enum pw_status handle_frames(struct pw_connection *connection, enum pw_reader by, struct pw_error *ret_err)
{
        struct pw_frame frame;
        enum pw_status status;
        while ((status = pw_frame_next(&connection->decoder, &frame, ret_err)) == PW_OK) {
                status = handle_frame(connection, by, &frame, ret_err);
                if (status != PW_OK)
                        return status;
        }
        return status == PW_NOT_READY ? PW_OK : status;
}

/* The only place where the thread can be cancelled: it holds nothing there. Returns 0 or an errno. */
static int sleep_until_ready(struct pollfd on[2], int timeout_ms)
{
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        int number = poll(on, 2, timeout_ms) < 0 ? errno : 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        return number;
}

static void declare_gone(struct pw_connection *connection, const struct pw_error *why)
{
        struct pw_reply_waiter *waiter;
        pthread_mutex_lock(&connection->lock);
        if (atomic_load(connection->life) != PW_LIFE_ALIVE) {
                pthread_mutex_unlock(&connection->lock);
                return;
        }
        if (why->status == PW_DAEMON_GONE)
                snprintf(connection->gone_text, sizeof connection->gone_text, "pathwaysd has gone away: it closed the socket");
        else
                snprintf(connection->gone_text, sizeof connection->gone_text, "%.*s", (int)sizeof connection->gone_text - 1,
                         why->text);
        atomic_store(connection->life, PW_LIFE_GONE);
        pw_list_each(&connection->waiters, waiter, struct pw_reply_waiter, node)
                pthread_cond_signal(&waiter->answered);
        pthread_mutex_unlock(&connection->lock);
        if (pw_descriptor_is_ours(&connection->socket))
                shutdown(connection->socket.fd, SHUT_RDWR); /* who blocks in a send is let go */
        pw_futex_wake(connection->life, INT_MAX);
        if (connection->params.gone)
                connection->params.gone(connection->params.context);
}

/* What is there, by who has the socket. */
static enum pw_status read_some(struct pw_connection *connection, enum pw_reader by, struct pw_error *ret_err)
{
        size_t bytes;
        enum pw_status status = pw_decoder_read(&connection->decoder, connection->socket.fd, false, &bytes, ret_err);

        return status == PW_OK ? handle_frames(connection, by, ret_err) : status;
}

/* --- callers ---------------------------------------------------------------------------------------------------------------- */

/* NULL: there are none, or several. `lock` is held. */
static struct pw_reply_waiter *only_waiter(const struct pw_connection *connection)
{
        bool is_one = connection->waiters.next != &connection->waiters && connection->waiters.next == connection->waiters.prev;

        return is_one ? pw_list_first(&connection->waiters, struct pw_reply_waiter, node) : NULL;
}

/* Who is alone, or comes while the watcher does not read, reads for himself; from before he asks, or the watcher could be woken. */
static void claim(struct pw_connection *connection, struct pw_reply_waiter *waiter)
{
        waiter->reads = connection->reader == PW_READER_NONE && (connection->lent || only_waiter(connection) == waiter);
        if (waiter->reads)
                connection->reader = PW_READER_CALLER;
}

void pw_connection_expect(struct pw_connection *connection, struct pw_reply_waiter *waiter)
{
        pthread_mutex_lock(&connection->lock);
        pw_list_append(&connection->waiters, &waiter->node);
        claim(connection, waiter);
        pthread_mutex_unlock(&connection->lock);
}

/* Until something has come, which may be the end. By poll(): who sleeps in recv() is woken by room to send as well. */
static void read_here(struct pw_connection *connection)
{
        struct pollfd on = { .fd = connection->socket.fd, .events = POLLIN };
        struct pw_error why;
        int ready = poll(&on, 1, -1);

        if (!pw_connection_holds(connection))
                pw_connection_lost(connection);
        else if (ready == 1 && read_some(connection, PW_READER_CALLER, &why) != PW_OK)
                declare_gone(connection, &why);
}

void pw_connection_await(struct pw_connection *connection, struct pw_reply_waiter *waiter)
{
        pthread_mutex_lock(&connection->lock);
        while (waiter->left && atomic_load(connection->life) == PW_LIFE_ALIVE) {
                if (!waiter->reads)
                        claim(connection, waiter);
                if (waiter->reads) {
                        pthread_mutex_unlock(&connection->lock);
                        read_here(connection);
                        pthread_mutex_lock(&connection->lock);
                } else {
                        pthread_cond_wait(&waiter->answered, &connection->lock);
                }
        }
        pthread_mutex_unlock(&connection->lock);
}

static void give_up_reading(struct pw_connection *connection)
{
        connection->reader = PW_READER_NONE;
        connection->reads++;
        pthread_cond_signal(&connection->given_back);
        if (connection->rests)
                pw_connection_nudge(connection);
        connection->rests = false;
}

/* One that still waits reads for itself; several have the watcher do it. */
void pw_connection_expect_no_more(struct pw_connection *connection, struct pw_reply_waiter *waiter)
{
        pthread_mutex_lock(&connection->lock);
        pw_list_remove(&waiter->node);
        if (waiter->reads)
                give_up_reading(connection);
        if (connection->lent && connection->reader == PW_READER_NONE && !pw_list_empty(&connection->waiters)) {
                if (only_waiter(connection)) {
                        pthread_cond_signal(&only_waiter(connection)->answered);
                } else {
                        connection->lent = false;
                        pw_connection_nudge(connection);
                }
        }
        pthread_mutex_unlock(&connection->lock);
}

/* --- the watcher ------------------------------------------------------------------------------------------------------------ */

/* May the watcher read? Not where a caller does, or the last one to wait has done so since it was asked last; at the end of the
 * socket it may. */
static bool take_reading(struct pw_connection *connection, bool end, uint64_t *seen)
{
        pthread_mutex_lock(&connection->lock);
        while (end && connection->reader == PW_READER_CALLER)
                pthread_cond_wait(&connection->given_back, &connection->lock);
        bool waited_for = end || connection->reads == *seen || !pw_list_empty(&connection->waiters);
        bool takes = connection->reader != PW_READER_CALLER && waited_for;
        connection->rests = !takes && connection->reads == *seen;
        connection->lent = !takes;
        *seen = connection->reads;
        if (takes)
                connection->reader = PW_READER_WATCHER;
        pthread_mutex_unlock(&connection->lock);
        return takes;
}

/* Who came meanwhile, and is alone, reads for himself. */
static void give_back_reading(struct pw_connection *connection)
{
        pthread_mutex_lock(&connection->lock);
        connection->reader = PW_READER_NONE;
        if (only_waiter(connection))
                pthread_cond_signal(&only_waiter(connection)->answered);
        pthread_mutex_unlock(&connection->lock);
}

static bool is_lent(struct pw_connection *connection, int *ret_timeout_ms)
{
        pthread_mutex_lock(&connection->lock);
        bool lent = connection->lent;
        *ret_timeout_ms = lent && !connection->rests ? LENT_MS : -1;
        pthread_mutex_unlock(&connection->lock);
        return lent;
}

/* Wait for the socket, for room in it if something is kept, and for nudges, once. `seen`: reads of callers, up to the last look. */
static enum pw_status watch_once(struct pw_connection *connection, uint64_t *seen, struct pw_error *ret_err)
{
        uint32_t kept = atomic_load(&connection->kept);
        int timeout_ms;
        bool lent = is_lent(connection, &timeout_ms);
        short out = kept && !(kept & PW_WANT_LATER) ? POLLOUT : 0;
        struct pollfd on[2] = { { .fd = connection->socket.fd, .events = (short)((lent ? POLLRDHUP : POLLIN) | out) },
                                { .fd = connection->nudge.fd, .events = POLLIN } };
        int number = sleep_until_ready(on, kept & PW_WANT_LATER ? PW_AGAIN_MS : timeout_ms);
        if (number)
                return number == EINTR ? PW_OK : pw_error_errno(ret_err, number, "poll");
        if (!pw_connection_holds(connection))
                pw_connection_lost(connection);
        if (atomic_load(connection->life) != PW_LIFE_ALIVE)
                return PW_DAEMON_GONE;
        if (on[1].revents) {
                uint64_t count;
                (void)!read(connection->nudge.fd, &count, sizeof count);
                if (connection->params.nudged)
                        connection->params.nudged(connection->params.context);
        } else if (on[0].revents & POLLOUT || kept & PW_WANT_LATER)
                pw_connection_send_kept(connection);
        if ((on[0].revents & ~POLLOUT) || (lent && !on[1].revents && !on[0].revents)) {
                if (!take_reading(connection, on[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL), seen))
                        return PW_OK;
                enum pw_status status = read_some(connection, PW_READER_WATCHER, ret_err);
                give_back_reading(connection);
                return status;
        }
        return PW_OK;
}

void pw_connection_lost(struct pw_connection *connection)
{
        struct pw_error why;

        atomic_store(&connection->lost, true);
        (void)!pw_error_set(&why, PW_SYSTEM, "this process has closed the socket of the session");
        declare_gone(connection, &why);
}

bool pw_connection_hung_up(struct pw_connection *connection)
{
        pw_uncancelled;
        struct pollfd on = { .fd = connection->socket.fd, .events = POLLRDHUP };
        if (!pw_connection_holds(connection)) {
                pw_connection_lost(connection);
                return true;
        }
        if (poll(&on, 1, 0) != 1 || !(on.revents & (POLLRDHUP | POLLHUP)))
                return false;
        while (atomic_load(connection->life) == PW_LIFE_ALIVE)
                (void)!pw_futex_wait(connection->life, PW_LIFE_ALIVE, INT64_MAX);
        return true;
}

bool pw_connection_holds(const struct pw_connection *connection)
{
        return !atomic_load(&connection->lost) && pw_descriptor_is_ours(&connection->socket) &&
               pw_descriptor_is_ours(&connection->nudge);
}

void pw_connection_leave(struct pw_connection *connection)
{
        struct pw_error why;

        (void)!pw_error_set(&why, PW_SYSTEM, "the session was closed");
        declare_gone(connection, &why);
}

static void *watch(void *argument)
{
        struct pw_connection *connection = argument;
        struct pw_error err = { .status = PW_OK };
        uint64_t seen = 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        enum pw_status status = handle_frames(connection, PW_READER_WATCHER, &err); /* what came behind the Welcome */
        give_back_reading(connection);
        while (status == PW_OK)
                status = watch_once(connection, &seen, &err);
        if (pw_connection_holds(connection))
                declare_gone(connection, &err);
        else
                pw_connection_lost(connection); /* whatever was read of a descriptor that is another file's by now */
        return NULL;
}

enum pw_status pw_connection_watch(struct pw_connection *connection, struct pw_error *ret_err)
{
        sigset_t all, before;
        connection->reader = PW_READER_WATCHER; /* until it has looked at what came behind the Welcome */
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
