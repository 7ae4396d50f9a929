/* Extents: placed, opened to their lane, slots given back to it or taken back from it. extent_end.c: their end with their lane. */
#include "store/parts.h"

static uint64_t row_key(uint32_t lane, uint32_t kind) { return (uint64_t)lane << 32 | kind; }

struct row *pw_row_known(const struct session *session, uint32_t lane, uint32_t kind)
{
        return pw_table_get(&session->rows, row_key(lane, kind));
}

struct row *pw_row_of(struct session *session, const struct pw_room_request *ask)
{
        uint32_t kind = ask->futures ? PW_KIND_FUTURES : ask->inline_only ? PW_KIND_INLINE : ask->size_class;
        struct row *row = pw_row_known(session, ask->lane, kind);

        if (row)
                return row;
        row = calloc(1, sizeof *row);
        if (!row)
                return NULL;
        row->lane = ask->lane;
        row->kind = kind;
        pw_list_init(&row->extents);
        pw_list_init(&row->dormant);
        pw_list_init(&row->touched);
        if (pw_table_put(&session->rows, row_key(ask->lane, kind), row))
                return row;
        free(row);
        return NULL;
}

/* --- placing ------------------------------------------------------------------------------------------------------------ */

static struct extent *new_extent(struct pw_store *store)
{
        struct extent *extent = calloc(1, sizeof *extent);

        if (!extent)
                return NULL;
        extent->number = pw_handles_add(&store->extents, extent);
        if (!extent->number) {
                free(extent);
                return NULL;
        }
        pw_list_init(&extent->of_segment);
        pw_list_init(&extent->of_session);
        pw_list_init(&extent->of_row);
        pw_list_init(&extent->of_touched);
        pw_list_init(&extent->of_ending);
        return extent;
}

/* Behind the last room, as long as its page is booked. */
static uint64_t rounding(const struct extent *extent)
{
        bool booked = extent->span_bytes &&
                (extent->populating || !pw_extent_page_taken(extent, (extent->span_bytes - 1) / PW_PAGE_BYTES));

        return booked ? extent->span_bytes - extent->slot_count * extent->room_bytes : 0;
}

struct extent_sums pw_extent_sums(const struct extent *extent)
{
        uint32_t granted = extent->populating ? 0 : extent->slot_count - extent->taken;

        return (struct extent_sums){ .booked = extent->booked_bytes,
                                     .spans = extent->span_bytes,
                                     .used = pw_min_u64(extent->used, granted) * extent->room_bytes,
                                     .rounded = rounding(extent),
                                     .slots = extent->slot_room,
                                     .held = extent->populating ? extent->slot_count : granted,
                                     .extents = 1 };
}

static void sums_change(struct segment *segment, struct extent_sums *told, struct extent_sums now)
{
        struct extent_sums *sums = &segment->sums;

        sums->booked += now.booked - told->booked;
        sums->spans += now.spans - told->spans;
        sums->used += now.used - told->used;
        sums->rounded += now.rounded - told->rounded;
        sums->slots += now.slots - told->slots;
        sums->held += now.held - told->held;
        sums->extents += now.extents - told->extents;
        segment->changes++;
        *told = now;
}

void pw_extent_tell(struct extent *extent) { sums_change(extent->segment, &extent->sums, pw_extent_sums(extent)); }

#define EXTENT_BYTES (sizeof(struct extent) + 16 + 16) /* with what malloc has for it, and its place among the handles */

static uint64_t ranges_bytes(const struct segment *segment)
{
        const struct session *session = segment->session;

        return pw_range_heap_bytes(segment->slots) + pw_range_heap_bytes(segment->rooms) +
               (session && session->rings ? pw_range_heap_bytes(session->rings) : 0);
}

/* Charged as they are made, whatever is free: a slot without a room waits for no memory. Whole pages: the first ones come with all
 * others. */
static void count_records(struct pw_store *store, struct segment *segment)
{
        uint64_t bytes = segment->sums.extents * EXTENT_BYTES + ranges_bytes(segment) + segment->idle.capacity *
                sizeof *segment->idle.spans;

        bytes = segment->chunk_bytes + bytes / PW_PAGE_BYTES * PW_PAGE_BYTES;
        pw_keep_count(store, segment->tenant, pw_segment_keeps(segment), (int64_t)(bytes - segment->record_bytes));
        segment->record_bytes = bytes;
}

static void free_extent(struct pw_store *store, struct extent *extent)
{
        if (extent->segment) {
                sums_change(extent->segment, &extent->sums, (struct extent_sums){ 0 });
                count_records(store, extent->segment);
        }
        pw_list_remove(&extent->of_segment);
        pw_list_remove(&extent->of_session);
        pw_list_remove(&extent->of_row);
        pw_list_remove(&extent->of_touched);
        pw_ending_extent_leave(extent);
        pw_handles_remove(&store->extents, extent->number);
        free(extent);
}

#define CHUNK_BYTES (PW_CHUNK_SLOTS * sizeof(struct pw_object))

static bool make_chunks(struct segment *segment, uint32_t first_slot, uint32_t count)
{
        uint32_t last = (first_slot + count - 1) / PW_CHUNK_SLOTS;

        if (!pw_grow((void **)&segment->chunks, &segment->chunk_capacity, last + 1, sizeof *segment->chunks))
                return false;
        for (uint32_t i = first_slot / PW_CHUNK_SLOTS; i <= last; i++) {
                if (segment->chunks[i])
                        continue;
                segment->chunks[i] = aligned_alloc(PW_LINE_BYTES, CHUNK_BYTES);
                if (!segment->chunks[i])
                        return false;
                memset(segment->chunks[i], 0, CHUNK_BYTES);
                segment->chunk_bytes += CHUNK_BYTES;
        }
        return true;
}

/* Slots, their records and a return ring for an extent that never had any. */
static enum pw_status take_slots(struct extent *extent, struct session *session, uint32_t count)
{
        struct segment *segment = extent->segment;
        uint64_t slot, ring;

        if (!pw_range_take(segment->slots, count, &slot))
                return PW_LIMIT;
        if (!make_chunks(segment, (uint32_t)slot, count)) {
                pw_range_give(segment->slots, slot, count);
                return PW_NO_MEMORY;
        }
        if (!pw_range_take(session->rings, pw_return_ring_bytes(count), &ring)) {
                pw_range_give(segment->slots, slot, count);
                return PW_LIMIT;
        }
        extent->first_slot = (uint32_t)slot;
        extent->slot_room = count;
        segment->slot_top = pw_max_u64(segment->slot_top, slot + count);
        extent->ring_offset = PW_CONTROL_RINGS_OFFSET + ring;
        for (uint32_t i = 0; i < count; i++)
                *pw_slot_record(segment, extent->first_slot + i) = (struct pw_object){ .segment = segment->number,
                                                                              .slot = extent->first_slot + i,
                                                                              .grantee = session->number,
                                                                              .extent = extent->number,
                                                                              .taken = 1 };
        return PW_OK;
}

static void give_slots(struct extent *extent)
{
        struct segment *segment = extent->segment;

        if (!extent->slot_room)
                return;
        for (uint32_t i = 0; i < extent->slot_room; i++)
                pw_slot_record(segment, extent->first_slot + i)->extent = 0;
        if (extent->worn)
                segment->buried_slots += extent->slot_room;
        else
                pw_range_give(segment->slots, extent->first_slot, extent->slot_room);
        if (extent->session)
                pw_range_give(extent->session->rings, extent->ring_offset - PW_CONTROL_RINGS_OFFSET,
                              pw_return_ring_bytes(extent->slot_room));
        extent->slot_room = 0;
}

/* Bytes of the entry table that would be touched for the first time. The futures segments' are measured, not booked. */
static uint64_t entry_growth(const struct extent *extent)
{
        const struct segment *segment = extent->segment;
        uint64_t bytes = pw_round_up((uint64_t)(extent->first_slot + extent->slot_room) * sizeof(struct pw_entry), PW_PAGE_BYTES);

        return segment->layout.kind != PW_SEGMENT_CLIENT || bytes <= segment->entry_page_bytes ? 0 :
                bytes - segment->entry_page_bytes;
}

/* Place the rooms and book their pages: those that are idle there already are taken over, others must be free. */
static enum pw_status take_rooms(struct pw_store *store, struct extent *extent, bool *ret_fresh)
{
        struct segment *segment = extent->segment;
        uint64_t growth = entry_growth(extent), offset = 0, overlap, fresh;
        enum pw_status status;

        if (extent->span_bytes && !pw_range_take(segment->rooms, extent->span_bytes, &offset))
                return PW_NOT_READY;
        extent->room_offset = segment->layout.room_offset + offset;
        overlap = pw_idle_overlap(&segment->idle, extent->room_offset, extent->span_bytes);
        fresh = extent->span_bytes - overlap;
        status = pw_pages_reach(store, segment, fresh + growth, overlap);
        if (status == PW_OK && overlap && !pw_idle_cut(&segment->idle, extent->room_offset, extent->span_bytes))
                status = PW_NOT_READY;
        if (status != PW_OK) {
                if (extent->span_bytes)
                        pw_range_give(segment->rooms, offset, extent->span_bytes);
                return status;
        }
        store->idle_bytes -= overlap;
        store->free_bytes -= (int64_t)fresh;
        pw_keep_count(store, segment->tenant, pw_segment_keeps(segment), (int64_t)growth);
        segment->room_page_bytes += fresh;
        extent->booked_bytes = extent->span_bytes;
        segment->tenant->host_bytes += extent->span_bytes;
        segment->entry_page_bytes += growth;
        *ret_fresh = fresh != 0;
        return PW_OK;
}

static struct extent *dormant(const struct row *row)
{
        return pw_list_empty(&row->dormant) ? NULL : pw_list_first(&row->dormant, struct extent, of_row);
}

static enum pw_status fill(struct pw_store *store, struct extent *extent, struct session *session, const struct row *row,
                           uint32_t count, bool *ret_fresh)
{
        bool rooms = row->kind < PW_CLASS_COUNT;
        enum pw_status status = extent->slot_room ? PW_OK : take_slots(extent, session, count);

        if (status != PW_OK)
                return status;
        extent->slot_count = count < extent->slot_room ? count : extent->slot_room;
        extent->room_bytes = rooms ? pw_class_bytes(row->kind) : 0;
        extent->span_bytes = pw_round_up(extent->slot_count * extent->room_bytes, PW_PAGE_BYTES);
        status = take_rooms(store, extent, ret_fresh);
        if (status != PW_OK)
                extent->span_bytes = extent->slot_count = 0;
        return status;
}

/* Could there be memory for it, wherever its rooms come to lie? Asked first, as placing many slots in vain takes long. */
static enum pw_status is_there(struct pw_store *store, const struct session *session, const struct row *row, uint32_t count)
{
        uint64_t room = row->kind < PW_CLASS_COUNT ? pw_class_bytes(row->kind) : 0,
                span = pw_round_up(count * room, PW_PAGE_BYTES), own;

        if (!room)
                return PW_OK;
        own = session->segment->ended ? 0 : pw_min_u64(session->segment->idle.bytes, span);
        return pw_pages_reach(store, session->segment, span - own, own);
}

enum pw_status pw_extent_new(struct pw_store *store, struct session *session, struct row *row, uint32_t count,
                             struct extent **ret_extent, bool *ret_fresh)
{
        struct extent *old = dormant(row), *extent;
        enum pw_status status = is_there(store, session, row, count);

        if (status != PW_OK)
                return status;
        extent = old ? old : new_extent(store);
        if (!extent)
                return PW_NO_MEMORY;
        extent->segment = row->kind == PW_KIND_FUTURES ? session->tenant->futures : session->segment;
        extent->session = session;
        extent->row = row;
        status = fill(store, extent, session, row, count, ret_fresh);
        if (status != PW_OK && !old) {
                give_slots(extent);
                free_extent(store, extent);
        }
        if (status != PW_OK)
                return status;
        pw_list_remove(&extent->of_row);
        pw_list_append(&row->extents, &extent->of_row);
        if (!old) {
                pw_list_append(&extent->segment->extents, &extent->of_segment);
                pw_list_append(&session->extents, &extent->of_session);
        }
        extent->taken = extent->slot_count;
        extent->used = 0;
        extent->segment->tenant->slots += extent->slot_count;
        extent->populating = true;
        extent->leaving = false;
        extent->segment->populating_count++;
        pw_extent_tell(extent);
        if (!old) {
                count_records(store, extent->segment);
                if (session->segment && session->segment != extent->segment)
                        count_records(store, session->segment);
        }
        *ret_extent = extent;
        return PW_OK;
}

/* --- opening -------------------------------------------------------------------------------------------------------------- */

/* FREE for the client to take; in a futures segment PENDING of the next generation. False: its generations are used up. */
static bool open_slot(const struct extent *extent, struct pw_object *object)
{
        struct pw_entry *entry = pw_segment_entry(extent->segment, object->slot);
        uint32_t generation = pw_word_generation(pw_entry_load(entry));

        if (generation == UINT32_MAX)
                return false;
        atomic_store(&entry->word, pw_extent_futures(extent) ? pw_word_make(PW_ENTRY_PENDING, 0, generation + 1, PW_OK)
                                                            : pw_word_make(PW_ENTRY_FREE, 0, generation, PW_OK));
        object->taken = 0;
        return true;
}

static void opened(struct extent *extent)
{
        extent->populating = false;
        extent->segment->populating_count--;
}

void pw_extent_open(struct pw_store *store, struct extent *extent)
{
        opened(extent);
        for (uint32_t i = 0; i < extent->slot_count; i++) {
                if (open_slot(extent, pw_slot_record(extent->segment, extent->first_slot + i))) {
                        extent->taken--;
                } else {
                        extent->segment->tenant->slots--;
                        extent->worn = true;
                }
        }
        extent->returns = pw_return_ring_init((struct pw_return_ring *)(extent->session->control + extent->ring_offset),
                                              extent->slot_count);
        extent->granted_us = store->now_us;
        extent->grant = ++store->grants;
        extent->untouched = true;
        pw_extent_tell(extent);
}

/* All slots are taken: the rooms' addresses are free, and so are the slots unless the lane may still look at them. */
static void emptied(struct pw_store *store, struct extent *extent)
{
        if (extent->span_bytes)
                pw_range_give(extent->segment->rooms, extent->room_offset - extent->segment->layout.room_offset,
                              extent->span_bytes);
        extent->span_bytes = extent->booked_bytes = 0;
        extent->slot_count = extent->taken = 0;
        extent->leaving = false;
        pw_list_remove(&extent->of_touched);
        pw_list_remove(&extent->of_row);
        if (pw_extent_serves(extent) && !extent->worn) {
                pw_list_append(&extent->row->dormant, &extent->of_row);
                pw_extent_tell(extent);
                return;
        }
        give_slots(extent);
        free_extent(store, extent);
}

void pw_extent_discard(struct pw_store *store, struct extent *extent, bool populated)
{
        opened(extent);
        extent->segment->tenant->slots -= extent->slot_count;
        if (populated) {
                pw_pages_free(store, extent->segment, extent->room_offset, extent->span_bytes);
        } else if (extent->span_bytes) {
                pw_pages_punch(store, extent->segment, extent->room_offset, extent->span_bytes);
                extent->segment->tenant->host_bytes -= extent->span_bytes;
        }
        emptied(store, extent);
}

/* --- slots given back and taken back ------------------------------------------------------------------------------------- */

void pw_extent_give(struct extent *extent, struct pw_object *object)
{
        if (pw_extent_futures(extent))
                open_slot(extent, object);
        pw_return_give(&extent->returns, object->slot);
        extent->given_last = object->slot;
        extent->untouched = false;
        extent->row->given_count++;
        if (pw_list_empty(&extent->of_touched))
                pw_list_append(&extent->row->touched, &extent->of_touched);
}

/* Every slot with room in this page of the span was taken: nobody uses it. The last slots are looked at first, since they are
 * taken last. */
bool pw_extent_page_taken(const struct extent *extent, uint64_t page)
{
        uint64_t first = page * PW_PAGE_BYTES / extent->room_bytes;
        uint64_t last = pw_min_u64(((page + 1) * PW_PAGE_BYTES - 1) / extent->room_bytes, extent->slot_count - 1);

        for (uint64_t i = last + 1; i-- > first;)
                if (!pw_slot_record(extent->segment, extent->first_slot + (uint32_t)i)->taken)
                        return false;
        return true;
}

static void free_pages(struct pw_store *store, struct extent *extent, uint64_t from, uint64_t bytes)
{
        extent->booked_bytes -= bytes;
        pw_pages_free(store, extent->segment, extent->room_offset + from, bytes);
}

void pw_extent_take(struct pw_store *store, struct extent *extent, struct pw_object *object)
{
        uint64_t from = (object->slot - extent->first_slot) * extent->room_bytes, to = from + extent->room_bytes;

        object->taken = 1;
        extent->taken++;
        extent->segment->tenant->slots--;
        if (extent->room_bytes && extent->room_bytes % PW_PAGE_BYTES == 0)
                free_pages(store, extent, from, extent->room_bytes);
        else if (extent->room_bytes)
                for (uint64_t page = from / PW_PAGE_BYTES; page <= (to - 1) / PW_PAGE_BYTES; page++)
                        if (pw_extent_page_taken(extent, page))
                                free_pages(store, extent, page * PW_PAGE_BYTES, PW_PAGE_BYTES);
        pw_extent_tell(extent);
}

void pw_extent_settle(struct pw_store *store, struct extent *extent)
{
        if (extent->taken == extent->slot_count && !extent->populating)
                emptied(store, extent);
}

bool pw_extent_take_if_idle(struct pw_store *store, struct extent *extent, struct pw_object *object)
{
        struct pw_entry *entry = pw_segment_entry(extent->segment, object->slot);
        uint64_t word = pw_entry_load(entry);

        if (object->known || object->taken || pw_word_state(word) != PW_ENTRY_FREE || pw_extent_futures(extent) ||
            !pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_TAKEN, 0, pw_word_generation(word), PW_OK)))
                return false;
        pw_extent_take(store, extent, object);
        return true;
}

uint32_t pw_extent_take_idle(struct pw_store *store, struct extent *extent)
{
        uint32_t taken = 0;

        for (uint32_t i = 0; i < extent->slot_count && !extent->populating; i++)
                taken += pw_extent_take_if_idle(store, extent, pw_slot_record(extent->segment, extent->first_slot + i));
        if (taken) {
                extent->leaving = true;
                pw_extent_settle(store, extent);
        }
        return taken;
}

/* --- ends ------------------------------------------------------------------------------------------------------------------ */

void pw_extent_drop(struct pw_store *store, struct extent *extent)
{
        extent->segment->tenant->slots -= extent->populating ? extent->slot_count : extent->slot_count - extent->taken;
        give_slots(extent);
        free_extent(store, extent);
}
