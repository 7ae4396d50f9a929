/* Compiling programs for sessions: from the message to a graph, shape by shape, lowered, given to the scheduler.
 */
#ifndef PW_DAEMON_PROGRAM_H
#define PW_DAEMON_PROGRAM_H

#include "daemon/session.h"

void pw_program_compile(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ProgramCompile *request);
void pw_program_free_request(struct pw_dsession *session, uint64_t id, uint32_t program);
/* Its programs, slices and compilations under way go. */
void pw_programs_session_end(struct pw_dsession *session);

#endif
