/* Reclaim: what lost its last reference is swapped to CLOSING; after every ring was read once more it is freed, or reopened. */
#include "store/state.h"

void pw_reclaim_add(struct pw_store *store, uint32_t segment, uint32_t slot, uint32_t generation)
{
        if (!pw_grow((void **)&store->dead, &store->dead_capacity, store->dead_count + 1, sizeof *store->dead))
                return; /* it stays until its session ends; the audit names it */
        store->dead[store->dead_count++] = (struct place){ segment, slot, generation };
}

/* Still without references? Somebody may have taken one by a request meanwhile. */
static bool still_dead(const struct segment *segment, const struct place *place)
{
        const struct pw_object *object = pw_object_at(segment, place->slot);

        return !object || object->generation != place->generation || object->refs == 0;
}

static bool close_one(struct pw_store *store, const struct place *place)
{
        struct segment *segment = pw_store_segment(store, place->segment);
        struct pw_entry *entry;
        uint64_t word;

        if (!segment || !still_dead(segment, place))
                return false;
        entry = pw_segment_entry(segment, place->slot);
        word = pw_entry_load(entry);
        for (uint32_t i = 0; i < PW_DECIDE_TRIES; i++) {
                if (pw_word_generation(word) != place->generation || pw_word_state(word) < PW_ENTRY_READY || pw_word_state(word) > PW_ENTRY_LOST)
                        return false;
                if (pw_entry_swap(entry, &word, pw_word_with_state(word, PW_ENTRY_CLOSING)))
                        return true;
        }
        return false;
}

bool pw_store_reclaim_begin(struct pw_store *store)
{
        for (uint32_t i = 0; i < store->dead_count; i++) {
                if (!close_one(store, &store->dead[i]))
                        continue;
                if (pw_grow((void **)&store->closing, &store->closing_capacity, store->closing_count + 1, sizeof *store->closing))
                        store->closing[store->closing_count++] = store->dead[i];
        }
        store->dead_count = 0;
        return store->closing_count != 0;
}

/* The state that the word had before CLOSING, which keeps the status. */
static enum pw_entry_state state_before(uint64_t word)
{
        switch (pw_word_status(word)) {
        case PW_OK:
                return PW_ENTRY_READY;
        case PW_DEVICE_LOST:
        case PW_HOST_LOST:
                return PW_ENTRY_LOST;
        default:
                return PW_ENTRY_ERROR;
        }
}

static void reopen(struct pw_store *store, struct segment *segment, uint32_t slot)
{
        struct pw_entry *entry = pw_segment_entry(segment, slot);
        uint64_t word = pw_entry_load(entry);

        pw_entry_swap(entry, &word, pw_word_with_state(word, state_before(word)));
        pw_entry_said(store, segment, slot, word);
}

static void free_payload(struct pw_store *store, struct pw_object *object)
{
        struct pw_store_action *action = object->payload ? pw_store_act(store, PW_STORE_FREE_RESULT) : NULL;

        if (action)
                action->payload = object->payload;
        memset(object, 0, sizeof *object);
}

/* The slot goes back to its lane; of an ended session it counts its extent down. */
static void free_slot(struct pw_store *store, struct segment *segment, const struct place *place)
{
        struct pw_entry *entry = pw_segment_entry(segment, place->slot);
        struct extent *extent = pw_extent_of(store, segment, place->slot);
        struct pw_object *object = pw_object_at(segment, place->slot);
        bool futures = segment->layout.kind == PW_SEGMENT_FUTURES;
        uint64_t word = pw_entry_load(entry);

        if (futures)
                pw_future_free_body(segment, entry);
        if (object && object->generation == place->generation)
                free_payload(store, object);
        if (futures && extent && extent->session)
                pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_PENDING, 0, place->generation + 1, PW_OK));
        else
                pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_FREE, 0, place->generation, PW_OK));
        pw_entry_said(store, segment, place->slot, word);
        if (!extent)
                return;
        if (extent->session)
                pw_return_give(&extent->returns, place->slot);
        else if (extent->live && --extent->live == 0 && (segment->session_dead || futures))
                pw_extent_free(store, extent);
}

void pw_store_reclaim_finish(struct pw_store *store, uint64_t now_us)
{
        for (uint32_t i = 0; i < store->closing_count; i++) {
                const struct place *place = &store->closing[i];
                struct segment *segment = pw_store_segment(store, place->segment);

                if (!segment)
                        continue;
                if (pw_word_state(pw_entry_load(pw_segment_entry(segment, place->slot))) != PW_ENTRY_CLOSING)
                        continue; /* its client writes over its own words: nothing here relies on it */
                if (still_dead(segment, place))
                        free_slot(store, segment, place);
                else
                        reopen(store, segment, place->slot);
        }
        store->closing_count = 0;
        if (!pw_list_empty(&store->queue))
                pw_room_try_queue(store, now_us);
}
