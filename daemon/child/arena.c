/* Arenas: the mailbox, and what came by it. */
#include "daemon/child/arena.h"

#include "base/memory.h"

#include <errno.h>
#include <sys/socket.h>

enum pw_status pw_child_arena_begin(struct pw_child_arena *arena, struct pw_error *ret_err)
{
        int ends[2];

        pw_close_fd(&arena->mailbox);
        pw_close_fd(&arena->theirs);
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
                return pw_error_errno(ret_err, errno, "a mailbox for an executor");
        arena->mailbox = ends[0];
        arena->theirs = ends[1];
        return PW_OK;
}

uint32_t pw_child_arena_descriptors(const struct pw_child_arena *arena, int *fds)
{
        uint32_t count = 0;

        if (arena->theirs >= 0)
                fds[count++] = arena->theirs;
        if (arena->fd >= 0)
                fds[count++] = arena->fd;
        return count;
}

enum pw_status pw_child_arena_take(struct pw_child_arena *arena, struct pw_error *ret_err)
{
        union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } room;
        char byte;
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room };
        ssize_t got = arena->mailbox < 0 ? -1 : recvmsg(arena->mailbox, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        struct cmsghdr *first = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
        int fd;

        if (!first || first->cmsg_level != SOL_SOCKET || first->cmsg_type != SCM_RIGHTS || first->cmsg_len != CMSG_LEN(sizeof fd))
                return pw_error_set(ret_err, PW_PROTOCOL, "an executor says that it has sent its arena, and none came");
        memcpy(&fd, CMSG_DATA(first), sizeof fd);
        if (arena->fd >= 0) {
                close(fd);
                return pw_error_set(ret_err, PW_PROTOCOL, "an executor made an arena for a device that has one");
        }
        arena->fd = fd;
        return PW_OK;
}

void pw_child_arena_done(struct pw_child_arena *arena)
{
        pw_close_fd(&arena->mailbox);
        pw_close_fd(&arena->theirs);
        pw_close_fd(&arena->fd);
}
