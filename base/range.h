/* Ranges of an address space, granted and taken back: rooms of a memory, slots of a table, places in an arena.
 *
 * Good fit over the free ranges, in constant time; neighbours join. Ranges given back last are kept by their size, so that the
 * steady state does neither. The records lie outside of the space. One owner; no locks.
 */
#ifndef PW_BASE_RANGE_H
#define PW_BASE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct pw_range; /* the allocator */

/* `size` units from 0; all offsets and sizes handed out are multiples of `align` (a power of two). NULL: out of memory. */
struct pw_range *pw_range_new(uint64_t size, uint64_t align);
void pw_range_free(struct pw_range *range);
/* False if no free range is large enough (or out of memory). `size` is rounded up to the alignment. */
bool pw_range_take(struct pw_range *range, uint64_t size, uint64_t *ret_offset);
/* Give back what was taken with the same size. */
void pw_range_give(struct pw_range *range, uint64_t offset, uint64_t size);
/* Keep none by its size any more: what lies free side by side is one. For who takes several ranges, or none: kept ones that are
 * taken first may lie so that the rest does not fit. */
void pw_range_join(struct pw_range *range);
uint64_t pw_range_used(const struct pw_range *range);
uint64_t pw_range_heap_bytes(const struct pw_range *range); /* of its records */

#endif
