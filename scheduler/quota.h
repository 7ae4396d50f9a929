/* What a tenant has in the scheduler, counted as it comes and goes.
 *
 * Of the memory of all devices together, of which it may have so much: used = the sum of its rooms in all devices, by use. Of the
 * heap: the records of its runs and of their results, which whoever charges it is told of (pw_scheduler_records()).
 */
#ifndef PW_SCHEDULER_QUOTA_H
#define PW_SCHEDULER_QUOTA_H

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "scheduler/run.h"

#define PW_HEAP_BYTES 8u       /* what a block of the heap takes besides */
/* What is kept of a run in flight outside of its record: its place in tables, and of each input the reference and who waits for
 * it. */
#define PW_RUN_APART_BYTES 64u
#define PW_INPUT_APART_BYTES 128u

enum pw_room_use { PW_USE_RESULT, PW_USE_BLOCK, PW_USE_LETTING_GO };

/* Runs that are queued and need as much room as one another, by arrival: where the first finds none, none of them does. */
struct pw_queue {
        struct pw_list runs;
        struct pw_heap_item order; /* in its tenant's queues */
        struct pw_list blocked;
        bool deferred;             /* the first is, so all of them are */
};

struct pw_device_quota {
        char *tenant;
        uint64_t bytes;     /* UINT64_MAX: no limit */
        uint32_t weight;    /* its share of device time, from 1 on */
        uint64_t used[3];   /* by enum pw_room_use */
        uint64_t runs_in_flight, runs_admitted; /* admitted: of those in flight */
        uint64_t record_bytes, told_bytes; /* of its runs and their results, in the scheduler's heap; what was said of them last */
        struct pw_list changed; /* among those that have another sum than was said */
        /* struct pw_queue: of its runs, by the arrival of their first; those in `blocked` behind all others */
        struct pw_heap queues;
        struct pw_list decided, telling; /* objects whose runs are to be told; among the tenants that have some */
        struct pw_list turn;    /* among the tenants that have some: in this order theirs lack room */
        /* In a scan of the queues: */
        struct pw_list round;   /* among the tenants that are not through */
        struct pw_list blocked; /* queues whose first lacks room, until the tenant is through */
        uint64_t lacking;       /* devices of which its runs lack room */
        uint64_t held;          /* the scan in which one of its runs waits for others of its own to give back */
};

static inline uint64_t pw_quota_used(const struct pw_device_quota *quota)
{
        return quota->used[0] + quota->used[1] + quota->used[2];
}
static inline uint64_t pw_quota_left(const struct pw_device_quota *quota)
{
        return quota->bytes > pw_quota_used(quota) ? quota->bytes - pw_quota_used(quota) : 0;
}
/* Made when first asked for; lives as long as the scheduler. NULL: out of memory. */
struct pw_device_quota *pw_quota_of(struct pw_table *quotas, const char *tenant);
/* The records of its runs have so many bytes more. */
void pw_quota_records(struct pw_scheduler *scheduler, struct pw_device_quota *quota, int64_t bytes);
void pw_quotas_done(struct pw_table *quotas);

#endif
