/* What traces tell of, kept once for all that may see it: gangs, runs that ended, moves, and the programs they are of.
 *
 * A log is of a tenant, and has what that tenant may see; or of the operators, and has everything. It is there while somebody
 * traces. Each trace has its places in the queues; what all have been told goes. A queue that is full loses its oldest, and who was
 * not told of it counts that as lost. Its bytes are charged to a tenant; where they do not fit, the queues grow no more.
 */
#ifndef PW_DAEMON_INSPECT_TRACE_TRACE_LOG_H
#define PW_DAEMON_INSPECT_TRACE_TRACE_LOG_H

#include "daemon/session/output.h"

/* Items [first, end) by their number since the log began; a power of two of them, at most `most`. */
struct pw_trace_queue { char *items; uint32_t item_bytes, capacity, most; uint64_t first, end; };

struct pw_traced_gang { uint64_t run, seq, start_ns, took_ns; uint32_t program, node, status; uint16_t device; };
/* one allocation: program */
struct pw_traced_run { uint64_t run, submitted_us, ended_us; enum pw_status outcome; char *program, *client; };
struct pw_traced_state { uint64_t run, at_us; const char *state, *cause; }; /* texts that are always there */
struct pw_trace_move {
        uint64_t bytes, start_us, end_us;
        char object[PW_ID_TEXT_BYTES], to[32], client[48], from[16];
        const char *kind; /* "": to another memory of the host */
        enum pw_status status;
        char why[160];
};
/* A program as logs tell of it: its texts are copies of its own. */
struct pw_traced_program {
        Pathways__Wire__TraceProgram message;
        Pathways__Wire__TraceNode *nodes;
        char *texts;
        uint64_t bytes; /* of all of it */
};

struct pw_trace_log {
        struct pw_list link; /* in daemon->inspection.trace_logs */
        struct pw_daemon *daemon;
        struct pw_tenant *tenant; /* who is charged for it; what is of others is not in it, unless it is the operators' */
        bool operators;
        uint32_t traces;
        uint64_t lost;                 /* that is in no queue */
        struct pw_table numbers;       /* serial of an image on the host -> number of its program */
        /* serials of those that there was no room for: not looked at again before others were told of */
        struct pw_table untold;
        uint32_t program_count;
        uint64_t bytes, counted_bytes; /* of all of it; as the tenant is charged for it */
        uint64_t program_bytes;        /* of those in the queue */
        /* of structs pw_traced_gang, _run, _state, pw_trace_move; of pointers to pw_traced_program */
        struct pw_trace_queue gangs, runs, states, moves, programs;
};

static inline void *pw_trace_queue_at(const struct pw_trace_queue *queue, uint64_t number)
{
        return queue->items + (size_t)(number & (queue->capacity - 1)) * queue->item_bytes;
}

/* Who reads: for whose end it is, and who is charged for it. */
struct pw_trace_reader { struct pw_daemon *daemon; struct pw_tenant *tenant; bool operator_; };
/* The log that the reader's trace reads, made where there is none; it has one trace more.
 * Errors: PW_LIMIT (the tenant has as many traces as it may), PW_NO_SPACE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_trace_log_join(const struct pw_trace_reader *reader, struct pw_trace_log **ret_log,
                                               struct pw_error *ret_err);
void pw_trace_log_leave(struct pw_trace_log *log); /* with the last one it goes */
/* Programs that were told of are told of again: a trace begins. */
void pw_trace_log_forget(struct pw_trace_log *log);
/* All traces were told of what comes before these numbers. */
struct pw_trace_place { uint64_t gang, run, move, program, state; };
void pw_trace_log_told(struct pw_trace_log *log, const struct pw_trace_place *place);

/* Look at the histories of all devices. */
void pw_trace_logs_gangs(struct pw_daemon *daemon);
void pw_trace_logs_run(struct pw_daemon *daemon, const struct pw_traced_run *run, const char *tenant); /* its texts are borrowed */
struct pw_transition;
void pw_trace_logs_state(struct pw_daemon *daemon, const struct pw_transition *transition, uint64_t now_us); /* of a run */
struct pw_moved; /* trace.h */
void pw_trace_logs_move(struct pw_daemon *daemon, const struct pw_moved *move);
/* The same run with texts of its own. False: out of memory. */
bool pw_traced_run_copy(struct pw_traced_run *ret_run, const struct pw_traced_run *from);

#endif
