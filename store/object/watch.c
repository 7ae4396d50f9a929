/* Entries of clients that a run waits for: their producer rings when it decides them. */
#include "store/object/moved.h"
#include "store/parts.h"
#include "store/proxy.h"

#define PART 1024u /* looked at in a turn, of all sessions that rang */
#define FAIR 256u  /* of one, before the next */

static struct session *producer_of(struct pw_store *store, const struct pw_object *object)
{
        struct segment *segment = pw_segment_of(store, object->segment);

        return segment->layout.kind == PW_SEGMENT_CLIENT && !segment->ended ? segment->session : NULL;
}

bool pw_store_watch(struct pw_store *store, struct pw_object *object)
{
        struct pw_entry *entry = pw_object_entry(store, object);
        struct session *producer = producer_of(store, object);

        if (pw_store_proxy_elsewhere(store, object)) {
                object->watched = object->watched || pw_proxy_fetch(store, object);
                return !object->watched;
        }
        if (pw_word_state(pw_entry_load(entry)) != PW_ENTRY_PENDING)
                return true;
        if (object->watched)
                return false;
        object->watched = 1; /* in a futures segment that is all: the store decides there itself */
        if (!producer)
                return false;
        if (!pw_grow((void **)&producer->watched, &producer->watched_capacity, producer->watched_count + 1,
                     sizeof *producer->watched)) {
                object->watched = 0;
                pw_object_fail(store, pw_segment_of(store, object->segment), object, PW_NO_MEMORY);
                return true;
        }
        object->watched_at = producer->watched_count;
        producer->watched[producer->watched_count++] = object;
        if (pw_entry_flag(entry, PW_ENTRY_PENDING, object->generation, PW_ENTRY_RING, true))
                return false;
        pw_watch_end(store, object, false);
        if (pw_word_state(pw_entry_load(entry)) == PW_ENTRY_PENDING) /* it keeps changing the word */
                pw_object_fail(store, pw_segment_of(store, object->segment), object, PW_PROTOCOL);
        return true;
}

void pw_watch_end(struct pw_store *store, struct pw_object *object, bool tell)
{
        struct pw_store_action *action = object->watched && tell ? pw_store_act(store, PW_STORE_READY) : NULL;
        struct segment *segment = pw_segment_of(store, object->segment);
        struct session *producer = segment && segment->layout.kind == PW_SEGMENT_CLIENT ? segment->session : NULL;
        uint32_t at = object->watched_at;

        if (action)
                action->object = object;
        object->watched = 0;
        if (!producer || at >= producer->watched_count || producer->watched[at] != object)
                return;
        producer->watched[at] = producer->watched[--producer->watched_count];
        producer->watched[at]->watched_at = at;
        object->watched_at = 0;
}

/* From the last to the first: the place of one that goes is taken by one that was looked at. */
static uint32_t look_at_watched(struct pw_store *store, struct session *session, uint32_t most)
{
        uint32_t looked = 0;

        if (session->rung_left > session->watched_count)
                session->rung_left = session->watched_count;
        for (; session->rung_left && looked < most; looked++) {
                struct pw_object *object = session->watched[--session->rung_left];
                uint64_t word = pw_entry_load(pw_object_entry(store, object));

                if (pw_word_state(word) != PW_ENTRY_PENDING || pw_word_generation(word) != object->generation)
                        pw_watch_end(store, object, true);
        }
        if (!session->rung_left && session->rung_again) {
                session->rung_left = session->watched_count;
                session->rung_again = false;
        }
        return looked;
}

static void join_rung(struct pw_store *store, struct session *session)
{
        session->tenant->on_way += pw_list_empty(&session->of_rung);
        pw_list_append(&store->rung, &session->of_rung);
}

void pw_watch_session_end(struct session *session)
{
        session->tenant->on_way -= !pw_list_empty(&session->of_rung);
        pw_list_remove(&session->of_rung);
}

bool pw_watch_step(struct pw_store *store)
{
        uint32_t left = PART;
        struct session *session;

        while (left && !pw_list_empty(&store->rung)) {
                session = pw_list_first(&store->rung, struct session, of_rung);
                pw_watch_session_end(session);
                left -= look_at_watched(store, session, pw_min_u64(left, FAIR));
                if (session->rung_left)
                        join_rung(store, session);
        }
        return !pw_list_empty(&store->rung);
}

/* Who rings while it is looked at is looked at once more from the beginning, once, however often it rings. */
void pw_store_rung(struct pw_store *store, uint32_t number, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);

        store->now_us = now_us;
        if (!session || !session->watched_count)
                return;
        session->rung_again = session->rung_left != 0;
        if (session->rung_left)
                return;
        session->rung_left = session->watched_count;
        look_at_watched(store, session, FAIR);
        if (session->rung_left)
                join_rung(store, session);
}
