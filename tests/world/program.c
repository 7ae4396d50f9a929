/* Programs of the world: random ones, and the few that tests name; what their results must be. */
#include "tests/world/world.h"

#include "base/memory.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/image/image.h"
#include "program/lower/lower.h"

static uint32_t open_slice(struct world *world, struct pw_graph *graph, uint32_t device_count, uint32_t island_count)
{
        struct pw_slice_ask ask = { .tenant = world->tenant, .device_count = device_count, .island_count = island_count,
                                    .session = 1 };
        const struct pw_slice_map *map;
        struct pw_error err;

        if (device_count >= 4 && device_count % 2 == 0 && world_random(world, 2)) {
                ask.mesh[0] = device_count / 2;
                ask.mesh[1] = 2;
        }
        if (pw_scheduler_slice_open(world->scheduler, &ask, &map, &err) != PW_OK)
                world_fail(world, "%s", err.text);
        if (!pw_graph_add_slice(graph, map))
                world_fail(world, "out of memory");
        return graph->slice_count - 1;
}

/* Some calls get a stage of their slice, with a small quota. */
static void random_stages(struct world *world, struct pw_graph *graph)
{
        static const char *const names[] = { "one", "two", "six", "ten" };
        uint32_t stages = graph->slice_count * (1 + world_random(world, 2));

        for (uint32_t i = 0; i < stages; i++)
                if (!pw_graph_add_stage(graph, names[i], 1 + world_random(world, 3)))
                        world_fail(world, "out of memory");
        for (uint32_t i = 0; i < graph->call_count; i++) {
                uint32_t stage = graph->calls[i].slice + graph->slice_count * world_random(world, 2);
                if (stage < stages && world_random(world, 4))
                        graph->calls[i].stage = 1 + stage;
        }
}

/* Of a quota that chance made too small nothing is left. */
static enum pw_status lower(struct world *world, struct pw_graph *graph, struct pw_image **ret_image, struct pw_error *ret_err)
{
        enum pw_status status = pw_lower(graph, ret_image, ret_err);

        if (status != PW_BAD_PROGRAM || !graph->stage_count)
                return status;
        world->refused++;
        for (uint32_t i = 0; i < graph->call_count; i++)
                graph->calls[i].stage = 0;
        return pw_lower(graph, ret_image, ret_err);
}

static void discard(struct world *world, struct pw_graph *graph)
{
        for (uint32_t i = 0; i < graph->slice_count; i++)
                pw_scheduler_slice_close(world->scheduler, graph->slices[i].id);
        pw_graph_free(graph);
}

/* False: no device could ever hold a run of it. */
static bool try_compile(struct world *world, struct world_program *program, struct pw_graph *graph)
{
        struct pw_image *image = NULL;
        struct pw_error err;
        enum pw_status status = pw_graph_check(graph, &err);
        uint32_t input = 0;

        if (status == PW_OK)
                status = pw_make_shapes(graph, &err);
        if (status == PW_OK)
                status = lower(world, graph, &image, &err);
        if (status == PW_OK)
                status = pw_scheduler_program_add(world->scheduler, image, graph, world->tenant, 1, &program->handle, &err);
        if (status == PW_TOO_LARGE) {
                free(image);
                discard(world, graph);
                return false;
        }
        if (status != PW_OK)
                world_fail(world, "program %s: %s", graph->name, err.text);
        program->row = pw_scheduler_program(world->scheduler, program->handle);
        program->tenant = world->tenant;
        if (world->trace) {
                printf("program %u over %u slices\n", program->handle, graph->slice_count);
                pw_image_print(program->row->image, stdout);
        }
        for (uint32_t i = 0; i < graph->value_count; i++)
                if (graph->values[i].kind == PW_VALUE_INPUT)
                        program->donates[input++] = graph->values[i].flags & PW_DONATED;
        discard(world, graph);
        return true;
}

static void compile(struct world *world, struct world_program *program, struct pw_graph *graph)
{
        if (!try_compile(world, program, graph))
                world_fail(world, "a program does not fit");
}

/* Each axis of the mesh for itself; no dimension is split twice. */
static struct pw_sharding rich_sharding(struct world *world, const struct pw_slice_map *slice)
{
        static const struct pw_axis_sharding layouts[] = { PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1), PW_AXIS_BROADCAST };
        struct pw_sharding sharding = PW_BROADCAST;
        uint32_t first = world_random(world, 3), second = world_random(world, 3);

        sharding.axis[0] = layouts[first];
        if (slice->mesh[1] && second != first)
                sharding.axis[1] = layouts[second];
        return sharding;
}

static struct pw_sharding random_sharding(struct world *world, const struct pw_slice_map *slice)
{
        if (world->options.rich)
                return rich_sharding(world, slice);
        switch (world_random(world, slice->mesh[1] ? 3 : 2)) {
        case 0: return PW_SPLIT(0);
        case 1: return PW_BROADCAST;
        default: return (struct pw_sharding)PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1));
        }
}

/* Of up to three arguments on the same slice, one or two outputs like one of them, which may be updated in place; where that is
 * partial or a replica, an output may be either. */
static uint32_t rich_call(struct world *world, struct pw_graph *graph)
{
        static const char *const names[] = { "m/like0", "m/like1", "m/like2", "m/place0", "m/place1", "m/place2" };
        uint32_t args[3], count = 1, wanted = 1 + world_random(world, 3), like, outputs = 1 + !world_random(world, 3), slice;
        struct pw_sharding shardings[2];

        args[0] = world_random(world, graph->value_count);
        slice = graph->values[args[0]].slice;
        for (uint32_t tries = 0; tries < 8 && count < wanted; tries++) {
                args[count] = world_random(world, graph->value_count);
                count += graph->values[args[count]].slice == slice;
        }
        like = world_random(world, count);
        for (uint32_t i = 0; i < outputs; i++) {
                shardings[i] = graph->values[args[like]].sharding;
                for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                        if (graph->slices[slice].mesh[a] > 1 && shardings[i].axis[a].layout != PW_LAYOUT_SPLIT)
                                shardings[i].axis[a] = world_random(world, 2) ? (struct pw_axis_sharding)PW_AXIS_PARTIAL(PW_SUM)
                                                                              : (struct pw_axis_sharding)PW_AXIS_BROADCAST;
        }
        return pw_make_call(graph, &(struct pw_make_call){ slice, names[3 * world_random(world, 2) + like], args, count,
                                                           shardings, outputs });
}

/* A value that has no partial axis can be an argument as it is; a call's output lies as its first argument, or is partial. */
static uint32_t random_value(struct world *world, struct pw_graph *graph)
{
        uint32_t source = world_random(world, graph->value_count);
        struct pw_sharding sharding = graph->values[source].sharding, broadcast = PW_BROADCAST, partial = PW_PARTIAL(PW_SUM);
        uint32_t args[2] = { source, source }, count = 1, slice = graph->values[source].slice;
        bool is_partial = sharding.axis[0].layout == PW_LAYOUT_PARTIAL || sharding.axis[1].layout == PW_LAYOUT_PARTIAL;

        if (world_random(world, 3) == 0) {
                slice = world_random(world, graph->slice_count);
                return pw_make_as(graph, source, slice, random_sharding(world, &graph->slices[slice]));
        }
        if (world->options.rich)
                return rich_call(world, graph);
        for (uint32_t tries = 0; tries < 4 && count == 1; tries++) {
                args[1] = world_random(world, graph->value_count);
                count += graph->values[args[1]].slice == slice;
        }
        if (is_partial)
                for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                        if (sharding.axis[i].layout == PW_LAYOUT_PARTIAL)
                                sharding.axis[i] = broadcast.axis[i];
        if (!memcmp(&sharding, &broadcast, sizeof sharding) && world_random(world, 2))
                sharding = partial;
        return pw_make_call(graph, &(struct pw_make_call){ slice, world_random(world, 2) ? "m/update" : "m/any", args, count,
                                                           &sharding, 1 });
}

static struct pw_graph *random_graph(struct world *world)
{
        static const char *const names[] = { "ada", "bob", "cyd", "dot", "eve", "fay", "gus", "hal" };
        struct pw_graph *graph = pw_graph_new(names[world_random(world, 8)]);
        uint32_t slices = 1 + world_random(world, 2), inputs = 1 + world_random(world, 3), nodes = 1 + world_random(world, 12);
        struct pw_dims dims = world_random(world, 2) ? PW_DIMS(67, 5) : PW_DIMS(16, 64);
        uint32_t results;

        if (world->options.rich && dims.dim[1] == 5)
                dims = PW_DIMS(67, 12); /* no shard is empty */
        for (uint32_t i = 0; i < slices; i++) {
                uint32_t islands = 1 + world_random(world, world->options.islands);
                open_slice(world, graph, islands * (1 + world_random(world, world->options.devices_per_island)), islands);
        }
        for (uint32_t i = 0; i < inputs; i++) {
                uint32_t flags = world_random(world, 2) ? PW_DONATED : 0;
                uint32_t slice = world_random(world, slices);
                uint32_t value = pw_make_input(graph, slice, dims, random_sharding(world, &graph->slices[slice]), flags);
                const struct pw_sharding lies = graph->values[value].sharding;
                pw_make_call(graph, &(struct pw_make_call){ graph->values[value].slice, "m/update", &value, 1, &lies, 1 });
        }
        for (uint32_t i = 0; i < nodes; i++)
                random_value(world, graph);
        if (world_random(world, 2))
                random_stages(world, graph);
        results = 1 + world_random(world, WORLD_RESULTS - 1);
        for (uint32_t i = 0; i < results; i++) {
                uint32_t value = i ? world_random(world, graph->value_count) : graph->value_count - 1;
                if (!pw_graph_add_result(graph, value))
                        world_fail(world, "out of memory");
        }
        return graph;
}

/* One that fits: what a device can never hold is refused. */
void world_make_program(struct world *world, struct world_program *program)
{
        while (!try_compile(world, program, random_graph(world)))
                ;
}

/* A result that other devices read while its program runs, and a program that updates such a value in place. */
void world_make_readers(struct world *world, struct world_program *makes, struct world_program *updates)
{
        struct pw_graph *graph = pw_graph_new("makes");
        uint32_t slice = open_slice(world, graph, 2, 1), value;
        struct pw_sharding split = PW_SPLIT(0), broadcast = PW_BROADCAST;

        value = pw_make_input(graph, slice, PW_DIMS(64), split, 0);
        value = pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &value, 1, &split, 1 });
        if (!pw_graph_add_result(graph, value) || !pw_graph_add_result(graph, pw_make_as(graph, value, slice, broadcast)))
                world_fail(world, "out of memory");
        compile(world, makes, graph);
        graph = pw_graph_new("updates");
        slice = open_slice(world, graph, 2, 1);
        value = pw_make_input(graph, slice, PW_DIMS(64), split, PW_DONATED);
        value = pw_make_call(graph, &(struct pw_make_call){ slice, "m/update", &value, 1, &split, 1 });
        if (!pw_graph_add_result(graph, value))
                world_fail(world, "out of memory");
        compile(world, updates, graph);
}

void world_make_relay(struct world *world, struct world_program *program, uint64_t elements)
{
        struct pw_graph *graph = pw_graph_new("relay");
        uint32_t slice = open_slice(world, graph, 2, 1), first, second;
        struct pw_sharding split = PW_SPLIT(0), broadcast = PW_BROADCAST;
        uint32_t input = pw_make_input(graph, slice, PW_DIMS(elements), split, 0);

        first = pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &input, 1, &split, 1 });
        second = pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &first, 1, &split, 1 });
        if (!pw_graph_add_result(graph, pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &first, 1, &split, 1 })) ||
            !pw_graph_add_result(graph, pw_make_as(graph, second, slice, broadcast)))
                world_fail(world, "out of memory");
        compile(world, program, graph);
}

void world_make_all_reduce(struct world *world, struct world_program *program, uint32_t devices, uint32_t islands)
{
        struct pw_graph *graph = pw_graph_new("reduce");
        uint32_t slice = open_slice(world, graph, devices, islands), value;
        struct pw_sharding partial = PW_PARTIAL(PW_SUM), broadcast = PW_BROADCAST;

        value = pw_make_input(graph, slice, PW_DIMS(64), broadcast, PW_DONATED);
        for (uint32_t i = 0; i < 3; i++) {
                value = pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &value, 1, &partial, 1 });
                value = pw_make_call(graph, &(struct pw_make_call){ slice, "m/update", &value, 1, &broadcast, 1 });
        }
        if (!pw_graph_add_result(graph, value))
                world_fail(world, "out of memory");
        compile(world, program, graph);
}

void world_make_chain(struct world *world, struct world_program *program, const char *name, uint32_t nodes, uint64_t elements)
{
        struct pw_graph *graph = pw_graph_new(name);
        uint32_t slice = open_slice(world, graph, 1, 0), value;
        struct pw_sharding broadcast = PW_BROADCAST;

        value = pw_make_input(graph, slice, PW_DIMS(elements), broadcast, PW_DONATED);
        for (uint32_t i = 0; i < nodes; i++)
                value = pw_make_call(graph, &(struct pw_make_call){ slice, "m/update", &value, 1, &broadcast, 1 });
        if (!pw_graph_add_result(graph, value))
                world_fail(world, "out of memory");
        compile(world, program, graph);
}

void world_make_fork(struct world *world, struct world_program *program)
{
        struct pw_graph *graph = pw_graph_new("fork");
        uint32_t slice = open_slice(world, graph, 1, 0), apart = open_slice(world, graph, 1, 0);
        uint32_t input = pw_make_input(graph, slice, PW_DIMS(64), (struct pw_sharding)PW_BROADCAST, 0);
        uint32_t other = pw_make_input(graph, apart, PW_DIMS(64), (struct pw_sharding)PW_BROADCAST, 0);
        uint32_t left = PW_MAKE_CALL(graph, slice, "m/left", PW_BROADCAST, input);
        uint32_t right = PW_MAKE_CALL(graph, slice, "m/right", PW_BROADCAST, input);
        uint32_t both = PW_MAKE_CALL(graph, slice, "m/both", PW_BROADCAST, input, left);

        if (!pw_graph_add_result(graph, left) || !pw_graph_add_result(graph, right) || !pw_graph_add_result(graph, both) ||
            !pw_graph_add_result(graph, PW_MAKE_CALL(graph, apart, "m/apart", PW_BROADCAST, other)))
                world_fail(world, "out of memory");
        compile(world, program, graph);
}

void world_make_pipeline(struct world *world, struct world_program *program)
{
        static const char *const names[] = { "one", "two", "six", "ten" };
        struct pw_graph *graph = pw_graph_new("pipeline");
        uint32_t stages = 2 + world_random(world, 3), microbatches = 1 + world_random(world, 3), values[3];
        struct pw_sharding broadcast = PW_BROADCAST;

        for (uint32_t s = 0; s < stages; s++) {
                open_slice(world, graph, 1 + world_random(world, 2), 1);
                if (!pw_graph_add_stage(graph, names[s], 1 + world_random(world, 3)))
                        world_fail(world, "out of memory");
        }
        for (uint32_t m = 0; m < microbatches; m++)
                values[m] = pw_make_input(graph, 0, PW_DIMS(96), broadcast, 0);
        for (uint32_t s = 0; s < stages; s++)
                for (uint32_t m = 0; m < microbatches; m++) {
                        if (s)
                                values[m] = pw_make_as(graph, values[m], s, broadcast);
                        values[m] = pw_make_call(graph, &(struct pw_make_call){ s, "m/any", &values[m], 1, &broadcast, 1 });
                        graph->calls[graph->call_count - 1].stage = 1 + s;
                }
        for (uint32_t m = 0; m < microbatches; m++)
                if (!pw_graph_add_result(graph, values[m]))
                        world_fail(world, "out of memory");
        compile(world, program, graph);
        if (world->refused)
                world_fail(world, "a pipeline was refused");
}

/* --- what must come out ---------------------------------------------------------------------------------------------------- */

/* partly: one member of a gang failed, so that the error may be in some shards only. */
struct outcome { uint64_t value; bool error, partly; };

static bool lies(const struct world_run *run, uint32_t index, enum pw_layout how)
{
        const struct pw_image_value *value = pw_image_value(run->program->row->image, index);
        const struct pw_slice_map *slice = &run->program->row->slices[value->slice];

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (slice->mesh[i] > 1 && value->sharding.axis[i].layout == how)
                        return true;
        return false;
}

static bool is_whole(const struct world_run *run, uint32_t value)
{
        return !lies(run, value, PW_LAYOUT_SPLIT) && !lies(run, value, PW_LAYOUT_PARTIAL);
}

/* A function may make replicas of parts. Then some are in error and some are not, and what comes of it depends on which is read. */
static struct outcome evaluate_call(struct world_run *run, const struct pw_image_node *node, uint32_t index,
                                    const struct outcome *values)
{
        const struct pw_image *image = run->program->row->image;
        const uint32_t *inputs = PW_IMAGE_AT(image, uint32_t, node->inputs), *outputs = PW_IMAGE_AT(image, uint32_t, node->outputs);
        bool fails = run->failing >> (index & 63) & 1;
        struct outcome out = { .value = index + 1, .error = fails, .partly = fails && !lies(run, outputs[0], PW_LAYOUT_BROADCAST) };

        for (uint32_t i = 0; i < node->input_count; i++) {
                out.value = world_mix(out.value, values[inputs[i]].value);
                out.error |= values[inputs[i]].error;
                out.partly |= values[inputs[i]].partly;
        }
        for (uint32_t i = 0; i < node->output_count; i++)
                run->any |= out.partly && lies(run, outputs[i], PW_LAYOUT_BROADCAST);
        return out;
}

static void evaluate_node(struct world_run *run, uint32_t index, struct outcome *values)
{
        const struct pw_image *image = run->program->row->image;
        const struct pw_image_node *node = pw_image_node(image, index);
        const uint32_t *inputs = PW_IMAGE_AT(image, uint32_t, node->inputs), *outputs = PW_IMAGE_AT(image, uint32_t, node->outputs);
        struct outcome out;

        if (node->kind == PW_NODE_LOAD) {
                const struct world_object *object = run->inputs[node->input_index];
                values[outputs[0]] = (struct outcome){ object->value, object->error_expected,
                                                       object->error_expected && !run->failed[node->input_index] &&
                                                               !is_whole(run, outputs[0]) };
                return;
        }
        if (node->kind == PW_NODE_TRANSFER) {
                for (uint32_t i = 0; i < node->output_count; i++) {
                        values[outputs[i]] = values[inputs[0]];
                        values[outputs[i]].partly &= !is_whole(run, outputs[i]); /* each place has read all shards */
                }
                return;
        }
        out = evaluate_call(run, node, index, values);
        for (uint32_t i = 0; i < node->output_count; i++)
                values[outputs[i]] = (struct outcome){ world_mix(out.value, i), out.error, out.partly };
}

void world_evaluate(struct world *world, struct world_run *run)
{
        const struct pw_image *image = run->program->row->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        pw_auto_free struct outcome *values = calloc(image->value_count + 1, sizeof *values);

        if (!values)
                world_fail(world, "out of memory");
        for (uint32_t i = 0; i < image->input_count; i++) {
                struct world_object *input = run->inputs[i];
                if (!input) /* released, and seen then */
                        return;
                if (input->maker && !input->decided && !input->maker->ended)
                        world_evaluate(world, input->maker); /* what fails may have become known since */
                run->any |= (input->any && !run->failed[i]) || (!input->decided && input->maker && input->maker->any);
        }
        for (uint32_t n = 0; n < image->node_count; n++)
                evaluate_node(run, n, values);
        for (uint32_t i = 0; i < image->result_count; i++) {
                if (!run->results[i] || run->results[i]->decided)
                        continue;
                run->results[i]->value = values[results[i].value].value;
                run->results[i]->error_expected = values[results[i].value].error;
        }
}
