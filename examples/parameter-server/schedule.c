/* Who is to do what next. */
#include "examples/parameter-server/schedule.h"

#include <stdlib.h>

bool schedule_start(struct schedule *schedule, uint32_t steps, uint32_t parts, uint32_t staleness)
{
        *schedule = (struct schedule){ .steps = steps, .parts = parts, .staleness = staleness };
        schedule->returned = calloc(parts, sizeof *schedule->returned);
        schedule->missing = calloc(steps, sizeof *schedule->missing);
        for (uint32_t step = 0; schedule->missing && step < steps; step++)
                schedule->missing[step] = parts;
        return schedule->returned && schedule->missing;
}

void schedule_done(struct schedule *schedule)
{
        free(schedule->returned);
        free(schedule->missing);
}

bool schedule_next(struct schedule *schedule, struct turn *ret_turn)
{
        if (schedule->returned_count) {
                *ret_turn = schedule->returned[--schedule->returned_count];
                return true;
        }
        struct turn turn = schedule->next;
        if (turn.step == schedule->steps || turn.step - schedule->oldest > schedule->staleness)
                return false;
        if (turn.step - schedule->oldest > schedule->widest)
                schedule->widest = turn.step - schedule->oldest;
        schedule->next.part++;
        if (schedule->next.part == schedule->parts)
                schedule->next = (struct turn){ .step = turn.step + 1 };
        *ret_turn = turn;
        return true;
}

void schedule_finish(struct schedule *schedule, struct turn turn)
{
        schedule->missing[turn.step]--;
        while (schedule->oldest < schedule->steps && !schedule->missing[schedule->oldest])
                schedule->oldest++;
}

void schedule_return(struct schedule *schedule, struct turn turn)
{
        schedule->returned[schedule->returned_count++] = turn;
}
