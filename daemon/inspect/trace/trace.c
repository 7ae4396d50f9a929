/* Traces: who asks, and the answers, made of what the logs have. */
#include "daemon/inspect/trace/trace.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/inspect/trace/states.h"
#include "daemon/inspect/trace/trace_log.h"
#include "daemon/peer/peers.h"
#include "daemon/session/kept.h"
#include "daemon/session/output.h"

#include <stdio.h>

#define BATCH 4096u           /* gangs, and runs, of one answer */
#define MOVES_BATCH 1024u
#define LIVE_MAX 16384u       /* runs that go on when a trace ends, told of */
#define WAIT_MAX_US 1000000u
#define IDLE_US 30000000u     /* a trace that nobody asks for so long ends */

struct pw_trace {
        struct pw_list link;
        struct pw_dsession *session;
        struct pw_trace_log *log;
        uint64_t start_ns;
        struct pw_trace_place at;      /* in the log: what is to be told next */
        uint64_t lost, lost_before;    /* by this trace alone; of the log, before it began */
        struct pw_traced_run *live;    /* runs that go on at its end */
        uint32_t live_count, live_told;
        uint64_t live_bytes;           /* counted in the log */
        uint64_t request, until_us;    /* the question that waits; until_us UINT64_MAX: none does */
        uint64_t ends_us;              /* where none does: it ends then */
        bool begun, last;
};

static struct pw_trace *trace_of(const struct pw_dsession *session)
{
        struct pw_trace *trace;

        pw_list_each(&session->daemon->inspection.traces, trace, struct pw_trace, link)
                if (trace->session == session)
                        return trace;
        return NULL;
}

/* --- what is left to be told -------------------------------------------------------------------------------------------- */

static uint64_t catch_up(struct pw_trace *trace, const struct pw_trace_queue *queue, uint64_t *at)
{
        if (*at < queue->first) {
                trace->lost += queue->first - *at;
                *at = queue->first;
        }
        return queue->end - *at;
}

static uint64_t gangs_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->gangs, &trace->at.gang); }
static uint64_t runs_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->runs, &trace->at.run); }

static uint64_t states_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->states, &trace->at.state); }

static bool all_told(struct pw_trace *trace)
{
        return !gangs_left(trace) && !runs_left(trace) && !states_left(trace) && trace->live_told == trace->live_count;
}

/* What all traces of the log were told goes. */
static void trim(struct pw_trace_log *log)
{
        struct pw_trace_place told = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
        struct pw_trace *trace;

        pw_list_each(&log->daemon->inspection.traces, trace, struct pw_trace, link) {
                if (trace->log != log)
                        continue;
                told.gang = pw_min_u64(told.gang, trace->at.gang);
                told.run = pw_min_u64(told.run, trace->at.run);
                told.state = pw_min_u64(told.state, trace->at.state);
                told.move = pw_min_u64(told.move, trace->at.move);
                told.program = pw_min_u64(told.program, trace->at.program);
        }
        pw_trace_log_told(log, &told);
}

static void free_trace(struct pw_trace *trace)
{
        struct pw_trace_log *log = trace->log;

        for (uint32_t i = 0; i < trace->live_count; i++)
                free(trace->live[i].program);
        free(trace->live);
        log->bytes -= trace->live_bytes;
        pw_list_remove(&trace->link);
        free(trace);
        if (log->traces > 1)
                trim(log);
        pw_trace_log_leave(log);
}

/* --- answers ------------------------------------------------------------------------------------------------------------- */

/* What a message refers to. */
struct parts {
        Pathways__Wire__TraceDevice devices[PW_DEVICES_MAX], *device_pointers[PW_DEVICES_MAX];
        char device_names[PW_DEVICES_MAX][24];
        Pathways__Wire__TraceGang gangs[BATCH], *gang_pointers[BATCH];
        Pathways__Wire__TraceRun runs[BATCH], *run_pointers[BATCH];
        Pathways__Wire__TraceState states[BATCH], *state_pointers[BATCH];
        Pathways__Wire__TraceMove moves[MOVES_BATCH], *move_pointers[MOVES_BATCH];
};

static void put_devices(const struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        const struct pw_daemon *daemon = trace->session->daemon;

        message->devices = parts->device_pointers;
        for (uint32_t i = 0; i < daemon->device_count; i++) {
                pathways__wire__trace_device__init(&parts->devices[i]);
                snprintf(parts->device_names[i], sizeof parts->device_names[i], "h%u:%u", daemon->host, i);
                parts->devices[i].device = i;
                parts->devices[i].island = daemon->children.all[i].island;
                parts->devices[i].name = parts->device_names[i];
                parts->device_pointers[message->n_devices++] = &parts->devices[i];
        }
}

/* All that was not told yet: their gangs come after them. Own: the caller frees message->programs. */
static void put_programs(struct pw_trace *trace, Pathways__Wire__Trace *message)
{
        const struct pw_trace_queue *queue = &trace->log->programs;
        uint64_t count = queue->end - pw_max_u64(trace->at.program, queue->first);

        message->programs = count ? malloc(count * sizeof *message->programs) : NULL;
        if (!message->programs)
                return;
        for (uint64_t i = queue->end - count; i < queue->end; i++)
                message->programs[message->n_programs++] = &(*(struct pw_traced_program **)pw_trace_queue_at(queue, i))->message;
        trace->at.program = queue->end;
}

static void put_gangs(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        uint64_t count = pw_min_u64(gangs_left(trace), BATCH);

        message->gangs = parts->gang_pointers;
        for (uint64_t i = 0; i < count; i++) {
                const struct pw_traced_gang *from = pw_trace_queue_at(&trace->log->gangs, trace->at.gang++);
                Pathways__Wire__TraceGang *gang = parts->gang_pointers[message->n_gangs++] = &parts->gangs[i];

                pathways__wire__trace_gang__init(gang);
                gang->device = from->device;
                gang->program = from->program;
                gang->node = from->node;
                gang->run = from->run;
                gang->seq = from->seq;
                gang->start_ns = from->start_ns;
                gang->took_ns = from->took_ns;
                gang->status = from->status;
        }
}

static void put_run(struct parts *parts, const struct pw_traced_run *from, Pathways__Wire__Trace *message)
{
        Pathways__Wire__TraceRun *run = parts->run_pointers[message->n_runs] = &parts->runs[message->n_runs];

        message->n_runs++;
        pathways__wire__trace_run__init(run);
        run->run = from->run;
        run->program = from->program;
        run->client = from->client;
        run->submitted_ns = from->submitted_us * 1000;
        run->ended_ns = from->ended_us * 1000;
        run->status = from->outcome;
}

static void put_runs(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        message->runs = parts->run_pointers;
        while (message->n_runs < BATCH && runs_left(trace))
                put_run(parts, pw_trace_queue_at(&trace->log->runs, trace->at.run++), message);
        while (message->n_runs < BATCH && trace->live_told < trace->live_count)
                put_run(parts, &trace->live[trace->live_told++], message);
}

static void put_states(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        message->states = parts->state_pointers;
        for (uint64_t left = pw_min_u64(states_left(trace), BATCH); left; left--) {
                const struct pw_traced_state *from = pw_trace_queue_at(&trace->log->states, trace->at.state++);
                Pathways__Wire__TraceState *to = parts->state_pointers[message->n_states] = &parts->states[message->n_states];

                message->n_states++;
                pathways__wire__trace_state__init(to);
                to->run = from->run;
                to->state = (char *)(uintptr_t)from->state;
                to->cause = (char *)(uintptr_t)from->cause;
                to->at_ns = from->at_us * 1000;
        }
}

static void put_moves(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        const struct pw_trace_queue *queue = &trace->log->moves;

        message->moves = parts->move_pointers;
        for (uint64_t left = pw_min_u64(catch_up(trace, queue, &trace->at.move), MOVES_BATCH); left; left--) {
                struct pw_trace_move *from = pw_trace_queue_at(queue, trace->at.move++);
                Pathways__Wire__TraceMove *move = parts->move_pointers[message->n_moves] = &parts->moves[message->n_moves];

                message->n_moves++;
                pathways__wire__trace_move__init(move);
                move->object = from->object;
                move->to = from->to;
                move->client = from->client;
                move->from = from->from;
                move->kind = (char *)(uintptr_t)from->kind;
                move->bytes = from->bytes;
                move->start_ns = from->start_us * 1000;
                move->end_ns = from->end_us * 1000;
        }
}

/* True: it was the last answer. */
static bool send_answer(struct pw_trace *trace, struct parts *parts)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Trace message = PATHWAYS__WIRE__TRACE__INIT;

        if (!trace->begun)
                put_devices(trace, parts, &message);
        put_programs(trace, &message);
        put_gangs(trace, parts, &message);
        put_runs(trace, parts, &message);
        put_states(trace, parts, &message);
        put_moves(trace, parts, &message);
        message.start_ns = trace->start_ns;
        message.lost = trace->lost + trace->log->lost - trace->lost_before;
        message.end = trace->last && all_told(trace);
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_TRACE;
        reply.trace = &message;
        pw_session_reply(trace->session, trace->request, &reply, NULL, 0);
        free(message.programs);
        trace->begun = true;
        return message.end;
}

/* The trace may be gone then. */
static void answer(struct pw_trace *trace, uint64_t now_us)
{
        struct parts *parts = malloc(sizeof *parts);
        bool end = true;

        trace->until_us = UINT64_MAX;
        trace->ends_us = now_us + IDLE_US;
        if (parts)
                end = send_answer(trace, parts);
        else
                pw_session_reply_error(trace->session, trace->request, PW_NO_MEMORY, "pathwaysd is out of memory for the trace");
        free(parts);
        if (end)
                free_trace(trace);
        else
                trim(trace->log);
}

static bool due(struct pw_trace *trace, uint64_t now_us)
{
        return trace->until_us != UINT64_MAX &&
               (trace->until_us <= now_us || gangs_left(trace) >= BATCH || states_left(trace) >= BATCH);
}

void pw_traces_collect(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_trace *trace;

        pw_trace_logs_gangs(daemon);
        pw_list_each(&daemon->inspection.traces, trace, struct pw_trace, link)
                if (due(trace, now_us))
                        answer(trace, now_us);
}

/* --- questions ----------------------------------------------------------------------------------------------------------- */

static enum pw_status begin(struct pw_dsession *session, uint64_t now_us, struct pw_trace **ret_trace, struct pw_error *ret_err)
{
        struct pw_trace *trace = calloc(1, sizeof *trace);
        enum pw_status status = trace ? pw_trace_log_join(session, &trace->log, ret_err)
                                      : pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for a trace");

        if (status != PW_OK) {
                free(trace);
                return status;
        }
        trace->session = session;
        trace->start_ns = now_us * 1000;
        trace->until_us = UINT64_MAX;
        trace->at = (struct pw_trace_place){ trace->log->gangs.end, trace->log->runs.end, trace->log->moves.end,
                                             trace->log->programs.end, trace->log->states.end };
        trace->lost_before = trace->log->lost;
        pw_list_append(&session->daemon->inspection.traces, &trace->link);
        pw_states_follow(session->daemon);
        *ret_trace = trace;
        return PW_OK;
}

static void add_live_run(void *context, const struct pw_run *run)
{
        struct pw_trace *trace = context;
        const struct pw_dsession *session = trace->session;
        const struct pw_traced_run from = { .run = run->number, .submitted_us = run->submitted_us, .program = run->row->name,
                                            .client = (char *)(uintptr_t)run->client };

        if (!session->operator_ && strcmp(run->row->tenant, session->tenant->name))
                return;
        if (trace->live_count < LIVE_MAX && pw_traced_run_copy(&trace->live[trace->live_count], &from))
                trace->live_bytes += pw_kept_heap_bytes(trace->live[trace->live_count++].program);
        else
                trace->lost++;
}

static void add_last(struct pw_trace *trace)
{
        struct pw_daemon *daemon = trace->session->daemon;

        trace->last = true;
        pw_trace_logs_gangs(daemon);
        trace->live = malloc(LIVE_MAX * sizeof *trace->live);
        trace->live_bytes = pw_kept_heap_bytes(trace->live);
        if (trace->live)
                pw_scheduler_each_live(daemon->scheduler, add_live_run, trace);
        else
                trace->lost++;
        trace->log->bytes += trace->live_bytes;
}

void pw_trace_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request)
{
        struct pw_trace *trace = trace_of(session);
        uint64_t now_us = pw_now_us();
        struct pw_error err;
        enum pw_status status = PW_OK;

        if (!trace && session->trace_ended)
                status = pw_error_set(&err, PW_GONE, "the trace ended: nobody asked for it for %u s", IDLE_US / 1000000);
        else if (!trace)
                status = begin(session, now_us, &trace, &err);
        else if (trace->until_us != UINT64_MAX)
                status = pw_error_set(&err, PW_INVALID, "the trace is asked for already");
        session->trace_ended = false;
        if (status != PW_OK) {
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        trace->request = id;
        trace->until_us = now_us + (request->wait_us > 0 ? pw_min_u64((uint64_t)request->wait_us, WAIT_MAX_US) : 0);
        if (request->last && !trace->last)
                add_last(trace);
        if (trace->last || due(trace, now_us))
                answer(trace, now_us);
}

void pw_trace_session_end(struct pw_dsession *session)
{
        struct pw_trace *trace = trace_of(session);

        if (trace)
                free_trace(trace);
}

uint32_t pw_traces_count(const struct pw_daemon *daemon, const struct pw_tenant *tenant)
{
        const struct pw_list *node = daemon->inspection.traces.next;
        uint32_t count = 0;

        for (; node != &daemon->inspection.traces; node = node->next)
                count += !tenant || pw_list_item(node, const struct pw_trace, link)->session->tenant == tenant;
        return count;
}

void pw_traces_run_ended(struct pw_daemon *daemon, const struct pw_run *run, enum pw_status outcome, uint64_t now_us)
{
        pw_trace_logs_run(daemon,
                          &(struct pw_traced_run){ .run = run->number, .submitted_us = run->submitted_us, .ended_us = now_us,
                                                           .outcome = outcome, .program = run->row->name,
                                                           .client = (char *)(uintptr_t)run->client }, run->row->tenant);
}

void pw_traces_moved(struct pw_daemon *daemon, const struct pw_moved *move) { pw_trace_logs_move(daemon, move); }

void pw_traces_travelled(struct pw_daemon *daemon, const struct pw_travelled *travelled)
{
        char object[PW_ID_TEXT_BYTES], from[16], to[16];
        struct pw_moved move = { .object = object, .to = to, .client = "", .tenant = travelled->tenant, .bytes = travelled->bytes,
                                 .start_us = travelled->start_us, .end_us = travelled->end_us, .from = from,
                                 .kind = travelled->to == daemon->host ? "pull" : "send" };

        if (pw_list_empty(&daemon->inspection.trace_logs))
                return; /* formatting is what costs */
        pw_id_format(travelled->id, object);
        snprintf(from, sizeof from, "h%u", travelled->from);
        snprintf(to, sizeof to, "h%u", travelled->to);
        pw_trace_logs_move(daemon, &move);
}

/* --- time ---------------------------------------------------------------------------------------------------------------- */

uint64_t pw_traces_next_us(const struct pw_daemon *daemon)
{
        uint64_t next_us = UINT64_MAX;
        struct pw_trace *trace;

        pw_list_each(&daemon->inspection.traces, trace, struct pw_trace, link)
                next_us = pw_min_u64(next_us, trace->until_us == UINT64_MAX ? trace->ends_us : trace->until_us);
        return next_us;
}

void pw_traces_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_trace *trace;

        if (pw_traces_next_us(daemon) > now_us)
                return;
        pw_list_each(&daemon->inspection.traces, trace, struct pw_trace, link)
                if (trace->until_us == UINT64_MAX && trace->ends_us <= now_us) {
                        trace->session->trace_ended = true;
                        free_trace(trace);
                }
        pw_traces_collect(daemon, now_us);
}
