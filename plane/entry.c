/* What an entry says about its value: writing it, and reading it back from memory that its producer may change. */
#include "plane/entry.h"

#include "base/memory.h"
#include "base/size.h"

/* Whether dims need a place of their own: those of one axis or none follow from the bytes. */
static bool dims_follow(uint32_t dtype, uint32_t rank) { return dtype == PW_OPAQUE || rank <= 1; }

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
        entry->away = PW_ENTRY_HERE;
        if (dims_follow(described->dtype, rank))
                return;
        if (rank <= PW_ENTRY_DIMS)
                memcpy(entry->body.dims, described->dims.dim, rank * sizeof(uint64_t));
        else if (room)
                memcpy(room + pw_round_up(described->bytes, 8), described->dims.dim, rank * sizeof(uint64_t));
}

/* Dims behind the value, of a rank above PW_ENTRY_DIMS: where they are, or NULL if they cannot be there. */
static const volatile uint64_t *dims_place(const struct pw_described *described, const uint8_t *map, uint64_t segment_bytes)
{
        uint64_t place = described->room_offset + pw_round_up(described->bytes, 8);

        if (described->room_offset % 8 || place > segment_bytes || segment_bytes - place < described->dims.rank * sizeof(uint64_t))
                return NULL;
        return (const volatile uint64_t *)(map + place);
}

/* Bytes of an element by dtype; 0 for what is none. Here, because describing is on the path of every get. */
static uint32_t element_bytes(uint32_t dtype)
{
        static const uint8_t bytes[] = {
#define BYTES(name, number, bytes, text) [number] = bytes,
                PW_DTYPE_MAP(BYTES)
#undef BYTES
        };

        return dtype < pw_array_count(bytes) ? bytes[dtype] : 0;
}

static bool in_segment(uint64_t offset, uint64_t bytes, uint64_t segment_bytes)
{
        return offset <= segment_bytes && bytes <= segment_bytes - offset;
}

/* A typed value of several axes, read afresh: whatever a hostile producer has changed since is checked here. */
static __attribute__((noinline)) enum pw_status describe_axes(const volatile struct pw_entry *seen, const uint8_t *map,
                                                              uint64_t segment_bytes, struct pw_described *ret_described)
{
        struct pw_described described = { seen->bytes, seen->room_offset, seen->room_segment, (enum pw_dtype)seen->dtype,
                                          { .rank = seen->rank }, false };
        const volatile uint64_t *from = seen->body.dims;
        uint64_t bytes;

        if (described.dims.rank > PW_RANK_MAX || !in_segment(described.room_offset, described.bytes, segment_bytes))
                return PW_PROTOCOL;
        if (described.dims.rank > PW_ENTRY_DIMS) {
                if (!map) {
                        described.dtype = PW_OPAQUE;
                        described.dims = (struct pw_dims){ .rank = 1, .dim = { described.bytes } };
                        *ret_described = described;
                        return PW_OK;
                }
                from = dims_place(&described, map, segment_bytes);
                if (!from)
                        return PW_PROTOCOL;
        }
        for (uint32_t i = 0; i < described.dims.rank; i++)
                described.dims.dim[i] = from[i];
        if (pw_dims_bytes(described.dtype, &described.dims, &bytes, NULL) != PW_OK || bytes != described.bytes)
                return PW_PROTOCOL;
        *ret_described = described;
        return PW_OK;
}

/* Each field is read once, since its writer may be hostile. On the path of every get. */
enum pw_status pw_entry_describe(const struct pw_entry *entry, const uint8_t *map, uint64_t segment_bytes,
                                 struct pw_described *ret_described)
{
        const volatile struct pw_entry *seen = entry;
        uint64_t bytes = seen->bytes, room_offset = seen->room_offset;
        uint32_t rank = seen->rank, dtype = seen->dtype, element = element_bytes(dtype);
        bool is_inline = seen->is_inline;

        if (!dims_follow(dtype, rank))
                return is_inline ? PW_PROTOCOL : describe_axes(seen, map, segment_bytes, ret_described);
        if (!element || bytes & (element - 1)) /* elements have 1, 2, 4 or 8 bytes */
                return PW_PROTOCOL;
        if (rank == 0 && dtype != PW_OPAQUE && bytes != element)
                return PW_PROTOCOL;
        if (is_inline ? bytes > PW_INLINE_BYTES : !in_segment(room_offset, bytes, segment_bytes))
                return PW_PROTOCOL;
        ret_described->bytes = bytes;
        ret_described->room_offset = is_inline ? 0 : room_offset;
        ret_described->room_segment = seen->room_segment;
        ret_described->dtype = (enum pw_dtype)dtype;
        ret_described->is_inline = is_inline;
        ret_described->dims.rank = dtype == PW_OPAQUE ? 1 : rank;
        ret_described->dims.dim[0] = bytes >> __builtin_ctz(element);
        return PW_OK;
}
