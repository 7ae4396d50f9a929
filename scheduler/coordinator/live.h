/* A run and its results as their coordinator keeps them, behind the public structs of run.h.
 *
 * What its host has of it is in island/host_run.h; the two speak in messages (message.h). It ends when that is over: what was
 * ordered is done and nothing more will be. Runs are kept for the next of the same program, results for the next of the same count
 * of rooms.
 */
#ifndef PW_SCHEDULER_COORDINATOR_LIVE_H
#define PW_SCHEDULER_COORDINATOR_LIVE_H

#include "scheduler/coordinator/answer.h"
#include "scheduler/program.h"

struct pw_live_input {
        struct pw_list link;     /* among the waiters of its result */
        struct pw_live *live;
        bool missing;
        enum pw_status status;   /* other than PW_OK: loaded as an error */
        char *text;              /* of that error; owned, may be NULL */
};

/* PW_NODE_NONE: the loss of the device; `text` is all that there is to say. */
struct pw_cause { struct pw_cause *next; uint32_t node; struct pw_device_id device; enum pw_status status; char text[224]; };

struct pw_live {
        struct pw_run run;
        struct pw_program *program;
        struct pw_list link;     /* among the waiting, the doomed, the ended or the idle; asked of its host: alone */
        struct pw_list patient;  /* among those whose deadline comes in the order in which they came; else it is in `due` */
        struct pw_heap_item due;
        uint32_t missing;        /* inputs that are not there */
        uint32_t unprepared;     /* islands, by bit, whose PREPARE was not answered: nothing is ordered before all are */
        struct pw_list starters; /* prepared runs that read results of it: they start when it is prepared too, */
        struct pw_list start;    /* among those of a run that is not yet */
        bool refused;            /* a PREPARE failed, or PLACED was not said: nothing is ever ordered */
        bool asked;              /* its host has it, or will */
        bool submitted;          /* else it was read, and its batch is still to come */
        bool stopped;            /* cancelled: nothing more of it is ordered */
        bool stopping;           /* it will be once nobody reads its results */
        bool unheld;             /* nobody holds what is still to come of it, but somebody what has come */
        struct pw_list unread;   /* among those of which `stopping` came true since the last turn */
        struct pw_run_id id;
        uint32_t slot;           /* of this record, in scheduler->run_slots, for ever */
        uint32_t expired;        /* how often its host was told that it is */
        struct pw_live_input *inputs;
        struct pw_cause *causes;
        struct pw_error *refusal;/* why its host has nothing of it; owned, NULL: it has, or was not asked */
        char cancelled_by[64];   /* a client; empty: nobody holds its results */
};

struct pw_failure { enum pw_status status; uint32_t node; struct pw_device_id device; }; /* where it began; PW_OK: none */

struct pw_result_live {
        struct pw_result result;
        struct pw_scheduler *scheduler;
        struct pw_device_quota *quota; /* of whose run it is; counted there */
        struct pw_run_id maker;
        struct pw_list waiters;  /* struct pw_live_input: runs that need its maker to be admitted */
        bool kept;               /* its host has it, until it is told to release it */
        bool useless;            /* its object is gone or it is an error: nobody wants it but runs that read it */
        bool gone;
        uint32_t slot;           /* of this record, in scheduler->slots, for ever */
        uint32_t pool;           /* 2^pool rooms */
        uint32_t sentence;       /* length of the error's own sentence, without the way it came here */
        struct pw_failure failed; /* what its host said; decided when the writer is done */
        struct pw_room room_store[];
};

static inline struct pw_live *pw_live_of(const struct pw_run *run) { return run->own; }
static inline struct pw_result_live *pw_result_live(struct pw_result *result)
{
        return pw_container_of(result, struct pw_result_live, result);
}
static inline struct pw_device_quota *pw_live_quota(const struct pw_live *live) { return live->program->quota; }
static inline bool pw_status_error(enum pw_status status) { return status != PW_OK && status != PW_NOT_READY; }

/* What changes a run's state: pw_live_step(). */
enum pw_run_event {
        PW_RUN_ARRIVE = 0,
        PW_RUN_RESERVE, /* its host has rooms for it */
        PW_RUN_DONE,    /* its host is done with it */
        PW_RUN_FAIL,    /* its results are decided, and no host has it */
        PW_RUN_EVENTS
};
extern const uint8_t pw_run_rules[PW_RUN_STATES][PW_RUN_EVENTS]; /* run.c: next states; 0: that cannot be */

/* input.c */
/* Is it there? If not the run misses it, and is told when it comes. */
void pw_input_check(struct pw_live *live, uint32_t index);
void pw_input_fails(struct pw_live *live, uint32_t index, enum pw_status status, const char *text);
/* What a waiting run misses is there, or will be: its maker was admitted or has failed. */
void pw_input_arrived(struct pw_live_input *input);
/* A host input that was pending is there, or in error. */
void pw_input_ready(struct pw_live *live, uint32_t index, enum pw_status status, const char *text);
/* Its maker orders nothing more of it, as far as is known, and it is an error. */
bool pw_input_never_comes(const struct pw_live *live, uint32_t index);

/* run.c */
struct pw_live *pw_live_find(struct pw_scheduler *scheduler, uint64_t number);
void pw_live_recycle(struct pw_live *live);
/* A message to its host. */
void pw_live_tell(const struct pw_live *live, enum pw_core_kind kind, uint32_t node);
void pw_live_free(struct pw_live *live);
/* It was submitted: decided now, or it waits, for inputs or for its host. */
void pw_live_submit(struct pw_live *live);
/* Decide all results that are not, and let the run end as soon as it can. */
void pw_live_fail(struct pw_live *live, enum pw_status status, const char *text);
/* All its results are decided, and nothing was asked of its host, or it waits there in vain: it ends. */
void pw_live_over(struct pw_live *live);

/* ask.c */
/* EXPECT or RESERVE, with its inputs as they are known. */
/* Errors: PW_NO_MEMORY. */
enum pw_status pw_live_ask(const struct pw_live *live, enum pw_core_kind kind);
/* Its inputs are there, or in error, or those of runs that were admitted: its host is asked for rooms. */
void pw_live_arrive(struct pw_live *live);
/* In their turn: those whose results are all computed from inputs in error, and those that were refused. */
void pw_doomed_fail(struct pw_scheduler *scheduler);

/* result.c */
struct pw_result_live *pw_result_new(struct pw_live *live, uint32_t index);
void pw_result_recycle(struct pw_result_live *result);
void pw_result_free(struct pw_result_live *result); /* with the scheduler */
void pw_result_decide(struct pw_result_live *result, enum pw_status status, const char *text);
/* Its host has it from here on. */
void pw_result_kept(struct pw_result_live *result);
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
