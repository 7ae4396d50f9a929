/* What a session is told: sent at once, queued up to a limit where its socket is full, beyond it the session ends. `fds` are
 * borrowed. Loop thread only, but for making frames ahead.
 */
#ifndef PW_DAEMON_SESSION_OUTPUT_H
#define PW_DAEMON_SESSION_OUTPUT_H

#include "daemon/session/session.h"
#include "plane/ring.h"
#include "wire/frame.h"
#include "wire/pathways.pb-c.h"

/* Is a reply of so many bytes within what the tenant's clients may leave unread? Small ones need not ask. */
bool pw_session_may_send(const struct pw_dsession *session, uint64_t bytes);
void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count);
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text);
/* Tell a connection that gets no session why: its handshake takes the first reply, whatever its id.   Blocks: never. */
void pw_session_refuse(int fd, enum pw_status status, const char *text);
/* That it holds a reference to: its id as people see it, and where it stands on this host. */
void pw_session_reply_object(struct pw_dsession *session, uint64_t id, struct pw_id object, struct pw_cell cell);
/* Or the error, where its clients have too much unread. */
void pw_session_reply_listing(struct pw_dsession *session, uint64_t id, Pathways__Wire__Listing *listing);
void pw_session_reply_ok(struct pw_dsession *session, uint64_t id);
void pw_session_ask(struct pw_dsession *session, Pathways__Wire__Request *request);
/* A frame without descriptors, packed ahead; NULL: out of memory, or larger than a frame may be. Own: the caller's, of malloc().
 * Threads: any. */
struct pw_outgoing *pw_outgoing_new(enum pw_frame_kind kind, const ProtobufCMessage *message);
void pw_session_send(struct pw_dsession *session, struct pw_outgoing *out_take);
void pw_session_output_done(struct pw_dsession *session);
/* What is held until the turn's end goes out: of one, of all. */
void pw_session_write(struct pw_dsession *session);
void pw_outputs_write(struct pw_daemon *daemon);
/* Sockets that took no more, but would not say when they do. */
uint64_t pw_outputs_next_us(const struct pw_daemon *daemon);
void pw_outputs_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
