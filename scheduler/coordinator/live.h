/* A run and its results as the scheduler keeps them, behind the public structs of run.h.
 *
 * A run has one part per island of its program. It ends when every part has left every device: what was ordered there is done
 * and nothing more will be. Runs are kept for the next of the same program, results for the next of the same count of rooms.
 */
#ifndef PW_SCHEDULER_COORDINATOR_LIVE_H
#define PW_SCHEDULER_COORDINATOR_LIVE_H

#include "scheduler/island/part.h"

struct pw_live_input {
        struct pw_list link;     /* among the waiters of its result */
        struct pw_live *live;
        bool missing, in_place, takes; /* takes: in place, and its room becomes a result's */
        enum pw_status status;   /* other than PW_OK: loaded as an error */
        char *text;              /* of that error; owned, may be NULL */
};

struct pw_cause { struct pw_cause *next; uint32_t node; struct pw_device_id device; enum pw_status status; char text[224]; };

struct pw_live {
        struct pw_run run;
        struct pw_program *program;
        struct pw_list link;     /* among the waiting, the queued, the ended or the idle */
        struct pw_list patient;  /* among those whose deadline comes in the order in which they came; else it is in `due` */
        struct pw_heap_item due;
        struct pw_list queued;   /* in `queue`, */
        struct pw_queue *queue;  /* its program's, or `own`, as what it needs depends on what its inputs bring */
        struct pw_queue own;
        uint64_t arrival;        /* its number among those that were queued */
        uint32_t missing;        /* inputs that are not there */
        uint32_t parts_left;
        uint64_t admission;      /* its number among the admitted, from 1 */
        uint32_t slot;           /* its place in boards, see message.h; nobody else's while it is kept */
        bool prepared;           /* once at least: boards keep something there */
        uint32_t unprepared;     /* PREPAREs that were not answered: nothing is ordered before they are */
        struct pw_list starters; /* prepared runs that read results of it: they start when it is prepared too, */
        struct pw_list start;    /* among those of a run that is not yet */
        bool refused;            /* one of them failed: nothing is ever ordered */
        struct pw_hold *holds;   /* per chain */
        uint32_t ahead_count, behind_count; /* holds that have one */
        struct pw_list freed_link; /* among those that may end, as the run ahead has */
        bool submitted;          /* else it was read, and its batch is still to come */
        bool placed;             /* its blocks are there */
        bool stopped;            /* cancelled: nothing more of it is ordered */
        bool stopping;           /* it will be once nobody reads its results */
        struct pw_list unread;   /* among those of which that is so since the last turn */
        bool letting_go;         /* it has failed as a whole: its block is of use to nobody, but members may still write */
        bool unheld;             /* nobody holds what is still to come of it, but somebody what has come */
        char cancelled_by[64];   /* a client; empty: nobody holds its results */
        bool aside;              /* needs room that admitted runs will not give back */
        uint32_t short_device;   /* where room was missing when it was looked at last */
        uint64_t short_bytes;
        bool lacks_of_others;    /* its tenant's own runs will not give back enough on one of its devices */
        bool over_quota;         /* then: of what its tenant may have of all devices */
        bool read_early;         /* parts rested, or rest, until its results are ordered */
        uint32_t step, step_left; /* sequential dispatch: the node whose turn it is, members that are not done */
        struct pw_part *parts;   /* per column */
        struct pw_live_input *inputs;
        uint64_t *block_offsets; /* per place of all blocks */
        struct pw_cause *causes;
};

struct pw_failure { enum pw_status status; uint32_t node; struct pw_device_id device; }; /* where it began; PW_OK: none */

struct pw_result_live {
        struct pw_result result;
        struct pw_scheduler *scheduler;
        struct pw_device_quota *quota; /* of whose run it is; counted there */
        struct pw_list waiters;  /* struct pw_live_input: runs that need its maker to be admitted */
        struct pw_list readers;  /* parts that rest until it is ordered, or its maker has passed */
        uint64_t slice_serial;
        uint32_t islands, ordered; /* masks by number: where its writer has gangs; where they are ordered */
        uint32_t left;           /* members of the writer that are not done */
        bool letting_go;         /* its object is gone or it is an error: its rooms go as soon as nobody may touch them */
        bool given, gone;        /* given: they went */
        /* A result in the room of a donated one, and that one, until nobody writes or reads it any more: a run that is cancelled
         * may end before the run that makes what it was given. */
        struct pw_result_live *source, *heir;
        uint32_t pool;           /* 2^pool rooms */
        uint32_t sentence;       /* length of the error's own sentence, without the way it came here */
        struct pw_failure failed; /* reported; decided when the writer is done */
        struct pw_room room_store[];
};

/* A run as boards know it. */
static inline struct pw_run_ref pw_run_ref(const struct pw_live *live)
{
        return (struct pw_run_ref){ live->run.number, live->slot, live->run.program };
}
static inline struct pw_live *pw_live_of(const struct pw_run *run) { return run->own; }
static inline struct pw_result_live *pw_result_live(struct pw_result *result)
{
        return pw_container_of(result, struct pw_result_live, result);
}
static inline uint64_t pw_live_block(const struct pw_live *live, uint32_t block, uint32_t place)
{
        return live->block_offsets[live->program->blocks[block].first_place + place];
}
static inline struct pw_device_quota *pw_live_quota(const struct pw_live *live) { return live->program->quota; }
static inline bool pw_status_error(enum pw_status status) { return status != PW_OK && status != PW_NOT_READY; }

/* input.c */
/* Is it there? If not the run misses it, and is told when it comes. */
void pw_input_look(struct pw_live *live, uint32_t index);
void pw_input_fails(struct pw_live *live, uint32_t index, enum pw_status status, const char *text);
/* What a waiting run misses is there, or will be: its maker was admitted or has failed. */
void pw_input_arrived(struct pw_live_input *input);
/* Note an input in error that its maker will not write into its rooms either, as nothing more of that is ordered. True: that is
 * news. */
bool pw_input_never_comes(struct pw_live *live, uint32_t index);

/* run.c */
struct pw_live *pw_live_find(struct pw_scheduler *scheduler, uint64_t number);
void pw_live_recycle(struct pw_live *live);
void pw_live_free(struct pw_live *live);
/* Decide all results that are not, and let the run end as soon as it can. */
void pw_live_fail(struct pw_live *live, enum pw_status status, const char *text);
void pw_live_maybe_end(struct pw_live *live);
/* Its record there is written, or not. Once all are its parts may start, as soon as those of the runs that it reads are, too. */
void pw_part_prepared(struct pw_part *part, enum pw_status status, const char *text);
/* Nothing more of it is ordered, whoever reads its results. */
void pw_live_drop_parts(struct pw_live *live);
/* Fill in, for people, what `live` waits for now (rows.c). */
void pw_live_waiting_for(struct pw_live *live, struct pw_run_row *row);

/* result.c */
struct pw_result_live *pw_result_new(struct pw_live *live, uint32_t index);
void pw_result_recycle(struct pw_result_live *result);
void pw_result_decide(struct pw_result_live *result, enum pw_status status, const char *text);
/* One member of its writer is done. */
void pw_result_member_done(struct pw_result_live *result);
/* Give its rooms back if nobody may touch them any more, and drop it if nobody needs it. */
void pw_result_maybe_drop(struct pw_result_live *result);
/* Its rooms are of use to nobody, and stay only for those who may still write or read them. */
void pw_result_let_go(struct pw_result_live *result);

/* report.c */
/* The first failure that is known counts; the loss of a device only as long as nothing else is known, so that what depends on a
 * function that crashed says so, whatever else was lost with its device. */
void pw_result_fails(struct pw_result_live *result, const struct pw_failure *failure);
/* The sentence of a result's error, from what was reported. Returns the length of its own part. */
uint32_t pw_result_sentence(const struct pw_result_live *result, struct pw_error *ret_error);
/* Is each of its results that is to come computed from an input in error? Then they are decided, and nothing of it need be done:
 * not where it arrives, but in its turn, as who waits for these results arrives by that, and so on along a chain of runs. */
bool pw_live_fails_by_inputs(const struct pw_live *live);
void pw_live_fail_by_inputs(struct pw_live *live);
void pw_lost_sentence(const struct pw_scheduler *scheduler, const struct pw_device *device, struct pw_error *ret_error);
void pw_live_cause(struct pw_live *live, uint32_t node, struct pw_device_id device, enum pw_status status, const char *text);

/* cancel.c */
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
