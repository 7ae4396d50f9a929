/* Compiling programs for sessions, and freeing them. A compilation goes to a thread (compiler.h) and back, step by step
 * (compile.h); this file's side of it is what only the loop may do: slices, modules, questions, and the scheduler.
 *
 * Of a session few compilations are under way, and it is not heard while there are more; of a tenant few have begun, each has the
 * bytes of its request besides.
 */
#ifndef PW_DAEMON_WORK_PROGRAM_H
#define PW_DAEMON_WORK_PROGRAM_H

#include "daemon/session/session.h"
#include "daemon/wait.h"

/* The id of the request in this frame, 0: none is seen; and whether it is one to compile. Nothing is unpacked for that. */
uint64_t pw_program_request_id(const struct pw_frame *frame, bool *ret_compiles);
/* Request `id`, one to compile, is taken, or refused. */
void pw_program_take(struct pw_dsession *session, uint64_t id, const struct pw_frame *frame);
void pw_program_free_request(struct pw_dsession *session, uint64_t id, uint32_t program);
/* Its compilations under way go when they come to the end of a step. Its programs: ending.h. */
void pw_programs_session_end(struct pw_dsession *session);
/* No thread compiles any more: what was under way goes. */
void pw_programs_done(struct pw_daemon *daemon);

/* Compilations that wait for shapes: of `session`, or of all (NULL). */
void pw_programs_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                           void (*row)(void *context, const struct pw_wait_row *row), void *context);
/* Whose function the describing executor is in; NULL: nobody's who is still there. */
struct pw_dsession *pw_program_described(const struct pw_daemon *daemon, const char **ret_function);

#endif
