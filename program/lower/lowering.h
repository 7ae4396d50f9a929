/* A program on its way from graph to image: nodes and values in lists, links between them by index.
 *
 * Order of the steps: where there are quotas the order of the calls (credit.c); nodes (lower.c, convert.c), rooms of stages
 * (stage.c), lifetimes and places of all other values (lifetime.c), waits (wait.c), then the image
 * (image.c).
 */
#ifndef PW_PROGRAM_LOWER_LOWERING_H
#define PW_PROGRAM_LOWER_LOWERING_H

#include "base/table.h"
#include "program/lower/transfer.h"

struct pw_low_value {
        enum pw_dtype dtype;
        uint32_t slice;
        struct pw_sharding sharding;
        struct pw_dims dims;
        uint64_t shard_bytes, offset;
        bool is_scratch;   /* of its writer, and of nobody else */
        uint32_t block;    /* of its slice, or of a stage: of the graph's slices and then its stages */
        uint32_t writer;   /* node; PW_NODE_NONE: an input that nothing has read yet */
        uint32_t last_use; /* node */
        uint32_t input;    /* of the program, or PW_NODE_NONE */
        uint32_t result;   /* of the program, whose room it takes, or PW_NODE_NONE: it lies in the block */
        uint32_t made_from, next_conversion; /* of a conversion: of which value; the next one of its key, PW_NODE_NONE: none */
};

struct pw_low_node {
        struct pw_image_node image; /* inputs, outputs and waits: indexes into `links`; texts and blobs: not yet */
        const struct pw_graph_call *call; /* of a call */
        struct pw_reach reach;            /* of a transfer that reads: WHOLE or RECV */
};

struct pw_low_stage { uint32_t rooms, blocks; uint64_t room_bytes; };

struct pw_lowering {
        const struct pw_graph *graph;
        struct pw_low_value *values;
        struct pw_low_node *nodes;
        struct pw_table conversions; /* key of value and layout (convert.c) -> 1 + value */
        uint32_t *links;        /* value and node indexes */
        uint32_t *value_of;     /* per value of the graph */
        uint32_t *inputs;       /* per input of the program: value */
        bool *donated;          /* per input: it may, and once rooms are known it does take the room of a result */
        uint32_t *results;      /* per result of the program: value */
        uint64_t *block_bytes;  /* per slice, then per stage */
        uint64_t *block_starts; /* likewise: one behind the other (wait.c) */
        struct pw_low_stage *stages;
        bool *takes;            /* per call of the graph: it takes a credit of its stage */
        uint32_t value_count, value_capacity, node_count, node_capacity, link_count, link_capacity;
        uint32_t input_count, seq_count;
        struct pw_spreads spreads; /* which places read which */
};

/* The room of the value on each device of its slice. */
static inline uint64_t pw_low_room(const struct pw_low_value *value) { return pw_room_bytes(value->shard_bytes); }
static inline const uint32_t *pw_low_inputs(const struct pw_lowering *low, const struct pw_low_node *node)
{
        return low->links + node->image.inputs;
}
static inline const uint32_t *pw_low_outputs(const struct pw_lowering *low, const struct pw_low_node *node)
{
        return low->links + node->image.outputs;
}

/* Append. Errors: PW_NO_MEMORY, PW_TOO_LARGE. */
PW_MUST_CHECK enum pw_status pw_low_add_value(struct pw_lowering *low, const struct pw_low_value *value,
                                              uint32_t *ret_value, struct pw_error *ret_err);
struct pw_low_links { const uint32_t *inputs; uint32_t input_count; const uint32_t *outputs; uint32_t output_count; };
PW_MUST_CHECK enum pw_status pw_low_add_node(struct pw_lowering *low, const struct pw_low_node *node,
                                             const struct pw_low_links *links, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_low_add_link(struct pw_lowering *low, uint32_t link, struct pw_error *ret_err);

/* Make sure that a node writes `value`: an input is loaded where it is first read. */
PW_MUST_CHECK enum pw_status pw_low_use(struct pw_lowering *low, uint32_t value, struct pw_error *ret_err);
/* `value` in another sharding, perhaps on another slice: itself, or what a transfer makes, once. */
PW_MUST_CHECK enum pw_status pw_low_convert(struct pw_lowering *low, uint32_t value, const struct pw_sharding *to,
                                            uint32_t to_slice, uint32_t *ret_value, struct pw_error *ret_err);
/* The same value again, in a room of its own. */
PW_MUST_CHECK enum pw_status pw_low_copy(struct pw_lowering *low, uint32_t value, uint32_t *ret_value,
                                         struct pw_error *ret_err);

/* The values of the graph in the order in which they are lowered. Errors: PW_BAD_PROGRAM (a credit that cannot come). */
PW_MUST_CHECK enum pw_status pw_low_order(const struct pw_lowering *low, uint32_t *ret_order, bool *ret_takes,
                                          struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_low_stages(struct pw_lowering *low, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_low_lifetimes(struct pw_lowering *low, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_low_waits(struct pw_lowering *low, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_low_image(const struct pw_lowering *low, struct pw_image **ret_image,
                                          struct pw_error *ret_err);

#endif
