/* Limits of time: of a call, and the one that all have (--function-limit), which is that of joints too.
 *
 * A function's time is its own: it counts from when the device begins with it, or the function to launch its work. That of a joint,
 * which devices do together (executor/gang/gang_joint.c), counts from when all of them have come to it. What is over its time ends
 * with PW_TIME_LIMIT; pw_child_end_gang() and pw_child_over_us() (child.h) are of here too.
 */
#ifndef PW_DAEMON_CHILD_LIMIT_H
#define PW_DAEMON_CHILD_LIMIT_H

#include <stdint.h>

struct pw_daemon;

/* When to look next; UINT64_MAX: when there is something new. */
uint64_t pw_limits_next_us(const struct pw_daemon *daemon);
/* The look. */
void pw_limits_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
