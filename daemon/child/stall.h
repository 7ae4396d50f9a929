/* What stands still: a device that is not done with the oldest of its gangs, though that waits for no other device.
 *
 * The limits of functions (limit.h) are counted by what executors write into their boards, where functions can write too, and not
 * of all that an executor does: a module's destructor, a kernel of a transfer, a copy of the driver's. This looks at nothing but
 * which gang is the oldest, and gives it twice --function-limit and half a minute.
 */
#ifndef PW_DAEMON_CHILD_STALL_H
#define PW_DAEMON_CHILD_STALL_H

#include "daemon/child/child.h"

/* Looks at all devices, now and then, and ends the executors of those that have stood still for too long: called as often as limits
 * are looked at. */
void pw_stalls_tick(struct pw_daemon *daemon, uint64_t now_us);
/* When that ends the executor of `device`, where gang `seq` is its oldest, about; UINT64_MAX: never. */
uint64_t pw_stall_ends_us(const struct pw_daemon *daemon, uint32_t device, uint64_t seq);

#endif
