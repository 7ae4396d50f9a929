/* The programs and slices of a session that has ended go in parts: who has very many of them holds nobody up.
 */
#ifndef PW_DAEMON_WORK_ENDING_H
#define PW_DAEMON_WORK_ENDING_H

#include "daemon/session/session.h"

/* Free programs and close slices: as many as take the time of closing `*part` slices, which is counted down. True: there are no
 * more; false: nothing of `*part` is left. */
bool pw_work_ending_go_on(struct pw_dsession *session, uint32_t *part);

#endif
