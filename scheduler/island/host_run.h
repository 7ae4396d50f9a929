/* A run as its host has it: the rooms that it waits for or has, its fragments in the islands here, what its inputs are to
 * executors.
 *
 * Its coordinator is somewhere else: the two speak in messages (message.h). Made with RESERVE; gone with REFUSED, or with DONE,
 * which is told once it has left every device, all that boards were asked to write is answered, and the runs whose blocks it took
 * over have ended. Records are kept for the next run of the same program.
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
        bool in_place, takes;     /* takes: in place, and its room becomes a result's */
        /* In host memory: one whole value. */
        bool is_inline;
        uint8_t value[24];
        uint32_t segment;
        uint64_t offset, bytes;
};

enum pw_host_run_state {
        PW_HOST_RUN_IDLE = 1, /* it begins here, and ends here */
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
        struct pw_requester *requester;  /* its coordinator, */
        uint64_t serial;         /* the number of its RESERVE there, */
        uint32_t at;             /* and where that finds it */
        uint32_t slot;           /* its place in boards, see message.h; nobody else's while it is kept */
        uint64_t number;         /* to boards */
        struct pw_program *program;
        enum pw_host_run_state state; /* pw_host_run_step() */
        bool sequential;
        bool at_once;            /* it was not to wait */
        bool shared;             /* it has rooms on other hosts, or will */
        bool recorded;           /* PREPARE came: its rooms are its own until it ends */
        bool prepared;           /* once at least: boards keep something there */
        bool placed;             /* its blocks are there */
        bool started;            /* gangs of it may be ordered */
        bool cancelled;          /* what is ordered of it is skipped where it has not begun */
        bool stopped;            /* nothing more of it is ordered */
        bool letting_go;         /* it has failed as a whole: its block is of use to nobody, but members may still write */
        bool deferred;           /* needs room that admitted runs will not give back */
        bool deferred_told;      /* its coordinator was told so, once */
        bool read_early;         /* fragments rested, or rest, until its results are ordered */
        bool lacks_of_others;    /* its tenant's own runs will not give back enough on one of its devices */
        bool over_quota;         /* then: of what its tenant may have of all devices */
        uint32_t fragments_left;
        struct pw_fragment *fragments;   /* per column */
        struct pw_host_result **results;
        struct pw_host_input *inputs;
        uint64_t *block_offsets; /* per place on this host, of all blocks */
        struct pw_hold *holds;   /* per chain */
        uint32_t ahead_count, behind_count; /* holds that have one */
        struct pw_list link;     /* among the queued, the ended or the idle */
        struct pw_list queued;   /* in `queue`, */
        struct pw_queue *queue;  /* its program's, or `own`, as what it needs depends on what its inputs bring */
        uint64_t arrival;        /* its number among those that were queued */
        uint64_t admission;      /* its number among the admitted, from 1 */
        uint64_t short_bytes;
        uint32_t short_device;   /* where room was missing when it was looked at last */
        uint32_t expired;        /* how often it was told that it is */
        struct pw_list freed_link; /* among those that may end, as the run ahead has */
        uint32_t step, step_left; /* sequential dispatch: the node whose turn it is, members that are not done */
        struct pw_list unadmitted; /* shared: among those that have rooms here, and wait for other hosts */
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

/* --- messages to the host; what changes nothing is PW_EXISTS ----------------------------------------------------------------- */

/* EXPECT: REFUSED is told at once where its tenant may never have as much as it needs. Errors: PW_PROTOCOL. */
PW_MUST_CHECK enum pw_status pw_host_expect(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                            const struct pw_core_body *body, struct pw_error *ret_err);
/* RESERVE: it takes its place in the queue, or REFUSED is told. Errors: PW_PROTOCOL, PW_NOT_FOUND, which are told too. */
PW_MUST_CHECK enum pw_status pw_host_reserve(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                             const struct pw_core_body *body, struct pw_error *ret_err);
/* It is not here: its coordinator waits for an answer. */
void pw_host_refuse(struct pw_scheduler *scheduler, const struct pw_core_message *message);

typedef enum pw_status pw_host_hears(struct pw_host_run *run, const struct pw_core_message *message,
                                     const struct pw_core_body *body, struct pw_error *ret_err);
/* GIVE_BACK: it has nothing here any more, nor have those who took over its blocks, which are refused. Errors: PW_PROTOCOL: it is
 * prepared. */
PW_MUST_CHECK pw_host_hears pw_host_give_back;
/* OVERDUE: it waits for rooms no longer. */
pw_host_hears pw_host_overdue;
/* START: all its records are written, on every host: gangs of it may be ordered. Errors: PW_PROTOCOL, PW_CANCELLED. */
PW_MUST_CHECK pw_host_hears pw_host_start;
/* NOTICE: gangs up to a node are ordered in another island. They only count up: an old one changes nothing. Errors: PW_PROTOCOL. */
PW_MUST_CHECK pw_host_hears pw_host_notice;
/* INPUT: its maker orders nothing more. What is not ordered by now never comes, and is loaded as an error. Errors: PW_PROTOCOL. */
PW_MUST_CHECK pw_host_hears pw_host_input;
/* CANCEL: what is ordered is skipped where it has not begun. Nothing more is ordered if nobody reads its results; else it goes on,
 * and who reads them finds errors there. A run that waits for rooms is over. */
pw_host_hears pw_host_cancel;
/* STOP: nothing more is ordered, whoever reads its results; what is ordered goes on. */
pw_host_hears pw_host_stop;
/* EXPIRED: members that are in a function of it are ended with their processes. */
pw_host_hears pw_host_expire;

/* --- inside --------------------------------------------------------------------------------------------------------------- */

extern const uint8_t pw_host_run_rules[PW_HOST_RUN_STATES][PW_HOST_RUN_EVENTS]; /* next states; 0: that cannot be */

/* NULL: it has nothing there. */
struct pw_fragment *pw_host_run_fragment(const struct pw_host_run *run, uint32_t island);
/* After pw_actions_clear() nobody names one that ended: it may be used for the next. */
void pw_host_run_recycle(struct pw_host_run *run);
void pw_host_run_free(struct pw_host_run *run);
uint32_t pw_host_run_nodes(const struct pw_host_run *run);   /* gangs that it has here; */
uint32_t pw_host_run_ordered(const struct pw_host_run *run); /* so many are ordered, or passed over */
/* Something ended that may have been the last of it. */
void pw_host_run_maybe_end(struct pw_host_run *run);

/* reserve.c: it is over: what it made is there without it. */
void pw_host_run_let_go(struct pw_host_run *run);

#endif
