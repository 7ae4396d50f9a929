/* Objects of clients that runs wait for. When one is decided its runs are told: some in each turn, tenants in turn, and of a tenant
 * those whose objects came first.
 */
#ifndef PW_SCHEDULER_COORDINATOR_AWAITED_H
#define PW_SCHEDULER_COORDINATOR_AWAITED_H

#include "scheduler/run.h"

struct pw_live;
struct pw_object;
struct pw_scheduler;
struct pw_store;

/* The input waits for its object. False: out of memory. */
bool pw_awaited_add(struct pw_live *live, uint32_t input);
void pw_awaited_forget(struct pw_live *live); /* the run ends */
/* The object is decided. */
void pw_awaited_decided(struct pw_scheduler *scheduler, struct pw_object *object);
/* Once a turn: tell runs whose objects are. */
void pw_awaited_tell(struct pw_scheduler *scheduler, struct pw_store *store, uint64_t now_us);
void pw_awaited_done(struct pw_scheduler *scheduler); /* with the scheduler */
/* Runs that wait for the object, and with which input. */
void pw_scheduler_each_waiting(const struct pw_scheduler *scheduler, const struct pw_object *object,
                               void (*row)(void *context, const struct pw_run *run, uint32_t input), void *context);

#endif
