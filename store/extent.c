/* Extents: granting them, taking back idle ones, what becomes of those of an ended session. */
#include "store/state.h"

#define PAGE 4096u

struct extent *pw_extent_of(struct pw_store *store, const struct segment *segment, uint32_t slot)
{
        const struct chunk *chunk = slot < segment->layout.slot_count ? segment->chunks[slot / PW_CHUNK_SLOTS] : NULL;

        return chunk ? pw_handles_get(&store->extents, chunk->extents[slot % PW_CHUNK_SLOTS]) : NULL;
}

uint64_t pw_extent_bytes(const struct pw_room_request *ask, uint32_t count)
{
        return ask->futures || ask->inline_only ? 0 : pw_round_up(count * pw_class_bytes(ask->size_class), PAGE);
}

/* Note the extent of each slot. */
static bool note_slots(struct segment *segment, const struct extent *extent, uint32_t number)
{
        for (uint32_t i = 0; i < extent->slot_count; i++) {
                uint32_t slot = extent->first_slot + i;
                struct chunk **chunk = &segment->chunks[slot / PW_CHUNK_SLOTS];

                if (!*chunk && !(*chunk = calloc(1, sizeof **chunk)))
                        return false;
                (*chunk)->extents[slot % PW_CHUNK_SLOTS] = number;
        }
        return true;
}

/* The entry table is touched page by page as slots are granted; those pages are overhead. */
static void charge_entries(struct pw_store *store, struct segment *segment)
{
        uint64_t bytes = pw_round_up(pw_range_top(segment->slots) * sizeof(struct pw_entry), PAGE);

        if (segment->layout.kind != PW_SEGMENT_CLIENT || bytes <= segment->entry_pages_bytes)
                return;
        pw_store_overhead(store, (int64_t)(bytes - segment->entry_pages_bytes));
        segment->entry_pages_bytes = bytes;
}

/* Ready for the client: entries FREE (futures: PENDING of their next generation). It takes each slot once in order; after that
 * from the return ring. */
static void open_slots(struct extent *extent)
{
        struct pw_return_ring *ring = (struct pw_return_ring *)((uint8_t *)extent->session->control + extent->ring_offset);

        extent->returns = pw_return_ring_init(ring, extent->slot_count);
        for (uint32_t i = 0; i < extent->slot_count; i++) {
                uint32_t slot = extent->first_slot + i;
                struct pw_entry *entry = pw_segment_entry(extent->segment, slot);
                uint64_t word = pw_entry_load(entry);

                if (extent->segment->layout.kind == PW_SEGMENT_FUTURES)
                        pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_PENDING, 0, pw_word_generation(word) + 1, PW_OK));
                else
                        pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_FREE, 0, pw_word_generation(word), PW_OK));
        }
        extent->tail_told = extent->returns.tail;
}

static bool place(struct extent *extent, struct segment *segment, struct session *session)
{
        uint64_t slot, room = 0;

        if (!pw_range_take(segment->slots, extent->slot_count, &slot))
                return false;
        if (extent->bytes && !pw_range_take(segment->rooms, extent->bytes, &room)) {
                pw_range_give(segment->slots, slot, extent->slot_count);
                return false;
        }
        if (!pw_range_take(session->rings, extent->ring_bytes, &extent->ring_offset)) {
                pw_range_give(segment->slots, slot, extent->slot_count);
                if (extent->bytes)
                        pw_range_give(segment->rooms, room, extent->bytes);
                return false;
        }
        extent->ring_offset += PW_CONTROL_RINGS_OFFSET;
        extent->first_slot = (uint32_t)slot;
        extent->room_offset = segment->layout.room_offset + room;
        return true;
}

enum pw_status pw_extent_new(struct pw_store *store, struct session *session, const struct pw_room_request *ask, uint32_t count,
                             struct extent **ret_extent)
{
        struct segment *segment = ask->futures ? session->tenant->futures : session->segment;
        struct extent *extent = segment ? calloc(1, sizeof *extent) : NULL;

        if (!extent)
                return PW_NO_MEMORY;
        extent->segment = segment;
        extent->session = session;
        extent->lane = ask->lane;
        extent->slot_count = count;
        extent->size_class = ask->size_class;
        extent->inline_only = ask->inline_only || ask->futures;
        extent->room_bytes = extent->inline_only ? 0 : pw_class_bytes(ask->size_class);
        extent->bytes = pw_extent_bytes(ask, count);
        extent->ring_bytes = pw_return_ring_bytes(count);
        pw_list_init(&extent->of_segment);
        pw_list_init(&extent->of_session);
        extent->number = place(extent, segment, session) ? pw_handles_add(&store->extents, extent) : 0;
        if (!extent->number) {
                free(extent);
                return PW_LIMIT;
        }
        if (!note_slots(segment, extent, extent->number)) {
                pw_extent_free(store, extent);
                return PW_NO_MEMORY;
        }
        pw_list_append(&segment->extents, &extent->of_segment);
        pw_list_append(&session->extents, &extent->of_session);
        segment->granted_bytes += extent->bytes;
        pw_store_book(store, extent->bytes);
        charge_entries(store, segment);
        open_slots(extent);
        *ret_extent = extent;
        return PW_OK;
}

void pw_extent_granted(struct pw_store *store, struct extent *extent, uint64_t token)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_GRANT);

        if (!action)
                return;
        action->token = token;
        action->grant = (struct pw_store_grant){ .session = extent->session->number,
                                                 .lane = extent->lane,
                                                 .extent = extent->number,
                                                 .segment = extent->segment->number,
                                                 .first_slot = extent->first_slot,
                                                 .slot_count = extent->slot_count,
                                                 .room_offset = extent->room_offset,
                                                 .room_bytes = extent->room_bytes,
                                                 .return_ring = extent->ring_offset };
}

/* Slots of a living client's segment stay TAKEN for ever: its thread may still find them in the ring it had. */
void pw_extent_free(struct pw_store *store, struct extent *extent)
{
        struct segment *segment = extent->segment;
        struct pw_store_action *action;

        if (!pw_list_empty(&extent->of_segment)) {
                pw_store_unbook(store, extent->bytes);
                segment->granted_bytes -= extent->bytes;
        }
        pw_list_remove(&extent->of_segment);
        pw_list_remove(&extent->of_session);
        note_slots(segment, extent, 0);
        if (extent->bytes) {
                pw_range_give(segment->rooms, extent->room_offset - segment->layout.room_offset, extent->bytes);
                action = pw_store_act(store, PW_STORE_PUNCH);
                if (action) {
                        action->segment = segment->number;
                        action->offset = extent->room_offset;
                        action->bytes = extent->bytes;
                }
        }
        if (!extent->session)
                pw_range_give(segment->slots, extent->first_slot, extent->slot_count);
        pw_handles_remove(&store->extents, extent->number);
        free(extent);
        pw_store_segment_maybe_idle(store, segment);
}

bool pw_extent_take_back(struct pw_store *store, struct extent *extent)
{
        uint32_t i;

        if (extent->segment->layout.kind != PW_SEGMENT_CLIENT || !extent->session)
                return false;
        for (i = 0; i < extent->slot_count; i++)
                if (pw_word_state(pw_entry_load(pw_segment_entry(extent->segment, extent->first_slot + i))) != PW_ENTRY_FREE)
                        return false;
        for (i = 0; i < extent->slot_count; i++) {
                struct pw_entry *entry = pw_segment_entry(extent->segment, extent->first_slot + i);
                uint64_t word = pw_entry_load(entry);

                if (pw_word_state(word) != PW_ENTRY_FREE || !pw_entry_swap(entry, &word, pw_word_with_state(word, PW_ENTRY_TAKEN)))
                        break;
        }
        if (i == extent->slot_count) {
                pw_extent_free(store, extent);
                return true;
        }
        while (i--) { /* its client took one meanwhile: the others go back to it */
                struct pw_entry *entry = pw_segment_entry(extent->segment, extent->first_slot + i);
                uint64_t word = pw_entry_load(entry);

                pw_entry_swap(entry, &word, pw_word_with_state(word, PW_ENTRY_FREE));
        }
        return false;
}

/* One slot of an ended session. True: something in it lives on. */
static bool orphan_slot(struct pw_store *store, struct extent *extent, uint32_t slot, uint64_t now_us)
{
        struct segment *segment = extent->segment;
        struct pw_entry *entry = pw_segment_entry(segment, slot);
        uint64_t word = pw_entry_load(entry), old;
        uint32_t generation = pw_word_generation(word);
        struct pw_object *object = pw_object_at(segment, slot);
        bool known = object && object->generation == generation;
        bool idle_future = segment->layout.kind == PW_SEGMENT_FUTURES && !(known && object->claimed);

        (void)now_us;
        if (pw_word_state(word) == PW_ENTRY_FREE || pw_word_state(word) == PW_ENTRY_TAKEN) {
                pw_entry_swap(entry, &word, pw_word_with_state(word, PW_ENTRY_TAKEN)); /* its producer may still live */
                return false;
        }
        if (idle_future && (!known || object->refs <= 1)) {
                pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_FREE, 0, generation, PW_OK));
                return false;
        }
        if (pw_word_state(word) == PW_ENTRY_PENDING && !(known && object->claimed) &&
            pw_entry_decide(entry, generation, PW_PRODUCER_LOST, 0, PW_DECIDE_TRIES, &old))
                pw_entry_said(store, segment, slot, old);
        if (!known) {
                if (pw_word_state(word) != PW_ENTRY_CLOSING)
                        pw_reclaim_add(store, segment->number, slot, generation);
                return true;
        }
        object->grantee = 0;
        if (object->first_ref)
                pw_ref_drop_first(store, object);
        return true;
}

void pw_extent_orphan(struct pw_store *store, struct extent *extent, bool dead, uint64_t now_us)
{
        pw_list_remove(&extent->of_session);
        extent->live = 0;
        for (uint32_t i = 0; i < extent->slot_count; i++)
                extent->live += orphan_slot(store, extent, extent->first_slot + i, now_us);
        extent->session = NULL;
        /* Rooms of a process that lives on stay granted until it is dead. */
        if (!extent->live && (dead || extent->segment->layout.kind == PW_SEGMENT_FUTURES))
                pw_extent_free(store, extent);
}
