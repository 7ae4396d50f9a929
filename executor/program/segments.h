/* The segments that an executor has mapped, by number, which names no other segment while this executor lives.
 *
 * Those with rooms of devices stay while their tenants do, two array accesses on the hot path. Those of host memory are as many as
 * clients care to make, so a bounded number is kept; the one used longest ago goes, but none of the gang under way. Of both kinds
 * go those that are no more, before the next gang.
 */
#ifndef PW_EXECUTOR_PROGRAM_SEGMENTS_H
#define PW_EXECUTOR_PROGRAM_SEGMENTS_H

#include "base/table.h"
#include "executor/program/pins.h"
#include "executor/surroundings.h"
#include "plane/board/image.h"

#define PW_SEGMENTS_PAGE 4096u /* squared: 24 bits */
#define PW_SEGMENTS_LENT 256u  /* of host memory that are kept, unless one gang reads more */
#define PW_SEGMENTS_LENT_BYTES (UINT64_C(32) << 40) /* of addresses that they take; a process has 128 TiB or more */

/* Where a room lies, with its head; of several that lie one behind the other, the first. apart: `data` is an address of the own
 * device's memory, else one of this process. The segment says whose it is: each tenant has its own on a device. */
struct pw_place { uint8_t *data; struct pw_room_head *head; bool apart; uint32_t segment; };
static inline struct pw_place pw_place_behind(const struct pw_place *first, uint64_t offset)
{
        return (struct pw_place){ first->data + offset,
                                  (struct pw_room_head *)((uint8_t *)first->head + pw_room_head_at(offset)), first->apart,
                                  first->segment };
}

struct pw_segments {
        const struct pw_surroundings *around; /* borrowed */
        struct pw_rooms_map *pages[PW_SEGMENTS_PAGE];
        uint32_t own_apart;   /* segments of the own device in its arena that were ever mapped: each is another tenant's; */
        uint32_t first_apart; /* the first of them */
        struct pw_table lent; /* of host memory */
        uint64_t lent_bytes;
        uint64_t in_use;      /* what this gang was lent stays, and later ones */
        struct pw_pins pins;  /* in those of host memory */
};

/* Nothing is pinned unless `pins` are initialized afterwards. */
void pw_segments_init(struct pw_segments *segments, const struct pw_surroundings *around);
void pw_segments_done(struct pw_segments *segments);
/* Unmap those whose sessions or tenants have ended: nobody comes back for them, and who writes there still makes pages that stay
 * while they are mapped. Between gangs.   Blocks: for the answer. */
void pw_segments_let_go(struct pw_segments *segments);

/* A part of a segment. */
struct pw_segments_range { uint32_t segment; uint64_t offset, bytes; };

static inline bool pw_segments_holds(uint64_t bytes, const struct pw_segments_range *part)
{
        return part->offset <= bytes && part->bytes <= bytes - part->offset;
}
/* Rooms that are not mapped yet, or do not reach as far. Errors: as pw_segments_at().   Blocks: for the answer. */
PW_MUST_CHECK enum pw_status pw_segments_fetch(struct pw_segments *segments, const struct pw_segments_range *part,
                                               struct pw_place *ret_place, struct pw_error *ret_err);
/* Where the rooms of a device in `part` lie in this process; they lie in the segment's map, whoever's memory is mapped beside it.
 * Errors: PW_PROTOCOL (they do not, or not where rooms begin), PW_NO_MEMORY, what the daemon says. */
PW_MUST_CHECK static inline enum pw_status pw_segments_at(struct pw_segments *segments, const struct pw_segments_range *part,
                                                          struct pw_place *ret_place, struct pw_error *ret_err)
{
        const struct pw_rooms_map *page = segments->pages[part->segment / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE];
        const struct pw_rooms_map *map = page ? &page[part->segment % PW_SEGMENTS_PAGE] : NULL;

        if (!map || !map->rooms.base || !pw_segments_holds(map->rooms.bytes, part) || part->offset % PW_ROOM_ALIGN)
                return pw_segments_fetch(segments, part, ret_place, ret_err);
        *ret_place = (struct pw_place){ map->rooms.base + part->offset,
                                        (struct pw_room_head *)(map->heads.base + pw_room_head_at(part->offset)), map->apart,
                                        part->segment };
        return PW_OK;
}
/* The same of a part in host memory, for gang `gang`; good until something is lent while a later gang is `in_use`. */
PW_MUST_CHECK enum pw_status pw_segments_lend(struct pw_segments *segments, const struct pw_segments_range *part, uint64_t gang,
                                              uint8_t **ret_at, struct pw_error *ret_err);
/* Have the device reach the part by itself, which was lent to that gang, if that is worth it: pins.h. */
void pw_segments_pin(struct pw_segments *segments, const struct pw_segments_range *part, uint64_t gang);
/* Is anything pinned of pages that leave, and did a gang from `since` on use it? Nothing of them is pinned afterwards; nothing
 * moves there. */
bool pw_segments_leaving_used(const struct pw_segments *segments, const struct pw_leaving *leaving, uint64_t since);
void pw_segments_leave(struct pw_segments *segments, const struct pw_leaving *leaving);

#endif
