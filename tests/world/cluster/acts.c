/* Hosts in virtual time: what the cores want done, in order. */
#include "tests/world/cluster/hosts.h"

static void send_frame(uint32_t own, uint32_t other, struct pw_link_frame *frame)
{
        struct pw_error err;
        enum pw_status status = pw_link_send(world->hosts[own].links[other], frame, world->now_us, &err);

        hosts_must(status == PW_OK, "it is said to who was given up");
}

static void answer(uint32_t own, const struct pw_borrow_action *action)
{
        struct host *host = &world->hosts[own];
        struct pw_error err = { 0 };
        struct object *object = NULL;
        struct pw_proxy_row row;

        if (action->proxy && action->proxy == host->unmade)
                (void)!pw_error_set(&err, PW_LIMIT, "no slot");
        else if (action->proxy) {
                pw_proxy_row(action->proxy, &row);
                object = row.place;
        } else
                pw_borrow_explain(action, &err);
        hosts_must(action->proxy || err.status != PW_OK, "an answer without an error");
        if (object)
                object->refs++, object->free_at_us = 0;
        if (!store_taken(own, action->opener, object, &err))
                world->answered(own, action->opener, object, &err);
}

static bool borrow_acts(uint32_t own)
{
        struct host *host = &world->hosts[own];
        struct pw_borrow_action action;

        if (!pw_borrow_next(host->borrow, &action))
                return false;
        switch (action.kind) {
        case PW_BORROW_SEND: send_frame(own, action.host, action.frame); break;
        case PW_BORROW_WANT: pw_link_want(host->links[action.host], world->now_us); break;
        case PW_BORROW_MAKE: store_make(own, &action); break;
        case PW_BORROW_ANSWER: answer(own, &action); break;
        case PW_BORROW_TELL: store_tell(own, &action); break;
        case PW_BORROW_RENEWED: world->renewed++; break;
        case PW_BORROW_FETCH: store_fetch(own, &action); break;
        case PW_BORROW_LOSE: store_lose(own, &action); break;
        }
        return true;
}

static void find(uint32_t own, const struct pw_lend_action *action)
{
        uint8_t ids[PW_TALK_IDS_MAX * PW_TALK_ID_BYTES];
        uint32_t count = 0;

        for (uint32_t i = 0; i < pw_talk_id_count(action->message); i++)
                if (pw_borrow_has(world->hosts[own].borrow, pw_talk_id(action->message, i)))
                        pw_talk_put_id(ids + PW_TALK_ID_BYTES * count++, pw_talk_id(action->message, i));
        hosts_must(pw_lend_found(world->hosts[own].lend, action->session, action->number,
                                 (struct pw_talk_bytes){ ids, count * PW_TALK_ID_BYTES }, NULL) == PW_OK, "no memory");
}

static bool lend_acts(uint32_t own)
{
        struct host *host = &world->hosts[own];
        struct pw_lend_action action;

        if (!pw_lend_next(host->lend, &action))
                return false;
        switch (action.kind) {
        case PW_LEND_HOLD: store_hold(own, &action); break;
        case PW_LEND_UNHOLD: store_unhold(own, &action); break;
        case PW_LEND_FIND: find(own, &action); break;
        case PW_LEND_SEND:
                send_frame(own, action.host, action.frame);
                if (action.answers)
                        pw_link_work_done(host->links[action.host]);
                break;
        }
        return true;
}

static bool drain_acts(uint32_t own)
{
        struct host *host = &world->hosts[own];
        struct pw_talk_message message = { .kind = PW_TALK_DRAINS };
        struct pw_drain_action action;

        if (!pw_drain_next(host->drain, &action))
                return false;
        message.host = action.successor;
        if (action.kind == PW_DRAIN_SAY)
                send_frame(own, action.host, pw_talk_encode(&message));
        else
                host->drained += action.status == PW_OK;
        return true;
}

void hosts_drain(uint32_t own, uint32_t to)
{
        struct pw_drain_request request = { ++world->takers, to, pw_lend_count(world->hosts[own].lend),
                                            world->now_us + 60 * SECOND };

        (void)!pw_drain_begin(world->hosts[own].drain, &request, NULL); /* nobody may be there */
        hosts_act(own);
}

void hosts_act(uint32_t own)
{
        struct host *host = &world->hosts[own];

        do {
                while (borrow_acts(own) || lend_acts(own))
                        ;
                if (host->unmade)
                        pw_borrow_freed(host->borrow, host->unmade);
                host->unmade = NULL;
        } while (borrow_acts(own));
        pw_drain_held(host->drain, pw_lend_count(world->hosts[own].lend));
        while (drain_acts(own))
                ;
}
