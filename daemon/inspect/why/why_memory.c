/* Chains that end in memory: the largest objects there, who holds them, and how they are let go. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/child/child.h"
#include "daemon/inspect/find.h"
#include "daemon/session/process.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN 3u      /* of those each of which is enough */
#define SUMMED 8u     /* at most, of those that are enough together */
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
        struct held items[SUMMED];
        uint64_t others_bytes, others;
};
/* Which memory it is, how much of it is missing, and what else would help there. */
struct place { uint32_t device; const char *tenant, *more; uint64_t lack_bytes; };

static uint64_t bytes_in(const struct pw_largest *largest, const struct pw_object_row *row)
{
        const struct pw_shard_list *list = pw_find_shards(largest->daemon, row);
        uint64_t bytes = 0;

        if (largest->tenant && strcmp(row->tenant, largest->tenant))
                return 0;
        if (largest->device == HOST_MEMORY)
                return list || row->entry->is_inline ? 0 : row->room_bytes;
        for (uint32_t i = 0; list && i < list->shard_count; i++)
                bytes += list->shards[i].device.device == largest->device ? list->shards[i].bytes : 0;
        return bytes;
}

static bool take_object(void *context, const struct pw_object_row *row)
{
        struct pw_largest *largest = context;
        struct held held = { row->id, bytes_in(largest, row) };

        for (uint32_t i = 0; i < SUMMED && held.bytes; i++)
                if (held.bytes > largest->items[i].bytes) {
                        struct held smaller = largest->items[i];
                        largest->items[i] = held;
                        held = smaller;
                }
        largest->others_bytes += held.bytes;
        largest->others += held.bytes > 0;
        return true;
}

bool pw_why_step(struct pw_lister *lister, uint32_t slots)
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
        *largest = (struct pw_largest){ .next = lister->largest, .daemon = lister->daemon, .device = place->device,
                                        .tenant = place->tenant };
        lister->largest = largest;
        lister->again = true;
        return NULL;
}

/* The process that is charged, if it is stopped: it gives nothing back. */
static pid_t stopped_holder(struct pw_daemon *daemon, const struct pw_charge *charge)
{
        const struct pw_dsession *session = charge->kind == PW_OWNER_SESSION ?
                pw_session_get(&daemon->registry, (uint32_t)charge->number) : NULL;

        return session && pw_process_stopped(session->pid) ? session->pid : 0;
}

/* `go_on`: how its process, which is stopped, is continued; "": it is not. */
static void held_remedy(const struct pw_charge *charge, const char *id, const char *go_on, char *text, size_t text_bytes)
{
        if (charge->kind == PW_OWNER_NAME)
                pw_text_format(text, text_bytes, "`pathways free %s`", charge->name);
        else if (charge->kind == PW_OWNER_LEASE)
                pw_text_format(text, text_bytes, "`pathways free %s`", id);
        else if (*go_on)
                pw_text_format(text, text_bytes, "%s or end it; `pathways free --force %s`", go_on, id);
        else
                pw_text_format(text, text_bytes, "pw_unref() there or end it; `pathways free --force %s`", id);
}

static void why_held(struct pw_chain *chain, const struct held *held, const char *what)
{
        struct pw_lister *lister = chain->lister;
        const struct pw_object *object = pw_store_find(lister->daemon->store, 0, pw_id_segment(held->id), pw_id_slot(held->id),
                                                       held->id.generation);
        const struct pw_program_row *program;
        const struct pw_charge *charge;
        struct pw_object_row row;
        uint32_t depth = chain->depth;
        char id[PW_ID_TEXT_BYTES], size[16], who[300], waits[PW_WHY_BYTES], remedy[PW_WHY_BYTES], go_on[PW_WHY_KILL_BYTES] = "";
        pid_t stopped;

        if (!object)
                return; /* it was let go meanwhile */
        pw_object_row(lister->daemon->store, object, &row);
        charge = &row.charge;
        stopped = stopped_holder(lister->daemon, charge);
        program = object->program ? pw_scheduler_program(lister->daemon->scheduler, object->program) : NULL;
        if (!pw_list_visible(lister, row.tenant)) {
                pw_text_format(waits, sizeof waits, "%s of another tenant to be let go", pw_size_format(held->bytes, size));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, charge->since_us,
                                                              "ask an operator: `pathways owners` shows them all" });
                chain->depth = depth;
                return;
        }
        pw_id_format(held->id, id);
        pw_text_format(waits, sizeof waits, "object %s, %s, of tenant %s, %s%s%s%s, to be let go", id,
                       pw_size_format(held->bytes, size), row.tenant,
                 pw_store_charge_text(lister->daemon->store, charge, who, sizeof who), stopped ? ", which is stopped" : "",
                 program ? ", made by " : "", program ? program->name : "");
        if (stopped)
                pw_why_kill(chain, "-CONT ", stopped, go_on);
        held_remedy(charge, id, go_on, remedy, sizeof remedy);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, charge->since_us, remedy });
        chain->depth = depth;
}

/* Processes that live, and had sessions that have ended: the first of them by number, with a blank before each. */
static uint32_t left_by(struct pw_daemon *daemon, char *pids, size_t pids_bytes)
{
        const struct pw_process *process;
        uint32_t count = 0;
        int at = 0;

        for (uint32_t i = 0; (process = pw_table_next(&daemon->registry.processes, &i));)
                if (process->ended_count && count++ < SHOWN)
                        at += snprintf(pids + at, pids_bytes - (size_t)at, " %d", (int)process->pid);
        return count;
}

/* Rooms whose session has ended, while its process lives and may still write into them: how much. */
static uint64_t why_left(struct pw_chain *chain, const char *what, uint64_t lack_bytes)
{
        struct pw_memory_terms terms;
        uint32_t depth = chain->depth, count;
        char waits[160], remedy[120], size[16], pids[SHOWN * 12 + 1] = "", more[24] = "";
        uint64_t bytes;

        pw_store_terms(chain->lister->daemon->store, &terms);
        bytes = terms.quarantined + terms.letting_go;
        count = bytes ? left_by(chain->lister->daemon, pids, sizeof pids) : 0;
        if (!count)
                return 0;
        pw_size_format(bytes, size);
        if (count > SHOWN)
                snprintf(more, sizeof more, " and %" PRIu32 " more", count - SHOWN);
        if (chain->lister->session->operator_) {
                pw_text_format(waits, sizeof waits, "%s that ended sessions had, into which process%s%s%s may still write", size,
                               count > 1 ? "es" : "", pids, more);
                pw_text_format(remedy, sizeof remedy, "end %s: %s`kill%s`%s", count > 1 ? "them" : "it",
                               chain->lister->session->tenant->uid ? "as root, " : "", pids,
                               bytes >= lack_bytes && count <= SHOWN ? ", which is enough" : "");
        } else {
                pw_text_format(waits, sizeof waits, "%s that ended sessions had, into which their processes may still write", size);
                pw_text_format(remedy, sizeof remedy, "ask an operator: `pathways why` shows which");
        }
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
        chain->depth = depth;
        return bytes;
}

/* How many of the largest are named: those each of which is enough, else as many as are enough together; 0: so few are not. */
static uint32_t enough(const struct held *items, uint64_t lack_bytes, uint64_t *ret_bytes)
{
        uint32_t count = 0;

        *ret_bytes = 0;
        while (count < SHOWN && items[count].bytes && items[count].bytes >= lack_bytes)
                count++;
        if (count)
                return count;
        while (count < SUMMED && items[count].bytes && *ret_bytes < lack_bytes)
                *ret_bytes += items[count++].bytes;
        return *ret_bytes >= lack_bytes ? count : 0;
}

static uint32_t held_count(const struct held *items)
{
        uint32_t count = 0;

        while (count < SUMMED && items[count].bytes)
                count++;
        return count;
}

/* What has to be let go, in one sentence; returns how many of the largest are named below it. */
static uint32_t say_enough(const struct pw_largest *largest, const struct place *place, char *text, size_t text_bytes)
{
        uint64_t bytes, lack_bytes = pw_max_u64(place->lack_bytes, 1), count = held_count(largest->items), all;
        uint32_t shown = enough(largest->items, lack_bytes, &bytes);
        char size[16], total[16];

        if (shown > 1 && !bytes)
                pw_text_format(text, text_bytes, "any one of the %" PRIu32 " objects below is enough; or %s", shown, place->more);
        else if (shown && !bytes)
                pw_text_format(text, text_bytes, "the object below is enough; or %s", place->more);
        else if (shown)
                pw_text_format(text, text_bytes, "the %" PRIu32 " objects below together, %s, are enough; or %s", shown,
                               pw_size_format(bytes, size), place->more);
        if (shown)
                return shown;
        all = bytes + largest->others_bytes;
        count += largest->others;
        if (all < lack_bytes)
                pw_text_format(text, text_bytes, "%s: all %" PRIu64 " object%s there are %s together, which is not enough",
                               place->more, count, count == 1 ? "" : "s", pw_size_format(all, size));
        else
                pw_text_format(text, text_bytes, "many objects: the largest is %s, all %" PRIu64
                               " are %s; `pathways owners` says who holds most; or %s",
                               pw_size_format(largest->items[0].bytes, size), count, pw_size_format(all, total), place->more);
        return 0;
}

/* Pages that were given up, which executors that have them registered with their devices have not let go of. False: none. */
static bool why_pinned(struct pw_chain *chain, const char *what)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_memory_terms terms;
        char waits[120], size[16];
        bool any = false;

        pw_store_terms(daemon->store, &terms);
        for (uint32_t i = 0; terms.letting_go && i < daemon->device_count; i++) {
                const struct pw_child_unpins *unpins = &daemon->children.all[i].unpins;

                if (unpins->answered >= unpins->asked)
                        continue;
                pw_text_format(waits, sizeof waits, "device h%u:%u to let go of pages that were given up: of all memory %s are",
                               daemon->host, i, pw_size_format(terms.letting_go, size));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
                pw_why_device(chain, i);
                any = true;
        }
        return any;
}

static void why_largest(struct pw_chain *chain, struct place place, const char *what)
{
        const struct pw_largest *largest = largest_in(chain->lister, &place);
        uint64_t left = place.device == HOST_MEMORY && !place.tenant ? why_left(chain, what, place.lack_bytes) : 0;
        uint32_t shown;
        char waits[120], remedy[300], size[16];

        if (place.device == HOST_MEMORY && !place.tenant)
                (void)why_pinned(chain, what);
        if (left && left >= place.lack_bytes)
                return;
        place.lack_bytes -= left;
        if (!largest) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "what is held there", 0,
                                                              "`pathways owners` and `pathways objects` list it" });
                return;
        }
        snprintf(waits, sizeof waits, "%s more than is free%s", pw_size_format(place.lack_bytes, size),
                 left ? " and ended sessions had" : "");
        if (!largest->items[0].bytes) {
                snprintf(remedy, sizeof remedy,
                         "wait, for gangs that are not done with rooms and grants that are idle; `pathways memory` shows each "
                         "term; or %s", place.more);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
                return;
        }
        shown = say_enough(largest, &place, remedy, sizeof remedy);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
        for (uint32_t i = 0; i < shown; i++)
                why_held(chain, &largest->items[i], what);
}

void pw_why_device_memory(struct pw_chain *chain, uint32_t device, uint64_t lack_bytes)
{
        char what[80], size[16];

        snprintf(what, sizeof what, "memory of device h%u:%u, %s short", chain->lister->daemon->host, device,
                 pw_size_format(lack_bytes, size));
        why_largest(chain, (struct place){ device, NULL, "a larger --device-memory", lack_bytes }, what);
}

/* Its tenant may not have more, whatever is free. */
static void why_quota(struct pw_chain *chain, const struct pw_tenant *tenant, const struct pw_room_lack *lack)
{
        struct pw_use use = pw_store_use(chain->lister->daemon->store, tenant->name);
        char what[PW_WHY_BYTES], used[16], quota[16];

        if (lack->kind == PW_LACK_OBJECTS) {
                pw_text_format(what, sizeof what, "quota of tenant %s, %" PRIu64 " of %" PRIu64 " objects", tenant->name,
                               use.objects, tenant->quota.objects);
                pw_chain_link(chain, &(struct pw_cause_link){ what, "one of its objects to be let go", 0,
                                                              "any one is enough, `pathways objects` lists them; or a larger "
                                                              "--quota" });
                return;
        }
        pw_text_format(what, sizeof what, "quota of tenant %s, %s of %s of host memory", tenant->name,
                       pw_size_format(use.host_bytes, used), pw_size_format(tenant->quota.host_bytes, quota));
        why_largest(chain, (struct place){ HOST_MEMORY, tenant->name, "a larger --quota", lack->bytes }, what);
}

void pw_why_room(struct pw_chain *chain, const struct pw_tenant *tenant, uint64_t token)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_room_lack lack = pw_store_room_lack(daemon->store, token);
        char what[120];

        snprintf(what, sizeof what, "host memory h%u", daemon->host);
        if (lack.kind == PW_LACK_NOTHING && why_pinned(chain, what))
                return;
        if (lack.kind == PW_LACK_NOTHING)
                pw_chain_link(chain,
                              &(struct pw_cause_link){ what,
                                                       "nothing more: there is enough, its pages are being made or given back",
                                                       0, "wait" });
        else if (lack.kind == PW_LACK_SYSTEM)
                pw_chain_link(chain,
                              &(struct pw_cause_link){ what,
                                                       "the system: pathwaysd has room to give, but its memory cgroup or the "
                                                       "system has too little left",
                                                              0, "end other programs, or lower --host-memory" });
        else if (lack.kind == PW_LACK_MEMORY)
                why_largest(chain, (struct place){ HOST_MEMORY, NULL, "a larger --host-memory", lack.bytes }, what);
        else
                why_quota(chain, tenant, &lack);
}

void pw_why_host_memory(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        char what[120], waits[64], size[16];

        snprintf(what, sizeof what, "thread %u of %s", wait->thread, wait->session->client);
        if (wait->bytes)
                snprintf(waits, sizeof waits, "room of %s in host memory", pw_size_format(wait->bytes, size));
        else
                snprintf(waits, sizeof waits, "a slot for a value without room");
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, wait->since_us, "" });
        pw_why_room(chain, wait->session->tenant, wait->token);
}
