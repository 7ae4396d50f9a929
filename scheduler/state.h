/* The scheduler's whole state: devices, islands, slices, programs, runs. Private to scheduler/.
 */
#ifndef PW_SCHEDULER_STATE_H
#define PW_SCHEDULER_STATE_H

#include "base/numbers.h"
#include "scheduler/coordinator/gather.h"
#include "scheduler/coordinator/live.h"
#include "scheduler/island/requester.h"
#include "scheduler/island/island.h"
#include "scheduler/scheduler.h"

#define PW_RESULT_POOLS 13u /* the last: of 4,096 rooms */
#define PW_ENDED_RUNS 64u
#define PW_AHEAD_DEFAULT 64u
#define PW_AHEAD_MAX 1024u
#define PW_ADMIT_US_DEFAULT UINT64_C(600000000)
#define PW_CANCELLED_US_DEFAULT UINT64_C(10000000)

struct pw_slice_live {
        struct pw_slice_map map; /* owns its places */
        uint64_t serial;         /* never used again, unlike the id */
        uint32_t session, users; /* programs, and compilations under way */
        bool open;
};

struct pw_ended {
        uint64_t number, submitted_us, ended_us;
        enum pw_status outcome;
        uint32_t nodes, nodes_ordered;
        uint32_t of;             /* the program's number, whose are */
        char program[64], tenant[64], client[64];
        char error[256]; /* of its first result in error; empty: none, or nobody wants to know */
};

struct pw_scheduler {
        struct pw_actions actions;
        uint32_t ahead, host, epoch;
        bool linked;                     /* see struct pw_scheduler_params */
        bool alone;                      /* it is not, and no other host is known, nor has part in a program */
        uint64_t admit_us, cancelled_us;
        const struct pw_policy *policy;
        struct pw_device *devices[PW_DEVICES_MAX];
        struct pw_island *islands[PW_ISLANDS_MAX];
        struct pw_table slices, programs; /* by number: struct pw_slice_live, struct pw_sched_program */
        uint32_t slice_number, program_number; /* the last ones given */
        struct pw_list all_programs;     /* as they came */
        struct pw_numbers runs;          /* struct pw_live */
        uint64_t run_count, serial_count;
        struct pw_list waiting;          /* runs whose inputs are not there */
        struct pw_table awaited;         /* objects of the store that they wait for: struct pw_awaited */
        struct pw_list telling;          /* struct pw_device_quota: tenants with such that are decided, in turn */
        struct pw_list doomed;           /* runs that arrived, and fail by their inputs, or were refused */
        struct pw_list queue;            /* struct pw_host_run: what waits for rooms, by its arrival number */
        struct pw_list turns;            /* struct pw_device_quota: tenants that have runs in it, in turn */
        struct pw_list gathering;        /* runs that may go on asking several hosts for rooms */
        struct pw_list losing;           /* struct pw_live_host: who took over there is to lose what it has; */
        bool is_losing;                  /* they do, one after the other */
        uint64_t passes;                 /* ever, over those behind a run */
        struct pw_list unread;           /* runs to be stopped in the next turn, as who read them has ended */
        struct pw_list patient;          /* submitted runs with a deadline, the first one first; */
        struct pw_heap due;              /* those with one that comes out of that order */
        uint32_t *free_slots;            /* of runs' places in boards, below slot_end */
        uint32_t free_slot_count, slot_capacity, slot_end;
        struct pw_list unadmitted;       /* struct pw_host_run: those with rooms here that other hosts may not have */
        uint32_t queue_count, deferred_count;
        uint32_t queued_here;    /* runs that wait for rooms of this host */
        uint32_t admitted_count; /* runs that are admitted and have not ended */
        uint64_t arrivals, admissions; /* ever */
        bool scan;                       /* room was given back, or a run arrived */
        bool scanning;
        uint64_t scans;
        struct pw_table quotas;          /* by tenant: struct pw_device_quota */
        struct pw_list changed_quotas;   /* whose runs have more or less memory than was said */
        uint64_t now_us;
        struct pw_list results;          /* all that are not gone */
        struct pw_list idle_results[PW_RESULT_POOLS]; /* nobody's */
        uint32_t idle_result_count;
        struct pw_handles slots, run_slots; /* of the records of results, of runs: struct pw_result_live, struct pw_live */
        struct pw_core_input *asking;    /* what a run reads, while its host is asked: for those of each program */
        uint32_t *asking_slots;
        uint32_t asking_capacity, asking_slot_capacity;
        struct pw_room *telling_rooms;   /* and what the host answers */
        uint32_t *telling_slots;
        uint32_t telling_room_capacity, telling_slot_capacity;
        uint64_t asked_count;            /* RESERVEs, ever */
        /* Those of this host: */
        struct pw_table requesters;          /* by host: struct pw_requester */
        struct pw_requester *own;            /* the coordinator of this host */
        bool gave_up;                        /* another one, ever */
        struct pw_list host_results, idle_host_results[PW_RESULT_POOLS];
        uint32_t idle_host_result_count;
        struct pw_ended ended[PW_ENDED_RUNS]; /* a ring */
        uint64_t ended_count;
        struct pw_run_counts counts;
        const struct pw_observer *observer; /* of changes of states; NULL: nobody watches */
        uint64_t impossible;             /* events that have no meaning in the state in which they came: our own fault */
};

/* A number that was never given, or four billion others ago: who asks with an old one finds nothing. */
static inline uint32_t pw_scheduler_number(const struct pw_table *table, uint32_t *last)
{
        do
                ++*last;
        while (!*last || pw_table_get(table, *last));
        return *last;
}

/* The host's own is found without a table. NULL: it is not known here, or not of that epoch. */
static inline struct pw_requester *pw_requester_of(const struct pw_scheduler *scheduler, const struct pw_run_id *run)
{
        return run->coordinator == scheduler->host && run->epoch == scheduler->epoch ? scheduler->own
                                                                                      : pw_requester_find(scheduler, run);
}

/* Where the coordinator of this host keeps its run of that number; 0: it has none. */
static inline uint32_t pw_scheduler_slot(const struct pw_scheduler *scheduler, uint64_t number)
{
        const struct pw_live *live = pw_numbers_get(&scheduler->runs, number);

        return live ? live->slot : 0;
}

static inline struct pw_device *pw_scheduler_device(const struct pw_scheduler *scheduler, uint32_t number)
{
        return number < PW_DEVICES_MAX ? scheduler->devices[number] : NULL;
}
/* As other hosts know it. */
static inline struct pw_device_id pw_scheduler_device_id(const struct pw_scheduler *scheduler, uint32_t number)
{
        return (struct pw_device_id){ (uint16_t)scheduler->host, (uint16_t)number };
}

/* deliver.c */
/* Whom a message is about; NULL: it is not here, or not any more. */
static inline struct pw_host_run *pw_core_host_run(const struct pw_scheduler *scheduler, const struct pw_core_message *message)
{
        struct pw_host_run *run = pw_requester_run(scheduler->own, message->slot);

        return run && pw_same_run(&run->id, &message->run) ? run : pw_requester_find_run(scheduler, &message->run, message->slot);
}
enum pw_status pw_core_over(const struct pw_run_id *run, struct pw_error *ret_err); /* PW_NOT_FOUND, in a sentence */
/* From one core to another: handed over at once, or a link's, which takes its time. `body` NULL: nothing comes along. Errors:
 * PW_NO_MEMORY: it is not said, as what comes along is needed; a sentence is not, and is lost then. */
enum pw_status pw_core_tell(struct pw_scheduler *scheduler, const struct pw_core_message *message, const struct pw_core_body *body);
/* From its host to its coordinator: the run, and what else is said of it. */
static inline void pw_host_tell(const struct pw_host_run *run, struct pw_core_message *message, const char *text)
{
        struct pw_core_body body = { .text = text };

        message->run = run->id;
        message->slot = run->at;
        message->serial = run->serial;
        message->host = run->program->scheduler->host;
        pw_core_tell(run->program->scheduler, message, text ? &body : NULL);
}

/* action.c: append an action; never NULL (a zeroed spare one takes what does not fit in memory, and is lost). */
struct pw_action *pw_action_add(struct pw_scheduler *scheduler, enum pw_action_kind kind);
void pw_action_text(struct pw_scheduler *scheduler, struct pw_action *action, const char *text); /* its own copy */
/* About the run, behind what boards were told so far. */
struct pw_core_message *pw_action_core(struct pw_scheduler *scheduler, const struct pw_run_id *run, enum pw_core_kind kind);
struct pw_message *pw_action_message(struct pw_scheduler *scheduler, enum pw_message_kind kind); /* likewise, to the boards */
struct pw_order_item *pw_action_order(struct pw_scheduler *scheduler); /* NULL: out of memory */
/* Place for `bytes` bytes in the pool; it may move with the next. NULL: out of memory. */
void *pw_action_bytes(struct pw_scheduler *scheduler, uint64_t bytes, uint64_t *ret_offset);
bool pw_actions_init(struct pw_actions *actions); /* false: out of memory */
void pw_actions_done(struct pw_actions *actions);

/* rows.c: fill in, for people, what `live` waits for now. */
void pw_live_waiting_for(struct pw_live *live, struct pw_run_row *row);

/* ended.c */
enum pw_status pw_ended_note(struct pw_live *live, uint32_t nodes, uint32_t nodes_ordered); /* its outcome */
void pw_ended_row(const struct pw_ended *ended, struct pw_run_row *ret_row);

/* resource.c */
void pw_slice_use(struct pw_slice_live *slice);
void pw_slice_unuse(struct pw_scheduler *scheduler, uint32_t id);
void pw_slice_destroy(struct pw_slice_live *slice);

#endif
