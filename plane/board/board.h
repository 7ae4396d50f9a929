/* Boards: the memory through which the island schedulers of a host and its executors speak while programs run.
 *
 *   island board   one memfd per island, the daemon writes, every executor of the host maps it read-only: the order log, and
 *                  an arena with slice records, program images and run records (the *prepare* of a run).
 *   device board   one memfd per device, its executor writes (the daemon too, once that process is dead): what is done,
 *                  marks of transfers, reports of errors, history. All executors map it read-only.
 *   bells          one memfd per host, all executors and the daemon write: on what each executor sleeps.
 *
 * Order: seq counts gangs of an island from 1. A gang's record is at seq % PW_ORDER_LOG; it is overwritten only when every
 * member of the gang that was there is done with it. An executor runs the records whose `members` has its bit, strictly in
 * order. `done.seq` of a device says: of all gangs up to seq that have it as a member, none is left. A gang with a
 * member that is not done lies less than PW_ORDER_REACH behind head, and no more than that are appended at once. So who lagged
 * behind loads head after it copied a record; if that is PW_ORDER_REACH or more ahead of the record, the record may be another's
 * by now and did not name the reader: go on at head - PW_ORDER_REACH + 1.
 */
#ifndef PW_PLANE_BOARD_H
#define PW_PLANE_BOARD_H

#include "base/layout.h"
#include "plane/board/image.h"

#include <stdatomic.h>

#define PW_ORDER_LOG 4096u
#define PW_ORDER_REACH (PW_ORDER_LOG / 2)
#define PW_MARK_BYTES 40u
#define PW_HISTORY 8192u
#define PW_REPORTS 256u
#define PW_DEVICES_MAX 64u /* of one host: a bit each */
#define PW_ISLANDS_MAX 16u /* of one host */
#define PW_EXIT_DETACHED 76 /* of an executor: a function, or its module as it was loaded, closed the connection to the daemon */
/* of an executor: a function wrote past an output's room, so no memory of the device can be trusted. (77: a test is skipped) */
#define PW_EXIT_OVERRUN 75
#define PW_EXIT_DEVICE 74 /* of an executor: its device can do nothing more, as `end_text` of its board says */
#define PW_ISLAND_BOARD_BYTES (UINT64_C(1) << 32) /* virtual */

/* --- island board -------------------------------------------------------------------------------------------------- */

struct pw_order {
        uint32_t run;     /* offset of the run record in this board, in lines of 64 bytes */
        uint32_t node;
        uint64_t members; /* devices of this host, by number */
};

/* A slice as its devices lie: index i is place i in the mesh, row-major. */
struct pw_slice_record {
        uint32_t device_count;
        uint32_t mesh[PW_MESH_AXES_MAX];
        uint32_t zero;
        struct pw_slice_place places[]; /* of any host */
};

/* Where a program's input lies. Its shards: run record + shards, shard_count of them: those of its places that are on the host,
 * ascending. */
struct pw_run_input {
        uint8_t in_place; /* its shards lie on the program's slice as declared: the load is skipped */
        uint8_t is_inline;/* the value is in `value` */
        uint8_t zero[2];
        uint32_t status;  /* other than PW_OK: there is no value and no shard; the load writes heads in this error. (The
                           * shards' seqs are final once the load is ordered.) */
        uint64_t bytes;   /* of the whole value */
        uint8_t value[24];
        struct pw_sharding sharding; /* as it lies, over a mesh: */
        uint32_t mesh[PW_MESH_AXES_MAX];
        uint32_t shard_count;
        uint32_t shards;  /* offset in the run record of struct pw_run_shard */
};
struct pw_run_shard {
        uint32_t segment;
        uint16_t place;   /* of the value's mesh; what was lost there is read where another device of the host has the same */
        uint16_t device;  /* of the host, that wrote it, or PW_SHARD_IN_HOST: host memory, where rooms have no heads */
        uint64_t offset;
        uint64_t bytes;   /* from there on are the value's: nothing behind them may be read */
        uint64_t seq;     /* wait until `device` is done with it; 0: it is */
};

#define PW_SHARD_IN_HOST UINT16_MAX

struct pw_run_room { uint32_t segment, zero; uint64_t offset, bytes; };

/* Everything that the executors of one host need for one run, and of other hosts nothing: it has rooms and shards of the host's own
 * devices only, in which what comes from elsewhere arrives. Fields behind `seqs` never change once the first gang is ordered. */
struct pw_run_record {
        uint64_t run;         /* number, for people and reports */
        uint32_t image_island;/* in whose board the program's image and slice records lie: one of the host's, for all islands */
        uint32_t image;       /* offset of the image in that board, in lines */
        uint32_t image_serial;/* changes when another program takes that place */
        uint32_t bytes;       /* of this record */
        uint32_t island_count;/* of the program: columns of seqs */
        uint32_t island_numbers; /* offset of uint32_t, island_count: the host's numbers of those islands */
        uint32_t inputs;      /* offset of struct pw_run_input, image.input_count */
        uint32_t slices;      /* offset of uint32_t, image.slice_count: offsets of slice records beside the image, in lines */
        /* offset of uint32_t, per block of the image: offset in the record of struct pw_run_room per place of its slice that is on
         * the host, ascending */
        uint32_t blocks;
        uint32_t results;     /* likewise per result */
        uint32_t cancelled_at;/* atomic: nodes from this one on are skipped where they are ordered at all; UINT32_MAX: none */
        /* offset of _Atomic uint64_t [image.seq_count][island_count]: seq of the node in that island, 0: has no gang there */
        uint32_t seqs;
        /* the same of the runs whose blocks it took over, as far as its nodes come behind theirs; 0 besides: done */
        uint32_t ahead_seqs;
        uint32_t program;     /* handle, for listings */
};

struct pw_island_board {
        _Alignas(64) _Atomic uint64_t head;          /* seq of the last gang ordered; records up to it are there */
        _Atomic uint64_t written;                    /* seq up to which records are being written: stored before they are. One
                                                        who lags reads a record, then this: PW_ORDER_LOG on, it is another's */
        _Alignas(64) _Atomic uint32_t daemon_asleep; /* executors ring the doorbell only then */
        /* Ring when a device's done.count reaches this. Written by the daemon before it sleeps. */
        _Alignas(64) _Atomic uint64_t ring_at[PW_DEVICES_MAX];
        /* Values that a device wrote at a seq below this are lost: it died after it. */
        _Alignas(64) _Atomic uint64_t lost_before[PW_DEVICES_MAX];
        /* Counts up when segments that its executor has mapped are no more: it asks which. The daemon writes it, then rings. */
        _Alignas(64) _Atomic uint64_t gone[PW_DEVICES_MAX];
        /* Counts up when values of the device are to be copied to host memory: its executor asks which. Written likewise. */
        _Alignas(64) _Atomic uint64_t fetches[PW_DEVICES_MAX];
        /* Counts up when pages are to be given back that the device's executor may have pinned: it asks which. Written likewise. */
        _Alignas(64) _Atomic uint64_t leaving[PW_DEVICES_MAX];
        /* The joint that the device is in is to be given up, with this status: it takes longer than it may. Written likewise. */
        struct { _Alignas(64) _Atomic uint64_t seq; _Atomic uint32_t status; } give_up[PW_DEVICES_MAX];
        _Alignas(64) struct pw_order log[PW_ORDER_LOG];
        _Alignas(4096) uint8_t arena[];
};

/* --- device board -------------------------------------------------------------------------------------------------- */

/* This member arrived in transfer gang `seq`: its source shard may be read (but `behind`), or is `status`. */
struct pw_mark {
        _Atomic uint64_t seq;
        uint32_t status;
        _Atomic uint32_t broken; /* not PW_OK: it has given up the joint of that gang, and its part will never come */
        union {
                uint64_t at_ns; /* PW_OK: when it arrived by its device's clock */
                struct { uint32_t cause_node; struct pw_device_id cause_device; };
        };
        union {
                uint8_t value[PW_MARK_BYTES]; /* of an eager transfer: the source shard */
                /* of another: 0, it takes part in no joint, or the number of its hardware; the gang in which its channel was made,
                 * 0: none; `first`, the gang that it did then; `behind`, not 0: what makes its shard was launched only, and is over
                 * with that gang: none but a joint begins before, and a later process says a status; why it is `broken` */
                struct { uint64_t channel, first, behind; uint32_t takes, broken_node; struct pw_device_id broken_device; } joint;
        };
};
_Static_assert(sizeof(struct pw_mark) == 64, "a mark is one line");

/* What a member of a transfer in parts (PW_PHASE_PARTS) publishes behind its mark, to its group. One of each serves all gangs: who
 * waits for one is in it, and nobody whose part it has not taken leaves, unless its process ended there (`failed`). */
struct pw_parts_marks {
        struct pw_mark made;                 /* its part lies in its result's room, or is `status` */
        _Alignas(64) _Atomic uint64_t taken; /* it reads no other room in gangs up to this one */
};

/* What a member of a joint (executor/collective/collective.h) publishes behind its mark. */
struct pw_joint_marks {
        _Atomic uint64_t id_seq;   /* as rank 0, what the channel of this gang is made from; 0: being written */
        _Atomic uint64_t id[16];
        _Atomic uint64_t began, launched; /* for people: the joint that it came to last, and whose part it launched last */
        _Atomic uint32_t off, making, in_vain; /* not 0: it takes part in none; what it is made with may not return; and did not */
};

/* What went wrong, for the daemon; read in order, before the done that follows it. */
struct pw_report {
        uint64_t run;
        uint32_t node;
        uint32_t status;
        uint32_t result;       /* index of the result in error, or PW_NODE_NONE: the cause itself, with text */
        uint32_t cause_node;
        struct pw_device_id cause_device;
        uint32_t zero;
        char text[PW_CAUSE_BYTES];
};

/* One gang as this member ran it. Times: CLOCK_MONOTONIC, ns. */
struct pw_history { uint64_t seq, run; uint64_t start_ns, end_ns; uint32_t node, status; uint64_t peak_bytes; uint64_t zero; };

struct pw_device_board {
        struct {
                _Alignas(64) _Atomic uint64_t seq;
                _Atomic uint64_t count;          /* gangs run since the daemon started */
                _Atomic uint64_t at_ns;          /* when by the device's clock seq became so, or later */
        } done;
        _Alignas(64) _Atomic uint64_t running;   /* seq of the gang being run (its function or its wait), 0: none */
        _Atomic uint64_t running_since_ns;       /* of functions, about, and of joints, from when all have come; 0: not in one */
        _Atomic uint64_t running_together;       /* so many functions may end with that one, itself among them */
        _Atomic uint64_t launching, launching_since_ns, loading; /* seq of one whose function launches work, or is loaded; or 0 */
        _Atomic uint64_t started_ns;             /* when it began with `running`, for listings */
        _Atomic uint64_t busy_ns;                /* in gangs, their waits included */
        /* Daemon, after a process of this device ended in gang `seq`: the next one comes to that gang first, runs nothing of it,
         * writes heads of its outputs in error (`status`, cause: that node on this device) and is done with it. */
        struct { _Atomic uint64_t seq; _Atomic uint32_t status; } failed;
        _Alignas(64) _Atomic uint32_t report_tail; /* executor */
        _Atomic uint32_t report_waits;             /* executor: it waits for room among the reports, ring it */
        /* executor, before PW_EXIT_OVERRUN: like lost_before, which follows. Who copied from its rooms looks here afterwards */
        _Atomic uint64_t spoilt_before;
        _Atomic uint32_t pins; /* executor: pinned ranges of clients' memory, before they are. Daemon, after its end: 0 */
        char end_text[160]; /* executor, before it ends with PW_EXIT_DEVICE; anything may stand there */
        _Alignas(64) _Atomic uint32_t report_head; /* daemon */
        _Alignas(64) struct pw_report reports[PW_REPORTS];
        _Alignas(64) struct pw_mark marks[PW_ORDER_LOG];
        _Alignas(64) struct pw_parts_marks parts;
        _Alignas(64) struct pw_joint_marks joint;
        _Alignas(64) _Atomic uint64_t history_count;
        _Alignas(64) struct pw_history history[PW_HISTORY];
};

/* --- bells ----------------------------------------------------------------------------------------------------------- */

/* Executor e sleeps on bell[e].word. Before it does, it sets its bit in the `sleepers` of each device (or in `order_sleepers`
 * of its island) that it waits for, and looks again. Who publishes reads that bitmap after it published, and rings and clears
 * what is set. Bits are idempotent: those of the dead cost a needless wake-up at most. A function can write there: that costs the
 * sleeper a second at most. */
struct pw_bells {
        struct { _Alignas(64) _Atomic uint32_t word; } bell[PW_DEVICES_MAX];
        struct { _Alignas(64) _Atomic uint64_t bits; } sleepers[PW_DEVICES_MAX];
        struct { _Alignas(64) _Atomic uint64_t bits; } order_sleepers[PW_ISLANDS_MAX];
};

/* Ring each executor whose bit in `sleepers` this call cleared, of those in `bits`. */
void pw_bells_call(struct pw_bells *bells, _Atomic uint64_t *sleepers, uint64_t bits);
/* After publishing: ring every executor of `members` that sleeps for it, clearing its bit. */
static inline void pw_bells_ring(struct pw_bells *bells, _Atomic uint64_t *sleepers, uint64_t members)
{
        uint64_t bits = atomic_load(sleepers) & members;

        if (bits)
                pw_bells_call(bells, sleepers, bits);
}
/* Ring one executor in any case: it has to look at everything again (a member died, a cancel). */
void pw_bells_ring_one(struct pw_bells *bells, uint32_t device);
/* Sleep as executor `self` until rung, or a signal came, or until_ns (CLOCK_MONOTONIC; INT64_MAX: for ever); the caller has set its
 * bits and looked again after reading `seen` of its bell, and looks again afterwards. Functions can write over bells and bitmaps,
 * so an executor that is in a gang sleeps for PW_BELLS_SLEEP_NS at most, and the daemon rings as often who has gangs to do. */
#define PW_BELLS_SLEEP_NS INT64_C(1000000000)
void pw_bells_sleep(struct pw_bells *bells, uint32_t self, uint32_t seen, int64_t until_ns);
static inline uint32_t pw_bells_seen(struct pw_bells *bells, uint32_t self) { return atomic_load(&bells->bell[self].word); }

/* Append a gang at head + 1 (record first, then head, sequentially consistent). The caller knows that the place is free. Returns
 * its seq. */
uint64_t pw_order_append(struct pw_island_board *board, struct pw_order order);
/* Append many at once: one publication. Returns the seq of the first. */
uint64_t pw_order_append_many(struct pw_island_board *board, const struct pw_order *orders, uint32_t count);

/* Executor: report an error; false if the ring is full. Then set report_waits, try again after reading the own bell, ring the
 * daemon and sleep: who takes a report looks at report_waits afterwards. */
bool pw_report_push(struct pw_device_board *board, const struct pw_report *report);
/* Daemon: take the next one, copied once. `head` is the daemon's own copy. False: there is none, or the tail is impossible. */
bool pw_report_pop(struct pw_device_board *board, uint32_t *head, struct pw_report *ret_report);

#endif
