/* `pathways why`: walks the chain of causes from an object or a run down to something a person can act on. */
#include "base/memory.h"
#include "base/size.h"
#include "daemon/child.h"
#include "daemon/list.h"
#include "daemon/segment.h"
#include "store/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 64

struct chain { struct pw_lister *lister; uint32_t depth; };

static void link_(struct chain *chain, const char *what, const char *waits_for, uint64_t since_us, const char *remedy)
{
        struct pw_rows *rows = chain->lister->rows;

        if (!pw_rows_begin(rows))
                return;
        pw_rows_number(rows, "depth", chain->depth++);
        pw_rows_text(rows, "what", "%s", what);
        pw_rows_text(rows, "waits_for", "%s", waits_for);
        if (since_us)
                pw_rows_number(rows, "since_us", chain->lister->now_us - since_us);
        pw_rows_text(rows, "remedy", "%s", remedy);
}

struct wanted { uint64_t run; struct pw_run_row row; bool found; };

static void match_run(void *context, const struct pw_run_row *row)
{
        struct wanted *wanted = context;

        if (row->number == wanted->run) {
                wanted->row = *row;
                wanted->found = true;
        }
}

/* A device that has not done what was ordered: which gang it is in, or that nobody drives it. */
struct slowest { struct pw_daemon *daemon; uint64_t run; uint32_t device; uint64_t seq, start_ns; uint32_t node; bool found, running; };

static void match_gang(void *context, const struct pw_gang_row *row)
{
        struct slowest *slowest = context;

        if (row->run != slowest->run || row->done || (slowest->found && (slowest->running || !row->running)))
                return;
        *slowest = (struct slowest){ slowest->daemon, row->run, row->device, row->seq, row->start_ns, row->node, true, row->running };
}

static void why_device(struct chain *chain, uint64_t run)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct slowest slowest = { .daemon = daemon, .run = run };
        const struct pw_child *child;
        const struct pw_image_node *node;
        const char *name = "a gang";
        char what[160], remedy[200], wait[16];
        uint64_t of_run;

        for (uint32_t device = 0; device < daemon->device_count; device++)
                pw_host_each_gang(daemon->boards, device, match_gang, &slowest);
        if (!slowest.found)
                return;
        child = &daemon->children[slowest.device];
        pw_child_gang(daemon, slowest.device, slowest.seq, &node, &name, &of_run);
        snprintf(what, sizeof what, "device h%u:%u", daemon->host, slowest.device);
        if (child->state != PW_CHILD_READY) {
                uint64_t now_us = chain->lister->now_us;

                pw_duration_format(child->next_start_us > now_us ? child->next_start_us - now_us : 0, wait);
                snprintf(remedy, sizeof remedy, "its executor ended %u times in a row; next start in %s; mend the function named in the log", child->crashes,
                         wait);
                link_(chain, what, "its executor to be started again", 0, remedy);
        } else if (slowest.running) {
                char doing[200];

                snprintf(doing, sizeof doing, "%s of run %" PRIu64 " to return", name, run);
                link_(chain, what, doing, slowest.start_ns / 1000, "wait, or give the function a time limit; `pathways gangs` shows its peers");
        } else {
                link_(chain, what, "gangs ordered before", 0, "`pathways gangs` shows what it runs now");
        }
}

static void why_object(struct chain *chain, struct pw_object *object);

static void why_run(struct chain *chain, uint64_t number)
{
        static const char *const remedies[] = {
                [PW_RUN_WAITING] = "seal or abort the input that is not ready",
                [PW_RUN_QUEUED] = "`pathways free` what holds the memory, end its holder, or raise --device-memory",
                [PW_RUN_ADMITTED] = "",
                [PW_RUN_ENDED] = "nothing: it is over",
        };
        struct wanted wanted = { .run = number };
        char what[160];

        pw_scheduler_each_run(chain->lister->daemon->scheduler, match_run, &wanted, chain->lister->now_us);
        snprintf(what, sizeof what, "run %" PRIu64, number);
        if (!wanted.found || !pw_list_visible(chain->lister, wanted.row.tenant)) {
                link_(chain, what, "nothing: it has ended", 0, "nothing");
                return;
        }
        snprintf(what, sizeof what, "run %" PRIu64 " (%s)", number, wanted.row.program);
        link_(chain, what, wanted.row.waiting_for[0] ? wanted.row.waiting_for : "its gangs to be done", wanted.row.submitted_us,
              remedies[wanted.row.state]);
        if (chain->depth >= DEPTH_MAX)
                return;
        if (wanted.row.blocking_input && wanted.row.blocking_input->object)
                why_object(chain, wanted.row.blocking_input->object);
        else if (wanted.row.blocking_run && wanted.row.blocking_run != number)
                why_run(chain, wanted.row.blocking_run);
        else if (wanted.row.state == PW_RUN_ADMITTED)
                why_device(chain, number);
}

static void first_holder(void *context, const struct pw_ref_row *row)
{
        struct pw_ref_row *found = context;

        if (!found->owner_kind)
                *found = *row;
}

static void why_alive(struct chain *chain, struct pw_object *object, const char *what)
{
        static const char *const kinds[] = { "nobody but its producer", "session", "run", "name", "lease" };
        struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_ref_row holder = { 0 };
        struct pw_dsession *grantee = pw_session_get(daemon, object->grantee);
        char waits[200];

        pw_object_each_ref(object, first_holder, &holder);
        if (holder.owner_kind == PW_OWNER_NAME)
                snprintf(waits, sizeof waits, "nothing: it is ready, held by name %s", holder.name ? holder.name : "?");
        else if (holder.owner_kind)
                snprintf(waits, sizeof waits, "nothing: it is ready, held by %s %" PRIu64, kinds[holder.owner_kind], holder.owner_number);
        else
                snprintf(waits, sizeof waits, "nothing: it is ready, held by %s", grantee ? grantee->client : "nobody");
        link_(chain, what, waits, 0, "`pathways free` drops names and leases");
}

static void why_object(struct chain *chain, struct pw_object *object)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        uint64_t word = pw_entry_load(pw_object_entry(daemon->store, object));
        struct pw_dsession *producer = pw_session_get(daemon, object->grantee);
        char id[PW_ID_TEXT_BYTES], what[100], waits[160];

        pw_id_format(pw_object_id(daemon->store, object), id);
        snprintf(what, sizeof what, "object %s", id);
        if (pw_word_state(word) == PW_ENTRY_READY) {
                why_alive(chain, object, what);
        } else if (pw_word_decided(word)) {
                snprintf(waits, sizeof waits, "nothing: it is in error, %s", pw_status_text(pw_word_status(word)));
                link_(chain, what, waits, 0, "read its text with `pathways get`");
        } else if (object->run) {
                snprintf(waits, sizeof waits, "run %" PRIu64 " that makes it", object->run);
                link_(chain, what, waits, 0, "");
                why_run(chain, object->run);
        } else {
                snprintf(waits, sizeof waits, "%s to seal it", producer ? producer->client : "its producer");
                link_(chain, what, waits, 0, "pw_seal() or pw_abort() in that process, or end it");
        }
}

/* "run 41", "41", an id, or a name. */
enum pw_status pw_list_why(struct pw_lister *lister)
{
        struct chain chain = { lister, 0 };
        const char *text = lister->filter;
        struct pw_object *object;
        struct pw_id id;
        char *end;
        unsigned long long run = strtoull(strncmp(text, "run ", 4) ? text : text + 4, &end, 10);

        if (*text && !*end) {
                why_run(&chain, run);
                return PW_OK;
        }
        object = pw_store_name_find(lister->daemon->store, lister->session->tenant->name, text);
        if (!object && pw_id_parse(text, &id, lister->err) != PW_OK)
                return pw_error_set(lister->err, PW_NOT_FOUND, "%s: neither an id, nor a name of tenant %s, nor \"run N\"", text,
                                    lister->session->tenant->name);
        if (!object)
                object = pw_store_find(lister->daemon->store, lister->session->operator_ ? 0 : lister->session->number, pw_id_segment(id),
                                       pw_id_slot(id), id.generation);
        if (!object)
                return pw_error_set(lister->err, PW_GONE, "%s: there is no such object (any more)", text);
        why_object(&chain, object);
        return PW_OK;
}
