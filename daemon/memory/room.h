/* Room requests of sessions: from the frame to the store, and its answer back.
 */
#ifndef PW_DAEMON_MEMORY_ROOM_H
#define PW_DAEMON_MEMORY_ROOM_H

#include "daemon/session/output.h"

/* Who asked the store for room himself, by a token of pw_rooms_wait_for(). Each is told once, either way; a `drop` is that of its
 * session, or of the daemon. */
struct pw_room_taker {
        void (*answer)(struct pw_daemon *daemon, struct pw_room_taker *taker_take, const struct pw_store_action *action);
        void (*drop)(struct pw_room_taker *taker_take);
};
struct pw_room_for {
        struct pw_dsession *session; /* that waits, as for its own; NULL: none does */
        struct pw_room_taker *taker;
        uint32_t lane;               /* of the session */
        uint64_t bytes, until_us;
};
uint64_t pw_rooms_wait_for(struct pw_daemon *daemon, const struct pw_room_for *room); /* 0: out of memory */
/* The request is taken back: its taker is told nothing any more. */
void pw_rooms_cancel(struct pw_daemon *daemon, uint64_t token);
void pw_rooms_ask(struct pw_dsession *session, uint64_t id, const Pathways__Wire__RoomRequest *request);
void pw_rooms_answer(struct pw_daemon *daemon, const struct pw_store_action *action);
/* Requests that wait, of `session` or of all (NULL). */
struct pw_wait_row;
void pw_rooms_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *context, const struct pw_wait_row *row), void *context);
void pw_rooms_session_end(struct pw_dsession *session);
void pw_rooms_done(struct pw_daemon *daemon);

#endif
