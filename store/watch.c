/* Entries of clients that a run waits for: their producer rings when it decides them. */
#include "store/parts.h"

static struct session *producer_of(struct pw_store *store, const struct pw_object *object)
{
        struct segment *segment = pw_segment_of(store, object->segment);

        return segment->layout.kind == PW_SEGMENT_CLIENT && !segment->ended ? segment->session : NULL;
}

bool pw_store_watch(struct pw_store *store, struct pw_object *object)
{
        struct pw_entry *entry = pw_object_entry(store, object);
        struct session *producer = producer_of(store, object);

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
        struct session *producer = segment ? segment->session : NULL;

        if (action)
                action->object = object;
        object->watched = 0;
        for (uint32_t i = 0; producer && i < producer->watched_count; i++) {
                if (producer->watched[i] != object)
                        continue;
                producer->watched[i] = producer->watched[--producer->watched_count];
                return;
        }
}

void pw_store_rung(struct pw_store *store, uint32_t number, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);

        store->now_us = now_us;
        for (uint32_t i = session ? session->watched_count : 0; i-- > 0;) {
                struct pw_object *object = session->watched[i];
                uint64_t word = pw_entry_load(pw_object_entry(store, object));

                if (pw_word_state(word) != PW_ENTRY_PENDING || pw_word_generation(word) != object->generation)
                        pw_watch_end(store, object, true);
        }
}
