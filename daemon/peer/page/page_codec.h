/* What daemons say to each other of listings, between bytes and values: wire/peer.proto.
 *
 * Threads: any.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_PAGE_CODEC_H
#define PW_DAEMON_PEER_PAGE_CODEC_H

#include "base/error.h"

struct pw_link_frame;

/* What is asked of a trace. */
enum pw_peer_trace { PW_PEER_TRACE_BEGIN = 0, PW_PEER_TRACE_GO_ON, PW_PEER_TRACE_END };

/* A question for a page of a listing, or the answer. */
struct pw_peer_page {
        bool answers;
        uint64_t number;            /* of the question, of who asks; never 0 */
        /* a question */
        const char *tenant;         /* whose rows */
        bool all;                   /* all tenants': an operator asks */
        const char *what, *filter;  /* the listing; "": all of it */
        uint32_t limit;             /* rows; 0: no such bound */
        uint64_t after;             /* where the page begins, as the one before said */
        bool drain;                 /* to drain: `what` is who takes over, "": anybody; `after` how long to wait, in us */
        bool trace;                 /* for what a trace has: `after` is the session, `limit` an enum pw_peer_trace */
        /* an answer */
        enum pw_status status;      /* PW_OK: there are rows */
        const char *text;           /* of an error, a sentence; never NULL */
        const uint8_t *rows;        /* a Listing, or Trace, of wire/pathways.proto, packed; not looked at */
        uint32_t rows_bytes;
        void *own;
};

/* Own: the caller's, as of pw_link_frame_new(). A question asks for work. NULL: out of memory. */
struct pw_link_frame *pw_peer_page_frame(const struct pw_peer_page *message);
/* Own: pw_peer_page_done() frees what *ret_message refers to. Errors: PW_PROTOCOL (not such a message, or none for want of memory;
 * a question of no tenant; a status that there is not). */
PW_MUST_CHECK enum pw_status pw_peer_page_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_page *ret_message,
                                                 struct pw_error *ret_err);
void pw_peer_page_done(struct pw_peer_page *message);

#endif
