/* Cancelling a run: what is not ordered is not, what is ordered is skipped where it has not begun, what has begun goes on.
 *
 * Deciding is not letting go: its results are errors at once, but their rooms and the run's block stay granted, as letting go,
 * until every device has done what it was given of the run, or its process is dead.
 */
#include "scheduler/state.h"

#include <stdio.h>

/* Of a turn, each run by its weight; the rest in the next. */
#define DROPPED_AT_ONCE 4096u

void pw_cancelled_sentence(const struct pw_live *live, char *text, size_t text_bytes)
{
        snprintf(text, text_bytes, "run %lu of %s was cancelled%s%s", (unsigned long)live->run.number, live->run.row->name,
                 live->cancelled_by[0] ? " by " : ": nobody holds its results", live->cancelled_by);
}

static bool is_read(const struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i]->users)
                        return true;
        return false;
}

/* Where other runs read a result, all of the run is still ordered, so that they find an error in its rooms, as long as they are
 * there; else nothing more is. */
void pw_live_stop(struct pw_live *live)
{
        live->stopping = is_read(live);
        live->stopped |= !live->stopping;
        pw_live_tell(live, PW_CORE_CANCEL, live->stopped);
}

/* The next turn drops its fragments: here the caller may be in the middle of the end of a reader, and that of a chain of them. */
void pw_live_reader_left(struct pw_live *live)
{
        if (live->stopping && !live->stopped && !is_read(live) && pw_list_empty(&live->unread))
                pw_list_append(&live->program->scheduler->unread, &live->unread);
}

void pw_unread_drop(struct pw_scheduler *scheduler)
{
        for (uint64_t done = 0; done < DROPPED_AT_ONCE && !pw_list_empty(&scheduler->unread);) {
                struct pw_live *live = pw_list_first(&scheduler->unread, struct pw_live, unread);

                done += pw_run_weight(&live->run);
                pw_list_remove(&live->unread);
                live->stopped = true;
                pw_live_tell(live, PW_CORE_STOP, 0);
        }
}

void pw_live_cancel(struct pw_live *live, const char *by)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        uint64_t number = live->run.number;
        char text[400];
        bool admitted;

        if (live->run.cancelled)
                return;
        live->run.cancelled = true;
        snprintf(live->cancelled_by, sizeof live->cancelled_by, "%s", by ? by : "");
        if (!live->submitted) /* that ends it */
                return;
        pw_cancelled_sentence(live, text, sizeof text);
        admitted = live->run.state == PW_RUN_ADMITTED;
        pw_live_fail(live, PW_CANCELLED, text);
        if (admitted && pw_live_find(scheduler, number)) {
                pw_deadline_cancelled(live);
                pw_live_stop(live);
        }
}

static bool is_held_in_part(const struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i]->object && live->run.results[i]->status != PW_NOT_READY)
                        return true;
        return false;
}

bool pw_live_unheld(struct pw_live *live)
{
        live->unheld = is_held_in_part(live);
        return !live->unheld;
}

/* References may have been taken meanwhile to what is still to come: who keeps them looks again. */
void pw_live_result_gone(struct pw_live *live)
{
        if (!live->unheld || is_held_in_part(live))
                return;
        live->unheld = false;
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i]->object) {
                        pw_action_add(live->program->scheduler, PW_ACT_UNHELD)->object = live->run.results[i]->object;
                        return;
                }
}
