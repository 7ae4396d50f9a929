/* One gang as one member runs it: a call, a load or a transfer.
 */
#ifndef PW_EXECUTOR_GANG_GANG_H
#define PW_EXECUTOR_GANG_GANG_H

#include "executor/launch.h"

struct pw_exec_gang {
        struct pw_launch *launch;
        struct pw_run_view *view;
        struct pw_program_node *node;
        uint32_t index; /* of the node */
        uint64_t seq, members;
        uint64_t came_ns; /* the last of the marks that it read, by its device's clock; 0: none */
};
/* Run this member's part, publishing its mark but not that it is done. Returns the member's status: an error is written into the
 * heads of its outputs and reported. *ret_launched: it is under way on the device (flight.h), and that comes later.   Blocks: until
 * what it waits for is there. */
enum pw_status pw_gang_run(struct pw_exec_gang *gang, bool *ret_launched);

#endif
