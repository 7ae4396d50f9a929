/* Audit: every byte of host memory under one term, each counted from its own records; claims that add up. */
#include "store/state.h"

#include <stdio.h>

/* Rooms with values of one extent: by the entries, which only say how much of the grant is used. */
static uint64_t used_bytes(const struct extent *extent)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < extent->slot_count; i++) {
                enum pw_entry_state state = pw_word_state(pw_entry_load(pw_segment_entry(extent->segment, extent->first_slot + i)));

                if (state >= PW_ENTRY_PENDING)
                        bytes += extent->room_bytes;
        }
        return bytes;
}

void pw_store_terms(struct pw_store *store, struct pw_memory_terms *ret_terms)
{
        struct pw_memory_terms terms = { .capacity = store->params.capacity_bytes,
                                         .reserved = store->params.reserved_bytes,
                                         .overhead = store->overhead_bytes,
                                         .free = (uint64_t)store->free_bytes };

        for (uint32_t i = 1; i <= store->extents.top; i++) {
                const struct extent *extent = pw_handles_get(&store->extents, i);
                uint64_t used = extent ? used_bytes(extent) : 0;

                if (!extent || pw_list_empty(&extent->of_segment))
                        continue;
                if (!extent->session && !extent->live) {
                        terms.letting_go += extent->bytes;
                        continue;
                }
                terms.used += used;
                terms.idle += extent->bytes - used;
        }
        terms.unaccounted = (int64_t)(terms.capacity - terms.free - terms.used - terms.idle - terms.letting_go - terms.quarantined -
                                      terms.reserved - terms.overhead);
        *ret_terms = terms;
}

struct audit {
        struct pw_store *store;
        void (*found)(void *context, const char *where, const char *problem);
        void *context;
        uint32_t count;
};

static void report(struct audit *audit, const struct pw_object *object, const char *problem)
{
        char where[PW_ID_TEXT_BYTES] = "host memory";

        if (object)
                pw_id_format(pw_object_id(audit->store, object), where);
        audit->count++;
        audit->found(audit->context, where, problem);
}

static void check_object(struct audit *audit, const struct segment *segment, const struct pw_object *object)
{
        uint64_t word = pw_entry_load(pw_segment_entry(segment, object->slot));
        uint32_t refs = object->first_ref;
        char problem[120];

        if (pw_word_generation(word) != object->generation)
                report(audit, object, "its record outlived its entry");
        for (const struct pw_ref *ref = object->holders; ref; ref = ref->next) {
                refs += ref->count;
                if (ref->kind == PW_OWNER_SESSION && !pw_store_session(audit->store, (uint32_t)ref->number))
                        report(audit, object, "a session that ended still holds it");
        }
        if (refs != object->refs) {
                snprintf(problem, sizeof problem, "%u references counted, %u claims found", object->refs, refs);
                report(audit, object, problem);
        }
        if (!object->refs && pw_word_state(word) > PW_ENTRY_PENDING && pw_word_state(word) < PW_ENTRY_CLOSING)
                report(audit, object, "nobody holds it, and it is still there");
}

static void check_segment(struct audit *audit, const struct segment *segment)
{
        for (uint32_t i = 0; i < segment->chunk_count; i++) {
                const struct chunk *chunk = segment->chunks[i];

                for (uint32_t j = 0; chunk && chunk->objects && j < PW_CHUNK_SLOTS; j++)
                        if (chunk->objects[j].generation)
                                check_object(audit, segment, &chunk->objects[j]);
        }
}

uint32_t pw_store_check(struct pw_store *store, void (*found)(void *context, const char *where, const char *problem), void *context)
{
        struct audit audit = { store, found, context, 0 };
        struct pw_memory_terms terms;
        struct segment *segment;
        char problem[80];

        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));)
                check_segment(&audit, segment);
        pw_store_terms(store, &terms);
        if (terms.unaccounted) {
                snprintf(problem, sizeof problem, "%lld bytes are unaccounted for", (long long)terms.unaccounted);
                report(&audit, NULL, problem);
        }
        if (store->free_bytes < 0)
                report(&audit, NULL, "more is booked than there is");
        return audit.count;
}

bool pw_store_waits_for_room(const struct pw_store *store)
{
        return !pw_list_empty(&store->queue);
}
