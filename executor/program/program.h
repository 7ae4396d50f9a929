/* Programs as one device runs them: functions, shard dims, places and sources of a node are resolved when it is launched, and
 * kept for its next run in a cache of bounded bytes.
 *
 * What is resolved refers to the image, parameters included, and to no run. The image lies in the board of one of its islands,
 * once for the host; it is there while a run of the program has gangs, and afterwards nothing of it is read. Programs are found by
 * the place of their image; a change of image_serial says that another program took it.
 *
 * Nodes are found by program and index (nodes.c). No program can make a device take memory, or a launch take time, that grows with
 * anything but the one node: at most PW_NODES_BYTES and the last node are kept, of all tenants together.
 */
#ifndef PW_EXECUTOR_PROGRAM_PROGRAM_H
#define PW_EXECUTOR_PROGRAM_PROGRAM_H

#include "base/list.h"
#include "base/sources.h"
#include "base/table.h"
#include "executor/collective/collective.h"
#include "executor/program/module.h"
#include "plane/board/board.h"

#define PW_PROGRAMS_MAX 256u /* that are known: their slices */
#define PW_PROGRAMS_BYTES (UINT64_C(2) << 20) /* of memory that they take, but for the last one */
#define PW_NODES_BYTES (UINT64_C(8) << 20) /* of resolved nodes that are kept, but for the last one */
#define PW_NODE_BUCKETS 8192u
#define PW_NODE_WAITS_MAX 1024u /* of a node that has more its waits are made up again each time */

/* A slice as it lies on devices. */
struct pw_exec_program_slice {
        uint32_t device_count;
        uint32_t mesh[PW_MESH_AXES_MAX];
        uint32_t place; /* of the own device, or PW_PLACE_NONE */
        struct pw_slice_place *places;
        uint32_t *near;    /* places on this host: who waits for devices waits for these, what comes from elsewhere has arrived */
        uint32_t near_count;
        uint8_t *near_of;  /* per place: its index in `near`, and so among the rooms of a run; PW_FAR: it is on another host */
};
#define PW_FAR UINT8_MAX
_Static_assert(PW_DEVICES_MAX < PW_FAR, "an index in near fits");

/* The room of a value on the own device: `bases[base] + offset` of a run (run.h), or where `input` lies if that is in place. */
struct pw_program_room {
        uint32_t value;
        uint32_t base;
        uint64_t offset;
        int32_t input; /* of the program, whose load writes the value; -1: none */
};

/* What is to be looked at again when a source was read: a head (NULL: it lies in no room), of a device. */
struct pw_source_head { const struct pw_room_head *head; uint32_t device; };

/* What a receiver reads. The data pointers, and those to the heads of rooms, are of the run that is being executed. */
struct pw_program_sources {
        uint32_t count, capacity;
        bool layout_known; /* of a load: these are found for `layout`, with the own device at `own_place` of it */
        uint32_t own_place;
        struct pw_value_layout layout;
        bool uncovered;    /* something is wanted and no source is there */
        bool rest_is_zero; /* which is a zero then: the sum has its terms on other devices of a partial destination */
        uint32_t *places, *groups;
        struct pw_source *sources;
        struct pw_source_head *heads;
        struct pw_box to_box;
};

/* Done of all members of a node in one island: `seqs[seq_index]` of `device`. */
struct pw_program_wait { uint32_t seq_index, device; };

enum pw_node_role { PW_ROLE_NONE = 0, PW_ROLE_SENDER = 1, PW_ROLE_RECEIVER = 2 };

/* Lies in one piece of memory, but for what its sources and its fault take. */
struct pw_program_node {
        struct pw_program_node *next;       /* in its bucket */
        struct pw_exec_program *program;
        uint32_t index;
        bool used;                          /* since it was looked at to make room */
        bool tried;                         /* a call ran here before */
        uint64_t took_ns;                   /* the last times, where a device does it later than it is launched; 0: not known */
        uint8_t role;                       /* enum pw_node_role; of a call or load: RECEIVER; NONE: not a member, the rest is 0 */
        bool has_many_waits;                /* which are not among `waits` and `behind` */
        uint32_t wait_count, behind_count, dead_input_count;
        const struct pw_image_node *image;
        const struct pw_function *function; /* of a call, from its first time on (pw_program_function_find); NULL then: */
        struct pw_error *fault;             /* why there is none */
        struct pw_loaded_module *module;    /* of the function; held by the node */
        struct pw_program_room *inputs, *outputs;
        struct pw_task_value *input_values, *output_values;
        uint32_t *rests;                    /* of a call, per output: bytes of its room behind the shard, as far as 32 bits go */
        struct pw_program_wait *waits, *behind; /* in the run itself; in those whose blocks it took over */
        struct pw_program_sources *sources; /* of a receiver that is no call */
        /* For the measured peak: bytes of block rooms that it makes alive, and that are dead behind it. */
        uint64_t born_bytes, dead_bytes;
        uint32_t *dead_inputs;              /* values of inputs that are dead behind it: they count only where they were loaded */
        struct pw_task task;                /* of a call: all but data pointers, text and services; of its outputs the last is no
                                               output of the function where it has scratch memory */
        uint64_t bytes;                     /* all that it takes */
        struct pw_list link;                /* of all nodes, in the order in which they go */
        struct pw_list of_program;
};

struct pw_exec_program {
        uint32_t serial;
        const struct pw_image *image; /* in a board, where it stays while a run of the program has gangs */
        uint64_t bytes;       /* of chunks */
        uint64_t used;        /* the higher, the later it was got */
        uint32_t first_bucket;/* of its node 0 */
        struct pw_exec_program_slice *slices;
        uint32_t island_count;
        uint32_t *islands;    /* the host's numbers, per column of seqs */
        struct pw_program_chunk *chunks; /* all memory but the image and nodes */
        struct pw_list nodes; /* that are resolved */
        /* status other than PW_OK: what it reads or writes does not fit into its rooms, so no more of it may run */
        struct pw_error fault;
};

struct pw_programs {
        struct pw_table by_place; /* by island and line of the image */
        /* Views, programs and nodes that were got may be let go behind it: whoever uses some is to be done with them. NULL: nobody
         * does beyond the gang under way. */
        void (*settle)(void *context);
        void *context;
        struct pw_exec_modules *modules; /* borrowed */
        struct pw_island_board *const *islands; /* borrowed: PW_ISLANDS_MAX boards, NULL: there is none */
        uint32_t host, device, island;
        bool kernels;         /* the device runs the form of a function for GPUs */
        uint64_t bytes;       /* of all of them */
        uint64_t got;         /* counts up with each that is got for a run */
        uint64_t freed;       /* counts up when a program went: what was got before is to be got again */
        uint64_t node_bytes;
        uint32_t squeezed;    /* nodes that came when others had to go for them */
        struct pw_list nodes; /* who goes next is the first */
        struct pw_program_node *buckets[PW_NODE_BUCKETS];
};

static inline void *pw_board_line(const struct pw_island_board *board, uint32_t line)
{
        return (uint8_t *)(uintptr_t)board + (uint64_t)line * PW_LINE_BYTES;
}
#define PW_RUN_AT(record, type, offset) ((type *)((uint8_t *)(uintptr_t)(record) + (offset)))

static inline void pw_programs_settle(const struct pw_programs *programs)
{
        if (programs->settle)
                programs->settle(programs->context);
}

void pw_exec_programs_init(struct pw_programs *programs);
void pw_exec_programs_done(struct pw_programs *programs);
/* The program of `record`. Errors: PW_NO_MEMORY, PW_PROTOCOL (not an image). */
PW_MUST_CHECK enum pw_status pw_programs_get(struct pw_programs *programs, const struct pw_run_record *record,
                                             struct pw_exec_program **ret_program, struct pw_error *ret_err);
/* Zeroed memory that goes with the program; NULL when there is none. */
void *pw_program_alloc(struct pw_exec_program *program, uint64_t count, size_t item_bytes);

/* Resolve a node that is not kept, and keep it. */
PW_MUST_CHECK enum pw_status pw_program_node_open(struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                                                  struct pw_program_node **ret_node, struct pw_error *ret_err);
/* Node `index`, resolved; good until the next call. What does not fit into its room is noted in program->fault. Errors:
 * PW_NO_MEMORY. */
PW_MUST_CHECK static inline enum pw_status pw_program_node_get(struct pw_programs *programs, struct pw_exec_program *program,
                                                               uint32_t index, struct pw_program_node **ret_node,
                                                               struct pw_error *ret_err)
{
        struct pw_program_node *node = programs->buckets[(program->first_bucket + index) % PW_NODE_BUCKETS];

        while (node && (node->index != index || node->program != program))
                node = node->next;
        if (!node)
                return pw_program_node_open(programs, program, index, ret_node, ret_err);
        node->used = true;
        *ret_node = node;
        return PW_OK;
}
/* Is the last output of a call its scratch memory? */
static inline bool pw_program_has_scratch(const struct pw_program_node *node)
{
        const uint32_t *outputs = PW_IMAGE_AT(node->program->image, uint32_t, node->image->outputs);
        uint32_t count = node->image->output_count;

        return count && pw_image_value(node->program->image, outputs[count - 1])->is_scratch;
}
/* Forget a node. */
void pw_program_node_drop(struct pw_programs *programs, struct pw_program_node *node);

/* Resolve one node (node.c). Own: the caller forgets it, pw_program_node_free(). Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_program_node_resolve(struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                                                     struct pw_program_node **ret_node, struct pw_error *ret_err);
void pw_program_node_free(struct pw_programs *programs, struct pw_program_node *node);
/* The input whose load writes a value, or -1. */
int32_t pw_program_input_of(const struct pw_exec_program *program, uint32_t value);
/* Look up the function of a call, or why there is none. A module is loaded when the first call needs it, with the rooms of the call
 * mapped already: one that harms its process as it is loaded does so in a gang of its own, which is done or failed without it.
 * Errors: PW_NO_MEMORY (to say why there is none).   Blocks: where the module is loaded. */
PW_MUST_CHECK enum pw_status pw_program_function_find(struct pw_programs *programs, struct pw_program_node *node,
                                                      struct pw_error *ret_err);
/* Waits on the members of node `on` in each island, the own device excepted: that runs in order. Returns how many. */
uint32_t pw_program_waits_on(const struct pw_programs *programs, const struct pw_exec_program *program, uint32_t on,
                             struct pw_program_wait ret_waits[PW_DEVICES_MAX]);
/* What place `place` of a destination reads of a value that lies as `layout` says. `own_place`: its place there. */
struct pw_program_wanted {
        const struct pw_value_layout *layout;
        const struct pw_image_value *to;
        const struct pw_exec_program_slice *to_slice;
        uint32_t own_place, flags;
        struct pw_slice_place at;
        enum pw_op op;
};
/* Into node->sources, whose memory serves again. Errors: PW_NO_MEMORY; node->sources is as it was. */
PW_MUST_CHECK enum pw_status pw_program_sources_find(struct pw_programs *programs, struct pw_program_node *node,
                                                     const struct pw_program_wanted *wanted, struct pw_error *ret_err);

#endif
