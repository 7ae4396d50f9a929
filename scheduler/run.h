/* Runs and results: what the scheduler, the daemon and the store's payloads share; and the actions of the scheduler.
 */
#ifndef PW_SCHEDULER_RUN_H
#define PW_SCHEDULER_RUN_H

#include "base/list.h"
#include "plane/board/board.h"
#include "program/graph/graph.h"
#include "scheduler/message.h"

struct pw_run;
struct pw_program_row;

/* What a result of a program is, whichever run makes it. Stays while one of them is there, as long as the program or longer. */
struct pw_result_type {
        struct pw_image_value value;     /* dtype, dims, sharding, shard_bytes */
        uint32_t mesh[PW_MESH_AXES_MAX]; /* of its slice, */
        uint64_t slice_serial;           /* which is that one, once the program is installed */
        struct pw_slice_memory memory;   /* likewise */
        uint64_t bytes;                  /* of the whole value */
        uint64_t each_bytes;             /* of every shard; 0: they differ, or are empty */
        uint32_t users;                  /* results, at their coordinator and their host, and the program */
        bool outlived;                   /* by them: the program is gone, and it is charged with the records of its runs */
        uint32_t slice_hosts;            /* hosts that have devices of the slice */
        struct pw_program_hosts *hosts;  /* of the program: they keep what they have of a result until told */
};

/* A result of a run: the payload of its object in the store. Lives until the object is gone and the run has ended. */
struct pw_result {
        struct pw_run *run;     /* that makes it; NULL once that has ended */
        uint32_t index;         /* in the run's results */
        uint32_t program;
        void *object;           /* the store's; NULL once it is gone */
        enum pw_status status;  /* PW_NOT_READY, PW_OK or its error */
        struct pw_error *error; /* of an error; owned */
        struct pw_result_type *type;
        /* From admission on, as its host said: where it lies. */
        uint32_t room_count;    /* devices of the slice, 0 before admission */
        struct pw_room *rooms;  /* per place; owned */
        uint32_t losses;        /* how often places of it were lost: others hold the same */
        _Atomic uint64_t *lost; /* these places (base/bits.h); owned */
        uint32_t users;         /* runs that read it and have not ended */
        bool donated;           /* its rooms went on to a result of another run */
        struct pw_list link;
};

enum pw_input_source { PW_INPUT_HOST = 1, PW_INPUT_RESULT = 2 };

struct pw_input_place {
        enum pw_input_source source;
        enum pw_status status;  /* other than PW_OK: it is in error already */
        bool pending;           /* host: the object is not ready yet; pw_scheduler_input_ready() follows */
        bool donated, alone;    /* given away; alone: and nobody else holds it: may be updated in place */
        void *object;           /* the store's; released by action RELEASE */
        struct pw_result *result; /* of PW_INPUT_RESULT */
        struct pw_input_value { /* of PW_INPUT_HOST that is ready, else anything: one whole value in host memory */
                bool is_inline;
                uint8_t value[24];
                uint32_t segment;
                uint64_t offset, bytes;
                enum pw_dtype dtype; /* opaque fits everything of the same bytes */
                struct pw_dims dims;
        } host;
};

enum pw_run_state {
        PW_RUN_WAITING = 1, /* it begins here: for its inputs, or it was not submitted yet */
        PW_RUN_QUEUED,      /* its host is asked for rooms, or it is to fail in its turn */
        PW_RUN_ADMITTED,    /* it has them, and goes on until its host is done with it */
        PW_RUN_ENDED,
        PW_RUN_STATES
};

struct pw_run {
        uint64_t number;        /* counts up; what people see */
        uint32_t program;
        const char *client;     /* for listings: the client of its program; may be NULL */
        struct pw_program_row *row;
        enum pw_run_state state; /* pw_live_step() */
        bool sequential, cancelled, deadline_kept; /* deadline_us was asked for: it counts to the last gang, else to admission */
        bool deadline_cut, deadline_over; /* it is what cancelling left; it has passed, and is when one looks again */
        uint64_t submitted_us, deadline_us; /* absolute; 0: the scheduler's default */
        uint32_t input_count, result_count;
        struct pw_input_place *inputs;
        struct pw_result **results; /* made by pw_scheduler_run_new(); the daemon puts their `object` in */
        void *own;              /* the scheduler's: live.h */
        struct pw_list link;    /* for whoever makes it, until it is submitted */
};

struct pw_program_row {
        uint32_t program, session;
        char *name, *tenant;
        char *client;                 /* who compiled it, "digits[4411]"; the daemon puts it in, the row owns it; may be NULL */
        void *modules;                /* of its image, one block: the daemon puts it in, the row owns it; may be NULL */
        struct pw_image *image;
        bool image_placed;            /* it lies in a board, and is not the row's */
        void *payer;                  /* the daemon's: who is charged for it, and with how much */
        uint64_t kept_bytes, placed_bytes;
        struct pw_slice_map *slices;  /* copies, image->slice_count */
        uint32_t input_count, result_count;
        uint64_t room_count;          /* that a run takes, on all devices of this host */
        uint64_t runs, runs_in_flight, runs_admitted; /* admitted: of those in flight */
        uint64_t measured_peak_bytes; /* largest that a device reported */
        bool freed;
        /* where executors read its image and slices: whoever put them there says so, before its first run */
        struct pw_image_place place;
        void *own;                    /* the scheduler's: program.h */
};

/* How many small runs take as long to be placed, told of and let go as one of it. */
static inline uint64_t pw_row_weight(const struct pw_program_row *row) { return 1 + (row->room_count + row->input_count) / 8; }
static inline uint64_t pw_run_weight(const struct pw_run *run) { return pw_row_weight(run->row); }

/* --- actions -------------------------------------------------------------------------------------------------------------- */

enum pw_action_kind {
        PW_ACT_BOARD = 1,   /* `message` to the boards of this host */
        PW_ACT_CORE,        /* `core`, from one core to another: on one host it goes back to pw_scheduler_deliver() */
        PW_ACT_RESULT,      /* decide `result`: status and text (the shard list follows from it) */
        PW_ACT_RESULT_LOST, /* it was ready and its device or host is gone: status and text */
        PW_ACT_SHARDS_LOST, /* more places of `result`, which is ready and goes on: others hold the same */
        PW_ACT_RELEASE,     /* the run's reference to `object` is to be released */
        PW_ACT_RUN_ENDED,   /* `run` is to be forgotten by the daemon: freed after this action; status: its outcome */
        PW_ACT_END_MEMBER,  /* end what `device` does if that is gang `seq`, or a later one of its run that it does not come back
                             * from launching, by its process if need be: status, and text why */
        PW_ACT_UNHELD, /* nobody held `object`, a result that is still to come, and now nobody holds what came before it either:
                        * unless somebody holds it by now, pw_scheduler_unheld() is to follow */
        PW_ACT_PROGRAM_ENDED, /* `program` is to be forgotten by the daemon: freed after this action. `message` tells the boards */
};

struct pw_core_frame { uint8_t *bytes; size_t length; };

/* What its kind does not have is not set. */
struct pw_action {
        enum pw_action_kind kind;
        enum pw_status status;
        struct pw_run *run;
        struct pw_program_row *program;
        char *text; /* owned by the queue, as is `frame` */
        union {
                struct pw_message message;
                struct {
                        struct pw_core_message core;
                        struct pw_core_frame frame; /* the same with its body, encoded; bytes NULL: it has none */
                };
                struct {
                        uint32_t device;
                        uint64_t seq, members;
                        struct pw_result *result;
                        void *object;
                };
        };
};

struct pw_actions {
        struct pw_action *items;
        uint32_t count, capacity, done; /* done: of them are worked off, the daemon's */
        bool owning;            /* one of them has a text or a frame */
        struct pw_action spare; /* takes what does not fit into memory */
        struct pw_order_item *orders; /* of messages */
        uint8_t *bytes;
        uint32_t orders_count, orders_capacity;
        uint64_t bytes_count, bytes_capacity;
        /* Messages since the start, for `pathways status` and tests. */
        uint64_t prepares, order_batches, notices;
        /* What the actions name for the last time. */
        struct pw_list ended_runs, ended_host_runs, gone_results, ended_programs;
};
/* Done with all of them. While they are worked off, calls of the scheduler append more: go by index, and copy an action before
 * such a call. */
void pw_actions_clear(struct pw_actions *actions);
/* The bytes of a message that was done, where nothing came behind them, are free for the next. */
static inline void pw_actions_give_back(struct pw_actions *actions, const struct pw_message *message)
{
        if (message->at + message->bytes == actions->bytes_count)
                actions->bytes_count = message->at;
}
static inline struct pw_message_pools pw_actions_pools(const struct pw_actions *actions)
{
        return (struct pw_message_pools){ actions->orders, actions->bytes };
}

/* --- listings --------------------------------------------------------------------------------------------------------------- */

struct pw_device_row {
        uint32_t device, island;
        const char *kind;
        bool up;
        uint64_t capacity, used_results, used_blocks, letting_go, overhead, free;
        uint64_t ordered, done;
};
struct pw_run_row {
        uint64_t number, submitted_us, deadline_us; /* deadline 0: none counts any more, or it has passed */
        bool deadline_kept;      /* it counts to the run's end, else to its admission */
        const char *program, *client, *tenant;
        enum pw_run_state state;
        enum pw_status outcome;  /* of an ended run: PW_OK, PW_CANCELLED, or the first error of its results */
        const char *error;       /* of an ended run: the sentence of that error; "": none is known. Else NULL */
        uint64_t ended_us;
        uint32_t nodes, nodes_ordered;
        char waiting_for[256]; /* one sentence, or empty */
        char notice[160];        /* an island waits for another one of the run: that too; waiting_for is then of the other */
        uint64_t blocking_run;   /* the run it waits for; 0: none */
        struct pw_result *blocking_input; /* or the input */
        void *blocking_object;   /* or the store's object, an input that is not ready */
        uint64_t devices;        /* of its slices and this host, a bit each */
        uint64_t lack_bytes;     /* queued: by which `lack_device` has too little room; 0: earlier runs hold it back */
        uint32_t lack_device;
        bool over_quota;         /* it is not the device that lacks them, but what its tenant may have of all devices */
        bool deferred;           /* admitted runs will not give it back: sessions, names or leases hold it */
};
struct pw_scheduler;
void pw_scheduler_each_device(struct pw_scheduler *scheduler, void (*row)(void *context, const struct pw_device_row *row),
                              void *context);
/* Each run that has not ended, with nothing worked out for it. */
void pw_scheduler_each_live(struct pw_scheduler *scheduler, void (*run)(void *context, const struct pw_run *run), void *context);
/* The result that a run waits for first; NULL: it waits for none. */
const struct pw_result *pw_scheduler_blocking_input(const struct pw_run *run);
/* Its row, without the sentences `waiting_for` and `notice`, and what they are made of. */
void pw_scheduler_run_brief(const struct pw_run *run, struct pw_run_row *ret_row);
/* Of one run, under way or among the last that ended. False: it is neither; *ret_last is then the number of the last run. */
bool pw_scheduler_run_row(struct pw_scheduler *scheduler, uint64_t number, struct pw_run_row *ret_row, uint64_t *ret_last);
/* Numbers, in their order, of the runs that are under way and the last that ended: of a tenant or (NULL) all, the first `most`
 * above `after`. Own: *ret_numbers is the caller's. Errors: PW_NO_MEMORY. */
struct pw_runs_of { const char *tenant; uint64_t after; uint32_t most; };
PW_MUST_CHECK enum pw_status pw_scheduler_run_numbers(const struct pw_scheduler *scheduler, const struct pw_runs_of *of,
                                                      uint64_t **ret_numbers, uint32_t *ret_count);
/* A run's row as pw_scheduler_run_brief() has it, also of one of the last that ended. False: it is neither. */
bool pw_scheduler_run_known(struct pw_scheduler *scheduler, uint64_t number, struct pw_run_row *ret_row);
/* The next programs of a walk over all, as they came, so many at most; from one zeroed, or behind the program `after`, to what
 * returns false. True: there are more, and the walk holds the next one until it goes on or is done. */
struct pw_program_walk { uint32_t after; struct pw_program_row *next; }; /* next NULL: it is not under way */
bool pw_scheduler_programs(struct pw_scheduler *scheduler, struct pw_program_walk *walk, uint32_t most,
                           bool (*row)(void *context, const struct pw_program_row *row), void *context);
void pw_scheduler_programs_done(struct pw_program_walk *walk);
/* A tenant's runs in flight, and of them those that are not admitted. */
void pw_scheduler_tenant_runs(const struct pw_scheduler *scheduler, const char *tenant, uint64_t *ret_in_flight,
                              uint64_t *ret_waiting);
/* Since the start, by how they ended; and those that are not admitted: for an input, or for room. */
struct pw_run_counts { uint64_t done, failed, cancelled, waiting_input, waiting_room; };
struct pw_run_counts pw_scheduler_run_counts(const struct pw_scheduler *scheduler);
struct pw_island_row { uint32_t island, devices; uint32_t queued, admitted; uint64_t ordered; const char *policy; };
void pw_scheduler_each_island(struct pw_scheduler *scheduler, void (*row)(void *context, const struct pw_island_row *row),
                              void *context);
/* Invariants: rooms of a memory do not overlap and add up; every order was appended once; each violation is one call. */
uint32_t pw_scheduler_check(struct pw_scheduler *scheduler, void (*found)(void *context, const char *where, const char *problem),
                            void *context);

#endif
