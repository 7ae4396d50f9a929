/* A host was given up: runs that have something there fail, and end on their other hosts as cancelled ones do; of results, what
 * only that host held is lost.
 */
#include "scheduler/step.h"

#include "base/error.h"

/* It ends there as if it had said so. */
static void leave(struct pw_live *live, uint32_t host)
{
        (void)pw_live_done(live, host, &(struct pw_core_message){ .kind = PW_CORE_DONE }, NULL, NULL);
}

/* Where not every host has prepared it nothing is ever started, once the others have answered; else what is ordered is skipped. */
static void stop(struct pw_live *live, uint32_t host)
{
        bool unprepared = pw_live_unprepared(live);

        if (unprepared) {
                live->refused = true;
        } else {
                pw_deadline_cancelled(live);
                pw_live_stop(live);
        }
        leave(live, host);
        if (unprepared && live->run.state == PW_RUN_ADMITTED && !pw_live_unprepared(live))
                pw_live_start(live);
}

/* One that was only read from its ring fails when it is submitted: it holds nothing of its inputs till then. */
static void lose_run(struct pw_live *live, uint32_t host, const char *text)
{
        switch (live->run.state) {
        case PW_RUN_WAITING:
                if (live->submitted)
                        pw_live_fail(live, PW_HOST_LOST, text);
                break;
        case PW_RUN_QUEUED:
                pw_live_doom(live, PW_HOST_LOST, text);
                break;
        case PW_RUN_ADMITTED:
                if (live->hosts[host].state == PW_LIVE_HOST_DONE)
                        break;
                pw_live_fail(live, PW_HOST_LOST, text);
                stop(live, host);
                break;
        case PW_RUN_ENDED:
        case PW_RUN_STATES:
                break;
        }
}

/* Its runs may end one another, so they are found by their slots. */
static void lose_runs(struct pw_scheduler *scheduler, uint32_t host, const char *text)
{
        for (uint32_t slot = 1; slot <= scheduler->run_slots.top; slot++) {
                struct pw_live *live = pw_handles_get(&scheduler->run_slots, slot);
                uint32_t at = live ? pw_program_host(live->program, host) : UINT32_MAX;

                if (at != UINT32_MAX && pw_live_find(scheduler, live->run.number) == live)
                        lose_run(live, at, text);
        }
}

void pw_coordinator_give_up(struct pw_scheduler *scheduler, uint32_t host, const char *text)
{
        struct pw_sched_program *program;
        struct pw_result *result;

        pw_list_each(&scheduler->all_programs, program, struct pw_sched_program, of_all)
                if (program->requester == scheduler->own && pw_program_host(program, host) != UINT32_MAX)
                        program->lost_host = host + 1;
        lose_runs(scheduler, host, text);
        pw_list_each(&scheduler->results, result, struct pw_result, link)
                pw_result_lose_host(pw_result_live(result), host, text);
}

void pw_live_fail_by_program(struct pw_live *live)
{
        char text[200];

        snprintf(text, sizeof text, "run %lu of %s: its program has devices of host %u, which was given up: compile it again",
                 (unsigned long)live->run.number, live->run.row->name, live->program->lost_host - 1);
        pw_live_fail(live, PW_HOST_LOST, text);
}
