/* Rooms: random programs, run on virtual devices in random order, give what direct evaluation gives. */
#include "base/memory.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "tests/program/rooms_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ELEMENTS_MAX 20000

/* A random program in the making. */
struct maker {
        struct pw_graph *graph;
        struct pw_make_slice places[4];
        uint64_t seed;
};

static uint32_t draw(struct maker *maker, uint32_t below) { return pw_sim_random(&maker->seed) % below; }

/* Up to 4 slices over up to 8 devices of up to 3 islands, places in any order. */
static void add_slices(struct maker *maker)
{
        static const uint32_t meshes[][PW_MESH_AXES_MAX] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 }, { 2, 2 },
                                                             { 2, 3 }, { 8, 0 }, { 4, 2 }, { 1, 2 },
                                                             { 2, 2, 2 }, { 2, 1, 3 }, { 1, 2, 1, 2 } };
        uint32_t count = 1 + draw(maker, 4), islands = 1 + draw(maker, 3);

        for (uint32_t s = 0; s < count; s++) {
                const uint32_t *mesh = meshes[draw(maker, pw_array_count(meshes))];
                uint32_t devices[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, first = draw(maker, 9 - pw_mesh_count(mesh));
                bool shuffled = !draw(maker, 3);
                pw_make_slice(maker->graph, &maker->places[s],
                              &(struct pw_make_slice_params){ { mesh[0], mesh[1], mesh[2], mesh[3] }, first, 0, 1 });
                for (uint32_t i = 0; i < pw_mesh_count(mesh); i++) {
                        uint32_t other = i + draw(maker, 8 - i), device = devices[i];
                        devices[i] = devices[other];
                        devices[other] = device;
                        if (shuffled)
                                maker->places[s].places[i].device = (uint16_t)devices[i];
                        maker->places[s].places[i].island = (uint16_t)(maker->places[s].places[i].device * islands / 8);
                }
        }
}

static struct pw_axis_sharding draw_axis(struct maker *maker, uint32_t rank)
{
        if (!rank || draw(maker, 2))
                return (struct pw_axis_sharding)PW_AXIS_BROADCAST;
        return (struct pw_axis_sharding)PW_AXIS_SPLIT((uint8_t)draw(maker, rank));
}

/* Any sharding without partial axes. */
static struct pw_sharding draw_sharding(struct maker *maker, uint32_t slice, uint32_t rank)
{
        struct pw_sharding sharding = { { draw_axis(maker, rank), PW_AXIS_BROADCAST } };

        for (uint32_t axis = 1; axis < PW_MESH_AXES_MAX; axis++)
                if (maker->graph->slices[slice].mesh[axis])
                        sharding.axis[axis] = draw_axis(maker, rank);
        return sharding;
}

static void add_input(struct maker *maker)
{
        uint32_t slice = draw(maker, maker->graph->slice_count);
        struct pw_dims dims = { .rank = draw(maker, 4) };

        for (uint32_t i = 0; i < dims.rank; i++)
                dims.dim[i] = draw(maker, 10);
        if (!draw(maker, 6))
                dims = PW_DIMS(1 + draw(maker, 3), 4096); /* large enough for parts */
        pw_make_input(maker->graph, slice, dims, draw_sharding(maker, slice, dims.rank), 0);
}

static bool splits(const struct pw_graph_value *value, uint32_t axis)
{
        return value->sharding.axis[axis].layout == PW_LAYOUT_SPLIT;
}

static bool another_splits(const struct pw_graph_value *value, uint32_t axis, uint8_t dim)
{
        for (uint32_t other = 0; other < PW_MESH_AXES_MAX; other++)
                if (other != axis && splits(value, other) && value->sharding.axis[other].dim == dim)
                        return true;
        return false;
}

/* How an output made like `like` may lie over one axis, where some argument is split or none is. */
static struct pw_axis_sharding draw_output_axis(struct maker *maker, const struct pw_graph_value *like, uint32_t axis,
                                                bool any_split)
{
        uint32_t rank = like ? like->dims.rank : 1;
        uint8_t dim = (uint8_t)draw(maker, rank ? rank : 1);
        bool other_splits_dim = like && another_splits(like, axis, dim);

        if (like && splits(like, axis))
                return like->sharding.axis[axis];
        if (!draw(maker, 3) || (any_split && draw(maker, 2)))
                return (struct pw_axis_sharding)PW_AXIS_PARTIAL(PW_SUM);
        if (any_split && !rank)
                return (struct pw_axis_sharding)PW_AXIS_PARTIAL(PW_SUM);
        if (rank && !other_splits_dim && (any_split || !draw(maker, 3)) &&
            (!like || pw_sim_whole_count(&like->dims) < ELEMENTS_MAX / 8))
                return (struct pw_axis_sharding)PW_AXIS_SPLIT(dim);
        if (any_split)
                return (struct pw_axis_sharding)PW_AXIS_PARTIAL(PW_SUM);
        return (struct pw_axis_sharding)PW_AXIS_BROADCAST;
}

static struct pw_sharding draw_output(struct maker *maker, uint32_t slice, const uint32_t *args, uint32_t arg_count,
                                      uint32_t like)
{
        const struct pw_graph *graph = maker->graph;
        const struct pw_graph_value *model = like < arg_count ? &graph->values[args[like]] : NULL;
        struct pw_sharding sharding = PW_BROADCAST;
        uint32_t dims = 0; /* that are split and not so in the model, a bit each */

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++) {
                bool any_split = false;
                if (graph->slices[slice].mesh[axis] <= 1)
                        continue;
                for (uint32_t i = 0; i < arg_count; i++)
                        any_split = any_split || splits(&graph->values[args[i]], axis);
                sharding.axis[axis] = draw_output_axis(maker, model, axis, any_split);
                if (sharding.axis[axis].layout != PW_LAYOUT_SPLIT || (model && splits(model, axis)))
                        continue;
                if (dims >> sharding.axis[axis].dim & 1) /* nested splits need not fit */
                        sharding.axis[axis] = (struct pw_axis_sharding)PW_AXIS_PARTIAL(PW_SUM);
                else
                        dims |= 1u << sharding.axis[axis].dim;
        }
        return sharding;
}

/* A value that lies on `slice`, moved there if need be. */
static uint32_t draw_arg(struct maker *maker, uint32_t slice)
{
        uint32_t value = draw(maker, maker->graph->value_count);

        if (maker->graph->values[value].slice == slice)
                return value;
        return pw_make_as(maker->graph, value, slice,
                          draw_sharding(maker, slice, maker->graph->values[value].dims.rank));
}

static void shape(struct maker *maker)
{
        struct pw_error err;
        enum pw_status status;

        (void)!pw_graph_check(maker->graph,
                              &err); /* finds the outputs; a graph without results is refused in the end */
        status = pw_make_shapes(maker->graph, &err);
        if (status != PW_OK)
                fail_msg("%s", err.text);
}

static void add_call(struct maker *maker)
{
        uint32_t slice = draw(maker, maker->graph->slice_count), args[3], count = 1 + draw(maker, 3),
                 kind = draw(maker, 6), like;
        struct pw_sharding shardings[2];
        char function[32];

        for (uint32_t i = 0; i < count; i++) {
                args[i] = draw_arg(maker, slice);
                shape(maker);
        }
        like = kind < 5 ? draw(maker, count) : count;
        snprintf(function, sizeof function,
                 kind < 3   ? "t/place%u"
                 : kind < 5 ? "t/like%u"
                            : "t/vec%u",
                 kind < 5 ? like : 1 + draw(maker, 40));
        for (uint32_t i = 0; i < 2; i++)
                shardings[i] = draw_output(maker, slice, args, count, like);
        pw_make_call(maker->graph,
                     &(struct pw_make_call){ slice, function, args, count, shardings, 1 + !draw(maker, 4) });
        shape(maker);
}

/* The same sharding, but perhaps an axis that is partial stays so. */
static void add_as(struct maker *maker)
{
        uint32_t source = draw(maker, maker->graph->value_count), slice = draw(maker, maker->graph->slice_count);
        const struct pw_graph_value *value = &maker->graph->values[source];
        struct pw_sharding sharding = draw_sharding(maker, slice, value->dims.rank);

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (value->sharding.axis[i].layout == PW_LAYOUT_PARTIAL && !draw(maker, 2) &&
                    maker->graph->slices[value->slice].mesh[i] == maker->graph->slices[slice].mesh[i])
                        sharding.axis[i] = value->sharding.axis[i];
        pw_make_as(maker->graph, source, slice, sharding);
        shape(maker);
}

/* Update an input in place at the end, for a result. */
static void add_update(struct maker *maker, uint32_t input)
{
        const struct pw_graph_value *value = &maker->graph->values[input];
        uint32_t slice = value->slice, source = draw(maker, maker->graph->value_count);
        struct pw_sharding sharding = value->sharding;
        uint32_t other = pw_make_as(maker->graph, source, slice, PW_BROADCAST);

        shape(maker);
        assert_true(pw_graph_add_result(maker->graph,
                                        PW_MAKE_CALL(maker->graph, slice, "t/place0", sharding, input, other)));
        shape(maker);
}

static bool is_used(const struct pw_graph *graph, uint32_t value)
{
        for (uint32_t i = 0; i < graph->call_count; i++)
                for (uint32_t j = 0; j < graph->calls[i].arg_count; j++)
                        if (graph->calls[i].args[j] == value)
                                return true;
        return false;
}

/* A stage on each slice, and some of its calls in it. */
static void add_stages(struct maker *maker)
{
        struct pw_graph *graph = maker->graph;
        char name[16];

        for (uint32_t s = 0; s < graph->slice_count; s++) {
                snprintf(name, sizeof name, "s%u", s);
                assert_true(pw_graph_add_stage(graph, name, 1 + draw(maker, 4)));
        }
        for (uint32_t c = 0; c < graph->call_count; c++)
                if (draw(maker, 2))
                        graph->calls[c].stage = 1 + graph->calls[c].slice;
}

static struct pw_graph *make_random(struct maker *maker, uint64_t seed)
{
        uint32_t inputs, steps, results;

        *maker = (struct maker){ .graph = pw_graph_new("random"), .seed = seed };
        (void)draw(maker, 2);
        inputs = 1 + draw(maker, 4);
        steps = 1 + draw(maker, 14);
        results = 1 + draw(maker, 4);
        add_slices(maker);
        for (uint32_t i = 0; i < inputs; i++)
                add_input(maker);
        shape(maker);
        for (uint32_t i = 0; i < steps; i++) {
                if (draw(maker, 4))
                        add_call(maker);
                else
                        add_as(maker);
        }
        for (uint32_t i = 0; i < results; i++) { /* mostly late ones */
                uint32_t last = maker->graph->value_count - 1, reach = 1 + last / (1 + draw(maker, 4));
                assert_true(pw_graph_add_result(maker->graph, last - draw(maker, reach)));
        }
        if (draw(maker, 2))
                add_update(maker, draw(maker, inputs));
        for (uint32_t i = 0; i < inputs; i++)
                if (is_used(maker->graph, i) && draw(maker, 3))
                        maker->graph->values[i].flags = PW_DONATED;
        if (!draw(maker, 3))
                add_stages(maker);
        return maker->graph;
}

static struct pw_image *lower(struct pw_graph *graph, uint64_t seed)
{
        struct pw_image *image = NULL;
        struct pw_error err;
        enum pw_status status = pw_graph_check(graph, &err);

        if (status == PW_OK)
                status = pw_make_shapes(graph, &err);
        if (status == PW_OK)
                status = pw_lower(graph, &image, &err);
        if (status == PW_BAD_PROGRAM && graph->stage_count) { /* its quotas are too small */
                for (uint32_t s = 0; s < graph->stage_count; s++)
                        graph->stages[s].quota = 100;
                status = pw_lower(graph, &image, &err);
        }
        if (status == PW_OK)
                status = pw_image_check(image, graph->slices, graph->slice_count, &err);
        if (status != PW_OK) {
                if (image)
                        pw_image_print(image, stderr);
                fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        }
        return image;
}

static void free_results(const struct pw_graph *graph, int32_t **results)
{
        for (uint32_t i = 0; i < graph->result_count; i++)
                free(results[i]);
        free(results);
}

/* Several interleavings of one image; NULL, or what is wrong in the first that is. */
static const char *run_often(const struct pw_graph *graph, const struct pw_image *image, uint64_t seed, uint32_t times)
{
        int32_t **expected = pw_sim_direct(graph);
        const char *wrong = NULL;

        for (uint32_t i = 0; i < times && !wrong; i++) {
                bool in_place[8];
                for (uint32_t k = 0; k < 8; k++)
                        in_place[k] = pw_sim_random(&seed) & 1;
                wrong = pw_sim_run(&(struct pw_sim_params){ image, graph, in_place, seed + i }, expected);
        }
        free_results(graph, expected);
        return wrong;
}

/* The sums of what calls make in place of inputs that are donated lie there, too: as the graph's own devices run it, in parts. */
static void in_place(uint32_t dims, uint64_t seed)
{
        static struct pw_make_slice places;
        struct pw_graph *graph = pw_graph_new("t");
        struct pw_image *image;
        const char *wrong;

        pw_make_slice(graph, &places, &(struct pw_make_slice_params){ { 4 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(dims), PW_BROADCAST, PW_DONATED);
        PW_MAKE_CALL(graph, 0, "t/place0", PW_PARTIAL(PW_SUM), 0);
        assert_true(pw_graph_add_result(graph, pw_make_as(graph, 1, 0, PW_BROADCAST)));
        image = lower(graph, seed);
        assert_int_equal(pw_image_node(image, 2)->phase, PW_PHASE_PARTS);
        for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(pw_image_value(image, i)->place, PW_PLACE_RESULT);
        wrong = run_often(graph, image, seed, 50);
        if (wrong)
                fail_msg("%s", wrong);
        free(image);
        pw_graph_free(graph);
}

static void test_in_place(void **state)
{
        (void)state;
        in_place(8192, 1);
        in_place(10001, 2);
}

static void test_random_programs(void **state)
{
        const char *times = getenv("PW_ROOMS_PROGRAMS");
        uint64_t count = times ? strtoull(times, NULL, 10) : 1500, waits = 0, donated = 0, pairs = 0, steps = 0, credits = 0;
        uint64_t parts = 0;

        (void)state;
        for (uint64_t seed = 1; seed <= count; seed++) {
                struct maker maker;
                struct pw_graph *graph = make_random(&maker, seed);
                struct pw_image *image = lower(graph, seed);
                const char *wrong = run_often(graph, image, seed, 6);
                if (wrong) {
                        pw_image_print(image, stderr);
                        fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
                }
                for (uint32_t i = 0; i < image->node_count; i++) {
                        const struct pw_image_node *node = pw_image_node(image, i);
                        waits += node->wait_count - (node->send_node != PW_NODE_NONE);
                        pairs += node->send_node != PW_NODE_NONE;
                        steps += node->island_partial == 2;
                        parts += node->phase == PW_PHASE_PARTS;
                }
                for (uint32_t s = 0; s < image->stage_count; s++)
                        credits += pw_image_stage(image, s)->rooms;
                for (uint32_t i = 0; i < image->input_count; i++)
                        donated += PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[i].donated;
                free(image);
                pw_graph_free(graph);
        }
        print_message("%llu waits for rooms, %llu donated inputs, %llu pairs, %llu reductions in islands, %llu rooms of "
                      "stages, %llu reductions in parts\n",
                      (unsigned long long)waits, (unsigned long long)donated, (unsigned long long)pairs,
                      (unsigned long long)steps, (unsigned long long)credits, (unsigned long long)parts);
        assert_true(count < 1000 ||
                    (waits > 50 && donated > 50 && pairs > 50 && steps > 20 && credits > 200 && parts > 10));
}

/* The simulation is worth something only if it sees what lowering must prevent: without its waits an image goes wrong.
 */
static void test_missing_wait_is_seen(void **state)
{
        static struct pw_make_slice places;
        struct pw_graph *graph = pw_graph_new("t");
        struct pw_image *image;
        uint32_t dropped = 0;

        (void)state;
        pw_make_slice(graph, &places, &(struct pw_make_slice_params){ { 4, 0 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(100), PW_BROADCAST, 0);
        for (uint32_t i = 0; i < 4; i++)
                PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_SUM), i);
        assert_true(pw_graph_add_result(graph, 4));
        image = lower(graph, 0);
        assert_null(run_often(graph, image, 1, 50));
        for (uint32_t i = 0; i < image->node_count; i++) {
                struct pw_image_node *node = (struct pw_image_node *)(uintptr_t)pw_image_node(image, i);
                dropped += node->wait_count;
                node->wait_count = 0;
        }
        assert_int_equal(dropped, 2);
        assert_string_equal(run_often(graph, image, 1, 50), "a result is wrong");
        free(image);
        pw_graph_free(graph);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_missing_wait_is_seen),
                cmocka_unit_test(test_in_place), cmocka_unit_test(test_random_programs),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
