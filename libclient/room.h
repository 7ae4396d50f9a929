/* Rooms: the extents that the daemon granted to a lane, and taking slots from them.
 *
 * A lane has a row of extents per size class, one for slots without rooms, and one for slots of the futures segment. A slot
 * comes from the part of an extent that was never used, then from its return ring, first in, first out; taking it touches
 * nothing but the lane's own memory. Only when all extents of a row are empty is the daemon asked, for twice as much each time.
 */
#ifndef PW_LIBCLIENT_ROOM_H
#define PW_LIBCLIENT_ROOM_H

#include "base/size.h"
#include "plane/control.h"
#include "plane/segment.h"
#include "wire/pathways.pb-c.h"

#define PW_ROW_INLINE PW_CLASS_COUNT
#define PW_ROW_FUTURES (PW_CLASS_COUNT + 1)
#define PW_ROWS (PW_CLASS_COUNT + 2)

#define PW_GRANT_SLOTS_MIN 16u

struct pw_extent {
        uint32_t number; /* the daemon's */
        uint32_t first_slot, slot_count;
        uint32_t used; /* slots [0, used) were taken once */
        uint64_t room_offset, room_bytes;
        struct pw_return_reader returned;
        struct pw_extent *next; /* the row is a circle */
};

struct pw_row {
        struct pw_extent *current; /* NULL: none yet */
        uint32_t extent_count;
        uint32_t last_granted; /* slots: the next request asks for twice as many */
};

/* What the memory around a grant allows, to check it against. */
struct pw_grant_bounds {
        uint8_t *control; /* map of the control memory */
        uint64_t control_bytes;
        uint32_t slot_count;    /* of the segment */
        uint64_t segment_bytes;
};

/* Add a granted extent to the row and make it current. Errors: PW_PROTOCOL (a grant that lies outside), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_row_add(struct pw_row *row, const Pathways__Wire__RoomGrant *grant,
                                        const struct pw_grant_bounds *bounds, struct pw_error *ret_err);
/* Forget all extents: the lane ended. */
void pw_row_clear(struct pw_row *row);
/* How many slots to ask for next, with rooms of `room_bytes` (0: without rooms). */
uint32_t pw_row_want(const struct pw_row *row, uint64_t room_bytes);

/* The next slot of the extent; false if it has none now. */
bool pw_extent_pop(struct pw_extent *extent, uint32_t *ret_slot);
/* The next slot of any extent of the row, which becomes the current one. *ret_turned: the current extent was empty, so the
 * daemon should look at the DROPs that it has not read. False: no extent has one. */
bool pw_row_pop(struct pw_row *row, uint32_t *ret_slot, bool *ret_turned);

#endif
