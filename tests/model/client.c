/* What the library's own sources call of its session and its socket, in the world. */
#include "tests/model/world.h"

#include "daemon/client/request.h"
#include "daemon/session/output.h"
#include "libclient/object/foreign.h"

#include <errno.h>

/* --- the clients' session ------------------------------------------------------------------------------------------------- */

static struct world_client *client_of(const struct pw_session *session)
{
        return pw_container_of(session, struct world_client, library);
}

enum pw_status pw_lane_get(struct pw_session *session, struct pw_client_lane **ret_lane, struct pw_error *ret_err)
{
        (void)ret_err;
        *ret_lane = client_of(session)->lane;
        return PW_OK;
}

enum pw_status pw_session_segment(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                  struct pw_error *ret_err)
{
        (void)session, (void)ret_err;
        *ret_segment = world_segment(number);
        return PW_OK;
}

enum pw_status pw_session_refer(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                struct pw_error *ret_err)
{
        return pw_session_segment(session, number, ret_segment, ret_err);
}

/* --- the socket, which has room for one byte or one frame at a time --------------------------------------------------------- */

static struct world_client *socket_of(int fd) { return &world.clients[fd - 1]; }

static bool put_on(struct world_client *client, enum world_item item)
{
        uint32_t nothing = WORLD_NOTHING;

        return atomic_compare_exchange_strong(&client->socket, &nothing, item);
}

static bool socket_empty(void *context)
{
        return world_peek(&((struct world_client *)context)->socket) == WORLD_NOTHING;
}

ssize_t model_send(int fd, const void *bytes, size_t count)
{
        (void)bytes;
        errno = EAGAIN;
        return put_on(socket_of(fd), WORLD_BELL) ? (ssize_t)count : -1;
}

/* Whoever sends holds send_lock: what is empty stays so. */
enum pw_status pw_frame_send(int socket, enum pw_frame_kind kind, const uint8_t *message, uint32_t bytes, const int *fds,
                             uint32_t fd_count, struct pw_error *ret_err)
{
        (void)kind, (void)message, (void)bytes, (void)fds, (void)fd_count, (void)ret_err;
        while (!put_on(socket_of(socket), WORLD_FRAME))
                model_wait(socket_empty, socket_of(socket));
        return PW_OK;
}
enum pw_status pw_frames_send(int socket, const uint8_t *frames, size_t bytes, struct pw_error *ret_err)
{
        return pw_frame_send(socket, PW_FRAME_REQUEST, frames, (uint32_t)bytes, NULL, 0, ret_err);
}
uint32_t pw_frame_header(uint8_t header[PW_FRAME_HEADER], enum pw_frame_kind kind, uint32_t bytes, uint32_t fd_count)
{
        (void)header, (void)kind, (void)bytes, (void)fd_count;
        return PW_FRAME_HEADER;
}
void world_frame(uint32_t i)
{
        model_must(pw_connection_send(&world.clients[i].connection, PW_FRAME_REQUEST, NULL, 0, NULL) == PW_OK, "a frame is sent");
}

/* Who waits for a lock is handed it, so that what it waits for stays so. */
enum { LOCK_FREE, LOCK_HELD, LOCK_AWAITED, LOCK_HANDED };
static _Atomic uint32_t *word_of(pthread_mutex_t *lock) { return (_Atomic uint32_t *)(void *)lock; }
static bool handed(void *context) { return world_peek(context) == LOCK_HANDED; }

int model_trylock(pthread_mutex_t *lock)
{
        uint32_t before = LOCK_FREE;

        return atomic_compare_exchange_strong(word_of(lock), &before, LOCK_HELD) ? 0 : EBUSY;
}

int model_lock(pthread_mutex_t *lock)
{
        uint32_t before = LOCK_FREE;

        while (!atomic_compare_exchange_strong(word_of(lock), &before, before == LOCK_FREE ? LOCK_HELD : LOCK_AWAITED))
                ;
        if (before == LOCK_FREE)
                return 0;
        model_wait(handed, word_of(lock));
        atomic_store(word_of(lock), LOCK_HELD);
        return 0;
}

int model_unlock(pthread_mutex_t *lock)
{
        uint32_t before = LOCK_HELD;

        while (!atomic_compare_exchange_strong(word_of(lock), &before, before == LOCK_AWAITED ? LOCK_HANDED : LOCK_FREE))
                ;
        return 0;
}

enum pw_status pw_segment_map_name(struct pw_segment_map *map, struct pw_client_segment *segment, uint32_t number,
                                   struct pw_error *ret_err)
{
        (void)map, (void)segment, (void)number;
        return pw_error_set(ret_err, PW_PROTOCOL, "its segment has had a number from the beginning");
}

bool pw_descriptor_is_ours(const struct pw_descriptor *descriptor) { return descriptor->fd > 0; }
void pw_connection_lost(struct pw_connection *connection) { (void)connection; }

/* What the daemon reads of it, for daemon/client/input.c. */
void pw_decoder_init(struct pw_decoder *decoder) { (void)decoder; }
void pw_decoder_done(struct pw_decoder *decoder) { (void)decoder; }
void pw_decoder_rest(struct pw_decoder *decoder) { (void)decoder; }
enum pw_status pw_decoder_read_bytes(struct pw_decoder *decoder, int socket, bool looks, size_t *ret_bytes,
                                     struct pw_error *ret_err)
{
        (void)decoder, (void)looks, (void)ret_err;
        *ret_bytes = socket_of(socket)->came != WORLD_NOTHING;
        socket_of(socket)->decoded = socket_of(socket)->came;
        socket_of(socket)->came = WORLD_NOTHING;
        return PW_OK;
}
enum pw_status pw_frame_next(struct pw_decoder *decoder, struct pw_frame *ret_frame, struct pw_error *ret_err)
{
        struct world_client *client = pw_container_of(decoder, struct world_client, session.decoder);
        uint32_t came = client->decoded;

        (void)ret_err;
        client->decoded = WORLD_NOTHING;
        *ret_frame = (struct pw_frame){ .kind = came == WORLD_BELL ? PW_FRAME_DOORBELL : PW_FRAME_REQUEST };
        return came == WORLD_NOTHING ? PW_NOT_READY : PW_OK;
}
void pw_request_take(struct pw_dsession *session, const struct pw_frame *frame) { (void)session, (void)frame; }
void pw_request_answered(struct pw_dsession *session, const struct pw_frame *frame) { (void)session, (void)frame; }
struct event;
int event_add(struct event *event, const struct timeval *after);
int event_add(struct event *event, const struct timeval *after) { (void)event, (void)after; return 0; }
int event_del(struct event *event);
int event_del(struct event *event) { (void)event; return 0; }

void pw_connection_nudge(struct pw_connection *connection) { (void)connection; }
bool pw_connection_hung_up(struct pw_connection *connection) { (void)connection; return false; }
enum pw_status pw_connection_check(const struct pw_connection *connection, struct pw_error *ret_err)
{
        (void)connection;
        return pw_error_set(ret_err, PW_DAEMON_GONE, "gone");
}
static bool fenced(void *context)
{
        struct world_client *client = context;

        return world_peek(&client->answered) == world_peek(&client->asked);
}
enum pw_status pw_session_fence(struct pw_session *session, struct pw_error *ret_err)
{
        struct world_client *client = client_of(session);

        (void)ret_err;
        atomic_fetch_add(&client->asked, 1);
        model_wait(fenced, client);
        return PW_OK;
}
enum pw_status world_ask(uint32_t i, void (*request)(struct pw_dsession *session))
{
        struct world_client *client = &world.clients[i];

        client->request = request;
        (void)!pw_session_fence(&client->library, NULL);
        atomic_load(&client->answered); /* with the reply */
        return (enum pw_status)client->reply;
}
void pw_session_reply_ok(struct pw_dsession *session, uint64_t id) { (void)id, world.clients[session->number - 1].reply = PW_OK; }
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text)
{
        (void)id, (void)text;
        world.clients[session->number - 1].reply = status;
}
/* A few handles, gone with the execution. */
struct pw_slab *pw_slab_new(struct pw_slab *before, const _Atomic uint32_t *revoked)
{
        struct pw_slab *slab = model_alloc(sizeof *slab);

        (void)revoked;
        *slab = (struct pw_slab){ before, NULL, model_alloc(8 * sizeof(struct pw_future)), 8, 8 * sizeof(struct pw_future) };
        return slab;
}
/* Nobody grants more than world_grant() did. */
enum pw_status pw_session_call(struct pw_session *session, Pathways__Wire__Request *request, Pathways__Wire__Reply__BodyCase body,
                               struct pw_answer *ret_answer, struct pw_error *ret_err)
{
        (void)session, (void)request, (void)body, (void)ret_answer;
        return pw_error_set(ret_err, PW_NO_SPACE, "no room");
}
void pw_answer_done(struct pw_answer *answer) { (void)answer; }
/* There is no other host. */
enum pw_status pw_foreign_future(struct pw_session *session, struct pw_id id, struct pw_future **ret_future,
                                 struct pw_error *ret_err)
{
        (void)session, (void)id, (void)ret_future;
        return pw_error_set(ret_err, PW_NOT_FOUND, "no such host");
}
void pw_session_post_fence(struct pw_session *session) { (void)session; }
void pw_session_unref(struct pw_session *session) { (void)session; }
