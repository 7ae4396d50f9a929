/* All deadlines of the daemon's subjects: one list, of which the alarm is set to the nearest, and each turn does what is due.
 */
#ifndef PW_DAEMON_LOOP_TIMER_H
#define PW_DAEMON_LOOP_TIMER_H

#include <stdint.h>

struct pw_daemon;

/* The nearest deadline of all; UINT64_MAX: none. */
uint64_t pw_timers_next_us(const struct pw_daemon *daemon);
/* Do what is due. */
void pw_timers_turn(struct pw_daemon *daemon, uint64_t now_us);

#endif
