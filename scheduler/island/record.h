/* Filling in what boards are told of runs (message.h). Private to scheduler/. */
#ifndef PW_SCHEDULER_ISLAND_RECORD_H
#define PW_SCHEDULER_ISLAND_RECORD_H

#include "scheduler/island/host_run.h"
#include "scheduler/message.h"

/* What the board needs to know of a gang that is a load, or comes behind other runs, besides the fields of its item. False: out of
 * memory. */
bool pw_order_tell(struct pw_host_run *run, const struct pw_gang *gang, struct pw_order_item *item);

#endif
