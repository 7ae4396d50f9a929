/* Borrowing: proxies and their states, those here who open them, and what is to be done. */
#include "cluster/borrow/borrow_private.h"

#include "cluster/link/link.h"

#include "base/transition.h"

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_PROXY_##state)

static const uint8_t rules[PW_PROXY_STATES][PW_PROXY_EVENTS] = {
        [PW_PROXY_NONE] = { [PW_PROXY_SEARCH] = TO(SEARCHING), [PW_PROXY_ASK] = TO(OPENING) },
        [PW_PROXY_SEARCHING] = { [PW_PROXY_ASK] = TO(OPENING), [PW_PROXY_REFUSE] = TO(NONE) },
        [PW_PROXY_OPENING] = { [PW_PROXY_SEARCH] = TO(SEARCHING), [PW_PROXY_ASK] = TO(OPENING), [PW_PROXY_HOLD] = TO(PENDING),
                               [PW_PROXY_READY] = TO(ELSEWHERE), [PW_PROXY_HAVE] = TO(WHOLE), [PW_PROXY_END] = TO(ENDED),
                               [PW_PROXY_REFUSE] = TO(NONE), [PW_PROXY_FREE] = TO(NONE) },
        [PW_PROXY_PENDING] = { [PW_PROXY_READY] = TO(ELSEWHERE), [PW_PROXY_HAVE] = TO(WHOLE), [PW_PROXY_TERM] = TO(LOST),
                               [PW_PROXY_FREE] = TO(NONE) },
        [PW_PROXY_ELSEWHERE] = { [PW_PROXY_HAVE] = TO(WHOLE), [PW_PROXY_END] = TO(ENDED), [PW_PROXY_TERM] = TO(LOST),
                                 [PW_PROXY_FREE] = TO(NONE), [PW_PROXY_MOVE] = TO(MOVING) },
        [PW_PROXY_WHOLE] = { [PW_PROXY_END] = TO(WHOLE), [PW_PROXY_TERM] = TO(ALONE), [PW_PROXY_FREE] = TO(NONE) },
        [PW_PROXY_ENDED] = { [PW_PROXY_TERM] = TO(LOST), [PW_PROXY_FREE] = TO(NONE) },
        [PW_PROXY_ALONE] = { [PW_PROXY_ASK] = TO(RENEWING), [PW_PROXY_FREE] = TO(NONE) },
        /* freed while it was asked for: the answer comes, and then it is released, or somebody wants it again */
        [PW_PROXY_RENEWING] = { [PW_PROXY_READY] = TO(WHOLE), [PW_PROXY_HAVE] = TO(WHOLE), [PW_PROXY_END] = TO(WHOLE),
                                [PW_PROXY_REFUSE] = TO(ALONE), [PW_PROXY_TERM] = TO(ALONE), [PW_PROXY_FREE] = TO(OPENING) },
        [PW_PROXY_MOVING] = { [PW_PROXY_READY] = TO(ELSEWHERE), [PW_PROXY_REFUSE] = TO(ELSEWHERE), [PW_PROXY_HAVE] = TO(WHOLE),
                              [PW_PROXY_END] = TO(ENDED), [PW_PROXY_TERM] = TO(FOLLOWING), [PW_PROXY_FREE] = TO(NONE) },
        [PW_PROXY_FOLLOWING] = { [PW_PROXY_READY] = TO(ELSEWHERE), [PW_PROXY_HAVE] = TO(RENEWING), [PW_PROXY_END] = TO(ENDED),
                                 [PW_PROXY_TERM] = TO(LOST), [PW_PROXY_FREE] = TO(OPENING) },
        [PW_PROXY_LOST] = { [PW_PROXY_FREE] = TO(NONE) },
};
static const char *const states[] = { "none", "searching", "opening", "pending", "elsewhere", "whole", "ended", "alone",
                                      "renewing", "moving", "following", "lost" };
static const char *const events[] = { "search", "ask", "hold", "ready", "have", "end", "refuse", "term", "free", "move" };
static const struct pw_transition_kind kind = { "proxy", 3, true, states, events };
_Static_assert(sizeof states / sizeof *states == PW_PROXY_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_PROXY_EVENTS, "each event has a word");

bool pw_proxy_may(const struct pw_proxy *proxy, enum pw_proxy_event event) { return rules[proxy->state][event]; }

/* The one setter. False: the event has no meaning in its state. */
bool pw_proxy_step(struct pw_borrow *borrow, struct pw_proxy *proxy, enum pw_proxy_event event)
{
        const struct pw_observer *observer = borrow->params.observer;
        enum pw_proxy_state from = proxy->state;
        uint8_t rule = rules[from][event];

        if (!rule)
                return false;
        proxy->state = (enum pw_proxy_state)(rule - 1);
        if (observer)
                observer->tell(observer->context, &(struct pw_transition){ .kind = &kind,
                               .id = { proxy->id.place, proxy->id.epoch, proxy->id.generation }, .from = (uint8_t)from,
                               .to = (uint8_t)proxy->state, .cause = (uint8_t)event });
        return true;
}

/* --- actions ---------------------------------------------------------------------------------------------------------------- */

bool pw_borrow_prepare(struct pw_borrow *borrow)
{
        if (borrow->first == borrow->count)
                borrow->first = borrow->count = 0;
        return pw_grow((void **)&borrow->actions, &borrow->capacity, borrow->count + borrow->promised + 3, sizeof *borrow->actions);
}

void pw_borrow_act(struct pw_borrow *borrow, const struct pw_borrow_action *action)
{
        borrow->actions[borrow->count++] = *action;
}

bool pw_borrow_next(struct pw_borrow *borrow, struct pw_borrow_action *ret_action)
{
        if (borrow->first == borrow->count)
                return false;
        *ret_action = borrow->actions[borrow->first++];
        return true;
}

enum pw_status pw_borrow_explain(const struct pw_borrow_action *action, struct pw_error *ret_err)
{
        if (action->known)
                return pw_error_set(ret_err, action->status, "host %u says: %.*s", action->host, (int)action->known->text.count,
                                    action->known->text.count ? (const char *)action->known->text.at : "");
        if (action->status == PW_DEADLINE)
                return pw_error_set(ret_err, PW_DEADLINE, "host %u has not answered", action->host);
        if (action->status == PW_GONE)
                return pw_error_set(ret_err, PW_GONE, "host %u drains and does not have it any more, and no other has a replica",
                                    action->host);
        if (action->kind == PW_BORROW_ANSWER)
                return pw_error_set(ret_err, action->status, "host %u is lost in its epoch %u, and no other has a replica",
                                    action->host, action->epoch);
        return pw_error_set(ret_err, action->status, "host %u, epoch %u, held it and was given up", action->host, action->epoch);
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_borrow_new(const struct pw_borrow_params *params, struct pw_borrow **ret_borrow, struct pw_error *ret_err)
{
        struct pw_borrow *borrow = calloc(1, sizeof *borrow);

        if (!borrow)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what this host borrows");
        borrow->params = *params;
        pw_list_init(&borrow->all_lost);
        pw_list_init(&borrow->unsettled);
        pw_list_init(&borrow->due);
        pw_list_init(&borrow->drainers);
        pw_list_init(&borrow->aging);
        *ret_borrow = borrow;
        return PW_OK;
}

struct pw_borrow_peer *pw_borrow_peer(struct pw_borrow *borrow, uint32_t host)
{
        struct pw_borrow_peer *peer = pw_table_get(&borrow->peers, host);

        if (peer)
                return peer;
        peer = calloc(1, sizeof *peer);
        if (!peer || !pw_table_put(&borrow->peers, host, peer)) {
                free(peer);
                return NULL;
        }
        peer->host = host;
        pw_list_init(&peer->borrowed);
        pw_list_init(&peer->alone);
        pw_list_init(&peer->asks);
        pw_list_init(&peer->draining);
        pw_list_init(&peer->staying);
        pw_list_init(&peer->moves);
        pw_list_init(&peer->waiting);
        pw_list_init(&peer->batch);
        pw_list_init(&peer->due);
        return peer;
}

/* Those of one key; the tables go as a whole. */
static void free_chain(struct pw_proxy *proxy)
{
        while (proxy) {
                struct pw_proxy *next = proxy->same_key;
                struct pw_opener *opener;

                pw_list_each(&proxy->openers, opener, struct pw_opener, link)
                        free(opener);
                pw_link_frame_free(proxy->release);
                free(proxy);
                proxy = next;
        }
}

void pw_borrow_free(struct pw_borrow *borrow)
{
        struct pw_borrow_action action;
        struct pw_borrow_peer *peer;
        struct pw_proxy *proxy;

        if (!borrow)
                return;
        while (pw_borrow_next(borrow, &action))
                pw_link_frame_free(action.frame);
        while (!pw_list_empty(&borrow->all_lost))
                pw_proxy_forget(borrow, pw_list_first(&borrow->all_lost, struct pw_proxy, of));
        for (uint32_t at = 0; (proxy = pw_table_next(&borrow->proxies, &at));)
                free_chain(proxy);
        pw_borrow_search_done(borrow);
        pw_borrow_drain_done(borrow);
        for (uint32_t at = 0; (peer = pw_table_next(&borrow->peers, &at));)
                free(peer);
        pw_table_done(&borrow->peers);
        pw_table_done(&borrow->proxies);
        pw_table_done(&borrow->opens);
        pw_table_done(&borrow->openers);
        pw_heap_done(&borrow->deadlines);
        free(borrow->actions);
        free(borrow);
}

/* --- those that there are --------------------------------------------------------------------------------------------------- */

uint64_t pw_borrow_id_key(const struct pw_borrow *borrow, struct pw_id id)
{
        return pw_hash(&borrow->params.secret, &id, sizeof id);
}

/* What an open of it finds; NULL: nothing. */
static struct pw_proxy *find(const struct pw_borrow *borrow, struct pw_id id, struct pw_talk_bytes tenant)
{
        struct pw_proxy *proxy = pw_table_get(&borrow->proxies, pw_borrow_id_key(borrow, id));

        while (proxy && (!pw_id_equal(proxy->id, id) || proxy->tenant_bytes != tenant.count ||
                         memcmp(proxy->tenant, tenant.at, tenant.count)))
                proxy = proxy->same_key;
        return proxy;
}

void pw_proxy_unlist(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_proxy *first = pw_table_get(&borrow->proxies, proxy->key), **at = &first;

        if (!proxy->listed)
                return;
        proxy->listed = false;
        while (*at != proxy)
                at = &(*at)->same_key;
        *at = proxy->same_key;
        if (!first)
                (void)pw_table_remove(&borrow->proxies, proxy->key);
        else
                (void)!pw_table_put(&borrow->proxies, proxy->key, first); /* the key is there */
}

void pw_proxy_forget(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_opener *opener;

        pw_list_each(&proxy->openers, opener, struct pw_opener, link)
                pw_opener_forget(borrow, opener);
        pw_proxy_unlist(borrow, proxy);
        pw_proxy_let_go(borrow, proxy);
        pw_list_remove(&proxy->of);
        borrow->promised--;
        free(proxy);
}

static struct pw_proxy *proxy_new(struct pw_borrow *borrow, struct pw_id id, struct pw_talk_bytes tenant)
{
        struct pw_borrow_peer *home = pw_borrow_peer(borrow, pw_id_host(id));
        struct pw_proxy *proxy = home ? calloc(1, sizeof *proxy + tenant.count) : NULL;

        if (!proxy)
                return NULL;
        proxy->home = home;
        proxy->id = id;
        proxy->key = pw_borrow_id_key(borrow, id);
        proxy->same_key = pw_table_get(&borrow->proxies, proxy->key);
        proxy->tenant_bytes = (uint8_t)tenant.count;
        memcpy(proxy->tenant, tenant.at, tenant.count);
        pw_list_init(&proxy->of);
        pw_list_init(&proxy->openers);
        if (!pw_table_put(&borrow->proxies, proxy->key, proxy)) {
                free(proxy);
                return NULL;
        }
        proxy->listed = true;
        borrow->promised++;
        return proxy;
}

/* --- those who open --------------------------------------------------------------------------------------------------------- */

static enum pw_status opener_new(struct pw_borrow *borrow, struct pw_proxy *proxy, const struct pw_borrow_request *request)
{
        struct pw_opener *opener = calloc(1, sizeof *opener);

        if (!opener)
                return PW_NO_MEMORY;
        opener->proxy = proxy;
        opener->number = request->opener;
        pw_list_append(&proxy->openers, &opener->link);
        proxy->opener_count++;
        borrow->promised++;
        if (pw_table_put(&borrow->openers, request->opener, opener) &&
            pw_heap_add(&borrow->deadlines, &opener->deadline, request->until_us) && pw_borrow_prepare(borrow))
                return PW_OK;
        pw_opener_forget(borrow, opener);
        return PW_NO_MEMORY;
}

void pw_opener_forget(struct pw_borrow *borrow, struct pw_opener *opener)
{
        pw_heap_remove(&borrow->deadlines, &opener->deadline);
        (void)pw_table_remove(&borrow->openers, opener->number);
        pw_list_remove(&opener->link);
        opener->proxy->opener_count--;
        borrow->promised--;
        free(opener);
}

void pw_borrow_forget(struct pw_borrow *borrow, uint64_t opener)
{
        struct pw_opener *found = pw_table_get(&borrow->openers, opener);

        if (found)
                pw_opener_forget(borrow, found);
}

void pw_proxy_answer(struct pw_borrow *borrow, struct pw_proxy *proxy, const struct pw_borrow_action *answer)
{
        struct pw_opener *opener;
        struct pw_borrow_action action = *answer;

        pw_list_each(&proxy->openers, opener, struct pw_opener, link) {
                action.kind = PW_BORROW_ANSWER;
                action.opener = opener->number;
                pw_borrow_act(borrow, &action);
                pw_opener_forget(borrow, opener);
        }
}

static bool has_slot(const struct pw_proxy *proxy) { return proxy->state >= PW_PROXY_PENDING; }

/* Who opens what nobody here has. */
static enum pw_status open_first(struct pw_borrow *borrow, const struct pw_borrow_request *request, struct pw_talk_bytes tenant,
                                 struct pw_error *ret_err)
{
        struct pw_proxy *proxy = proxy_new(borrow, request->id, tenant);
        char text[PW_ID_TEXT_BYTES];

        if (proxy && !pw_proxy_successor(borrow, proxy) && !pw_proxy_home_is_there(borrow, proxy) &&
            pw_borrow_search_missed(borrow, request->id)) {
                if (pw_borrow_prepare(borrow) && proxy->home->state == PW_BORROW_AWAY && !proxy->home->wanted_again) {
                        proxy->home->wanted_again = true;
                        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_WANT, .host = proxy->home->host });
                }
                pw_proxy_forget(borrow, proxy);
                return pw_error_set(ret_err, PW_HOST_LOST, "the host of %s is lost, and no other has a replica",
                                    pw_id_format(request->id, text));
        }
        if (proxy && opener_new(borrow, proxy, request) == PW_OK && pw_proxy_route(borrow, proxy) == PW_OK)
                return pw_error_set(ret_err, PW_NOT_READY, "%s is being opened", pw_id_format(request->id, text));
        if (proxy)
                pw_proxy_forget(borrow, proxy);
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to open %s", pw_id_format(request->id, text));
}

enum pw_status pw_borrow_open(struct pw_borrow *borrow, const struct pw_borrow_request *request, struct pw_proxy **ret_proxy,
                              struct pw_error *ret_err)
{
        struct pw_talk_bytes tenant = { request->tenant, (uint32_t)strnlen(request->tenant, PW_TALK_TENANT_MAX + 1) };
        struct pw_proxy *proxy = find(borrow, request->id, tenant);

        borrow->now_us = pw_max_u64(borrow->now_us, request->now_us);
        if (!tenant.count || tenant.count > PW_TALK_TENANT_MAX || !pw_id_host(request->id))
                return pw_error_set(ret_err, PW_INVALID, "a tenant's name has 1 to %u bytes, and an id a host", PW_TALK_TENANT_MAX);
        if (pw_table_get(&borrow->openers, request->opener))
                return pw_error_set(ret_err, PW_EXISTS, "opener %lu waits already", (unsigned long)request->opener);
        if (proxy && proxy->number && !pw_proxy_is_current(proxy)) {
                if (pw_proxy_settle(borrow, proxy) != PW_OK)
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to settle what an open finds");
                proxy = find(borrow, request->id, tenant);
        }
        if (!proxy)
                return open_first(borrow, request, tenant, ret_err);
        if (has_slot(proxy)) {
                *ret_proxy = proxy;
                return PW_OK;
        }
        if (opener_new(borrow, proxy, request) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to wait for an open");
        return pw_error_set(ret_err, PW_NOT_READY, "it is being opened");
}

/* --- what becomes of them here ---------------------------------------------------------------------------------------------- */

void pw_borrow_pulled(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        if (proxy->state != PW_PROXY_ELSEWHERE && proxy->state != PW_PROXY_MOVING && proxy->state != PW_PROXY_FOLLOWING)
                return;
        pw_proxy_step(borrow, proxy, PW_PROXY_HAVE);
        pw_proxy_forget_move(proxy);
        pw_proxy_look_again(proxy);
}

void pw_borrow_freed(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        bool current = pw_proxy_is_current(proxy);
        bool asked = current && (proxy->state == PW_PROXY_RENEWING || proxy->state == PW_PROXY_FOLLOWING);
        struct pw_link_frame *release = proxy->release;

        proxy->place = NULL;
        if (!pw_proxy_step(borrow, proxy, PW_PROXY_FREE) || asked)
                return; /* what is asked for is released when it is answered */
        if (current) {
                proxy->release = NULL;
                pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_SEND, .host = proxy->lender->host,
                                                                  .frame = release });
        }
        pw_proxy_forget(borrow, proxy);
}

static bool is_whole(const struct pw_proxy *proxy)
{
        return proxy->state == PW_PROXY_WHOLE || proxy->state == PW_PROXY_ALONE || proxy->state == PW_PROXY_RENEWING;
}

struct pw_proxy *pw_borrow_whole(struct pw_borrow *borrow, struct pw_id id, struct pw_talk_bytes tenant)
{
        struct pw_proxy *proxy = find(borrow, id, tenant);

        return proxy && is_whole(proxy) ? proxy : NULL;
}

static bool is_of(const struct pw_proxy *proxy, struct pw_id id, const char *tenant)
{
        return pw_id_equal(proxy->id, id) && (!tenant || (strlen(tenant) == proxy->tenant_bytes &&
                                                          !memcmp(proxy->tenant, tenant, proxy->tenant_bytes)));
}

struct pw_proxy *pw_borrow_find(const struct pw_borrow *borrow, struct pw_id id, const char *tenant)
{
        struct pw_proxy *proxy = pw_table_get(&borrow->proxies, pw_borrow_id_key(borrow, id));

        while (proxy && (!proxy->place || !is_of(proxy, id, tenant)))
                proxy = proxy->same_key;
        return proxy;
}

bool pw_borrow_see(const struct pw_borrow *borrow, struct pw_id id, const char *tenant, struct pw_proxy_row *ret_row)
{
        const struct pw_proxy *proxy = pw_table_get(&borrow->proxies, pw_borrow_id_key(borrow, id));

        while (proxy && (proxy->state == PW_PROXY_LOST || !is_of(proxy, id, tenant)))
                proxy = proxy->same_key;
        if (proxy)
                pw_proxy_row(proxy, ret_row);
        return proxy;
}

bool pw_borrow_has(struct pw_borrow *borrow, struct pw_id id)
{
        struct pw_proxy *proxy = pw_table_get(&borrow->proxies, pw_borrow_id_key(borrow, id));

        while (proxy && !(pw_id_equal(proxy->id, id) && is_whole(proxy)))
                proxy = proxy->same_key;
        return proxy;
}

/* --- rows ------------------------------------------------------------------------------------------------------------------- */

void pw_proxy_set_place(struct pw_proxy *proxy, void *place) { proxy->place = place; }

void pw_proxy_row(const struct pw_proxy *proxy, struct pw_proxy_row *ret_row)
{
        bool current = pw_proxy_is_current(proxy);

        *ret_row = (struct pw_proxy_row){ .proxy = proxy, .id = proxy->id, .state = proxy->state,
                                          .tenant = { proxy->tenant, proxy->tenant_bytes },
                                          .lender = current ? proxy->lender->host : 0, .number = current ? proxy->number : 0,
                                          .openers = proxy->opener_count, .place = proxy->place };
}

void pw_borrow_each(const struct pw_borrow *borrow, void (*row)(void *, const struct pw_proxy_row *), void *context)
{
        struct pw_proxy_row it;
        struct pw_proxy *proxy;

        for (uint32_t at = 0; (proxy = pw_table_next(&borrow->proxies, &at));)
                for (; proxy; proxy = proxy->same_key) {
                        pw_proxy_row(proxy, &it);
                        row(context, &it);
                }
        pw_list_each(&borrow->all_lost, proxy, struct pw_proxy, of) {
                pw_proxy_row(proxy, &it);
                row(context, &it);
        }
}
