/* Values of the own device that somebody wants in host memory: copied there between gangs, as the daemon says.
 */
#ifndef PW_EXECUTOR_GANG_FETCH_H
#define PW_EXECUTOR_GANG_FETCH_H

#include "executor/launch.h"

/* Copy what the daemon gives at a time; the next call reports it and goes on.   Blocks: for the copies, and for the daemon's
 * answer. */
void pw_fetches_serve(struct pw_launch *launch);

#endif
