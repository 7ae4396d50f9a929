/* Chains from a host: who waits for its memory, and what its devices are at. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/memory/room.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN 3u /* of many that wait for the same */

struct short_of { struct pw_chain *chain; uint32_t shown, count; };

static void each_wait(void *context, const struct pw_wait_row *wait)
{
        struct short_of *short_of = context;

        if (!pw_list_visible(short_of->chain->lister, wait->session->tenant->name) || short_of->count++ >= SHOWN)
                return;
        short_of->chain->depth = 0;
        pw_why_host_memory(short_of->chain, wait);
        short_of->shown++;
}

static void why_memory(struct pw_chain *chain, const char *what)
{
        struct short_of short_of = { .chain = chain };
        char waits[100];

        pw_rooms_each_wait(chain->lister->daemon, NULL, each_wait, &short_of);
        if (short_of.count == short_of.shown)
                return;
        chain->depth = 0;
        snprintf(waits, sizeof waits, "room in host memory for %" PRIu32 " other threads", short_of.count - short_of.shown);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "`pathways memory` and `pathways owners` show who has it" });
}

/* Runs that are not admitted wait for memory of a device or for the quota of their tenant; the oldest stands for all. */
struct queued { struct pw_chain *chain; uint64_t oldest; uint32_t count; };

static void each_run(void *context, const struct pw_run *run)
{
        struct queued *queued = context;
        struct pw_run_row row;

        if (run->state != PW_RUN_QUEUED)
                return;
        pw_scheduler_run_brief(run, &row);
        if (!row.lack_bytes || !pw_list_visible(queued->chain->lister, row.tenant))
                return;
        queued->count++;
        if (!queued->oldest || row.number < queued->oldest)
                queued->oldest = row.number;
}

static void why_queue(struct pw_chain *chain, const char *what)
{
        struct queued queued = { .chain = chain };
        char waits[100];

        pw_scheduler_each_live(chain->lister->daemon->scheduler, each_run, &queued);
        if (!queued.count)
                return;
        chain->depth = 0;
        snprintf(waits, sizeof waits, "memory of devices for %" PRIu32 " run%s, the oldest is run %" PRIu64, queued.count,
                 queued.count == 1 ? "" : "s", queued.oldest);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
        pw_why_run(chain, queued.oldest);
}

enum pw_status pw_why_host_asked(struct pw_chain *chain, uint32_t host)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        char what[40], waits[120];

        if (host != daemon->host)
                return pw_why_other_host(chain, host) ? PW_OK :
                       pw_error_set(chain->lister->err, PW_NOT_FOUND, "h%u: this host is h%u, and knows no such one: "
                                    "`pathways why h%u`, `pathways hosts`", host, daemon->host, daemon->host);
        snprintf(what, sizeof what, "host h%u", host);
        why_memory(chain, what);
        why_queue(chain, what);
        for (uint32_t device = 0; device < daemon->device_count; device++) {
                chain->depth = 0;
                pw_why_device(chain, device);
        }
        chain->depth = 0;
        (void)pw_why_child(chain, &daemon->children.all[daemon->device_count], "the describing executor");
        if (chain->lister->rows->count)
                return PW_OK;
        snprintf(waits, sizeof waits, "nothing: its %u device%s without a gang, nobody waits for its memory", daemon->device_count,
                 daemon->device_count == 1 ? " is" : "s are");
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "`pathways runs` shows what waits for something else" });
        return PW_OK;
}
