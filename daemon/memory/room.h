/* Room requests of sessions: from the frame to the store, and its answer back.
 */
#ifndef PW_DAEMON_MEMORY_ROOM_H
#define PW_DAEMON_MEMORY_ROOM_H

#include "daemon/session/output.h"

/* Room of a freezer for a frozen put: what a session waits for, and answered by pw_frozen_room(). 0: out of memory. */
struct pw_frozen;
uint64_t pw_rooms_wait_for(struct pw_dsession *session, struct pw_frozen *frozen, uint32_t lane, uint64_t bytes, uint64_t until_us);
void pw_rooms_ask(struct pw_dsession *session, uint64_t id, const Pathways__Wire__RoomRequest *request);
void pw_rooms_answer(struct pw_daemon *daemon, const struct pw_store_action *action);
/* Requests that wait, of `session` or of all (NULL). */
struct pw_wait_row;
void pw_rooms_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *context, const struct pw_wait_row *row), void *context);
void pw_rooms_session_end(struct pw_dsession *session);
void pw_rooms_done(struct pw_daemon *daemon);

#endif
