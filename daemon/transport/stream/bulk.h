/* A bulk stream: the bytes of values to or from one host, moved by a thread of its own, from where they lie to where they shall.
 *
 * The thread runs `work`, which sends and receives and blocks in that; the loop may shut the stream at any time, then the thread
 * comes out. Rooms that it was given are its until `ended` is told: only then does nobody touch them any more.
 */
#ifndef PW_DAEMON_TRANSPORT_STREAM_BULK_H
#define PW_DAEMON_TRANSPORT_STREAM_BULK_H

#include "daemon/transport/transport.h"

#include <sys/uio.h>

#define PW_BULK_PARTS_MAX 16u

struct pw_bulk_stream;

struct pw_bulk_stream_params {
        void (*work)(void *context, struct pw_bulk_stream *stream); /* on the thread, once; the stream is over when it returns */
        void (*ended)(void *context); /* then, by the loop; never inside a call here. It may free the stream. */
        void *context;
};

/* Errors: PW_NO_MEMORY, PW_SYSTEM (no thread): the pipe is still the caller's.   Threads: loop. */
PW_MUST_CHECK enum pw_status pw_bulk_stream_new(struct pw_pipe *pipe_take, const struct pw_bulk_stream_params *params,
                                                struct pw_bulk_stream **ret_stream, struct pw_error *ret_err);
/* Its thread gets PW_CANCELLED from what it is in, and from then on; `ended` will be told.   Threads: loop. */
void pw_bulk_stream_shut(struct pw_bulk_stream *stream);
/* After `ended`; or after pw_transport_close(), which waits for the threads of streams that were shut before.   Threads: loop. */
void pw_bulk_stream_free(struct pw_bulk_stream *stream);

/* Has the other side hung up, as far as is known here? Who only sends hears of it by nothing else.
 * Threads: the stream's.   Blocks: never. */
bool pw_bulk_stream_is_over(struct pw_bulk_stream *stream);

/* All bytes of up to PW_BULK_PARTS_MAX parts, in a row, straight from or to the memory that they name.
 * Errors: PW_CANCELLED (it was shut), PW_DAEMON_GONE (the other side hung up), PW_PROTOCOL (spoilt on the way), PW_SYSTEM; how
 * much of it went is not known then, and the stream is of no more use.   Threads: the stream's.   Blocks: until it is done. */
PW_MUST_CHECK enum pw_status pw_bulk_stream_send(struct pw_bulk_stream *stream, const struct iovec *parts, uint32_t count,
                                                 struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_bulk_stream_receive(struct pw_bulk_stream *stream, const struct iovec *parts, uint32_t count,
                                                    struct pw_error *ret_err);

#endif
