/* What an entry says about its value: writing it, and reading it back from memory that its producer may still change. */
#include "plane/entry.h"

#include "base/memory.h"
#include "base/size.h"

/* Whether dims need a place of their own: those of one axis or none follow from the bytes. */
static bool dims_follow(enum pw_dtype dtype, uint32_t rank) { return dtype == PW_OPAQUE || rank <= 1; }

uint64_t pw_entry_room_bytes(uint64_t bytes, enum pw_dtype dtype, const struct pw_dims *dims)
{
        uint64_t room;

        if (dims_follow(dtype, dtype == PW_OPAQUE ? 1 : dims->rank))
                return bytes <= PW_INLINE_BYTES ? 0 : bytes;
        if (dims->rank <= PW_ENTRY_DIMS)
                return pw_max_u64(bytes, 1);
        if (!pw_add_ok(bytes, 7 + dims->rank * sizeof(uint64_t), &room))
                return UINT64_MAX;
        return pw_round_up(bytes, 8) + dims->rank * sizeof(uint64_t);
}

void pw_entry_fill(struct pw_entry *entry, const struct pw_described *described, uint8_t *room)
{
        uint32_t rank = described->dtype == PW_OPAQUE ? 1 : described->dims.rank;

        entry->bytes = described->bytes;
        entry->room_offset = described->is_inline ? 0 : described->room_offset;
        entry->room_segment = described->room_segment;
        entry->dtype = (uint8_t)described->dtype;
        entry->rank = (uint8_t)rank;
        entry->is_inline = described->is_inline;
        entry->zero = 0;
        if (dims_follow(described->dtype, rank))
                return;
        if (rank <= PW_ENTRY_DIMS)
                memcpy(entry->body.dims, described->dims.dim, rank * sizeof(uint64_t));
        else if (room)
                memcpy(room + pw_round_up(described->bytes, 8), described->dims.dim, rank * sizeof(uint64_t));
}

/* Dims of a typed value, from the entry or from behind the value. The bounds of the value itself are checked. */
static enum pw_status read_dims(const volatile struct pw_entry *seen, const uint8_t *map, uint64_t segment_bytes,
                                struct pw_described *described)
{
        const volatile uint64_t *from = seen->body.dims;
        struct pw_dims *dims = &described->dims;
        uint64_t bytes;

        if (dims->rank > PW_ENTRY_DIMS) {
                uint64_t place = described->room_offset + pw_round_up(described->bytes, 8);
                if (described->room_offset % 8 || place > segment_bytes || segment_bytes - place < dims->rank * sizeof(uint64_t))
                        return PW_PROTOCOL;
                if (!map) {
                        described->dtype = PW_OPAQUE;
                        described->dims = (struct pw_dims){ .rank = 1, .dim = { described->bytes } };
                        return PW_OK;
                }
                from = (const volatile uint64_t *)(map + place);
        }
        for (uint32_t i = 0; i < dims->rank; i++)
                dims->dim[i] = from[i];
        if (pw_dims_bytes(described->dtype, dims, &bytes, NULL) != PW_OK || bytes != described->bytes)
                return PW_PROTOCOL;
        return PW_OK;
}

enum pw_status pw_entry_describe(const struct pw_entry *entry, const uint8_t *map, uint64_t segment_bytes,
                                 struct pw_described *ret_described)
{
        const volatile struct pw_entry *seen = entry; /* each field is read once: its writer may be hostile */
        struct pw_described described;
        uint64_t element;

        described.bytes = seen->bytes;
        described.room_offset = seen->room_offset;
        described.room_segment = seen->room_segment;
        described.dtype = (enum pw_dtype)seen->dtype;
        described.dims.rank = seen->rank;
        described.is_inline = seen->is_inline;
        element = pw_dtype_bytes(described.dtype);
        if (!element || described.dims.rank > PW_RANK_MAX)
                return PW_PROTOCOL;
        if (described.is_inline) {
                if (described.bytes > PW_INLINE_BYTES || described.dims.rank > 1)
                        return PW_PROTOCOL;
                described.room_offset = 0;
        } else if (described.room_offset > segment_bytes || described.bytes > segment_bytes - described.room_offset) {
                return PW_PROTOCOL;
        }
        if (described.dims.rank > 1 && described.dtype != PW_OPAQUE) {
                if (read_dims(seen, map, segment_bytes, &described) != PW_OK)
                        return PW_PROTOCOL;
        } else if (described.dims.rank == 0 && described.dtype != PW_OPAQUE) {
                if (described.bytes != element)
                        return PW_PROTOCOL;
        } else {
                if (described.bytes & (element - 1)) /* elements have 1, 2, 4 or 8 bytes */
                        return PW_PROTOCOL;
                described.dims.rank = 1;
                described.dims.dim[0] = described.bytes >> __builtin_ctzll(element);
        }
        *ret_described = described;
        return PW_OK;
}
