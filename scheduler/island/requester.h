/* A coordinator as a host knows it: whose runs it has, and what they are called. The host's own is one of them.
 *
 * Runs and results have the slots that their coordinator gave them. To the boards of the host a run is known by one number, whoever
 * coordinates it.
 */
#ifndef PW_SCHEDULER_ISLAND_REQUESTER_H
#define PW_SCHEDULER_ISLAND_REQUESTER_H

#include "base/table.h"
#include "scheduler/message.h"

struct pw_scheduler;
struct pw_host_run;
struct pw_host_result;

struct pw_requester {
        uint32_t host, epoch;
        bool given_up;                   /* nothing more is heard of it; its runs end */
        uint64_t ends_us;                /* then: members that are in a function of them are ended */
        struct pw_host_run **runs;       /* by slot; NULL: none */
        uint32_t run_capacity;
        struct pw_host_result **results; /* by slot; NULL: released */
        uint32_t result_capacity;
        uint64_t reservations;           /* the serial of its last RESERVE */
        /* Of another host's: */
        struct pw_table programs;        /* by its numbers: struct pw_sched_program */
        struct pw_table numbers;         /* struct pw_host_run, by its number to boards */
};

/* Another host's; NULL: it is not known here, or not of that epoch. pw_requester_of() (state.h) has this host's too. */
struct pw_requester *pw_requester_find(const struct pw_scheduler *scheduler, const struct pw_run_id *run);
/* for (uint32_t i = 0; (requester = pw_requester_next(scheduler, &i));) : each of them. */
struct pw_requester *pw_requester_next(const struct pw_scheduler *scheduler, uint32_t *cursor);
void pw_requesters_done(struct pw_scheduler *scheduler);
/* It was given up. Its runs end as cancelled ones do, its results and programs go once nobody needs them here. */
void pw_requester_give_up(struct pw_scheduler *scheduler, struct pw_requester *requester);
/* When members of such runs are due to be ended, which is done then; UINT64_MAX: none will be. */
uint64_t pw_requesters_next_us(const struct pw_scheduler *scheduler);
void pw_requesters_expire(struct pw_scheduler *scheduler, uint64_t now_us);
/* Its program of that number; NULL: none. */
struct pw_sched_program *pw_requester_program(const struct pw_scheduler *scheduler, const struct pw_requester *requester,
                                        uint32_t number);

/* May a run of it have that number? Not one that boards could not tell from another. */
bool pw_requester_may_number(const struct pw_scheduler *scheduler, const struct pw_requester *requester, uint64_t number);
/* A run of it has this slot from here on, until it is forgotten. False: out of memory. */
bool pw_requester_add_run(struct pw_requester *requester, struct pw_host_run *run);
void pw_requester_forget_run(struct pw_requester *requester, const struct pw_host_run *run);
static inline struct pw_host_run *pw_requester_run(const struct pw_requester *requester, uint32_t slot)
{
        return slot < requester->run_capacity ? requester->runs[slot] : NULL;
}
/* Of whichever coordinator. NULL: it is not here. */
struct pw_host_run *pw_requester_find_run(const struct pw_scheduler *scheduler, const struct pw_run_id *id, uint32_t slot);
/* Place for a result at that slot. False: out of memory. */
bool pw_requester_reach(struct pw_requester *requester, uint32_t slot);
static inline struct pw_host_result *pw_requester_result(const struct pw_requester *requester, uint32_t slot)
{
        return slot < requester->result_capacity ? requester->results[slot] : NULL;
}

/* The run that boards know by that number; NULL: it is not here, or not any more. */
struct pw_host_run *pw_host_find(const struct pw_scheduler *scheduler, uint64_t number);

#endif
