/* Waiting for an entry: a page of counters per tenant says whether anybody sleeps, futexes do the rest.
 *
 * A waiter notes {bucket, id} as `going`, counts its bucket up, notes `counted`, looks at the word again, sleeps; afterwards
 * notes `leaving`, counts down, clears the note. Who swapped an entry out of PENDING reads the bucket after the swap and wakes
 * the word only if it is not 0. For a dead waiter only `counted` is subtracted: a count left over costs a needless wake-up,
 * and is cleared by a recount (below). All of it sequentially consistent.
 *
 * Who waits for more entries than one sleep can watch sleeps on bells instead (wide.h): it is counted in every bucket, in units of
 * PW_HINT_WIDE, and who finds such a count rings the bell of the entry's segment, if that is armed.
 *
 * Every client can write the page and any client its own entries, so nobody sleeps longer than PW_SECOND_LOOK_US unseen.
 */
#ifndef PW_PLANE_HINT_H
#define PW_PLANE_HINT_H

#include "plane/entry.h"

#ifndef PW_HINT_BUCKETS
#define PW_HINT_BUCKETS 1024u /* 1024 at most; a few in tests/model */
#endif
#define PW_SECOND_LOOK_US 50000

#define PW_HINT_WIDE (1u << 20) /* waiters: below it those that sleep on entries, from it on those on bells */
#define PW_HINT_BELLS 64u
#define PW_HINT_ARMED 1u /* a bell's lowest bit: somebody looks or sleeps; above it the number of times it was armed */

#ifndef PW_HINT_CHANGES
#define PW_HINT_CHANGES 64u
#endif

struct pw_hint_page {
        _Atomic uint32_t waiters[PW_HINT_BUCKETS];
        _Atomic uint32_t bells[PW_HINT_BELLS]; /* of a segment: the one of its number modulo PW_HINT_BELLS */
        _Atomic uint32_t second_looks; /* waits whose end only a second look found: nobody woke them in time */
        /* of the counts of buckets, modulo this: each is counted up after a count changed, and before the note says so */
        _Atomic uint32_t changes[PW_HINT_CHANGES];
};

static inline uint32_t pw_hint_bucket(uint32_t segment, uint32_t slot)
{
        return (((segment * 0x9e3779b1u) ^ (slot * 0x85ebca6bu)) >> 22) % PW_HINT_BUCKETS;
}
/* Wake everybody who sleeps on the entry, looking at no hint. */
void pw_entry_wake(const struct pw_entry *entry);
/* The same, and ring the bell of its segment: as `waiters`, the count of its bucket, asks for. Returns whether a system call
 * was made. */
bool pw_hint_call(struct pw_hint_page *page, const struct pw_entry *entry, uint32_t segment, uint32_t waiters);
/* After the swap: wake who sleeps on the entry, if somebody does. Returns whether a system call was made. */
static inline bool pw_hint_wake(struct pw_hint_page *page, const struct pw_entry *entry, uint32_t segment, uint32_t slot)
{
        uint32_t waiters = atomic_load(&page->waiters[pw_hint_bucket(segment, slot)]);

        return waiters && pw_hint_call(page, entry, segment, waiters);
}
/* Count one waiter of `unit` (1 or PW_HINT_WIDE) less; never below 0. */
void pw_hint_count_down(_Atomic uint32_t *waiters, uint32_t unit);
/* The caller's count of a bucket changed, and its note will say so: a recount that did not see it changes nothing. */
static inline void pw_hint_changed(struct pw_hint_page *page, uint32_t bucket)
{
        atomic_fetch_add(&page->changes[bucket % PW_HINT_CHANGES], 1);
}

/* Buckets that a dead waiter may have left a count in: it was going or leaving. */
struct pw_hint_marks {
        uint64_t bits[(PW_HINT_BUCKETS + 63) / 64];
        uint32_t wide; /* dead waiters that are counted in every bucket, and noted no more: not taken back yet */
};
/* Daemon: take back what a dead waiter's `count` notes still count, and clear them; mark the buckets of which it is not known. The
 * notes are hostile: no count falls below 0, and only the first may be of every bucket. Those are counted in `marks`, to be taken
 * back together. Returns whether buckets were marked. */
bool pw_hint_forget(struct pw_hint_page *page, _Atomic uint64_t *notes, uint32_t count, struct pw_hint_marks *marks);
/* That, in one walk over the buckets: before anybody counts notes again, who would find them nobody's and take them back
 * himself. */
void pw_hint_forget_wide(struct pw_hint_page *page, struct pw_hint_marks *marks);

struct futex_waitv;
struct pw_wait_item {
        const struct pw_entry *entry; /* may be a read-only map */
        uint32_t generation;
        uint32_t segment, slot;
        bool closing; /* a REF was sent under CLOSING: until the word leaves CLOSING of the generation, not PENDING */
};
struct pw_wait_place {
        struct pw_hint_page *page;
        _Atomic uint64_t *notes;        /* of the lane; as many as items, PW_NOTES_MAX at most */
        const _Atomic uint32_t *life;   /* the session's life word: changes when the session ends */
        uint32_t life_alive;            /* its value while the session lives */
};
/* Sleep until one of `count` items (at most PW_NOTES_MAX - 2) is decided, or is of another generation, or the session ended,
 * or `deadline_ns` (CLOCK_MONOTONIC; INT64_MAX: none). Spins a little first.
 * Returns PW_OK (look again), PW_DEADLINE, PW_DAEMON_GONE.   Threads: the lane's.   Blocks: yes. */
enum pw_status pw_wait_any(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count,
                           int64_t deadline_ns);

int64_t pw_now_ns(void); /* CLOCK_MONOTONIC */

/* The raw calls (glibc 2.36 has no wrapper for them). `deadline_ns` is absolute, INT64_MAX: none. 0, or -errno. */
int pw_futex_wake(const _Atomic uint32_t *word, int count);
int pw_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns);
/* Until one of several words is woken, or is not what it was. Where there is no futex_waitv (valgrind has none, old filters of
 * system calls refuse it) it sleeps on the first word, and looks at the others every millisecond. */
int pw_futex_wait_any(struct futex_waitv *on, uint32_t count, int64_t deadline_ns);
/* PW_UNSUPPORTED where the kernel lacks futex_waitv (before 5.16): a daemon does not start there. */
PW_MUST_CHECK enum pw_status pw_futex_check(struct pw_error *ret_err);

#endif
