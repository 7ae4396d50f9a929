/* Memory, term by term. */
#include "daemon/inspect/term.h"

#include "base/memory.h"
#include "daemon/memory/overhead.h"

#include <stdio.h>

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

static void device_terms(void *context, const struct pw_device_row *row)
{
        struct teller *teller = context;
        uint64_t known = row->free + row->used_results + row->used_blocks + row->letting_go + row->overhead;
        char memory[32];

        snprintf(memory, sizeof memory, "h%u:%u", teller->daemon->host, row->device);
        const struct pw_term terms[] = {
                { memory, "capacity", (int64_t)row->capacity, "of the device" },
                { memory, "free", (int64_t)row->free, "booked by nobody" },
                { memory, "used", (int64_t)row->used_results, "results of runs that somebody holds" },
                { memory, "reserved", (int64_t)row->used_blocks, "blocks of runs that are admitted" },
                { memory, "letting go", (int64_t)row->letting_go, "of runs that failed, whose gangs are not all done" },
                { memory, "overhead", (int64_t)row->overhead, "rounding" },
                { memory, "unaccounted", (int64_t)row->capacity - (int64_t)known, "" },
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
