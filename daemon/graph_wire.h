/* Programs between message and graph.
 */
#ifndef PW_DAEMON_GRAPH_WIRE_H
#define PW_DAEMON_GRAPH_WIRE_H

#include "daemon/session.h"
#include "scheduler/graph.h"

/* A graph of what the client traced; nothing is checked but what would not fit the structs. Own: *ret_graph is the caller's.
 * Errors: PW_BAD_PROGRAM, PW_NOT_FOUND (a slice that is not the session's), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_graph_read(struct pw_dsession *session, const Pathways__Wire__ProgramCompile *request,
                                           struct pw_graph **ret_graph, struct pw_error *ret_err);
/* Answer with handle, types of inputs and results, and the peak. */
void pw_graph_reply(struct pw_dsession *session, uint64_t id, uint32_t program, const struct pw_program_row *row);

#endif
