/* Programs as one device runs them: images resolved once into functions, shard dims, places and sources, then run many times.
 *
 * A resolved program refers to its image, parameters included, and to no run. The image lies in the board of one of its islands,
 * once for the host; it is there while a run of the program has gangs, and afterwards nothing of it is read. Programs are found by
 * the place of their image; a change of image_serial says that another program took it.
 */
#ifndef PW_EXECUTOR_PROGRAM_PROGRAM_H
#define PW_EXECUTOR_PROGRAM_PROGRAM_H

#include "base/memory.h"
#include "base/sources.h"
#include "base/table.h"
#include "executor/collective/collective.h"
#include "executor/program/module.h"
#include "plane/board.h"

#define PW_PROGRAMS_MAX 256u /* that are kept resolved */
#define PW_PROGRAMS_BYTES_MAX (UINT64_C(48) << 20) /* of memory that they take, but for the last one */

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
        uint32_t rest; /* bytes of the room behind the own shard, as far as 32 bits go */
};

/* What a receiver reads. The data pointers are of the run that is being executed. */
struct pw_program_sources {
        uint32_t count, capacity;
        bool uncovered;    /* something is wanted and no source is there */
        bool rest_is_zero; /* which is a zero then: the sum has its terms on other devices of a partial destination */
        uint32_t *places, *groups;
        struct pw_source *sources;
        struct pw_box to_box;
};

/* Done of all members of a node in one island: `seqs[seq_index]` of `device`. */
struct pw_program_wait { uint32_t seq_index, device; };

enum pw_node_role { PW_ROLE_NONE = 0, PW_ROLE_SENDER = 1, PW_ROLE_RECEIVER = 2 };

struct pw_program_node {
        const struct pw_image_node *image;
        const char *name;
        bool tried;                         /* a call ran here before */
        uint8_t role;                       /* enum pw_node_role; of a call or load: RECEIVER; NONE: not a member */
        const struct pw_function *function; /* of a call, from its first time on (pw_program_function_find); NULL then: */
        const struct pw_error *fault;       /* why there is none */
        struct pw_loaded_module *module;    /* of the function; held by the program */
        struct pw_program_room *inputs, *outputs;
        struct pw_task_value *input_values, *output_values;
        struct pw_task task;                /* of a call: all but data pointers, text and services */
        struct pw_program_wait *waits, *behind; /* in the run itself; in those whose blocks it took over */
        uint32_t wait_count, behind_count;
        struct pw_program_sources sources;  /* of a receiver; of a load: of an input in `load_layout`, if load_known */
        struct pw_value_layout load_layout;
        uint32_t load_place;
        bool load_known;
        /* For the measured peak: bytes of block rooms that are dead before it, and that it makes alive. */
        uint64_t dead_bytes, born_bytes;
        uint32_t *dead_inputs; /* values of inputs that are dead before it: they count only where they were loaded */
        uint32_t dead_input_count;
};

struct pw_exec_program {
        uint32_t serial;
        const struct pw_image *image; /* in a board, where it stays while a run of the program has gangs */
        uint64_t bytes;       /* of chunks */
        uint32_t node_count;
        struct pw_exec_program_slice *slices;
        struct pw_program_node *nodes;
        uint32_t *input_of;   /* per value: index of the input whose load writes it, or UINT32_MAX */
        uint32_t island_count;
        uint32_t *islands;    /* the host's numbers, per column of seqs */
        struct pw_program_chunk *chunks; /* all memory but the image */
        /* status other than PW_OK: what it reads or writes does not fit into its rooms, so none of it may run */
        struct pw_error fault;
};

struct pw_programs {
        struct pw_table by_place; /* by island and line of the image */
        struct pw_exec_modules *modules; /* borrowed */
        struct pw_island_board *const *islands; /* borrowed: PW_ISLANDS_MAX boards, NULL: there is none */
        uint32_t host, device, island;
        uint64_t bytes;       /* of all of them */
        uint64_t freed; /* counts up when resolved programs went: what was got before is to be got again */
};

static inline void *pw_board_line(const struct pw_island_board *board, uint32_t line)
{
        return (uint8_t *)(uintptr_t)board + (uint64_t)line * PW_LINE_BYTES;
}
#define PW_RUN_AT(record, type, offset) ((type *)((uint8_t *)(uintptr_t)(record) + (offset)))

void pw_exec_programs_done(struct pw_programs *programs);
/* The program of `record`, resolved for the own device. Errors: PW_NO_MEMORY, PW_PROTOCOL (not an image). */
PW_MUST_CHECK enum pw_status pw_programs_get(struct pw_programs *programs, const struct pw_run_record *record,
                                             struct pw_exec_program **ret_program, struct pw_error *ret_err);
void pw_exec_program_free(struct pw_exec_program *program);

/* Zeroed memory that goes with the program; NULL when there is none. */
void *pw_program_alloc(struct pw_exec_program *program, uint64_t count, size_t item_bytes);
/* Resolve one node (node.c). What does not fit into its room is noted in program->fault. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_program_node_resolve(struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                                                     struct pw_error *ret_err);
/* Look up the function of a call, or why there is none. A module is loaded when the first call needs it, with the rooms of the call
 * mapped already: one that harms its process as it is loaded does so in a gang of its own, which is done or failed without it.
 * Blocks: where the module is loaded. */
void pw_program_function_find(const struct pw_programs *programs, struct pw_exec_program *program, struct pw_program_node *node);
/* What place `place` of a destination reads of a value that lies as `layout` says. `own_place`: its place there. */
struct pw_program_wanted {
        const struct pw_value_layout *layout;
        const struct pw_image_value *to;
        const struct pw_exec_program_slice *to_slice;
        uint32_t own_place, flags;
        struct pw_slice_place at;
        enum pw_op op;
};
/* *ret_sources: zeroed, or found before, whose memory serves again. */
PW_MUST_CHECK enum pw_status pw_program_sources_find(struct pw_exec_program *program, const struct pw_program_wanted *wanted,
                                                     struct pw_program_sources *ret_sources, struct pw_error *ret_err);

#endif
