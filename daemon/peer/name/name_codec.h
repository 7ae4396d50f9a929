/* What daemons say to each other of names, between bytes and values: wire/peer.proto.
 *
 * Threads: any.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_NAME_NAME_CODEC_H
#define PW_DAEMON_PEER_NAME_NAME_CODEC_H

#include "base/id.h"

struct pw_link_frame;

enum pw_peer_name_kind {
        PW_PEER_NAME_BIND = 1, /* a question to the home of `id`: bind the name to it */
        PW_PEER_NAME_REMOVE,   /* to the home of what it is bound to */
        PW_PEER_NAME_ANSWER,   /* to either */
        PW_PEER_NAME_WAITS,    /* somebody here waits for names: say once, by BOUND, when you have bound more than `number` */
        PW_PEER_NAME_BOUND,    /* this host has bound `number` names since it was started */
        PW_PEER_NAME_TAKE,     /* a question of who drains to who takes over: hold it by that name, or a lease, in its place */
};

struct pw_peer_name {
        enum pw_peer_name_kind kind;
        uint64_t number;           /* of a question and its answer: never 0; of WAITS and BOUND */
        const char *tenant, *name; /* of a question; of TAKE "": a lease */
        struct pw_id id;           /* BIND, TAKE */
        int64_t ttl_us;            /* BIND, TAKE: it goes after so long; 0: never */
        enum pw_status status;     /* ANSWER; PW_OK: it was done */
        const char *text;          /* ANSWER: of an error, a sentence; never NULL */
        void *own;
};

static inline bool pw_peer_name_is_question(enum pw_peer_name_kind kind)
{
        return kind == PW_PEER_NAME_BIND || kind == PW_PEER_NAME_REMOVE || kind == PW_PEER_NAME_TAKE;
}

/* Own: the caller's, as of pw_link_frame_new(). A question asks for work. NULL: out of memory. */
struct pw_link_frame *pw_peer_name_frame(const struct pw_peer_name *message);
/* Own: pw_peer_name_done() frees what *ret_message refers to. Errors: PW_PROTOCOL (not such a message, or none for want of memory;
 * a kind, a tenant, a name or a status that is none). */
PW_MUST_CHECK enum pw_status pw_peer_name_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_name *ret_message,
                                                 struct pw_error *ret_err);
void pw_peer_name_done(struct pw_peer_name *message);

#endif
