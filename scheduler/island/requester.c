/* Coordinators that ask this host for its part of runs. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/memory.h"

/* To boards, a run of another host's coordinator has that host above these bits of its number. */
#define NUMBER_BITS 47u

struct pw_requester *pw_requester_find(const struct pw_scheduler *scheduler, const struct pw_run_id *run)
{
        struct pw_requester *requester = pw_table_get(&scheduler->requesters, run->coordinator);

        return requester && requester->epoch == run->epoch ? requester : NULL;
}

struct pw_requester *pw_requester_next(const struct pw_scheduler *scheduler, uint32_t *cursor)
{
        return pw_table_next(&scheduler->requesters, cursor);
}

struct pw_sched_program *pw_requester_program(const struct pw_scheduler *scheduler, const struct pw_requester *requester,
                                              uint32_t number)
{
        return pw_table_get(requester == scheduler->own ? &scheduler->programs : &requester->programs, number);
}

/* In another epoch it counts its RESERVEs anew; in the same one those of before are not believed again. */
static enum pw_status is_back(struct pw_requester *requester, uint32_t epoch, struct pw_error *ret_err)
{
        if (!requester->given_up)
                return pw_error_set(ret_err, PW_EXISTS, "the coordinator of host %u is known here", requester->host);
        if (requester->programs.count)
                return pw_error_set(ret_err, PW_BUSY, "runs of %u programs of host %u, which was given up, still end here",
                                    requester->programs.count, requester->host);
        if (requester->epoch != epoch)
                requester->reservations = 0;
        requester->epoch = epoch;
        requester->given_up = false;
        return PW_OK;
}

enum pw_status pw_scheduler_coordinator_add(struct pw_scheduler *scheduler, uint32_t host, uint32_t epoch,
                                            struct pw_error *ret_err)
{
        struct pw_requester *requester = pw_table_get(&scheduler->requesters, host);

        if (requester)
                return is_back(requester, epoch, ret_err);
        requester = calloc(1, sizeof *requester);
        if (!requester || !pw_table_put(&scheduler->requesters, host, requester)) {
                free(requester);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the coordinator of host %u", host);
        }
        requester->host = host;
        requester->epoch = epoch;
        if (host == scheduler->host)
                scheduler->own = requester;
        scheduler->alone = !scheduler->linked && host == scheduler->host;
        return PW_OK;
}

void pw_requesters_done(struct pw_scheduler *scheduler)
{
        struct pw_requester *requester;

        for (uint32_t i = 0; (requester = pw_requester_next(scheduler, &i));) {
                free(requester->runs);
                free(requester->results);
                pw_table_done(&requester->programs);
                pw_table_done(&requester->numbers);
                free(requester);
        }
        pw_table_done(&scheduler->requesters);
}

static uint64_t board_number(const struct pw_requester *requester, uint64_t number)
{
        return number | (uint64_t)(requester->host + 1) << NUMBER_BITS;
}

bool pw_requester_may_number(const struct pw_scheduler *scheduler, const struct pw_requester *requester, uint64_t number)
{
        return requester == scheduler->own ||
               (!(number >> NUMBER_BITS) && !pw_table_get(&requester->numbers, board_number(requester, number)));
}

/* Boards know those of others by a table alone. */
bool pw_requester_add_run(struct pw_requester *requester, struct pw_host_run *run)
{
        const struct pw_scheduler *scheduler = run->program->scheduler;

        if (run->at >= requester->run_capacity &&
            !pw_grow((void **)&requester->runs, &requester->run_capacity, run->at + 1, sizeof *requester->runs))
                return false;
        run->number = run->id.number;
        if (requester != scheduler->own) {
                run->number = board_number(requester, run->number);
                if (!pw_table_put(&requester->numbers, run->number, run))
                        return false;
        }
        requester->runs[run->at] = run;
        run->program->host_runs++;
        return true;
}

void pw_requester_forget_run(struct pw_requester *requester, const struct pw_host_run *run)
{
        if (requester != run->program->scheduler->own)
                pw_table_remove(&requester->numbers, run->number);
        requester->runs[run->at] = NULL;
        run->program->host_runs--;
        pw_program_maybe_end(run->program);
}

struct pw_host_run *pw_requester_find_run(const struct pw_scheduler *scheduler, const struct pw_run_id *id, uint32_t slot)
{
        const struct pw_requester *requester = pw_requester_of(scheduler, id);
        struct pw_host_run *run = requester ? pw_requester_run(requester, slot) : NULL;

        return run && pw_same_run(&run->id, id) ? run : NULL;
}

bool pw_requester_reach(struct pw_requester *requester, uint32_t slot)
{
        return slot < requester->result_capacity ||
               pw_grow((void **)&requester->results, &requester->result_capacity, slot + 1, sizeof *requester->results);
}

/* An executor tells of a run by this. */
struct pw_host_run *pw_host_find(const struct pw_scheduler *scheduler, uint64_t number)
{
        struct pw_host_run *run = pw_requester_run(scheduler->own, pw_scheduler_slot(scheduler, number));
        const struct pw_requester *other;

        if (number >> NUMBER_BITS) {
                other = pw_table_get(&scheduler->requesters, (number >> NUMBER_BITS) - 1);
                return other ? pw_table_get(&other->numbers, number) : NULL;
        }
        return run && run->id.number == number ? run : NULL;
}

/* --- given up ----------------------------------------------------------------------------------------------------------------- */

static const struct pw_core_body nothing;

/* Behind a PREPARE it goes on until its devices are done with it; before, it has rooms at most, or a place in the queue. */
static void end_run(struct pw_host_run *run)
{
        struct pw_core_message message = { .serial = run->serial, .unread = 1 };

        if (!run->recorded) {
                if (pw_host_give_back(run, &message, &nothing, NULL) != PW_OK)
                        run->program->scheduler->impossible++;
                return;
        }
        (void)pw_host_cancel(run, &message, &nothing, NULL);
        (void)pw_host_stop(run, &message, &nothing, NULL); /* cancelled before, for who reads its results */
}

/* One that ends may take others along. */
void pw_requester_give_up(struct pw_scheduler *scheduler, struct pw_requester *requester)
{
        struct pw_sched_program *program;

        requester->given_up = true;
        requester->ends_us = scheduler->now_us + scheduler->cancelled_us;
        for (uint32_t i = 0; i < requester->run_capacity; i++)
                if (requester->runs[i])
                        end_run(requester->runs[i]);
        for (uint32_t i = 0; i < requester->result_capacity; i++)
                if (requester->results[i])
                        pw_host_result_release(requester->results[i]);
        pw_list_each(&scheduler->all_programs, program, struct pw_sched_program, of_all)
                if (program->requester == requester)
                        pw_scheduler_program_free(scheduler, program->row.program);
}

/* Of one that was given up: runs of its programs are here. */
static bool is_ending(const struct pw_requester *requester) { return requester->given_up && requester->programs.count; }

uint64_t pw_requesters_next_us(const struct pw_scheduler *scheduler)
{
        const struct pw_requester *requester;
        uint64_t next_us = UINT64_MAX;

        for (uint32_t i = 0; (requester = pw_requester_next(scheduler, &i));)
                if (is_ending(requester))
                        next_us = pw_min_u64(next_us, requester->ends_us);
        return next_us;
}

#define AGAIN_US 100000u /* members that had not begun, or were down */

void pw_requesters_expire(struct pw_scheduler *scheduler, uint64_t now_us)
{
        static const struct pw_core_body why = { .text = "the host of its client was given up" };
        struct pw_requester *requester;

        for (uint32_t i = 0; (requester = pw_requester_next(scheduler, &i));) {
                if (!is_ending(requester) || requester->ends_us > now_us)
                        continue;
                requester->ends_us = now_us + AGAIN_US;
                for (uint32_t slot = 0; slot < requester->run_capacity; slot++) {
                        struct pw_host_run *run = requester->runs[slot];

                        if (run)
                                (void)pw_host_expire(run, &(struct pw_core_message){ .nth = run->expired + 1 }, &why, NULL);
                }
        }
}
