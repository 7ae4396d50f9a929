/* Heights over a row of places: raised over a span of them, asked for over a span, in the logarithm of the row.
 *
 * A tree of maxima whose raises stay where they were made (segment tree without pushing down). Heights never fall. One owner.
 */
#ifndef PW_PROGRAM_LOWER_HEIGHTS_H
#define PW_PROGRAM_LOWER_HEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct pw_heights {
        uint64_t *most;  /* per span of the tree: the highest of what was raised inside of it */
        uint64_t *whole; /* what all of it was raised to */
        uint32_t leaves; /* a power of two; node 1 is the root */
};

/* Places 0 to `count` - 1, all of height 0. False: out of memory. */
bool pw_heights_init(struct pw_heights *heights, uint32_t count);
void pw_heights_done(struct pw_heights *heights); /* also of a zeroed one */
/* Each of the places `first` to `last` is `height` at least. */
void pw_heights_raise(struct pw_heights *heights, uint32_t first, uint32_t last, uint64_t height);
uint64_t pw_heights_highest(const struct pw_heights *heights, uint32_t first, uint32_t last);
/* The first place from `from` on whose height is at least `height`; `leaves` or more: none. Only where places were raised one by
 * one. */
uint32_t pw_heights_next(const struct pw_heights *heights, uint32_t from, uint64_t height);

#endif
