/* Sockets that listen, call, read and write. */
#include "daemon/transport/socket.h"

#include "daemon/own_file.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BACKLOG 128

static enum pw_status refuse_address(const struct pw_address *address, int number, const char *doing, struct pw_error *ret_err)
{
        char text[PW_TRANSPORT_ADDRESS_TEXT];

        pw_address_format(address, text, sizeof text);
        if (number == EADDRINUSE)
                return pw_error_set(ret_err, PW_EXISTS, "%s: somebody listens there already; choose another port, or 0 for any",
                                    text);
        return pw_error_errno(ret_err, number, "%s: %s", text, doing);
}

enum pw_status pw_socket_listen(const struct pw_address *address, int *ret_fd, struct pw_error *ret_err)
{
        bool is_path = address->any.sa_family == AF_UNIX;
        pw_auto_close int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        enum pw_status status = is_path ? pw_old_socket_remove(address->un.sun_path, ret_err) : PW_OK;

        if (status != PW_OK)
                return status;
        if (fd < 0)
                return refuse_address(address, errno, "socket", ret_err);
        if (is_path)
                fchmod(fd, 0600); /* which its file inherits: nobody else can come before it is there */
        else
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
        if (bind(fd, &address->any, address->bytes) < 0)
                return refuse_address(address, errno, "bind", ret_err);
        if (listen(fd, BACKLOG) < 0)
                return refuse_address(address, errno, "listen", ret_err);
        *ret_fd = fd;
        fd = -1;
        return PW_OK;
}

void pw_socket_hurry(int fd, const struct pw_address *address)
{
        if (address->any.sa_family != AF_UNIX)
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

enum pw_status pw_socket_call(const struct pw_address *address, int *ret_fd, struct pw_error *ret_err)
{
        pw_auto_close int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return pw_error_errno(ret_err, errno, "socket");
        pw_socket_hurry(fd, address);
        if (connect(fd, &address->any, address->bytes) < 0 && errno != EINPROGRESS)
                return pw_socket_error(errno, "call", ret_err);
        *ret_fd = fd;
        fd = -1;
        return PW_OK;
}

enum pw_status pw_socket_called(int fd, struct pw_error *ret_err)
{
        socklen_t bytes = sizeof(int);
        int number = 0;

        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &bytes) < 0)
                number = errno;
        return number ? pw_socket_error(number, "call", ret_err) : PW_OK;
}

enum pw_status pw_socket_error(int number, const char *doing, struct pw_error *ret_err)
{
        switch (number) {
        case EAGAIN: /* of connect() to a Unix socket alone: its queue is full */
                return pw_error_set(ret_err, PW_BUSY, "%s: too many call there, try again", doing);
        case ECONNREFUSED:
        case ENOENT:
                return pw_error_set(ret_err, PW_NOT_FOUND, "%s: nobody listens there", doing);
        case ECONNRESET:
        case EPIPE:
                return pw_error_set(ret_err, PW_DAEMON_GONE, "%s: the other side hung up", doing);
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EHOSTDOWN:
        case ENETDOWN:
                (void)pw_error_errno(ret_err, number, "%s", doing);
                if (ret_err)
                        ret_err->status = PW_DAEMON_GONE;
                return PW_DAEMON_GONE;
        default:
                return pw_error_errno(ret_err, number, "%s", doing);
        }
}

static enum pw_status moved(struct pw_pipe *pipe, ssize_t bytes, bool writing, size_t *ret_bytes, struct pw_error *ret_err)
{
        const char *doing = writing ? "write" : "read";

        if (bytes > 0) {
                *ret_bytes = (size_t)bytes;
                return PW_OK;
        }
        if (!bytes)
                return pw_error_set(ret_err, PW_DAEMON_GONE, "%s: the other side hung up", doing);
        if (errno != EAGAIN)
                return pw_socket_error(errno, doing, ret_err);
        pipe->wants_write = writing;
        return PW_NOT_READY;
}

enum pw_status pw_socket_read(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                              struct pw_error *ret_err)
{
        struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count };

        return moved(pipe, TEMP_FAILURE_RETRY(recvmsg(pipe->fd, &message, 0)), false, ret_bytes, ret_err);
}

enum pw_status pw_socket_write(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                               struct pw_error *ret_err)
{
        struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count };

        return moved(pipe, TEMP_FAILURE_RETRY(sendmsg(pipe->fd, &message, MSG_NOSIGNAL)), true, ret_bytes, ret_err);
}

void pw_socket_shut(struct pw_pipe *pipe) { shutdown(pipe->fd, SHUT_RDWR); }

void pw_socket_free(struct pw_pipe *pipe)
{
        pw_close_fd(&pipe->fd);
        free(pipe);
}
