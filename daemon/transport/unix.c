/* Unix sockets: both sides are of one user. The plain kind, between daemons of one machine. */
#include "daemon/transport/kinds.h"
#include "daemon/transport/socket.h"

#include <errno.h>
#include <sys/socket.h>

static enum pw_status unix_open(const struct pw_transport_params *params, void **ret_own, struct pw_error *ret_err)
{
        (void)params, (void)ret_err;
        *ret_own = NULL;
        return PW_OK;
}

static void unix_close(void *own) { (void)own; }

static struct pw_pipe *unix_make(void *own)
{
        (void)own;
        return calloc(1, sizeof(struct pw_pipe));
}

/* Whose process it is the kernel says, of who called when he did, of who listens when he began to. */
static enum pw_status unix_prove(struct pw_pipe *pipe, struct pw_error *ret_err)
{
        struct ucred peer = { .uid = (uid_t)-1 };
        socklen_t bytes = sizeof peer;

        if (getsockopt(pipe->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
                return pw_error_errno(ret_err, errno, "SO_PEERCRED");
        if (peer.uid != geteuid())
                return pw_error_set(ret_err, PW_DENIED, "process %d is of user %u; pathwaysds that meet at a Unix socket are of "
                                    "one user, here %u", (int)peer.pid, (unsigned)peer.uid, (unsigned)geteuid());
        return PW_OK;
}

static bool unix_is_of(struct pw_pipe *pipe, const char *host_name)
{
        (void)pipe, (void)host_name;
        return true;
}

const struct pw_transport_kind pw_transport_unix = {
        .name = "unix",
        .has = PW_TRANSPORT_ENCRYPTS, /* there is nobody on the way */
        .open = unix_open,
        .close = unix_close,
        .resolve = pw_address_parse_path,
        .make = unix_make,
        .prove = unix_prove,
        .is_of = unix_is_of,
        .read = pw_socket_read,
        .write = pw_socket_write,
        .shut = pw_socket_shut,
        .free = pw_socket_free,
};
