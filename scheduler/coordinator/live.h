/* A run and its results as their coordinator keeps them: struct pw_live around struct pw_run, struct pw_result_live around struct
 * pw_result, which are what others see (run.h).
 *
 * What a host has of the run is in island/host_run.h; the two speak in messages (message.h). The run ends when it is over on all of
 * its hosts: what was ordered is done, and nothing more will be ordered. Records are used again: a run's for the next of the same
 * program, a result's for one of about as many rooms.
 */
#ifndef PW_SCHEDULER_COORDINATOR_LIVE_H
#define PW_SCHEDULER_COORDINATOR_LIVE_H

#include "scheduler/coordinator/answer.h"
#include "scheduler/program.h"

struct pw_live_input {
        struct pw_list link;     /* among the waiters of its result, or of `awaited` */
        struct pw_awaited *awaited; /* an object that is still to be decided; NULL: none */
        struct pw_live *live;
        bool missing;            /* it is counted in its run's `missing` */
        bool waiting;            /* it is counted in `waiting` of the result that it reads */
        enum pw_status status;   /* other than PW_OK: loaded as an error */
        char *text;              /* of that error; owned, may be NULL */
};

/* Why results of a run are errors, as hosts reported it. node PW_NODE_NONE: the device was lost, and `text` says all of it. */
struct pw_cause {
        struct pw_cause *next;
        uint32_t node;
        struct pw_device_id device;
        enum pw_status status;
        char text[PW_CAUSE_BYTES];
};

enum pw_live_host_state {
        PW_LIVE_HOST_IDLE = 1,   /* it has nothing of the run */
        PW_LIVE_HOST_ASKED,      /* RESERVE was not answered */
        PW_LIVE_HOST_RESERVED,   /* it has all rooms there */
        PW_LIVE_HOST_PREPARING,
        PW_LIVE_HOST_PREPARED,
        PW_LIVE_HOST_DONE,       /* it has its results only */
        PW_LIVE_HOST_STATES
};
/* What changes it: pw_live_host_step(). */
enum pw_live_host_event {
        PW_LIVE_HOST_ASK = 0,
        PW_LIVE_HOST_RESERVE,
        PW_LIVE_HOST_REFUSE,
        PW_LIVE_HOST_GIVE_BACK, /* it was told to */
        PW_LIVE_HOST_LOSE,      /* a run whose blocks it took over there gave back: the host will refuse this one too */
        PW_LIVE_HOST_PREPARE,
        PW_LIVE_HOST_ANSWER,    /* PREPARED */
        PW_LIVE_HOST_FINISH,
        PW_LIVE_HOST_EVENTS
};

struct pw_live_host {            /* the run on one of its hosts; index: as in its program's `hosts` */
        enum pw_live_host_state state;
        bool lost;               /* while ASKED: a run ahead of it gave back its rooms there, so this one will be refused */
        uint32_t placed;         /* results for which PLACED has come */
        uint32_t ahead_count;
        struct pw_taken *ahead;  /* runs whose blocks it took over there and that were not admitted then (ahead.h); owned */
        uint64_t serial;         /* of the RESERVE that it was asked with last */
        uint64_t arrival;        /* the run's number in its queue; 0: not known */
        /* If the run has several hosts: */
        struct pw_live *live;
        struct pw_list losing;   /* in scheduler->losing: runs that took over blocks from it on this host are to lose them */
};

/* What most runs need comes first: many are in flight, and their records are not in the cache. */
struct pw_live {
        struct pw_run run;
        struct pw_sched_program *program;
        struct pw_run_id id;
        uint16_t host_count;     /* its program's */
        uint16_t hosts_in[PW_LIVE_HOST_STATES]; /* how many of its hosts are in each state */
        uint32_t slot;           /* of this record, in scheduler->run_slots, for ever */
        uint32_t missing;        /* how many of its inputs are neither there nor to come from a run that was admitted */
        bool refused;            /* a PREPARE failed, or PLACED was not said: nothing is ever ordered */
        bool submitted;          /* pw_scheduler_submit() was called; until then its record was only read from the ring */
        bool stopped;            /* cancelled: nothing more of it is ordered */
        bool stopping;           /* it will be stopped once no run reads its results */
        bool unheld;             /* nobody holds those of its results that are to come, but somebody holds one that has come */
        struct pw_live_host *hosts, one; /* hosts: host_count of them; &one if there is only one */
        struct pw_list link;     /* in the list of the waiting, doomed, ended or idle runs; in none while its hosts are asked */
        struct pw_live_input *inputs;
        struct pw_list starters; /* prepared runs that read its results, and start when it is prepared on all hosts too */
        struct pw_list start;    /* in `starters` of the run that it waits for in this way */
        struct pw_list patient;  /* in scheduler->patient, if no deadline there is later than its own; else `due` is in a heap */
        struct pw_heap_item due;
        struct pw_list unread;   /* among those of which `stopping` came true since the last turn */
        struct pw_cause *causes;
        struct pw_error *refusal;/* why it cannot be admitted, as a host refused it for good; owned, NULL: it is not refused */
        uint64_t nodes, nodes_ordered; /* gangs, on hosts where it is over */
        uint32_t expired;        /* how often its hosts were told EXPIRED */
        char cancelled_by[64];   /* once it is cancelled: by which client; empty: nobody holds its results */
        /* If it has several hosts (gather.c): */
        struct pw_list gathering;/* in scheduler->gathering: it may go on asking for rooms */
        struct pw_list behind;   /* struct pw_taken: runs that took over its blocks, while it is not admitted */
        uint64_t pass;           /* the number of the last walk over some run's `behind` that met it: each meets it once */
        bool at_once;            /* its hosts are asked together, and not to wait; else one after the other */
        bool short_now;          /* one that was asked at once had no room */
        bool is_gathering;       /* pw_live_gather() of it is under way, further up the stack */
        uint64_t *told;          /* a bit per host and result: RESULT has come */
};

struct pw_failure { enum pw_status status; uint32_t node; struct pw_device_id device; }; /* where it began; PW_OK: none */

struct pw_result_live {
        struct pw_result result;
        struct pw_scheduler *scheduler;
        struct pw_device_quota *quota; /* of its run's tenant, where this record is counted */
        struct pw_run_id maker;
        struct pw_list waiters;  /* struct pw_live_input: of runs that wait until its maker is admitted */
        uint32_t waiting;        /* how many inputs of runs that are not admitted read it */
        uint32_t untold;         /* hosts of its slice that have not said RESULT */
        bool kept;               /* its hosts have it, until they are told RELEASE */
        bool useless;            /* its object is gone or it is an error: only runs that read it want it */
        bool let_go;             /* its hosts were told LET_GO */
        bool gone;               /* nobody needs this record any more */
        uint32_t slot;           /* of this record, in scheduler->slots, for ever */
        uint32_t pool;           /* there is space for 2^pool rooms in room_store */
        uint32_t sentence;       /* length of the error's own sentence, without the runs by which it came here */
        struct pw_failure failed; /* as a host said in SPOILED; the result becomes an error when its writer is done */
        struct pw_room room_store[];
};

static inline struct pw_live *pw_live_of(const struct pw_run *run) { return run->own; }
static inline struct pw_result_live *pw_result_live(struct pw_result *result)
{
        return pw_container_of(result, struct pw_result_live, result);
}
static inline struct pw_device_quota *pw_live_quota(const struct pw_live *live) { return live->program->quota; }
static inline bool pw_status_error(enum pw_status status) { return status != PW_OK && status != PW_NOT_READY; }

enum pw_run_event {      /* what changes a run's state: pw_live_step() */
        PW_RUN_ARRIVE = 0,
        PW_RUN_RESERVE, /* all of its hosts have rooms for it: it is admitted */
        PW_RUN_DONE,    /* all of its hosts are done with it */
        PW_RUN_FAIL,    /* its results are decided, and no host has it */
        PW_RUN_EVENTS
};
extern const uint8_t pw_run_rules[PW_RUN_STATES][PW_RUN_EVENTS]; /* run.c: next states; 0: that cannot be */

/* input.c */
/* Is it there? If not the run misses it, and is told when it comes. */
void pw_input_check(struct pw_live *live, uint32_t index);
void pw_input_fails(struct pw_live *live, uint32_t index, enum pw_status status, const char *text);
/* The run is admitted, or ends: its inputs wait for it no longer. */
void pw_inputs_settle(struct pw_live *live);
/* What a waiting run misses is there, or will be: its maker was admitted or has failed. */
void pw_input_arrived(struct pw_live_input *input);
/* A host input that was pending is there, or in error. */
void pw_input_ready(struct pw_live *live, uint32_t index, enum pw_status status, const char *text);
/* Its maker orders nothing more of it, as far as is known, and it is an error. */
bool pw_input_never_comes(const struct pw_live *live, uint32_t index);

/* run.c */
struct pw_live *pw_live_find(struct pw_scheduler *scheduler, uint64_t number);
void pw_live_recycle(struct pw_live *live);
/* A message to each host that has something of it. */
void pw_live_tell(const struct pw_live *live, enum pw_core_kind kind, uint32_t about);
void pw_live_tell_all(const struct pw_live *live, struct pw_core_message *message, const struct pw_core_body *body);
void pw_live_free(struct pw_live *live);
/* It was submitted: decided now, or it waits, for inputs or for its host. */
void pw_live_submit(struct pw_live *live);
/* Decide all results that are not, and let the run end as soon as it can. */
void pw_live_fail(struct pw_live *live, enum pw_status status, const char *text);
/* All its results are decided, and nothing was asked of its hosts, or it waits there in vain: it ends. */
void pw_live_over(struct pw_live *live);
void pw_live_end(struct pw_live *live, enum pw_run_event how); /* no host has more of it than its results */

/* ask.c */
/* EXPECT to all of its hosts. */
void pw_live_expect(const struct pw_live *live);
/* RESERVE to one of them. Errors: PW_NO_MEMORY. */
enum pw_status pw_live_ask(const struct pw_live *live, uint32_t host, uint32_t how);
/* Its inputs are there, or in error, or those of runs that were admitted: its hosts are asked for rooms. */
void pw_live_arrive(struct pw_live *live);
/* A host refused it for good: the others are told GIVE_BACK. It fails in its turn, as those do that fail by their inputs. */
void pw_live_doom(struct pw_live *live, enum pw_status status, const char *text);
/* In their turn: those whose results are all computed from inputs in error, and those that were refused. */
void pw_doomed_fail(struct pw_scheduler *scheduler);

/* start.c */
void pw_live_admit(struct pw_live *live); /* it has all its rooms */
void pw_live_start(struct pw_live *live); /* all of its hosts have answered PREPARE */
/* Prepared runs that read its results wait for it no longer. */
void pw_live_starters_go_on(struct pw_live *live);

/* given_up.c */
/* A host: `text` is why. Runs that have anything there fail, now or when they are submitted. */
void pw_coordinator_give_up(struct pw_scheduler *scheduler, uint32_t host, const char *text);
void pw_live_fail_by_program(struct pw_live *live);

/* result.c */
/* What of it lies on that host is lost; it goes on where others hold the same. */
void pw_result_lose_host(struct pw_result_live *result, uint32_t host, const char *text);
struct pw_result_live *pw_result_new(struct pw_live *live, uint32_t index);
void pw_result_recycle(struct pw_result_live *result);
void pw_result_free(struct pw_result_live *result); /* with the scheduler */
void pw_result_decide(struct pw_result_live *result, enum pw_status status, const char *text);
/* That host of its run's has it from here on. */
void pw_result_kept(struct pw_result_live *result, uint32_t host);
/* Once nobody needs it. */
void pw_result_maybe_drop(struct pw_result_live *result);
/* Its rooms are of use to nobody, and stay only for those who may still write or read them. */
void pw_result_let_go(struct pw_result_live *result);

/* report.c */
/* The sentence of a result's error, from what was reported. Returns the length of its own part. */
uint32_t pw_result_sentence(const struct pw_result_live *result, struct pw_error *ret_error);
/* Is each of its results that is to come computed from an input in error? Then they are decided, and nothing of it need be done:
 * not where it arrives, but in its turn, as who waits for these results arrives by that, and so on along a chain of runs. */
bool pw_live_fails_by_inputs(const struct pw_live *live);
void pw_live_fail_by_inputs(struct pw_live *live);

/* cancel.c */
void pw_live_cancel(struct pw_live *live, const char *by);
/* Nobody holds what is still to come of it. True: nor what has come. */
bool pw_live_unheld(struct pw_live *live);
void pw_cancelled_sentence(const struct pw_live *live, char *text, size_t text_bytes);
/* Order nothing more of it, where that is possible, and skip what is ordered and has not begun. Its results are decided. */
void pw_live_stop(struct pw_live *live);
/* One who read a result of it ended. */
void pw_live_reader_left(struct pw_live *live);
void pw_unread_drop(struct pw_scheduler *scheduler); /* once per turn */
/* The object of one of its results is gone. */
void pw_live_result_gone(struct pw_live *live);

/* deadline.c */
/* The deadline of a run that was submitted, or has changed, is to be kept: until it is forgotten, which the run's end does. */
void pw_deadline_note(struct pw_live *live);
void pw_deadline_forget(struct pw_live *live);
uint64_t pw_deadlines_next_us(const struct pw_scheduler *scheduler); /* UINT64_MAX: none */
/* It was admitted: from here on only a deadline that was asked for counts. */
void pw_deadline_admitted(struct pw_live *live);
/* Nobody wants the run any more, and its members may be in it still: `cancelled_us` from now they are ended, whoever is
 * attached. */
void pw_deadline_cancelled(struct pw_live *live);
/* Of those that are due: a part, if they are many. */
void pw_deadlines_expire(struct pw_scheduler *scheduler, uint64_t now_us);

#endif
