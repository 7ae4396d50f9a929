/* Compiling programs for sessions: from the message to a graph, shape by shape, lowered, given to the scheduler.
 */
#ifndef PW_DAEMON_PROGRAM_H
#define PW_DAEMON_PROGRAM_H

#include "daemon/inspect/waits.h"

void pw_program_compile(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ProgramCompile *request);
void pw_program_free_request(struct pw_dsession *session, uint64_t id, uint32_t program);
/* Its programs, slices and compilations under way go. */
void pw_programs_session_end(struct pw_dsession *session);

/* Compilations that wait for shapes: of `session`, or of all (NULL). */
void pw_programs_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                           void (*row)(void *context, const struct pw_wait_row *row), void *context);
/* Whose function the describing executor is in; NULL: nobody's who is still there. */
struct pw_dsession *pw_program_described(const struct pw_daemon *daemon, const char **ret_function);

#endif
