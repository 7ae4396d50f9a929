/* What memory/ has: segments and the memfds they lie in, who waits for room, and what is measured.
 */
#ifndef PW_DAEMON_MEMORY_MEMORY_H
#define PW_DAEMON_MEMORY_MEMORY_H

#include "base/list.h"
#include "base/table.h"

struct pw_daemon;
struct pw_fetched_value;
struct pw_worker;

struct pw_memory {
        uint64_t asked_bytes;         /* of the host, by the operator */
        char capped[200];             /* why there is less than was asked for; "": there is not */
        struct pw_worker *worker;
        struct pw_table segments;     /* number -> struct pw_segment */
        struct pw_list backings;      /* memfds of sessions */
        uint32_t next_segment;        /* numbers are never used again, but */
        uint32_t *spare_segments;     /* those under which nothing was ever granted */
        uint32_t spare_segment_count, spare_segment_capacity;
        struct pw_table room_tokens;  /* token -> struct pw_room_wait */
        uint64_t next_token;
        struct pw_list frozen;        /* puts that are on their way into a freezer */
        struct pw_fetches *fetches;   /* values of devices that are on their way to host memory */
        void (*fetched)(struct pw_daemon *daemon, const struct pw_fetched_value *value); /* one is there */
        struct pw_list pinned;        /* works that wait until executors have let go of pages: pinned.c */
        uint64_t unpin_answers;       /* what was answered when these were looked at last */
        struct pw_list audits;        /* whose memfds are being looked at */
        struct pw_list recounts;      /* of tenants' hint pages, in turn: recount.c */
        uint64_t placed_bytes;        /* of programs, in boards: charged, so no overhead besides */
        uint64_t overhead_bytes;      /* told to the store so far of what no session writes: overhead.c */
        uint32_t overhead_looks;      /* at memfds of sessions, that are due */
        bool exceeding;               /* one of these has much more than was granted: overhead.c */
};

static inline void pw_memory_init(struct pw_memory *memory)
{
        pw_list_init(&memory->backings);
        pw_list_init(&memory->frozen);
        pw_list_init(&memory->pinned);
        pw_list_init(&memory->audits);
        pw_list_init(&memory->recounts);
}

#endif
