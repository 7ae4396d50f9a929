/* What goes out over the socket of a connection: the doorbell's side that connection.h does not have. See outgoing.c.
 */
#ifndef PW_LIBCLIENT_SOCKET_OUTGOING_H
#define PW_LIBCLIENT_SOCKET_OUTGOING_H

#include "libclient/socket/connection_private.h"

/* Of `wanted` and `kept`. LATER: the host is short of what it takes, and nobody says when there is some again. */
enum { PW_WANT_BELL = 1u, PW_WANT_SOON = 2u, PW_WANT_LATER = 4u };
#define PW_AGAIN_MS 10 /* when the host is short of something */

/* Send a whole frame.   Blocks: while the socket is full. */
PW_MUST_CHECK enum pw_status pw_connection_send(struct pw_connection *connection, enum pw_frame_kind kind, const uint8_t *message,
                                                size_t bytes, struct pw_error *ret_err);
/* The same of several, one behind the other with their headers. */
PW_MUST_CHECK enum pw_status pw_connection_send_frames(struct pw_connection *connection, const uint8_t *frames, size_t bytes,
                                                       struct pw_error *ret_err);
/* Have it sent, by whoever can. Errors: PW_NO_MEMORY, PW_TOO_LARGE.   Threads: the watcher's.   Blocks: never. */
PW_MUST_CHECK enum pw_status pw_connection_send_soon(struct pw_connection *connection, enum pw_frame_kind kind,
                                                     const ProtobufCMessage *message, struct pw_error *ret_err);
/* Watcher: try again what is kept. */
void pw_connection_send_kept(struct pw_connection *connection);
void pw_outgoing_done(struct pw_connection *connection); /* what was not sent */

#endif
