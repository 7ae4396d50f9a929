/* Traces: what `pathways trace` is told of gangs, runs and moves while it asks. What happens is kept once for all traces that may
 * see it (trace_log.h). A trace that nobody asks for ends after a while.
 *
 * Gangs are taken from the histories of the device boards in each turn while somebody traces; nobody pays for it before. From one
 * turn to the next a device does less than its history holds: it is ordered no more than PW_ORDER_REACH ahead. So only who asks
 * too seldom loses gangs, and is told how many.
 */
#ifndef PW_DAEMON_INSPECT_TRACE_TRACE_H
#define PW_DAEMON_INSPECT_TRACE_TRACE_H

#include "daemon/client/observer.h"

/* Begin a trace of the session, or go on with it: answer when there is a batch, or the time is over. */
void pw_trace_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request);
void pw_trace_session_end(struct pw_dsession *session);
/* Behind pw_boards_poll() and before anything is ordered: run records are then still those of the gangs that are done. */
void pw_traces_collect(struct pw_daemon *daemon, uint64_t now_us);
void pw_traces_run_ended(struct pw_daemon *daemon, const struct pw_run *run, enum pw_status outcome, uint64_t now_us);
void pw_traces_moved(struct pw_daemon *daemon, const struct pw_moved *move);
struct pw_travelled;
void pw_traces_travelled(struct pw_daemon *daemon, const struct pw_travelled *travelled); /* between hosts: a move, too */
uint32_t pw_traces_count(const struct pw_daemon *daemon, const struct pw_tenant *tenant); /* its own; NULL: all */
/* When the next answer is due; UINT64_MAX: none is waited for. */
uint64_t pw_traces_next_us(const struct pw_daemon *daemon);
void pw_traces_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
