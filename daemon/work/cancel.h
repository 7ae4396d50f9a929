/* Requests that cancel a run.
 */
#ifndef PW_DAEMON_WORK_CANCEL_H
#define PW_DAEMON_WORK_CANCEL_H

#include "daemon/session/output.h"

void pw_cancel_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Cancel *request);

#endif
