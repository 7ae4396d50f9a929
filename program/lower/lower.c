/* Nodes in program order: the graph's calls as they were traced, what has to be loaded and moved for them before each.
 */
#include "program/lower/lowering.h"

#include "base/memory.h"
#include "base/size.h"
#include "pathways.h"
#include "program/graph/shape.h"

#include <inttypes.h>

enum pw_status pw_low_add_value(struct pw_lowering *low, const struct pw_low_value *value, uint32_t *ret_value,
                                struct pw_error *ret_err)
{
        struct pw_low_value *added;
        struct pw_dims dims;
        struct pw_box box;
        enum pw_status status;

        if (!pw_grow((void **)&low->values, &low->value_capacity, low->value_count + 1, sizeof *low->values))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        added = &low->values[low->value_count];
        *added = *value;
        added->made_from = added->next_conversion = added->result = PW_NODE_NONE;
        added->block = added->slice;
        /* Place 0 has the largest shard: the first parts of a split have one row more. */
        pw_shard_box(&added->dims, &added->sharding, low->graph->slices[added->slice].mesh, 0, &box);
        dims = pw_box_dims(&box);
        status = pw_dims_bytes(added->dtype, &dims, &added->shard_bytes, ret_err);
        if (status != PW_OK)
                return status;
        if (added->shard_bytes > UINT64_MAX / 2 - PW_ROOM_ALIGN - PW_ROOM_GUARD)
                return pw_error_set(ret_err, PW_TOO_LARGE, "a shard of %" PRIu64 " bytes", added->shard_bytes);
        *ret_value = low->value_count++;
        return PW_OK;
}

enum pw_status pw_low_add_link(struct pw_lowering *low, uint32_t link, struct pw_error *ret_err)
{
        if (!pw_grow((void **)&low->links, &low->link_capacity, low->link_count + 1, sizeof *low->links))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        low->links[low->link_count++] = link;
        return PW_OK;
}

static enum pw_status add_links(struct pw_lowering *low, const uint32_t *links, uint32_t count,
                                struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < count && status == PW_OK; i++)
                status = pw_low_add_link(low, links[i], ret_err);
        return status;
}

enum pw_status pw_low_add_node(struct pw_lowering *low, const struct pw_low_node *node,
                               const struct pw_low_links *links, struct pw_error *ret_err)
{
        struct pw_low_node *added;
        enum pw_status status;

        if (!pw_grow((void **)&low->nodes, &low->node_capacity, low->node_count + 1, sizeof *low->nodes))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        added = &low->nodes[low->node_count];
        *added = *node;
        added->image.seq_slot = PW_NO_SEQ;
        added->image.inputs = low->link_count;
        added->image.input_count = links->input_count;
        added->image.outputs = low->link_count + links->input_count;
        added->image.output_count = links->output_count;
        status = add_links(low, links->inputs, links->input_count, ret_err);
        if (status == PW_OK)
                status = add_links(low, links->outputs, links->output_count, ret_err);
        for (uint32_t i = 0; i < links->output_count && status == PW_OK; i++)
                low->values[links->outputs[i]].writer = low->node_count;
        if (status == PW_OK)
                low->node_count++;
        return status;
}

enum pw_status pw_low_use(struct pw_lowering *low, uint32_t value, struct pw_error *ret_err)
{
        struct pw_low_node node = { 0 };

        if (low->values[value].writer != PW_NODE_NONE)
                return PW_OK;
        node.image.kind = PW_NODE_LOAD;
        node.image.transfer = PW_TRANSFER_LOAD;
        node.image.slice = node.image.source_slice = (uint16_t)low->values[value].slice;
        node.image.input_index = low->values[value].input;
        node.image.send_node = PW_NODE_NONE;
        return pw_low_add_node(low, &node, &(struct pw_low_links){ NULL, 0, &value, 1 }, ret_err);
}

/* A value of the graph as one of the lowering, not written yet. */
static enum pw_status add_graph_value(struct pw_lowering *low, uint32_t index, uint32_t input, struct pw_error *ret_err)
{
        const struct pw_graph_value *traced = &low->graph->values[index];
        struct pw_low_value value = { .dtype = traced->dtype, .slice = traced->slice, .sharding = traced->sharding,
                                      .dims = traced->dims, .writer = PW_NODE_NONE, .input = input };

        return pw_low_add_value(low, &value, &low->value_of[index], ret_err);
}

/* Memory of the call besides its outputs: a value that it alone writes and reads, so it lives while the call runs. */
static enum pw_status add_scratch(struct pw_lowering *low, uint32_t index, uint32_t *ret_value, struct pw_error *ret_err)
{
        const struct pw_graph_call *call = &low->graph->calls[index];
        struct pw_low_value value = { .dtype = PW_U8, .slice = call->slice, .sharding = PW_BROADCAST,
                                      .dims = PW_DIMS(call->scratch_bytes), .writer = PW_NODE_NONE, .input = PW_NODE_NONE,
                                      .is_scratch = true };
        enum pw_status status = pw_low_add_value(low, &value, ret_value, ret_err);

        if (status != PW_OK)
                pw_error_prefix(ret_err, "call %" PRIu32 ", %s, scratch memory", index, call->function);
        return status;
}

static enum pw_status lower_call(struct pw_lowering *low, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_graph_call *call = &low->graph->calls[index];
        uint32_t inputs[PW_TASK_ARGS_MAX], outputs[PW_TASK_ARGS_MAX + 1], output_count = call->output_count;
        struct pw_low_node node = { .call = call };
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < call->arg_count && status == PW_OK; i++) {
                struct pw_sharding arrives = pw_sharding_completed(low->graph->values[call->args[i]].sharding);
                status = pw_low_convert(low, low->value_of[call->args[i]], &arrives, call->slice, &inputs[i], ret_err);
                if (status == PW_OK)
                        status = pw_low_use(low, inputs[i], ret_err);
                if (status != PW_OK)
                        pw_error_prefix(ret_err, "call %" PRIu32 ", %s, argument %" PRIu32, index, call->function, i);
        }
        for (uint32_t i = 0; i < call->output_count && status == PW_OK; i++) {
                status = add_graph_value(low, call->outputs[i], PW_NODE_NONE, ret_err);
                outputs[i] = low->value_of[call->outputs[i]];
        }
        if (status == PW_OK && call->scratch_bytes)
                status = add_scratch(low, index, &outputs[output_count++], ret_err);
        if (status != PW_OK)
                return status;
        node.image.kind = PW_NODE_CALL;
        node.image.slice = node.image.source_slice = (uint16_t)call->slice;
        node.image.send_node = PW_NODE_NONE;
        node.image.time_limit_us = call->time_limit_us;
        return pw_low_add_node(low, &node,
                               &(struct pw_low_links){ inputs, call->arg_count, outputs, output_count }, ret_err);
}

static enum pw_status lower_value(struct pw_lowering *low, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_graph_value *value = &low->graph->values[index];
        enum pw_status status;

        if (!value->shaped)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "value %" PRIu32 " has no shape yet", index);
        switch (value->kind) {
        case PW_VALUE_INPUT:
                status = add_graph_value(low, index, low->input_count, ret_err);
                low->donated[low->input_count] = value->flags & PW_DONATED;
                low->inputs[low->input_count++] = low->value_of[index];
                return status;
        case PW_VALUE_AS:
                status = pw_low_convert(low, low->value_of[value->source], &value->sharding, value->slice,
                                        &low->value_of[index], ret_err);
                if (status != PW_OK)
                        pw_error_prefix(ret_err, "value %" PRIu32 ", made from value %" PRIu32, index, value->source);
                return status;
        default: /* the first of its outputs brings the call */
                return low->value_of[index] == PW_NODE_NONE ? lower_call(low, value->call, ret_err) : PW_OK;
        }
}

/* Each result has a room of its own: a value that has none yet takes it, another is copied there. An input that takes it is loaded
 * into it, wherever it lies. */
static enum pw_status lower_results(struct pw_lowering *low, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < low->graph->result_count; i++) {
                uint32_t value = low->value_of[low->graph->results[i]];
                low->results[i] = value;
                if (low->values[value].result == PW_NODE_NONE &&
                    !(low->values[value].input != PW_NODE_NONE && low->donated[low->values[value].input]))
                        low->values[value].result = i;
        }
        for (uint32_t i = 0; i < low->graph->result_count; i++) {
                enum pw_status status;
                if (low->values[low->results[i]].result == i)
                        continue;
                status = pw_low_copy(low, low->results[i], &low->results[i], ret_err);
                if (status != PW_OK)
                        return status;
                low->values[low->results[i]].result = i;
        }
        return PW_OK;
}

static enum pw_status lower_nodes(struct pw_lowering *low, struct pw_error *ret_err)
{
        pw_auto_free uint32_t *order = calloc((size_t)low->graph->value_count + 1, sizeof *order);
        enum pw_status status = PW_OK;

        if (!order)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < low->graph->value_count; i++) {
                low->value_of[i] = PW_NODE_NONE;
                order[i] = i;
        }
        if (low->graph->stage_count)
                status = pw_low_order(low, order, low->takes, ret_err);
        for (uint32_t i = 0; i < low->graph->value_count && status == PW_OK; i++)
                status = lower_value(low, order[i], ret_err);
        for (uint32_t i = 0; i < low->input_count && status == PW_OK; i++)
                status = pw_low_use(low, low->inputs[i], ret_err);
        return status == PW_OK ? lower_results(low, ret_err) : status;
}

/* What lies in the result's room when its writer begins: a term of a sum that is made in parts, in place of it. */
static struct pw_low_value *term_of(const struct pw_lowering *low, struct pw_low_value *result)
{
        const struct pw_low_node *node = &low->nodes[result->writer], *call;
        struct pw_low_value *term;

        if (node->image.kind != PW_NODE_TRANSFER || node->image.phase != PW_PHASE_PARTS)
                return NULL;
        term = &low->values[pw_low_inputs(low, node)[0]];
        call = &low->nodes[term->writer];
        if (term->last_use != result->writer || term->result != PW_NODE_NONE || !call->call || call->call->stage)
                return NULL;
        return term;
}

/* A donated input gives its room to what the call which reads it last makes in place: a result, or the term of one. */
static struct pw_low_value *room_giver(const struct pw_lowering *low, const struct pw_low_value *made,
                                       const struct pw_low_value *result)
{
        const struct pw_low_node *node = &low->nodes[made->writer];
        const uint32_t *inputs = pw_low_inputs(low, node);
        struct pw_low_value *given;
        uint32_t times = 0;

        if (node->image.kind != PW_NODE_CALL || !node->call->in_place ||
            &low->values[pw_low_outputs(low, node)[0]] != made)
                return NULL;
        given = &low->values[inputs[node->call->in_place - 1]];
        for (uint32_t i = 0; i < node->image.input_count; i++)
                times += &low->values[inputs[i]] == given;
        return times == 1 && given->input != PW_NODE_NONE && low->donated[given->input] && given->last_use == made->writer &&
                               given->dtype == result->dtype && given->slice == result->slice &&
                               pw_dims_equal(&given->dims, &result->dims) &&
                               pw_sharding_equal(&given->sharding, &result->sharding, low->graph->slices[given->slice].mesh)
                       ? given
                       : NULL;
}

static void find_donations(struct pw_lowering *low)
{
        for (uint32_t i = 0; i < low->graph->result_count; i++) {
                struct pw_low_value *result = &low->values[low->results[i]], *term = term_of(low, result);
                struct pw_low_value *given = room_giver(low, term ? term : result, result);
                if (!given)
                        continue;
                given->result = i;
                if (term)
                        term->result = i;
        }
        for (uint32_t i = 0; i < low->input_count; i++)
                low->donated[i] = low->donated[i] && low->values[low->inputs[i]].result != PW_NODE_NONE;
}

/* Last uses, before anything has a place. */
static void find_last_uses(struct pw_lowering *low)
{
        for (uint32_t i = 0; i < low->value_count; i++)
                low->values[i].last_use = low->values[i].writer;
        for (uint32_t n = 0; n < low->node_count; n++)
                for (uint32_t i = 0; i < low->nodes[n].image.input_count; i++)
                        low->values[pw_low_inputs(low, &low->nodes[n])[i]].last_use = n;
}

static void lowering_done(struct pw_lowering *low)
{
        free(low->values);
        free(low->nodes);
        free(low->links);
        pw_table_done(&low->conversions);
        pw_spreads_done(&low->spreads);
        free(low->value_of);
        free(low->inputs);
        free(low->donated);
        free(low->results);
        free(low->block_bytes);
        free(low->block_starts);
        free(low->stages);
        free(low->takes);
}

enum pw_status pw_lower(const struct pw_graph *graph, struct pw_image **ret_image, struct pw_error *ret_err)
{
        __attribute__((cleanup(lowering_done))) struct pw_lowering low = { .graph = graph, .spreads = { .slices = graph->slices } };
        enum pw_status status;

        low.value_of = calloc(graph->value_count + 1, sizeof *low.value_of);
        low.inputs = calloc(graph->value_count + 1, sizeof *low.inputs);
        low.donated = calloc(graph->value_count + 1, sizeof *low.donated);
        low.results = calloc(graph->result_count + 1, sizeof *low.results);
        low.block_bytes = calloc((size_t)graph->slice_count + graph->stage_count + 1, sizeof *low.block_bytes);
        low.block_starts = calloc((size_t)graph->slice_count + graph->stage_count + 1, sizeof *low.block_starts);
        low.stages = calloc((size_t)graph->stage_count + 1, sizeof *low.stages);
        low.takes = calloc((size_t)graph->call_count + 1, sizeof *low.takes);
        if (!low.value_of || !low.inputs || !low.donated || !low.results || !low.block_bytes || !low.block_starts || !low.stages ||
            !low.takes)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        status = lower_nodes(&low, ret_err);
        if (status != PW_OK)
                return status;
        find_last_uses(&low);
        find_donations(&low);
        status = pw_low_stages(&low, ret_err);
        if (status == PW_OK)
                status = pw_low_lifetimes(&low, ret_err);
        if (status == PW_OK)
                status = pw_low_waits(&low, ret_err);
        if (status == PW_OK)
                status = pw_low_image(&low, ret_image, ret_err);
        return status;
}
