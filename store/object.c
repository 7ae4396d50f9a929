/* Object records: found by place, made when first needed. */
#include "store/state.h"

struct pw_object *pw_object_at(const struct segment *segment, uint32_t slot)
{
        const struct chunk *chunk = segment->chunks[slot / PW_CHUNK_SLOTS];

        return chunk && chunk->objects ? &chunk->objects[slot % PW_CHUNK_SLOTS] : NULL;
}

struct pw_object *pw_object_know(struct pw_store *store, struct segment *segment, uint32_t slot, uint32_t generation)
{
        struct chunk *chunk = segment->chunks[slot / PW_CHUNK_SLOTS];
        struct extent *extent = pw_extent_of(store, segment, slot);
        struct pw_object *object;

        if (!extent)
                return NULL;
        if (!chunk->objects && !(chunk->objects = calloc(PW_CHUNK_SLOTS, sizeof *chunk->objects)))
                return NULL;
        object = &chunk->objects[slot % PW_CHUNK_SLOTS];
        if (object->generation == generation)
                return object;
        *object = (struct pw_object){ .segment = segment->number,
                                      .slot = slot,
                                      .generation = generation,
                                      .refs = extent->session ? 1 : 0,
                                      .first_ref = extent->session != NULL,
                                      .grantee = extent->session ? extent->session->number : 0 };
        return object;
}

struct pw_object *pw_store_find(struct pw_store *store, uint32_t number, uint32_t place, uint32_t slot, uint32_t generation)
{
        struct segment *segment = pw_store_segment(store, place);
        struct session *session = number ? pw_store_session(store, number) : NULL;
        uint64_t word;

        if (!segment || slot >= segment->layout.slot_count || !pw_extent_of(store, segment, slot) || (number && !session))
                return NULL;
        if (session && session->tenant != segment->tenant)
                return NULL;
        word = pw_entry_load(pw_segment_entry(segment, slot));
        if (pw_word_generation(word) != generation || pw_word_state(word) < PW_ENTRY_PENDING || pw_word_state(word) > PW_ENTRY_CLOSING)
                return NULL;
        return pw_object_know(store, segment, slot, generation);
}

struct pw_entry *pw_object_entry(struct pw_store *store, const struct pw_object *object)
{
        return pw_segment_entry(pw_store_segment(store, object->segment), object->slot);
}

struct pw_id pw_object_id(struct pw_store *store, const struct pw_object *object)
{
        return pw_id_make(store->params.host, store->params.epoch, object->segment, object->slot, object->generation);
}

const char *pw_object_tenant(struct pw_store *store, const struct pw_object *object)
{
        return pw_store_segment(store, object->segment)->tenant->name;
}

/* --- listings --------------------------------------------------------------------------------------------------------- */

static bool each_slot(struct pw_store *store, struct extent *extent, uint32_t slot, bool (*row)(void *context, const struct pw_object_row *row),
                      void *context)
{
        struct segment *segment = extent->segment;
        const struct pw_entry *entry = pw_segment_entry(segment, slot);
        struct pw_object *object = pw_object_at(segment, slot);
        uint64_t word = pw_entry_load(entry);
        uint32_t generation = pw_word_generation(word);
        bool known = object && object->generation == generation;

        if (pw_word_state(word) < PW_ENTRY_PENDING || (segment->layout.kind == PW_SEGMENT_FUTURES && !(known && object->claimed)))
                return true;
        return row(context, &(struct pw_object_row){ .id = pw_id_make(store->params.host, store->params.epoch, segment->number, slot, generation),
                                                     .word = word,
                                                     .bytes = entry->bytes,
                                                     .room_bytes = extent->room_bytes,
                                                     .refs = known ? object->refs : 1,
                                                     .session = extent->session ? extent->session->number : 0,
                                                     .tenant = segment->tenant->name,
                                                     .client = extent->session ? extent->session->client : NULL,
                                                     .object = known ? object : NULL,
                                                     .entry = entry });
}

void pw_store_each_object(struct pw_store *store, bool (*row)(void *context, const struct pw_object_row *row), void *context)
{
        for (uint32_t i = 1; i <= store->extents.top; i++) {
                struct extent *extent = pw_handles_get(&store->extents, i);

                for (uint32_t j = 0; extent && j < extent->slot_count; j++)
                        if (!each_slot(store, extent, extent->first_slot + j, row, context))
                                return;
        }
}

void pw_object_each_ref(struct pw_store *store, const struct pw_object *object, void (*row)(void *context, const struct pw_ref_row *row),
                        void *context)
{
        (void)store;
        for (const struct pw_ref *ref = object->holders; ref; ref = ref->next)
                row(context, &(struct pw_ref_row){ ref->kind, ref->number, ref->count, ref->since_us, ref->name });
}
