/* Ends of handles: a DROP in the thread's own lane, or parked until the watcher thread finds room for it in lane 0. */
#include "libclient/object/unref.h"

#include "base/memory.h"

/* An object that was created and never sealed: whoever waits for it hears that nobody will bring it. */
static void abandon(struct pw_future *future)
{
        struct pw_session *session = pw_future_session(future);
        uint64_t old;
        if (!pw_entry_decide(future->entry, future->generation, PW_CANCELLED, 0, UINT32_MAX, &old))
                return;
        pw_hint_wake(session->hints, future->entry, future->segment, future->slot);
        if (pw_word_flags(old) & PW_ENTRY_RING)
                pw_connection_doorbell(session->connection);
}

/* Put [first, last], linked by `next`, before what is parked. Returns whether nothing was. */
static bool park(struct pw_session *session, struct pw_future *first, struct pw_future *last)
{
        struct pw_future *head = atomic_load(&session->parked);
        do {
                last->next = head;
        } while (!atomic_compare_exchange_weak(&session->parked, &head, first));
        return head == NULL;
}

static struct pw_cell drop_cell(const struct pw_future *future)
{
        return pw_cell_object(PW_RING_DROP, future->segment, future->slot, future->generation);
}

void pw_future_drop(struct pw_future *future)
{
        struct pw_session *session = pw_future_session(future);
        struct pw_client_lane *lane;
        if (!pw_session_alive(session)) {
                pw_future_free(future, NULL); /* its reference ended with the session */
        } else if (pw_lane_get(session, &lane, NULL) == PW_OK && pw_ring_has_room(&lane->writer, 1)) {
                pw_ring_write(&lane->writer, drop_cell(future));
                pw_lane_publish(lane, false);
                pw_future_free(future, lane);
        } else if (park(session, future, future)) {
                pw_connection_nudge(session->connection);
        }
}

void pw_future_release_last(struct pw_future *future, uint32_t old)
{
        if (!future->lane)
                return; /* the parent's: what was counted here has no meaning */
        struct pw_session *session = pw_future_session(future);
        if ((old & PW_REFS_CREATED) && pw_session_alive(session))
                abandon(future);
        atomic_store_explicit(&future->refs, 0, memory_order_relaxed); /* the flags go; the count is 0 already */
        pw_future_drop(future);
        if (old & PW_REFS_ORPHAN)
                pw_session_unref(session);
}

void pw_unref(struct pw_future *future)
{
        if (pw_future_is_one(future))
                pw_future_release(future);
}

void pw_parked_flush(struct pw_session *session)
{
        struct pw_future *parked = atomic_exchange(&session->parked, NULL);
        if (!parked)
                return;
        struct pw_client_lane *lane = session->lanes[0];
        while (parked && pw_ring_has_room(&lane->writer, 1)) {
                struct pw_future *next = parked->next;
                pw_ring_write(&lane->writer, drop_cell(parked));
                pw_future_free(parked, lane);
                parked = next;
        }
        pw_lane_publish(lane, true);
        if (!parked)
                return;
        struct pw_future *last = parked;
        while (last->next)
                last = last->next;
        park(session, parked, last);
        pw_session_post_fence(session);
}
