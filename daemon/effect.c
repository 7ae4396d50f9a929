/* Actions, done: those of the scheduler on boards and results, those of the store on sessions and memory. */
#include "daemon/effect.h"

#include "daemon/child/child.h"
#include "daemon/client/lane.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"
#include "daemon/module/module.h"
#include "daemon/work/place.h"
#include "daemon/work/submit.h"
#include "scheduler/decision.h"

#define STUCK_US 10000u /* until an action without memory is tried again */

static enum pw_status apply(struct pw_daemon *daemon, const struct pw_message *message, struct pw_error *ret_err)
{
        struct pw_message_pools pools = pw_actions_pools(pw_scheduler_actions(daemon->scheduler));

        return pw_boards_apply(daemon->boards, message, &pools, ret_err);
}

static void deliver(struct pw_daemon *daemon, const struct pw_core_message *message, const char *text, uint64_t now_us)
{
        struct pw_error err;

        if (pw_scheduler_deliver(daemon->scheduler, message, text, now_us, &err) != PW_OK && err.status == PW_PROTOCOL)
                pw_log(&daemon->log, PW_LOG_ERROR, "message refused reason=\"%s\"", err.text);
}

/* A run whose record has no room in the board of an island ends for that. */
static void prepare(struct pw_daemon *daemon, const struct pw_core_message *prepare, uint64_t now_us)
{
        struct pw_actions *actions = pw_scheduler_actions(daemon->scheduler);
        struct pw_core_message answer = *prepare;
        struct pw_message message;
        struct pw_error err;

        answer.kind = PW_CORE_PREPARED;
        answer.status = pw_scheduler_preparing(daemon->scheduler, prepare, &message, &err);
        if (answer.status == PW_OK) {
                answer.status = apply(daemon, &message, &err);
                pw_actions_give_back(actions, &message);
        }
        if (answer.status != PW_OK)
                pw_log(&daemon->log, PW_LOG_WARNING, "run not prepared run=%llu reason=\"%s\"",
                       (unsigned long long)prepare->run.number, err.text);
        deliver(daemon, &answer, answer.status == PW_OK ? NULL : err.text, now_us);
}

/* False: there is no memory for it now. It and what is behind it are done later, in their order. */
static bool do_scheduled(struct pw_daemon *daemon, const struct pw_action *action, uint64_t now_us)
{
        struct pw_error err;

        switch (action->kind) {
        case PW_ACT_CORE:
                if (action->core.kind == PW_CORE_PREPARE)
                        prepare(daemon, &action->core, now_us);
                else
                        deliver(daemon, &action->core, action->text, now_us);
                return true;
        case PW_ACT_RESULT:
                pw_decision_tell(daemon->store, daemon->host, action, now_us);
                return true;
        case PW_ACT_RESULT_LOST:
                if (action->result->object)
                        pw_store_lose(daemon->store, action->result->object, action->text, now_us);
                return true;
        case PW_ACT_SHARDS_LOST:
                if (action->result->object)
                        pw_store_lose_shards(daemon->store, action->result->object, action->result->lost);
                return true;
        case PW_ACT_RELEASE:
                pw_store_release(daemon->store, action->object, (struct pw_owner){ PW_OWNER_RUN, action->run->number }, now_us);
                return true;
        case PW_ACT_UNHELD:
                pw_store_look_again(daemon->store, action->object);
                return true;
        case PW_ACT_END_MEMBER:
                pw_child_end_gang(daemon, action->device, action->seq, action->status, action->text);
                return true;
        case PW_ACT_RUN_ENDED:
                pw_submit_forget(daemon, action->run);
                if (!pw_list_empty(&daemon->traces))
                        pw_traces_run_ended(daemon, action, now_us);
                daemon->runs_in_flight--;
                daemon->runs_done++;
                return true;
        case PW_ACT_PROGRAM_ENDED:
                pw_module_uses_drop(daemon, action->program->modules);
                pw_program_ended(daemon, action->program);
                break;
        case PW_ACT_BOARD:
                break;
        }
        if (apply(daemon, &action->message, &err) == PW_OK)
                return true;
        pw_log(&daemon->log, PW_LOG_ERROR, "board action failed kind=%d reason=\"%s\"", (int)action->message.kind, err.text);
        return err.status != PW_NO_MEMORY;
}

static void segment_idle(struct pw_daemon *daemon, uint32_t number)
{
        struct pw_segment *segment = pw_segment_get(daemon, number);

        if (!segment)
                return;
        daemon->doing = "the end of a segment";
        pw_segment_remove(daemon, segment);
}

static void wake(struct pw_daemon *daemon, const struct pw_store_action *action)
{
        struct pw_segment *segment = pw_segment_get(daemon, action->segment);

        if (segment)
                pw_hint_wake(segment->tenant->hints, pw_map_entry(&segment->map, action->slot), action->segment, action->slot);
}

static void do_stored(struct pw_daemon *daemon, const struct pw_store_action *action, uint64_t now_us)
{
        struct pw_segment *segment;
        struct pw_dsession *session;

        switch (action->kind) {
        case PW_STORE_WAKE:
                wake(daemon, action);
                break;
        case PW_STORE_GRANT:
        case PW_STORE_LOOK_AGAIN:
        case PW_STORE_REFUSE:
                pw_rooms_answer(daemon, action);
                break;
        case PW_STORE_POPULATE:
        case PW_STORE_PUNCH:
                segment = pw_segment_get(daemon, action->segment);
                if (action->kind == PW_STORE_POPULATE)
                        pw_overhead_reserved(segment->backed.backing);
                pw_worker_ask(daemon->worker, &(struct pw_work){ .punch = action->kind == PW_STORE_PUNCH,
                                                                 .backing = segment->backed.backing,
                                                                 .offset = segment->backed.offset + action->offset,
                                                                 .bytes = action->bytes,
                                                                 .leaving = { action->owner, action->owner ? action->bytes : 0 },
                                                                 .token = action->token });
                break;
        case PW_STORE_FREE_RESULT:
                pw_scheduler_result_free(daemon->scheduler, action->payload, now_us);
                break;
        case PW_STORE_CANCEL_RUN:
                pw_scheduler_unheld(daemon->scheduler, action->number, now_us);
                break;
        case PW_STORE_READY:
                pw_submit_object_ready(daemon, action->object);
                break;
        case PW_STORE_DRAIN:
                daemon->more = true;
                pw_lanes_hungry(daemon);
                break;
        case PW_STORE_SEGMENT_IDLE:
                segment_idle(daemon, action->segment);
                break;
        case PW_STORE_SEGMENT_QUIET:
                segment = pw_segment_get(daemon, action->segment);
                if (segment)
                        pw_segment_quiet(segment);
                break;
        case PW_STORE_END_SESSION:
                session = pw_session_get(daemon, (uint32_t)action->number);
                if (session)
                        pw_session_end(session, action->text);
                break;
        }
}

static void count_records(void *context, const char *tenant, int64_t bytes)
{
        struct pw_daemon *daemon = context;

        pw_store_keep(daemon->store, tenant, PW_KEPT_RUNS, bytes);
}

/* Doing one action may add others behind it, and move the queue: items are read by index, copied first. */
bool pw_effects(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_actions *scheduled = pw_scheduler_actions(daemon->scheduler);
        struct pw_store_actions *stored = pw_store_actions(daemon->store);
        uint32_t before = scheduled->done, j = 0;
        bool stuck = false, any;

        while ((!stuck && scheduled->done < scheduled->count) || j < stored->count) {
                while (!stuck && scheduled->done < scheduled->count) {
                        struct pw_action action = scheduled->items[scheduled->done];

                        stuck = !do_scheduled(daemon, &action, now_us);
                        scheduled->done += !stuck;
                }
                for (; j < stored->count; j++) {
                        struct pw_store_action action = stored->items[j];

                        do_stored(daemon, &action, now_us);
                }
        }
        any = scheduled->done > before || j;
        if (!stuck)
                pw_actions_clear(scheduled);
        daemon->stuck_until_us = stuck ? now_us + STUCK_US : UINT64_MAX;
        pw_store_actions_clear(stored);
        pw_scheduler_records(daemon->scheduler, count_records, daemon);
        any |= !pw_list_empty(&daemon->ready);
        pw_submit_tell_ready(daemon, now_us); /* what comes of that is done in the next turn */
        return any;
}
