/* A program as it was traced: values and calls, checked, with the shapes of every value; what lowering starts from.
 *
 * Life: new, add (in the order of the trace), check, then shape after shape (functions are described apart from here, one
 * answer at a time), then pw_lower(). Everything refers to earlier things only, so a graph has no cycle by construction; what
 * a hostile client sends otherwise is refused by pw_graph_check().
 */
#ifndef PW_PROGRAM_GRAPH_GRAPH_H
#define PW_PROGRAM_GRAPH_GRAPH_H

#include "base/layout.h"
#include "pathways_module.h"

#define PW_GRAPH_VALUES_MAX 65536u
#define PW_GRAPH_SLICES_MAX 64u
#define PW_GRAPH_STAGES_MAX 4096u
#define PW_SLICE_DEVICES_MAX 4096u /* of all hosts; 64 of each: PW_DEVICES_MAX */

/* The memory of a slice's devices. apart: only devices of the same kind read it, no others and no processor. */
struct pw_slice_memory { const char *kind; bool apart; }; /* kind: borrowed, for ever; NULL where nothing is apart: not known */

static inline bool pw_slice_reads(const struct pw_slice_memory *reader, const struct pw_slice_memory *from)
{
        return !from->apart || (reader->apart && !strcmp(reader->kind, from->kind));
}

/* The mapped devices of a slice, as lowering needs them. */
struct pw_slice_map {
        uint32_t id;
        uint32_t mesh[PW_MESH_AXES_MAX];
        uint32_t device_count;
        const struct pw_slice_place *places; /* borrowed */
        struct pw_slice_memory memory;
        bool kernels; /* its devices run the form of functions for GPUs */
};

enum pw_value_kind { PW_VALUE_INPUT = 1, PW_VALUE_CALL = 2, PW_VALUE_AS = 3 };

struct pw_graph_value {
        enum pw_value_kind kind;
        uint32_t slice;        /* index into the graph's slices */
        enum pw_dtype dtype;   /* inputs: given; others: filled by shapes */
        struct pw_dims dims;   /* of the whole value; likewise */
        struct pw_sharding sharding;
        uint32_t flags;        /* inputs: enum pw_input_flags */
        uint32_t call, output; /* of a call */
        uint32_t source;       /* of an AS: value index */
        bool shaped;
};

struct pw_graph_call {
        char *function;        /* "module/function", owned */
        uint32_t slice;
        uint32_t *args;        /* value indexes, owned */
        uint32_t arg_count;
        uint32_t *outputs;     /* value indexes, owned; made by pw_graph_check() */
        uint32_t output_count; /* given, or 0: as many as values name it */
        void *params;          /* owned */
        uint32_t params_bytes;
        uint64_t time_limit_us;
        uint32_t stage;        /* 1 + index, 0: none */
        uint32_t in_place;     /* as in pw_function; from the answer */
        uint64_t digest;       /* of the module; likewise */
        uint64_t scratch_bytes;/* of the shard that needs most; likewise */
        struct pw_call_shapes *shapes; /* answers so far; owned, NULL once its outputs are shaped */
};

/* Calls that share a quota of outputs in flight: see pathways.h. */
struct pw_graph_stage {
        char *name;            /* owned */
        uint32_t quota;
        uint32_t slice;        /* of its calls; filled by pw_graph_check(), as is: */
        bool used;
};

struct pw_graph {
        char *name;
        struct pw_graph_value *values;
        struct pw_graph_call *calls;
        uint32_t *results;     /* value indexes */
        struct pw_slice_map *slices;
        struct pw_graph_stage *stages;
        uint32_t value_count, call_count, result_count, slice_count, stage_count;
        uint32_t value_capacity, call_capacity, result_capacity, slice_capacity, stage_capacity;
        uint32_t shaped_count; /* values before this one are shaped */
};

struct pw_graph *pw_graph_new(const char *name); /* NULL: out of memory */
void pw_graph_free(struct pw_graph *graph);
uint64_t pw_graph_bytes(const struct pw_graph *graph); /* of memory, about; 0 for NULL */
/* Each appends a zeroed item that the caller fills; NULL: out of memory or too many. */
struct pw_graph_value *pw_graph_add_value(struct pw_graph *graph);
struct pw_graph_call *pw_graph_add_call(struct pw_graph *graph, const char *function, const uint32_t *args, uint32_t arg_count,
                                        const void *params, uint32_t params_bytes);
bool pw_graph_add_result(struct pw_graph *graph, uint32_t value);
bool pw_graph_add_stage(struct pw_graph *graph, const char *name, uint32_t quota);
bool pw_graph_add_slice(struct pw_graph *graph, const struct pw_slice_map *slice);

/* Everything refers to something earlier that is there; there are results; shardings fit the dims of inputs; a call's args lie on
 * its slice; donated inputs are used. Errors: PW_BAD_PROGRAM, PW_SHAPE, naming call and argument ("call 3, digits/update, argument
 * 1: ..."). */
PW_MUST_CHECK enum pw_status pw_graph_check(struct pw_graph *graph, struct pw_error *ret_err);

/* The places of a slice are devices that a host may have. pw_graph_check() asks; so does who takes a slice without its graph.
 * Errors: PW_INVALID, naming it by `number`. */
PW_MUST_CHECK enum pw_status pw_slice_check(const struct pw_slice_map *slice, uint32_t number, struct pw_error *ret_err);

/* The next question for the describing executor: the shard shapes of one call for one class of places of the mesh (shards of an
 * uneven split have two sizes). PW_NOT_READY: every value is shaped. `task` has inputs and params; it points into the graph, and
 * is good until pw_graph_answer(). */
struct pw_shape_query {
        uint32_t call, variant;
        const char *function;
        uint64_t digest; /* of the version of its module, known to who asks; 0 here */
        struct pw_shape_task task;
};
PW_MUST_CHECK enum pw_status pw_graph_next_shape(struct pw_graph *graph, struct pw_shape_query *ret_query,
                                                 struct pw_error *ret_err);
/* The answer to it: outputs in query->task; in_place, limit, scratch and digest of the function. Errors: PW_SHAPE (a whole value
 * that no sharding gives: the shards do not fit together). */
struct pw_function_facts {
        uint32_t in_place;
        uint64_t time_limit_us, digest;
        uint64_t scratch_bytes; /* of a call with these inputs */
        bool forms[2]; /* it has one for devices that run functions on the processor; for those that run kernels */
};
PW_MUST_CHECK enum pw_status pw_graph_answer(struct pw_graph *graph, const struct pw_shape_query *query,
                                             const struct pw_function_facts *facts, struct pw_error *ret_err);

#endif
