/* The control memory of a session: one memfd that client and daemon map, with its lanes and the return rings of its extents.
 *
 * Layout: struct pw_control, then PW_LANES_MAX lanes, then the return rings, at offsets that the daemon names in its grants.
 * The memfd is sparse: lanes and rings that nobody uses cost nothing. The client can write over all of it; that ends its
 * session at most (the daemon keeps its own copies of everything that it relies on).
 */
#ifndef PW_PLANE_CONTROL_H
#define PW_PLANE_CONTROL_H

#include "plane/ring.h"

#ifndef PW_LANES_MAX /* the models have less of all */
#define PW_LANES_MAX 512u
#define PW_NOTES_MAX 128u
#define PW_LANE_REST 2816u
#endif
#define PW_CONTROL_BYTES (UINT64_C(1) << 29) /* virtual; return rings of all slots of a segment fit in several times */

/* What a sleeping thread waits for, for `pathways why` and for taking back the counts of the dead.
 * note: state 2 | bucket 14 | segment 24 | slot 24, from the highest bit down. */
#define PW_NOTE_EVERY 0x3fffu /* as bucket: it is counted in all of them */
enum pw_note_state { PW_NOTE_NONE = 0, PW_NOTE_GOING = 1, PW_NOTE_COUNTED = 2, PW_NOTE_LEAVING = 3 };
static inline uint64_t pw_note_make(enum pw_note_state state, uint32_t bucket, uint32_t segment, uint32_t slot)
{
        return (uint64_t)state << 62 | (uint64_t)(bucket & 0x3fff) << 48 | (uint64_t)segment << 24 | slot;
}
static inline enum pw_note_state pw_note_state(uint64_t note) { return (enum pw_note_state)(note >> 62); }
static inline uint32_t pw_note_bucket(uint64_t note) { return (uint32_t)(note >> 48) & 0x3fff; }
static inline uint32_t pw_note_segment(uint64_t note) { return (uint32_t)(note >> 24) & 0xffffff; }
static inline uint32_t pw_note_slot(uint64_t note) { return (uint32_t)note & 0xffffff; }

/* What an idle lane touches lies in its first page. */
struct pw_lane {
        _Alignas(64) _Atomic uint32_t in_use; /* a thread owns the lane */
        _Atomic uint32_t thread_id;           /* for listings */
        _Alignas(64) _Atomic uint64_t notes[PW_NOTES_MAX];
        struct pw_ring ring;
        uint8_t zero[PW_LANE_REST];
};
_Static_assert(sizeof(struct pw_lane) % 4096 == 0, "so that it is for each of them");

struct pw_control {
        _Alignas(64) _Atomic uint32_t lane_count; /* client: lanes [0, lane_count) were ever used; only grows */
        /* daemon: counts up when an object of the session's own segment goes that was freed by force, before its room is given
         * again: what the client noted about it counts no more */
        _Atomic uint32_t revoked;
        _Alignas(64) struct pw_lane lanes[PW_LANES_MAX];
};

/* As many slots as one request for room may have; who asks for more gets so many. */
#define PW_GRANT_BYTES_MAX (UINT64_C(4) << 20) /* of rooms */
#define PW_GRANT_SLOTS_MAX 4096u               /* without rooms */
#define PW_LARGE_BYTES (UINT64_C(1) << 20)     /* rooms above this are extents of their own */
static inline uint64_t pw_grant_slots_max(uint64_t room_bytes)
{
        if (room_bytes > PW_LARGE_BYTES)
                return 1;
        return room_bytes ? PW_GRANT_BYTES_MAX / room_bytes : PW_GRANT_SLOTS_MAX;
}
#define PW_CONTROL_RINGS_OFFSET pw_round_up(sizeof(struct pw_control), 4096)

#endif
