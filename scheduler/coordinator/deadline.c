/* Deadlines of runs: of admission for each, to the last gang where the client asked for one.
 *
 * A run that is not done at its deadline ends in an error that says what it waited for. Members that are in a function of it are
 * ended with their processes: nothing else can end a function. A joint that has begun is given up. Members that wait for others in
 * a transfer of it are not ended: those others are in a function of the run, which is, or in a run of somebody else, which goes on.
 */
#include "scheduler/state.h"

#include "base/size.h"

#include <stdio.h>

/* When members are looked at again that had not begun, or were down, when the deadline passed. */
#define WAIT_AGAIN_US 100000u

#define EXPIRED_MAX 64u /* in a tick: the others in the next */

/* Without memory for the heap the way to its place is longer. */
static void line_up(struct pw_live *live)
{
        struct pw_list *patient = &live->program->scheduler->patient, *before = patient->prev;

        while (before != patient && pw_list_item(before, struct pw_live, patient)->run.deadline_us > live->run.deadline_us)
                before = before->prev;
        pw_list_append(before->next, &live->patient);
}

/* Most deadlines are as long as the others that nobody asked for. */
void pw_deadline_note(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        uint64_t us = live->run.deadline_us;
        struct pw_list *last;

        pw_list_remove(&live->patient);
        last = scheduler->patient.prev;
        if (live->due.place)
                pw_heap_move(&scheduler->due, &live->due, us);
        else if (last == &scheduler->patient || pw_list_item(last, struct pw_live, patient)->run.deadline_us <= us)
                pw_list_append(&scheduler->patient, &live->patient);
        else if (!pw_heap_add(&scheduler->due, &live->due, us))
                line_up(live);
}

void pw_deadline_forget(struct pw_live *live)
{
        pw_list_remove(&live->patient);
        pw_heap_remove(&live->program->scheduler->due, &live->due);
}

void pw_deadline_admitted(struct pw_live *live)
{
        if (!live->run.deadline_kept)
                pw_deadline_forget(live);
}

void pw_deadline_cancelled(struct pw_live *live)
{
        uint64_t until_us = live->program->scheduler->now_us + live->program->scheduler->cancelled_us;

        if (live->run.deadline_kept && live->run.deadline_us <= until_us)
                return;
        live->run.deadline_us = until_us;
        live->run.deadline_kept = live->run.deadline_cut = true;
        pw_deadline_note(live);
}

static void expire_waiting(struct pw_live *live)
{
        char text[480];
        uint32_t input = 0;

        while (input + 1 < live->run.input_count && !live->inputs[input].missing)
                input++;
        snprintf(text, sizeof text, "run %lu of %s: input %u was not ready before the deadline", (unsigned long)live->run.number,
                 live->run.row->name, input);
        pw_live_fail(live, PW_DEADLINE, text);
}

static void wait_again(struct pw_live *live)
{
        live->run.deadline_us = live->program->scheduler->now_us + WAIT_AGAIN_US;
        live->run.deadline_over = true;
        pw_deadline_note(live);
}

/* It has lost its rooms on a host, which need not be heard for that. */
static bool is_lost(const struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count; host++)
                if (live->hosts[host].state == PW_LIVE_HOST_ASKED && live->hosts[host].lost)
                        return true;
        return false;
}

static void fail_behind(struct pw_live *live, const struct pw_live *ahead)
{
        char text[400], waits[80] = "the run whose blocks it took over gave them back";

        if (ahead)
                snprintf(waits, sizeof waits, "it waits for run %lu, whose blocks it took over", (unsigned long)ahead->run.number);
        snprintf(text, sizeof text, "run %lu of %s was not admitted before its deadline: %s", (unsigned long)live->run.number,
                 live->run.row->name, waits);
        pw_live_fail(live, PW_NO_SPACE, text);
}

/* It is refused by a host, who knows what it waited for, unless it was given its rooms meanwhile. */
static void expire_queued(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        const struct pw_live *ahead = pw_live_ahead(live);
        struct pw_run_id run = live->id;

        if (ahead || is_lost(live)) {
                fail_behind(live, ahead);
                return;
        }
        pw_live_tell(live, PW_CORE_OVERDUE, 0);
        live = pw_live_find(scheduler, run.number);
        if (live && live->run.state == PW_RUN_QUEUED)
                wait_again(live);
}

/* The results are decided the first time; later, until the run has ended, members that got into it after all are ended. */
static void expire_admitted(struct pw_live *live)
{
        struct pw_run_row row = { .number = live->run.number };
        char text[480], took[16];

        if (!live->stopping && !live->stopped && !live->run.cancelled) {
                pw_live_waiting_for(live, &row);
                snprintf(text, sizeof text,
                         "run %lu of %s was not done at its deadline, %s after it was submitted: it waited for %s",
                         (unsigned long)live->run.number, live->run.row->name,
                         pw_duration_format(live->run.deadline_us - live->run.submitted_us, took),
                         row.waiting_for[0] ? row.waiting_for : "its last gangs");
                pw_live_fail(live, PW_DEADLINE, text);
                if (live->run.state == PW_RUN_ADMITTED)
                        pw_live_stop(live);
        }
        if (live->run.state != PW_RUN_ADMITTED)
                return;
        pw_live_tell_all(live, &(struct pw_core_message){ .kind = PW_CORE_EXPIRED, .nth = ++live->expired },
                     &(struct pw_core_body){ .text = live->run.deadline_cut ?
                                             "it went on for too long after its run was cancelled" :
                                             "it outlived the deadline of its run" });
        if (live->run.state != PW_RUN_ADMITTED)
                return;
        wait_again(live);
}

static void expire(struct pw_live *live)
{
        switch (live->run.state) {
        case PW_RUN_WAITING: expire_waiting(live); break;
        case PW_RUN_QUEUED: expire_queued(live); break;
        default: expire_admitted(live); break;
        }
}

/* NULL: none has a deadline. */
static struct pw_live *first_due(const struct pw_scheduler *scheduler)
{
        struct pw_heap_item *item = pw_heap_first(&scheduler->due);
        struct pw_live *patient = pw_list_empty(&scheduler->patient) ? NULL :
                pw_list_first(&scheduler->patient, struct pw_live, patient);

        if (item && (!patient || item->key < patient->run.deadline_us))
                return pw_container_of(item, struct pw_live, due);
        return patient;
}

uint64_t pw_deadlines_next_us(const struct pw_scheduler *scheduler)
{
        const struct pw_live *live = first_due(scheduler);

        return live ? live->run.deadline_us : UINT64_MAX;
}

void pw_deadlines_expire(struct pw_scheduler *scheduler, uint64_t now_us)
{
        struct pw_live *live;

        for (uint32_t i = 0; i < EXPIRED_MAX && (live = first_due(scheduler)) && live->run.deadline_us <= now_us; i++)
                expire(live);
}
