/* Rows of extents: adding what was granted, and popping slots from it. */
#include "libclient/room.h"

static bool range_inside(uint64_t start, uint64_t bytes, uint64_t end) { return start <= end && bytes <= end - start; }

static bool grant_possible(const Pathways__Wire__RoomGrant *grant, const struct pw_grant_bounds *bounds)
{
        uint64_t rooms_bytes;
        return grant->slot_count > 0 && range_inside(grant->first_slot, grant->slot_count, bounds->slot_count) &&
               pw_mul_ok(grant->slot_count, grant->room_bytes, &rooms_bytes) &&
               range_inside(grant->room_offset, rooms_bytes, bounds->segment_bytes) && grant->room_offset % PW_LINE_BYTES == 0 &&
               grant->room_bytes % PW_LINE_BYTES == 0 && grant->return_ring % PW_LINE_BYTES == 0 &&
               grant->return_ring >= PW_CONTROL_RINGS_OFFSET &&
               range_inside(grant->return_ring, pw_return_ring_bytes(grant->slot_count), bounds->control_bytes);
}

static uint32_t ring_mask(uint32_t slot_count)
{
        uint32_t capacity = 1;
        while (capacity < slot_count)
                capacity <<= 1;
        return capacity - 1;
}

/* Put `extent` behind the current one and make it current. */
static void row_link(struct pw_row *row, struct pw_extent *extent)
{
        extent->next = row->current ? row->current->next : extent;
        if (row->current)
                row->current->next = extent;
        row->current = extent;
        row->extent_count++;
}

static struct pw_extent *row_find(const struct pw_row *row, uint32_t number)
{
        struct pw_extent *extent = row->current;
        for (uint32_t i = 0; i < row->extent_count; i++, extent = extent->next)
                if (extent->number == number)
                        return extent;
        return NULL;
}

enum pw_status pw_row_add(struct pw_row *row, const Pathways__Wire__RoomGrant *grant, const struct pw_grant_bounds *bounds,
                          struct pw_error *ret_err)
{
        if (!grant_possible(grant, bounds))
                return pw_error_set(ret_err, PW_PROTOCOL, "extent %u was granted outside of its segment", grant->extent);
        /* A number that is known was taken back and granted anew: what it was before is void. */
        struct pw_extent *extent = row_find(row, grant->extent);
        if (!extent) {
                extent = calloc(1, sizeof *extent);
                if (!extent)
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for an extent");
                row_link(row, extent);
        }
        struct pw_return_ring *ring = (struct pw_return_ring *)(void *)(bounds->control + grant->return_ring);
        extent->number = grant->extent;
        extent->first_slot = grant->first_slot;
        extent->slot_count = grant->slot_count;
        extent->used = 0;
        extent->room_offset = grant->room_offset;
        extent->room_bytes = grant->room_bytes;
        extent->returned = (struct pw_return_reader){ .ring = ring, .mask = ring_mask(grant->slot_count) };
        row->current = extent;
        row->last_granted = grant->slot_count;
        return PW_OK;
}

void pw_row_clear(struct pw_row *row)
{
        for (; row->extent_count; row->extent_count--) {
                struct pw_extent *next = row->current->next;
                free(row->current);
                row->current = next;
        }
        *row = (struct pw_row){ 0 };
}

uint32_t pw_row_want(const struct pw_row *row, uint64_t room_bytes)
{
        uint64_t most = pw_grant_slots_max(room_bytes);
        uint64_t least = pw_min_u64(PW_GRANT_SLOTS_MIN, most);
        return (uint32_t)pw_min_u64(pw_max_u64(2 * (uint64_t)row->last_granted, least), most);
}

bool pw_extent_pop(struct pw_extent *extent, uint32_t *ret_slot)
{
        if (extent->used < extent->slot_count) {
                *ret_slot = extent->first_slot + extent->used++;
                return true;
        }
        uint32_t slot;
        while (pw_return_take(&extent->returned, &slot)) {
                if (slot - extent->first_slot < extent->slot_count) {
                        *ret_slot = slot;
                        return true;
                }
        }
        return false;
}

bool pw_row_pop(struct pw_row *row, uint32_t *ret_slot, bool *ret_turned)
{
        *ret_turned = false;
        for (uint32_t i = 0; i < row->extent_count; i++) {
                if (pw_extent_pop(row->current, ret_slot))
                        return true;
                row->current = row->current->next;
                *ret_turned = true;
        }
        return false;
}
