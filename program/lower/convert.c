/* Conversions: the transfers that bring a value into another layout. One node inside an island, in parts where a
 * large value is reduced; a pair, SEND and RECV, where shards cross islands; and two steps where a reduction is cheaper so. */
#include "program/lower/lowering.h"

#include "plane/board/board.h"
#include "program/graph/shape.h"

/* One conversion: a value, where it goes, and what was found out about the way. */
struct way {
        struct pw_lowering *low;
        uint32_t value, slice;          /* destination slice */
        struct pw_sharding sharding;    /* destination */
        uint8_t island_partial;
        struct pw_reach reach;
};

static struct pw_transfer_ends ends_of(const struct way *way)
{
        const struct pw_low_value *value = &way->low->values[way->value];

        return (struct pw_transfer_ends){ &value->sharding,
                                          &way->low->graph->slices[value->slice],
                                          &way->sharding,
                                          &way->low->graph->slices[way->slice],
                                          &value->dims,
                                          value->slice == way->slice,
                                          way->island_partial & PW_REDUCE_IN_ISLAND };
}

static enum pw_status find_reach(struct way *way, struct pw_error *ret_err)
{
        struct pw_transfer_ends ends = ends_of(way);

        return pw_transfer_reach(&ends, &way->low->spreads, &way->reach, ret_err);
}

static bool reduces(const struct way *way)
{
        struct pw_transfer_ends ends = ends_of(way);
        bool any = way->island_partial & PW_REDUCE_IN_ISLAND;

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                any = any || pw_transfer_reduces(&ends, i);
        return any;
}

/* The op of the reduction, or PW_SUM where there is none. A value has one op on all of its partial axes. */
static uint8_t op_of(const struct way *way)
{
        const struct pw_low_value *value = &way->low->values[way->value];

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (way->low->graph->slices[value->slice].mesh[i] > 1 && value->sharding.axis[i].layout == PW_LAYOUT_PARTIAL)
                        return value->sharding.axis[i].op;
        return PW_SUM;
}

/* What all nodes of the way have in common. */
static struct pw_low_node node_of(const struct way *way, enum pw_transfer_phase phase)
{
        const struct pw_low_value *value = &way->low->values[way->value];
        const struct pw_slice_map *from = &way->low->graph->slices[value->slice],
                                  *to = &way->low->graph->slices[way->slice];
        struct pw_low_node node = { .reach = way->reach };

        node.image.kind = PW_NODE_TRANSFER;
        node.image.transfer = (uint8_t)(way->island_partial & PW_REDUCE_IN_ISLAND
                                                ? PW_TRANSFER_ALL_REDUCE
                                                : pw_transfer_between(&value->sharding, from->mesh, &way->sharding,
                                                                      to->mesh, from == to));
        node.image.phase = (uint8_t)phase;
        node.image.eager = phase == PW_PHASE_WHOLE && value->shard_bytes <= PW_MARK_BYTES && !from->memory.apart;
        node.image.island_partial = phase == PW_PHASE_SEND ? 0 : way->island_partial;
        node.image.op = op_of(way);
        node.image.slice = (uint16_t)way->slice;
        node.image.source_slice = (uint16_t)value->slice;
        node.image.send_node = PW_NODE_NONE;
        return node;
}

/* The value at the end of the way, written by the node that is added next. */
static enum pw_status add_output(const struct way *way, uint32_t *ret_value, struct pw_error *ret_err)
{
        const struct pw_low_value *value = &way->low->values[way->value];
        struct pw_low_value output = { .dtype = value->dtype,
                                       .slice = way->slice,
                                       .sharding = way->sharding,
                                       .dims = value->dims,
                                       .writer = PW_NODE_NONE,
                                       .input = PW_NODE_NONE };

        return pw_low_add_value(way->low, &output, ret_value, ret_err);
}

/* `phase`: WHOLE or PARTS. */
static enum pw_status add_whole(const struct way *way, enum pw_transfer_phase phase, uint32_t *ret_value,
                                struct pw_error *ret_err)
{
        struct pw_low_node node = node_of(way, phase);
        uint32_t output;
        enum pw_status status = add_output(way, &output, ret_err);

        if (status == PW_OK)
                status =
                        pw_low_add_node(way->low, &node, &(struct pw_low_links){ &way->value, 1, &output, 1 }, ret_err);
        if (status == PW_OK)
                *ret_value = output;
        return status;
}

static enum pw_status add_pair(const struct way *way, uint32_t *ret_value, struct pw_error *ret_err)
{
        struct pw_low_node send = node_of(way, PW_PHASE_SEND), receive = node_of(way, PW_PHASE_RECV);
        uint32_t output;
        enum pw_status status = add_output(way, &output, ret_err);

        if (status == PW_OK)
                status = pw_low_add_node(way->low, &send, &(struct pw_low_links){ &way->value, 1, NULL, 0 }, ret_err);
        receive.image.send_node = way->low->node_count - 1;
        if (status == PW_OK)
                status = pw_low_add_node(way->low, &receive, &(struct pw_low_links){ &way->value, 1, &output, 1 },
                                         ret_err);
        if (status == PW_OK)
                *ret_value = output;
        return status;
}

/* Across islands: where it saves bytes, reduce inside each island first, into a value that is partial over islands
 * only. */
static enum pw_status add_crossing(struct way *way, uint32_t *ret_value, struct pw_error *ret_err)
{
        struct pw_transfer_ends ends = ends_of(way);
        struct way inside = *way;
        bool steps;
        enum pw_status status = pw_transfer_in_steps(&ends, &way->low->spreads, &steps, ret_err);

        if (status != PW_OK)
                return status;
        if (!steps)
                return add_pair(way, ret_value, ret_err);
        inside.slice = way->low->values[way->value].slice;
        inside.sharding = way->low->values[way->value].sharding;
        inside.island_partial = PW_REDUCE_IN_ISLAND;
        status = find_reach(&inside, ret_err);
        if (status == PW_OK)
                status = add_whole(&inside, PW_PHASE_WHOLE, &way->value, ret_err);
        way->island_partial = PW_REDUCED_IN_ISLANDS;
        way->reach = (struct pw_reach){ .other_device = true, .other_island = true };
        return status == PW_OK ? add_pair(way, ret_value, ret_err) : status;
}

/* Is it an all-reduce, over all that is partial, of a shard that is worth the meetings? Each group has to lie in one island, and
 * the processor makes the parts. */
static enum pw_status goes_in_parts(const struct way *way, bool *ret_parts, struct pw_error *ret_err)
{
        const struct pw_low_value *value = &way->low->values[way->value];
        const struct pw_slice_map *slice = &way->low->graph->slices[value->slice];
        struct pw_spread_way groups = { .from = slice };
        struct pw_sharding completed = pw_sharding_completed(value->sharding);
        bool crosses;
        enum pw_status status;

        *ret_parts = false;
        if (value->slice != way->slice || value->shard_bytes < PW_PARTS_BYTES || slice->memory.apart ||
            !pw_sharding_has_partial(&value->sharding, slice->mesh) ||
            !pw_sharding_equal(&completed, &way->sharding, slice->mesh))
                return PW_OK;
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                if (slice->mesh[a] > 1 && value->sharding.axis[a].layout == PW_LAYOUT_PARTIAL)
                        groups.axis[a] = PW_SPREAD_ALL;
        status = pw_spread_crosses(&way->low->spreads, &groups, &crosses, ret_err);
        *ret_parts = status == PW_OK && !crosses;
        return status;
}

static enum pw_status no_reduction(const struct way *way, struct pw_error *ret_err)
{
        if (way->low->values[way->value].dtype == PW_OPAQUE)
                return pw_error_set(ret_err, PW_SHAPE, "opaque values cannot be reduced: give them a dtype");
        return pw_error_set(ret_err, PW_SHAPE,
                            "bools have no sum and no product: reduce them by max, which is \"or\", or min, \"and\", or make "
                            "numbers of them first");
}

static enum pw_status check_memory(const struct way *way, struct pw_error *ret_err)
{
        const struct pw_slice_map *slices = way->low->graph->slices;
        const struct pw_slice_memory *from = &slices[way->low->values[way->value].slice].memory, *to = &slices[way->slice].memory;

        if (pw_slice_reads(to, from))
                return PW_OK;
        return pw_error_set(ret_err, PW_UNSUPPORTED,
                            "devices of kind %s do not read what lies in memory of devices of kind %s: end the program there, "
                            "bring its result to host memory (pw_get() and pw_put(), or pw_relocate()), and give that to "
                            "another program",
                            to->kind, from->kind);
}

static enum pw_status make(struct way *way, uint32_t *ret_value, struct pw_error *ret_err)
{
        struct pw_transfer_ends ends = ends_of(way);
        enum pw_status status = pw_transfer_check(&ends, ret_err);
        bool parts;

        if (status == PW_OK)
                status = check_memory(way, ret_err);
        if (status == PW_OK && reduces(way) && !pw_dtype_reduces(way->low->values[way->value].dtype, op_of(way)))
                status = no_reduction(way, ret_err);
        if (status == PW_OK)
                status = pw_low_use(way->low, way->value, ret_err);
        if (status == PW_OK)
                status = find_reach(way, ret_err);
        if (status != PW_OK)
                return status;
        if (way->reach.other_island)
                return add_crossing(way, ret_value, ret_err);
        status = goes_in_parts(way, &parts, ret_err);
        return status == PW_OK ? add_whole(way, parts ? PW_PHASE_PARTS : PW_PHASE_WHOLE, ret_value, ret_err) : status;
}

/* A key for what is made of `value` in a layout: equal ones have equal keys. */
static uint64_t made_key(const struct pw_lowering *low, uint32_t value, const struct pw_sharding *to, uint32_t to_slice)
{
        uint64_t key = (uint64_t)value << 32 | to_slice;

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                const struct pw_axis_sharding *axis = &to->axis[i];
                uint64_t how = axis->layout == PW_LAYOUT_SPLIT ? axis->dim : axis->layout == PW_LAYOUT_PARTIAL ? axis->op : 0;
                if (low->graph->slices[to_slice].mesh[i] > 1)
                        key = (key ^ ((uint64_t)axis->layout << 8 | how)) * UINT64_C(0x9e3779b97f4a7c15);
        }
        return key;
}

/* The value that was made from `value` in this layout already, or PW_NODE_NONE. Those of one key are a list. */
static uint32_t find_made(const struct pw_lowering *low, uint64_t key, const struct way *way)
{
        uintptr_t known = (uintptr_t)pw_table_get(&low->conversions, key);
        uint32_t made = known ? (uint32_t)(known - 1) : PW_NODE_NONE;

        for (; made != PW_NODE_NONE; made = low->values[made].next_conversion)
                if (low->values[made].made_from == way->value && low->values[made].slice == way->slice &&
                    pw_sharding_equal(&low->values[made].sharding, &way->sharding, low->graph->slices[way->slice].mesh))
                        break;
        return made;
}

static enum pw_status note_made(struct pw_lowering *low, uint64_t key, uint32_t value, uint32_t made, struct pw_error *ret_err)
{
        uintptr_t known = (uintptr_t)pw_table_get(&low->conversions, key);

        low->values[made].made_from = value;
        low->values[made].next_conversion = known ? (uint32_t)(known - 1) : PW_NODE_NONE;
        if (!pw_table_put(&low->conversions, key, (void *)((uintptr_t)made + 1)))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        return PW_OK;
}

enum pw_status pw_low_convert(struct pw_lowering *low, uint32_t value, const struct pw_sharding *to, uint32_t to_slice,
                              uint32_t *ret_value, struct pw_error *ret_err)
{
        struct way way = { .low = low, .value = value, .slice = to_slice, .sharding = *to };
        uint64_t key;
        uint32_t made;
        enum pw_status status;

        if (low->values[value].slice == to_slice &&
            pw_sharding_equal(&low->values[value].sharding, to, low->graph->slices[to_slice].mesh)) {
                *ret_value = value;
                return PW_OK;
        }
        key = made_key(low, value, to, to_slice);
        made = find_made(low, key, &way);
        if (made != PW_NODE_NONE) {
                *ret_value = made;
                return PW_OK;
        }
        status = make(&way, &made, ret_err);
        if (status == PW_OK)
                status = note_made(low, key, value, made, ret_err);
        if (status == PW_OK)
                *ret_value = made;
        return status;
}

enum pw_status pw_low_copy(struct pw_lowering *low, uint32_t value, uint32_t *ret_value, struct pw_error *ret_err)
{
        struct way way = {
                .low = low, .value = value, .slice = low->values[value].slice, .sharding = low->values[value].sharding
        };
        enum pw_status status = pw_low_use(low, value, ret_err);

        if (status == PW_OK)
                status = find_reach(&way, ret_err);
        return status == PW_OK ? add_whole(&way, PW_PHASE_WHOLE, ret_value, ret_err) : status;
}
