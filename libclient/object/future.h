/* The handle of an object: 48 bytes from slabs of a lane, because a client may hold a million of them.
 *
 * A value once ready never changes, and in host memory it never gets lost: so what a first look at the entry found stays in the
 * handle until the session ends, and later gets touch nothing else: the 16 bytes from `data` on, which lie in one line.
 *
 * A handle stands for one reference of the session. `refs` counts what the process holds through it: references of pw_ref()
 * and views. At 0 a DROP goes out and the handle goes back to its lane.
 */
#ifndef PW_LIBCLIENT_OBJECT_FUTURE_H
#define PW_LIBCLIENT_OBJECT_FUTURE_H

#include "base/id.h"
#include "pathways.h"
#include "plane/entry.h"

struct pw_client_lane;
struct pw_client_segment;

#define PW_REFS_COUNT 0x3fffffffu
#define PW_REFS_CREATED 0x40000000u /* pw_create()d, neither sealed nor aborted */
#define PW_REFS_ORPHAN 0x80000000u  /* its session was closed: it is one of the session's own references */

struct pw_future {
        union {
                struct pw_entry *entry;
                struct pw_future *next; /* of a handle whose DROP waits, or that is free */
        };
        struct pw_client_lane *lane; /* whose slab it is in */
        _Atomic(const void *) data;  /* of a ready value of opaque bytes in host memory, once seen; else NULL */
        _Atomic uint32_t bytes;      /* of it; written before data */
        _Atomic uint32_t refs;       /* count and flags; 0: not in use */
        uint32_t generation, segment, slot;
};
_Static_assert(sizeof(struct pw_future) <= 48, "a client holds a million handles");

/* A handle from the lane's slabs, refs 0. NULL: out of memory.   Threads: the lane's. */
struct pw_future *pw_future_alloc(struct pw_client_lane *lane);
/* Give a handle with refs 0 back. `lane` is the caller's own, or NULL. */
void pw_future_free(struct pw_future *future, struct pw_client_lane *lane);
/* Fill a handle for {segment, slot, generation}, with one reference that the session holds already. */
void pw_future_fill(struct pw_future *future, const struct pw_client_segment *segment, uint32_t slot, uint32_t generation);

/* The word of the entry if it is of the handle's generation; else as if it were gone (FREE). */
static inline uint64_t pw_future_word(const struct pw_future *future)
{
        uint64_t word = pw_entry_load(future->entry);
        return pw_word_generation(word) == future->generation ? word : 0;
}
/* The status of a decided word: PW_OK, or its error; PW_NOT_READY while it is PENDING. */
enum pw_status pw_future_status(uint64_t word);
/* Write the error that the future is ready with: "<id>: <text>". Returns its status. */
enum pw_status pw_future_error(const struct pw_future *future, uint64_t word, struct pw_error *ret_err);

/* Wait until the future is decided. *ret_word is its word then. `timeout_us` as in pathways.h.
 * Errors: PW_NOT_READY, PW_DEADLINE, PW_DAEMON_GONE, PW_FORKED, PW_LIMIT. */
PW_MUST_CHECK enum pw_status pw_future_await(struct pw_future *future, int64_t timeout_us, uint64_t *ret_word,
                                             struct pw_error *ret_err);
/* Sleep until one of the futures, which are of one session, is decided, or `*word` is no longer `value`.
 * Errors: PW_LIMIT, PW_NO_MEMORY: it did not sleep. */
enum pw_status pw_future_await_any(struct pw_future *const *futures, size_t count, const _Atomic uint32_t *word, uint32_t value);
/* Absolute, CLOCK_MONOTONIC; INT64_MAX: none. */
int64_t pw_deadline_ns(int64_t timeout_us);

/* What a READY object that is not SHARDED is, and where its bytes are. Errors: PW_PROTOCOL, those of pw_session_segment(). */
PW_MUST_CHECK enum pw_status pw_future_described(const struct pw_future *future, struct pw_described *ret_described,
                                                 const void **ret_data, struct pw_error *ret_err);
/* The shard list of a SHARDED one, checked to lie in its segment and to be as long as its mesh. Errors: PW_PROTOCOL. */
PW_MUST_CHECK enum pw_status pw_future_shards(const struct pw_future *future, const struct pw_shard_list **ret_list,
                                              struct pw_error *ret_err);

/* Write the whole value of a READY one that is SHARDED to `to`, which has room for it: split ones gathered, partial ones reduced.
 * Errors: PW_PROTOCOL, PW_UNSUPPORTED (partial by two operations), those of pw_session_segment(). */
PW_MUST_CHECK enum pw_status pw_future_gather(struct pw_future *future, void *to, struct pw_error *ret_err);

#endif
