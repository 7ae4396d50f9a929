/* What hosts tell the coordinator of its runs: each is what becomes of a message, see message.h. What changes nothing is PW_EXISTS.
 */
#ifndef PW_SCHEDULER_COORDINATOR_ANSWER_H
#define PW_SCHEDULER_COORDINATOR_ANSWER_H

#include "scheduler/run.h"

struct pw_live;

/* RESERVED: all its rooms are there. */
enum pw_status pw_live_reserved(struct pw_live *live);
/* DONE: it is over there; `nodes` of its gangs were to be ordered, `nodes_ordered` were. */
void pw_live_done(struct pw_live *live, uint32_t nodes, uint32_t nodes_ordered);
/* FAILED: a node did, on that device. */
enum pw_status pw_live_cause(struct pw_live *live, uint32_t node, struct pw_device_id device, enum pw_status status,
                             const char *text);

#endif
