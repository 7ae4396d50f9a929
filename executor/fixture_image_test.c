/* Images built by hand, for tests of the launch loop. */
#include "executor/fixture_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct build *build_new(void)
{
        struct build *build = calloc(1, sizeof *build);

        assert_non_null(build);
        return build;
}

static uint32_t pool_add(struct build *build, const uint32_t *items, uint32_t count)
{
        uint32_t at = build->pool_count;

        assert_true(at + count <= pw_array_count(build->pool));
        memcpy(build->pool + at, items, count * sizeof *items);
        build->pool_count += count;
        return at;
}

static uint32_t bytes_add(struct build *build, const void *from, uint32_t bytes, uint32_t align)
{
        uint32_t at = (uint32_t)pw_round_up(build->text_bytes, align);

        assert_true(at + bytes <= sizeof build->text);
        memcpy(build->text + at, from, bytes);
        build->text_bytes = at + bytes;
        return at;
}

uint32_t build_slice(struct build *build, const uint32_t *devices, uint32_t count, uint32_t mesh_second)
{
        uint32_t index = build->slice_count++;

        memcpy(build->slices[index].devices, devices, count * sizeof *devices);
        build->slices[index].count = count;
        build->slices[index].mesh[0] = mesh_second ? count / mesh_second : count;
        build->slices[index].mesh[1] = mesh_second;
        return index;
}

uint32_t build_value(struct build *build, uint32_t slice, enum pw_dtype dtype, struct pw_dims dims, struct pw_sharding sharding)
{
        uint32_t index = build->value_count++;
        struct pw_image_value *value = &build->values[index];
        struct pw_box box;

        assert_true(index < BUILD_MAX);
        pw_shard_box(&dims, &sharding, build->slices[slice].mesh, 0, &box); /* place 0 has the largest shard */
        *value = (struct pw_image_value){ .dtype = (uint8_t)dtype, .place = PW_PLACE_BLOCK, .index = (uint16_t)slice,
                                          .slice = (uint16_t)slice,
                                          .sharding = sharding, .dims = dims, .offset = build->slices[slice].block_bytes,
                                          .shard_bytes = pw_box_elements(&box) * pw_dtype_bytes(dtype),
                                          .first_use = build->node_count };
        build->slices[slice].block_bytes += pw_room_bytes(value->shard_bytes);
        return index;
}

uint32_t build_value_in(struct build *build, uint32_t room_of, struct pw_sharding sharding)
{
        uint32_t index = build->value_count++;

        assert_true(index < BUILD_MAX);
        build->values[index] = build->values[room_of];
        build->values[index].sharding = sharding;
        build->values[index].first_use = build->node_count;
        return index;
}

static uint32_t node_add(struct build *build, struct pw_image_node node, const char *name)
{
        assert_true(build->node_count < BUILD_MAX);
        node.name = bytes_add(build, name, (uint32_t)strlen(name) + 1, 1);
        node.seq_slot = (uint16_t)build->seq_count++;
        for (uint32_t i = 0; i < node.input_count; i++)
                build->values[build->pool[node.inputs + i]].last_use = build->node_count;
        for (uint32_t i = 0; i < node.output_count; i++) {
                build->values[build->pool[node.outputs + i]].first_use = build->node_count;
                build->values[build->pool[node.outputs + i]].last_use = build->node_count;
        }
        build->nodes[build->node_count] = node;
        return build->node_count++;
}

uint32_t build_input(struct build *build, uint32_t value)
{
        build->inputs[build->input_count] = (struct pw_image_input){ .value = value };
        return node_add(build, (struct pw_image_node){ .kind = PW_NODE_LOAD, .transfer = PW_TRANSFER_LOAD,
                                                       .slice = build->values[value].slice, .send_node = PW_NODE_NONE,
                                                       .input_index = build->input_count++,
                                                       .outputs = pool_add(build, &value, 1), .output_count = 1 }, "load");
}

static uint32_t function_add(struct build *build, const char *name)
{
        const char *slash = strchr(name, '/');
        uint32_t text = bytes_add(build, name, (uint32_t)strlen(name) + 1, 1), module;

        for (uint32_t i = 0; i < build->function_count; i++)
                if (!strcmp(build->text + build->functions[i].name, name))
                        return i;
        assert_true(build->function_count < pw_array_count(build->functions));
        module = bytes_add(build, name, (uint32_t)(slash - name), 1);
        bytes_add(build, "", 1, 1);
        build->functions[build->function_count] = (struct pw_image_function){ .name = text, .module = module };
        return build->function_count++;
}

uint32_t build_call(struct build *build, const struct build_call *call)
{
        struct pw_image_node node = { .kind = PW_NODE_CALL, .slice = build->values[call->output].slice, .send_node = PW_NODE_NONE };

        node.function = function_add(build, call->function);
        node.inputs = pool_add(build, call->inputs, call->input_count);
        node.input_count = call->input_count;
        node.outputs = pool_add(build, &call->output, 1);
        node.output_count = 1;
        node.params = bytes_add(build, call->params ? call->params : "", call->params_bytes, 64);
        node.params_bytes = call->params_bytes;
        return node_add(build, node, call->function);
}

uint32_t build_transfer(struct build *build, const struct build_transfer *transfer)
{
        struct pw_image_node node = { .kind = PW_NODE_TRANSFER, .transfer = PW_TRANSFER_ALL_REDUCE,
                                      .phase = (uint8_t)transfer->phase,
                                      .eager = transfer->eager, .island_partial = transfer->island_partial,
                                      .op = (uint8_t)transfer->op,
                                      .slice = build->values[transfer->to].slice,
                                      .source_slice = build->values[transfer->from].slice,
                                      .send_node = PW_NODE_NONE };

        node.inputs = pool_add(build, &transfer->from, 1);
        node.input_count = 1;
        node.outputs = pool_add(build, &transfer->to, 1);
        node.output_count = transfer->phase != PW_PHASE_SEND;
        if (transfer->phase == PW_PHASE_RECV) {
                node.send_node = transfer->send_node;
                node.waits = pool_add(build, &transfer->send_node, 1);
                node.wait_count = 1;
        }
        return node_add(build, node, "transfer");
}

void build_wait(struct build *build, uint32_t node, uint32_t for_node)
{
        build->nodes[node].waits = pool_add(build, &for_node, 1);
        build->nodes[node].wait_count = 1;
}

uint32_t build_result(struct build *build, uint32_t value)
{
        uint32_t index = build->result_count++;

        build->results[index] = (struct pw_image_result){ .value = value, .donated_input = -1 };
        build->values[value].place = PW_PLACE_RESULT;
        build->values[value].index = (uint16_t)index;
        build->values[value].last_use = build->node_count;
        return index;
}

/* Append to the image, with offsets of texts and lists turned into offsets of the image. */
static uint32_t append(uint8_t *image, uint32_t *bytes, const void *from, uint64_t count)
{
        uint32_t at = (uint32_t)pw_round_up(*bytes, 64);

        memcpy(image + at, from, count);
        *bytes = at + (uint32_t)count;
        return at;
}

struct pw_image *build_finish(struct build *build)
{
        struct pw_image_slice slices[4] = { { 0 } };
        struct pw_image_block blocks[4] = { { 0 } };
        uint8_t *bytes = calloc(1, sizeof *build + sizeof(struct pw_image) + 1024);
        struct pw_image *image = (struct pw_image *)bytes;
        uint32_t top = sizeof *image, text, pool;

        assert_non_null(bytes);
        text = append(bytes, &top, build->text, build->text_bytes);
        pool = append(bytes, &top, build->pool, build->pool_count * sizeof build->pool[0]);
        for (uint32_t i = 0; i < build->node_count; i++) {
                struct pw_image_node *node = &build->nodes[i];
                node->name += text;
                node->params += text;
                node->inputs = pool + node->inputs * 4;
                node->outputs = pool + node->outputs * 4;
                node->waits = pool + node->waits * 4;
                node->behind = pool + node->behind * 4;
        }
        for (uint32_t i = 0; i < build->function_count; i++) {
                build->functions[i].name += text;
                build->functions[i].module += text;
        }
        for (uint32_t i = 0; i < build->slice_count; i++)
                blocks[i] = (struct pw_image_block){ build->slices[i].block_bytes, i, 0 };
        *image = (struct pw_image){ .magic = PW_IMAGE_MAGIC, .name = text, .slice_count = build->slice_count,
                                    .value_count = build->value_count, .node_count = build->node_count,
                                    .function_count = build->function_count, .input_count = build->input_count,
                                    .result_count = build->result_count, .seq_count = build->seq_count };
        image->slices = append(bytes, &top, slices, sizeof slices);
        image->blocks = append(bytes, &top, blocks, sizeof blocks);
        image->values = append(bytes, &top, build->values, build->value_count * sizeof build->values[0]);
        image->nodes = append(bytes, &top, build->nodes, build->node_count * sizeof build->nodes[0]);
        image->functions = append(bytes, &top, build->functions, sizeof build->functions);
        image->inputs = append(bytes, &top, build->inputs, sizeof build->inputs);
        image->results = append(bytes, &top, build->results, sizeof build->results);
        image->bytes = top;
        return image;
}

struct build *build_failing(uint32_t device_count, const char *function, uint64_t shard, bool eager)
{
        static const uint32_t devices[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, device_count, 0), values[4];

        for (uint32_t i = 0; i < 4; i++)
                values[i] = build_value(build, slice, PW_F64, PW_SCALAR, i < 2 ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        build->values[values[0]].sharding = PW_BROADCAST;
        build_input(build, values[0]);
        build_call(build, &(struct build_call){ .function = function, .params = &shard, .params_bytes = 8, .inputs = { values[0] },
                                                .input_count = 1, .output = values[1] });
        build_transfer(build, &(struct build_transfer){ .from = values[1], .to = values[2], .eager = eager });
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { values[2] }, .input_count = 1, .output = values[3] });
        build_result(build, values[1]);
        build_result(build, values[3]);
        return build;
}
