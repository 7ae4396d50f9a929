/* Sockets of transports, none of which blocks; and slots of struct pw_transport_kind for those whose bytes are the socket's.
 */
#ifndef PW_DAEMON_TRANSPORT_SOCKET_H
#define PW_DAEMON_TRANSPORT_SOCKET_H

#include "daemon/transport/pipe.h"

/* A socket that listens; an old one of a Unix path, of somebody who is gone, makes way. Own: *ret_fd is the caller's.
 * Errors: PW_EXISTS (in use), PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_socket_listen(const struct pw_address *address, int *ret_fd, struct pw_error *ret_err);
/* One that calls: wait until it can be written, then ask pw_socket_called(). Errors: PW_NOT_FOUND (nobody listens),
 * PW_DAEMON_GONE, PW_BUSY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_socket_call(const struct pw_address *address, int *ret_fd, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_socket_called(int fd, struct pw_error *ret_err);
/* Messages of a few bytes are not held back to be sent with others. */
void pw_socket_hurry(int fd, const struct pw_address *address);

/* What errno `number` of a call on a connection says. */
enum pw_status pw_socket_error(int number, const char *doing, struct pw_error *ret_err);

enum pw_status pw_socket_read(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                              struct pw_error *ret_err);
enum pw_status pw_socket_write(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                               struct pw_error *ret_err);
void pw_socket_shut(struct pw_pipe *pipe);
void pw_socket_free(struct pw_pipe *pipe); /* closes its descriptor */

#endif
