/* What this host pulls: cluster/pull/pull.h decides, threads receive (bulk.h). The three cores of pulls are driven here.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_PULL_PULLING_H
#define PW_DAEMON_PEER_PULL_PULLING_H

#include "daemon/peer/peers_private.h"

struct pw_pulling;

struct pw_pulling_request {
        struct pw_id id;
        const char *tenant; /* who is charged for it; borrowed, until let_go() */
        uint32_t lender;   /* the host that holds it for this one */
        uint64_t bytes;    /* at least 1 */
        uint8_t *to;       /* the room: the threads' until let_go() */
        /* Once, later: PW_OK: all bytes are there, and no thread writes there. From then on they may be sent from there to others,
         * until pw_pulling_end(). Else `err` says why not. */
        void (*done)(void *context, enum pw_status status, const struct pw_error *err);
        /* Once, after pw_pulling_end(), and never inside it: no thread has the room any more, it is no more. */
        void (*let_go)(void *context);
        void *context;
};
/* Errors: PW_EXISTS (it is pulled already), PW_HOST_LOST (nobody lends it to this host), PW_TOO_LARGE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_pulling_begin(struct pw_peers *peers, const struct pw_pulling_request *request,
                                              struct pw_pulling **ret_pulling, struct pw_error *ret_err);
/* The room is to be given back: nobody wants the bytes any more. done() is not called from now on. Accepts one that was ended. */
void pw_pulling_end(struct pw_pulling *pulling);
/* `host` holds the replica for this host again. */
void pw_pulling_renewed(struct pw_pulling *pulling, uint32_t host);

struct pw_pulling_seen pw_pulling_see(const struct pw_pulling *pulling);

/* The cores, and bulk streams. Errors: PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_pulling_open(struct pw_peers *peers, struct pw_error *ret_err);
/* `host` said something about pulls. Errors: give the host up. */
PW_MUST_CHECK enum pw_status pw_pulling_hear(struct pw_peers *peers, uint32_t host, const uint8_t *bytes, uint32_t count,
                                             struct pw_error *ret_err);
/* There is another connection with `host`, of the same term or the next. */
void pw_pulling_met(struct pw_peers *peers, uint32_t host);
/* The term with `host` has ended. */
void pw_pulling_ended(struct pw_peers *peers, uint32_t host);
void pw_pulling_turn(struct pw_peers *peers);
uint64_t pw_pulling_next_us(const struct pw_peers *peers); /* CLOCK_BOOTTIME */
/* Streams are shut; after pw_transport_close() the rest. */
void pw_pulling_stop(struct pw_peers *peers);
void pw_pulling_close(struct pw_peers *peers);

#endif
