/* A control stream: frames to and from one host, on the loop. Reading never waits for writing: what the other side does not take
 * is queued here, and a queue that is full refuses more, but what comes is read all the same.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_TRANSPORT_STREAM_CONTROL_H
#define PW_DAEMON_TRANSPORT_STREAM_CONTROL_H

#include "daemon/transport/stream/frames.h"
#include "daemon/transport/transport.h"

#include <sys/uio.h>

struct pw_control_stream;

/* Told by the loop, never inside a call here. They may call anything but pw_control_stream_free(). */
struct pw_control_stream_events {
        void (*frame)(void *context, const uint8_t *frame, uint32_t bytes); /* borrowed for the call */
        void (*room)(void *context);  /* after a send was refused: half the queue is free again */
        /* It is over, nothing is told any more: PW_DAEMON_GONE (the other side hung up), PW_PROTOCOL, PW_SYSTEM, PW_NO_MEMORY. */
        void (*broken)(void *context, const struct pw_error *why);
};

struct pw_control_stream_params {
        const struct pw_control_stream_events *events; /* borrowed */
        void *context;
        uint32_t queue_bytes_max;     /* of frames that the other side has not taken; at least that of one frame with its head */
};

/* Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_control_stream_new(struct pw_pipe *pipe_take, const struct pw_control_stream_params *params,
                                                   struct pw_control_stream **ret_stream, struct pw_error *ret_err);
void pw_control_stream_free(struct pw_control_stream *stream); /* hangs up; what is queued is dropped; accepts NULL */
/* Hang up: nothing is told any more. */
void pw_control_stream_stop(struct pw_control_stream *stream);

/* Queue a frame, the bytes of `parts` in a row, until pw_control_stream_flush().
 * Errors: PW_LIMIT (the queue is full, nothing of it is there; `room` will be told), PW_TOO_LARGE (over PW_FRAMES_MAX),
 * PW_NO_MEMORY, PW_DAEMON_GONE (it is over). */
PW_MUST_CHECK enum pw_status pw_control_stream_send(struct pw_control_stream *stream, const struct iovec *parts, uint32_t count,
                                                    struct pw_error *ret_err);
/* After the last frame of a turn: the descriptor gets what it takes now, and the loop writes the rest. */
void pw_control_stream_flush(struct pw_control_stream *stream);
uint64_t pw_control_stream_queued_bytes(const struct pw_control_stream *stream);

#endif
