/* The segments that an executor has mapped, by number: two array accesses on the hot path.
 *
 * A segment is mapped when first needed and stays so: its number names no other segment while this executor lives.
 */
#ifndef PW_EXECUTOR_SEGMENTS_H
#define PW_EXECUTOR_SEGMENTS_H

#include "executor/surroundings.h"

#define PW_SEGMENTS_PAGE 4096u /* squared: 24 bits */

struct pw_segments {
        const struct pw_surroundings *around; /* borrowed */
        struct pw_map *pages[PW_SEGMENTS_PAGE];
};

void pw_segments_init(struct pw_segments *segments, const struct pw_surroundings *around);
void pw_segments_done(struct pw_segments *segments);

/* Map a segment that is not there yet. Errors: PW_NO_MEMORY, what the daemon says.   Blocks: for the answer. */
PW_MUST_CHECK enum pw_status pw_segments_fetch(struct pw_segments *segments, uint32_t segment, uint8_t **ret_base,
                                               struct pw_error *ret_err);
/* Where `segment` begins in this process. */
PW_MUST_CHECK static inline enum pw_status pw_segments_base(struct pw_segments *segments, uint32_t segment, uint8_t **ret_base,
                                                            struct pw_error *ret_err)
{
        const struct pw_map *page = segments->pages[segment / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE];

        if (!page || !page[segment % PW_SEGMENTS_PAGE].base)
                return pw_segments_fetch(segments, segment, ret_base, ret_err);
        *ret_base = page[segment % PW_SEGMENTS_PAGE].base;
        return PW_OK;
}

#endif
