/* A session: the connection, the memory that came with it, and the lanes of its threads.
 *
 * References: pw_connect()'s, one per slice and program, one per thread that has a lane, and, once it is closed, one per handle
 * that still lives. The last one frees it; until then all its maps stay, so that no view and no wait loses its memory.
 */
#ifndef PW_LIBCLIENT_SESSION_H
#define PW_LIBCLIENT_SESSION_H

#include "libclient/lane.h"
#include "libclient/socket/connection.h"
#include "libclient/socket/segment_map.h"
#include "plane/hint.h"

#include <pthread.h>

struct pw_session {
        const _Atomic uint32_t *life; /* the connection's */
        struct pw_hint_page *hints;
        struct pw_client_segment *own, *futures;
        struct pw_control *control;
        struct pw_connection *connection;
        uint32_t host, epoch;
        uint64_t host_capacity;
        struct pw_map control_map, hint_map;
        _Atomic uint32_t refs;
        _Atomic bool closed;
        struct pw_notifier *notifier; /* notify.h; NULL: nobody asked to be told of anything */
        _Atomic bool refers; /* the daemon knows that this session refers to futures by id */

        struct pw_segment_map segments;
        pthread_mutex_t lock; /* guards lanes, lanes_busy, and adding to segments */
        struct pw_client_lane *lanes[PW_LANES_MAX]; /* [0] is the watcher thread's */
        uint64_t lanes_busy[(PW_LANES_MAX + 63) / 64];

        _Alignas(64) _Atomic(struct pw_future *) parked; /* handles whose DROP no ring took: the watcher sends them */
};

struct pw_session_params {
        const char *path;
        int fd; /* connected already, or -1 */
};
PW_MUST_CHECK enum pw_status pw_session_open(const struct pw_session_params *params, struct pw_session **ret_session,
                                             struct pw_error *ret_err);
struct pw_session *pw_session_ref(struct pw_session *session);
void pw_session_unref(struct pw_session *session);

static inline bool pw_session_alive(const struct pw_session *session)
{
        return atomic_load_explicit(session->life, memory_order_relaxed) == PW_LIFE_ALIVE;
}
/* Of a handle that is the process's own, see pw_future_check(). */
static inline struct pw_session *pw_future_session(const struct pw_future *future) { return future->lane->session; }
/* The segment of its entry; it is mapped for as long as there is a handle. */
static inline struct pw_client_segment *pw_future_segment(const struct pw_future *future)
{
        struct pw_session *session = future->lane->session;
        if (future->segment == session->own->number)
                return session->own;
        return pw_segment_map_get(&session->segments, future->segment);
}
/* The names of its tenant that this host keeps (plane/name.h); NULL: the daemon keeps none there. */
static inline const struct pw_name_cell *pw_session_names(const struct pw_session *session)
{
        const struct pw_client_segment *futures = session->futures;
        uint64_t entries = (uint64_t)futures->slot_count * sizeof(struct pw_entry);
        if (futures->room_offset < entries + PW_NAMES_BYTES || futures->room_offset % PW_LINE_BYTES)
                return NULL;
        return (const struct pw_name_cell *)(const void *)(futures->map.base + futures->room_offset - PW_NAMES_BYTES);
}
/* PW_OK, PW_DAEMON_GONE or PW_FORKED; PW_INVALID for NULL. */
static inline enum pw_status pw_session_check(const struct pw_session *session, struct pw_error *ret_err)
{
        if (!session)
                return pw_error_set(ret_err, PW_INVALID, "the session is NULL");
        return pw_session_alive(session) ? PW_OK : pw_connection_check(session->connection, ret_err);
}

/* PW_INVALID where a call was given nothing for `what`, which it needs. */
static inline enum pw_status pw_given_check(const void *given, const char *what, struct pw_error *ret_err)
{
        return given ? PW_OK : pw_error_set(ret_err, PW_INVALID, "%s is NULL", what);
}

/* A bit that no address of a process has: of what pw_donate() returns. The highest, so that one look at the sign says whether it is
 * a future, and neither NULL nor such a mark. */
#define PW_FUTURE_GIVEN ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))
static inline bool pw_future_is_given(const struct pw_future *future) { return (uintptr_t)future & PW_FUTURE_GIVEN; }
static inline bool pw_future_is_one(const struct pw_future *future) { return (intptr_t)future > 0; }

/* The same for the session of a future. A handle of the parent process has no lane. */
static inline enum pw_status pw_future_check(const struct pw_future *future, struct pw_error *ret_err)
{
        if (!future)
                return pw_error_set(ret_err, PW_INVALID, "the future is NULL");
        if (pw_future_is_given(future))
                return pw_error_set(ret_err, PW_INVALID, "what pw_donate() returns is an input of pw_run(), and no future");
        if (!future->lane)
                return pw_error_set(ret_err, PW_FORKED, "this session was opened before the process forked: connect again here");
        return pw_session_check(pw_future_session(future), ret_err);
}

/* The segment, fetched from the daemon if it is not mapped yet. Errors: PW_NOT_FOUND, PW_DENIED, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_session_segment(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                                struct pw_error *ret_err);
/* The same, to refer to objects there by id: the daemon reads the rings of those alone who asked for the segment, so this comes
 * before the first REF. Errors: the same. */
PW_MUST_CHECK enum pw_status pw_session_refer(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                              struct pw_error *ret_err);
/* One request and its reply: the daemon has then read every ring up to where it was before the call. */
PW_MUST_CHECK enum pw_status pw_session_fence(struct pw_session *session, struct pw_error *ret_err);
/* Ask without waiting, behind a fence: what was published before, RUN records above all, comes before it. What fails,
 * fails with the session. */
void pw_session_post(struct pw_session *session, Pathways__Wire__Request *request);
/* On the watcher thread: only the fence, whose reply brings it to pw_parked_flush().   Blocks: never. */
void pw_session_post_fence(struct pw_session *session);
/* An id as messages carry it. */
static inline Pathways__Wire__ObjectId pw_wire_id(struct pw_id id)
{
        Pathways__Wire__ObjectId wire = PATHWAYS__WIRE__OBJECT_ID__INIT;
        wire.place = id.place;
        wire.epoch = id.epoch;
        wire.generation = id.generation;
        return wire;
}
/* A handle for an object that the session holds a reference to already. Errors: PW_NO_MEMORY, those of pw_session_segment(). */
PW_MUST_CHECK enum pw_status pw_session_adopt(struct pw_session *session, const Pathways__Wire__Object *object,
                                              struct pw_future **ret_future, struct pw_error *ret_err);

/* Ask, and check that the reply's body is `body` (PATHWAYS__WIRE__REPLY__BODY__NOT_SET: any). */
PW_MUST_CHECK enum pw_status pw_session_call(struct pw_session *session, Pathways__Wire__Request *request,
                                             Pathways__Wire__Reply__BodyCase body, struct pw_answer *ret_answer,
                                             struct pw_error *ret_err);
/* The same where nothing but the status is of interest. */
PW_MUST_CHECK enum pw_status pw_session_tell(struct pw_session *session, Pathways__Wire__Request *request,
                                             struct pw_error *ret_err);

#endif
