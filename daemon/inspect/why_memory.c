/* Chains that end in memory: the largest objects there, who holds them, and how they are let go. */
#include "daemon/inspect/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/inspect/find.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN 3u
#define WALKS 8u /* memories that one answer tells of */
#define HOST_MEMORY UINT32_MAX

struct held { struct pw_id id; uint64_t bytes; };

/* What a memory has, found by a walk over all objects in parts: the chain is made anew when it is there. */
struct pw_largest {
        struct pw_largest *next;
        struct pw_daemon *daemon;
        uint32_t device;
        const char *tenant; /* whose: NULL: anybody's */
        uint64_t at;        /* of the walk */
        bool done;
        struct held items[SHOWN];
        uint64_t others_bytes, others;
};
/* Which memory it is, and what else would help there. */
struct place { uint32_t device; const char *tenant, *more; };

static uint64_t bytes_in(const struct pw_largest *largest, const struct pw_object_row *row)
{
        const struct pw_shard_list *list = pw_find_shards(largest->daemon, row);
        uint64_t bytes = 0;

        if (largest->tenant && strcmp(row->tenant, largest->tenant))
                return 0;
        if (largest->device == HOST_MEMORY)
                return list || row->entry->is_inline ? 0 : row->room_bytes;
        for (uint32_t i = 0; list && i < list->shard_count; i++)
                bytes += list->shards[i].device == largest->device ? list->shards[i].bytes : 0;
        return bytes;
}

static bool take_object(void *context, const struct pw_object_row *row)
{
        struct pw_largest *largest = context;
        struct held held = { row->id, bytes_in(largest, row) };

        for (uint32_t i = 0; i < SHOWN && held.bytes; i++)
                if (held.bytes > largest->items[i].bytes) {
                        struct held smaller = largest->items[i];
                        largest->items[i] = held;
                        held = smaller;
                }
        largest->others_bytes += held.bytes;
        largest->others += held.bytes > 0;
        return true;
}

bool pw_why_part(struct pw_lister *lister, uint32_t slots)
{
        struct pw_largest *largest = lister->largest;
        const struct pw_walk walk = { .slots = slots, .row = take_object, .context = largest };

        if (!largest || largest->done)
                return false;
        largest->done = !pw_store_walk(lister->daemon->store, &walk, &largest->at);
        return !largest->done;
}

void pw_largest_free(struct pw_largest *largest)
{
        while (largest) {
                struct pw_largest *next = largest->next;

                free(largest);
                largest = next;
        }
}

/* NULL: it is to be found first, one memory at a time; or there is no room for it. */
static const struct pw_largest *largest_in(struct pw_lister *lister, const struct place *place)
{
        struct pw_largest *largest = lister->largest;
        uint32_t count = 0;

        for (; largest; largest = largest->next, count++)
                if (largest->device == place->device && largest->tenant == place->tenant)
                        return largest->done ? largest : NULL;
        largest = lister->again || count == WALKS ? NULL : malloc(sizeof *largest);
        if (!largest)
                return NULL;
        *largest = (struct pw_largest){ .next = lister->largest, .daemon = lister->daemon, .device = place->device, .tenant = place->tenant };
        lister->largest = largest;
        lister->again = true;
        return NULL;
}

/* The process that is charged, if it is stopped: it gives nothing back. */
static pid_t stopped_holder(struct pw_daemon *daemon, const struct pw_charge *charge)
{
        const struct pw_dsession *session = charge->kind == PW_OWNER_SESSION ? pw_session_get(daemon, (uint32_t)charge->number) : NULL;

        return session && pw_process_stopped(session->pid) ? session->pid : 0;
}

/* `go_on`: how its process, which is stopped, is continued; "": it is not. */
static void held_remedy(const struct pw_charge *charge, const char *id, const char *go_on, const char *more, char *text, size_t text_bytes)
{
        if (charge->kind == PW_OWNER_NAME)
                snprintf(text, text_bytes, "`pathways free %.100s`; %s", charge->name, more);
        else if (charge->kind == PW_OWNER_LEASE)
                snprintf(text, text_bytes, "`pathways free %s`; %s", id, more);
        else if (*go_on)
                snprintf(text, text_bytes, "%s or end it; `pathways free --force %s`; %s", go_on, id, more);
        else
                snprintf(text, text_bytes, "pw_unref() there or end it; `pathways free --force %s`; %s", id, more);
}

static void why_held(struct pw_chain *chain, const struct held *held, const char *more, const char *what)
{
        struct pw_lister *lister = chain->lister;
        const struct pw_object *object = pw_store_find(lister->daemon->store, 0, pw_id_segment(held->id), pw_id_slot(held->id), held->id.generation);
        const struct pw_program_row *program;
        const struct pw_charge *charge;
        struct pw_object_row row;
        uint32_t depth = chain->depth;
        char id[PW_ID_TEXT_BYTES], size[16], who[200], waits[420], remedy[260], go_on[PW_WHY_KILL_BYTES] = "";
        pid_t stopped;

        if (!object)
                return; /* it was let go meanwhile */
        pw_object_row(lister->daemon->store, object, &row);
        charge = &row.charge;
        stopped = stopped_holder(lister->daemon, charge);
        program = object->program ? pw_scheduler_program(lister->daemon->scheduler, object->program) : NULL;
        if (!pw_list_visible(lister, row.tenant)) {
                snprintf(waits, sizeof waits, "%s of another tenant to be let go", pw_size_format(held->bytes, size));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, charge->since_us, "ask an operator: `pathways owners` shows them all" });
                chain->depth = depth;
                return;
        }
        pw_id_format(held->id, id);
        snprintf(waits, sizeof waits, "object %s, %s, of tenant %s, %s%s%s%s, to be let go", id, pw_size_format(held->bytes, size), row.tenant,
                 pw_store_charge_text(lister->daemon->store, charge, who, sizeof who), stopped ? ", which is stopped" : "",
                 program ? ", made by " : "", program ? program->name : "");
        if (stopped)
                pw_why_kill(chain, "-CONT ", stopped, go_on);
        held_remedy(charge, id, go_on, more, remedy, sizeof remedy);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, charge->since_us, remedy });
        chain->depth = depth;
}

/* Processes that live, and had sessions that have ended: the first of them by number, with a blank before each. */
static uint32_t left_by(struct pw_daemon *daemon, char *pids, size_t pids_bytes)
{
        const struct pw_process *process;
        uint32_t count = 0;
        int at = 0;

        for (uint32_t i = 0; (process = pw_table_next(&daemon->processes, &i));)
                if (process->ended_count && count++ < SHOWN)
                        at += snprintf(pids + at, pids_bytes - (size_t)at, " %d", (int)process->pid);
        return count;
}

/* Rooms whose session has ended, while its process lives and may still write into them. */
static bool why_left(struct pw_chain *chain, const char *what)
{
        struct pw_memory_terms terms;
        uint32_t depth = chain->depth, count;
        char waits[160], remedy[80], size[16], pids[SHOWN * 12 + 1] = "", more[24] = "";

        pw_store_terms(chain->lister->daemon->store, &terms);
        count = terms.quarantined + terms.letting_go ? left_by(chain->lister->daemon, pids, sizeof pids) : 0;
        if (!count)
                return false;
        pw_size_format(terms.quarantined + terms.letting_go, size);
        if (count > SHOWN)
                snprintf(more, sizeof more, " and %" PRIu32 " more", count - SHOWN);
        if (chain->lister->session->operator_) {
                snprintf(waits, sizeof waits, "%s that ended sessions had, into which process%s%s%s may still write", size, count > 1 ? "es" : "",
                         pids, more);
                snprintf(remedy, sizeof remedy, "end %s: %s`kill%s`", count > 1 ? "them" : "it",
                         chain->lister->session->tenant->uid ? "as root, " : "", pids);
        } else {
                snprintf(waits, sizeof waits, "%s that ended sessions had, into which their processes may still write", size);
                snprintf(remedy, sizeof remedy, "ask an operator: `pathways why` shows which");
        }
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
        chain->depth = depth;
        return true;
}

static void why_largest(struct pw_chain *chain, const struct place *place, const char *what)
{
        const struct pw_largest *largest = largest_in(chain->lister, place);
        bool left = place->device == HOST_MEMORY && !place->tenant && why_left(chain, what);
        char waits[120], size[16];

        if (!largest) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "what is held there", 0, "`pathways owners` and `pathways objects` list it" });
                return;
        }
        for (uint32_t i = 0; i < SHOWN && largest->items[i].bytes; i++)
                why_held(chain, &largest->items[i], place->more, what);
        if (!left && !largest->items[0].bytes)
                pw_chain_link(chain, &(struct pw_cause_link){ what, "gangs that are not done with rooms, or grants that are idle", 0,
                                                              "wait; `pathways memory` shows each term" });
        if (!largest->others)
                return;
        snprintf(waits, sizeof waits, "%" PRIu64 " smaller object%s, %s together", largest->others, largest->others == 1 ? "" : "s",
                 pw_size_format(largest->others_bytes, size));
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "`pathways owners` and `pathways objects` list them" });
}

void pw_why_device_memory(struct pw_chain *chain, uint32_t device, uint64_t lack_bytes)
{
        char what[80], size[16];

        snprintf(what, sizeof what, "memory of device h%u:%u, %s short", chain->lister->daemon->host, device, pw_size_format(lack_bytes, size));
        why_largest(chain, &(struct place){ device, NULL, "or a larger --device-memory" }, what);
}

/* Is it the tenant's quota that keeps it waiting? What that is, then. */
static bool is_over(struct pw_daemon *daemon, const struct pw_wait_row *wait, char *what, size_t what_bytes)
{
        const struct pw_tenant *tenant = wait->session->tenant;
        struct pw_use use = pw_store_use(daemon->store, tenant->name);
        char used[16], quota[16];

        if (use.objects >= tenant->quota.objects)
                snprintf(what, what_bytes, "quota of tenant %s, %" PRIu64 " of %" PRIu64 " objects", tenant->name, use.objects, tenant->quota.objects);
        else if (tenant->quota.host_bytes != PW_QUOTA_NONE && use.host_bytes + wait->bytes > tenant->quota.host_bytes)
                snprintf(what, what_bytes, "quota of tenant %s, %s of %s of host memory", tenant->name, pw_size_format(use.host_bytes, used),
                         pw_size_format(tenant->quota.host_bytes, quota));
        else
                return false;
        return true;
}

void pw_why_host_memory(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        bool over;
        char what[120], waits[64], size[16];

        snprintf(what, sizeof what, "thread %u of %s", wait->thread, wait->session->client);
        if (wait->bytes)
                snprintf(waits, sizeof waits, "room of %s in host memory", pw_size_format(wait->bytes, size));
        else
                snprintf(waits, sizeof waits, "a slot for a value without room");
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, wait->since_us, "" });
        over = is_over(daemon, wait, what, sizeof what);
        if (!over)
                snprintf(what, sizeof what, "host memory h%u", daemon->host);
        why_largest(chain, &(struct place){ HOST_MEMORY, over ? wait->session->tenant->name : NULL,
                                            over ? "or a larger --quota" : "or a larger --host-memory" }, what);
}
