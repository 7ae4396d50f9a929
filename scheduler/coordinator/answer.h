/* What hosts tell the coordinator of its runs: each call is a message.
 */
#ifndef PW_SCHEDULER_COORDINATOR_ANSWER_H
#define PW_SCHEDULER_COORDINATOR_ANSWER_H

#include "scheduler/run.h"

struct pw_scheduler;

/* RESERVED: all its rooms are there. */
void pw_run_reserved(struct pw_scheduler *scheduler, const struct pw_run_id *id);
/* DONE: it is over there; `nodes` of its gangs were to be ordered, `nodes_ordered` were. */
void pw_run_done(struct pw_scheduler *scheduler, const struct pw_run_id *id, uint32_t nodes, uint32_t nodes_ordered);
/* FAILED: a node did, on that device. */
void pw_run_cause(struct pw_scheduler *scheduler, const struct pw_run_id *id, uint32_t node, struct pw_device_id device,
                  enum pw_status status, const char *text);

#endif
