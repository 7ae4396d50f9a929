/* The image of a compiled program: flat, without pointers, what executors run and `pathways programs` prints.
 *
 * Made once by program/lower/, then copied by daemon/board/ into the board of one of its islands, where the executors of all of
 * them read it. Offsets count from the start of the image. Its size does not depend on how many devices a slice has: nodes name
 * slices, a value has the same offset in the block of every device of its slice, and the room of the largest shard.
 *
 * A *node* is one sharded computation or transfer; on a slice that spans islands it is one gang per island. Nodes are in
 * program order, which is topological. `waits` of a node: nodes that must be done on *all* their members before any member of
 * this one may start: the SEND of a RECV, and remote readers of a room that this node writes. What a member needs of its own
 * device needs no wait: a device runs its island's order strictly in order.
 *
 * A run may take over blocks of a run of the same image that was admitted before it. Then its nodes come behind that run's:
 * `behind` of a node are nodes there that must be done on all their members before it, the remote readers of the rooms that it
 * writes; and gangs there up to node `passes`, the last that uses one of these rooms, have an earlier place in the order.
 */
#ifndef PW_PLANE_IMAGE_H
#define PW_PLANE_IMAGE_H

#include "base/layout.h"

#define PW_IMAGE_MAGIC 0x676d6970u /* "pimg" */
#define PW_NO_SEQ 0xffffu
#define PW_NODE_NONE 0xffffffffu

/* A room in device memory is pure data, from a multiple of PW_ROOM_ALIGN on. Its head says who wrote the value and whether it is
 * one, and lies beside: behind all rooms of the segment, where each PW_ROOM_ALIGN bytes of them have one (plane/segment.h). By the
 * seal a head that was written as one is told from what a function that wrote past its own room left there. */
struct pw_room_head {
        uint64_t seq;         /* of the gang that wrote it, in its island's order */
        uint32_t status;      /* enum pw_status: PW_OK, or the error the value is in */
        uint32_t cause_node;  /* of the error: the node where it began ... */
        struct pw_device_id cause_device;
        uint32_t zero;
        uint64_t run;         /* ... of this run */
        uint64_t seal;
        uint64_t reserved[3];
};
_Static_assert(sizeof(struct pw_room_head) == 64, "a room's head is one line");
#define PW_ROOM_ALIGN 256u
#define PW_TOGETHER_MOST 8u /* functions that a device begins together, and whose guards it looks at together, at most */
#define PW_ROOM_GUARD 16u /* bytes behind a value by which it is seen that a function wrote past it */
/* Bytes of the room for a shard of `bytes`: value and guard. */
static inline uint64_t pw_room_bytes(uint64_t bytes)
{
        return (bytes + PW_ROOM_GUARD + PW_ROOM_ALIGN - 1) & ~(uint64_t)(PW_ROOM_ALIGN - 1);
}
/* Where among the heads that of the room at `offset` lies, in bytes; of `offset` bytes of rooms, what their heads take. */
static inline uint64_t pw_room_head_at(uint64_t offset) { return offset / (PW_ROOM_ALIGN / sizeof(struct pw_room_head)); }
static inline uint64_t pw_room_seal(const struct pw_room_head *head)
{
        return ((head->seq ^ head->run << 32) + head->status) * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0x6461656870);
}

enum pw_place_kind {
        PW_PLACE_BLOCK = 1,  /* at `offset` in the run's block `index`, on each device of the value's slice */
        PW_PLACE_RESULT = 2, /* in the room of result `index` */
};

struct pw_image_value {
        uint8_t dtype, place;
        uint16_t index;       /* of the block, or of the result whose room it takes */
        uint16_t slice;
        uint16_t is_scratch;  /* 1: memory of the call that has it as last output, bytes that nobody else sees; else 0 */
        struct pw_sharding sharding;
        struct pw_dims dims;  /* of the whole value */
        uint64_t offset;      /* in the block */
        uint64_t shard_bytes; /* of the largest shard */
        uint32_t first_use, last_use; /* nodes: writer and last reader; of the room's life, for the measured peak */
};

#define PW_CAUSE_BYTES 416u /* what a member says of what went wrong, and its 0 */

enum pw_node_kind { PW_NODE_CALL = 1, PW_NODE_TRANSFER = 2, PW_NODE_LOAD = 3 };
enum pw_transfer_phase {
        PW_PHASE_WHOLE = 0,
        PW_PHASE_SEND = 1,
        PW_PHASE_RECV = 2,
        /* WHOLE of an all-reduce whose shard is large: each member of a group, those whose shards are terms of one sum, reduces a
         * part of it in its result's room, and takes the others from theirs. A group lies in one island, and all of it goes so. */
        PW_PHASE_PARTS = 3,
};

/* X(name, text). What a transfer is called: of the two shardings and slices. All of them are executed by assembling. */
#define PW_TRANSFER_MAP(X)                                                                                             \
        X(PW_TRANSFER_COPY, "copy")                                                                                    \
        X(PW_TRANSFER_LOAD, "load")                                                                                    \
        X(PW_TRANSFER_ALL_GATHER, "all-gather")                                                                        \
        X(PW_TRANSFER_ALL_REDUCE, "all-reduce")                                                                        \
        X(PW_TRANSFER_REDUCE_SCATTER, "reduce-scatter")                                                                \
        X(PW_TRANSFER_ALL_TO_ALL, "all-to-all")                                                                        \
        X(PW_TRANSFER_BROADCAST, "broadcast")                                                                          \
        X(PW_TRANSFER_GATHER, "gather")                                                                                \
        X(PW_TRANSFER_SCATTER, "scatter")                                                                              \
        X(PW_TRANSFER_SEND_RECV, "send-recv")

enum pw_transfer_kind {
#define PW_TRANSFER_ENUM(name, text) name,
        PW_TRANSFER_MAP(PW_TRANSFER_ENUM)
#undef PW_TRANSFER_ENUM
                PW_TRANSFER_KINDS
};

/* A transfer over islands reduces in two steps: within each island (its destination is then the same on every device of an
 * island, and partial over islands), then over islands, where each receiver reads one source of each island. */
struct pw_image_node {
        uint8_t kind;     /* enum pw_node_kind */
        uint8_t transfer; /* enum pw_transfer_kind */
        uint8_t phase;    /* enum pw_transfer_phase */
        uint8_t eager;    /* the source's shards travel in the marks: at most PW_MARK_BYTES each */
        uint8_t island_partial; /* bit 0: the source is reduced within islands already; bit 1: reduce within the own island only */
        uint8_t op;       /* enum pw_op of a reduction */
        uint16_t slice;   /* of a call: its slice; of a transfer or load: the receivers' */
        uint16_t source_slice; /* of a transfer: the senders' */
        uint16_t seq_slot;     /* where the run record keeps this node's sequence numbers, or PW_NO_SEQ */
        uint32_t function;     /* of a call: index */
        uint32_t input_index;  /* of a load: the program's input */
        uint32_t send_node;    /* of a RECV: its SEND; else PW_NODE_NONE */
        uint32_t inputs, input_count;   /* offset of uint32_t value indexes */
        uint32_t outputs, output_count; /* a load or transfer has one output, a SEND none; scratch is the last of a call */
        uint32_t waits, wait_count;     /* offset of uint32_t node indexes; each has a seq_slot */
        uint32_t behind, behind_count;  /* likewise, of the run whose block it writes */
        uint32_t passes;                /* of that run; the node itself or a later one */
        uint32_t params, params_bytes;  /* offset of the blob, 64-aligned */
        uint32_t name;                  /* offset of a text for people: "digits/gradient", "all-reduce" */
        uint64_t time_limit_us;
};

struct pw_image_function { uint32_t name, module; /* offsets of texts */ uint64_t digest; };
struct pw_image_input {
        uint32_t value;   /* what the load writes */
        uint32_t donated; /* the value's place is the room of a result, which is the input's own room where it is in place */
};
struct pw_image_result {
        uint32_t value;
        uint32_t writer; /* node */
        int32_t donated_input; /* whose room it takes, or -1 */
        uint32_t zero;
};
struct pw_image_slice { uint32_t id; /* the slice's handle */ uint32_t zero; };
/* First one for each slice, then one for each stage. */
struct pw_image_block {
        uint64_t bytes; /* on each device */
        uint32_t slice;
        uint32_t stage; /* 1 + index; 0: none, the run's other values */
};

/* Outputs in flight of a stage lie in its block, in `rooms` rooms of `room_bytes`, each of them a credit: who writes it again
 * comes behind the last reader. Consecutive runs have at most `blocks` such blocks at a time, so rooms * blocks <= quota. */
struct pw_image_stage { uint32_t name; /* offset of a text */ uint32_t quota, rooms, blocks; uint64_t room_bytes; };

struct pw_image {
        uint32_t magic, bytes;
        uint32_t name; /* offset of a text */
        uint32_t slices, slice_count;
        uint32_t blocks, stages, stage_count; /* blocks: slice_count + stage_count */
        uint32_t values, value_count;
        uint32_t nodes, node_count;
        uint32_t functions, function_count;
        uint32_t inputs, input_count;
        uint32_t results, result_count;
        uint32_t seq_count; /* seq_slots in use */
        uint64_t peak_bytes; /* the largest sum over slices of block and results that one device can see */
};

#define PW_IMAGE_AT(image, type, offset) ((const type *)((const char *)(image) + (offset)))
static inline const struct pw_image_node *pw_image_node(const struct pw_image *image, uint32_t i)
{
        return PW_IMAGE_AT(image, struct pw_image_node, image->nodes) + i;
}
static inline const struct pw_image_value *pw_image_value(const struct pw_image *image, uint32_t i)
{
        return PW_IMAGE_AT(image, struct pw_image_value, image->values) + i;
}
static inline uint32_t pw_image_block_count(const struct pw_image *image) { return image->slice_count + image->stage_count; }
static inline const struct pw_image_block *pw_image_block(const struct pw_image *image, uint32_t i)
{
        return PW_IMAGE_AT(image, struct pw_image_block, image->blocks) + i;
}
static inline const struct pw_image_stage *pw_image_stage(const struct pw_image *image, uint32_t i)
{
        return PW_IMAGE_AT(image, struct pw_image_stage, image->stages) + i;
}
static inline const char *pw_image_text(const struct pw_image *image, uint32_t offset) { return (const char *)image + offset; }

#endif
