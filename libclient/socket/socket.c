/* The socket of the daemon: where it may lie, and connecting to it. */
#include "libclient/socket/socket.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SOCKET_NAME "pathwaysd.sock"

static enum pw_status connect_to(const char *path, int *ret_fd, struct pw_error *ret_err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        if (strlen(path) >= sizeof address.sun_path)
                return pw_error_set(ret_err, PW_INVALID, "socket %s: a path of at most %zu bytes is possible", path,
                                    sizeof address.sun_path - 1);
        strcpy(address.sun_path, path);
        pw_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "socket");
        int done;
        do {
                done = connect(fd, (struct sockaddr *)&address, sizeof address);
        } while (done < 0 && errno == EINTR);
        if (done < 0 && (errno == EACCES || errno == EPERM))
                return pw_error_set(ret_err, PW_DENIED, "socket %s: permission denied", path);
        if (done < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ECONNREFUSED))
                return pw_error_set(ret_err, PW_DAEMON_GONE,
                                    "no pathwaysd at %s: start one, or name its socket in PATHWAYS_SOCKET", path);
        if (done < 0)
                return pw_error_errno(ret_err, errno, "connect to %s", path);
        *ret_fd = fd;
        fd = -1;
        return PW_OK;
}

enum pw_status pw_socket_connect(const char *path, int *ret_fd, struct pw_error *ret_err)
{
        static const char system_path[] = "/run/pathways/" SOCKET_NAME;
        if (!path)
                path = secure_getenv("PATHWAYS_SOCKET");
        if (path && *path)
                return connect_to(path, ret_fd, ret_err);
        const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
        if (!runtime || !*runtime)
                return connect_to(system_path, ret_fd, ret_err);
        char own_path[512];
        if ((size_t)snprintf(own_path, sizeof own_path, "%s/pathways/%s", runtime, SOCKET_NAME) >= sizeof own_path)
                return pw_error_set(ret_err, PW_INVALID, "XDG_RUNTIME_DIR is longer than a socket's path can be");
        if (connect_to(own_path, ret_fd, ret_err) == PW_OK)
                return PW_OK;
        enum pw_status status = connect_to(system_path, ret_fd, ret_err);
        if (status == PW_DAEMON_GONE)
                return pw_error_set(ret_err, status,
                                    "no pathwaysd at %s nor at %s: start one, or name its socket in PATHWAYS_SOCKET", own_path,
                                    system_path);
        return status;
}
