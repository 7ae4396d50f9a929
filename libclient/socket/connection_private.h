/* The inside of a connection, for its four files: connection.c asks, outgoing.c sends, watcher.c reads, handshake.c is before them.
 */
#ifndef PW_LIBCLIENT_SOCKET_CONNECTION_PRIVATE_H
#define PW_LIBCLIENT_SOCKET_CONNECTION_PRIVATE_H

#include "base/list.h"
#include "libclient/socket/connection.h"
#include "libclient/socket/descriptor.h"

#include <pthread.h>

/* A call that waits for its replies; it lies on the caller's stack. */
struct pw_reply_waiter {
        struct pw_list node;
        uint64_t first;  /* id, of `count` that follow each other */
        uint32_t count, left;
        struct pw_answer *answers; /* by id; without a reply: not there yet */
        pthread_cond_t answered;
        bool reads; /* it has the socket's reading side */
};

enum pw_reader { PW_READER_NONE = 0, PW_READER_WATCHER, PW_READER_CALLER };

struct pw_connection {
        struct pw_descriptor socket, nudge;
        _Atomic uint32_t *life; /* a page of its own, MADV_WIPEONFORK */
        uint64_t life_bytes;
        pthread_t watcher;
        bool watching;
        _Atomic bool lost; /* the process has closed the descriptors */
        _Atomic uint64_t last_id;
        struct pw_connection_params params;
        struct pw_decoder decoder; /* of who reads, once the watcher runs */

        pthread_mutex_t send_lock; /* around a whole frame */
        _Atomic uint32_t wanted;   /* to be sent by the thread that holds the socket, or by the one that wanted it */
        _Atomic uint32_t kept;     /* to be sent by the watcher when there is room */

        pthread_mutex_t lock; /* guards what follows */
        enum pw_reader reader;
        bool lent;                 /* the watcher looks for the end of the socket only */
        bool rests;                /* it does so without a look now and then, as a caller reads that waits for long */
        uint64_t reads;            /* by callers */
        pthread_cond_t given_back; /* the reader is no caller any more */
        struct pw_list waiters;
        struct pw_list soon; /* what the watcher has to send */
        char gone_text[200];
};

/* Send a request whose id is set.   Blocks: while the socket is full. */
PW_MUST_CHECK enum pw_status pw_connection_send_request(struct pw_connection *connection, Pathways__Wire__Request *request,
                                                        struct pw_error *ret_err);
/* The first of `count` that follow each other. */
uint64_t pw_connection_next_ids(struct pw_connection *connection, uint32_t count);

/* Own: `reply_take`, and the frame's descriptors (set to -1 there). */
void pw_answer_take(struct pw_answer *ret_answer, Pathways__Wire__Reply *reply_take, struct pw_frame *frame);
/* Say Hello and read the Welcome, with the caller's thread. handshake.c */
PW_MUST_CHECK enum pw_status pw_connection_shake_hands(struct pw_connection *connection, struct pw_answer *ret_welcome,
                                                       struct pw_error *ret_err);
/* Of a call: before it is sent; until each reply is there, or the session has ended; when it is over. watcher.c */
void pw_connection_expect(struct pw_connection *connection, struct pw_reply_waiter *waiter);
void pw_connection_await(struct pw_connection *connection, struct pw_reply_waiter *waiter);
void pw_connection_expect_no_more(struct pw_connection *connection, struct pw_reply_waiter *waiter);
/* The process has closed the descriptor of the socket itself: the session ends as if the daemon were gone. watcher.c */
void pw_connection_lost(struct pw_connection *connection);
/* This process ends the session: who waits hears of it before the daemon does. watcher.c */
void pw_connection_leave(struct pw_connection *connection);
/* Start the thread that reads the socket from now on. watcher.c */
PW_MUST_CHECK enum pw_status pw_connection_watch(struct pw_connection *connection, struct pw_error *ret_err);

#endif
