/* What daemons say to each other, between bytes and values: wire/peer.proto.
 *
 * Threads: any.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_CODEC_H
#define PW_DAEMON_PEER_CODEC_H

#include "cluster/link/hosts.h"

/* Whose a body is. */
enum pw_peer_body {
        PW_PEER_BODY_CORE = 1, /* scheduler/message.h */
        PW_PEER_BODY_TALK,     /* cluster/borrow/talk.h */
        PW_PEER_BODY_PULL,     /* cluster/pull/pull_message.h */
        PW_PEER_BODY_NAME,     /* name_codec.h */
        PW_PEER_BODY_PAGE,     /* page/page_codec.h */
};
#define PW_PEER_BODY_LAST PW_PEER_BODY_PAGE

struct pw_peer_said {
        bool is_hello;
        struct pw_hello hello;
        struct pw_link_head head;  /* of a frame, with its body */
        enum pw_peer_body whose;
        const uint8_t *body;
        uint32_t body_bytes;
        void *own;
};

/* Own: pw_peer_said_done() frees what *ret_said refers to. Errors: PW_PROTOCOL (not such a message, or none for want of
 * memory; a name that is none). */
PW_MUST_CHECK enum pw_status pw_peer_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_said *ret_said,
                                            struct pw_error *ret_err);
void pw_peer_said_done(struct pw_peer_said *said);

/* Own: *ret_bytes is the caller's, free(). Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_peer_pack_hello(const struct pw_hello *hello, uint8_t **ret_bytes, uint32_t *ret_count);
/* `frame`: NULL is a beat. */
PW_MUST_CHECK enum pw_status pw_peer_pack_frame(const struct pw_link_head *head, const struct pw_link_frame *frame,
                                                uint8_t **ret_bytes, uint32_t *ret_count);

#endif
