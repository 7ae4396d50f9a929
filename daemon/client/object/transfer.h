/* Requests that charge an object to another owner.
 */
#ifndef PW_DAEMON_CLIENT_OBJECT_TRANSFER_H
#define PW_DAEMON_CLIENT_OBJECT_TRANSFER_H

#include "daemon/session/output.h"

/* `request` names the owner as listings do: "digits[4411]" or "pid 4411", a session, or "name weights". Answered at once. */
void pw_transfer_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Transfer *request);

#endif
