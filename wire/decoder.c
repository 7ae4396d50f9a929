/* The decoder: whatever bytes and descriptors came from a socket, taken apart into whole frames. */
#include "wire/frame.h"

#include "base/memory.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define READ_MOST (256u << 10) /* at a time: who writes as fast as it is read keeps the reader for no longer */
#define READ_ROOM 16384u /* at least this much per read: the buffer grows with bytes that came, never with lengths that were said */

void pw_decoder_init(struct pw_decoder *decoder)
{
        *decoder = (struct pw_decoder){ .frame_max = PW_FRAME_MAX };
}

/* The first `count` that came are taken, or nobody wants them. */
static void close_first(struct pw_decoder *decoder, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (decoder->fds[i] >= 0)
                        close(decoder->fds[i]);
        decoder->fd_count -= count;
        decoder->handed_count = 0;
        memmove(decoder->fds, decoder->fds + count, decoder->fd_count * sizeof(int));
}

void pw_decoder_done(struct pw_decoder *decoder)
{
        close_first(decoder, decoder->fd_count);
        free(decoder->buffer);
        pw_decoder_init(decoder);
}

void pw_decoder_rest(struct pw_decoder *decoder)
{
        if (decoder->start != decoder->end)
                return;
        free(decoder->buffer);
        decoder->buffer = NULL;
        decoder->start = decoder->end = decoder->capacity = 0;
}

/* Make room for `need` more bytes behind `end`. */
static enum pw_status reserve(struct pw_decoder *decoder, size_t need, struct pw_error *ret_err)
{
        uint32_t held = decoder->end - decoder->start;
        if (decoder->start) {
                memmove(decoder->buffer, decoder->buffer + decoder->start, held);
                decoder->start = 0;
                decoder->end = held;
        }
        uint64_t total = (uint64_t)held + need;
        if (total <= decoder->capacity)
                return PW_OK;
        /* next() refuses longer frames as soon as it sees their header, so only who never calls it gets here. */
        if (total > 2 * (uint64_t)PW_FRAME_MAX)
                return pw_error_set(ret_err, PW_PROTOCOL, "%llu bytes without a whole frame", (unsigned long long)total);
        uint64_t capacity = pw_max_u64(total, 2 * (uint64_t)decoder->capacity);
        uint8_t *buffer = realloc(decoder->buffer, capacity);
        if (!buffer)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a frame of %llu bytes", (unsigned long long)total);
        decoder->buffer = buffer;
        decoder->capacity = (uint32_t)capacity;
        return PW_OK;
}

/* Queue what came beside the bytes. Every descriptor is either queued or closed. */
static enum pw_status take_fds(struct pw_decoder *decoder, struct msghdr *message, struct pw_error *ret_err)
{
        bool too_many = message->msg_flags & MSG_CTRUNC;
        for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); cmsg; cmsg = CMSG_NXTHDR(message, cmsg)) {
                if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
                        continue;
                size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < count; i++) {
                        int fd;
                        memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof fd, sizeof fd);
                        if (decoder->fd_count < PW_MESSAGE_FDS_MAX) {
                                decoder->fds[decoder->fd_count++] = fd;
                        } else {
                                close(fd);
                                too_many = true;
                        }
                }
        }
        if (too_many)
                return pw_error_set(ret_err, PW_PROTOCOL, "more descriptors came than can be kept (%u)", PW_MESSAGE_FDS_MAX);
        return PW_OK;
}

static struct iovec read_room(const struct pw_decoder *decoder)
{
        return (struct iovec){ decoder->buffer + decoder->end, pw_min_u64(decoder->capacity - decoder->end, READ_MOST) };
}

/* *ret_got 0: nothing there now. */
static enum pw_status receive(int socket, struct msghdr *message, int flags, size_t *ret_got, struct pw_error *ret_err)
{
        ssize_t got;
        do {
                got = recvmsg(socket, message, flags);
        } while (got < 0 && errno == EINTR);
        if (got < 0 && errno != EAGAIN && errno != ECONNRESET)
                return pw_error_errno(ret_err, errno, "read from the socket");
        if (got == 0 || (got < 0 && errno == ECONNRESET))
                return pw_error_set(ret_err, PW_DAEMON_GONE, "the other side closed the socket");
        *ret_got = got < 0 ? 0 : (size_t)got;
        return PW_OK;
}

enum pw_status pw_decoder_read(struct pw_decoder *decoder, int socket, bool block, size_t *ret_bytes, struct pw_error *ret_err)
{
        enum pw_status status = reserve(decoder, READ_ROOM, ret_err);
        if (status != PW_OK)
                return status;
        struct iovec part = read_room(decoder);
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int) * PW_MESSAGE_FDS_MAX)];
        } room;
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room };
        size_t got;
        status = receive(socket, &message, MSG_CMSG_CLOEXEC | (block ? 0 : MSG_DONTWAIT), &got, ret_err);
        if (status == PW_OK && got)
                status = take_fds(decoder, &message, ret_err);
        if (status != PW_OK)
                return status;
        decoder->end += (uint32_t)got;
        *ret_bytes = got;
        return PW_OK;
}

/* What a look with no room for descriptors sees of them is that they were cut off: the queue goes on to hold them. What it saw is
 * read, no more: another message may have come meanwhile. */
enum pw_status pw_decoder_read_bytes(struct pw_decoder *decoder, int socket, bool looks, size_t *ret_bytes,
                                     struct pw_error *ret_err)
{
        enum pw_status status = reserve(decoder, READ_ROOM, ret_err);
        if (status != PW_OK)
                return status;
        struct iovec part = read_room(decoder);
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        size_t got = 0;
        if (looks) {
                status = receive(socket, &message, MSG_PEEK | MSG_DONTWAIT, &got, ret_err);
                if (status == PW_OK && message.msg_flags & MSG_CTRUNC)
                        status = pw_error_set(ret_err, PW_PROTOCOL, "it sent descriptors");
                part.iov_len = got;
        }
        if (status == PW_OK && (got || !looks))
                status = receive(socket, &message, MSG_DONTWAIT, &got, ret_err);
        if (status != PW_OK)
                return status;
        decoder->end += (uint32_t)got;
        *ret_bytes = got;
        return PW_OK;
}

enum pw_status pw_decoder_feed(struct pw_decoder *decoder, const uint8_t *bytes, size_t count, struct pw_error *ret_err)
{
        if (!count)
                return PW_OK;
        enum pw_status status = reserve(decoder, count, ret_err);
        if (status != PW_OK)
                return status;
        memcpy(decoder->buffer + decoder->end, bytes, count);
        decoder->end += (uint32_t)count;
        return PW_OK;
}

/* Doorbells in a row are one: they say "look", not how often. */
static bool skip_doorbells(struct pw_decoder *decoder)
{
        uint32_t start = decoder->start;
        while (decoder->start < decoder->end && decoder->buffer[decoder->start] == PW_FRAME_DOORBELL)
                decoder->start++;
        return decoder->start != start;
}

enum pw_status pw_frame_next(struct pw_decoder *decoder, struct pw_frame *ret_frame, struct pw_error *ret_err)
{
        if (decoder->handed_count)
                close_first(decoder, decoder->handed_count);
        if (skip_doorbells(decoder)) {
                *ret_frame = (struct pw_frame){ .kind = PW_FRAME_DOORBELL };
                return PW_OK;
        }
        if (decoder->end - decoder->start < PW_FRAME_HEADER)
                return PW_NOT_READY;
        const uint8_t *header = decoder->buffer + decoder->start;
        uint32_t bytes = header[4] | (uint32_t)header[5] << 8 | (uint32_t)header[6] << 16 | (uint32_t)header[7] << 24;
        if ((header[0] != PW_FRAME_REQUEST && header[0] != PW_FRAME_REPLY) || header[2] || header[3])
                return pw_error_set(ret_err, PW_PROTOCOL, "a frame of kind %u", header[0]);
        if (bytes > decoder->frame_max)
                return pw_error_set(ret_err, PW_PROTOCOL, "a frame of %u bytes: at most %u", bytes, decoder->frame_max);
        if (header[1] > PW_FRAME_FDS_MAX)
                return pw_error_set(ret_err, PW_PROTOCOL, "a frame with %u descriptors: at most %u", header[1], PW_FRAME_FDS_MAX);
        if (decoder->end - decoder->start - PW_FRAME_HEADER < bytes)
                return PW_NOT_READY;
        if (header[1] > decoder->fd_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "a frame says %u descriptors, %u came", header[1], decoder->fd_count);
        decoder->handed_count = header[1];
        decoder->start += PW_FRAME_HEADER + bytes;
        *ret_frame = (struct pw_frame){ .kind = header[0], .payload = header + PW_FRAME_HEADER, .bytes = bytes,
                                        .fds = decoder->fds, .fd_count = header[1] };
        return PW_OK;
}

enum pw_status pw_decoder_detach(struct pw_decoder *decoder, struct pw_frame *frame, uint8_t **ret_buffer, uint64_t *ret_bytes,
                                 struct pw_error *ret_err)
{
        uint32_t rest = decoder->end - decoder->start;
        bool copies = frame->bytes <= rest || decoder->capacity / 2 > frame->bytes;
        uint8_t *buffer = malloc(copies ? (size_t)frame->bytes + 1 : (size_t)rest + 1);

        if (!buffer)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a frame of %u bytes", frame->bytes);
        if (copies) {
                memcpy(buffer, frame->payload, frame->bytes);
                frame->payload = buffer;
                *ret_buffer = buffer;
                *ret_bytes = frame->bytes;
                return PW_OK;
        }
        memcpy(buffer, decoder->buffer + decoder->start, rest);
        *ret_buffer = decoder->buffer;
        *ret_bytes = decoder->capacity;
        decoder->buffer = buffer;
        decoder->start = 0;
        decoder->end = rest;
        decoder->capacity = rest + 1;
        return PW_OK;
}
