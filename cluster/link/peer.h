/* A peer: another host as this one deals with it, a link (link.h) and the connections that could be theirs.
 *
 * Who calls says its hello as soon as the connection is there; who is called reads it, finds the peer by its number, and answers
 * with a hello of its own. Who decides meets on the other's hello, and says so in its own (`met`); the other one meets on that. So
 * a call of who does not decide takes one round trip, the other one and a half. A connection on which they have not met within a
 * lease is shut.
 *
 * What is to be done goes through a table of functions, which the daemon fills, and tests with theirs. Connections are known by
 * numbers that whoever opens them gives, each once. Holds no socket and no clock, as link.h. Threads: one at a time.
 */
#ifndef PW_CLUSTER_LINK_PEER_H
#define PW_CLUSTER_LINK_PEER_H

#include "cluster/link/hello.h"

#define PW_PEER_CALLS 8u /* connections with one peer at most: when another comes, the oldest that has not met is shut */

struct pw_peer;

/* All slots are filled. None of them calls anything of the peer but pw_peer_send() and pw_peer_want(). */
struct pw_peer_port {
        /* Begin a connection to the peer; returns its number, never 0. Told later: pw_peer_connected() or pw_peer_closed(). */
        uint64_t (*connect)(void *context, struct pw_peer *peer);
        void (*say)(void *context, uint64_t connection, const struct pw_hello *hello);
        /* Nothing of it is told any more. */
        void (*shut)(void *context, uint64_t connection);
        void (*met)(void *context, struct pw_peer *peer, const struct pw_link_met *met);
        /* Its term has ended, and all that was kept of it. */
        void (*gave_up)(void *context, struct pw_peer *peer, const struct pw_error *why);
};

enum pw_call_state {
        PW_CALL_NONE = 0,
        PW_CALL_CONNECTING, /* by this side */
        PW_CALL_GREETED,    /* this side has said who it is */
        PW_CALL_MET,        /* it is theirs */
        PW_CALL_STATES
};
enum pw_call_event { PW_CALL_CONNECT = 0, PW_CALL_GREET, PW_CALL_MEET, PW_CALL_SHUT, PW_CALL_EVENTS };

struct pw_call {
        uint64_t connection;
        enum pw_call_state state;
        bool own;                /* this side called */
        uint64_t since_us;
        uint64_t met;            /* its number in the link */
};

struct pw_peer_params {
        struct pw_link_params link;
        const struct pw_hello *own; /* all but `met` and the stand; borrowed, with its texts */
        const char *name;        /* of the other host; borrowed */
        const struct pw_peer_port *port;
        void *context;           /* of the port */
};

struct pw_peer {
        struct pw_peer_params params;
        struct pw_link *link;
        struct pw_call calls[PW_PEER_CALLS];
        bool beat;               /* one is to be written */
};

/* Errors: as pw_link_new(). */
PW_MUST_CHECK enum pw_status pw_peer_new(const struct pw_peer_params *params, struct pw_peer **ret_peer, struct pw_error *ret_err);
/* Its connections are shut. */
void pw_peer_free(struct pw_peer *peer);

/* --- connections ------------------------------------------------------------------------------------------------------------ */

/* The connection that this side asked for is there. */
void pw_peer_connected(struct pw_peer *peer, uint64_t connection, uint64_t now_us);
/* A hello came: the first of a connection on which the other side calls, or an answer. `proven`: as pw_hello_check().
 * Errors: those of pw_hello_check() and pw_link_meet(); PW_EXISTS (its number has another name here), PW_PROTOCOL (one that has no
 * place there): the connection is shut then. */
PW_MUST_CHECK enum pw_status pw_peer_hello(struct pw_peer *peer, uint64_t connection, const struct pw_hello *hello,
                                           const char *proven, uint64_t now_us, struct pw_error *ret_err);
/* A head came. PW_OK: its frame is to be read. Errors: PW_EXISTS, PW_GONE: drop it; PW_PROTOCOL: the connection is shut. */
PW_MUST_CHECK enum pw_status pw_peer_head(struct pw_peer *peer, uint64_t connection, const struct pw_link_head *head,
                                          uint64_t now_us, struct pw_error *ret_err);
/* The other side shut it, it broke, or a call came to nothing. */
void pw_peer_closed(struct pw_peer *peer, uint64_t connection, uint64_t now_us);
/* A call found nobody who listens at one of the `addresses` of the host. Where all have said so its process has ended: it is given
 * up, pw_link_call_refused(). */
void pw_peer_refused(struct pw_peer *peer, uint64_t connection, uint32_t addresses, uint64_t now_us);

/* --- frames, and time ------------------------------------------------------------------------------------------------------- */

void pw_peer_want(struct pw_peer *peer, uint64_t now_us);
/* Errors: PW_HOST_LOST, as pw_link_send(). */
PW_MUST_CHECK enum pw_status pw_peer_send(struct pw_peer *peer, struct pw_link_frame *frame_take, uint64_t now_us,
                                          struct pw_error *ret_err);

struct pw_peer_writing {
        uint64_t connection;
        struct pw_link_head head;
        const struct pw_link_frame *frame; /* NULL: a beat; borrowed until the next call */
};
/* What is to be written next, in order; pw_peer_wrote() once it was. False: nothing. */
bool pw_peer_next(const struct pw_peer *peer, uint64_t now_us, struct pw_peer_writing *ret_writing);
void pw_peer_wrote(struct pw_peer *peer, const struct pw_peer_writing *writing, uint64_t now_us);

/* Calls, beats, gives up. read_us: up to then all of this host's sockets have been read. */
void pw_peer_turn(struct pw_peer *peer, uint64_t read_us);
/* Give it up now, for `why`: what it says cannot be, or there is no memory for it. The port's gave_up() is called, unless nothing
 * was kept of it. */
void pw_peer_give_up(struct pw_peer *peer, const struct pw_error *why, uint64_t now_us);
uint64_t pw_peer_next_us(const struct pw_peer *peer); /* when it is due; UINT64_MAX: not before something comes */

#endif
