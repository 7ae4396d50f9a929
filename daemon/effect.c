/* Does what scheduler and store decided, on boards and executors, on sessions and memory: fills the table of scheduler/port.h. */
#include "daemon/effect.h"

#include "daemon/child/child.h"
#include "daemon/client/lane.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"
#include "daemon/module/module.h"
#include "daemon/peer/peers.h"
#include "daemon/session/complaint.h"
#include "daemon/session/foreign.h"
#include "daemon/work/place.h"
#include "daemon/work/submit.h"
#include "scheduler/port.h"

#define STUCK_US 10000u /* an action that found no memory is tried again after this */

static struct pw_deciders deciders_of(struct pw_daemon *daemon);

/* --- of the scheduler ------------------------------------------------------------------------------------------------------ */

/* There is no other host: both cores, coordinator and host, are in this process, and the message arrives at once. */
static void send_core(void *context, const struct pw_core_message *message, const struct pw_core_frame *frame, uint64_t now_us)
{
        struct pw_daemon *daemon = context;
        struct pw_deciders deciders = deciders_of(daemon);
        struct pw_error err;

        (void)frame; /* empty: a message within one process, even one that was queued, is not encoded */
        if (pw_deciders_hear(&deciders, message, NULL, (struct pw_arrival){ daemon->host, now_us }, &err) != PW_OK &&
            err.status == PW_PROTOCOL)
                pw_log(&daemon->log, PW_LOG_ERROR, "message refused reason=\"%s\"", err.text);
}

static enum pw_status board(void *context, const struct pw_message *message, const struct pw_message_pools *pools,
                            struct pw_error *ret_err)
{
        struct pw_daemon *daemon = context;
        enum pw_status status = pw_boards_apply(daemon->boards, message, pools, ret_err);

        if (status != PW_OK && message->kind == PW_MSG_PREPARE)
                pw_complain(daemon, PW_LOG_OTHERS, "run not prepared run=%llu reason=\"%s\"", (unsigned long long)message->run.run,
                            ret_err->text);
        else if (status != PW_OK)
                pw_log(&daemon->log, PW_LOG_ERROR, "board action failed kind=%d reason=\"%s\"", (int)message->kind, ret_err->text);
        return status;
}

static void end_member(void *context, uint32_t device, uint64_t seq, enum pw_status status, const char *text)
{
        pw_child_end_gang(context, device, seq, status, text);
}

static void run_ended(void *context, struct pw_run *run, enum pw_status outcome, uint64_t now_us)
{
        struct pw_daemon *daemon = context;

        if (!pw_list_empty(&daemon->inspection.traces))
                pw_traces_run_ended(daemon, run, outcome, now_us);
        daemon->counters.runs_in_flight--;
        daemon->counters.runs_done++;
}

/* May come again, where the boards found no memory. */
static void program_ended(void *context, struct pw_program_row *program)
{
        pw_module_uses_drop(context, program->modules);
        pw_program_ended(context, program);
}

/* --- of the store ---------------------------------------------------------------------------------------------------------- */

static void wake(void *context, uint32_t number, uint32_t slot)
{
        const struct pw_daemon *daemon = context;
        const struct pw_segment *segment = pw_segment_get(&daemon->memory, number);

        if (segment)
                pw_hint_wake(segment->tenant->hints, pw_map_entry(&segment->map, slot), number, slot);
}

static void room(void *context, const struct pw_store_action *action) { pw_rooms_answer(context, action); }

/* To have pages from the system, or give them back, may take long: the worker does it. */
static void pages(void *context, const struct pw_store_action *action)
{
        struct pw_daemon *daemon = context;
        struct pw_segment *segment = pw_segment_get(&daemon->memory, action->segment);

        if (action->kind == PW_STORE_POPULATE)
                pw_overhead_reserved(segment->backed.backing);
        pw_worker_ask(daemon->memory.worker, &(struct pw_memory_work){ .punch = action->kind == PW_STORE_PUNCH,
                                                         .backing = segment->backed.backing,
                                                         .offset = segment->backed.offset + action->offset,
                                                         .bytes = action->bytes,
                                                         .leaving = { action->owner, action->owner ? action->bytes : 0 },
                                                         .token = action->token });
}

static void proxy(void *context, const struct pw_store_action *action)
{
        struct pw_daemon *daemon = context;

        if (daemon->registry.foreign && action->kind == PW_STORE_FREE_PROXY)
                daemon->registry.foreign->freed(daemon, action->number);
        else if (daemon->registry.foreign)
                daemon->registry.foreign->wanted(daemon, action->number);
}

static void decided(void *context, struct pw_object *object) { pw_peers_decided(context, object); }

/* The next turn comes at once and reads every ring with something in it; other clients are to ring at their next DROP. */
static void drain(void *context)
{
        struct pw_daemon *daemon = context;

        daemon->loop.more = true;
        pw_lanes_hungry(daemon);
}

static void segment_left(void *context, uint32_t number, enum pw_store_action_kind how)
{
        struct pw_daemon *daemon = context;
        struct pw_segment *segment = pw_segment_get(&daemon->memory, number);

        if (!segment)
                return;
        if (how == PW_STORE_SEGMENT_QUIET) {
                pw_segment_quiet(segment);
                return;
        }
        daemon->loop.doing = "the end of a segment";
        pw_segment_remove(daemon, segment);
}

static void end_session(void *context, uint32_t number, const char *text)
{
        const struct pw_daemon *daemon = context;
        struct pw_dsession *session = pw_session_get(&daemon->registry, number);

        if (session)
                pw_session_end(session, text);
}

static const struct pw_port port = {
        .send = send_core,
        .board = board,
        .end_member = end_member,
        .run_ended = run_ended,
        .program_ended = program_ended,
        .wake = wake,
        .room = room,
        .pages = pages,
        .proxy = proxy,
        .decided = decided,
        .drain = drain,
        .segment_left = segment_left,
        .end_session = end_session,
};

static struct pw_deciders deciders_of(struct pw_daemon *daemon)
{
        return (struct pw_deciders){ daemon->scheduler, daemon->store, &port, daemon };
}

bool pw_effects(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_deciders deciders = deciders_of(daemon);
        bool stuck, any = pw_deciders_act(&deciders, now_us, &stuck);

        daemon->loop.stuck_until_us = stuck ? now_us + STUCK_US : UINT64_MAX;
        return any;
}
