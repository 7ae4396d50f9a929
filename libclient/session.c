/* Sessions: what is set up from the daemon's welcome, what the last reference takes down, and requests by socket. */
#include "libclient/session.h"

#include "base/memory.h"
#include "libclient/object/notify.h"
#include "libclient/object/unref.h"
#include "libclient/uncancelled.h"

#include <stdio.h>

enum { FD_OWN, FD_FUTURES, FD_HINTS, FD_COUNT };

static void session_free(struct pw_session *session)
{
        pw_connection_close(session->connection);
        for (uint32_t i = 0; i < PW_LANES_MAX; i++)
                pw_lane_free(session->lanes[i]);
        pw_segment_map_done(&session->segments);
        pw_unmap(&session->control_map);
        pw_unmap(&session->hint_map);
        pthread_mutex_destroy(&session->lock);
        free(session);
}

struct pw_session *pw_session_ref(struct pw_session *session)
{
        atomic_fetch_add(&session->refs, 1);
        return session;
}

void pw_session_unref(struct pw_session *session)
{
        if (atomic_fetch_sub(&session->refs, 1) == 1)
                session_free(session);
}

/* --- setting up --------------------------------------------------------------------------------------------------------- */

static enum pw_status map_welcome(struct pw_session *session, const Pathways__Wire__Welcome *welcome,
                                  const struct pw_answer *answer, struct pw_error *ret_err)
{
        if (answer->fd_count < FD_COUNT || !welcome->own || !welcome->futures || welcome->control_bytes < PW_CONTROL_RINGS_OFFSET)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd welcomed this session without all of its memory");
        struct pw_window control = { answer->fds[FD_OWN], welcome->control_offset, welcome->control_bytes };
        enum pw_status status = pw_map_window(&control, true, &session->control_map, ret_err);
        if (status == PW_OK)
                status = pw_map_fd(answer->fds[FD_HINTS], sizeof *session->hints, true, &session->hint_map, ret_err);
        if (status == PW_OK)
                status = pw_segment_map_add(&session->segments, welcome->own, answer->fds[FD_OWN], true, &session->own, ret_err);
        if (status == PW_OK)
                status = pw_segment_map_add(&session->segments, welcome->futures, answer->fds[FD_FUTURES], false,
                                            &session->futures, ret_err);
        if (status != PW_OK)
                return status;
        session->control = (struct pw_control *)(void *)session->control_map.base;
        session->hints = (struct pw_hint_page *)(void *)session->hint_map.base;
        session->host = welcome->host;
        session->epoch = welcome->epoch;
        session->host_capacity = welcome->host_capacity;
        return PW_OK;
}

static void nudged(void *context) { pw_parked_flush(context); }

/* The life word has changed before: who notes something in a handle from here on sees that, and takes it back. */
static void gone(void *context)
{
        struct pw_session *session = context;
        pthread_mutex_lock(&session->lock);
        for (uint32_t i = 0; i < PW_LANES_MAX; i++)
                if (session->lanes[i])
                        pw_slab_forget(session->lanes[i]->slabs);
        pthread_mutex_unlock(&session->lock);
        pw_notifier_gone(session);
}

static enum pw_status session_start(struct pw_session *session, const struct pw_session_params *params, struct pw_error *ret_err)
{
        struct pw_connection_params connect = { .path = params->path, .fd = params->fd, .role = "client", .nudged = nudged,
                                                .gone = gone,
                                                .context = session };
        struct pw_answer answer;
        enum pw_status status = pw_connection_open(&connect, &session->connection, &answer, ret_err);
        if (status != PW_OK)
                return status;
        session->life = pw_connection_life(session->connection);
        status = map_welcome(session, answer.reply->welcome, &answer, ret_err);
        pw_answer_done(&answer);
        if (status == PW_OK)
                status = pw_lane_new(session, 0, &session->lanes[0], ret_err);
        if (status != PW_OK)
                return status;
        session->lanes_busy[0] = 1;
        atomic_store(&session->control->lane_count, 1);
        return PW_OK;
}

enum pw_status pw_session_open(const struct pw_session_params *params, struct pw_session **ret_session, struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_session *session = aligned_alloc(PW_LINE_BYTES, pw_round_up(sizeof *session, PW_LINE_BYTES));
        if (!session)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a session");
        memset(session, 0, sizeof *session);
        session->refs = 1;
        pthread_mutex_init(&session->lock, NULL);
        enum pw_status status = session_start(session, params, ret_err);
        if (status != PW_OK) {
                session_free(session);
                return status;
        }
        *ret_session = session;
        return PW_OK;
}

enum pw_status pw_connect(const char *socket, struct pw_session **ret_session, struct pw_error *ret_err)
{
        struct pw_session_params params = { .path = socket, .fd = -1 };
        enum pw_status status = pw_given_check(ret_session, "ret_session", ret_err);
        if (status != PW_OK)
                return status;
        return pw_session_open(&params, ret_session, ret_err);
}

/* --- taking down -------------------------------------------------------------------------------------------------------- */

/* Every handle that lives becomes a reference of the session: the last pw_unref() then frees it. */
static void adopt_orphans(struct pw_future *handles, uint32_t count, struct pw_session *session)
{
        for (uint32_t i = 0; i < count; i++) {
                uint32_t refs = atomic_load(&handles[i].refs);
                pw_session_ref(session);
                while ((refs & PW_REFS_COUNT) && !atomic_compare_exchange_weak(&handles[i].refs, &refs, refs | PW_REFS_ORPHAN))
                        ;
                if (!(refs & PW_REFS_COUNT))
                        atomic_fetch_sub(&session->refs, 1); /* never the last: the caller holds one */
        }
}

static bool has_handles(struct pw_session *session)
{
        bool any = false;
        pthread_mutex_lock(&session->lock);
        for (uint32_t i = 0; i < PW_LANES_MAX; i++) {
                struct pw_slab *slab = session->lanes[i] ? session->lanes[i]->slabs : NULL;
                for (; slab && !any; slab = slab->next)
                        for (uint32_t j = 0; j < slab->count && !any; j++)
                                any = atomic_load(&slab->handles[j].refs) & PW_REFS_COUNT;
        }
        pthread_mutex_unlock(&session->lock);
        return any;
}

/* Nobody but the caller has anything of it, so no view and no call looks into its memory any more: the daemon need not wait for
 * the end of the process. */
static void leave(struct pw_session *session)
{
        if (!pw_session_alive(session) || atomic_load(&session->refs) != 1 + (uint32_t)pw_lane_mine(session) ||
            has_handles(session))
                return;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Leave none = PATHWAYS__WIRE__LEAVE__INIT;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LEAVE;
        request.leave = &none;
        (void)!pw_connection_post(session->connection, &request, NULL);
}

void pw_close(struct pw_session *session)
{
        pw_uncancelled;
        if (!session)
                return;
        bool forked = atomic_load(session->life) == PW_LIFE_FORKED;
        if (!forked)
                leave(session);
        pw_connection_end(session->connection);
        if (forked)
                return; /* its memory is the parent's view of things: maps are not here, threads neither */
        pw_notifier_end(session);
        atomic_store(&session->closed, true);
        pthread_mutex_lock(&session->lock);
        for (uint32_t i = 0; i < PW_LANES_MAX; i++) {
                struct pw_slab *slab = session->lanes[i] ? session->lanes[i]->slabs : NULL;
                for (; slab; slab = slab->next)
                        adopt_orphans(slab->handles, slab->count, session);
        }
        pthread_mutex_unlock(&session->lock);
        pw_lane_leave(session);
        pw_session_unref(session);
}

/* --- requests ----------------------------------------------------------------------------------------------------------- */

enum pw_status pw_session_call(struct pw_session *session, Pathways__Wire__Request *request, Pathways__Wire__Reply__BodyCase body,
                               struct pw_answer *ret_answer, struct pw_error *ret_err)
{
        struct pw_answer answer;
        pw_session_ref(session); /* pw_close() may come while the caller waits */
        enum pw_status status = pw_connection_call(session->connection, request, &answer, ret_err);
        pw_session_unref(session);
        if (status != PW_OK)
                return status;
        if (body != PATHWAYS__WIRE__REPLY__BODY__NOT_SET && answer.reply->body_case != body) {
                pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered request %d with body %d", (int)request->body_case,
                             (int)answer.reply->body_case);
                pw_answer_done(&answer);
                return PW_PROTOCOL;
        }
        *ret_answer = answer;
        return PW_OK;
}

enum pw_status pw_session_tell(struct pw_session *session, Pathways__Wire__Request *request, struct pw_error *ret_err)
{
        struct pw_answer answer;
        enum pw_status status = pw_session_call(session, request, PATHWAYS__WIRE__REPLY__BODY__NOT_SET, &answer, ret_err);
        if (status == PW_OK)
                pw_answer_done(&answer);
        return status;
}

static enum pw_status ask_segment(struct pw_session *session, uint32_t number, struct pw_answer *ret_answer,
                                  struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__SegmentRequest segment = PATHWAYS__WIRE__SEGMENT_REQUEST__INIT;
        segment.segment = number;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SEGMENT;
        request.segment = &segment;
        return pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_SEGMENT, ret_answer, ret_err);
}

/* LaneEnd of no lane: the daemon reads the rings before it answers, and before it looks at the next frame. */
static void fence_init(Pathways__Wire__Request *request, Pathways__Wire__LaneEnd *none)
{
        pathways__wire__request__init(request);
        pathways__wire__lane_end__init(none);
        none->lane = UINT32_MAX;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_LANE_END;
        request->lane_end = none;
}

enum pw_status pw_session_fence(struct pw_session *session, struct pw_error *ret_err)
{
        Pathways__Wire__Request request;
        Pathways__Wire__LaneEnd none;
        fence_init(&request, &none);
        return pw_session_tell(session, &request, ret_err);
}

void pw_session_post_fence(struct pw_session *session)
{
        Pathways__Wire__Request fence;
        Pathways__Wire__LaneEnd none;
        fence_init(&fence, &none);
        (void)!pw_connection_post_soon(session->connection, &fence, NULL);
}

void pw_session_post(struct pw_session *session, Pathways__Wire__Request *request)
{
        Pathways__Wire__Request fence;
        Pathways__Wire__LaneEnd none;
        fence_init(&fence, &none);
        enum pw_status status = pw_connection_post(session->connection, &fence, NULL);
        if (status == PW_OK)
                (void)!pw_connection_post(session->connection, request, NULL);
}

static enum pw_status fetch_segment(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                    struct pw_error *ret_err)
{
        struct pw_answer answer;
        enum pw_status status = ask_segment(session, number, &answer, ret_err);
        if (status != PW_OK)
                return status;
        pthread_mutex_lock(&session->lock);
        struct pw_client_segment *segment = pw_segment_map_get(&session->segments, number);
        if (segment) /* another thread was quicker */
                *ret_segment = segment;
        else if (answer.fd_count < 1 || answer.reply->segment->segment != number)
                status = pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd did not send segment %x", number);
        else
                status = pw_segment_map_add(&session->segments, answer.reply->segment, answer.fds[0], false, ret_segment, ret_err);
        pthread_mutex_unlock(&session->lock);
        pw_answer_done(&answer);
        return status;
}

enum pw_status pw_session_segment(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                  struct pw_error *ret_err)
{
        struct pw_client_segment *segment = pw_segment_map_get(&session->segments, number);
        if (!segment)
                return fetch_segment(session, number, ret_segment, ret_err);
        *ret_segment = segment;
        return PW_OK;
}

enum pw_status pw_session_refer(struct pw_session *session, uint32_t number, struct pw_client_segment **ret_segment,
                                struct pw_error *ret_err)
{
        if (number != session->futures->number)
                return pw_session_segment(session, number, ret_segment, ret_err);
        if (!atomic_load_explicit(&session->refers, memory_order_acquire)) {
                struct pw_answer answer; /* what it brings is mapped already */
                enum pw_status status = ask_segment(session, number, &answer, ret_err);
                if (status != PW_OK)
                        return status;
                pw_answer_done(&answer);
                atomic_store(&session->refers, true);
        }
        *ret_segment = session->futures;
        return PW_OK;
}
