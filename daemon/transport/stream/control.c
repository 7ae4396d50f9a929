/* Control streams: two events on one descriptor, a buffer each way. */
#include "daemon/transport/stream/control.h"

#include "daemon/loop.h"
#include "daemon/transport/transport_private.h"

#include <event2/event.h>

#define QUEUE_MIN (PW_FRAMES_HEAD + PW_FRAMES_MAX)
#define QUEUE_MAX (1u << 30)
#define TURN_BYTES (256u << 10) /* that are read, and that are written, in one turn of the loop, at most */

struct pw_control_stream {
        struct pw_pipe *pipe;
        const struct pw_control_stream_events *events;
        void *context;
        struct event *readable, *writable;
        struct pw_frames in;
        uint8_t *out;            /* from out_start to out_end: not written yet */
        uint32_t out_start, out_end, out_capacity, out_max;
        bool refused;            /* a send was: `room` is owed */
        bool reads_when_written; /* reading waits until the descriptor can be written, as TLS may have to */
        bool over;
};

static void stop(struct pw_control_stream *stream)
{
        if (stream->over)
                return;
        stream->over = true;
        event_del(stream->readable);
        event_del(stream->writable);
        stream->pipe->kind->shut(stream->pipe);
}

static void break_off(struct pw_control_stream *stream, const struct pw_error *why)
{
        struct pw_error reason = *why;
        const struct pw_pipe *pipe = stream->pipe;

        pw_error_prefix(&reason, "%s %s %s", pipe->kind->name, pipe->caller ? "to" : "from", pipe->peer);
        stop(stream);
        stream->events->broken(stream->context, &reason);
}

/* --- reading ------------------------------------------------------------------------------------------------------------------ */

static enum pw_status hand_out(struct pw_control_stream *stream, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        const uint8_t *frame;
        uint32_t bytes;

        while (!stream->over && (status = pw_frames_next(&stream->in, &frame, &bytes, ret_err)) == PW_OK)
                stream->events->frame(stream->context, frame, bytes);
        return status == PW_NOT_READY ? PW_OK : status;
}

/* Read once, and hand out what is whole. *ret_all: there was less than there is room for, and so no more for now. */
static enum pw_status read_once(struct pw_control_stream *stream, size_t *ret_bytes, bool *ret_all, struct pw_error *ret_err)
{
        uint32_t room;
        uint8_t *at = pw_frames_room(&stream->in, &room);
        struct iovec part = { at, at ? room : 0 };
        enum pw_status status;

        if (!at)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for what it says");
        status = stream->pipe->kind->read(stream->pipe, &part, 1, ret_bytes, ret_err);
        if (status == PW_DAEMON_GONE && !pw_frames_empty(&stream->in))
                return pw_error_set(ret_err, PW_PROTOCOL, "it hung up in the middle of a frame");
        if (status != PW_OK)
                return status;
        pw_frames_came(&stream->in, (uint32_t)*ret_bytes);
        *ret_all = *ret_bytes < part.iov_len && !stream->pipe->pending;
        return hand_out(stream, ret_err);
}

/* Until nothing is there, or for now it is enough and what is left is in the descriptor, which wakes the loop for it. */
static void read_some(struct pw_control_stream *stream)
{
        enum pw_status status = PW_OK;
        size_t total = 0, bytes = 0;
        struct pw_error err;
        bool all = false;

        stream->reads_when_written = false;
        while (!stream->over && status == PW_OK && !all && (total < TURN_BYTES || stream->pipe->pending)) {
                status = read_once(stream, &bytes, &all, &err);
                total += bytes;
        }
        if (stream->over)
                return;
        if (pw_frames_empty(&stream->in) && stream->in.capacity > PW_FRAMES_PIECE)
                pw_frames_done(&stream->in);
        if (status == PW_NOT_READY && stream->pipe->wants_write) {
                stream->reads_when_written = true;
                event_add(stream->writable, NULL);
        } else if (status != PW_OK && status != PW_NOT_READY) {
                break_off(stream, &err);
        }
}

/* --- writing ------------------------------------------------------------------------------------------------------------------ */

static bool is_half_free(const struct pw_control_stream *stream)
{
        return stream->out_end - stream->out_start <= stream->out_max / 2;
}

static void write_some(struct pw_control_stream *stream)
{
        enum pw_status status = PW_OK;
        size_t total = 0, bytes;
        struct pw_error err;

        while (status == PW_OK && stream->out_start < stream->out_end && total < TURN_BYTES) {
                size_t most = pw_min_u64(TURN_BYTES - total, stream->out_end - stream->out_start);
                struct iovec part = { stream->out + stream->out_start, most };

                status = stream->pipe->kind->write(stream->pipe, &part, 1, &bytes, &err);
                if (status == PW_OK) {
                        stream->out_start += (uint32_t)bytes;
                        total += bytes;
                }
        }
        if (status != PW_OK && status != PW_NOT_READY) {
                break_off(stream, &err);
                return;
        }
        if (stream->out_start == stream->out_end)
                stream->out_start = stream->out_end = 0;
        else if (status == PW_OK || stream->pipe->wants_write) /* else it goes on when something is read */
                event_add(stream->writable, NULL);
        if (stream->refused && is_half_free(stream)) {
                stream->refused = false;
                stream->events->room(stream->context);
        }
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
        struct pw_control_stream *stream = context;
        struct pw_loop *loop = stream->pipe->transport->loop;

        (void)fd, (void)what;
        pw_woken(loop);
        loop->more = true;
        read_some(stream);
        if (!stream->over && stream->out_start < stream->out_end)
                event_add(stream->writable, NULL);
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
        struct pw_control_stream *stream = context;
        struct pw_loop *loop = stream->pipe->transport->loop;

        (void)fd, (void)what;
        pw_woken(loop);
        loop->more = true;
        if (stream->reads_when_written)
                read_some(stream);
        if (!stream->over)
                write_some(stream);
}

/* What goes wrong here the loop finds once more, and tells. */
void pw_control_stream_flush(struct pw_control_stream *stream)
{
        enum pw_status status = PW_OK;
        struct pw_error err;

        if (stream->over || event_pending(stream->writable, EV_WRITE, NULL))
                return;
        while (status == PW_OK && stream->out_start < stream->out_end) {
                struct iovec part = { stream->out + stream->out_start, stream->out_end - stream->out_start };
                size_t bytes = 0;

                status = stream->pipe->kind->write(stream->pipe, &part, 1, &bytes, &err);
                stream->out_start += (uint32_t)bytes;
        }
        if (stream->out_start == stream->out_end)
                stream->out_start = stream->out_end = 0;
        else if (status != PW_NOT_READY || stream->pipe->wants_write) /* else it goes on when something is read */
                event_add(stream->writable, NULL);
}

/* Room behind what is queued, or moved to the front. */
static bool make_room(struct pw_control_stream *stream, uint32_t bytes)
{
        uint32_t have = stream->out_end - stream->out_start;
        uint64_t capacity = stream->out_capacity ? stream->out_capacity : 4096;
        uint8_t *out;

        if (bytes <= stream->out_capacity - stream->out_end)
                return true;
        if (have && stream->out_start)
                memmove(stream->out, stream->out + stream->out_start, have);
        stream->out_start = 0;
        stream->out_end = have;
        while (capacity < (uint64_t)have + bytes)
                capacity *= 2;
        if (capacity == stream->out_capacity)
                return true;
        out = realloc(stream->out, capacity);
        if (!out)
                return false;
        stream->out = out;
        stream->out_capacity = (uint32_t)capacity;
        return true;
}

enum pw_status pw_control_stream_send(struct pw_control_stream *stream, const struct iovec *parts, uint32_t count,
                                      struct pw_error *ret_err)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < count; i++)
                if (!pw_add_ok(bytes, parts[i].iov_len, &bytes) || bytes > PW_FRAMES_MAX)
                        return pw_error_set(ret_err, PW_TOO_LARGE, "a frame of more than %u bytes", PW_FRAMES_MAX);
        if (stream->over)
                return pw_error_set(ret_err, PW_DAEMON_GONE, "the connection with %s is over", stream->pipe->peer);
        if (stream->out_end - stream->out_start + PW_FRAMES_HEAD + bytes > stream->out_max) {
                stream->refused = true;
                return pw_error_set(ret_err, PW_LIMIT, "%u bytes wait to be read by %s", stream->out_end - stream->out_start,
                                    stream->pipe->peer);
        }
        if (!make_room(stream, PW_FRAMES_HEAD + (uint32_t)bytes))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a frame");
        for (uint32_t i = 0; i < PW_FRAMES_HEAD; i++)
                stream->out[stream->out_end++] = (uint8_t)(bytes >> 8 * i);
        for (uint32_t i = 0; i < count; i++) {
                if (parts[i].iov_len)
                        memcpy(stream->out + stream->out_end, parts[i].iov_base, parts[i].iov_len);
                stream->out_end += (uint32_t)parts[i].iov_len;
        }
        return PW_OK;
}

uint64_t pw_control_stream_queued_bytes(const struct pw_control_stream *stream) { return stream->out_end - stream->out_start; }

/* --- life --------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_control_stream_new(struct pw_pipe *pipe_take, const struct pw_control_stream_params *params,
                                     struct pw_control_stream **ret_stream, struct pw_error *ret_err)
{
        struct pw_control_stream *stream = calloc(1, sizeof *stream);
        struct event_base *base = pipe_take->transport->loop->base;

        if (stream) {
                stream->events = params->events;
                stream->context = params->context;
                stream->out_max = (uint32_t)pw_max_u64(pw_min_u64(params->queue_bytes_max, QUEUE_MAX), QUEUE_MIN);
                stream->readable = event_new(base, pipe_take->fd, EV_READ | EV_PERSIST, on_readable, stream);
                stream->writable = event_new(base, pipe_take->fd, EV_WRITE, on_writable, stream);
        }
        if (!stream || !stream->readable || !stream->writable || event_add(stream->readable, NULL) < 0) {
                pw_control_stream_free(stream);
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a connection");
        }
        stream->pipe = pipe_take;
        event_active(stream->readable, EV_READ, 0); /* something may have come with the handshake */
        *ret_stream = stream;
        return PW_OK;
}

void pw_control_stream_stop(struct pw_control_stream *stream) { stop(stream); }

void pw_control_stream_free(struct pw_control_stream *stream)
{
        if (!stream)
                return;
        if (stream->readable)
                event_free(stream->readable);
        if (stream->writable)
                event_free(stream->writable);
        pw_pipe_free(stream->pipe);
        pw_frames_done(&stream->in);
        free(stream->out);
        free(stream);
}
