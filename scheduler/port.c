/* Actions of scheduler and store, in their order, each to whom it is for. */
#include "scheduler/port.h"

#include "base/error.h"
#include "scheduler/coordinator/awaited.h"
#include "scheduler/decision.h"
#include "scheduler/state.h"

static enum pw_status board(const struct pw_deciders *deciders, const struct pw_message *message, struct pw_error *ret_err)
{
        struct pw_message_pools pools = pw_actions_pools(pw_scheduler_actions(deciders->scheduler));

        return deciders->port->board(deciders->context, message, &pools, ret_err);
}

/* The record of the run in the next island, and what came of it. */
static enum pw_status prepare_next(const struct pw_deciders *deciders, const struct pw_core_message *prepare, bool *ret_more,
                                   struct pw_error *ret_err)
{
        struct pw_message message;
        enum pw_status status = pw_scheduler_preparing(deciders->scheduler, prepare, &message, ret_more, ret_err);

        if (status == PW_OK) {
                status = board(deciders, &message, ret_err);
                pw_actions_give_back(pw_scheduler_actions(deciders->scheduler), &message);
        }
        return status;
}

/* A run whose record has no room in the board of an island ends for that, with the last of them. */
static enum pw_status prepare(const struct pw_deciders *deciders, const struct pw_core_message *prepare, uint64_t now_us,
                              struct pw_error *ret_err)
{
        enum pw_status status, told = PW_OK;
        struct pw_error err;
        bool more = true;

        while (more) {
                status = prepare_next(deciders, prepare, &more, &err);
                told = status == PW_OK ? told : status;
        }
        return pw_scheduler_prepared(deciders->scheduler, prepare, told, told == PW_OK ? NULL : err.text, now_us, ret_err);
}

enum pw_status pw_deciders_hear(const struct pw_deciders *deciders, const struct pw_core_message *message,
                                const struct pw_core_body *body, struct pw_arrival arrival, struct pw_error *ret_err)
{
        enum pw_status status;

        if (message->kind != PW_CORE_PREPARE)
                return pw_scheduler_deliver(deciders->scheduler, message, body, arrival, ret_err);
        status = pw_scheduler_may_say(deciders->scheduler, arrival.from, message, ret_err);
        return status == PW_OK ? prepare(deciders, message, arrival.now_us, ret_err) : status;
}

static void send(const struct pw_deciders *deciders, const struct pw_action *action, uint64_t now_us)
{
        struct pw_core_message message = action->core;
        struct pw_core_frame frame = action->frame;

        deciders->port->send(deciders->context, &message, &frame, now_us);
}

static bool end_program(const struct pw_deciders *deciders, const struct pw_action *action)
{
        struct pw_message message = action->message;
        struct pw_error err;

        deciders->port->program_ended(deciders->context, action->program);
        return board(deciders, &message, &err) != PW_NO_MEMORY;
}

/* Who may tell the scheduler something is given a copy, as that moves the queue. False: there is no memory for it now. */
static bool act_scheduled(const struct pw_deciders *deciders, const struct pw_action *action, uint64_t now_us)
{
        const struct pw_port *port = deciders->port;
        struct pw_store *store = deciders->store;
        struct pw_error err;

        switch (action->kind) {
        case PW_ACT_BOARD: return board(deciders, &action->message, &err) != PW_NO_MEMORY;
        case PW_ACT_CORE: send(deciders, action, now_us); return true;
        case PW_ACT_RESULT: pw_decision_tell(store, action, now_us); return true;
        case PW_ACT_RESULT_LOST:
                if (action->result->object)
                        pw_store_lose(store, action->result->object, action->status, action->text, now_us);
                return true;
        case PW_ACT_SHARDS_LOST:
                if (action->result->object)
                        pw_store_lose_shards(store, action->result->object, action->result->lost);
                return true;
        case PW_ACT_RELEASE:
                pw_store_release(store, action->object, (struct pw_owner){ PW_OWNER_RUN, action->run->number }, now_us);
                return true;
        case PW_ACT_UNHELD: pw_store_scan_again(store, action->object); return true;
        case PW_ACT_END_MEMBER:
                port->end_member(deciders->context, action->device, action->seq, action->status, action->text);
                return true;
        case PW_ACT_RUN_ENDED: port->run_ended(deciders->context, action->run, action->status, now_us); return true;
        case PW_ACT_PROGRAM_ENDED: return end_program(deciders, action);
        }
        return true;
}

static void hand_over(const struct pw_deciders *deciders, void (*of)(void *context, const struct pw_store_action *action),
                   const struct pw_store_action *action)
{
        struct pw_store_action copy = *action;

        of(deciders->context, &copy);
}

static void decided(const struct pw_deciders *deciders, struct pw_object *object)
{
        pw_awaited_decided(deciders->scheduler, object);
        deciders->port->decided(deciders->context, object);
}

/* Likewise of the store. */
static void act_stored(const struct pw_deciders *deciders, const struct pw_store_action *action, uint64_t now_us)
{
        const struct pw_port *port = deciders->port;
        void *context = deciders->context;

        switch (action->kind) {
        case PW_STORE_WAKE: port->wake(context, action->segment, action->slot); break;
        case PW_STORE_GRANT:
        case PW_STORE_LOOK_AGAIN:
        case PW_STORE_REFUSE: hand_over(deciders, port->room, action); break;
        case PW_STORE_POPULATE:
        case PW_STORE_PUNCH: hand_over(deciders, port->pages, action); break;
        case PW_STORE_FREE_RESULT: pw_scheduler_result_free(deciders->scheduler, action->payload, now_us); break;
        case PW_STORE_CANCEL_RUN: pw_scheduler_unheld(deciders->scheduler, action->number, now_us); break;
        case PW_STORE_FREE_PROXY:
        case PW_STORE_FETCH_PROXY: hand_over(deciders, port->proxy, action); break;
        case PW_STORE_READY: decided(deciders, action->object); break;
        case PW_STORE_DRAIN: port->drain(context); break;
        case PW_STORE_SEGMENT_IDLE:
        case PW_STORE_SEGMENT_QUIET: port->segment_left(context, action->segment, action->kind); break;
        case PW_STORE_END_SESSION: port->end_session(context, (uint32_t)action->number, action->text); break;
        }
}

static void count_records(void *context, const char *tenant, int64_t bytes)
{
        pw_store_keep(context, tenant, PW_KEPT_RUNS, bytes);
}

/* Acting on one may add others behind it, and move the queue: items are read by index. */
bool pw_deciders_act(const struct pw_deciders *deciders, uint64_t now_us, bool *ret_stuck)
{
        struct pw_actions *scheduled = pw_scheduler_actions(deciders->scheduler);
        struct pw_store_actions *stored = pw_store_actions(deciders->store);
        uint32_t before = scheduled->done, j = 0;
        bool stuck = false, any;

        while ((!stuck && scheduled->done < scheduled->count) || j < stored->count) {
                while (!stuck && scheduled->done < scheduled->count) {
                        stuck = !act_scheduled(deciders, &scheduled->items[scheduled->done], now_us);
                        scheduled->done += !stuck;
                }
                for (; j < stored->count; j++)
                        act_stored(deciders, &stored->items[j], now_us);
        }
        any = scheduled->done > before || j;
        if (!stuck)
                pw_actions_clear(scheduled);
        pw_store_actions_clear(stored);
        any |= !pw_list_empty(&deciders->scheduler->telling);
        pw_awaited_tell(deciders->scheduler, deciders->store, now_us); /* what comes of that is done in the next turn */
        pw_scheduler_records(deciders->scheduler, count_records, deciders->store);
        *ret_stuck = stuck;
        return any;
}
