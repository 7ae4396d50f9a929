/* The daemon's own record of a segment, which is another struct than the library's: the daemon's move.c reads a list of shards
 * there. */
#include "daemon/memory/segment.h"

uint8_t *world_futures_base(void);

struct pw_segment *pw_segment_get(const struct pw_memory *memory, uint32_t number)
{
        static struct pw_segment futures;

        (void)memory, (void)number;
        futures.map.base = world_futures_base();
        return &futures;
}
