/* Finding and opening the socket of the daemon: where it may lie, and what to say when nobody answers there.
 */
#ifndef PW_LIBCLIENT_SOCKET_SOCKET_H
#define PW_LIBCLIENT_SOCKET_SOCKET_H

#include "base/error.h"

/* Connect to `path`; NULL: $PATHWAYS_SOCKET alone if it is set, else $XDG_RUNTIME_DIR/pathways/pathwaysd.sock, then
 * /run/pathways/pathwaysd.sock. Own: *ret_fd is close-on-exec and the caller's. Errors: PW_DAEMON_GONE (the text says where it
 * looked), PW_DENIED, PW_INVALID (a path too long for a socket), PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_socket_connect(const char *path, int *ret_fd, struct pw_error *ret_err);

#endif
