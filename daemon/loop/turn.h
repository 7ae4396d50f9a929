/* Turns of the loop.
 */
#ifndef PW_DAEMON_LOOP_TURN_H
#define PW_DAEMON_LOOP_TURN_H

#include "daemon/daemon.h"

/* One turn. True: something happened, another turn may find more. */
bool pw_turn(struct pw_daemon *daemon);
/* Ask everybody for doorbells. False: something came meanwhile. After true the caller sleeps, then calls pw_boards_awake(). */
bool pw_turn_may_sleep(struct pw_daemon *daemon);
/* Count a turn, and log one that took over 10 ms. */
void pw_turn_took(struct pw_daemon *daemon, uint64_t started_us);

#endif
