/* Clients and children as they come and go: a session's life, its handshake, what it says, its process.
 *
 * Life: accepted (no role yet) -> attached (Hello) -> ended (socket closed, protocol broken, process dead) -> freed at the end of a
 * turn, lane by lane, program by program. What the store knows of it may outlive it: rooms that a living process might still write
 * into.
 */
#ifndef PW_DAEMON_CLIENT_CLIENT_H
#define PW_DAEMON_CLIENT_CLIENT_H

#include "daemon/session/output.h"
#include "daemon/session/process.h"
#include "daemon/session/session.h"

/* It said Hello. */
void pw_session_known(struct pw_dsession *session);
/* Listen, accept. */
PW_MUST_CHECK enum pw_status pw_sessions_listen(struct pw_daemon *daemon, struct pw_error *ret_err);
/* Who did not say Hello in time is ended; where descriptors were short, it listens again: deadlines, and what is due. */
uint64_t pw_strangers_next_us(const struct pw_daemon *daemon);
void pw_strangers_tick(struct pw_daemon *daemon, uint64_t now_us);
uint64_t pw_listening_next_us(const struct pw_daemon *daemon);
void pw_listening_tick(struct pw_daemon *daemon, uint64_t now_us);
/* A session over a connected socket (accepted, or a child's pair). Own: `fd_take`. */
PW_MUST_CHECK enum pw_status pw_session_new(struct pw_daemon *daemon, int fd_take, pid_t pid, uid_t uid,
                                            struct pw_dsession **ret_session, struct pw_error *ret_err);
/* Free some of those that ended, or of their lanes, programs and slices: what a turn has time for. */
void pw_sessions_reap(struct pw_daemon *daemon);
void pw_sessions_done(struct pw_daemon *daemon);

/* Handshake: answers Hello with descriptors. attach.c */
PW_MUST_CHECK enum pw_status pw_session_attach(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Hello *hello,
                                               struct pw_error *ret_err);
/* A segment as those hear of it who map it. */
void pw_session_describe(Pathways__Wire__SegmentInfo *ret_info, const struct pw_segment *segment);

/* What came in is taken in turn: input.c. A client that leaves much unread, or has many listings outstanding, is not heard until
 * that is less. A session that leaves much unread is not told so at once, since one that writes a long request need not read
 * meanwhile. */
#define PW_HEARD_MAX_BYTES (1u << 20)
#define PW_HEARD_MAX_FDS 32u
#define PW_HEARD_MAX_JOBS 16u /* compilations under way */
#define PW_HEARD_MAX_LISTINGS 8u
void pw_session_input_init(struct pw_dsession *session);
void pw_session_speaks(struct pw_dsession *session); /* there is something to be read of it */
/* Take frames of who speaks, for a part of a turn. True: there were some. */
bool pw_inputs_turn(struct pw_daemon *daemon);
static inline bool pw_session_is_heard(const struct pw_dsession *session)
{
        return (session->outgoing_bytes < PW_HEARD_MAX_BYTES && session->outgoing_fds < PW_HEARD_MAX_FDS &&
                session->listings < PW_HEARD_MAX_LISTINGS && session->job_count < PW_HEARD_MAX_JOBS) ||
               (session->role != PW_ROLE_NONE && session->role != PW_ROLE_CLIENT);
}
void pw_session_input_mind(struct pw_dsession *session); /* one of these changed */
void pw_session_input_done(struct pw_dsession *session);

/* Processes: process.c */
PW_MUST_CHECK enum pw_status pw_process_get(struct pw_daemon *daemon, pid_t pid, struct pw_process **ret_process,
                                            struct pw_error *ret_err);
/* Let some go of what the dead held. True: there was some. */
bool pw_processes_turn(struct pw_daemon *daemon);
void pw_process_leave(struct pw_dsession *session);
void pw_processes_done(struct pw_daemon *daemon);

#endif
