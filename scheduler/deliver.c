/* Messages of the cores: whom they are for, and whether they may be believed. */
#include "scheduler/state.h"

#include "base/error.h"

static enum pw_status over(const struct pw_run_id *run, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NOT_FOUND, "run %lu of host %u in epoch %x is over", (unsigned long)run->number,
                            run->coordinator, run->epoch);
}

static bool is_ours(const struct pw_scheduler *scheduler, const struct pw_run_id *run)
{
        return run->coordinator == scheduler->host && run->epoch == scheduler->epoch;
}

struct pw_host_run *pw_core_host_run(const struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                     struct pw_error *ret_err)
{
        struct pw_host_run *run = message->slot < scheduler->host_run_capacity ? scheduler->host_runs_at[message->slot] : NULL;

        if (run && pw_same_run(&run->id, &message->run))
                return run;
        over(&message->run, ret_err);
        return NULL;
}

/* For what comes from outside, and knows a run by its number. */
struct pw_host_run *pw_host_find(const struct pw_scheduler *scheduler, uint64_t number)
{
        const struct pw_live *live = pw_table_get(&scheduler->runs, number);
        struct pw_host_run *run =
                live && live->slot < scheduler->host_run_capacity ? scheduler->host_runs_at[live->slot] : NULL;

        return run && run->id.number == number ? run : NULL;
}

static struct pw_live *core_live(const struct pw_scheduler *scheduler, const struct pw_core_message *message)
{
        struct pw_live *live = pw_handles_get(&scheduler->run_slots, message->slot);

        return live && live->run.state != PW_RUN_ENDED && pw_same_run(&live->id, &message->run) ? live : NULL;
}

/* --- is it to be believed? -------------------------------------------------------------------------------------------------- */

/* A result that the run has, an error where there must be one, a run that its host has. */
static enum pw_status check(const struct pw_live *live, const struct pw_core_message *message, struct pw_error *ret_err)
{
        enum pw_core_kind kind = message->kind;
        uint32_t result = kind == PW_CORE_SPOILED ? message->from : message->node;
        bool of_result = kind == PW_CORE_SPOILED || kind == PW_CORE_PLACED || kind == PW_CORE_RESULT;
        bool of_error = kind == PW_CORE_SPOILED || kind == PW_CORE_FAILED || kind == PW_CORE_REFUSED;
        unsigned long number = (unsigned long)live->run.number;

        if (of_result && result >= live->run.result_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no result %u", number, result);
        if (of_error && !pw_status_error(message->status))
                return pw_error_set(ret_err, PW_PROTOCOL, "message %d of run %lu tells of an error that is none", (int)kind,
                                    number);
        if (!live->asked && kind != PW_CORE_REFUSED)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu was not asked for", number);
        return PW_OK;
}

/* Whom it is about is here, and it may be said of them. */
static enum pw_status verify(const struct pw_scheduler *scheduler, const struct pw_core_message *message, struct pw_error *ret_err)
{
        const struct pw_live *live;

        if (!is_ours(scheduler, &message->run))
                return over(&message->run, ret_err);
        switch (message->kind) {
        case PW_CORE_EXPECT:
        case PW_CORE_RESERVE: return PW_OK;
        case PW_CORE_LOST:
                if (pw_result_find(scheduler, message))
                        return PW_OK;
                return pw_error_set(ret_err, PW_NOT_FOUND, "result %u of run %lu is gone", message->node,
                                    (unsigned long)message->run.number);
        case PW_CORE_LET_GO:
        case PW_CORE_RELEASE:
                if (pw_host_result_find(scheduler, &message->run, message->node, message->slot))
                        return PW_OK;
                return pw_error_set(ret_err, PW_NOT_FOUND, "result %u of run %lu is not here", message->node,
                                    (unsigned long)message->run.number);
        case PW_CORE_PLACED:
        case PW_CORE_RESERVED:
        case PW_CORE_REFUSED:
        case PW_CORE_PREPARED:
        case PW_CORE_FAILED:
        case PW_CORE_SPOILED:
        case PW_CORE_RESULT:
        case PW_CORE_DONE:
                live = core_live(scheduler, message);
                return live ? check(live, message, ret_err) : over(&message->run, ret_err);
        default: return pw_core_host_run(scheduler, message, ret_err) ? PW_OK : PW_NOT_FOUND;
        }
}

/* --- what comes of it --------------------------------------------------------------------------------------------------------- */

/* The last of a host's: what is said of a run that is over there. */
static enum pw_status host_hears(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                                 struct pw_error *ret_err)
{
        if (!run)
                return over(&message->run, ret_err);
        switch (message->kind) {
        case PW_CORE_OVERDUE: return pw_host_overdue(run);
        case PW_CORE_START: return pw_host_start(run, message->island, ret_err);
        case PW_CORE_NOTICE: return pw_host_notice(run, message, ret_err);
        case PW_CORE_CANCEL: return pw_host_cancel(run, message->node);
        case PW_CORE_STOP: return pw_host_stop(run);
        case PW_CORE_INPUT: return pw_host_input(run, message->node, message->status, ret_err);
        case PW_CORE_EXPIRED: return pw_host_expire(run, message->node, body->text ? body->text : "");
        default: return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %d is not delivered", (int)message->kind);
        }
}

static struct pw_host_result *named_result(const struct pw_scheduler *scheduler, const struct pw_core_message *message)
{
        return pw_host_result_find(scheduler, &message->run, message->node, message->slot);
}

static const char *text_of(const struct pw_core_body *body) { return body->text ? body->text : ""; }

/* Of somebody who is here. PW_EXISTS: it changes nothing. */
static inline enum pw_status hear(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                  const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_live *live = pw_handles_get(&scheduler->run_slots, message->slot); /* where it is about a coordinator's run */

        switch (message->kind) {
        case PW_CORE_EXPECT: return pw_host_expect(scheduler, message, body, ret_err);
        case PW_CORE_RESERVE: return pw_host_reserve(scheduler, message, body, ret_err);
        case PW_CORE_LET_GO: return pw_host_result_let_go(named_result(scheduler, message));
        case PW_CORE_RELEASE: return pw_host_result_release(named_result(scheduler, message));
        case PW_CORE_LOST: return pw_result_lost(pw_result_find(scheduler, message), message, body->text, ret_err);
        case PW_CORE_PLACED: return pw_live_placed(live, message->node, body, ret_err);
        case PW_CORE_RESERVED: return pw_live_reserved(live);
        case PW_CORE_REFUSED: return pw_live_refused(live, message->node, message->status, text_of(body));
        case PW_CORE_PREPARED: return pw_live_prepared(live, message->island, message->status, text_of(body), ret_err);
        case PW_CORE_FAILED: return pw_live_cause(live, message->node, message->device, message->status, text_of(body));
        case PW_CORE_SPOILED: return pw_live_spoiled(live, message->from, message, body->text);
        case PW_CORE_RESULT: return pw_live_result(live, message->node);
        case PW_CORE_DONE: pw_live_done(live, message->node, message->from); return PW_OK;
        default: return host_hears(pw_core_host_run(scheduler, message, ret_err), message, body, ret_err);
        }
}

static const struct pw_core_body nothing;

/* What is handed over at once was made here, of what is here. */
enum pw_status pw_core_tell(struct pw_scheduler *scheduler, const struct pw_core_message *message, const struct pw_core_body *body)
{
        struct pw_core_frame frame = { .length = pw_core_bytes(body) };
        struct pw_action *action;

        if (!scheduler->linked) {
                (void)hear(scheduler, message, body ? body : &nothing, NULL);
                return PW_OK;
        }
        frame.bytes = malloc(frame.length);
        if (frame.bytes)
                pw_core_encode(message, body, frame.bytes);
        else if (body && (body->input_count || body->slot_count || body->room_count))
                return PW_NO_MEMORY;
        action = pw_action_add(scheduler, PW_ACT_CORE);
        if (action == &scheduler->actions.spare) {
                free(frame.bytes);
                return PW_NO_MEMORY;
        }
        action->core = *message;
        action->frame = frame;
        scheduler->actions.owning = true;
        return PW_OK;
}

enum pw_status pw_scheduler_deliver(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                    const struct pw_core_body *body, uint64_t now_us, struct pw_error *ret_err)
{
        enum pw_status status = verify(scheduler, message, ret_err);

        scheduler->now_us = now_us;
        if (status == PW_OK)
                status = hear(scheduler, message, body ? body : &nothing, ret_err);
        if (status == PW_EXISTS)
                pw_error_set(ret_err, PW_EXISTS, "message %d of run %lu changes nothing", (int)message->kind,
                             (unsigned long)message->run.number);
        return status;
}
