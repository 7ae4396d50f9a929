/* Requests about slices.
 */
#ifndef PW_DAEMON_WORK_SLICE_H
#define PW_DAEMON_WORK_SLICE_H

#include "daemon/session/output.h"

void pw_slice_open_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__SliceOpen *request);
void pw_slice_close_request(struct pw_dsession *session, uint64_t id, uint32_t slice);
void pw_slices_session_end(struct pw_dsession *session);

#endif
