/* Borrowing: what lenders are asked and say, and what becomes of it when a term ends or a home is met. */
#include "cluster/borrow/borrow_private.h"

#include "cluster/link/link.h"

/* --- asking ----------------------------------------------------------------------------------------------------------------- */

void pw_proxy_let_go(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        if (proxy->number)
                (void)pw_table_remove(&borrow->opens, proxy->number);
        proxy->number = 0;
        pw_proxy_forget_move(proxy);
        pw_link_frame_free(proxy->release);
        proxy->release = NULL;
}

static void move(struct pw_proxy *proxy, struct pw_list *to)
{
        pw_list_remove(&proxy->of);
        pw_list_append(to, &proxy->of);
}

enum pw_status pw_proxy_ask(struct pw_borrow *borrow, struct pw_proxy *proxy, struct pw_borrow_peer *lender)
{
        struct pw_talk_message open = { .kind = PW_TALK_OPEN, .number = borrow->numbers + 1, .id = proxy->id,
                                        .tenant = { proxy->tenant, proxy->tenant_bytes } };
        struct pw_talk_message release = { .kind = PW_TALK_RELEASE, .number = borrow->numbers + 1 };
        struct pw_link_frame *frames[2];

        if (pw_proxy_was_asked(proxy, lender)) {
                enum pw_status status = pw_proxy_take_move(borrow, proxy);

                if (status == PW_OK)
                        pw_proxy_step(borrow, proxy, PW_PROXY_ASK);
                return status;
        }
        frames[0] = pw_talk_encode(&open);
        frames[1] = pw_talk_encode(&release);
        if (!frames[0] || !frames[1] || !pw_borrow_prepare(borrow) || !pw_table_put(&borrow->opens, open.number, proxy)) {
                pw_link_frame_free(frames[0]);
                pw_link_frame_free(frames[1]);
                return PW_NO_MEMORY;
        }
        pw_proxy_let_go(borrow, proxy);
        proxy->number = ++borrow->numbers;
        proxy->release = frames[1];
        proxy->lender = lender;
        proxy->term = lender->term;
        move(proxy, &lender->borrowed);
        pw_proxy_step(borrow, proxy, PW_PROXY_ASK);
        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_SEND, .host = lender->host, .frame = frames[0] });
        return PW_OK;
}

/* It may have it: it is there in that epoch, or nobody knows better. */
bool pw_proxy_home_is_there(const struct pw_borrow *borrow, const struct pw_proxy *proxy)
{
        const struct pw_borrow_peer *home = proxy->home;

        return home->host != borrow->params.own && !proxy->not_at_home &&
               (home->state == PW_BORROW_UNKNOWN || (home->state == PW_BORROW_THERE && home->epoch <= proxy->id.epoch));
}

/* Somebody wants it, who was given up. */
static void want(struct pw_borrow *borrow, struct pw_borrow_peer *home)
{
        if (home->state != PW_BORROW_AWAY || home->wanted_again)
                return;
        home->wanted_again = true;
        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_WANT, .host = home->host });
}

/* To who takes over from its home; to that; or, where it is lost, to whoever has it. */
enum pw_status pw_proxy_route(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_borrow_peer *home = proxy->home, *successor = pw_proxy_successor(borrow, proxy);

        if (!pw_borrow_prepare(borrow))
                return PW_NO_MEMORY;
        want(borrow, home);
        proxy->led = successor && !proxy->led;
        if (proxy->led)
                return pw_proxy_ask(borrow, proxy, successor);
        if (pw_proxy_home_is_there(borrow, proxy))
                return pw_proxy_ask(borrow, proxy, home);
        pw_proxy_let_go(borrow, proxy);
        proxy->found_count = 0;
        pw_borrow_search_want(borrow, proxy);
        return PW_OK;
}

/* --- the end of a term ------------------------------------------------------------------------------------------------------ */

/* Nobody has answered: another one is asked, if somebody waits. */
static enum pw_status settle_opening(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        if (!proxy->opener_count) {
                pw_proxy_forget(borrow, proxy);
                return PW_OK;
        }
        if (proxy->lender != proxy->home && !proxy->led && !pw_proxy_home_is_there(borrow, proxy))
                return pw_borrow_search_next(borrow, proxy);
        return pw_proxy_route(borrow, proxy);
}

/* It is whole, and nobody holds it for this host: its home is asked to. */
static enum pw_status renew(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        struct pw_borrow_peer *home = proxy->home;

        if (home->state == PW_BORROW_THERE && home->epoch == proxy->id.epoch && !pw_proxy_home_drains(proxy))
                return pw_proxy_ask(borrow, proxy, home);
        move(proxy, &home->alone);
        return PW_OK;
}

static enum pw_status settle_whole(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        pw_proxy_step(borrow, proxy, PW_PROXY_TERM);
        pw_proxy_let_go(borrow, proxy);
        move(proxy, &borrow->unsettled); /* settled again, as one that is alone */
        return PW_OK;
}

enum pw_status pw_proxy_lose(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        bool was_there = proxy->state != PW_PROXY_ENDED;

        if (!pw_borrow_prepare(borrow))
                return PW_NO_MEMORY;
        pw_proxy_step(borrow, proxy, PW_PROXY_TERM);
        pw_proxy_unlist(borrow, proxy);
        pw_proxy_let_go(borrow, proxy);
        move(proxy, &borrow->all_lost);
        if (was_there)
                pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_LOSE, .status = PW_HOST_LOST, .proxy = proxy,
                                                                  .host = proxy->holder, .epoch = proxy->epoch });
        return PW_OK;
}

enum pw_status pw_proxy_settle(struct pw_borrow *borrow, struct pw_proxy *proxy)
{
        switch (proxy->state) {
        case PW_PROXY_OPENING: return settle_opening(borrow, proxy);
        case PW_PROXY_WHOLE: case PW_PROXY_RENEWING: return settle_whole(borrow, proxy);
        case PW_PROXY_ALONE: return renew(borrow, proxy);
        case PW_PROXY_MOVING: return pw_proxy_follow(borrow, proxy);
        default: return pw_proxy_lose(borrow, proxy);
        }
}

void pw_borrow_ended(struct pw_borrow *borrow, uint32_t host)
{
        struct pw_borrow_peer *peer = pw_borrow_peer(borrow, host); /* also one with which nothing was had: it is not there */

        if (!peer)
                return; /* without memory; what is sent to it then ends with its next term */
        peer->term++;
        peer->state = PW_BORROW_AWAY;
        peer->wanted_again = false;
        pw_list_splice(&borrow->unsettled, &peer->borrowed);
        pw_borrow_drain_peer_ended(borrow, peer);
        pw_borrow_search_peer_ended(borrow, peer);
}

enum pw_status pw_borrow_met(struct pw_borrow *borrow, uint32_t host, uint32_t epoch, struct pw_error *ret_err)
{
        struct pw_borrow_peer *peer = pw_borrow_peer(borrow, host);

        if (!peer)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what host %u has of this one", host);
        if (peer->state == PW_BORROW_THERE && peer->epoch == epoch)
                return PW_OK;
        peer->state = PW_BORROW_THERE;
        peer->epoch = epoch;
        pw_list_splice(&borrow->unsettled, &peer->alone);
        pw_borrow_drain_peer_met(borrow);
        return PW_OK;
}

/* --- what lenders say ------------------------------------------------------------------------------------------------------- */

static enum pw_status broken(uint32_t host, const char *what, uint64_t number, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_PROTOCOL, "host %u %s %lu", host, what, (unsigned long)number);
}

static enum pw_status no_memory(uint32_t host, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what is borrowed of host %u", host);
}

/* The lender does not hold it. */
static enum pw_status refused(struct pw_borrow *borrow, struct pw_proxy *proxy, const struct pw_talk_known *known)
{
        struct pw_borrow_peer *lender = proxy->lender;

        if (proxy->state == PW_PROXY_RENEWING) {
                pw_proxy_step(borrow, proxy, PW_PROXY_REFUSE);
                pw_proxy_let_go(borrow, proxy);
                move(proxy, &proxy->home->alone);
                return PW_OK;
        }
        if (proxy->state == PW_PROXY_FOLLOWING)
                return pw_proxy_lose(borrow, proxy);
        if (proxy->opener_count && proxy->led)
                return pw_proxy_route(borrow, proxy);
        if (proxy->opener_count && lender != proxy->home)
                return pw_borrow_search_next(borrow, proxy);
        proxy->not_at_home |= lender == proxy->home && pw_proxy_home_drains(proxy) && known->status == PW_GONE;
        if (proxy->opener_count && (known->status == PW_HOST_LOST || proxy->not_at_home) &&
            !pw_proxy_home_is_there(borrow, proxy)) {
                pw_proxy_let_go(borrow, proxy);
                proxy->found_count = 0;
                pw_borrow_search_want(borrow, proxy);
                return PW_OK;
        }
        pw_proxy_answer(borrow, proxy, &(struct pw_borrow_action){ .status = known->status, .host = lender->host, .known = known });
        pw_proxy_step(borrow, proxy, PW_PROXY_REFUSE);
        pw_proxy_forget(borrow, proxy);
        return PW_OK;
}

static enum pw_proxy_event event_of(const struct pw_talk_known *known)
{
        switch (known->state) {
        case PW_TALK_NONE: return PW_PROXY_REFUSE;
        case PW_TALK_PENDING: return PW_PROXY_HOLD;
        case PW_TALK_ELSEWHERE: return PW_PROXY_READY;
        case PW_TALK_WHOLE: case PW_TALK_FAILED: return PW_PROXY_HAVE;
        default: return PW_PROXY_END;
        }
}

static enum pw_status opened(struct pw_borrow *borrow, struct pw_borrow_peer *peer, const struct pw_talk_message *message,
                             struct pw_error *ret_err)
{
        struct pw_proxy *proxy = pw_table_get(&borrow->opens, message->number);
        bool renewed = proxy && proxy->state == PW_PROXY_RENEWING;
        bool follows = proxy && proxy->state == PW_PROXY_FOLLOWING;
        struct pw_borrow_move *move = pw_table_get(&borrow->moves, message->number);

        if (move && move->to == peer)
                return pw_borrow_move_answered(borrow, move, &message->known) == PW_OK ? PW_OK
                                                                                       : no_memory(peer->host, ret_err);
        if (!proxy || proxy->lender != peer || !pw_proxy_is_current(proxy) ||
            (proxy->state != PW_PROXY_OPENING && !renewed && !follows) ||
            (message->known.state != PW_TALK_NONE && !pw_proxy_may(proxy, event_of(&message->known))))
                return broken(peer->host, "answers what it was not asked,", message->number, ret_err);
        if (!pw_borrow_prepare(borrow))
                return no_memory(peer->host, ret_err);
        if (message->known.state == PW_TALK_NONE)
                return refused(borrow, proxy, &message->known) == PW_OK ? PW_OK : no_memory(peer->host, ret_err);
        if (!renewed && !follows && !proxy->opener_count) { /* nobody wants it any more */
                pw_borrow_freed(borrow, proxy);
                return PW_OK;
        }
        pw_proxy_held_by(proxy, peer);
        pw_proxy_step(borrow, proxy, event_of(&message->known));
        pw_proxy_look_again(proxy);
        if (follows)
                return PW_OK;
        if (renewed) {
                pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_RENEWED, .host = peer->host, .proxy = proxy });
                return PW_OK;
        }
        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_MAKE, .host = peer->host, .proxy = proxy,
                                                          .known = &message->known });
        pw_proxy_answer(borrow, proxy, &(struct pw_borrow_action){ .host = peer->host, .proxy = proxy });
        return PW_OK;
}

static enum pw_status told(struct pw_borrow *borrow, struct pw_borrow_peer *peer, const struct pw_talk_message *message,
                           struct pw_error *ret_err)
{
        struct pw_proxy *proxy = pw_table_get(&borrow->opens, message->number);
        enum pw_proxy_event event = event_of(&message->known);
        bool was_whole = proxy && proxy->state == PW_PROXY_WHOLE;

        if (!proxy && message->number <= borrow->numbers)
                return PW_OK; /* it was released meanwhile */
        if (!proxy || proxy->lender != peer || !pw_proxy_is_current(proxy) || proxy->state < PW_PROXY_PENDING ||
            proxy->state == PW_PROXY_FOLLOWING ||
            (proxy->state != PW_PROXY_PENDING && event != PW_PROXY_END) || !pw_proxy_may(proxy, event))
                return broken(peer->host, "tells what cannot be of", message->number, ret_err);
        if (!pw_borrow_prepare(borrow))
                return no_memory(peer->host, ret_err);
        pw_proxy_step(borrow, proxy, event);
        if (event == PW_PROXY_END)
                pw_proxy_forget_move(proxy);
        pw_proxy_look_again(proxy);
        if (!was_whole)
                pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_TELL, .host = peer->host, .proxy = proxy,
                                                                  .known = &message->known });
        return PW_OK;
}

enum pw_status pw_borrow_receive(struct pw_borrow *borrow, uint32_t host, const struct pw_talk_message *message,
                                 struct pw_error *ret_err)
{
        struct pw_borrow_peer *peer = pw_table_get(&borrow->peers, host);

        if (!peer)
                return broken(host, "was asked nothing, and says a message of kind", message->kind, ret_err);
        switch (message->kind) {
        case PW_TALK_OPENED: return opened(borrow, peer, message, ret_err);
        case PW_TALK_TOLD: return told(borrow, peer, message, ret_err);
        case PW_TALK_FOUND: return pw_borrow_search_found(borrow, peer, message, ret_err);
        case PW_TALK_TAKES: pw_borrow_drain_peer_met(borrow); return PW_OK;
        case PW_TALK_DRAINS: return pw_borrow_drain_said(borrow, peer, message->host, ret_err);
        default: return broken(host, "says to a borrower a message of kind", message->kind, ret_err);
        }
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

static void overdue(struct pw_borrow *borrow, struct pw_opener *opener)
{
        const struct pw_borrow_peer *asked = opener->proxy->lender ? opener->proxy->lender : opener->proxy->home;

        pw_borrow_act(borrow, &(struct pw_borrow_action){ .kind = PW_BORROW_ANSWER, .status = PW_DEADLINE, .host = asked->host,
                                                          .opener = opener->number });
        pw_opener_forget(borrow, opener);
}

bool pw_borrow_turn(struct pw_borrow *borrow, uint64_t now_us, uint32_t parts)
{
        struct pw_proxy *proxy;

        borrow->now_us = pw_max_u64(borrow->now_us, now_us);
        while (pw_heap_first_key(&borrow->deadlines) <= now_us)
                overdue(borrow, pw_container_of(pw_heap_first(&borrow->deadlines), struct pw_opener, deadline));
        pw_borrow_drain_turn(borrow, &parts);
        for (; parts && !pw_list_empty(&borrow->unsettled); parts--) {
                proxy = pw_list_first(&borrow->unsettled, struct pw_proxy, of);
                if (pw_proxy_settle(borrow, proxy) != PW_OK)
                        return true;
        }
        if (pw_borrow_search_turn(borrow) != PW_OK)
                return true;
        return !pw_list_empty(&borrow->unsettled) || !pw_list_empty(&borrow->due) || pw_borrow_drain_is_due(borrow);
}

uint64_t pw_borrow_next_us(const struct pw_borrow *borrow)
{
        if (!pw_list_empty(&borrow->unsettled) || !pw_list_empty(&borrow->due) || pw_borrow_drain_is_due(borrow))
                return 0;
        return pw_heap_first_key(&borrow->deadlines);
}
