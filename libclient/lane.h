/* A thread's lane of a session, on the client's side: the writer of its ring, its rooms, its handles.
 *
 * A thread gets one at its first call and gives it back when it ends; the next thread that comes takes it over, with its slabs.
 * Everything but `slabs` and `freed` is touched by the owning thread alone.
 */
#ifndef PW_LIBCLIENT_LANE_H
#define PW_LIBCLIENT_LANE_H

#include "libclient/object/future.h"
#include "libclient/room.h"
#include "libclient/slab.h"
#include "plane/control.h"

struct pw_session;

struct pw_client_lane {
        struct pw_session *session;
        uint32_t number;
        struct pw_lane *shared;
        struct pw_ring_writer writer;
        struct pw_future *free_handles;
        _Atomic(struct pw_slab *) slabs; /* the newest first */
        uint32_t slab_used;     /* handles of the newest slab that were ever used */
        struct pw_row rows[PW_ROWS];
        _Alignas(64) _Atomic(struct pw_future *) freed; /* handles that other threads gave back */
};

/* The calling thread's lane of `session`. Errors: PW_LIMIT (more threads than lanes), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_lane_get(struct pw_session *session, struct pw_client_lane **ret_lane, struct pw_error *ret_err);
/* Has the calling thread a lane of `session`? */
bool pw_lane_mine(const struct pw_session *session);
/* The session is being closed by this thread: forget its lane here. */
void pw_lane_leave(struct pw_session *session);

/* Make the lane with this number. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_lane_new(struct pw_session *session, uint32_t number, struct pw_client_lane **ret_lane,
                                         struct pw_error *ret_err);
void pw_lane_free(struct pw_client_lane *lane); /* with its slabs */

/* A granted slot of `row` that is now the caller's: in rows of rooms its entry is PENDING of *ret_slot->generation, taken by the
 * client; in PW_ROW_FUTURES by the daemon. Without one it asks the daemon, and waits for room for `timeout_us`, of all slots taken
 * by one request together: only then does it look at the clock, which costs as much as the copy of some hundred bytes.
 * Errors: PW_NO_SPACE (for a future at once, where nothing but this thread could give one back), PW_TOO_LARGE, PW_LIMIT,
 * PW_DAEMON_GONE, PW_NO_MEMORY, PW_PROTOCOL. */
struct pw_slot_request {
        uint32_t row;
        uint64_t need_bytes;
        int64_t timeout_us;
        int64_t until_ns; /* 0 until it looked at the clock */
};
struct pw_slot {
        uint32_t slot, generation;
        uint64_t room_offset; /* in its segment; rows of rooms only */
        struct pw_entry *entry;
};
PW_MUST_CHECK enum pw_status pw_lane_take(struct pw_client_lane *lane, struct pw_slot_request *request, struct pw_slot *ret_slot,
                                          struct pw_error *ret_err);

/* Wait until the ring has room for `cells` cells. Errors: PW_DAEMON_GONE, PW_LIMIT (never).   Blocks: yes. */
PW_MUST_CHECK enum pw_status pw_lane_await_ring(struct pw_client_lane *lane, uint32_t cells, struct pw_error *ret_err);
/* Make what was written to the ring visible, and ring the daemon if it wants that. */
void pw_lane_publish(struct pw_client_lane *lane, bool at_once);
static inline void pw_cpu_pause(void)
{
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
}

#endif
