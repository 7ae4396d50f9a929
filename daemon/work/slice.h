/* Requests about slices.
 */
#ifndef PW_DAEMON_WORK_SLICE_H
#define PW_DAEMON_WORK_SLICE_H

#include "daemon/session/output.h"

void pw_slice_open_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__SliceOpen *request);
void pw_slice_close_request(struct pw_dsession *session, uint64_t id, uint32_t slice);
/* One that the session has, or had until now. */
void pw_slice_end(struct pw_dsession *session, uint32_t slice);

#endif
