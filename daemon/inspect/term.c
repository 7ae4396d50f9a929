/* Memory, term by term. */
#include "daemon/inspect/term.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/device/beside.h"
#include "daemon/memory/overhead.h"

#include <stdio.h>
#include <string.h>

struct teller {
        struct pw_daemon *daemon;
        void (*row)(void *context, const struct pw_term *term);
        void *context;
};

static void tell(const struct teller *teller, const struct pw_term *terms, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                teller->row(teller->context, &terms[i]);
}

bool pw_term_beside(const struct pw_daemon *daemon, uint32_t device, uint64_t *ret_bytes, const char **ret_why)
{
        const struct pw_child *child = &daemon->children.all[device];
        struct pw_gpu_arena arena = { .executor = child->state == PW_CHILD_READY ? child->pid : 0,
                                      .bytes = daemon->settings.device_memory };

        *ret_why = NULL;
        return !strcmp(daemon->settings.kinds.of[device].name, "cuda") &&
               pw_gpu_beside(pw_gpus_peek(daemon->gpus, device), &arena, ret_bytes, ret_why);
}

/* Of GPUs what the executor takes besides counts: as capacity, for it is memory of the device, and as overhead. */
static void device_terms(void *context, const struct pw_device_row *row)
{
        struct teller *teller = context;
        const char *why;
        uint64_t beside = 0;
        bool is_known = pw_term_beside(teller->daemon, row->device, &beside, &why);
        uint64_t capacity = row->capacity + beside, overhead = row->overhead + beside;
        uint64_t known = row->free + row->used_results + row->used_blocks + row->letting_go + overhead;
        char memory[32], about[200] = "rounding";

        if (is_known)
                snprintf(about, sizeof about, "context, code and communicators of its executor, and rounding");
        else if (why)
                snprintf(about, sizeof about, "rounding; not known: context, code and communicators, as %s", why);
        snprintf(memory, sizeof memory, "h%u:%u", teller->daemon->host, row->device);
        const struct pw_term terms[] = {
                { memory, "capacity", (int64_t)capacity, is_known ? "for rooms, and what its executor takes" : "of the device" },
                { memory, "free", (int64_t)row->free, "booked by nobody" },
                { memory, "used", (int64_t)row->used_results, "results of runs that somebody holds" },
                { memory, "reserved", (int64_t)row->used_blocks, "blocks of runs that are admitted" },
                { memory, "letting go", (int64_t)row->letting_go, "of runs that failed, whose gangs are not all done" },
                { memory, "overhead", (int64_t)overhead, about },
                { memory, "unaccounted", (int64_t)capacity - (int64_t)known, "" },
        };
        tell(teller, terms, pw_array_count(terms));
}

static void host_terms(const struct teller *teller)
{
        struct pw_memory_terms sums;
        const char *capped = teller->daemon->memory.capped;
        char memory[16], capacity[240];

        snprintf(capacity, sizeof capacity, "of host memory%s%s", *capped ? ": " : "", capped);
        pw_overhead_refresh(teller->daemon);
        pw_store_terms(teller->daemon->store, &sums);
        snprintf(memory, sizeof memory, "h%u", teller->daemon->host);
        const struct pw_term terms[] = {
                { memory, "capacity", (int64_t)sums.capacity, capacity },
                { memory, "free", (int64_t)sums.free, "granted to nobody" },
                { memory, "used", (int64_t)sums.used, "rooms with values" },
                { memory, "idle", (int64_t)sums.idle, "granted rooms without values, and rounding" },
                { memory, "letting go", (int64_t)sums.letting_go, "given up; not the system's yet, or still written to" },
                { memory, "quarantined", (int64_t)sums.quarantined, "of sessions that misbehaved, until they are dead" },
                { memory, "reserved", (int64_t)sums.reserved, "memory of devices that lies in host memory" },
                { memory, "overhead", (int64_t)sums.overhead, "entries, rings, boards" },
                { memory, "unaccounted", sums.unaccounted, "" },
        };
        tell(teller, terms, pw_array_count(terms));
}

void pw_terms_each(struct pw_daemon *daemon, void (*row)(void *context, const struct pw_term *term), void *context)
{
        struct teller teller = { daemon, row, context };

        host_terms(&teller);
        pw_scheduler_each_device(daemon->scheduler, device_terms, &teller);
}
