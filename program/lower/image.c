/* The flat image: everything that lowering decided, without pointers, in one block. */
#include "program/lower/lowering.h"

#include "base/memory.h"
#include "base/table.h"
#include "program/image/image.h"

#include <inttypes.h>
#include <stdio.h>

#define IMAGE_BYTES_MAX (UINT32_C(1) << 30)

/* Appends to the image; the first failure sticks. Texts are written once. */
struct writer {
        uint8_t *bytes;
        uint32_t count, capacity;
        enum pw_status status;
        struct pw_table texts; /* hash of a text -> 1 + its offset */
};

/* Room for `bytes` bytes, zeroed. Returns its offset. */
static uint32_t reserve(struct writer *writer, uint64_t bytes, uint32_t align)
{
        uint64_t at = pw_round_up(writer->count, align);

        if (bytes > IMAGE_BYTES_MAX || at + bytes > IMAGE_BYTES_MAX)
                writer->status = PW_TOO_LARGE;
        else if (writer->status == PW_OK &&
                 !pw_grow((void **)&writer->bytes, &writer->capacity, (uint32_t)(at + bytes), 1))
                writer->status = PW_NO_MEMORY;
        if (writer->status != PW_OK)
                return 0;
        writer->count = (uint32_t)(at + bytes);
        return (uint32_t)at;
}

static uint32_t put(struct writer *writer, const void *data, uint64_t bytes, uint32_t align)
{
        uint32_t at = reserve(writer, bytes, align);

        if (writer->status == PW_OK && bytes)
                memcpy(writer->bytes + at, data, bytes);
        return at;
}

static uint32_t put_text(struct writer *writer, const char *text)
{
        uint64_t key = pw_text_key(text);
        uintptr_t known = (uintptr_t)pw_table_get(&writer->texts, key);
        uint32_t at;

        if (known && !strcmp((char *)writer->bytes + known - 1, text))
                return (uint32_t)known - 1;
        at = put(writer, text, strlen(text) + 1, 1);
        if (writer->status == PW_OK && !known && !pw_table_put(&writer->texts, key, (void *)((uintptr_t)at + 1)))
                writer->status = PW_NO_MEMORY;
        return at;
}

/* Item `i` of an array in the image, to be filled. Not kept over another put(). */
#define ITEM(writer, type, array, i) ((type *)((writer)->bytes + (array)) + (i))

static void put_values(struct writer *writer, const struct pw_lowering *low, uint32_t array)
{
        for (uint32_t i = 0; i < low->value_count; i++) {
                const struct pw_low_value *value = &low->values[i];
                *ITEM(writer, struct pw_image_value, array, i) = (struct pw_image_value){
                        .dtype = (uint8_t)value->dtype,
                        .place = value->result == PW_NODE_NONE ? PW_PLACE_BLOCK : PW_PLACE_RESULT,
                        .index = (uint16_t)(value->result == PW_NODE_NONE ? value->block : value->result),
                        .slice = (uint16_t)value->slice,
                        .is_scratch = value->is_scratch,
                        .sharding = value->sharding,
                        .dims = value->dims,
                        .offset = value->offset,
                        .shard_bytes = value->shard_bytes,
                        .first_use = value->writer,
                        .last_use = value->last_use,
                };
        }
}

/* What people call the node. */
static void node_name(const struct pw_low_node *node, char *text, size_t bytes)
{
        static const char *const phases[] = {
                [PW_PHASE_WHOLE] = "", [PW_PHASE_SEND] = " send", [PW_PHASE_RECV] = " receive", [PW_PHASE_PARTS] = " in parts"
        };
        const char *kind = pw_transfer_text(node->image.transfer);

        if (node->image.kind == PW_NODE_LOAD)
                snprintf(text, bytes, "load %" PRIu32, node->image.input_index);
        else
                snprintf(text, bytes, "%s%s%s", kind, phases[node->image.phase],
                         node->image.island_partial & PW_REDUCE_IN_ISLAND ? " in island" : "");
}

/* The functions of the program, one each, and their nodes' references to them. */
struct functions {
        struct pw_image_function *items;
        uint32_t count, capacity;
};

/* The index of the call's function. */
static uint32_t put_function(struct writer *writer, struct functions *functions, const struct pw_graph_call *call)
{
        size_t module_bytes = (size_t)(strchr(call->function, '/') - call->function);
        uint32_t name = put_text(writer, call->function) + (uint32_t)module_bytes + 1;
        pw_auto_free char *module = strndup(call->function, module_bytes);

        for (uint32_t i = 0; i < functions->count; i++)
                if (functions->items[i].name == name && functions->items[i].digest == call->digest)
                        return i;
        if (!module || !pw_grow((void **)&functions->items, &functions->capacity, functions->count + 1,
                                sizeof *functions->items)) {
                writer->status = PW_NO_MEMORY;
                return 0;
        }
        functions->items[functions->count] = (struct pw_image_function){ name, put_text(writer, module), call->digest };
        return functions->count++;
}

static void put_nodes(struct writer *writer, const struct pw_lowering *low, struct functions *functions, uint32_t array)
{
        uint32_t links = put(writer, low->links, (uint64_t)low->link_count * sizeof *low->links, 8);

        for (uint32_t i = 0; i < low->node_count && writer->status == PW_OK; i++) {
                const struct pw_low_node *node = &low->nodes[i];
                struct pw_image_node image = node->image;
                char name[64];
                image.inputs = links + image.inputs * (uint32_t)sizeof *low->links;
                image.outputs = links + image.outputs * (uint32_t)sizeof *low->links;
                image.waits = links + image.waits * (uint32_t)sizeof *low->links;
                image.behind = links + image.behind * (uint32_t)sizeof *low->links;
                if (node->call) {
                        image.function = put_function(writer, functions, node->call);
                        image.name = put_text(writer, node->call->function);
                        image.params = put(writer, node->call->params, node->call->params_bytes, PW_LINE_BYTES);
                        image.params_bytes = node->call->params_bytes;
                } else {
                        node_name(node, name, sizeof name);
                        image.name = put_text(writer, name);
                }
                if (writer->status == PW_OK)
                        *ITEM(writer, struct pw_image_node, array, i) = image;
        }
}

static void put_ends(struct writer *writer, const struct pw_lowering *low, const struct pw_image *header)
{
        for (uint32_t i = 0; i < low->input_count; i++)
                *ITEM(writer, struct pw_image_input, header->inputs, i) =
                        (struct pw_image_input){ low->inputs[i], low->donated[i] };
        for (uint32_t i = 0; i < low->graph->result_count; i++)
                *ITEM(writer, struct pw_image_result, header->results, i) =
                        (struct pw_image_result){ low->results[i], low->values[low->results[i]].writer, -1, 0 };
        for (uint32_t i = 0; i < low->input_count; i++)
                if (low->donated[i])
                        ITEM(writer, struct pw_image_result, header->results, low->values[low->inputs[i]].result)
                                ->donated_input = (int32_t)i;
        for (uint32_t i = 0; i < low->graph->slice_count; i++)
                *ITEM(writer, struct pw_image_slice, header->slices, i) = (struct pw_image_slice){ low->graph->slices[i].id, 0 };
}

static void put_blocks(struct writer *writer, const struct pw_lowering *low, uint32_t array)
{
        for (uint32_t i = 0; i < low->graph->slice_count; i++)
                *ITEM(writer, struct pw_image_block, array, i) = (struct pw_image_block){ low->block_bytes[i], i, 0 };
        for (uint32_t s = 0; s < low->graph->stage_count; s++)
                *ITEM(writer, struct pw_image_block, array, low->graph->slice_count + s) =
                        (struct pw_image_block){ low->block_bytes[low->graph->slice_count + s], low->graph->stages[s].slice,
                                                 1 + s };
}

static void put_stages(struct writer *writer, const struct pw_lowering *low, uint32_t array)
{
        for (uint32_t s = 0; s < low->graph->stage_count && writer->status == PW_OK; s++) {
                const struct pw_low_stage *stage = &low->stages[s];
                uint32_t name = put_text(writer, low->graph->stages[s].name);
                if (writer->status == PW_OK)
                        *ITEM(writer, struct pw_image_stage, array, s) = (struct pw_image_stage){
                                name, low->graph->stages[s].quota, stage->rooms, stage->blocks, stage->room_bytes };
        }
}

static void put_all(struct writer *writer, const struct pw_lowering *low, struct functions *functions)
{
        struct pw_image header = { .magic = PW_IMAGE_MAGIC,
                                   .slice_count = low->graph->slice_count,
                                   .stage_count = low->graph->stage_count,
                                   .value_count = low->value_count,
                                   .node_count = low->node_count,
                                   .input_count = low->input_count,
                                   .result_count = low->graph->result_count,
                                   .seq_count = low->seq_count };

        reserve(writer, sizeof header, PW_LINE_BYTES);
        header.slices = reserve(writer, header.slice_count * sizeof(struct pw_image_slice), 8);
        header.blocks = reserve(writer, pw_image_block_count(&header) * sizeof(struct pw_image_block), 8);
        header.stages = reserve(writer, header.stage_count * sizeof(struct pw_image_stage), 8);
        header.values = reserve(writer, header.value_count * sizeof(struct pw_image_value), 8);
        header.nodes = reserve(writer, header.node_count * sizeof(struct pw_image_node), 8);
        header.inputs = reserve(writer, header.input_count * sizeof(struct pw_image_input), 8);
        header.results = reserve(writer, header.result_count * sizeof(struct pw_image_result), 8);
        if (writer->status != PW_OK)
                return;
        put_values(writer, low, header.values);
        put_ends(writer, low, &header);
        put_blocks(writer, low, header.blocks);
        put_nodes(writer, low, functions, header.nodes);
        put_stages(writer, low, header.stages);
        header.name = put_text(writer, low->graph->name);
        header.function_count = functions->count;
        header.functions = put(writer, functions->items, functions->count * sizeof *functions->items, 8);
        reserve(writer, 0, PW_LINE_BYTES);
        header.bytes = writer->count;
        if (writer->status == PW_OK)
                memcpy(writer->bytes, &header, sizeof header);
}

enum pw_status pw_low_image(const struct pw_lowering *low, struct pw_image **ret_image, struct pw_error *ret_err)
{
        struct writer writer = { .status = PW_OK };
        struct functions functions = { 0 };
        enum pw_status status;

        put_all(&writer, low, &functions);
        free(functions.items);
        pw_table_done(&writer.texts);
        status = writer.status;
        if (status == PW_TOO_LARGE)
                pw_error_set(ret_err, status, "the compiled program has more than %u bytes", IMAGE_BYTES_MAX);
        else if (status != PW_OK)
                pw_error_set(ret_err, status, "out of memory");
        if (status == PW_OK)
                status = pw_image_find_peak((struct pw_image *)(void *)writer.bytes, low->graph->slices, ret_err);
        if (status != PW_OK) {
                free(writer.bytes);
                return status;
        }
        *ret_image = (struct pw_image *)(void *)writer.bytes;
        return PW_OK;
}
