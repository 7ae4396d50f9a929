/* Sessions that open objects of other hosts. */
#include "base/memory.h"
#include "daemon/memory/freezer/proxies.h"
#include "daemon/peer/asks.h"
#include "daemon/peer/borrowed.h"
#include "daemon/peer/taking.h"
#include "daemon/session/output.h"
#include "store/object.h"

#include <stdlib.h>

struct pw_opening {
        struct pw_list link;  /* in the openers of what has no slot yet, or loses it; else alone: the core has it */
        struct pw_list of_all; /* in peers->opening */
        uint64_t number;
        uint32_t session;
        struct pw_tenant *tenant;
        struct pw_taking *taking; /* NULL: of a session, as these two are */
        uint64_t request;
        struct pw_id id;
        uint64_t since_us, until_us; /* CLOCK_MONOTONIC; until UINT64_MAX: for ever */
};

static void forget(struct pw_peers *peers, struct pw_opening *opening)
{
        (void)pw_table_remove(&peers->openings, opening->number);
        if (!opening->taking)
                pw_asks_end(opening->tenant, pw_session_get(&peers->daemon->registry, opening->session));
        pw_list_remove(&opening->link);
        pw_list_remove(&opening->of_all);
        free(opening);
}

/* --- answers ------------------------------------------------------------------------------------------------------------------ */

/* The reference is taken before the reply leaves. */
static void hand_over(struct pw_borrowed *borrowed, struct pw_dsession *session, uint64_t request)
{
        struct pw_store *store = session->daemon->store;
        struct pw_object *object = pw_borrowed_object(borrowed);
        struct pw_error err;

        if (!object)
                pw_session_reply_error(session, request, PW_GONE, "it was let go of meanwhile: open it again");
        else if (pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_SESSION, session->number }, &err) == PW_OK)
                pw_session_reply_object(session, request, borrowed->id,
                                        pw_cell_object(0, object->segment, object->slot, object->generation));
        else
                pw_session_reply_error(session, request, err.status, err.text);
}

/* NULL: `why` there is none. A session that does not read its replies ends with one, and all that it opens with it: so this is over
 * before it is told. */
static void answer(struct pw_peers *peers, struct pw_opening *opening, struct pw_borrowed *borrowed, const struct pw_error *why)
{
        struct pw_dsession *session = pw_session_get(&peers->daemon->registry, opening->session);
        struct pw_taking *taking = opening->taking;
        uint64_t request = opening->request;

        forget(peers, opening);
        if (taking)
                pw_taking_opened(taking, borrowed);
        else if (session && borrowed)
                hand_over(borrowed, session, request);
        else if (session)
                pw_session_reply_error(session, request, why->status, why->text);
}

void pw_opening_answer(struct pw_peers *peers, uint64_t opener, struct pw_borrowed *borrowed, const struct pw_error *why)
{
        struct pw_opening *opening = pw_table_get(&peers->openings, opener);

        if (!opening)
                return; /* its session has ended */
        if (!borrowed)
                answer(peers, opening, NULL, why);
        else if (borrowed->unmade.status != PW_OK)
                answer(peers, opening, NULL, &borrowed->unmade);
        else if (borrowed->handed_out && !pw_borrowed_ends(borrowed))
                answer(peers, opening, borrowed, NULL);
        else
                pw_list_append(&borrowed->openers, &opening->link);
}

void pw_opening_answer_all(struct pw_borrowed *borrowed)
{
        while (!pw_list_empty(&borrowed->openers))
                answer(borrowed->peers, pw_list_first(&borrowed->openers, struct pw_opening, link),
                       borrowed->object ? borrowed : NULL, &borrowed->unmade);
        if (pw_borrowed_object(borrowed) && !borrowed->handed_out)
                pw_proxies_handed_out(borrowed->peers->daemon, borrowed->object);
        borrowed->handed_out = true;
        borrowed->peers->daemon->loop.more = true;
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

static uint64_t boot_of(uint64_t until_us)
{
        return until_us == UINT64_MAX ? UINT64_MAX : until_us + (pw_boot_us() - pw_now_us());
}

/* What is said to other hosts of a tenant is its name there too. */
static enum pw_status check_tenant(const struct pw_dsession *session, struct pw_error *ret_err)
{
        if (strncmp(session->tenant->name, "uid-", 4))
                return PW_OK;
        return pw_error_set(ret_err, PW_DENIED, "tenant %s has no name, so that no other host knows which objects are its: give "
                            "the user a name on this host, the same on all, or see --tenant of pathwaysd",
                            session->tenant->name);
}

static enum pw_status ask(struct pw_dsession *session, struct pw_opening *opening, struct pw_id id, struct pw_error *ret_err)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_borrow_request ask = { .id = id, .tenant = session->tenant->name, .opener = opening->number,
                                         .until_us = boot_of(opening->until_us), .now_us = pw_boot_us() };
        struct pw_proxy_row row;
        struct pw_proxy *proxy;
        enum pw_status status = check_tenant(session, ret_err);

        if (status == PW_OK && pw_id_host(id) != session->daemon->host && !pw_hosts_get(&peers->hosts, pw_id_host(id)))
                status = pw_error_set(ret_err, PW_NOT_FOUND, "host h%u is not known here: see pathways hosts", pw_id_host(id));
        if (status == PW_OK)
                status = pw_borrow_open(peers->borrow, &ask, &proxy, ret_err);
        if (status != PW_OK)
                return status;
        pw_proxy_row(proxy, &row);
        pw_opening_answer(peers, opening->number, row.place, NULL);
        return PW_OK;
}

static void begin(struct pw_dsession *session, struct pw_opening *opening, struct pw_id id)
{
        char text[PW_ID_TEXT_BYTES];
        struct pw_error err;
        enum pw_status status = ask(session, opening, id, &err);

        if (status == PW_OK || status == PW_NOT_READY)
                return;
        pw_error_prefix(&err, "%s", pw_id_format(id, text));
        answer(session->daemon->peers, opening, NULL, &err);
}

/* NULL: out of memory. */
static struct pw_opening *opening_new(struct pw_peers *peers, const struct pw_opening *as)
{
        struct pw_opening *opening = malloc(sizeof *opening);

        if (!opening || !pw_table_put(&peers->openings, peers->next_opening + 1, opening)) {
                free(opening);
                return NULL;
        }
        *opening = *as;
        opening->number = ++peers->next_opening;
        opening->since_us = pw_now_us();
        pw_list_init(&opening->link);
        pw_list_init(&opening->of_all);
        pw_list_append(&peers->opening, &opening->of_all);
        return opening;
}

/* This host opens it itself. */
static void take(struct pw_peers *peers, struct pw_opening *opening)
{
        struct pw_borrow_request ask = { .id = opening->id, .tenant = pw_taking_tenant(opening->taking), .opener = opening->number,
                                         .until_us = boot_of(opening->until_us), .now_us = pw_boot_us() };
        struct pw_proxy_row row;
        struct pw_proxy *proxy;
        struct pw_error err;
        enum pw_status status = pw_borrow_open(peers->borrow, &ask, &proxy, &err);

        if (status == PW_OK) {
                pw_proxy_row(proxy, &row);
                pw_opening_answer(peers, opening->number, row.place, NULL);
        } else if (status != PW_NOT_READY) {
                answer(peers, opening, NULL, &err);
        }
}

void pw_opening_take(struct pw_peers *peers, struct pw_taking *taking, struct pw_id id, uint64_t until_us)
{
        struct pw_opening *opening = opening_new(peers, &(struct pw_opening){ .taking = taking, .id = id, .until_us = until_us });

        if (opening)
                take(peers, opening);
        else
                pw_taking_opened(taking, NULL);
        pw_borrowing_act(peers);
        peers->daemon->loop.more = true;
}

void pw_opening_open(struct pw_dsession *session, uint64_t request, struct pw_id id, uint64_t until_us)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_opening *opening;
        struct pw_error err;

        if (pw_asks_begin(session, &err) != PW_OK) {
                pw_session_reply_error(session, request, err.status, err.text);
                return;
        }
        opening = opening_new(peers, &(struct pw_opening){ .session = session->number, .tenant = session->tenant,
                                                           .request = request, .id = id, .until_us = until_us });
        if (!opening) {
                pw_asks_end(session->tenant, session);
                pw_session_reply_error(session, request, PW_NO_MEMORY, "pathwaysd is out of memory");
                return;
        }
        begin(session, opening, id);
        pw_borrowing_act(peers);
        session->daemon->loop.more = true;
}

/* A session that has ended has no opening. */
void pw_opening_open_anew(struct pw_peers *peers, struct pw_list *openers, struct pw_id id)
{
        struct pw_opening *opening;

        pw_list_each(openers, opening, struct pw_opening, link) {
                pw_list_remove(&opening->link);
                if (opening->taking)
                        take(peers, opening);
                else
                        begin(pw_session_get(&peers->daemon->registry, opening->session), opening, id);
        }
}

void pw_opening_session_end(struct pw_dsession *session)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_opening *opening;

        pw_list_each(&peers->opening, opening, struct pw_opening, of_all) {
                if (opening->taking || opening->session != session->number)
                        continue;
                pw_borrow_forget(peers->borrow, opening->number);
                forget(peers, opening);
        }
        pw_borrowing_act(peers);
}

void pw_opening_each_wait(const struct pw_peers *peers, const struct pw_dsession *session,
                          void (*row)(void *, const struct pw_wait_row *), void *context)
{
        const struct pw_opening *opening;

        for (uint32_t at = 0; (opening = pw_table_next(&peers->openings, &at));) {
                struct pw_dsession *asker = pw_session_get(&peers->daemon->registry, opening->session);

                if (asker && (!session || asker == session))
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_OPENING, .session = asker, .id = opening->id,
                                                            .since_us = opening->since_us, .until_us = opening->until_us });
        }
}

void pw_opening_done(struct pw_peers *peers)
{
        struct pw_opening *opening;

        for (uint32_t at = 0; (opening = pw_table_next(&peers->openings, &at));)
                free(opening);
        pw_table_done(&peers->openings);
}
