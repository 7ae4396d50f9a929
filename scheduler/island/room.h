/* Rooms of runs: which run waits for some, which gets them and where, and which blocks go on to the next run.
 */
#ifndef PW_SCHEDULER_ISLAND_ROOM_H
#define PW_SCHEDULER_ISLAND_ROOM_H

#include "scheduler/program.h"

struct pw_host_run;
struct pw_fragment;

struct pw_hold {                 /* of the blocks of one chain */
        struct pw_list link;     /* in the chain's `last`, while nobody took over */
        struct pw_host_run *run;
        struct pw_host_run *ahead;   /* whose blocks it took over; NULL: nobody, or that has ended */
        struct pw_host_run *behind;  /* who took over */
};

/* admission.c */
/* May its tenant ever have as much as the run needs, where all is updated in place that can be? Errors: PW_TOO_LARGE. */
PW_MUST_CHECK enum pw_status pw_admission_fits(const struct pw_sched_program *program, const struct pw_run_id *run,
                                               const struct pw_core_input *inputs, struct pw_error *ret_err);
/* It waits for its turn, by run->arrival. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_admission_enter(struct pw_host_run *run, struct pw_error *ret_err);
/* It has its rooms now, or, false, would wait for them. */
bool pw_admission_at_once(struct pw_host_run *run);
/* It has its rooms: PLACED and RESERVED. Errors: PW_NO_MEMORY: that they are all there is not said. */
enum pw_status pw_admission_tell(struct pw_host_run *run);
void pw_admission_leave(struct pw_host_run *run); /* without having been admitted; it is in a queue */
void pw_queue_init(struct pw_queue *queue);
void pw_admission_scan(struct pw_scheduler *scheduler);
/* lack.c: which memory lacks how much, and who holds it. */
void pw_admission_lack(const struct pw_host_run *run, char *text, size_t text_bytes);
/* chain.c */
/* The run has blocks of this chain: its own (`ahead` NULL), or it took over those of `ahead`. */
void pw_chain_join(struct pw_host_run *run, uint32_t chain, struct pw_host_run *ahead);
/* It has failed as a whole: the blocks that nobody took over are letting go. */
void pw_chain_let_go(struct pw_host_run *run);
/* It ends: who took over has the blocks, the others are given back. Appends to `freed` (by freed_link) who may end now as well. */
void pw_chain_leave(struct pw_host_run *run, struct pw_list *freed);
/* It never was: whom it took over from has the blocks again, the others are given back. Nobody took over from it. */
void pw_chain_undo(struct pw_host_run *run);
/* Are the runs ahead ordered as far as this gang comes behind them? If not, fragment->wait_for names the chain. */
bool pw_chain_passed(struct pw_fragment *fragment, const struct pw_gang *gang);

/* place.c */
enum pw_place_verdict { PW_PLACED, PW_PLACE_HELD, PW_PLACE_DEFERRED };
/* Settle which inputs are in place; then take all rooms, or none. */
void pw_place_inputs(struct pw_host_run *run);
enum pw_place_verdict pw_place_run(struct pw_host_run *run);
/* What was placed is not: what it was to update in place is as before, its blocks go. Its results have theirs until released. */
void pw_place_undo(struct pw_host_run *run);
/* Bytes that a run with such inputs needs of all devices together, if all is updated in place that can be. */
uint64_t pw_place_least(const struct pw_sched_program *program, const struct pw_core_input *inputs);
/* Can a run of it ever fit into its devices? Errors: PW_TOO_LARGE. */
PW_MUST_CHECK enum pw_status pw_place_check(const struct pw_sched_program *program, struct pw_error *ret_err);

#endif
