/* Requests that sessions send, each to its handler.
 */
#ifndef PW_DAEMON_CLIENT_REQUEST_H
#define PW_DAEMON_CLIENT_REQUEST_H

#include "daemon/session/session.h"

void pw_request_take(struct pw_dsession *session, const struct pw_frame *frame);
/* A reply to what the daemon asked (describers). */
void pw_request_answered(struct pw_dsession *session, const struct pw_frame *frame);

#endif
