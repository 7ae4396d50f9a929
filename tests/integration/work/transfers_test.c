/* Every transfer between two layouts, on one to four axes, inside an island and across: values against a reference.
 *
 * Each device adds its place to what it holds (parts/mark), so a part that came from the wrong device, or was added twice or not
 * at all, shows. All numbers are small integers in f64, so sums are exact in every order.
 */
#include "tests/integration/trace.h"

#include "base/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layout { struct pw_slice *slice; uint32_t mesh[PW_MESH_AXES_MAX]; struct pw_sharding sharding; };

static uint64_t count_of(const struct pw_dims *dims)
{
        uint64_t count = 1;

        for (uint32_t i = 0; i < dims->rank; i++)
                count *= dims->dim[i];
        return count;
}

static double reduced(double a, double b, enum pw_op op)
{
        switch (op) {
        case PW_SUM: return a + b;
        case PW_MAX: return a > b ? a : b;
        case PW_MIN: return a < b ? a : b;
        case PW_PROD: return a * b;
        }
        return 0;
}

static bool is_laid(const struct layout *layout, uint32_t axis, enum pw_layout how)
{
        return layout->mesh[axis] > 1 && layout->sharding.axis[axis].layout == how;
}

/* Along broadcast axes all hold the same, so they add nothing there. */
static void weights_of(const struct layout *layout, double weights[PW_MESH_AXES_MAX])
{
        double weight = 100;

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++, weight *= 10)
                weights[axis] = is_laid(layout, axis, PW_LAYOUT_BROADCAST) ? 0 : weight;
}

/* What this place holds, another one along a broadcast axis brings. */
static bool is_copy(const struct layout *layout, const uint32_t coords[PW_MESH_AXES_MAX])
{
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                if (is_laid(layout, axis, PW_LAYOUT_BROADCAST) && coords[axis])
                        return true;
        return false;
}

static enum pw_op op_of(const struct layout *layout)
{
        uint32_t axis = 0;

        while (axis < PW_MESH_AXES_MAX - 1 && !is_laid(layout, axis, PW_LAYOUT_PARTIAL))
                axis++;
        return (enum pw_op)layout->sharding.axis[axis].op;
}

/* What the whole value is once each device has added its mark. */
static void reference(const struct layout *from, const struct pw_dims *dims, double *value)
{
        uint64_t count = count_of(dims);
        bool *seen = calloc(count + 1, sizeof *seen);
        double weights[PW_MESH_AXES_MAX];

        assert_non_null(seen);
        weights_of(from, weights);
        for (uint32_t place = 0; place < pw_mesh_count(from->mesh); place++) {
                uint32_t coords[PW_MESH_AXES_MAX];
                struct pw_box box, whole = { .rank = dims->rank }, element = { .rank = dims->rank }, common;

                pw_mesh_coords(from->mesh, place, coords);
                if (is_copy(from, coords))
                        continue;
                pw_shard_box(dims, &from->sharding, from->mesh, place, &box);
                memcpy(whole.size, dims->dim, sizeof whole.size);
                for (uint64_t i = 0; i < count; i++) {
                        uint64_t rest = i;

                        for (uint32_t d = dims->rank; d-- > 0; rest /= dims->dim[d]) {
                                element.start[d] = rest % dims->dim[d];
                                element.size[d] = 1;
                        }
                        if (!pw_box_meet(&box, &element, &common))
                                continue;
                        double own = (double)(i % 7) + 1;

                        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                                own += weights[axis] * coords[axis];
                        value[i] = seen[i] ? reduced(value[i], own, op_of(from)) : own;
                        seen[i] = true;
                }
        }
        for (uint64_t i = 0; i < count; i++)
                assert_true(seen[i]);
        free(seen);
}

/* Each shard of the result, and the whole of it. */
static void compare(struct pw_future *result, const struct layout *to, const struct pw_dims *dims, const double *value,
                    const char *what)
{
        uint64_t count = count_of(dims);
        struct pw_box whole = { .rank = dims->rank }, box;
        double *part = malloc(count * sizeof *part + 1);
        struct pw_view view;

        assert_non_null(part);
        memcpy(whole.size, dims->dim, sizeof whole.size);
        for (uint32_t place = 0; place < pw_mesh_count(to->mesh); place++) {
                struct pw_error err = { PW_OK, "" };

                if (pw_get_shard(result, place, IT_LONG, &view, &err) != PW_OK)
                        fail_msg("%s: shard %u: %s", what, place, err.text);
                pw_shard_box(dims, &to->sharding, to->mesh, place, &box);
                assert_int_equal(view.bytes, pw_box_elements(&box) * sizeof *part);
                pw_box_copy(part, &box, value, &whole, &box, sizeof *part);
                if (view.bytes && memcmp(view.data, part, view.bytes))
                        fail_msg("%s: shard %u is wrong: begins %g, not %g", what, place, *(const double *)view.data, part[0]);
                pw_view_done(&view);
        }
        it_ok(pw_get(result, 0, &view, IT_ERR));
        assert_int_equal(view.bytes, count * sizeof *value);
        if (memcmp(view.data, value, view.bytes))
                fail_msg("%s: the whole is wrong", what);
        pw_view_done(&view);
        free(part);
}

/* One program: mark in layout `from`, transfer to `to`, use it there. */
static void transfer(struct it_host *host, const struct layout *from, const struct layout *to, struct pw_dims dims)
{
        struct pw_sharding lies = from->sharding;
        struct pw_program *program = pw_program_new(host->session, "test/transfer");
        double weights[PW_MESH_AXES_MAX], *value = calloc(count_of(&dims) + 1, sizeof *value);
        char what[400], text[4][80], shape[64] = "";
        struct pw_future *input, *result;

        for (uint32_t i = 0; i < dims.rank; i++)
                snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%u", i ? "x" : "", (unsigned)dims.dim[i]);
        snprintf(what, sizeof what, "%s over %s to %s over %s of %s",
                 pw_sharding_format(&from->sharding, from->mesh, text[0], 80), pw_mesh_format(from->mesh, text[1], 80),
                 pw_sharding_format(&to->sharding, to->mesh, text[2], 80), pw_mesh_format(to->mesh, text[3], 80), shape);
        for (int i = 0; i < PW_MESH_AXES_MAX; i++)
                if (lies.axis[i].layout == PW_LAYOUT_PARTIAL)
                        lies.axis[i] = (struct pw_axis_sharding)PW_AXIS_BROADCAST;
        weights_of(from, weights);
        struct pw_value *marked = pw_call_with(program, from->slice, "parts/mark",
                                               PW_ARGS(pw_input(program, from->slice, PW_F64, dims, lies, 0)), from->sharding,
                                               &(struct pw_call_params){ .params = weights, .params_bytes = sizeof weights });
        struct pw_value *moved = from->slice == to->slice ? pw_as(marked, to->sharding) : pw_move(marked, to->slice, to->sharding);
        pw_result(program, pw_call(program, to->slice, "pw/nop", PW_ARGS(moved), to->sharding));
        struct pw_error err = { PW_OK, "" };
        if (pw_compile(program, &err) != PW_OK)
                fail_msg("%s: %s", what, err.text);

        struct pw_put_params put = { .dtype = PW_F64, .dims = dims };
        void *data;
        it_ok(pw_create(host->session, count_of(&dims) * sizeof(double), &put, &input, &data, IT_ERR));
        for (uint64_t i = 0; i < count_of(&dims); i++)
                ((double *)data)[i] = (double)(i % 7) + 1;
        it_ok(pw_seal(input, IT_ERR));
        result = it_run_1(program, input);
        reference(from, &dims, value);
        compare(result, to, &dims, value, what);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        free(value);
}

static const struct pw_axis_sharding layouts[] = {
        PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1), PW_AXIS_PARTIAL(PW_SUM),
};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

static bool is_partial(const struct pw_sharding *sharding)
{
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                if (sharding->axis[axis].layout == PW_LAYOUT_PARTIAL)
                        return true;
        return false;
}

static void all_pairs_on_one_axis(struct it_host *host, struct layout from, struct layout to, struct pw_dims dims)
{
        for (size_t a = 0; a < LAYOUTS; a++) {
                for (size_t b = 0; b < LAYOUTS - 1; b++) {
                        from.sharding = (struct pw_sharding){ { layouts[a], PW_AXIS_BROADCAST } };
                        to.sharding = (struct pw_sharding){ { layouts[b], PW_AXIS_BROADCAST } };
                        transfer(host, &from, &to, dims);
                }
        }
}

static const struct pw_dims shapes[] = {
        { 2, { 2, 2 } },     /* eager */
        { 2, { 13, 6 } },    /* uneven */
        { 2, { 3, 1 } },     /* fewer rows than devices: empty shards */
        { 2, { 130, 67 } },  /* an all-reduce in parts */
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void within_a_slice(struct it_host *host, uint32_t devices, uint32_t islands)
{
        struct layout layout = { it_slice(host->session, devices, islands), { devices, 1 }, PW_BROADCAST };

        for (size_t i = 0; i < SHAPES; i++)
                all_pairs_on_one_axis(host, layout, layout, shapes[i]);
        pw_slice_close(layout.slice);
}

static void in_one_island(void **state)
{
        within_a_slice(*state, 1, 1);
        within_a_slice(*state, 2, 1);
        within_a_slice(*state, 3, 1);
        within_a_slice(*state, 4, 1);
}

static void over_two_islands(void **state)
{
        within_a_slice(*state, 2, 2);
        within_a_slice(*state, 4, 2);
        within_a_slice(*state, 6, 2);
        within_a_slice(*state, 8, 2);
        within_a_slice(*state, 7, 0);
}

static void other_operators(void **state)
{
        static const enum pw_op ops[] = { PW_MAX, PW_MIN, PW_PROD };
        struct it_host *host = *state;

        for (uint32_t islands = 1; islands <= 2; islands++) {
                struct layout from = { it_slice(host->session, 4, islands), { 4, 1 }, PW_BROADCAST }, to = from;

                for (size_t i = 0; i < 3; i++) {
                        from.sharding = PW_PARTIAL(ops[i]);
                        transfer(host, &from, &to, shapes[1]);
                        to.sharding = PW_SPLIT(0);
                        transfer(host, &from, &to, shapes[1]);
                }
                pw_slice_close(from.slice);
        }
}

/* From `a` devices to `b` others (or, with few devices, partly the same ones): M shards to N. */
static void between(struct it_host *host, const struct pw_slice_params *a, const struct pw_slice_params *b)
{
        struct layout from = { NULL, { a->device_count, 1 }, PW_BROADCAST }, to = { NULL, { b->device_count, 1 }, PW_BROADCAST };

        it_ok(pw_slice_open(host->session, a, &from.slice, IT_ERR));
        it_ok(pw_slice_open(host->session, b, &to.slice, IT_ERR));
        all_pairs_on_one_axis(host, from, to, shapes[0]);
        all_pairs_on_one_axis(host, from, to, shapes[1]);
        pw_slice_close(from.slice);
        pw_slice_close(to.slice);
}

static void between_slices(void **state)
{
        static const struct { uint32_t from, from_island, to, to_island; } ways[] = {
                { 1, 1, 1, 1 }, { 1, 1, 1, 2 }, { 1, 1, 4, 1 }, { 1, 1, 4, 2 }, { 4, 1, 1, 1 },
                { 4, 1, 1, 2 }, { 2, 1, 3, 2 }, { 3, 2, 2, 1 }, { 4, 1, 4, 2 }, { 4, 2, 8, 0 }, { 8, 0, 3, 1 },
        };

        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
                between(*state, &(struct pw_slice_params){ .device_count = ways[i].from, .island = (int32_t)ways[i].from_island },
                        &(struct pw_slice_params){ .device_count = ways[i].to, .island = (int32_t)ways[i].to_island });
}

static void on_two_axes(struct it_host *host, uint32_t rows, uint32_t columns, uint32_t islands, struct pw_dims dims)
{
        struct layout from = { it_mesh(host->session, rows, columns, islands), { rows, columns }, PW_BROADCAST }, to = from;

        for (size_t a = 0; a < LAYOUTS * LAYOUTS; a++) {
                for (size_t b = 0; b < LAYOUTS * LAYOUTS; b++) {
                        from.sharding = (struct pw_sharding){ { layouts[a / LAYOUTS], layouts[a % LAYOUTS] } };
                        to.sharding = (struct pw_sharding){ { layouts[b / LAYOUTS], layouts[b % LAYOUTS] } };
                        if (!is_partial(&to.sharding))
                                transfer(host, &from, &to, dims);
                }
        }
        pw_slice_close(from.slice);
}

static void meshes_in_one_island(void **state)
{
        on_two_axes(*state, 2, 2, 1, shapes[0]);
        on_two_axes(*state, 2, 2, 1, shapes[1]);
}

static void meshes_over_two_islands(void **state)
{
        on_two_axes(*state, 2, 2, 2, shapes[0]);
        on_two_axes(*state, 2, 4, 2, shapes[1]);
        on_two_axes(*state, 4, 2, 2, shapes[1]);
}

/* --- three and four axes ---------------------------------------------------------------------------------------------- */

static struct layout open_mesh(struct it_host *host, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t islands)
{
        struct pw_slice_params params = { .device_count = pw_mesh_count(mesh), .island_count = islands };
        struct layout layout = { .sharding = PW_BROADCAST };

        memcpy(params.mesh, mesh, sizeof params.mesh);
        memcpy(layout.mesh, mesh, sizeof layout.mesh);
        it_ok(pw_slice_open(host->session, &params, &layout.slice, IT_ERR));
        return layout;
}

/* Layout `index` of the mesh of one to four axes, of as many as there are. */
static struct pw_sharding layout_at(const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t index)
{
        static const struct pw_axis_sharding three[] = { PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST, PW_AXIS_PARTIAL(PW_SUM),
                                                         PW_AXIS_SPLIT(2), PW_AXIS_SPLIT(1) };
        struct pw_sharding sharding = PW_BROADCAST;

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++) {
                if (mesh[axis] > 1)
                        sharding.axis[axis] = three[index % 5];
                index /= 5;
        }
        return sharding;
}

/* Some pairs of their layouts, of a value that no axis splits evenly. */
static void some_pairs(struct it_host *host, struct layout from, struct layout to, uint32_t tries)
{
        for (uint32_t i = 0; i < tries; i++) {
                from.sharding = layout_at(from.mesh, i * 97 + 1);
                to.sharding = layout_at(to.mesh, i * 61 + i / 5);
                if (!is_partial(&to.sharding))
                        transfer(host, &from, &to, PW_DIMS(5, 7, 3));
        }
}

static void more_axes(void **state)
{
        static const struct { uint32_t mesh[PW_MESH_AXES_MAX], islands; } slices[] = {
                { { 2, 1, 2 }, 1 }, { { 2, 2, 2 }, 2 }, { { 1, 2, 2, 2 }, 2 }, { { 2, 1, 2, 2 }, 2 }, { { 1, 1, 1, 4 }, 1 },
        };

        for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
                struct layout layout = open_mesh(*state, slices[i].mesh, slices[i].islands);

                some_pairs(*state, layout, layout, 120);
                pw_slice_close(layout.slice);
        }
}

static void more_axes_between_slices(void **state)
{
        static const uint32_t here[][PW_MESH_AXES_MAX] = { { 2, 2, 2 }, { 1, 2, 1, 3 } };
        static const uint32_t there[][PW_MESH_AXES_MAX] = { { 3 }, { 2, 4 }, { 2, 1, 2 }, { 1, 2, 2, 2 } };

        for (size_t a = 0; a < 2; a++)
                for (size_t b = 0; b < 4; b++) {
                        struct layout from = open_mesh(*state, here[a], 0), to = open_mesh(*state, there[b], 0);

                        some_pairs(*state, from, to, 40);
                        some_pairs(*state, to, from, 40);
                        pw_slice_close(from.slice);
                        pw_slice_close(to.slice);
                }
}

/* A mesh without a gap, of as many axes as there may be. */
static void refused_meshes(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice;

        it_fails(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 4, .mesh = { 2, 0, 2 } }, &slice, IT_ERR),
                 PW_INVALID, "{2, 0, 2, 0}|no size");
        it_fails(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 4, .mesh = { 2, 2, 2 } }, &slice, IT_ERR),
                 PW_INVALID, "2 x 2 x 2|8 places|4");
}

/* One program, whose input lies in another way in each of its runs, over as many devices. */
static void an_input_that_lies_otherwise_each_time(void **state)
{
        static const struct pw_sharding lies[] = { PW_SPLIT(0), PW_SPLIT(1), PW_BROADCAST, PW_SPLIT(0) };
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *reader = it_one_node(host->session, slice, "pw/nop", PW_DIMS(4, 4), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(4, 4), 1);
        double expected[16];

        for (int i = 0; i < 16; i++)
                expected[i] = 1 + i;
        for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
                struct pw_program *maker = pw_program_new(host->session, "test/layout");
                struct pw_future *laid, *result;

                pw_result(maker, pw_call(maker, slice, "pw/nop",
                                         PW_ARGS(pw_input(maker, slice, PW_F64, PW_DIMS(4, 4), lies[i], 0)), lies[i]));
                it_ok(pw_compile(maker, IT_ERR));
                laid = it_run_1(maker, input);
                result = it_run_1(reader, laid);
                it_expect_f64(result, expected, 16);
                pw_unref(laid);
                pw_unref(result);
                pw_program_free(maker);
        }
        pw_unref(input);
        pw_program_free(reader);
        pw_slice_close(slice);
}

/* One call over the devices of island 0 as a mesh, split by rows along its first axis and by columns along the second. */
static struct pw_program *split_over(struct it_host *host, uint32_t rows, uint32_t columns, struct pw_slice **ret_slice)
{
        const struct pw_sharding split = PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1));
        struct pw_program *program = pw_program_new(host->session, "test/split");

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 4, .island = 1, .mesh = { rows, columns } },
                            ret_slice, IT_ERR));
        pw_result(program, pw_call(program, *ret_slice, "pw/nop",
                                   PW_ARGS(pw_input(program, *ret_slice, PW_F64, PW_DIMS(8, 8), split, 0)), split));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* A result on the same devices, in shards of as many bytes and split by the same words, lies otherwise where the mesh is
 * another. */
static void an_input_over_another_mesh(void **state)
{
        static const uint32_t rows[] = { 4, 1, 2 };
        struct it_host *host = *state;
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8, 8), 1);
        struct pw_program *programs[3];
        struct pw_slice *slices[3];
        double expected[64];

        for (int i = 0; i < 64; i++)
                expected[i] = 1 + i;
        for (int i = 0; i < 3; i++)
                programs[i] = split_over(host, rows[i], 4 / rows[i], &slices[i]);
        for (int i = 0; i < 9; i++) {
                struct pw_future *laid = it_run_1(programs[i / 3], input), *result = it_run_1(programs[i % 3], laid);

                it_expect_f64(result, expected, 64);
                pw_unref(laid);
                pw_unref(result);
        }
        for (int i = 0; i < 3; i++) {
                pw_program_free(programs[i]);
                pw_slice_close(slices[i]);
        }
        pw_unref(input);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(in_one_island),    IT_TEST(over_two_islands),     IT_TEST(other_operators),
                IT_TEST(between_slices),   IT_TEST(meshes_in_one_island), IT_TEST(meshes_over_two_islands),
                IT_TEST(an_input_that_lies_otherwise_each_time), IT_TEST(an_input_over_another_mesh),
                IT_TEST(more_axes), IT_TEST(more_axes_between_slices), IT_TEST(refused_meshes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
