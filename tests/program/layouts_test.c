/* Every transfer between two layouts over meshes of one to four axes, within a slice and between two, in islands and across them,
 * with uneven parts: lowered, run on virtual devices, and compared with what direct evaluation gives; or refused, where there is
 * none. What is partial is of contributions that differ, so one read twice, or in place of another, shows. */
#include "base/memory.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/graph/shape.h"
#include "program/lower/transfer.h"
#include "tests/program/rooms_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How the places of a slice lie in islands: all in one, in halves, in turns. */
enum spread { ONE, HALVES, TURNS, SPREADS };

static const uint32_t meshes[][PW_MESH_AXES_MAX] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 }, { 2, 2 }, { 2, 3 }, { 3, 2 } };
/* Of so many layouts that not every pair is tried. */
static const uint32_t more_axes[][PW_MESH_AXES_MAX] = { { 2, 2, 2 },    { 2, 3, 2 },    { 3, 1, 2 },
                                                         { 2, 2, 2, 2 }, { 3, 2, 1, 2 }, { 1, 2, 3, 2 } };
static const struct pw_axis_sharding layouts[] = { PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1), PW_AXIS_PARTIAL(PW_SUM),
                                                PW_AXIS_PARTIAL(PW_MAX), PW_AXIS_SPLIT(2) };
#define LAYOUTS ((uint32_t)pw_array_count(layouts) - 1) /* of values of two dims */

/* A layout over a slice of its own. */
struct layout { const uint32_t *mesh; enum spread spread; uint32_t first; struct pw_sharding sharding; };

static uint64_t transfers, refused;

/* Layout `index` of the mesh, each of whose axes that have more than one place is laid in one of `count` ways; false: behind the
 * last. */
static bool any_sharding_at(const uint32_t *mesh, uint32_t count, uint32_t index, struct pw_sharding *ret_sharding)
{
        *ret_sharding = PW_BROADCAST;
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++) {
                if (mesh[axis] <= 1)
                        continue;
                ret_sharding->axis[axis] = layouts[index % count];
                index /= count;
        }
        return !index;
}

static bool sharding_at(const uint32_t *mesh, uint32_t index, struct pw_sharding *ret_sharding)
{
        return any_sharding_at(mesh, LAYOUTS, index, ret_sharding);
}

/* A value has one operator. */
static bool has_two_operators(const struct pw_sharding *sharding)
{
        const struct pw_axis_sharding *partial = NULL;

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                const struct pw_axis_sharding *axis = &sharding->axis[i];
                if (axis->layout == PW_LAYOUT_PARTIAL && partial && partial->op != axis->op)
                        return true;
                partial = axis->layout == PW_LAYOUT_PARTIAL ? axis : partial;
        }
        return false;
}

static void add_slice(struct pw_graph *graph, struct pw_make_slice *slice, const struct layout *layout)
{
        uint32_t count = pw_mesh_count(layout->mesh);
        bool halves = layout->spread == HALVES && count > 1;

        struct pw_make_slice_params params = { .first = layout->first, .island_count = halves ? 2 : 1 };

        memcpy(params.mesh, layout->mesh, sizeof params.mesh);
        pw_make_slice(graph, slice, &params);
        for (uint32_t i = 0; layout->spread == TURNS && i < count; i++)
                slice->places[i].island = (uint16_t)(i % 2);
}

/* A function's output in layout `from`, of inputs that make each contribution another, is brought into layout `to`. */
static struct pw_graph *make(struct pw_make_slice slices[2], const struct layout *from, const struct layout *to,
                             struct pw_dims dims)
{
        struct pw_graph *graph = pw_graph_new("t");
        struct pw_sharding differs = PW_BROADCAST;
        uint32_t value;

        add_slice(graph, &slices[0], from);
        if (to->mesh != from->mesh || to->first != from->first)
                add_slice(graph, &slices[1], to);
        for (uint8_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (from->sharding.axis[i].layout != PW_LAYOUT_BROADCAST)
                        differs.axis[i] = (struct pw_axis_sharding)PW_AXIS_SPLIT(i);
        pw_make_input(graph, 0, dims, pw_sharding_completed(from->sharding), 0);
        pw_make_input(graph, 0, PW_DIMS(7, 5, 5, 3), differs, 0);
        value = PW_MAKE_CALL(graph, 0, "t/like0", from->sharding, 0, 1);
        value = pw_make_as(graph, value, graph->slice_count - 1, to->sharding);
        assert_true(pw_graph_add_result(graph, value));
        return graph;
}

static bool there_is_one(const struct pw_graph *graph, const struct layout *from, const struct layout *to)
{
        const struct pw_slice_map *last = &graph->slices[graph->slice_count - 1];
        struct pw_transfer_ends ends = { &from->sharding, graph->slices, &to->sharding, last,
                                         NULL, last == graph->slices, false };

        return pw_transfer_check(&ends, NULL) == PW_OK;
}

static void transfer(const struct layout *from, const struct layout *to, struct pw_dims dims)
{
        struct pw_make_slice slices[2];
        struct pw_graph *graph = make(slices, from, to, dims);
        struct pw_image *image = NULL;
        char text[4][80], what[300];
        struct pw_error err;
        enum pw_status status = pw_graph_check(graph, &err);

        snprintf(what, sizeof what, "%s over %s to %s over %s, spread %d and %d, %u by %u",
                 pw_sharding_format(&from->sharding, from->mesh, text[0], 80), pw_mesh_format(from->mesh, text[1], 80),
                 pw_sharding_format(&to->sharding, to->mesh, text[2], 80), pw_mesh_format(to->mesh, text[3], 80), from->spread,
                 to->spread, (unsigned)dims.dim[0], (unsigned)dims.dim[1]);
        if (status == PW_OK)
                status = pw_make_shapes(graph, &err);
        if (status == PW_OK)
                status = pw_lower(graph, &image, &err);
        if (status == PW_OK)
                status = pw_image_check(image, graph->slices, graph->slice_count, &err);
        if (status == PW_SHAPE && !there_is_one(graph, from, to)) {
                refused++;
        } else if (status != PW_OK) {
                fail_msg("%s: %s", what, err.text);
        } else {
                int32_t **expected = pw_sim_direct(graph);
                struct pw_sim_params params = { image, graph, (const bool[2]){ false }, transfers++ };
                const char *wrong = pw_sim_run(&params, expected);
                if (wrong)
                        fail_msg("%s: %s", what, wrong);
                free(expected[0]);
                free(expected);
        }
        free(image);
        pw_graph_free(graph);
}

static void all_pairs(struct layout from, struct layout to, struct pw_dims dims)
{
        for (uint32_t a = 0; sharding_at(from.mesh, a, &from.sharding); a++)
                for (uint32_t b = 0; sharding_at(to.mesh, b, &to.sharding); b++)
                        if (!has_two_operators(&from.sharding) && !has_two_operators(&to.sharding))
                                transfer(&from, &to, dims);
}

/* Uneven parts; as many rows as one axis has places; fewer, so that some parts are empty. */
static const struct pw_dims shapes[] = { { 2, { 5, 7 } }, { 2, { 3, 2 } }, { 2, { 1, 3 } } };

static void test_within_a_slice(void **state)
{
        (void)state;
        for (uint32_t m = 0; m < pw_array_count(meshes); m++)
                for (enum spread spread = ONE; spread < SPREADS; spread++)
                        for (uint32_t i = 0; i < pw_array_count(shapes); i++)
                                all_pairs((struct layout){ meshes[m], spread, 0, PW_BROADCAST },
                                          (struct layout){ meshes[m], spread, 0, PW_BROADCAST }, shapes[i]);
}

/* The other slice has devices of its own; in one island some are the same. */
static void test_between_slices(void **state)
{
        (void)state;
        for (uint32_t a = 0; a < pw_array_count(meshes); a++)
                for (uint32_t b = 0; b < pw_array_count(meshes); b++)
                        for (enum spread spread = ONE; spread < SPREADS; spread++) {
                                enum spread other = spread == ONE ? ONE : (spread + a + b) % SPREADS;
                                all_pairs((struct layout){ meshes[a], spread, 0, PW_BROADCAST },
                                          (struct layout){ meshes[b], other, spread == ONE ? 2 : 6, PW_BROADCAST }, shapes[0]);
                        }
}

/* From 32 KiB on reductions go in parts. */
static void test_large(void **state)
{
        static const struct pw_dims large[] = { { 2, { 5, 2003 } }, { 2, { 9001, 1 } } };

        (void)state;
        for (uint32_t m = 1; m < pw_array_count(meshes); m++)
                for (enum spread spread = ONE; spread < SPREADS; spread += HALVES - ONE)
                        for (uint32_t i = 0; i < pw_array_count(large); i++) {
                                struct layout from = { meshes[m], spread, 0, PW_BROADCAST }, to = from;
                                for (uint32_t a = 0; sharding_at(from.mesh, a, &from.sharding); a++) {
                                        to.sharding = pw_sharding_completed(from.sharding);
                                        if (!has_two_operators(&from.sharding))
                                                transfer(&from, &to, large[i]);
                                }
                        }
}

/* A value of three dims over meshes of three and four axes, uneven along each: some thousand pairs of layouts, taken by strides
 * that share no divisor with their numbers. */
static void some_pairs(struct layout from, struct layout to, uint32_t tries)
{
        static const struct pw_dims uneven = { 3, { 5, 7, 3 } };
        const uint32_t ways = (uint32_t)pw_array_count(layouts);
        uint32_t from_count = 0, to_count = 0;

        while (any_sharding_at(from.mesh, ways, from_count, &from.sharding))
                from_count++;
        while (any_sharding_at(to.mesh, ways, to_count, &to.sharding))
                to_count++;
        for (uint32_t i = 0; i < tries; i++) {
                (void)any_sharding_at(from.mesh, ways, i * 101 % from_count, &from.sharding);
                (void)any_sharding_at(to.mesh, ways, (i * 67 + i / from_count) % to_count, &to.sharding);
                if (!has_two_operators(&from.sharding) && !has_two_operators(&to.sharding))
                        transfer(&from, &to, uneven);
        }
}

static void test_more_axes(void **state)
{
        uint64_t before = transfers;

        (void)state;
        for (uint32_t m = 0; m < pw_array_count(more_axes); m++)
                for (enum spread spread = ONE; spread < SPREADS; spread++) {
                        struct layout layout = { more_axes[m], spread, 0, PW_BROADCAST };
                        some_pairs(layout, layout, 1500);
                }
        assert_true(transfers - before > 3000);
}

static void test_more_axes_between_slices(void **state)
{
        uint64_t before = transfers;

        (void)state;
        for (uint32_t m = 0; m < pw_array_count(more_axes); m++)
                for (uint32_t o = 0; o < pw_array_count(meshes) + pw_array_count(more_axes); o++) {
                        const uint32_t *other = o < pw_array_count(meshes) ? meshes[o] : more_axes[o - pw_array_count(meshes)];
                        struct layout here = { more_axes[m], (m + o) % SPREADS, 0, PW_BROADCAST };
                        struct layout there = { other, o % SPREADS, here.spread == ONE ? 2 : 16, PW_BROADCAST };
                        some_pairs(here, there, 200);
                        some_pairs(there, here, 200);
                }
        assert_true(transfers - before > 3000);
}

static void test_all_were_tried(void **state)
{
        (void)state;
        print_message("%llu transfers, %llu refused\n", (unsigned long long)transfers, (unsigned long long)refused);
        assert_true(transfers > 1000 && refused > 1000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_within_a_slice), cmocka_unit_test(test_between_slices), cmocka_unit_test(test_large),
                cmocka_unit_test(test_more_axes), cmocka_unit_test(test_more_axes_between_slices),
                cmocka_unit_test(test_all_were_tried),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
