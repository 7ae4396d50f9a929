/* What a reader makes of memory that a hostile client wrote: an entry and the segment it leads into; a return ring. */
#include "plane/control.h"
#include "plane/entry.h"
#include "plane/segment.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void describe(const struct pw_entry *entry, const uint8_t *map, uint64_t bytes)
{
        struct pw_described described;
        uint64_t sum = 0;

        if (pw_entry_describe(entry, map, bytes, &described) != PW_OK)
                return;
        assert(described.is_inline ? described.bytes <= PW_INLINE_BYTES
                                   : described.room_offset <= bytes && described.bytes <= bytes - described.room_offset);
        assert(described.dims.rank <= PW_RANK_MAX);
        for (uint64_t i = 0; map && !described.is_inline && i < described.bytes; i++)
                sum += ((const volatile uint8_t *)map)[described.room_offset + i];
        (void)sum;
}

static void take_back(const uint8_t *bytes, size_t count)
{
        struct pw_return_ring *ring = aligned_alloc(64, pw_return_ring_bytes(8));
        struct pw_return_reader reader = { .ring = ring, .mask = 7 };
        uint32_t slot;

        if (!ring)
                return;
        memset(ring, 0, pw_return_ring_bytes(8));
        memcpy(ring, bytes, pw_min_u64(count, pw_return_ring_bytes(8)));
        for (uint32_t i = 0; i < 32 && pw_return_take(&reader, &slot); i++)
                ;
        free(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_entry *entry = aligned_alloc(64, sizeof *entry);
        uint64_t rest = count > sizeof *entry ? count - sizeof *entry : 0;
        uint8_t *map = malloc(rest + 1); /* no byte more than the segment has */

        if (entry && map) {
                memset(entry, 0, sizeof *entry);
                memcpy(entry, bytes, pw_min_u64(count, sizeof *entry));
                memcpy(map, bytes + count - rest, rest);
                map = realloc(map, rest ? rest : 1);
                describe(entry, map, rest);
                describe(entry, NULL, rest);
        }
        free(map);
        free(entry);
        take_back(bytes, count);
        return 0;
}
