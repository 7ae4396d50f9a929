/* Who is to do what next. The rows of each step's batch are in parts, one gradient each; parts of a step are handed out in order,
 * and those of step s only when all of step s - staleness - 1 are done. So a gradient of step s is made of weights that have every
 * update up to that step: staleness 0 is synchronous training, and one as large as the number of steps asynchronous. What a lost
 * worker had goes to the next that asks. Pure: no object, no clock.
 */
#ifndef PARAMETER_SERVER_SCHEDULE_H
#define PARAMETER_SERVER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Part `part` of the batch of step `step`. */
struct turn {
        uint32_t step, part;
};

struct schedule {
        uint32_t steps, parts, staleness;
        struct turn next;      /* the first that was never handed out */
        struct turn *returned; /* of lost workers, the last of them first */
        uint32_t returned_count;
        uint32_t *missing; /* of each step: parts that are not done */
        uint32_t oldest;   /* the first step with such; `steps`: all is done */
        uint32_t widest;   /* steps from the oldest to the newest that was handed out while it was, at most */
};

/* `parts` to a step, for as many workers at most. False: out of memory. Own: ended by schedule_done(). */
bool schedule_start(struct schedule *schedule, uint32_t steps, uint32_t parts, uint32_t staleness);
void schedule_done(struct schedule *schedule);

/* False: nothing may be handed out before others are done, or nothing is left. */
bool schedule_next(struct schedule *schedule, struct turn *ret_turn);
void schedule_finish(struct schedule *schedule, struct turn turn);
/* Who had it is lost. Each worker is so once at most. */
void schedule_return(struct schedule *schedule, struct turn turn);

#endif
