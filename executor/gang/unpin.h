/* Letting go of pages that the daemon is to give back, between gangs.
 */
#ifndef PW_EXECUTOR_GANG_UNPIN_H
#define PW_EXECUTOR_GANG_UNPIN_H

#include "executor/launch.h"

/* Unpin all that is to leave, and say so.   Blocks: for the daemon's answers; where a pin is of more than what leaves, until what
 * is under way with the rest is done. Where the daemon could not be asked, the next call goes on. */
void pw_pins_leave(struct pw_launch *launch);

#endif
