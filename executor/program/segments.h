/* The segments that an executor has mapped, by number, which names no other segment while this executor lives.
 *
 * Those with rooms of devices stay while their tenants do, two array accesses on the hot path. Those of host memory are as many as
 * clients care to make, so a bounded number is kept; the one used longest ago goes, but none of the gang under way. Of both kinds
 * go those that are no more, before the next gang.
 */
#ifndef PW_EXECUTOR_PROGRAM_SEGMENTS_H
#define PW_EXECUTOR_PROGRAM_SEGMENTS_H

#include "base/table.h"
#include "executor/surroundings.h"

#define PW_SEGMENTS_PAGE 4096u /* squared: 24 bits */
#define PW_SEGMENTS_LENT 256u  /* of host memory that are kept, unless one gang reads more */
#define PW_SEGMENTS_LENT_BYTES (UINT64_C(32) << 40) /* of addresses that they take; a process has 128 TiB or more */

struct pw_segments {
        const struct pw_surroundings *around; /* borrowed */
        struct pw_map *pages[PW_SEGMENTS_PAGE];
        struct pw_table lent; /* of host memory */
        uint64_t lent_bytes;
        uint64_t gang;        /* that was lent to last: what it was lent stays */
};

void pw_segments_init(struct pw_segments *segments, const struct pw_surroundings *around);
void pw_segments_done(struct pw_segments *segments);
/* Unmap those whose sessions or tenants have ended: nobody comes back for them, and who writes there still makes pages that stay
 * while they are mapped. Between gangs.   Blocks: for the answer. */
void pw_segments_let_go(struct pw_segments *segments);

/* A part of a segment. */
struct pw_segments_range { uint32_t segment; uint64_t offset, bytes; };

static inline bool pw_segments_holds(const struct pw_map *map, const struct pw_segments_range *part)
{
        return part->offset <= map->bytes && part->bytes <= map->bytes - part->offset;
}
/* The part of a segment that is not mapped yet, or does not reach as far. Errors: as pw_segments_at().   Blocks: for the answer. */
PW_MUST_CHECK enum pw_status pw_segments_fetch(struct pw_segments *segments, const struct pw_segments_range *part, uint8_t **ret_at,
                                               struct pw_error *ret_err);
/* Where the part lies in this process; all of it lies in the segment's map, whoever's memory is mapped beside it. Errors:
 * PW_PROTOCOL (it does not), PW_NO_MEMORY, what the daemon says. */
PW_MUST_CHECK static inline enum pw_status pw_segments_at(struct pw_segments *segments, const struct pw_segments_range *part,
                                                          uint8_t **ret_at, struct pw_error *ret_err)
{
        const struct pw_map *page = segments->pages[part->segment / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE];
        const struct pw_map *map = page ? &page[part->segment % PW_SEGMENTS_PAGE] : NULL;

        if (!map || !map->base || !pw_segments_holds(map, part))
                return pw_segments_fetch(segments, part, ret_at, ret_err);
        *ret_at = map->base + part->offset;
        return PW_OK;
}
/* The same of a part in host memory, for gang `gang`; good until another gang is lent something. */
PW_MUST_CHECK enum pw_status pw_segments_lend(struct pw_segments *segments, const struct pw_segments_range *part, uint64_t gang,
                                              uint8_t **ret_at, struct pw_error *ret_err);

#endif
