/* Searches: whose whole replicas there are of objects whose home is lost. One for each lost host, of many ids; what comes meanwhile
 * waits for the next. A host that is given up meanwhile has none. */
#include "cluster/borrow/borrow_private.h"

#include "cluster/link/link.h"

#define MISSES_MAX 65536u

/* --- what nobody had -------------------------------------------------------------------------------------------------------- */

static void forget_miss(struct pw_borrow *borrow, struct pw_borrow_miss *miss)
{
        if (pw_table_get(&borrow->misses, miss->key) == miss)
                (void)pw_table_remove(&borrow->misses, miss->key);
        pw_list_remove(&miss->link);
        borrow->miss_count--;
        free(miss);
}

static void age(struct pw_borrow *borrow)
{
        struct pw_borrow_miss *miss;

        pw_list_each(&borrow->aging, miss, struct pw_borrow_miss, link) {
                if (miss->until_us > borrow->now_us && borrow->miss_count <= MISSES_MAX)
                        return;
                forget_miss(borrow, miss);
        }
}

/* Without memory it is searched again. */
static void add_miss(struct pw_borrow *borrow, struct pw_id id)
{
        struct pw_borrow_miss *miss = calloc(1, sizeof *miss);

        if (!miss)
                return;
        *miss = (struct pw_borrow_miss){ .id = id, .key = pw_borrow_id_key(borrow, id),
                                         .until_us = borrow->now_us + borrow->params.lease_us };
        pw_list_append(&borrow->aging, &miss->link);
        borrow->miss_count++;
        if (!pw_table_put(&borrow->misses, miss->key, miss))
                forget_miss(borrow, miss);
}

bool pw_borrow_search_missed(struct pw_borrow *borrow, struct pw_id id)
{
        const struct pw_borrow_miss *miss = pw_table_get(&borrow->misses, pw_borrow_id_key(borrow, id));

        return miss && pw_id_equal(miss->id, id) && miss->until_us > borrow->now_us;
}

/* --- one search ------------------------------------------------------------------------------------------------------------- */

static void make_due(struct pw_borrow *borrow, struct pw_borrow_peer *home)
{
        pw_list_remove(&home->due);
        pw_list_append(&borrow->due, &home->due);
}

void pw_borrow_search_want(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        pw_list_remove(&proxy->of);
        pw_list_append(&proxy->home->waiting, &proxy->of);
        pw_proxy_step(borrow, proxy, PW_PROXY_SEARCH);
        if (!proxy->home->unanswered)
                make_due(borrow, proxy->home);
}

static void forget_ask(struct pw_borrow *borrow, struct pw_borrow_ask *ask)
{
        pw_list_remove(&ask->link);
        if (!--ask->home->unanswered)
                make_due(borrow, ask->home);
        free(ask);
}

/* A host that cannot be asked for want of memory has none. */
static void ask_one(struct pw_borrow *borrow, struct pw_borrow_peer *home, struct pw_borrow_peer *peer, struct pw_talk_bytes ids)
{
        struct pw_talk_message message = { .kind = PW_TALK_SEARCH, .number = borrow->numbers + 1, .ids = ids };
        struct pw_borrow_ask *ask = calloc(1, sizeof *ask);
        struct pw_link_frame *frame = ask && pw_borrow_prepare(borrow) ? pw_talk_encode(&message) : NULL;

        if (!frame) {
                free(ask);
                return;
        }
        *ask = (struct pw_borrow_ask){ .home = home, .number = ++borrow->numbers };
        pw_list_append(&peer->asks, &ask->link);
        home->unanswered++;
        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_SEND, .host = peer->host, .frame = frame });
}

static void begin(struct pw_borrow *borrow, struct pw_borrow_peer *home)
{
        uint8_t ids[PW_TALK_IDS_MAX * PW_TALK_ID_BYTES];
        struct pw_borrow_peer *peer;
        struct pw_proxy *proxy;
        uint32_t count = 0;

        pw_list_each(&home->waiting, proxy, struct pw_proxy, of) {
                if (count == PW_TALK_IDS_MAX)
                        break;
                pw_talk_put_id(ids + PW_TALK_ID_BYTES * count++, proxy->id);
                pw_list_remove(&proxy->of);
                pw_list_append(&home->batch, &proxy->of);
        }
        for (uint32_t at = 0; count && (peer = pw_table_next(&borrow->peers, &at));)
                if (peer->state == PW_BORROW_THERE)
                        ask_one(borrow, home, peer, (struct pw_talk_bytes){ ids, count * PW_TALK_ID_BYTES });
}

/* --- what was found --------------------------------------------------------------------------------------------------------- */

static struct pw_borrow_ask *find_ask(const struct pw_borrow_peer *peer, uint64_t number)
{
        struct pw_borrow_ask *ask;

        pw_list_each(&peer->asks, ask, struct pw_borrow_ask, link)
                if (ask->number == number)
                        return ask;
        return NULL;
}

enum pw_status pw_borrow_search_found(struct pw_borrow *borrow, struct pw_borrow_peer *peer, const struct pw_talk_message *message,
                               struct pw_error *ret_err)
{
        struct pw_borrow_ask *ask = find_ask(peer, message->number);
        struct pw_proxy *proxy;

        if (!ask)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u answers a search that it was not asked, %lu", peer->host,
                                    (unsigned long)message->number);
        for (uint32_t i = 0; i < pw_talk_id_count(message); i++) {
                struct pw_id id = pw_talk_id(message, i);

                pw_list_each(&ask->home->batch, proxy, struct pw_proxy, of)
                        if (pw_id_equal(proxy->id, id) && proxy->found_count < PW_PROXY_FOUND_MAX)
                                proxy->found[proxy->found_count++] = peer->host;
        }
        forget_ask(borrow, ask);
        return PW_OK;
}

void pw_borrow_search_peer_ended(struct pw_borrow *borrow, struct pw_borrow_peer *peer)
{
        while (!pw_list_empty(&peer->asks))
                forget_ask(borrow, pw_list_first(&peer->asks, struct pw_borrow_ask, link));
}

enum pw_status pw_borrow_search_next(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        if (proxy->opener_count && pw_proxy_home_is_there(borrow, proxy))
                return pw_proxy_ask(borrow, proxy, proxy->home); /* it is back */
        while (proxy->opener_count && proxy->found_count) {
                struct pw_borrow_peer *peer = pw_table_get(&borrow->peers, proxy->found[proxy->found_count - 1]);

                if (peer->state == PW_BORROW_THERE) {
                        enum pw_status status = pw_proxy_ask(borrow, proxy, peer);

                        proxy->found_count -= status == PW_OK;
                        return status;
                }
                proxy->found_count--;
        }
        if (!pw_borrow_prepare(borrow))
                return PW_NO_MEMORY;
        if (proxy->opener_count && proxy->state == PW_PROXY_SEARCHING) /* else somebody had it, or it is another tenant's */
                add_miss(borrow, proxy->id);
        pw_proxy_answer(borrow, proxy, &(struct pw_borrow_action){ .status = proxy->not_at_home ? PW_GONE : PW_HOST_LOST,
                                                                   .host = proxy->home->host, .epoch = proxy->id.epoch });
        pw_proxy_step(borrow, proxy, PW_PROXY_REFUSE);
        pw_proxy_forget(borrow, proxy);
        return PW_OK;
}

/* Each host has answered, or is gone. */
static enum pw_status finish(struct pw_borrow *borrow, struct pw_borrow_peer *home)
{
        while (!pw_list_empty(&home->batch)) {
                enum pw_status status = pw_borrow_search_next(borrow, pw_list_first(&home->batch, struct pw_proxy, of));

                if (status != PW_OK)
                        return status;
        }
        return PW_OK;
}

enum pw_status pw_borrow_search_turn(struct pw_borrow *borrow)
{
        struct pw_borrow_peer *home;

        age(borrow);
        pw_list_each(&borrow->due, home, struct pw_borrow_peer, due) {
                if (finish(borrow, home) != PW_OK)
                        return PW_NO_MEMORY;
                pw_list_remove(&home->due);
                begin(borrow, home);
                if (!home->unanswered && !pw_list_empty(&home->batch))
                        make_due(borrow, home);
        }
        return PW_OK;
}

void pw_borrow_search_done(struct pw_borrow *borrow)
{
        struct pw_borrow_peer *peer;

        for (uint32_t at = 0; (peer = pw_table_next(&borrow->peers, &at));)
                pw_borrow_search_peer_ended(borrow, peer);
        while (!pw_list_empty(&borrow->aging))
                forget_miss(borrow, pw_list_first(&borrow->aging, struct pw_borrow_miss, link));
        pw_table_done(&borrow->misses);
}
