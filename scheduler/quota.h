/* What a tenant has in the scheduler, counted as it comes and goes.
 *
 * Of the memory of all devices together, of which it may have so much: used = the sum of its rooms in all devices, by use. Of the heap:
 * the records of its runs and of their results, which whoever charges it is told of (pw_scheduler_records()).
 */
#ifndef PW_SCHEDULER_QUOTA_H
#define PW_SCHEDULER_QUOTA_H

#include "base/list.h"
#include "base/table.h"
#include "scheduler/run.h"

#define PW_HEAP_BYTES 8u       /* what a block of the heap takes besides */
/* What is kept of a run in flight outside of its record: its place in tables, and of each input the reference and who waits for it. */
#define PW_RUN_APART_BYTES 64u
#define PW_INPUT_APART_BYTES 128u

enum pw_room_use { PW_USE_RESULT, PW_USE_BLOCK, PW_USE_LETTING_GO };

struct pw_device_quota {
        char *tenant;
        uint64_t bytes;     /* UINT64_MAX: no limit */
        uint64_t used[3];   /* by enum pw_room_use */
        uint64_t runs_in_flight, runs_admitted; /* admitted: of those in flight */
        uint64_t record_bytes, told_bytes; /* of its runs and their results, in the scheduler's heap; what was said of them last */
        struct pw_list changed; /* among those that have another sum than was said */
        uint64_t held;      /* look at the queue in which one of its runs waits for others of its own to give back */
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
