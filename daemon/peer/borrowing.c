/* From what the core of borrowing wants to slots, decisions and messages. */
#include "daemon/peer/borrowing.h"

#include "base/memory.h"
#include "daemon/memory/freezer/proxies.h"
#include "daemon/peer/borrowed.h"
#include "daemon/peer/draining.h"
#include "daemon/peer/name/naming.h"
#include "daemon/peer/page/paging.h"
#include "daemon/peer/pull/pulling.h"
#include "daemon/session/tenant.h"
#include "store/object.h"
#include "store/proxy.h"

#include <stdlib.h>

#define PARTS 256u /* proxies of ended terms that are told so in a turn */

struct pw_borrowed *pw_borrowed_of(const struct pw_peers *peers, uint64_t number)
{
        return pw_table_get(&peers->borrowed, number);
}

struct pw_object *pw_borrowed_object(const struct pw_borrowed *borrowed)
{
        return borrowed->object ? pw_store_proxy_find(borrowed->peers->daemon->store, borrowed->cell) : NULL;
}

/* --- what is known ------------------------------------------------------------------------------------------------------------ */

/* A copy. False: out of memory; what was known stays. */
static bool note_known(struct pw_borrowed *borrowed, const struct pw_talk_known *known)
{
        uint8_t *own = malloc((size_t)known->value.count + known->text.count + 1);

        if (!own)
                return false;
        memcpy(own, known->value.at ? known->value.at : "", known->value.count);
        memcpy(own + known->value.count, known->text.at ? known->text.at : "", known->text.count);
        own[known->value.count + known->text.count] = 0;
        free(borrowed->own);
        borrowed->own = own;
        borrowed->known = *known;
        borrowed->known.value.at = own;
        borrowed->known.text.at = own + known->value.count;
        return true;
}

static void note_error(struct pw_borrowed *borrowed, enum pw_talk_state state, const struct pw_error *err)
{
        struct pw_talk_known known = { .state = state, .status = err->status,
                                       .text = { err->text, (uint32_t)strlen(err->text) } };

        if (note_known(borrowed, &known))
                return;
        known.text = (struct pw_talk_bytes){ 0 };
        borrowed->known = known;
}

/* --- deciding the slot -------------------------------------------------------------------------------------------------------- */

static bool is_pending(const struct pw_borrowed *borrowed)
{
        uint64_t word = pw_entry_load(pw_object_entry(borrowed->peers->daemon->store, borrowed->object));

        return pw_word_state(word) == PW_ENTRY_PENDING || borrowed->object->closing == PW_ENTRY_PENDING;
}

static void decide_value(struct pw_borrowed *borrowed)
{
        const struct pw_talk_known *known = &borrowed->known;
        struct pw_value_type type = { known->dtype, known->dims };

        if (is_pending(borrowed))
                pw_store_decide(borrowed->peers->daemon->store, borrowed->object,
                                &(struct pw_decision){ .status = PW_OK, .elsewhere = &type, .bytes = known->bytes }, pw_now_us());
}

/* An error, or the end of its value. */
static void decide_error(struct pw_borrowed *borrowed)
{
        struct pw_store *store = borrowed->peers->daemon->store;
        const char *text = borrowed->known.text.count ? borrowed->known.text.at : NULL;
        enum pw_status status = borrowed->known.status;

        pw_fetching_stop(borrowed);
        if (is_pending(borrowed))
                pw_store_decide(store, borrowed->object,
                                &(struct pw_decision){ .status = status, .text = text ? text : pw_status_text(status) },
                                pw_now_us());
        else if (pw_store_proxy_elsewhere(store, borrowed->object))
                pw_store_lose(store, borrowed->object, status, text, pw_now_us());
        pw_fetching_answer(borrowed, NULL);
}

void pw_borrowed_decide(struct pw_borrowed *borrowed)
{
        switch (borrowed->known.state) {
        case PW_TALK_NONE:
        case PW_TALK_PENDING:
                break;
        case PW_TALK_WHOLE:
        case PW_TALK_ELSEWHERE:
                decide_value(borrowed);
                break;
        default:
                decide_error(borrowed);
        }
        borrowed->peers->daemon->loop.more = true;
}

/* What is known has changed: a value that came along is put into a room first, so that who waits finds it. */
static void apply(struct pw_borrowed *borrowed)
{
        if (!pw_borrowed_object(borrowed))
                return; /* when there is a slot; or there is none any more */
        if (borrowed->known.state == PW_TALK_WHOLE && is_pending(borrowed) && pw_fetching_place(borrowed))
                return;
        pw_borrowed_decide(borrowed);
}

/* --- slots -------------------------------------------------------------------------------------------------------------------- */

static void made(void *context, struct pw_object *object, const struct pw_error *err)
{
        struct pw_borrowed *borrowed = context;

        borrowed->object = object;
        if (object) {
                borrowed->cell = pw_cell_object(0, object->segment, object->slot, object->generation);
                apply(borrowed);
        } else {
                borrowed->unmade = *err;
        }
        if (!object || !borrowed->replica)
                pw_opening_answer_all(borrowed);
        if (!object)
                pw_borrowed_settle(borrowed);
        pw_borrowing_act(borrowed->peers);
}

static struct pw_tenant *tenant_of(const struct pw_peers *peers, struct pw_talk_bytes name)
{
        struct pw_tenant *tenant;

        for (uint32_t at = 0; (tenant = pw_table_next(&peers->daemon->registry.tenants, &at));)
                if (strlen(tenant->name) == name.count && !memcmp(tenant->name, name.at, name.count))
                        return tenant;
        return NULL;
}

/* NULL: out of memory. */
static struct pw_borrowed *borrowed_new(struct pw_peers *peers, struct pw_proxy *proxy)
{
        struct pw_borrowed *borrowed = calloc(1, sizeof *borrowed);
        struct pw_proxy_row row;

        if (!borrowed || !pw_table_put(&peers->borrowed, peers->next_borrowed + 1, borrowed)) {
                free(borrowed);
                return NULL;
        }
        pw_proxy_row(proxy, &row);
        borrowed->number = ++peers->next_borrowed;
        borrowed->peers = peers;
        borrowed->proxy = proxy;
        borrowed->id = row.id;
        borrowed->tenant = tenant_of(peers, row.tenant);
        pw_list_init(&borrowed->link);
        pw_list_init(&borrowed->openers);
        pw_list_init(&borrowed->fetches);
        pw_proxy_set_place(proxy, borrowed);
        return borrowed;
}

static enum pw_status make_slot(struct pw_borrowed *borrowed, const struct pw_talk_known *known, struct pw_error *ret_err)
{
        struct pw_proxy_want want = { .tenant = borrowed->tenant, .home = borrowed->id, .number = borrowed->number,
                                      .until_us = UINT64_MAX, .made = made, .context = borrowed };

        if (!borrowed->tenant)
                return pw_error_set(ret_err, PW_GONE, "nobody of its tenant is here any more");
        if (known && !note_known(borrowed, known))
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for an object of another host");
        return pw_proxies_make(borrowed->peers->daemon, &want, ret_err);
}

/* Those who wait are told by answers that come; then the core hears that there is no slot. */
static void make(struct pw_peers *peers, const struct pw_borrow_action *action)
{
        struct pw_borrowed *borrowed = borrowed_new(peers, action->proxy);

        if (!borrowed)
                return; /* its place is NULL: answered so, and freed when the answers are given */
        if (make_slot(borrowed, action->known, &borrowed->unmade) != PW_OK)
                pw_list_append(&peers->unmade, &borrowed->link);
        else
                borrowed->unmade.status = PW_OK;
}

void pw_borrowed_settle(struct pw_borrowed *borrowed)
{
        struct pw_peers *peers = borrowed->peers;
        struct pw_proxy *proxy = borrowed->proxy;

        borrowed->proxy = NULL;
        if (proxy)
                pw_borrow_freed(peers->borrow, proxy);
        if (borrowed->object || borrowed->pulling)
                return; /* the store has the slot, or a thread a room */
        (void)pw_table_remove(&peers->borrowed, borrowed->number);
        pw_list_remove(&borrowed->link);
        free(borrowed->own);
        free(borrowed);
}

bool pw_borrowed_ends(const struct pw_borrowed *borrowed) { return borrowed->object && !pw_borrowed_object(borrowed); }

/* The store has freed the slot. */
static void freed(struct pw_daemon *daemon, uint64_t number)
{
        struct pw_borrowed *borrowed = pw_borrowed_of(daemon->peers, number);
        struct pw_list openers;
        struct pw_id id;

        if (!borrowed)
                return;
        id = borrowed->id;
        pw_list_init(&openers);
        pw_list_splice(&openers, &borrowed->openers);
        borrowed->object = NULL;
        pw_fetching_stop(borrowed);
        pw_fetching_answer(borrowed, NULL);
        pw_borrowed_settle(borrowed);
        pw_opening_open_anew(daemon->peers, &openers, id);
        pw_borrowing_act(daemon->peers);
}

/* --- what the core wants ------------------------------------------------------------------------------------------------------ */

static struct pw_borrowed *place_of(struct pw_proxy *proxy)
{
        struct pw_proxy_row row;

        pw_proxy_row(proxy, &row);
        return row.place;
}

static void tell(const struct pw_borrow_action *action)
{
        struct pw_borrowed *borrowed = place_of(action->proxy);

        if (borrowed && action->known && note_known(borrowed, action->known))
                apply(borrowed);
}

static void lose(const struct pw_borrow_action *action)
{
        struct pw_borrowed *borrowed = place_of(action->proxy);
        struct pw_error err;

        (void)!pw_borrow_explain(action, &err);
        if (!borrowed)
                return;
        note_error(borrowed, PW_TALK_ENDED, &err);
        if (pw_borrowed_object(borrowed))
                pw_borrowed_decide(borrowed);
}

static void answer(struct pw_peers *peers, const struct pw_borrow_action *action)
{
        struct pw_borrowed *borrowed = action->proxy ? place_of(action->proxy) : NULL;
        struct pw_error err;

        if (!action->proxy)
                (void)!pw_borrow_explain(action, &err);
        else if (!borrowed)
                (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for an object of another host");
        pw_opening_answer(peers, action->opener, borrowed, &err);
}

static void renewed(const struct pw_borrow_action *action)
{
        const struct pw_borrowed *borrowed = place_of(action->proxy);

        if (borrowed && borrowed->pulling)
                pw_pulling_renewed(borrowed->pulling, action->host);
}

static void fetch(const struct pw_borrow_action *action)
{
        const struct pw_borrowed *borrowed = place_of(action->proxy);

        if (borrowed)
                pw_fetching_wanted(borrowed->peers->daemon, borrowed->number);
}

static void want(struct pw_peers *peers, uint32_t number)
{
        const struct pw_host *host = pw_hosts_get(&peers->hosts, number);

        if (host && host->peer)
                pw_peer_want(host->peer, pw_boot_us());
}

static void act(struct pw_peers *peers, const struct pw_borrow_action *action)
{
        switch (action->kind) {
        case PW_BORROW_SEND: pw_peers_send(peers, action->host, PW_PEER_BODY_TALK, action->frame); break;
        case PW_BORROW_WANT: want(peers, action->host); break;
        case PW_BORROW_MAKE: make(peers, action); break;
        case PW_BORROW_ANSWER: answer(peers, action); break;
        case PW_BORROW_TELL: tell(action); break;
        case PW_BORROW_FETCH: fetch(action); break;
        case PW_BORROW_LOSE: lose(action); break;
        case PW_BORROW_RENEWED: renewed(action); break;
        }
}

void pw_borrowing_act(struct pw_peers *peers)
{
        struct pw_borrow_action action;
        struct pw_borrowed *borrowed;
        bool any = true;

        if (peers->acting)
                return; /* whoever does goes on */
        peers->acting = true;
        while (any) {
                for (any = false; pw_borrow_next(peers->borrow, &action); any = true)
                        act(peers, &action);
                pw_list_each(&peers->unmade, borrowed, struct pw_borrowed, link)
                        pw_borrowed_settle(borrowed);
        }
        peers->acting = false;
}

/* --- events ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_borrowing_hear(struct pw_peers *peers, uint32_t host, const struct pw_talk_message *message,
                                 struct pw_error *ret_err)
{
        enum pw_status status = pw_borrow_receive(peers->borrow, host, message, ret_err);

        pw_borrowing_act(peers);
        return status;
}

enum pw_status pw_borrowing_met(struct pw_peers *peers, uint32_t host, uint32_t epoch, struct pw_error *ret_err)
{
        enum pw_status status = pw_borrow_met(peers->borrow, host, epoch, ret_err);

        pw_borrowing_act(peers);
        return status;
}

void pw_borrowing_ended(struct pw_peers *peers, uint32_t host)
{
        pw_borrow_ended(peers->borrow, host);
        pw_borrowing_act(peers);
        peers->daemon->loop.more = true;
}

bool pw_borrowing_turn(struct pw_peers *peers)
{
        bool more = pw_borrow_turn(peers->borrow, pw_boot_us(), PARTS);

        pw_borrowing_act(peers);
        return more;
}

uint64_t pw_borrowing_next_us(const struct pw_peers *peers) { return pw_borrow_next_us(peers->borrow); }

void pw_borrowing_done(struct pw_peers *peers)
{
        struct pw_borrowed *borrowed;

        pw_opening_done(peers);
        for (uint32_t at = 0; (borrowed = pw_table_next(&peers->borrowed, &at));) {
                free(borrowed->own);
                free(borrowed);
        }
        pw_table_done(&peers->borrowed);
        pw_borrow_free(peers->borrow);
}

/* --- those that there are ----------------------------------------------------------------------------------------------------- */

struct pw_object *pw_borrowing_find(struct pw_daemon *daemon, const char *tenant, struct pw_id id)
{
        struct pw_proxy *proxy = pw_borrow_find(daemon->peers->borrow, id, tenant);

        return proxy ? pw_borrowed_object(place_of(proxy)) : NULL;
}

struct pw_object *pw_borrowing_whole(struct pw_peers *peers, struct pw_id id, struct pw_talk_bytes tenant)
{
        struct pw_proxy *proxy = pw_borrow_whole(peers->borrow, id, tenant);
        const struct pw_borrowed *borrowed = proxy ? place_of(proxy) : NULL;
        struct pw_object *object = borrowed ? pw_borrowed_object(borrowed) : NULL;

        return object && !pw_store_proxy_elsewhere(peers->daemon->store, object) ? object : NULL;
}

static void see_bytes(const struct pw_borrowed *borrowed, struct pw_borrowing_seen *seen)
{
        seen->asks_slot = !borrowed->object && borrowed->unmade.status == PW_OK;
        seen->tenant = borrowed->tenant;
        seen->bytes = borrowed->known.bytes;
        seen->room_token = borrowed->replica ? pw_replica_token(borrowed->replica) : 0;
        seen->pulls = borrowed->pulling;
        if (borrowed->pulling)
                seen->pull = pw_pulling_see(borrowed->pulling);
}

bool pw_borrowing_see(const struct pw_daemon *daemon, const char *tenant, struct pw_id id, struct pw_borrowing_seen *ret_seen)
{
        const struct pw_peers *peers = daemon->peers;
        struct pw_proxy_row row;

        if (!peers || !peers->joined || !pw_borrow_see(peers->borrow, id, tenant, &row))
                return false;
        *ret_seen = (struct pw_borrowing_seen){ .state = row.state, .lender = row.lender };
        if (row.place)
                see_bytes(row.place, ret_seen);
        return true;
}

void pw_borrowing_each_wait(const struct pw_daemon *daemon, const struct pw_dsession *session,
                            void (*row)(void *, const struct pw_wait_row *), void *context)
{
        if (!daemon->peers || !daemon->peers->joined)
                return;
        pw_opening_each_wait(daemon->peers, session, row, context);
        pw_fetching_each_wait(daemon->peers, session, row, context);
        pw_naming_each_wait(daemon->peers, session, row, context);
}

static void session_end(struct pw_dsession *session)
{
        pw_opening_session_end(session);
        pw_fetching_session_end(session);
        pw_naming_session_end(session);
        pw_paging_session_end(session);
        pw_draining_session_end(session);
}

const struct pw_foreign pw_borrowing_foreign = { .find = pw_borrowing_find, .open = pw_opening_open, .fetch = pw_fetching_fetch,
                                                 .name = pw_naming_ask, .named = pw_naming_told, .session_end = session_end,
                                                 .freed = freed, .wanted = pw_fetching_wanted };
