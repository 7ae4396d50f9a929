/* Values of the own device that somebody wants in host memory: copied there between gangs, as the daemon says.
 */
#ifndef PW_EXECUTOR_GANG_FETCH_H
#define PW_EXECUTOR_GANG_FETCH_H

#include "executor/launch.h"

/* Copy all that there is.   Blocks: for the copies, and for the daemon's answers. Where that could not be asked, the next call goes
 * on. */
void pw_fetches_serve(struct pw_launch *launch);

#endif
