/* What a run takes from the store before it is submitted: references to its inputs, where these lie, slots for its results.
 */
#ifndef PW_SCHEDULER_TAKING_H
#define PW_SCHEDULER_TAKING_H

#include "scheduler/run.h"
#include "store/store.h"

/* Fill in an input of `run`, which `session` names in `cell`: the run holds it, or has what was given away
 * (PW_RUN_INPUT_DONATED); it says where it lies, or why there is none, or is `pending`: a client has still to decide it, and the
 * run is told when it has. */
void pw_taking_input(struct pw_store *store, uint32_t session, struct pw_run *run, uint32_t input, struct pw_cell cell,
                     uint64_t now_us);
/* What a client's object is and where it lies, now that it is decided. */
void pw_taking_locate(struct pw_store *store, const struct pw_object *object, struct pw_input_place *place);
/* After a scan: of what was given away it is known whether anybody else holds it. */
void pw_taking_scanned(struct pw_store *store, struct pw_run *run);
/* The slot that `session` names in `cell` is that of a result of `run`. Errors: those of pw_store_claim(). */
PW_MUST_CHECK enum pw_status pw_taking_result(struct pw_store *store, uint32_t session, struct pw_run *run, uint32_t result,
                                              struct pw_cell cell, struct pw_error *ret_err);

#endif
