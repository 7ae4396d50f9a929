/* Traces: who asks, and when who is answered. */
#include "daemon/inspect/trace/trace.h"

#include "base/memory.h"
#include "daemon/inspect/trace/states.h"
#include "daemon/inspect/trace/trace_private.h"
#include "daemon/peer/peers.h"
#include "daemon/session/kept.h"
#include "daemon/session/output.h"
#include "daemon/session/tenant.h"

#include <stdio.h>

#define LIVE_MAX 16384u       /* runs that go on when a trace ends, told of */
#define WAIT_MAX_US 1000000u
#define IDLE_US 30000000u     /* a trace that nobody asks for so long ends */

/* As `of` says whose. */
static struct pw_trace *find(const struct pw_trace *of)
{
        struct pw_trace *trace;

        pw_list_each(&of->reader.daemon->inspection.traces, trace, struct pw_trace, link)
                if (trace->session == of->session && trace->host == of->host && trace->number == of->number)
                        return trace;
        return NULL;
}

static struct pw_trace of_session(struct pw_dsession *session)
{
        return (struct pw_trace){ .reader = { session->daemon, session->tenant, session->operator_ }, .session = session };
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

void pw_trace_free(struct pw_trace *trace)
{
        struct pw_trace_log *log = trace->log;

        for (uint32_t i = 0; i < trace->live_count; i++)
                free(trace->live[i].program);
        free(trace->live);
        log->bytes -= trace->live_bytes;
        pw_list_remove(&trace->link);
        if (!trace->session)
                log->daemon->registry.tenancy->leave(log->daemon, trace->reader.tenant);
        free(trace);
        if (log->traces > 1)
                trim(log);
        pw_trace_log_leave(log);
}

/* --- answers ------------------------------------------------------------------------------------------------------------- */

/* The trace may be gone then. */
static void answer(struct pw_trace *trace, uint64_t now_us)
{
        trace->until_us = UINT64_MAX;
        trace->ends_us = now_us + IDLE_US;
        if (pw_trace_send(trace))
                pw_trace_free(trace);
        else
                trim(trace->log);
}

static bool due(struct pw_trace *trace, uint64_t now_us)
{
        return trace->until_us != UINT64_MAX &&
               (trace->until_us <= now_us || pw_trace_gangs_left(trace) >= PW_TRACE_BATCH ||
                pw_trace_states_left(trace) >= PW_TRACE_BATCH);
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

static enum pw_status begin(const struct pw_trace *of, uint64_t now_us, struct pw_trace **ret_trace, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = of->reader.daemon;
        struct pw_trace *trace = calloc(1, sizeof *trace);
        struct pw_trace_log *log;
        enum pw_status status = trace ? pw_trace_log_join(&of->reader, &log, ret_err)
                                      : pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for a trace");

        if (status != PW_OK) {
                free(trace);
                return status;
        }
        *trace = *of;
        trace->log = log;
        trace->start_ns = now_us * 1000;
        trace->until_us = UINT64_MAX;
        trace->at = (struct pw_trace_place){ log->gangs.end, log->runs.end, log->moves.end, log->programs.end, log->states.end };
        trace->lost_before = log->lost;
        pw_list_init(&trace->link);
        pw_list_append(&daemon->inspection.traces, &trace->link);
        pw_states_follow(daemon);
        *ret_trace = trace;
        return PW_OK;
}

static void add_live_run(void *context, const struct pw_run *run)
{
        struct pw_trace *trace = context;
        const struct pw_traced_run from = { .run = run->number, .submitted_us = run->submitted_us, .program = run->row->name,
                                            .client = (char *)(uintptr_t)run->client };

        if (!trace->reader.operator_ && strcmp(run->row->tenant, trace->reader.tenant->name))
                return;
        if (trace->live_count < LIVE_MAX && pw_traced_run_copy(&trace->live[trace->live_count], &from))
                trace->live_bytes += pw_kept_heap_bytes(trace->live[trace->live_count++].program);
        else
                trace->lost++;
}

static void add_last(struct pw_trace *trace)
{
        struct pw_daemon *daemon = trace->reader.daemon;

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

enum pw_status pw_trace_ask(const struct pw_trace *of, const struct pw_trace_question *question, struct pw_error *ret_err)
{
        struct pw_trace *trace = find(of);
        uint64_t now_us = pw_now_us();
        enum pw_status status = PW_OK;

        if (!trace && question->goes_on)
                status = pw_error_set(ret_err, PW_GONE, "the trace ended: nobody asked for it for %u s", IDLE_US / 1000000);
        else if (!trace)
                status = begin(of, now_us, &trace, ret_err);
        else if (trace->until_us != UINT64_MAX)
                status = pw_error_set(ret_err, PW_INVALID, "the trace is asked for already");
        if (status != PW_OK)
                return status;
        trace->request = question->request;
        trace->until_us = now_us + pw_min_u64(question->wait_us, WAIT_MAX_US);
        if (question->last && !trace->last)
                add_last(trace);
        if (trace->last || due(trace, now_us))
                answer(trace, now_us);
        return PW_OK;
}

void pw_trace_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request)
{
        struct pw_trace of = of_session(session);
        struct pw_trace_question question = { id, request->wait_us > 0 ? (uint64_t)request->wait_us : 0, session->trace_ended,
                                              request->last };
        struct pw_error err;

        if (*request->host && pw_trace_elsewhere(session, id, request))
                return;
        session->trace_ended = false;
        if (pw_trace_ask(&of, &question, &err) != PW_OK)
                pw_session_reply_error(session, id, err.status, err.text);
}

void pw_trace_session_end(struct pw_dsession *session)
{
        struct pw_trace of = of_session(session), *trace = find(&of);

        if (trace)
                pw_trace_free(trace);
}

uint32_t pw_traces_count(const struct pw_daemon *daemon, const struct pw_tenant *tenant)
{
        const struct pw_list *node = daemon->inspection.traces.next;
        uint32_t count = 0;

        for (; node != &daemon->inspection.traces; node = node->next)
                count += !tenant || pw_list_item(node, const struct pw_trace, link)->reader.tenant == tenant;
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
                                 .kind = travelled->to == daemon->host ? "pull" : "send", .status = travelled->status,
                                 .why = travelled->why };

        if (pw_list_empty(&daemon->inspection.trace_logs))
                return; /* formatting is what costs */
        pw_id_format(travelled->id, object);
        if (travelled->from)
                snprintf(from, sizeof from, "h%u", travelled->from);
        else
                snprintf(from, sizeof from, "-");
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
                        if (trace->session)
                                trace->session->trace_ended = true;
                        pw_trace_free(trace);
                }
        pw_traces_collect(daemon, now_us);
}
