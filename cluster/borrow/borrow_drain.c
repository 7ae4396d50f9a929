/* Borrowing of hosts that drain: what need not stay there is given back, what must not end with them moves to who takes over. */
#include "cluster/borrow/borrow_private.h"

#include "cluster/link/link.h"

#define SUCCESSIONS_MAX 8u /* of who took over from each other, one after the other */

/* --- who takes over --------------------------------------------------------------------------------------------------------- */

static bool drains(const struct pw_borrow_peer *peer) { return peer->successor && peer->drained == peer->epoch; }

bool pw_proxy_home_drains(const struct pw_proxy *proxy)
{
        return proxy->home->successor && proxy->home->drained == proxy->id.epoch;
}

/* Who took over from it, and does not drain itself. 0: nobody is known. */
static uint32_t last_of(const struct pw_borrow *borrow, const struct pw_borrow_peer *peer)
{
        uint32_t host = peer->successor;

        for (uint32_t i = 0; i < SUCCESSIONS_MAX; i++) {
                peer = pw_table_get(&borrow->peers, host);
                if (!peer || !drains(peer))
                        return host;
                host = peer->successor;
        }
        return 0;
}

/* NULL: it is not there, or it is this host. */
static struct pw_borrow_peer *there(const struct pw_borrow *borrow, const struct pw_borrow_peer *drainer)
{
        struct pw_borrow_peer *peer = pw_table_get(&borrow->peers, last_of(borrow, drainer));

        return peer && peer != drainer && peer->state == PW_BORROW_THERE ? peer : NULL;
}

struct pw_borrow_peer *pw_proxy_successor(const struct pw_borrow *borrow, const struct pw_proxy *proxy)
{
        return pw_proxy_home_drains(proxy) ? there(borrow, proxy->home) : NULL;
}

bool pw_borrow_takes_over(const struct pw_borrow *borrow)
{
        const struct pw_borrow_peer *peer;

        for (uint32_t at = 0; (peer = pw_table_next(&borrow->peers, &at));)
                if (drains(peer) && peer->state == PW_BORROW_THERE && last_of(borrow, peer) == borrow->params.own)
                        return true;
        return false;
}

uint32_t pw_borrow_successor(const struct pw_borrow *borrow, uint32_t host)
{
        const struct pw_borrow_peer *peer = pw_table_get(&borrow->peers, host);

        return peer && drains(peer) ? peer->successor : 0;
}

/* --- what is asked of them -------------------------------------------------------------------------------------------------- */

static void forget_move(struct pw_borrow *borrow, struct pw_borrow_move *move)
{
        if (move->proxy)
                move->proxy->move = NULL;
        (void)pw_table_remove(&borrow->moves, move->number);
        pw_list_remove(&move->link);
        pw_link_frame_free(move->release);
        free(move);
}

void pw_proxy_forget_move(struct pw_proxy *proxy)
{
        if (proxy->move)
                proxy->move->proxy = NULL;
        proxy->move = NULL;
}

bool pw_proxy_was_asked(struct pw_proxy *proxy, struct pw_borrow_peer *lender)
{
        struct pw_borrow_move *move;

        pw_list_each(&lender->moves, move, struct pw_borrow_move, link) {
                if (move->proxy || !pw_id_equal(move->id, proxy->id) || move->tenant_bytes != proxy->tenant_bytes ||
                    memcmp(move->tenant, proxy->tenant, proxy->tenant_bytes))
                        continue;
                pw_proxy_forget_move(proxy);
                move->proxy = proxy;
                proxy->move = move;
                return true;
        }
        return false;
}

static enum pw_status move_to(struct pw_borrow *borrow, struct pw_proxy *proxy, struct pw_borrow_peer *to)
{
        struct pw_talk_message open = { .kind = PW_TALK_OPEN, .number = borrow->numbers + 1, .id = proxy->id,
                                        .tenant = { proxy->tenant, proxy->tenant_bytes } };
        struct pw_talk_message release = { .kind = PW_TALK_RELEASE, .number = borrow->numbers + 1 };
        struct pw_link_frame *frame;
        struct pw_borrow_move *move;

        if (pw_proxy_was_asked(proxy, to)) {
                pw_proxy_step(borrow, proxy, PW_PROXY_MOVE);
                return PW_OK;
        }
        frame = pw_talk_encode(&open);
        move = calloc(1, sizeof *move + proxy->tenant_bytes);
        if (move)
                move->release = pw_talk_encode(&release);
        if (!frame || !move || !move->release || !pw_borrow_prepare(borrow) || !pw_table_put(&borrow->moves, open.number, move)) {
                pw_link_frame_free(frame);
                pw_link_frame_free(move ? move->release : NULL);
                free(move);
                return PW_NO_MEMORY;
        }
        move->number = ++borrow->numbers;
        move->to = to;
        move->proxy = proxy;
        move->id = proxy->id;
        move->tenant_bytes = proxy->tenant_bytes;
        memcpy(move->tenant, proxy->tenant, proxy->tenant_bytes);
        pw_list_append(&to->moves, &move->link);
        proxy->move = move;
        pw_proxy_step(borrow, proxy, PW_PROXY_MOVE);
        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_SEND, .host = to->host, .frame = frame });
        return PW_OK;
}

static void give_back(struct pw_borrow *borrow, struct pw_borrow_peer *lender, struct pw_link_frame **release)
{
        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_SEND, .host = lender->host, .frame = *release });
        *release = NULL;
}

enum pw_status pw_proxy_take_move(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_borrow_move *move = proxy->move;

        if (!pw_table_put(&borrow->opens, move->number, proxy))
                return PW_NO_MEMORY;
        pw_proxy_let_go(borrow, proxy); /* the move is alone now */
        proxy->number = move->number;
        proxy->release = move->release;
        proxy->lender = move->to;
        proxy->term = move->to->term;
        move->release = NULL;
        pw_list_remove(&proxy->of);
        pw_list_append(&move->to->borrowed, &proxy->of);
        forget_move(borrow, move);
        return PW_OK;
}

enum pw_status pw_proxy_follow(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        enum pw_status status = pw_proxy_take_move(borrow, proxy);

        if (status == PW_OK)
                pw_proxy_step(borrow, proxy, PW_PROXY_TERM);
        return status;
}

enum pw_status pw_borrow_move_answered(struct pw_borrow *borrow, struct pw_borrow_move *move, const struct pw_talk_known *known)
{
        bool has = known->state == PW_TALK_ELSEWHERE || known->state == PW_TALK_WHOLE;
        struct pw_proxy *proxy = move->proxy;
        struct pw_borrow_peer *lender = proxy ? proxy->lender : NULL;
        struct pw_link_frame *release = proxy ? proxy->release : NULL;
        enum pw_status status = PW_OK;

        if (!pw_borrow_prepare(borrow))
                return PW_NO_MEMORY;
        if (proxy && has && pw_proxy_is_current(proxy)) {
                proxy->release = NULL;
                status = pw_proxy_take_move(borrow, proxy);
                if (status != PW_OK) {
                        proxy->release = release;
                        return status;
                }
                pw_proxy_held_by(proxy, proxy->lender);
                pw_proxy_step(borrow, proxy, PW_PROXY_READY);
                give_back(borrow, lender, &release);
                return PW_OK;
        }
        if (proxy && has) { /* its lender is lost meanwhile, and it does not know yet */
                status = pw_proxy_take_move(borrow, proxy);
                if (status != PW_OK)
                        return status;
                pw_proxy_held_by(proxy, proxy->lender);
                pw_proxy_step(borrow, proxy, PW_PROXY_READY);
                return PW_OK;
        }
        if (known->state != PW_TALK_NONE)
                give_back(borrow, move->to, &move->release);
        if (proxy)
                pw_proxy_step(borrow, proxy, PW_PROXY_REFUSE);
        forget_move(borrow, move);
        return PW_OK;
}

/* --- those that drain ------------------------------------------------------------------------------------------------------- */

static void stay(struct pw_proxy *proxy)
{
        pw_list_remove(&proxy->of);
        pw_list_append(&proxy->lender->staying, &proxy->of);
}

void pw_proxy_look_again(struct pw_proxy *proxy)
{
        if (!pw_proxy_is_current(proxy) || !drains(proxy->lender))
                return;
        pw_list_remove(&proxy->of);
        pw_list_append(&proxy->lender->borrowed, &proxy->of);
}

/* All of it is here, or nothing of it will ever be. */
static enum pw_status leave(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_borrow_peer *lender = proxy->lender;
        struct pw_link_frame *release = proxy->release;

        if (!pw_borrow_prepare(borrow))
                return PW_NO_MEMORY;
        proxy->release = NULL;
        give_back(borrow, lender, &release);
        if (proxy->state == PW_PROXY_ENDED)
                return pw_proxy_lose(borrow, proxy);
        pw_proxy_step(borrow, proxy, PW_PROXY_TERM);
        pw_proxy_let_go(borrow, proxy);
        pw_list_remove(&proxy->of);
        pw_list_append(&borrow->unsettled, &proxy->of); /* its home is asked, if that does not drain */
        return PW_OK;
}

static enum pw_status look(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_borrow_peer *to = there(borrow, proxy->lender);

        if (proxy->state == PW_PROXY_WHOLE || proxy->state == PW_PROXY_ENDED)
                return leave(borrow, proxy);
        if (proxy->state == PW_PROXY_ELSEWHERE && last_of(borrow, proxy->lender) == borrow->params.own) {
                if (!pw_borrow_prepare(borrow))
                        return PW_NO_MEMORY;
                pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_FETCH, .host = proxy->lender->host,
                                                                  .proxy = proxy });
        } else if (proxy->state == PW_PROXY_ELSEWHERE && to) {
                enum pw_status status = move_to(borrow, proxy, to);

                if (status != PW_OK)
                        return status;
        }
        stay(proxy);
        return PW_OK;
}

/* Who heard of it before may have asked this host in vain. */
static enum pw_status say_that_it_takes(struct pw_borrow *borrow, const struct pw_borrow_peer *drainer)
{
        const struct pw_talk_message message = { .kind = PW_TALK_TAKES, .host = drainer->host };
        const struct pw_borrow_peer *peer;

        for (uint32_t at = 0; (peer = pw_table_next(&borrow->peers, &at));) {
                struct pw_link_frame *frame;

                if (peer->state != PW_BORROW_THERE || peer == drainer)
                        continue;
                frame = pw_borrow_prepare(borrow) ? pw_talk_encode(&message) : NULL;
                if (!frame)
                        return PW_NO_MEMORY;
                pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_SEND, .host = peer->host, .frame = frame });
        }
        return PW_OK;
}

enum pw_status pw_borrow_drain_said(struct pw_borrow *borrow, struct pw_borrow_peer *peer, uint32_t successor,
                                    struct pw_error *ret_err)
{
        if (successor == peer->host)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u says that it takes over from itself", successor);
        if (successor == borrow->params.own && say_that_it_takes(borrow, peer) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to say that this host takes over from host %u", peer->host);
        peer->successor = successor;
        peer->drained = peer->epoch;
        pw_list_splice(&peer->borrowed, &peer->staying);
        pw_list_remove(&peer->draining);
        pw_list_append(&borrow->drainers, &peer->draining);
        return PW_OK;
}

enum pw_status pw_borrow_drained(struct pw_borrow *borrow, uint32_t host, uint32_t epoch, uint32_t successor,
                                 struct pw_error *ret_err)
{
        struct pw_borrow_peer *peer = pw_borrow_peer(borrow, host);

        if (!peer)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for host %u", host);
        if (successor == host || peer->state == PW_BORROW_THERE || epoch < peer->drained || epoch < peer->epoch)
                return PW_OK;
        peer->successor = successor;
        peer->drained = epoch;
        return PW_OK;
}

void pw_borrow_drain_peer_ended(struct pw_borrow *borrow, struct pw_borrow_peer *peer)
{
        pw_list_splice(&borrow->unsettled, &peer->staying);
        pw_list_remove(&peer->draining);
        while (!pw_list_empty(&peer->moves)) {
                struct pw_borrow_move *move = pw_list_first(&peer->moves, struct pw_borrow_move, link);

                if (move->proxy) {
                        pw_proxy_step(borrow, move->proxy, PW_PROXY_REFUSE);
                        pw_proxy_look_again(move->proxy); /* another one may take over by now */
                }
                forget_move(borrow, move);
        }
}

void pw_borrow_drain_peer_met(struct pw_borrow *borrow)
{
        struct pw_borrow_peer *peer;

        pw_list_each(&borrow->drainers, peer, struct pw_borrow_peer, draining)
                pw_list_splice(&peer->borrowed, &peer->staying);
}

void pw_borrow_drain_turn(struct pw_borrow *borrow, uint32_t *parts)
{
        struct pw_borrow_peer *peer;

        pw_list_each(&borrow->drainers, peer, struct pw_borrow_peer, draining)
                for (; *parts && !pw_list_empty(&peer->borrowed); --*parts)
                        if (look(borrow, pw_list_first(&peer->borrowed, struct pw_proxy, of)) != PW_OK)
                                return;
}

bool pw_borrow_drain_is_due(const struct pw_borrow *borrow)
{
        struct pw_borrow_peer *peer;

        pw_list_each(&borrow->drainers, peer, struct pw_borrow_peer, draining)
                if (!pw_list_empty(&peer->borrowed))
                        return true;
        return false;
}

void pw_borrow_drain_done(struct pw_borrow *borrow)
{
        struct pw_borrow_move *move;

        for (uint32_t at = 0; (move = pw_table_next(&borrow->moves, &at));) {
                pw_link_frame_free(move->release);
                free(move);
        }
        pw_table_done(&borrow->moves);
}
