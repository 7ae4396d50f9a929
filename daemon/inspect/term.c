/* Memory, term by term. */
#include "daemon/inspect/term.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/device/beside.h"
#include "daemon/memory/overhead.h"

#include <inttypes.h>
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
        const struct pw_gpu_facts *facts = pw_gpus_peek(daemon->gpus, device);

        *ret_why = NULL;
        if (strcmp(daemon->settings.kinds.of[device].name, "cuda"))
                return false;
        *ret_why = facts ? NULL : pw_gpus_silence(daemon->gpus);
        return facts && pw_gpu_beside(facts, &arena, ret_bytes, ret_why);
}

/* What is known of it is as old as what the driver said last: where that does not answer, it is told how old. */
static void about_beside(const struct pw_gpu_facts *facts, char *about, size_t about_bytes)
{
        uint64_t age_us = pw_now_us() - facts->read_us;
        int length = snprintf(about, about_bytes, "context, code and communicators of its executor, and rounding");

        if (age_us > 2 * PW_GPUS_FRESH_US)
                snprintf(about + length, about_bytes - (size_t)length, "; as NVML said %" PRIu64 " s ago", age_us / 1000000);
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
        char memory[32], about[80 + sizeof(struct pw_error)] = "rounding";

        if (is_known)
                about_beside(pw_gpus_peek(teller->daemon->gpus, row->device), about, sizeof about);
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
