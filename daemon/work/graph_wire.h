/* Programs between message and graph.
 */
#ifndef PW_DAEMON_WORK_GRAPH_WIRE_H
#define PW_DAEMON_WORK_GRAPH_WIRE_H

#include "daemon/session/output.h"
#include "program/graph/graph.h"

/* A graph of what the client traced; nothing is checked but what would not fit the structs. Its slices have an id and nothing else.
 * Own: *ret_graph is the caller's. Errors: PW_BAD_PROGRAM, PW_SHAPE, PW_TOO_LARGE, PW_NO_MEMORY.   Threads: any, as all of
 * these. */
PW_MUST_CHECK enum pw_status pw_graph_read(const Pathways__Wire__ProgramCompile *request, struct pw_graph **ret_graph,
                                           struct pw_error *ret_err);
/* The message that asks about `query`, which it points into. */
struct pw_question {
        Pathways__Wire__Describe describe;
        char module[128];
        Pathways__Wire__Type types[PW_TASK_ARGS_MAX], *list[PW_TASK_ARGS_MAX];
};
void pw_question_fill(struct pw_question *question, const struct pw_shape_query *query);
/* The answer to request `id`: handle, types of inputs and results, and the peak. Own: the caller's; NULL: out of memory. */
struct pw_outgoing *pw_graph_reply(uint64_t id, const struct pw_program_row *row);

#endif
