/* Chains from a process: what its threads wait for, then its oldest run. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/child/child.h"
#include "daemon/client/object/name.h"
#include "daemon/memory/segment.h"
#include "daemon/work/shape/describe.h"
#include "daemon/work/program.h"
#include "store/fetched.h"
#include "store/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool pw_process_stopped(pid_t pid)
{
        char path[64], line[512];
        const char *state;
        FILE *file;
        bool stopped;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        file = pid > 0 ? fopen(path, "re") : NULL;
        if (!file)
                return false;
        /* The command, in parentheses, may have any byte in it. */
        state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        stopped = state && state[1] && (state[2] == 'T' || state[2] == 't');
        fclose(file);
        return stopped;
}

/* -1: it is gone, or cannot be looked at. */
static long user_of(pid_t pid)
{
        char path[64], line[128];
        long user = -1;

        snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
        FILE *file = fopen(path, "re");
        while (file && user < 0 && fgets(line, sizeof line, file))
                if (!strncmp(line, "Uid:", 4))
                        user = strtol(line + 4, NULL, 10);
        if (file)
                fclose(file);
        return user;
}

char *pw_why_kill(const struct pw_chain *chain, const char *option, pid_t pid, char text[PW_WHY_KILL_BYTES])
{
        uid_t asker = chain->lister->session->tenant->uid;
        long user = asker == 0 ? 0 : user_of(pid);

        snprintf(text, PW_WHY_KILL_BYTES, "%s`kill %s%d`", asker == 0 || user == (long)asker ? "" : "as root, ", option, (int)pid);
        return text;
}

struct waits { struct pw_chain *chain; uint32_t depth, count; };

/* A note is the client's claim: it is believed as far as an object of its tenant is there. */
static struct pw_object *noted(struct pw_daemon *daemon, const struct pw_wait_row *wait)
{
        struct pw_segment *segment = pw_segment_get(&daemon->memory, wait->segment);
        uint64_t word;

        if (!segment || segment->tenant != wait->session->tenant || wait->slot >= segment->layout.slot_count || !segment->map.base)
                return NULL;
        word = pw_entry_load(pw_map_entry(&segment->map, wait->slot));
        return pw_store_find(daemon->store, wait->session->number, wait->segment, wait->slot, pw_word_generation(word));
}

static void why_lookup(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        char waits[PW_WHY_BYTES], remedy[PW_WHY_BYTES];

        pw_text_format(waits, sizeof waits, "name %s to be bound", wait->name);
        pw_text_format(remedy, sizeof remedy, "bind it: pw_name() or `pathways put --name %s`", wait->name);
        pw_chain_link(chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, remedy });
}

static void why_metadata(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        char waits[PW_WHY_BYTES];

        pw_text_format(waits, sizeof waits, "metadata, about name %s", wait->name);
        pw_chain_link(chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, "" });
}

#define LOOKUPS_SHOWN 8u

struct lookups { struct pw_chain *chain; uint64_t since_us; uint32_t count; bool shows; };

static void each_lookup(void *context, const struct pw_wait_row *wait)
{
        struct lookups *lookups = context;
        char waits[120], left[16];

        lookups->since_us = lookups->count++ ? pw_min_u64(lookups->since_us, wait->since_us) : wait->since_us;
        if (!lookups->shows || lookups->count > LOOKUPS_SHOWN)
                return;
        lookups->chain->depth = 1;
        snprintf(waits, sizeof waits, "this name%s%s", wait->until_us < UINT64_MAX ? ", and gives up in " : "",
                 wait->until_us < UINT64_MAX ?
                 pw_duration_format(wait->until_us - pw_min_u64(wait->until_us, lookups->chain->lister->now_us), left) : "");
        pw_chain_link(lookups->chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, "" });
}

/* Counted first, then shown: the link above them tells how many they are. */
static bool why_name_of(struct pw_chain *chain, const struct pw_tenant *tenant, const char *name)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct lookups lookups = { .chain = chain };
        char what[PW_WHY_BYTES], waits[120], remedy[PW_WHY_BYTES];

        pw_names_each_wait_of(daemon, tenant, name, each_lookup, &lookups);
        if (!lookups.count)
                return false;
        chain->depth = 0;
        pw_text_format(what, sizeof what, "name %s of tenant %s", name, tenant->name);
        snprintf(waits, sizeof waits, "somebody to bind it: nobody has, and %" PRIu32 " lookup%s for it", lookups.count,
                 lookups.count == 1 ? " waits" : "s wait");
        pw_text_format(remedy, sizeof remedy, "bind it: pw_name() or `pathways put --name %s`%s", name,
                       tenant == chain->lister->session->tenant ? "" : " as that user");
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, lookups.since_us, remedy });
        lookups = (struct lookups){ .chain = chain, .shows = true };
        pw_names_each_wait_of(daemon, tenant, name, each_lookup, &lookups);
        return true;
}

bool pw_why_name(struct pw_chain *chain, const char *name)
{
        const struct pw_tenant *tenant;
        bool found = false;

        for (uint32_t i = 0; (tenant = pw_table_next(&chain->lister->daemon->registry.tenants, &i));)
                found |= pw_list_visible(chain->lister, tenant->name) && why_name_of(chain, tenant, name);
        return found;
}

static void why_note(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        struct pw_object *object = noted(chain->lister->daemon, wait);
        char what[120], waits[120], id[PW_ID_TEXT_BYTES];

        if (!object)
                return;
        pw_text_format(what, sizeof what, "thread %u of %s", wait->thread, wait->session->client);
        pw_text_format(waits, sizeof waits, "object %s", pw_id_format(pw_object_id(chain->lister->daemon->store, object), id));
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
        pw_why_object(chain, object);
}

/* One shape function runs at a time, whoever asked: it may be another one that does not come to an end. */
static void why_shape(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        const struct pw_describe_now now = pw_describe_now(daemon);
        const char *function = NULL;
        const struct pw_dsession *asker = pw_program_described(daemon, &function);
        bool named = asker && (asker == wait->session || pw_list_visible(chain->lister, asker->tenant->name));
        char waits[PW_WHY_BYTES], what[PW_WHY_BYTES], remedy[160], limit[16];

        pw_text_format(waits, sizeof waits, "the shapes of %s, to compile a program", wait->name);
        pw_chain_link(chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, "" });
        if (pw_why_child(chain, &daemon->children.all[daemon->device_count], "the describing executor") || !now.since_us)
                return;
        pw_text_format(what, sizeof what, "the shape function of %s",
                 named ? function : asker ? "another tenant" : "a client that has left");
        pw_text_format(remedy, sizeof remedy, "mend it, or wait: it is ended after %s, and the program that needs it is refused",
                 pw_duration_format(now.limit_us, limit));
        pw_chain_link(chain, &(struct pw_cause_link){ what, "nothing: it runs in the describing executor", now.since_us, remedy });
}

static void why_wait(void *context, const struct pw_wait_row *wait)
{
        struct waits *waits = context;

        if (pw_chain_full(waits->chain) || waits->count++ >= PW_LANES_MAX)
                return;
        waits->chain->depth = waits->depth;
        waits->chain->devices = 0;
        if (wait->kind == PW_WAIT_KIND_ROOM)
                pw_why_host_memory(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_NAME)
                why_lookup(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_METADATA)
                why_metadata(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_BYTES && pw_store_is_apart(waits->chain->lister->daemon->store, wait->object))
                pw_why_fetch_wait(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_OPENING || wait->kind == PW_WAIT_KIND_BYTES)
                pw_why_foreign_wait(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_NAMING)
                pw_why_naming(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_SHAPE)
                why_shape(waits->chain, wait);
        else if (wait->kind == PW_WAIT_KIND_COMPILE)
                pw_chain_link(waits->chain, &(struct pw_cause_link){ wait->session->client, "a program that is being compiled",
                                                                     wait->since_us, "" });
        else
                why_note(waits->chain, wait);
}

bool pw_why_session(struct pw_chain *chain, struct pw_dsession *session)
{
        struct waits waits = { chain, chain->depth, 0 };

        if (pw_chain_full(chain) || !pw_chain_visit(chain, PW_VISIT_SESSION, session->number))
                return true;
        chain->cut |= !pw_waits_each(chain->lister->daemon, session, why_wait, &waits);
        return waits.count;
}

struct own_run { const char *client; uint64_t number; };

static void match_own(void *context, const struct pw_run *run)
{
        struct own_run *own = context;

        if ((!own->number || run->number < own->number) && run->client && !strcmp(run->client, own->client))
                own->number = run->number;
}

static void why_one(struct pw_chain *chain, struct pw_dsession *session)
{
        struct own_run own = { session->client, 0 };
        bool stopped = pw_process_stopped(session->pid);
        char remedy[PW_WHY_KILL_BYTES];

        chain->depth = 0;
        pw_why_kill(chain, "-CONT ", session->pid, remedy);
        if (stopped)
                pw_chain_link(chain, &(struct pw_cause_link){ session->client, "to be continued: it is stopped", 0, remedy });
        if (stopped || pw_why_session(chain, session))
                return;
        pw_scheduler_each_live(chain->lister->daemon->scheduler, match_own, &own);
        if (own.number)
                pw_chain_link(chain, &(struct pw_cause_link){ session->client, "nothing, but its oldest run is under way", 0, "" });
        else
                pw_chain_link(chain,
                              &(struct pw_cause_link){ session->client, "nothing: no thread of it waits, no run of it is under way",
                                                       0, "nothing" });
        if (own.number)
                pw_why_run(chain, own.number);
}

enum pw_status pw_why_process(struct pw_chain *chain, const char *text)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        unsigned long pid = strncmp(text, "pid ", 4) ? 0 : strtoul(text + 4, NULL, 10);
        struct pw_dsession *session;
        uint32_t found = 0;

        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));) {
                if (session->ended || session->role != PW_ROLE_CLIENT || !pw_list_visible(chain->lister, session->tenant->name) ||
                    (pid ? (unsigned long)session->pid != pid : strcmp(session->client, text) != 0))
                        continue;
                found++;
                chain->depth = 0;
                if (pw_chain_full(chain))
                        break;
                why_one(chain, session);
        }
        return found ? PW_OK : pw_error_set(chain->lister->err, PW_NOT_FOUND, "%s: no such process is attached", text);
}
