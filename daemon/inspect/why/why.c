/* `pathways why`: what is asked about, and the chain from an object. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/inspect/find.h"
#include "store/fetched.h"
#include "store/proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 64
#define ANSWER_US 4000u /* of a turn */

void pw_chain_link(struct pw_chain *chain, const struct pw_cause_link *link)
{
        struct pw_rows *rows = chain->lister->rows;
        uint32_t depth = chain->depth++;

        if (!pw_rows_begin(rows))
                return;
        pw_rows_number(rows, "depth", depth);
        pw_rows_text(rows, "what", "%s", link->what);
        pw_rows_text(rows, "waits_for", "%s", link->waits_for);
        if (link->since_us)
                pw_rows_number(rows, "since_us", chain->lister->now_us - pw_min_u64(link->since_us, chain->lister->now_us));
        pw_rows_text(rows, "remedy", "%s", link->remedy);
}

bool pw_chain_full(struct pw_chain *chain)
{
        const struct pw_rows *rows = chain->lister->rows;
        bool over = chain->depth >= DEPTH_MAX || chain->visited_count == PW_VISITS_MAX || pw_now_us() >= chain->until_us;

        chain->cut |= over;
        return over || rows->truncated || rows->failed;
}

bool pw_chain_visit(struct pw_chain *chain, enum pw_visit kind, uint64_t number)
{
        for (uint32_t i = 0; i < chain->visited_count; i++)
                if (chain->visited[i].kind == kind && chain->visited[i].number == number)
                        return false;
        if (chain->visited_count < PW_VISITS_MAX) {
                chain->visited[chain->visited_count].kind = kind;
                chain->visited[chain->visited_count++].number = number;
        }
        return true;
}

/* --- an object that is decided: who keeps it -------------------------------------------------------------------------------- */

struct holders { struct pw_chain *chain; const char *what; struct pw_charge charge; uint64_t count; };

#define CHARGED ", which is charged for it"

static void tell_holder(struct pw_chain *chain, const struct holders *holders, const struct pw_ref_row *ref)
{
        const struct pw_registry *registry = &chain->lister->daemon->registry;
        struct pw_dsession *session =
                ref->owner_kind == PW_OWNER_SESSION ? pw_session_get(registry, (uint32_t)ref->owner_number) : NULL;
        uint64_t now_us = chain->lister->now_us;
        uint32_t depth = chain->depth;
        bool charged = ref->owner_kind == holders->charge.kind && ref->owner_number == holders->charge.number;
        const struct pw_object *owner = ref->owner_kind == PW_OWNER_OBJECT ? pw_object_of_place(chain->lister->daemon->store,
                                                                                                ref->owner_number) : NULL;
        char id[PW_ID_TEXT_BYTES], waits[PW_WHY_BYTES],
                remedy[PW_WHY_BYTES] = "pw_unref() there, or end it; `pathways free --force` drops it", left[16];

        if (ref->owner_kind == PW_OWNER_NAME)
                pw_text_format(waits, sizeof waits, "nothing: it is held by name %s", ref->name ? ref->name : "?");
        else if (ref->owner_kind == PW_OWNER_LEASE)
                pw_text_format(waits, sizeof waits, "nothing: it is held by a lease, %s more",
                         pw_duration_format(ref->until_us > now_us ? ref->until_us - now_us : 0, left));
        else if (owner)
                pw_text_format(waits, sizeof waits, "nothing: the value of %s was moved into its room",
                         pw_id_format(pw_object_id(chain->lister->daemon->store, owner), id));
        else if (session)
                pw_text_format(waits, sizeof waits, "nothing: it is held by %s%s", session->client,
                         pw_process_stopped(session->pid) ? ", which is stopped" : "");
        else
                pw_text_format(waits, sizeof waits, "nothing: it is held by run %" PRIu64, ref->owner_number);
        if (charged)
                pw_text_format(waits + strlen(waits), sizeof waits - strlen(waits), CHARGED);
        if (ref->owner_kind == PW_OWNER_NAME || ref->owner_kind == PW_OWNER_LEASE)
                pw_text_format(remedy, sizeof remedy, "`pathways free` drops names and leases");
        if (owner)
                pw_text_format(remedy, sizeof remedy, "`pathways why %s`", id);
        if (ref->owner_kind == PW_OWNER_RUN)
                pw_text_format(remedy, sizeof remedy, "`pathways why run %" PRIu64 "`", ref->owner_number);
        pw_chain_link(chain, &(struct pw_cause_link){ holders->what, waits, ref->since_us, remedy });
        chain->depth = depth;
}

static void holder(void *context, const struct pw_ref_row *ref)
{
        struct holders *holders = context;
        struct pw_chain *chain = holders->chain;

        holders->count++;
        if (!pw_chain_full(chain))
                tell_holder(chain, holders, ref);
}

static void why_alive(struct pw_chain *chain, struct pw_object *object, const struct pw_charge *charge, const char *what)
{
        struct pw_dsession *grantee = pw_session_get(&chain->lister->daemon->registry, object->grantee);
        struct holders holders = { chain, what, *charge, 0 };
        char waits[200];

        if (grantee && (object->first_ref || !object->known)) {
                pw_text_format(waits, sizeof waits, "nothing: it is held by %s, which made it%s", grantee->client,
                         charge->kind == PW_OWNER_SESSION && charge->number == grantee->number ? CHARGED : "");
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "pw_unref() there, or end it" });
                chain->depth--;
                holders.count++;
        }
        pw_object_each_ref(object, holder, &holders);
        if (!holders.count)
                pw_chain_link(chain, &(struct pw_cause_link){ what, "nothing: nobody holds it, it goes now", 0, "nothing" });
}

/* --- an object that is not ---------------------------------------------------------------------------------------------------- */

static void why_unsealed(struct pw_chain *chain, struct pw_object *object, const char *what)
{
        struct pw_dsession *producer = pw_session_get(&chain->lister->daemon->registry, object->grantee);
        bool stopped = producer && pw_process_stopped(producer->pid);
        char waits[160], remedy[160], go_on[PW_WHY_KILL_BYTES];

        pw_text_format(waits, sizeof waits, "%s to seal it%s", producer ? producer->client : "its producer",
                 stopped ? ", which is stopped" : "");
        if (stopped)
                pw_text_format(remedy, sizeof remedy, "%s, or end it", pw_why_kill(chain, "-CONT ", producer->pid, go_on));
        else
                pw_text_format(remedy, sizeof remedy, "pw_seal() or pw_abort() in process %d, or end it",
                               producer ? (int)producer->pid : 0);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
        if (producer && !stopped)
                (void)pw_why_session(chain, producer);
}

/* Where its bytes are, and what keeps them from here; who holds it stands beside that. */
static void why_elsewhere(struct pw_chain *chain, const struct pw_object_row *row)
{
        uint32_t depth = chain->depth;

        if (row->object->proxied)
                pw_why_foreign(chain, row->tenant, row->id);
        else
                pw_why_fetch(chain, row->object);
        chain->depth = depth;
}

void pw_why_object(struct pw_chain *chain, struct pw_object *object)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_object_row row;
        char id[PW_ID_TEXT_BYTES], what[100], waits[PW_WHY_BYTES];

        if (pw_chain_full(chain))
                return;
        pw_object_row(daemon->store, object, &row);
        pw_text_format(what, sizeof what, "object %s", pw_id_format(pw_object_id(daemon->store, object), id));
        if (!pw_chain_visit(chain, PW_VISIT_OBJECT, row.id.place)) {
                pw_text_format(waits, sizeof waits, "see object %s above", id);
                pw_chain_link(chain, &(struct pw_cause_link){ what, "what stands above", 0, waits });
        } else if (pw_word_state(row.word) == PW_ENTRY_READY) {
                if ((object->proxied && pw_store_proxy_elsewhere(daemon->store, object)) ||
                    pw_store_is_apart(daemon->store, object))
                        why_elsewhere(chain, &row);
                why_alive(chain, object, &row.charge, what);
        } else if (pw_word_decided(row.word)) {
                char text[600];

                pw_text_format(waits, sizeof waits, "nothing: it is in error, %s",
                               pw_find_error_text(daemon, &row, text, sizeof text));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "mend that; then run or put it again" });
        } else if (object->proxied) {
                pw_why_foreign(chain, row.tenant, row.id);
        } else if (object->run) {
                pw_text_format(waits, sizeof waits, "run %" PRIu64 " that makes it", object->run);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
                pw_why_run(chain, object->run);
        } else {
                why_unsealed(chain, object, what);
        }
}

/* --- what is asked ------------------------------------------------------------------------------------------------------------ */

static bool number_after(const char *text, const char *word, unsigned long long *ret_number)
{
        size_t length = strlen(word);
        char *end;

        if (strncmp(text, word, length) != 0 || text[length] < '0' || text[length] > '9')
                return false;
        *ret_number = strtoull(text + length, &end, 10);
        return !*end;
}

/* "h0" */
static bool host_of(const char *text, uint32_t *ret_host) { char rest; return sscanf(text, "h%u%c", ret_host, &rest) == 1; }

/* "h0:2" */
static bool is_device(const char *text)
{
        unsigned host, device;
        char rest;

        return sscanf(text, "h%u:%u%c", &host, &device, &rest) == 2;
}

/* "gang h0:2 17" or "gang 2 17" */
static bool gang_of(const char *text, char ret_device[24], unsigned long long *ret_seq)
{
        char rest;

        return sscanf(text, "gang %23s %llu%c", ret_device, ret_seq, &rest) == 2;
}

/* What nothing else is called: an object by its id or name, a name or an object that somebody waits for, a host by its name. */
static enum pw_status why_called(struct pw_chain *chain, const char *text)
{
        struct pw_lister *lister = chain->lister;
        struct pw_object *object;
        struct pw_id id;
        uint32_t host;
        enum pw_status status = pw_find_object(lister->session, text, &object, lister->err);

        if (status == PW_OK)
                pw_why_object(chain, object);
        if (status != PW_NOT_FOUND)
                return status;
        if (pw_why_name(chain, text) || pw_why_opened(chain, text))
                return PW_OK;
        if (pw_id_parse(text, &id, NULL) == PW_OK)
                return status; /* which says whose it is */
        if (pw_why_host_called(chain, text, &host))
                return pw_why_host_asked(chain, host);
        return pw_error_set(lister->err, PW_NOT_FOUND,
                            "%s: neither an id, nor a name of tenant %s that is bound to an object of this host, nor run N, HOST, "
                            "DEVICE, gang DEVICE SEQ, pid N", text, lister->session->tenant->name);
}

/* "run 41", "41", "h0", "h0:2", "gang h0:2 17", "pid 4411", "digits[4411]", an id, or a name: a name that looks like one of the
 * others is hidden. */
static enum pw_status why(struct pw_chain *chain)
{
        const char *text = chain->lister->filter;
        unsigned long long number;
        uint32_t host;
        char device[24];

        if (number_after(text, "run ", &number) || number_after(text, "", &number))
                return pw_why_run_asked(chain, number);
        if (host_of(text, &host))
                return pw_why_host_asked(chain, host);
        if (is_device(text))
                return pw_why_device_asked(chain, text);
        if (gang_of(text, device, &number))
                return pw_why_gang(chain, device, number);
        if (number_after(text, "pid ", &number) || (*text && text[strlen(text) - 1] == ']'))
                return pw_why_process(chain, text);
        return why_called(chain, text);
}

enum pw_status pw_list_why(struct pw_lister *lister)
{
        struct pw_chain chain = { .lister = lister, .until_us = pw_now_us() + ANSWER_US };
        enum pw_status status = why(&chain);

        if (status == PW_OK && chain.cut) {
                chain.depth = 0;
                pw_chain_link(&chain, &(struct pw_cause_link){ "this answer", "more than is shown at once", 0,
                                                               "ask about one of those above" });
        }
        return status;
}
