/* What a result has become, in the words of the store: its list of shards, or its error.
 */
#ifndef PW_SCHEDULER_DECISION_H
#define PW_SCHEDULER_DECISION_H

#include "scheduler/run.h"
#include "store/store.h"

/* Decide the object of action->result, if there is one, as `action` (RESULT) says: where it is ready its shards lie in the
 * rooms of the result. Without memory for its list it is an error that says so. */
void pw_decision_tell(struct pw_store *store, const struct pw_action *action, uint64_t now_us);

#endif
