/* A run as one of its hosts has it: the rooms that it waits for or has, its fragments in the islands here, where executors find its
 * inputs.
 *
 * Its coordinator, on this host or another, has a record of its own (coordinator/live.h): the two speak in messages (message.h).
 * Made by RESERVE. It goes when the host says REFUSED or DONE, or is told GIVE_BACK. DONE is said once the run has left every
 * device, all that boards were asked to write is answered, and the runs whose blocks it took over have ended. Records are kept for
 * the next run of the same program.
 *
 * A run's memory, besides its results, is *blocks*: one for each slice of its program, and for each stage. A run may take over a
 * block from a run of the same program that is still under way, the run *ahead*. It comes *behind* that one, and writes a room in
 * the block only after the last use by the run ahead (chain.c).
 */
#ifndef PW_SCHEDULER_ISLAND_HOST_RUN_H
#define PW_SCHEDULER_ISLAND_HOST_RUN_H

#include "scheduler/island/host_result.h"
#include "scheduler/island/fragment.h"
#include "scheduler/island/room.h"

struct pw_host_input {
        struct pw_host_result *result; /* NULL: a value in host memory, or an error, which `status` says */
        enum pw_status status;    /* other than PW_OK: loaded as an error */
        bool given;               /* away, to this run alone: it may be updated in place */
        bool in_place, takes;     /* in_place: read where it lies; takes: besides, its room becomes a result's */
        /* In host memory: one whole value. */
        bool is_inline;
        uint8_t value[24];
        uint32_t segment;
        uint64_t offset, bytes;
};

enum pw_host_run_state {
        PW_HOST_RUN_IDLE = 1, /* the first state, and the last */
        PW_HOST_RUN_QUEUED,   /* it waits for rooms */
        PW_HOST_RUN_RESERVED, /* it has them */
        PW_HOST_RUN_STATES
};
/* What changes it: pw_host_run_step(). */
enum pw_host_run_event {
        PW_HOST_RUN_QUEUE = 0,
        PW_HOST_RUN_PLACE,
        PW_HOST_RUN_REFUSE,
        PW_HOST_RUN_CANCEL, /* while it waits for rooms */
        PW_HOST_RUN_GIVE_BACK,
        PW_HOST_RUN_DONE,
        PW_HOST_RUN_EVENTS
};

/* What most runs need comes first. */
struct pw_host_run {
        struct pw_run_id id;
        struct pw_requester *requester;  /* its coordinator */
        uint64_t serial;         /* of the coordinator's RESERVE */
        uint32_t at;             /* its slot at the coordinator: pw_core_message.slot */
        uint32_t slot;           /* its slot in boards: pw_run_ref.slot; it stays this record's from run to run */
        uint64_t number;         /* by which boards know it */
        struct pw_sched_program *program;
        enum pw_host_run_state state; /* pw_host_run_step() */
        bool sequential;
        bool at_once;            /* it was to have rooms at once, or be refused */
        bool shared;             /* it has rooms on other hosts, or will */
        bool recorded;           /* PREPARE came: GIVE_BACK no longer can */
        bool unwritten;          /* a record is not: nothing of it is ordered */
        bool prepared;           /* a run of this record was prepared, once at least: boards keep something at its slot */
        bool placed;             /* its blocks are there */
        bool started;            /* gangs of it may be ordered */
        bool cancelled;          /* what is ordered of it is skipped where it has not begun */
        bool stopped;            /* nothing more of it is ordered */
        bool letting_go;         /* it has failed as a whole: its block is of use to nobody, but members may still write */
        bool deferred;           /* needs room that admitted runs will not give back */
        bool deferred_told;      /* its coordinator was told so, once */
        bool read_early;         /* fragments of other runs rested, or rest, until its results are ordered */
        bool lacks_of_others;    /* on one of its devices its tenant's own runs will not give back enough */
        bool over_quota;         /* it waits as its tenant may not have more of all devices together */
        uint32_t fragments_left;
        struct pw_fragment *fragments;   /* one per column: island of its program on this host, ascending (plan.h) */
        struct pw_host_result **results;
        struct pw_host_input *inputs;
        uint64_t *block_offsets; /* of each block on each of its places on this host: pw_host_run_block() */
        struct pw_hold *holds;   /* per chain: runs that took over one another's blocks, struct pw_sched_chain */
        uint32_t ahead_count, behind_count; /* of its holds, those with a run ahead, and behind */
        struct pw_list link;     /* among the queued, the ended or the idle */
        struct pw_list queued;   /* in `queue` */
        struct pw_queue *queue;  /* its program's; or `own`, where the room that it needs depends on what its inputs bring */
        uint64_t arrival;        /* its number among those that were queued */
        uint64_t admission;      /* its number among the admitted, from 1 */
        uint64_t short_bytes;    /* how much room was missing when it was looked at last, */
        uint32_t short_device;   /* and where */
        uint32_t expired;        /* `node` of the last EXPIRED */
        struct pw_list freed_link; /* among those that may end now that the run ahead has ended */
        uint32_t step, step_left; /* sequential dispatch: the node whose turn it is, members that are not done */
        struct pw_list unadmitted; /* if shared: among those that have rooms here, and wait for other hosts */
        struct pw_queue own;
};

/* A run as boards know it. */
static inline struct pw_run_ref pw_run_ref(const struct pw_host_run *run)
{
        return (struct pw_run_ref){ run->number, run->slot, run->program->row.program };
}
/* On the `here`th place of this host. */
static inline uint64_t pw_host_run_block(const struct pw_host_run *run, uint32_t block, uint32_t here)
{
        return run->block_offsets[run->program->blocks[block].first_here + here];
}
static inline uint64_t pw_host_run_weight(const struct pw_host_run *run) { return pw_row_weight(&run->program->row); }

/* --- messages to the host; PW_EXISTS: it changed nothing ---------------------------------------------------------------------- */

/* EXPECT: REFUSED is told at once if its tenant may never have as much as it needs here. Errors: PW_PROTOCOL, PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_host_expect(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                            const struct pw_core_body *body, struct pw_error *ret_err);
/* RESERVE: it takes its place in the queue, or REFUSED is told. Errors: PW_PROTOCOL, PW_NOT_FOUND, which are told too. */
PW_MUST_CHECK enum pw_status pw_host_reserve(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                             const struct pw_core_body *body, struct pw_error *ret_err);
/* A message for a run that is not here, whose coordinator waits for an answer: REFUSED is told. */
void pw_host_refuse(struct pw_scheduler *scheduler, const struct pw_core_message *message);

typedef enum pw_status pw_host_hears(struct pw_host_run *run, const struct pw_core_message *message,
                                     const struct pw_core_body *body, struct pw_error *ret_err);
/* GIVE_BACK: it has nothing here any more, nor have those who took over its blocks, which are refused. Errors: PW_PROTOCOL: PREPARE
 * came before. */
PW_MUST_CHECK pw_host_hears pw_host_give_back;
/* OVERDUE: it waits for rooms no longer; if it has them, and was not prepared, its coordinator is told so again. */
pw_host_hears pw_host_overdue;
/* START: all its records are written, on every host: gangs of it may be ordered. Errors: PW_PROTOCOL, PW_CANCELLED. */
PW_MUST_CHECK pw_host_hears pw_host_start;
/* NOTICE: gangs up to a node are ordered in another island. One for an earlier node changes nothing. Errors: PW_PROTOCOL. */
PW_MUST_CHECK pw_host_hears pw_host_notice;
/* INPUT: the run that makes an input orders nothing more. If the input is not ordered by now, it is loaded as an error. Behind
 * START it changes nothing. Errors: PW_PROTOCOL. */
PW_MUST_CHECK pw_host_hears pw_host_input;
/* CANCEL: what is ordered and has not begun is skipped. If no run reads its results nothing more is ordered; else the rest is
 * ordered and skipped too, and runs that read its results find errors there. A run that waits for rooms is over. */
pw_host_hears pw_host_cancel;
/* STOP: nothing more is ordered, whoever reads its results; what is ordered goes on. */
pw_host_hears pw_host_stop;
/* EXPIRED: the processes of members that are in a function of it are ended. */
pw_host_hears pw_host_expire;

/* --- inside --------------------------------------------------------------------------------------------------------------- */

extern const uint8_t pw_host_run_rules[PW_HOST_RUN_STATES][PW_HOST_RUN_EVENTS]; /* next states; 0: that cannot be */

/* Its fragment in that island. NULL: it has nothing there. */
struct pw_fragment *pw_host_run_fragment(const struct pw_host_run *run, uint32_t island);
/* It has ended, and after pw_actions_clear() no action names it: its record may be used for the next. */
void pw_host_run_recycle(struct pw_host_run *run);
void pw_host_run_free(struct pw_host_run *run);
uint32_t pw_host_run_nodes(const struct pw_host_run *run);   /* gangs that it has here; */
uint32_t pw_host_run_ordered(const struct pw_host_run *run); /* so many are ordered, or passed over */
/* Something ended that may have been the last of it. */
void pw_host_run_maybe_end(struct pw_host_run *run);

/* input/host_input.c: its inputs, as RESERVE has them. Errors: PW_PROTOCOL; PW_UNSUPPORTED: values that are not carried between
 * hosts. They are left, whatever came of it, when it is over or refused. */
enum pw_status pw_host_inputs_take(struct pw_host_run *run, const struct pw_core_body *body, struct pw_error *ret_why);
void pw_host_inputs_leave(struct pw_host_run *run);

/* reserve.c: it is over, and reads and writes nothing any more; its results stay without it. */
void pw_host_run_let_go(struct pw_host_run *run);
/* It was given rooms just now, and there is no memory to say so: it has none, and is refused. */
void pw_host_run_withdraw(struct pw_host_run *run);

#endif
