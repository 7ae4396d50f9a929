/* How much of everything there is. */
#include "store/parts.h"

static void count_object(const struct segment *segment, const struct pw_object *object, struct pw_store_counts *counts)
{
        uint32_t state = pw_word_state(pw_entry_load(pw_segment_entry(segment, object->slot)));

        if (state < PW_ENTRY_PENDING || (segment->layout.kind == PW_SEGMENT_FUTURES && !(object->known && object->claimed)))
                return;
        counts->refs += object->known ? object->refs : 1;
        if (state == PW_ENTRY_PENDING)
                counts->pending++;
        else if (state == PW_ENTRY_READY)
                counts->ready++;
        else
                counts->failed++;
}

static void count_extent(struct extent *extent, struct pw_store_counts *counts)
{
        extent->used = 0;
        for (uint32_t i = 0; i < extent->slot_count && !extent->populating; i++) {
                const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + i);

                if (object->taken)
                        continue;
                extent->used += !pw_slot_idle(extent, object);
                count_object(extent->segment, object, counts);
        }
        pw_extent_tell(extent);
}

bool pw_store_census(struct pw_store *store, struct pw_census *census, uint32_t slots)
{
        for (; census->next < store->extents.top && slots; census->next++) {
                struct extent *extent = pw_handles_get(&store->extents, census->next + 1);

                if (extent)
                        count_extent(extent, &census->counts);
                slots -= (uint32_t)pw_min_u64(slots, extent ? extent->slot_count : 0);
        }
        return census->next < store->extents.top;
}

uint64_t pw_store_names(const struct pw_store *store)
{
        return store->name_count;
}

uint64_t pw_store_puts_waiting(const struct pw_store *store)
{
        uint64_t count = 0;

        for (const struct pw_list *node = store->queue.next; node != &store->queue; node = node->next)
                count++;
        return count;
}
