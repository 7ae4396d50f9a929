/* Lanes: a thread's part of a session, found again at each call, given back when the thread ends. */
#include "libclient/lane.h"

#include "base/memory.h"
#include "libclient/session.h"

/* A lane that the thread has, and the reference to its session that goes with it. */
struct lane_use {
        struct lane_use *next;
        struct pw_client_lane *lane;
};

struct thread {
        struct pw_session *session; /* of the last call; NULL: none */
        struct pw_client_lane *lane;
        struct lane_use *uses;
};

/* What a thread has of the library, and the key whose destructor gives it back: the two words that belong to no session. */
static _Thread_local struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;

/* --- lanes of a session ------------------------------------------------------------------------------------------------ */

enum pw_status pw_lane_new(struct pw_session *session, uint32_t number, struct pw_client_lane **ret_lane, struct pw_error *ret_err)
{
        struct pw_client_lane *lane = aligned_alloc(PW_LINE_BYTES, pw_round_up(sizeof *lane, PW_LINE_BYTES));
        if (!lane)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a lane");
        memset(lane, 0, sizeof *lane);
        lane->session = session;
        lane->number = number;
        lane->shared = &session->control->lanes[number];
        lane->writer.ring = &lane->shared->ring;
        atomic_store(&lane->writer.ring->watch,
                     PW_RING_HUNGRY); /* the daemon does not know of the lane: whatever comes first calls it */
        *ret_lane = lane;
        return PW_OK;
}

static void rows_clear(struct pw_client_lane *lane)
{
        for (uint32_t i = 0; i < PW_ROWS; i++)
                pw_row_clear(&lane->rows[i]);
}

void pw_lane_free(struct pw_client_lane *lane)
{
        if (!lane)
                return;
        rows_clear(lane);
        pw_slab_free(lane->slabs);
        free(lane);
}

/* The lowest number of a lane that no thread has; PW_LANES_MAX: there is none. */
static uint32_t idle_number(const struct pw_session *session)
{
        for (uint32_t i = 0; i < pw_array_count(session->lanes_busy); i++)
                if (~session->lanes_busy[i])
                        return 64 * i + (uint32_t)__builtin_ctzll(~session->lanes_busy[i]);
        return PW_LANES_MAX;
}

/* A lane that no thread has. The session's lock is held. */
static enum pw_status claim_locked(struct pw_session *session, struct pw_client_lane **ret_lane, struct pw_error *ret_err)
{
        uint32_t number = idle_number(session);
        if (number == PW_LANES_MAX)
                return pw_error_set(ret_err, PW_LIMIT,
                                    "more than %u threads use this session at once: connect another for some of them",
                                    PW_LANES_MAX - 1);
        if (!session->lanes[number]) {
                enum pw_status status = pw_lane_new(session, number, &session->lanes[number], ret_err);
                if (status != PW_OK)
                        return status;
        }
        session->lanes_busy[number / 64] |= UINT64_C(1) << number % 64;
        struct pw_client_lane *lane = session->lanes[number];
        atomic_store(&lane->shared->thread_id, (uint32_t)gettid());
        atomic_store(&lane->shared->in_use, 1);
        if (atomic_load(&session->control->lane_count) <= number)
                atomic_store(&session->control->lane_count, number + 1);
        *ret_lane = lane;
        return PW_OK;
}

/* Tell the daemon that the thread has ended: what it was granted may go to others. */
static void end_lane(struct pw_client_lane *lane)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__LaneEnd lane_end = PATHWAYS__WIRE__LANE_END__INIT;
        lane_end.lane = lane->number;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LANE_END;
        request.lane_end = &lane_end;
        rows_clear(lane);
        atomic_store(&lane->shared->in_use, 0);
        (void)!pw_connection_post(lane->session->connection, &request, NULL);
}

/* --- what a thread has -------------------------------------------------------------------------------------------------- */

static void use_end(struct lane_use *use)
{
        struct pw_session *session = use->lane->session;
        if (atomic_load(session->life) == PW_LIFE_FORKED) {
                free(use); /* the parent's lane; this process has no map of it */
                return;
        }
        if (pw_session_alive(session))
                end_lane(use->lane);
        pthread_mutex_lock(&session->lock);
        session->lanes_busy[use->lane->number / 64] &= ~(UINT64_C(1) << use->lane->number % 64);
        pthread_mutex_unlock(&session->lock);
        pw_session_unref(session);
        free(use);
}

static void thread_end(void *argument)
{
        struct thread *thread = argument;
        self = NULL; /* a later destructor of the thread that calls us starts anew */
        while (thread->uses) {
                struct lane_use *use = thread->uses;
                thread->uses = use->next;
                use_end(use);
        }
        free(thread);
}

static void thread_key_make(void)
{
        /* Without a key a thread's lane is kept until its session ends: nothing else depends on it. */
        (void)!pthread_key_create(&thread_key, thread_end);
}

static struct thread *thread_get(void)
{
        if (self)
                return self;
        pthread_once(&thread_key_once, thread_key_make);
        struct thread *thread = calloc(1, sizeof *thread);
        if (!thread)
                return NULL;
        pthread_setspecific(thread_key, thread);
        self = thread;
        return thread;
}

/* Let go of the lanes whose session was closed, and of the one of `session`. */
static void thread_purge(struct thread *thread, const struct pw_session *session)
{
        for (struct lane_use **place = &thread->uses; *place;) {
                struct lane_use *use = *place;
                if (use->lane->session != session && !atomic_load(&use->lane->session->closed)) {
                        place = &use->next;
                        continue;
                }
                *place = use->next;
                if (thread->session == use->lane->session)
                        thread->session = NULL;
                use_end(use);
        }
}

void pw_lane_leave(struct pw_session *session)
{
        if (self)
                thread_purge(self, session);
}

static struct pw_client_lane *thread_find(const struct thread *thread, const struct pw_session *session)
{
        for (const struct lane_use *use = thread->uses; use; use = use->next)
                if (use->lane->session == session)
                        return use->lane;
        return NULL;
}

bool pw_lane_mine(const struct pw_session *session) { return self && thread_find(self, session); }

static enum pw_status thread_claim(struct thread *thread, struct pw_session *session, struct pw_client_lane **ret_lane,
                                   struct pw_error *ret_err)
{
        struct lane_use *use = calloc(1, sizeof *use);
        if (!use)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a lane");
        pthread_mutex_lock(&session->lock);
        enum pw_status status = claim_locked(session, &use->lane, ret_err);
        pthread_mutex_unlock(&session->lock);
        if (status != PW_OK) {
                free(use);
                return status;
        }
        pw_session_ref(session);
        use->next = thread->uses;
        thread->uses = use;
        *ret_lane = use->lane;
        return PW_OK;
}

static enum pw_status lane_find(struct pw_session *session, struct pw_client_lane **ret_lane, struct pw_error *ret_err)
{
        struct thread *thread = thread_get();
        if (!thread)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a lane");
        struct pw_client_lane *lane = thread_find(thread, session);
        if (!lane) {
                thread_purge(thread, NULL);
                enum pw_status status = thread_claim(thread, session, &lane, ret_err);
                if (status != PW_OK)
                        return status;
        }
        thread->session = session;
        thread->lane = lane;
        *ret_lane = lane;
        return PW_OK;
}

enum pw_status pw_lane_get(struct pw_session *session, struct pw_client_lane **ret_lane, struct pw_error *ret_err)
{
        struct thread *thread = self;
        if (!thread || thread->session != session)
                return lane_find(session, ret_lane, ret_err);
        *ret_lane = thread->lane;
        return PW_OK;
}
