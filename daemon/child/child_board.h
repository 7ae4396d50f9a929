/* The boards that executors and the daemon share, made once at start.
 */
#ifndef PW_DAEMON_CHILD_CHILD_BOARD_H
#define PW_DAEMON_CHILD_CHILD_BOARD_H

#include "daemon/child/child.h"

/* Bells, island boards, device boards; told to the scheduler's host end. Devices are spread over islands evenly, in order. */
PW_MUST_CHECK enum pw_status pw_child_boards(struct pw_daemon *daemon, struct pw_error *ret_err);
void pw_child_boards_done(struct pw_daemon *daemon);
/* The process of the device has ended: settle what it left half published, tell the scheduler in which gang it was. */
void pw_child_board_down(struct pw_child *child, enum pw_status status);

/* End the processes whose boards say what cannot be: whatever else they publish would be believed. */
void pw_child_boards_scan(struct pw_daemon *daemon);

#endif
