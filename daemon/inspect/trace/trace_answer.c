/* Answers of traces, made of what the logs have. */
#include "daemon/inspect/trace/trace_private.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/peer/peers.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH PW_TRACE_BATCH
#define MOVES_BATCH 1024u
#define SHARE 4u                     /* of these: so many parts less has an answer to another host, which fits into a frame */
#define PROGRAM_BYTES (256u << 10)   /* in such an answer */

/* --- what is left to be told -------------------------------------------------------------------------------------------- */

static uint64_t catch_up(struct pw_trace *trace, const struct pw_trace_queue *queue, uint64_t *at)
{
        if (*at < queue->first) {
                trace->lost += queue->first - *at;
                *at = queue->first;
        }
        return queue->end - *at;
}

uint64_t pw_trace_gangs_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->gangs, &trace->at.gang); }
uint64_t pw_trace_states_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->states, &trace->at.state); }

static uint64_t runs_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->runs, &trace->at.run); }
static uint64_t moves_left(struct pw_trace *trace) { return catch_up(trace, &trace->log->moves, &trace->at.move); }

static bool all_told(struct pw_trace *trace)
{
        return !pw_trace_gangs_left(trace) && !runs_left(trace) && !pw_trace_states_left(trace) && !moves_left(trace) &&
               trace->live_told == trace->live_count;
}

/* --- parts -------------------------------------------------------------------------------------------------------------- */

/* What a message refers to. */
struct parts {
        Pathways__Wire__TraceDevice devices[PW_DEVICES_MAX], *device_pointers[PW_DEVICES_MAX];
        char device_names[PW_DEVICES_MAX][24];
        Pathways__Wire__TraceGang gangs[BATCH], *gang_pointers[BATCH];
        Pathways__Wire__TraceRun runs[BATCH], *run_pointers[BATCH];
        Pathways__Wire__TraceState states[BATCH], *state_pointers[BATCH];
        Pathways__Wire__TraceMove moves[MOVES_BATCH], *move_pointers[MOVES_BATCH];
        uint32_t most; /* of each */
};

static void put_devices(const struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        const struct pw_daemon *daemon = trace->reader.daemon;

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

/* What was not told yet, and fits: their gangs come after them. Own: the caller frees message->programs. False: there is more. */
static bool put_programs(struct pw_trace *trace, Pathways__Wire__Trace *message)
{
        const struct pw_trace_queue *queue = &trace->log->programs;
        uint64_t first = pw_max_u64(trace->at.program, queue->first), count = queue->end - first;
        uint64_t left = trace->session ? UINT64_MAX : PROGRAM_BYTES;

        message->programs = count ? malloc(count * sizeof *message->programs) : NULL;
        if (!message->programs)
                return true;
        for (trace->at.program = first; trace->at.program < queue->end; trace->at.program++) {
                struct pw_traced_program *program = *(struct pw_traced_program **)pw_trace_queue_at(queue, trace->at.program);

                if (!trace->session && program->bytes > PROGRAM_BYTES)
                        continue; /* its gangs have no names */
                if (program->bytes > left)
                        return false;
                left -= program->bytes;
                message->programs[message->n_programs++] = &program->message;
        }
        return true;
}

static void put_gangs(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        uint64_t count = pw_min_u64(pw_trace_gangs_left(trace), parts->most);

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
        while (message->n_runs < parts->most && runs_left(trace))
                put_run(parts, pw_trace_queue_at(&trace->log->runs, trace->at.run++), message);
        while (message->n_runs < parts->most && trace->live_told < trace->live_count)
                put_run(parts, &trace->live[trace->live_told++], message);
}

static void put_states(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        message->states = parts->state_pointers;
        for (uint64_t left = pw_min_u64(pw_trace_states_left(trace), parts->most); left; left--) {
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
        uint64_t most = pw_min_u64(parts->most, MOVES_BATCH);

        message->moves = parts->move_pointers;
        for (uint64_t left = pw_min_u64(moves_left(trace), trace->session ? most : most / SHARE); left; left--) {
                struct pw_trace_move *from = pw_trace_queue_at(&trace->log->moves, trace->at.move++);
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
                move->status = from->status;
                move->why = from->why;
        }
}

/* --- answers ------------------------------------------------------------------------------------------------------------ */

static void reply(struct pw_trace *trace, Pathways__Wire__Trace *message)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;

        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_TRACE;
        reply.trace = message;
        if (trace->session)
                pw_session_reply(trace->session, trace->request, &reply, NULL, 0);
        else
                pw_trace_answer_host(trace, message);
}

/* True: it was the last answer. */
static bool send_parts(struct pw_trace *trace, struct parts *parts)
{
        Pathways__Wire__Trace message = PATHWAYS__WIRE__TRACE__INIT;
        uint64_t now_us = pw_now_us(), boot_us = pw_boot_us();

        parts->most = trace->session ? BATCH : BATCH / SHARE;
        if (!trace->begun)
                put_devices(trace, parts, &message);
        if (put_programs(trace, &message))
                put_gangs(trace, parts, &message);
        put_runs(trace, parts, &message);
        put_states(trace, parts, &message);
        put_moves(trace, parts, &message);
        message.start_ns = trace->start_ns;
        message.asleep_ns = (boot_us > now_us ? boot_us - now_us : 0) * 1000;
        message.lost = trace->lost + trace->log->lost - trace->lost_before;
        message.more = !all_told(trace);
        message.end = trace->last && !message.more;
        reply(trace, &message);
        free(message.programs);
        trace->begun = true;
        return message.end;
}

bool pw_trace_send(struct pw_trace *trace)
{
        struct parts *parts = malloc(sizeof *parts);
        bool end = true;
        struct pw_error err;

        if (parts) {
                end = send_parts(trace, parts);
        } else {
                (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory for the trace");
                if (trace->session)
                        pw_session_reply_error(trace->session, trace->request, err.status, err.text);
                else
                        pw_trace_refuse_host(trace->reader.daemon, trace->host, trace->request, &err);
        }
        free(parts);
        return end;
}
