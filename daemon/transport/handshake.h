/* Handshakes: what becomes of a connection until it is a pipe. The loop waits for the peer, a worker does each step, and the loop
 * decides what comes next.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_TRANSPORT_HANDSHAKE_H
#define PW_DAEMON_TRANSPORT_HANDSHAKE_H

#include "daemon/transport/transport_private.h"

enum pw_handshake_state {
        PW_HANDSHAKE_CONNECTING = 0, /* of a caller: nobody has taken the call yet */
        PW_HANDSHAKE_PROVING,        /* the kind's steps */
        PW_HANDSHAKE_SAYING,         /* this side's greeting or answer is written */
        PW_HANDSHAKE_HEARING,        /* the other side's is read */
        PW_HANDSHAKE_UP,             /* the pipe is its owner's */
        PW_HANDSHAKE_REFUSED,
        PW_HANDSHAKE_STATES
};
enum pw_handshake_event {
        PW_HANDSHAKE_PROVE = 0, PW_HANDSHAKE_SAY, PW_HANDSHAKE_HEAR, PW_HANDSHAKE_COME_UP, PW_HANDSHAKE_REFUSE, PW_HANDSHAKE_EVENTS
};

struct pw_handshake;

/* Called once, by the loop: the pipe, or NULL and why. The handshake is gone then. */
typedef void pw_handshake_ended(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting,
                                const struct pw_error *why);

struct pw_handshake_params {
        int fd_take;
        const struct pw_address *peer;
        const struct pw_greeting *greeting;  /* of a caller: what to say; NULL: of a listener, which answers */
        const char *expected;          /* of a caller; may be NULL */
        pw_handshake_ended *ended;
        void *context;
};

/* Errors: PW_NO_MEMORY: `fd` is still the caller's, and `ended` is not called. */
PW_MUST_CHECK enum pw_status pw_handshake_begin(struct pw_transport *transport, const struct pw_handshake_params *params,
                                                struct pw_handshake **ret_handshake, struct pw_error *ret_err);
/* Those of `context` are hung up on, untold. */
void pw_handshakes_drop(struct pw_transport *transport, const void *context);
/* The oldest one of a listener is refused: there are too many. */
void pw_handshakes_refuse_oldest(struct pw_transport *transport);
void pw_handshakes_turn(struct pw_transport *transport, uint64_t now_us);
uint64_t pw_handshakes_next_us(const struct pw_transport *transport);
/* Once the crew has ended. */
void pw_handshakes_free(struct pw_transport *transport);

#endif
