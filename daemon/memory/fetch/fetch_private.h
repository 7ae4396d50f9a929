/* What the files of a fetch share.
 */
#ifndef PW_DAEMON_MEMORY_FETCH_FETCH_PRIVATE_H
#define PW_DAEMON_MEMORY_FETCH_FETCH_PRIVATE_H

#include "base/heap.h"
#include "base/table.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/freezer/replica.h"

/* What one executor is to copy. */
struct pw_fetch_task {
        struct pw_list link;   /* of the device: to be given, or given; alone once it is reported */
        struct pw_fetch *fetch;
        uint64_t token;
        uint32_t device, from_segment;
        uint64_t from_offset, bytes, to; /* to: from the start of the room */
};

struct pw_fetch {
        struct pw_list link;   /* of all */
        struct pw_daemon *daemon;
        struct pw_tenant *tenant;
        struct pw_object *object;
        struct pw_replica *replica; /* NULL: it has no room (any more) */
        uint64_t since_us;
        struct pw_error why;   /* status not PW_OK: it has failed */
        struct pw_list waiters;
        uint64_t *offsets;     /* of each shard, in the room */
        struct pw_fetch_task *tasks;
        uint32_t task_count, open; /* open: not reported yet */
        uint32_t tries;            /* that failed as a device was lost */
};

struct pw_fetches {
        struct pw_list all;
        struct pw_table of_objects; /* by the address of the object */
        struct pw_heap waits;       /* who waits, by when its time is over */
        uint64_t next_token;
        struct { struct pw_list to_give, given; } devices[PW_DEVICES_MAX];
};

/* fetch_plan.c: which shards are to be copied, and where each lies then. Errors: PW_NO_MEMORY, PW_DEVICE_LOST (no device has one of
 * them any more). Own: offsets and tasks, of malloc(). */
PW_MUST_CHECK enum pw_status pw_fetch_plan(struct pw_fetch *fetch, uint64_t *ret_bytes, struct pw_error *ret_err);
/* fetch_task.c: hand them to the executors. */
void pw_fetch_tasks_begin(struct pw_fetch *fetch);
/* All are reported, or the fetch failed before they were given. */
void pw_fetch_end(struct pw_fetch *fetch);

#endif
