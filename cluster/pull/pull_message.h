/* What hosts say to each other about pulls: values of a fixed size, with encode and decode beside. Bytes of values go over bulk
 * streams; all of this as frames of a link, each once and in order. Kinds are numbered apart from those of borrow/talk.h: the third
 * byte of either tells which it is (pw_pull_is_message()).
 *
 * A *puller* has a room for a replica; the *home*, which is whoever lends the object, names a *source* for it, which sends. A pull
 * is named by its host and `number`; what one may ask for, of a room where a source has a value or is getting it, by the source's
 * host and `source_number`: both come from one counter of a host (pw_pull_source_offer()), and no number comes again in a later
 * life of it. So an ask for what a host had before is never taken for one for what it has now.
 */
#ifndef PW_CLUSTER_PULL_MESSAGE_H
#define PW_CLUSTER_PULL_MESSAGE_H

#include "base/id.h"

struct pw_link_frame;

enum pw_pull_kind {
        PW_PULL_MSG_WANT = 33, /* to the home: name a source of `id` for `number`; NAMED answers */
        /* from the home: from now on `source` is its source, by `source_number`; or, PW_NOT_READY, it is to wait until another
         * NAMED comes; or, another status, there is none, and the home knows it no more. `round` counts up with each one of a
         * pull */
        PW_PULL_MSG_NAMED,
        PW_PULL_MSG_REPORT,   /* to the home: the source that it named in `round` failed, as `status` says; another NAMED comes */
        PW_PULL_MSG_WHOLE,    /* to the home: all of it is here now */
        /* to the home, in a later term than that of the pull: all of `id` is here, by `number`; it may be named to others */
        PW_PULL_MSG_HAVE,
        PW_PULL_MSG_LEAVE,    /* to the home: nobody here holds it any more, or the pull failed */
        PW_PULL_MSG_ASK,      /* to the source: send `chunk` of `id` over bulk stream `stream`, with the number `ask` before it */
        PW_PULL_MSG_STOP,     /* to the source: what was asked by `ask` is not wanted; it may have been sent */
        PW_PULL_MSG_WAIT,     /* from the source: what was asked by `ask` is not there yet, and is sent when it is */
        PW_PULL_MSG_REFUSE,   /* from the source: what was asked by `ask` is not sent; why is in `status` */
};
#define PW_PULL_MSG_LAST PW_PULL_MSG_REFUSE

/* All that is not said of a kind above is 0. */
struct pw_pull_message {
        enum pw_pull_kind kind;
        enum pw_status status;
        uint64_t number, round;
        uint64_t source_number;
        uint64_t ask;           /* counts up in what a host asks another for */
        uint32_t source;        /* a host */
        uint32_t stream, chunk;
        struct pw_id id;
};

#define PW_PULL_CHUNK_BYTES 1048576u /* all chunks of a value but the last are so long */
#define PW_PULL_STREAMS_MAX 16u
#define PW_PULL_MESSAGE_BYTES 72u
static inline uint64_t pw_pull_chunks(uint64_t bytes) { return bytes / PW_PULL_CHUNK_BYTES + !!(bytes % PW_PULL_CHUNK_BYTES); }
static inline uint32_t pw_pull_chunk_bytes(uint64_t bytes, uint32_t chunk)
{
        uint64_t left = bytes - (uint64_t)chunk * PW_PULL_CHUNK_BYTES;

        return left < PW_PULL_CHUNK_BYTES ? (uint32_t)left : PW_PULL_CHUNK_BYTES;
}

/* WANT asks for work: it needs a credit of the link; the first NAMED of a pull gives it back. */
static inline bool pw_pull_is_work(enum pw_pull_kind kind) { return kind == PW_PULL_MSG_WANT; }
/* To whom at a host it goes: to pw_pull_spread_receive(), pw_pull_source_receive(), or to neither, then to pw_pulls_receive(). */
static inline bool pw_pull_is_for_home(enum pw_pull_kind kind)
{
        return kind == PW_PULL_MSG_WANT || (kind >= PW_PULL_MSG_REPORT && kind <= PW_PULL_MSG_LEAVE);
}
static inline bool pw_pull_is_for_source(enum pw_pull_kind kind) { return kind == PW_PULL_MSG_ASK || kind == PW_PULL_MSG_STOP; }

/* Are these bytes one of these messages, and not one of another core? */
static inline bool pw_pull_is_message(const uint8_t *bytes, size_t length) { return length > 2 && bytes[2] >= PW_PULL_MSG_WANT; }

/* The message as a frame of the link. NULL: out of memory; give the host up. Own: the caller's, as of pw_link_frame_new(). */
struct pw_link_frame *pw_pull_encode(const struct pw_pull_message *message);
/* Errors: PW_PROTOCOL: another version or length, or anything that nobody would have encoded; nothing of it is to be believed. */
PW_MUST_CHECK enum pw_status pw_pull_decode(const void *bytes, size_t length, struct pw_pull_message *ret_message,
                                            struct pw_error *ret_err);

/* What goes before a chunk on a bulk stream. */
struct pw_pull_head {
        uint64_t ask;
        uint64_t checksum;      /* of the bytes: XXH3, 64 bit */
        uint32_t bytes;
};
#define PW_PULL_HEAD_BYTES 24u
void pw_pull_head_encode(const struct pw_pull_head *head, uint8_t ret_bytes[PW_PULL_HEAD_BYTES]);
/* Errors: PW_PROTOCOL. */
PW_MUST_CHECK enum pw_status pw_pull_head_decode(const uint8_t bytes[PW_PULL_HEAD_BYTES], struct pw_pull_head *ret_head,
                                                 struct pw_error *ret_err);

#endif
