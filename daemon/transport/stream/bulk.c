/* Bulk streams: a descriptor that blocks, and a guest of the transport's crew. */
#include "daemon/transport/stream/bulk.h"

#include "daemon/transport/transport_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>

struct pw_bulk_stream {
        struct pw_crew_work work;
        struct pw_pipe *pipe;
        struct pw_bulk_stream_params params;
        _Atomic bool shut;
};

static void run(struct pw_crew_work *work)
{
        struct pw_bulk_stream *stream = pw_container_of(work, struct pw_bulk_stream, work);

        stream->params.work(stream->params.context, stream);
        stream->pipe->kind->shut(stream->pipe); /* so that the other side sees it, before anybody frees this one */
}

static void tell_end(struct pw_crew_work *work)
{
        struct pw_bulk_stream *stream = pw_container_of(work, struct pw_bulk_stream, work);

        stream->params.ended(stream->params.context);
}

enum pw_status pw_bulk_stream_new(struct pw_pipe *pipe_take, const struct pw_bulk_stream_params *params,
                                  struct pw_bulk_stream **ret_stream, struct pw_error *ret_err)
{
        struct pw_bulk_stream *stream = calloc(1, sizeof *stream);
        int flags = fcntl(pipe_take->fd, F_GETFL);
        enum pw_status status;

        if (!stream)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a bulk stream");
        pipe_take->blocks = true;
        *stream = (struct pw_bulk_stream){ .work = { .work = run, .done = tell_end }, .pipe = pipe_take, .params = *params };
        if (flags < 0 || fcntl(pipe_take->fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
                status = pw_error_errno(ret_err, errno, "fcntl of a bulk stream");
        else
                status = pw_crew_ask_guest(pipe_take->transport->crew, &stream->work, ret_err);
        if (status == PW_OK)
                *ret_stream = stream;
        else
                free(stream);
        return status;
}

void pw_bulk_stream_shut(struct pw_bulk_stream *stream)
{
        stream->shut = true;
        stream->pipe->kind->shut(stream->pipe);
}

void pw_bulk_stream_free(struct pw_bulk_stream *stream)
{
        if (!stream)
                return;
        pw_pipe_free(stream->pipe);
        free(stream);
}

bool pw_bulk_stream_is_over(struct pw_bulk_stream *stream)
{
        struct pollfd look = { .fd = stream->pipe->fd, .events = POLLRDHUP };

        return stream->shut || (poll(&look, 1, 0) > 0 && look.revents);
}

/* Those that are left when the first `bytes` of them are done. Returns how many. */
static uint32_t advance(struct iovec *parts, uint32_t count, size_t bytes)
{
        uint32_t first = 0;

        while (first < count && bytes >= parts[first].iov_len)
                bytes -= parts[first++].iov_len;
        if (first < count) {
                parts[first].iov_base = (uint8_t *)parts[first].iov_base + bytes;
                parts[first].iov_len -= bytes;
        }
        memmove(parts, parts + first, (count - first) * sizeof *parts);
        return count - first;
}

typedef enum pw_status move_part(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                                 struct pw_error *ret_err);

static enum pw_status move(struct pw_bulk_stream *stream, move_part *some, const struct iovec *all, uint32_t count,
                           struct pw_error *ret_err)
{
        struct iovec parts[PW_BULK_PARTS_MAX];
        enum pw_status status = PW_OK;
        size_t bytes = 0;

        if (count > PW_BULK_PARTS_MAX)
                return pw_error_set(ret_err, PW_INVALID, "%u parts, %u at most", count, PW_BULK_PARTS_MAX);
        memcpy(parts, all, count * sizeof *parts);
        count = advance(parts, count, 0);
        while (count && (status == PW_OK || status == PW_NOT_READY)) { /* what a kind has to do besides came in between */
                status = some(stream->pipe, parts, count, &bytes, ret_err);
                if (status == PW_OK)
                        count = advance(parts, count, bytes);
        }
        if (status != PW_OK && stream->shut)
                return pw_error_set(ret_err, PW_CANCELLED, "the bulk stream with %s was shut", stream->pipe->peer);
        return status;
}

enum pw_status pw_bulk_stream_send(struct pw_bulk_stream *stream, const struct iovec *parts, uint32_t count,
                                   struct pw_error *ret_err)
{
        return move(stream, stream->pipe->kind->write, parts, count, ret_err);
}

enum pw_status pw_bulk_stream_receive(struct pw_bulk_stream *stream, const struct iovec *parts, uint32_t count,
                                      struct pw_error *ret_err)
{
        return move(stream, stream->pipe->kind->read, parts, count, ret_err);
}
