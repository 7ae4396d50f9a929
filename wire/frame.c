/* Frames: encoding and sending; taking apart what comes is in decoder.c. */
#include "wire/frame.h"

#include "base/memory.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

union fd_room {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * PW_FRAME_FDS_MAX)];
};

uint32_t pw_frame_header(uint8_t header[PW_FRAME_HEADER], enum pw_frame_kind kind, uint32_t bytes, uint32_t fd_count)
{
        header[0] = (uint8_t)kind;
        header[1] = (uint8_t)fd_count;
        header[2] = header[3] = 0;
        for (int i = 0; i < 4; i++)
                header[4 + i] = (uint8_t)(bytes >> 8 * i);
        return PW_FRAME_HEADER;
}

static void attach_fds(struct msghdr *message, union fd_room *room, const int *fds, uint32_t fd_count)
{
        if (!fd_count)
                return;
        memset(room, 0, sizeof *room);
        message->msg_control = room->bytes;
        message->msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
}

/* One sendmsg(), repeated until it took something. */
static enum pw_status send_some(int socket, const struct msghdr *message, size_t *ret_sent, struct pw_error *ret_err)
{
        for (;;) {
                ssize_t sent = sendmsg(socket, message, MSG_NOSIGNAL);
                if (sent >= 0) {
                        *ret_sent = (size_t)sent;
                        return PW_OK;
                }
                if (errno == EAGAIN) {
                        struct pollfd wait = { .fd = socket, .events = POLLOUT };
                        (void)poll(&wait, 1, -1);
                } else if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
                        return pw_error_set(ret_err, PW_DAEMON_GONE, "the other side closed the socket");
                } else if (errno != EINTR) {
                        return pw_error_errno(ret_err, errno, "send a frame");
                }
        }
}

enum pw_status pw_frame_send(int socket, enum pw_frame_kind kind, const uint8_t *message, uint32_t bytes, const int *fds,
                             uint32_t fd_count, struct pw_error *ret_err)
{
        if (bytes > PW_FRAME_MAX || fd_count > PW_FRAME_FDS_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "a frame of %u bytes and %u descriptors: at most %u and %u", bytes,
                                    fd_count, PW_FRAME_MAX, PW_FRAME_FDS_MAX);
        uint8_t header[PW_FRAME_HEADER];
        size_t header_left = pw_frame_header(header, kind, bytes, fd_count);
        size_t left = bytes;
        union fd_room room;
        struct msghdr first = { 0 };
        attach_fds(&first, &room, fds, fd_count);
        while (header_left || left) {
                struct iovec parts[2] = { { header + PW_FRAME_HEADER - header_left, header_left },
                                          { (void *)(uintptr_t)(message + (bytes - left)), left } };
                first.msg_iov = parts;
                first.msg_iovlen = 2;
                size_t sent;
                enum pw_status status = send_some(socket, &first, &sent, ret_err);
                if (status != PW_OK)
                        return status;
                first.msg_control = NULL; /* descriptors go once, with the first byte */
                first.msg_controllen = 0;
                size_t of_header = sent < header_left ? sent : header_left;
                header_left -= of_header;
                left -= sent - of_header;
        }
        return PW_OK;
}

enum pw_status pw_frames_send(int socket, const uint8_t *frames, size_t bytes, struct pw_error *ret_err)
{
        size_t done = 0, sent;
        while (done < bytes) {
                struct iovec part = { (void *)(uintptr_t)(frames + done), bytes - done };
                enum pw_status status = send_some(socket, &(struct msghdr){ .msg_iov = &part, .msg_iovlen = 1 }, &sent, ret_err);
                if (status != PW_OK)
                        return status;
                done += sent;
        }
        return PW_OK;
}
