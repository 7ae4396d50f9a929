/* Messages of the cores: whom they are for, and whether they may be believed. */
#include "scheduler/state.h"

#include "base/error.h"

enum pw_status pw_core_over(const struct pw_run_id *run, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NOT_FOUND, "run %lu of host %u in epoch %x is over", (unsigned long)run->number,
                            run->coordinator, run->epoch);
}

/* The host that may say it. A NOTICE never leaves its host. */
static uint32_t origin(const struct pw_core_message *message)
{
        return pw_core_is_answer(message) || message->kind == PW_CORE_NOTICE ? message->host : message->run.coordinator;
}

/* It may have been sent to this host before it was started anew. */
enum pw_status pw_scheduler_may_say(const struct pw_scheduler *scheduler, uint32_t from, const struct pw_core_message *message,
                                    struct pw_error *ret_err)
{
        const struct pw_requester *requester, *teller;
        uint32_t to = pw_core_destination(message);

        if (scheduler->alone) /* there is nobody else */
                return PW_OK;
        requester = pw_requester_of(scheduler, &message->run);
        if (from != origin(message))
                return pw_error_set(ret_err, PW_PROTOCOL, "message %d of run %lu is host %u's to say, and host %u said it",
                                    (int)message->kind, (unsigned long)message->run.number, origin(message), from);
        if (!requester || requester->given_up)
                return pw_core_over(&message->run, ret_err);
        teller = message->host == scheduler->host ? NULL : pw_table_get(&scheduler->requesters, message->host);
        if (teller && teller->given_up)
                return pw_error_set(ret_err, PW_NOT_FOUND, "host %u was given up", message->host);
        if (to != scheduler->host)
                return pw_error_set(ret_err, PW_PROTOCOL, "message %d of run %lu is for host %u, this is host %u",
                                    (int)message->kind, (unsigned long)message->run.number, to, scheduler->host);
        return PW_OK;
}

static enum pw_status gone(const struct pw_core_message *message, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NOT_FOUND, "result %u of run %lu is not here, or gone", message->result,
                            (unsigned long)message->run.number);
}

static struct pw_live *core_live(const struct pw_scheduler *scheduler, const struct pw_core_message *message)
{
        struct pw_live *live = pw_handles_get(&scheduler->run_slots, message->slot);

        return live && live->run.state != PW_RUN_ENDED && pw_same_run(&live->id, &message->run) ? live : NULL;
}

/* --- is it to be believed? -------------------------------------------------------------------------------------------------- */

static bool is_of_work(enum pw_core_kind kind)
{
        return kind == PW_CORE_RESULT || kind == PW_CORE_SPOILED || kind == PW_CORE_FAILED || kind == PW_CORE_DONE;
}

/* Nothing is done before the records are written; but where it is the only one, a host is done with a run too that was cancelled
 * while it waited for rooms. */
static bool has_worked(const struct pw_live *live, uint32_t host, enum pw_core_kind kind)
{
        enum pw_live_host_state state = live->hosts[host].state;

        return state == PW_LIVE_HOST_PREPARED ||
               (kind == PW_CORE_DONE && state == PW_LIVE_HOST_ASKED && live->stopped && live->host_count == 1);
}

/* It is over there: PW_EXISTS. */
static enum pw_status check_work(const struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                                 struct pw_error *ret_err)
{
        if (live->hosts[host].state == PW_LIVE_HOST_DONE)
                return PW_EXISTS;
        if (!has_worked(live, host, message->kind))
                return pw_error_set(ret_err, PW_PROTOCOL, "message %d of run %lu tells of work, and host %u has not begun",
                                    (int)message->kind, (unsigned long)live->run.number, message->host);
        if (message->kind != PW_CORE_RESULT && message->kind != PW_CORE_SPOILED)
                return PW_OK;
        return pw_result_check(pw_result_live(live->run.results[message->result]), message, ret_err);
}

/* One of the run's hosts, a result that it has, an error where there must be one, a run that the host was asked for. */
static enum pw_status check(struct pw_live *live, const struct pw_core_message *message, const struct pw_core_body *body,
                            struct pw_error *ret_err)
{
        uint32_t host = pw_program_host(live->program, message->host);
        enum pw_core_kind kind = message->kind;
        bool of_result = kind == PW_CORE_SPOILED || kind == PW_CORE_PLACED || kind == PW_CORE_RESULT;
        bool of_error = kind == PW_CORE_SPOILED || kind == PW_CORE_FAILED || kind == PW_CORE_REFUSED;
        unsigned long number = (unsigned long)live->run.number;

        if (host == UINT32_MAX)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no devices on host %u", number, message->host);
        if (of_result && message->result >= live->run.result_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no result %u", number, message->result);
        if (of_error && message->status == PW_OK)
                return pw_error_set(ret_err, PW_PROTOCOL, "message %d of run %lu tells of an error that is none", (int)kind,
                                    number);
        if (kind == PW_CORE_REFUSED && message->refusal >= PW_REFUSALS)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is refused in the way %u", number, message->refusal);
        if (!live->hosts[host].serial && kind != PW_CORE_REFUSED)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu was not asked for", number);
        if (is_of_work(kind))
                return check_work(live, host, message, ret_err);
        return kind == PW_CORE_PLACED ? pw_live_check_rooms(live, host, message, body, ret_err) : PW_OK;
}

/* --- who hears what --------------------------------------------------------------------------------------------------------- */

static enum pw_status let_go(struct pw_scheduler *scheduler, const struct pw_core_message *message, const struct pw_core_body *body,
                             struct pw_error *ret_err)
{
        struct pw_host_result *result = pw_host_result_find(scheduler, &message->run, message->result, message->slot);

        (void)body;
        return result ? pw_host_result_let_go(result) : gone(message, ret_err);
}

static enum pw_status release(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                              const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_host_result *result = pw_host_result_find(scheduler, &message->run, message->result, message->slot);

        (void)body;
        return result ? pw_host_result_release(result) : gone(message, ret_err);
}

static enum pw_status lost(struct pw_scheduler *scheduler, const struct pw_core_message *message, const struct pw_core_body *body,
                           struct pw_error *ret_err)
{
        struct pw_result_live *result = pw_result_find(scheduler, message);

        return result ? pw_result_lost(result, message, body, ret_err) : gone(message, ret_err);
}

/* A PREPARE is done by who writes to the boards. */
static enum pw_status never(struct pw_scheduler *scheduler, const struct pw_core_message *message, const struct pw_core_body *body,
                            struct pw_error *ret_err)
{
        (void)scheduler, (void)body;
        return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %d is not delivered", (int)message->kind);
}

/* By kind: a run of this coordinator, a run on this host, or whoever else it names. */
static const struct hearer {
        pw_live_hears *live;
        pw_host_hears *run;
        enum pw_status (*other)(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                const struct pw_core_body *body, struct pw_error *ret_err);
} hearers[PW_CORE_KINDS + 1] = {
        [0] = { .other = never },
        [PW_CORE_EXPECT] = { .other = pw_host_expect },
        [PW_CORE_RESERVE] = { .other = pw_host_reserve },
        [PW_CORE_PLACED] = { .live = pw_live_placed },
        [PW_CORE_RESERVED] = { .live = pw_live_reserved },
        [PW_CORE_DEFERRED] = { .live = pw_live_deferred },
        [PW_CORE_REFUSED] = { .live = pw_live_refused },
        [PW_CORE_GIVE_BACK] = { .run = pw_host_give_back },
        [PW_CORE_OVERDUE] = { .run = pw_host_overdue },
        [PW_CORE_PREPARE] = { .other = never },
        [PW_CORE_PREPARED] = { .live = pw_live_prepared },
        [PW_CORE_START] = { .run = pw_host_start },
        [PW_CORE_NOTICE] = { .run = pw_host_notice },
        [PW_CORE_CANCEL] = { .run = pw_host_cancel },
        [PW_CORE_STOP] = { .run = pw_host_stop },
        [PW_CORE_INPUT] = { .run = pw_host_input },
        [PW_CORE_EXPIRED] = { .run = pw_host_expire },
        [PW_CORE_FAILED] = { .live = pw_live_failed },
        [PW_CORE_SPOILED] = { .live = pw_live_spoiled },
        [PW_CORE_RESULT] = { .live = pw_live_result },
        [PW_CORE_LOST] = { .other = lost },
        [PW_CORE_LET_GO] = { .other = let_go },
        [PW_CORE_RELEASE] = { .other = release },
        [PW_CORE_DONE] = { .live = pw_live_done },
};

/* Whom it is about is here, and it may be said of them. */
static enum pw_status verify(struct pw_scheduler *scheduler, uint32_t from, const struct pw_core_message *message,
                             const struct pw_core_body *body, struct pw_error *ret_err)
{
        const struct pw_result_live *result;
        struct pw_live *live;
        enum pw_status status;

        if (message->kind > PW_CORE_KINDS)
                return never(scheduler, message, NULL, ret_err);
        if (!pw_core_status(message->status))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %d has the status %d", (int)message->kind,
                                    (int)message->status);
        status = pw_scheduler_may_say(scheduler, from, message, ret_err);
        if (status != PW_OK)
                return status;
        if (hearers[message->kind].live) {
                live = core_live(scheduler, message);
                return live ? check(live, message, body, ret_err) : pw_core_over(&message->run, ret_err);
        }
        if (message->kind == PW_CORE_LOST) {
                result = pw_result_find(scheduler, message);
                return result ? pw_result_check(result, message, ret_err) : gone(message, ret_err);
        }
        if (!hearers[message->kind].run || pw_core_host_run(scheduler, message))
                return PW_OK;
        if (message->kind == PW_CORE_OVERDUE || message->kind == PW_CORE_CANCEL) /* its coordinator waits for an answer */
                pw_host_refuse(scheduler, message);
        return pw_core_over(&message->run, ret_err);
}

static enum pw_status run_hears(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_host_run *run = pw_core_host_run(scheduler, message);

        return run ? hearers[message->kind].run(run, message, body, ret_err) : pw_core_over(&message->run, ret_err);
}

static enum pw_status one_of_hosts_tells(struct pw_live *live, const struct pw_core_message *message,
                                         const struct pw_core_body *body, struct pw_error *ret_err)
{
        return hearers[message->kind].live(live, pw_program_host(live->program, message->host), message, body, ret_err);
}

/* Of somebody who is here. PW_EXISTS: it changes nothing. */
static inline enum pw_status hear(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                  const struct pw_core_body *body, struct pw_error *ret_err)
{
        const struct hearer *hearer = &hearers[message->kind];
        struct pw_live *live;

        if (hearer->other)
                return hearer->other(scheduler, message, body, ret_err);
        if (hearer->run)
                return run_hears(scheduler, message, body, ret_err);
        live = pw_handles_get(&scheduler->run_slots, message->slot);
        return live->host_count == 1 ? hearer->live(live, 0, message, body, ret_err) :
                                       one_of_hosts_tells(live, message, body, ret_err);
}

static const struct pw_core_body nothing;

/* By a link, which takes its time. */
__attribute__((cold, noinline)) static enum pw_status send(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                                           const struct pw_core_body *body)
{
        struct pw_core_frame frame = { 0 };
        struct pw_action *action;

        frame.length = pw_core_bytes(body);
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

/* What is handed over at once was made here, of what is here. */
enum pw_status pw_core_tell(struct pw_scheduler *scheduler, const struct pw_core_message *message, const struct pw_core_body *body)
{
        if (!scheduler->alone && (scheduler->linked || pw_core_destination(message) != scheduler->host))
                return send(scheduler, message, body);
        (void)hear(scheduler, message, body ? body : &nothing, NULL);
        return PW_OK;
}

enum pw_status pw_scheduler_deliver(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                    const struct pw_core_body *body, struct pw_arrival arrival, struct pw_error *ret_err)
{
        enum pw_status status;

        body = body ? body : &nothing;
        status = verify(scheduler, arrival.from, message, body, ret_err);
        scheduler->now_us = arrival.now_us;
        if (status == PW_OK)
                status = hear(scheduler, message, body, ret_err);
        if (status == PW_EXISTS)
                pw_error_set(ret_err, PW_EXISTS, "message %d of run %lu changes nothing", (int)message->kind,
                             (unsigned long)message->run.number);
        return status;
}
