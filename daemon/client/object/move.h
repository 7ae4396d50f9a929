/* Requests that move a value to another memory.
 */
#ifndef PW_DAEMON_CLIENT_OBJECT_MOVE_H
#define PW_DAEMON_CLIENT_OBJECT_MOVE_H

#include "daemon/session/output.h"

void pw_move_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Move *request);

#endif
