/* Extents whose lane or session has ended, slot by slot. */
#include "store/parts.h"

/* A future that was never submitted: who waits for it hears so. */
static void fail_unclaimed(struct pw_store *store, struct extent *extent, struct pw_object *object)
{
        struct segment *segment = extent->segment;

        if (!object->known)
                pw_object_find(segment, object->slot, pw_word_generation(pw_entry_load(pw_segment_entry(segment, object->slot))));
        if (!object->known || object->claimed)
                return;
        pw_object_fail(store, segment, object, PW_PRODUCER_LOST);
        if (object->watched)
                pw_watch_end(store, object, true);
        if (object->first_ref)
                pw_ref_drop_first(store, object);
}

/* An entry of an ended session's own segment that is neither idle nor taken. */
static void end_value(struct pw_store *store, struct extent *extent, struct pw_object *object)
{
        struct segment *segment = extent->segment;
        uint64_t word = pw_entry_load(pw_segment_entry(segment, object->slot));

        if (!object->known && !pw_object_find(segment, object->slot, pw_word_generation(word))) {
                pw_object_know(segment, object, pw_word_generation(word)); /* a word that cannot be */
                pw_reclaim_add(store, object);
        }
        if (pw_word_state(word) == PW_ENTRY_PENDING && pw_word_generation(word) == object->generation)
                pw_object_fail(store, segment, object, PW_PRODUCER_LOST);
        if (object->watched)
                pw_watch_end(store, object, true);
}

static void end_slot(struct pw_store *store, struct extent *extent, struct pw_object *object)
{
        if (object->taken || pw_extent_take_if_idle(store, extent, object)) {
                object->grantee = 0;
                return;
        }
        if (pw_extent_futures(extent))
                fail_unclaimed(store, extent, object);
        else
                end_value(store, extent, object);
        if (object->first_ref)
                pw_ref_drop_first(store, object);
        object->grantee = 0;
}

#define WATCHED_COST 16u /* slots that are looked at in that time */

bool pw_extent_end(struct pw_store *store, struct extent *extent, uint32_t *budget)
{
        bool session_ended = extent->session->ended;

        for (; *budget && extent->ended_slots < extent->slot_count && !extent->populating; --*budget) {
                struct pw_object *object = pw_slot_record(extent->segment, extent->first_slot + extent->ended_slots++);

                if (object->watched) /* somebody is told */
                        *budget -= pw_min_u64(*budget - 1, WATCHED_COST - 1);
                if (session_ended)
                        end_slot(store, extent, object);
                else if (pw_extent_futures(extent))
                        fail_unclaimed(store, extent, object);
                else
                        pw_extent_take_if_idle(store, extent, object);
        }
        if (extent->ended_slots < extent->slot_count && !extent->populating)
                return false;
        pw_ending_extent_leave(extent);
        if (session_ended) {
                pw_list_remove(&extent->of_session);
                extent->session = NULL;
        }
        pw_extent_settle(store, extent);
        return true;
}
