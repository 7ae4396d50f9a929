/* What the files of traces share. Nobody else includes this. */
#ifndef PW_DAEMON_INSPECT_TRACE_TRACE_PRIVATE_H
#define PW_DAEMON_INSPECT_TRACE_TRACE_PRIVATE_H

#include "daemon/inspect/trace/trace_log.h"

#define PW_TRACE_BATCH 4096u /* gangs, and runs, of one answer */

struct pw_trace {
        struct pw_list link;
        struct pw_trace_reader reader;
        struct pw_dsession *session;   /* NULL: of another host's session: */
        uint32_t host;
        uint64_t number;               /* of that session there */
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

/* trace_answer.c */
uint64_t pw_trace_gangs_left(struct pw_trace *trace);
uint64_t pw_trace_states_left(struct pw_trace *trace);
/* Answer the question that waits. True: it was the last answer, or there was no memory for it. */
bool pw_trace_send(struct pw_trace *trace);

/* trace.c: what is asked now, or how it is refused. */
struct pw_trace_question { uint64_t request, wait_us; bool goes_on, last; };
PW_MUST_CHECK enum pw_status pw_trace_ask(const struct pw_trace *of, const struct pw_trace_question *question,
                                          struct pw_error *ret_err);
void pw_trace_free(struct pw_trace *trace);

/* trace_peer.c */
void pw_trace_answer_host(struct pw_trace *trace, const Pathways__Wire__Trace *message);
void pw_trace_refuse_host(struct pw_daemon *daemon, uint32_t host, uint64_t number, const struct pw_error *err);
bool pw_trace_elsewhere(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request);

#endif
