/* Shardings over meshes: every element lies where it should, in every layout. */
#include "base/bits.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/size.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ELEMENTS_MAX 4096

static const struct pw_axis_sharding layouts[] = { PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1), PW_AXIS_SPLIT(2),
                                                PW_AXIS_PARTIAL(PW_SUM) };
#define LAYOUTS pw_array_count(layouts)
static const struct pw_dims shapes[] = {
        { 3, { 7, 5, 3 } }, { 3, { 8, 4, 2 } }, { 3, { 1, 1, 1 } }, { 3, { 2, 9, 1 } }, { 3, { 5, 0, 4 } }, { 4, { 3, 3, 3, 3 } },
};
static const uint32_t meshes[][PW_MESH_AXES_MAX] = { { 0, 0 }, { 1, 1 }, { 4, 0 }, { 3, 2 }, { 2, 4 }, { 1, 5 },
                                                     { 2, 3, 2 }, { 3, 1, 2 }, { 2, 2, 1, 3 } };

static struct pw_box whole_box(const struct pw_dims *dims)
{
        struct pw_box box = { .rank = dims->rank };

        memcpy(box.size, dims->dim, sizeof box.size);
        return box;
}

static void test_mesh(void **state)
{
        const uint32_t mesh[PW_MESH_AXES_MAX] = { 3, 4 };
        uint32_t coords[PW_MESH_AXES_MAX];

        (void)state;
        pw_mesh_coords(mesh, 7, coords);
        assert_int_equal(coords[0], 1);
        assert_int_equal(coords[1], 3);
        for (size_t m = 0; m < pw_array_count(meshes); m++)
                for (uint32_t place = 0; place < pw_mesh_count(meshes[m]); place++) {
                        pw_mesh_coords(meshes[m], place, coords);
                        assert_int_equal(pw_mesh_place(meshes[m], coords), place);
                }
        assert_int_equal(pw_mesh_count(meshes[0]), 1);
        assert_int_equal(pw_mesh_count(mesh), 12);
        assert_int_equal(pw_mesh_count((const uint32_t[PW_MESH_AXES_MAX]){ 1u << 8, 1u << 8, 1u << 8, 1u << 8 }), UINT32_MAX);
        pw_mesh_coords((const uint32_t[PW_MESH_AXES_MAX]){ 2, 3, 2, 5 }, 59, coords);
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                assert_int_equal(coords[axis], ((const uint32_t[]){ 1, 2, 1, 4 })[axis]);
        assert_int_equal(pw_mesh_count((const uint32_t[PW_MESH_AXES_MAX]){ 3, 0xAAAAAAABu }), UINT32_MAX); /* 1 in 32 bits */
        assert_int_equal(pw_mesh_count((const uint32_t[PW_MESH_AXES_MAX]){ 1u << 16, 1u << 16 }), UINT32_MAX);
}

static void test_mesh_text(void **state)
{
        const uint32_t line[PW_MESH_AXES_MAX] = { 4 }, all[PW_MESH_AXES_MAX] = { 2, 1, 3, 2 }, gap[PW_MESH_AXES_MAX] = { 2, 0, 2 };
        const struct pw_sharding last = PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST, PW_AXIS_BROADCAST, PW_AXIS_SPLIT(1));
        char text[80];

        (void)state;
        assert_string_equal(pw_mesh_format(line, text, sizeof text), "4 x 1");
        assert_string_equal(pw_mesh_format(all, text, sizeof text), "2 x 1 x 3 x 2");
        assert_string_equal(pw_sharding_format(&last, all, text, sizeof text), "split(0) x broadcast x broadcast x split(1)");
        assert_string_equal(pw_sharding_format(&PW_SPLIT(0), line, text, sizeof text), "split(0)");
        assert_true(pw_mesh_possible(line) && pw_mesh_possible(all) && !pw_mesh_possible(gap));
}

static void test_uneven_split(void **state)
{
        const uint32_t mesh[PW_MESH_AXES_MAX] = { 4, 0 };
        const uint64_t starts[] = { 0, 3, 6, 8 }, sizes[] = { 3, 3, 2, 2 };
        struct pw_box box;

        (void)state;
        for (uint32_t place = 0; place < 4; place++) {
                pw_shard_box(&PW_DIMS(10, 2), &PW_SPLIT(0), mesh, place, &box);
                assert_int_equal(box.start[0], starts[place]);
                assert_int_equal(box.size[0], sizes[place]);
                assert_int_equal(box.size[1], 2);
        }
}

/* Cut a value into shards and put it together again: each element is written as often as the layout holds it. */
static void scatter_and_gather(const struct pw_dims *dims, const struct pw_sharding *sharding, const uint32_t *mesh)
{
        uint16_t value[ELEMENTS_MAX], shard[ELEMENTS_MAX], back[ELEMENTS_MAX] = { 0 };
        uint32_t times[ELEMENTS_MAX] = { 0 }, ones[ELEMENTS_MAX], copies = pw_mesh_count(mesh);
        struct pw_box whole = whole_box(dims), box;
        uint64_t elements = pw_box_elements(&whole);

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (sharding->axis[i].layout == PW_LAYOUT_SPLIT && mesh[i])
                        copies /= mesh[i];
        for (uint32_t i = 0; i < ELEMENTS_MAX; i++) {
                value[i] = (uint16_t)(i + 1);
                ones[i] = 1;
        }
        for (uint32_t place = 0; place < pw_mesh_count(mesh); place++) {
                pw_shard_box(dims, sharding, mesh, place, &box);
                pw_box_copy(shard, &box, value, &whole, &box, sizeof *value);
                pw_box_copy(back, &whole, shard, &box, &box, sizeof *value);
                assert_int_equal(pw_box_reduce(times, &whole, ones, &box, &box, PW_I32, PW_SUM), PW_OK);
        }
        for (uint64_t i = 0; i < elements; i++) {
                assert_int_equal(back[i], value[i]);
                assert_int_equal(times[i], copies);
        }
}

static void test_every_layout(void **state)
{
        struct pw_error err;

        (void)state;
        for (size_t s = 0; s < pw_array_count(shapes); s++)
                for (size_t m = 0; m < pw_array_count(meshes); m++)
                        for (size_t l = 0; l < LAYOUTS * LAYOUTS * LAYOUTS * LAYOUTS; l++) {
                                struct pw_sharding sharding = { { layouts[l % LAYOUTS], layouts[l / LAYOUTS % LAYOUTS],
                                                                  layouts[l / LAYOUTS / LAYOUTS % LAYOUTS],
                                                                  layouts[l / LAYOUTS / LAYOUTS / LAYOUTS] } };
                                bool beyond = false;
                                for (uint32_t axis = 1; axis < PW_MESH_AXES_MAX; axis++)
                                        beyond |= !meshes[m][axis] && sharding.axis[axis].layout != PW_LAYOUT_BROADCAST;
                                assert_int_equal(pw_sharding_check(&sharding, &shapes[s], meshes[m], &err),
                                                 beyond ? PW_SHAPE : PW_OK);
                                if (!beyond)
                                        scatter_and_gather(&shapes[s], &sharding, meshes[m]);
                        }
}

/* From one layout to another, as receivers do it: each takes what it has in common with each sender. */
static void test_resharding(void **state)
{
        const uint32_t mesh[PW_MESH_AXES_MAX] = { 3, 2 };
        const struct pw_sharding from = PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(0));
        const struct pw_sharding to = PW_SHARDING(PW_AXIS_SPLIT(1), PW_AXIS_SPLIT(0));
        const struct pw_dims dims = PW_DIMS(11, 7);
        struct pw_box whole = whole_box(&dims), sent, received, common;
        uint8_t value[77], sender[77], receiver[77], expected[77];

        (void)state;
        for (uint8_t i = 0; i < sizeof value; i++)
                value[i] = i;
        for (uint32_t place = 0; place < 6; place++) {
                uint64_t elements = 0;
                pw_shard_box(&dims, &to, mesh, place, &received);
                for (uint32_t peer = 0; peer < 6; peer++) {
                        pw_shard_box(&dims, &from, mesh, peer, &sent);
                        if (!pw_box_meet(&sent, &received, &common))
                                continue;
                        pw_box_copy(sender, &sent, value, &whole, &sent, 1);
                        pw_box_copy(receiver, &received, sender, &sent, &common, 1);
                        elements += pw_box_elements(&common);
                }
                pw_box_copy(expected, &received, value, &whole, &received, 1);
                assert_int_equal(elements, pw_box_elements(&received));
                assert_memory_equal(receiver, expected, elements);
        }
}

static void test_boxes(void **state)
{
        struct pw_box a = { 2, { 0, 0 }, { 4, 4 } }, b = { 2, { 2, 3 }, { 4, 4 } }, apart = { 2, { 4, 0 }, { 1, 1 } }, common;
        struct pw_dims dims = pw_box_dims(&b);

        (void)state;
        assert_true(pw_box_meet(&a, &b, &common));
        assert_true(pw_box_equal(&common, &(struct pw_box){ 2, { 2, 3 }, { 2, 1 } }));
        assert_false(pw_box_meet(&a, &apart, &common));
        assert_false(pw_box_equal(&a, &b));
        assert_true(pw_dims_equal(&dims, &PW_DIMS(4, 4)));
        assert_int_equal(pw_box_elements(&(struct pw_box){ .rank = 0 }), 1);
}

static void test_scalar(void **state)
{
        struct pw_box scalar = { .rank = 0 };
        double to = 2, from = 3;

        (void)state;
        assert_int_equal(pw_box_reduce(&to, &scalar, &from, &scalar, &scalar, PW_F64, PW_PROD), PW_OK);
        assert_true(to == 6);
        pw_box_copy(&to, &scalar, &from, &scalar, &scalar, sizeof to);
        assert_true(to == 3);
}

static void test_refusals(void **state)
{
        const uint32_t mesh[PW_MESH_AXES_MAX] = { 4, 0 };
        const struct pw_dims dims = PW_DIMS(8, 3);
        struct pw_sharding bad_lay = { { { 7, 0, 0, 0 } } };
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_sharding_check(&PW_SPLIT(1), &dims, mesh, &err), PW_OK);
        assert_int_equal(pw_sharding_check(&PW_SPLIT(2), &dims, mesh, &err), PW_SHAPE);
        assert_string_equal(err.text, "sharding over axis 0 of the mesh: split(2) of a value of rank 2");
        assert_int_equal(pw_sharding_check(&PW_PARTIAL(4), &dims, mesh, &err), PW_SHAPE);
        assert_int_equal(pw_sharding_check(&bad_lay, &dims, mesh, &err), PW_SHAPE);
        assert_int_equal(pw_sharding_check(&PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0)), &dims, mesh, &err), PW_SHAPE);
        assert_string_equal(err.text, "sharding over axis 1: the mesh has no such axis");
        assert_int_equal(pw_sharding_check(&PW_BROADCAST, &(struct pw_dims){ .rank = PW_RANK_MAX + 1 }, mesh, &err), PW_SHAPE);
}

static void test_partial_by_one_op(void **state)
{
        const uint32_t grid[PW_MESH_AXES_MAX] = { 2, 2 }, line[PW_MESH_AXES_MAX] = { 2, 1 };
        const struct pw_sharding mixed = PW_SHARDING(PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(PW_MAX));
        const struct pw_sharding same = PW_SHARDING(PW_AXIS_PARTIAL(PW_MAX), PW_AXIS_PARTIAL(PW_MAX));

        (void)state;
        assert_int_equal(pw_sharding_check(&mixed, &PW_SCALAR, grid, NULL), PW_SHAPE);
        assert_int_equal(pw_sharding_check(&mixed, &PW_SCALAR, line, NULL), PW_OK);
        assert_int_equal(pw_sharding_check(&same, &PW_SCALAR, grid, NULL), PW_OK);
}

static void test_sharding_equality_and_text(void **state)
{
        const uint32_t line[PW_MESH_AXES_MAX] = { 4, 1 }, grid[PW_MESH_AXES_MAX] = { 4, 2 };
        const struct pw_sharding both = PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_PARTIAL(PW_SUM));
        char text[64], small[8];

        (void)state;
        assert_true(pw_sharding_equal(&PW_SPLIT(0), &both, line));
        assert_false(pw_sharding_equal(&PW_SPLIT(0), &both, grid));
        assert_false(pw_sharding_equal(&PW_SPLIT(0), &PW_SPLIT(1), line));
        assert_false(pw_sharding_equal(&PW_PARTIAL(PW_SUM), &PW_PARTIAL(PW_MAX), line));
        assert_true(pw_sharding_has_partial(&both, grid));
        assert_false(pw_sharding_has_partial(&both, line));
        assert_string_equal(pw_sharding_format(&both, grid, text, sizeof text), "split(0) x partial(sum)");
        assert_string_equal(pw_sharding_format(&PW_BROADCAST, line, text, sizeof text), "broadcast");
        assert_string_equal(pw_sharding_format(&both, grid, small, sizeof small), "split(0");
}

static uint64_t reduce_pair(enum pw_dtype dtype, enum pw_op op, uint64_t a, uint64_t b)
{
        struct pw_box row = { 1, { 0 }, { 19 } };
        uint64_t to[19], from[19], result = 0;
        size_t bytes = pw_dtype_bytes(dtype);

        for (size_t i = 0; i < 19; i++) {
                memcpy((char *)to + i * bytes, &a, bytes);
                memcpy((char *)from + i * bytes, &b, bytes);
        }
        assert_int_equal(pw_box_reduce(to, &row, from, &row, &row, dtype, op), PW_OK);
        for (size_t i = 1; i < 19; i++)
                assert_memory_equal(to, (char *)to + i * bytes, bytes);
        memcpy(&result, to, bytes);
        return result;
}

static uint64_t f32(float value)
{
        uint32_t bits;

        memcpy(&bits, &value, sizeof bits);
        return bits;
}

static void test_reductions(void **state)
{
        (void)state;
        assert_int_equal(reduce_pair(PW_U8, PW_SUM, 200, 100), 44);
        assert_int_equal(reduce_pair(PW_U8, PW_MAX, 200, 100), 200);
        assert_int_equal(reduce_pair(PW_I8, PW_MAX, 0xff, 1), 1);
        assert_int_equal(reduce_pair(PW_I8, PW_MIN, 0xff, 1), 0xff);
        assert_int_equal(reduce_pair(PW_I32, PW_SUM, INT32_MAX, 1), 0x80000000);
        assert_int_equal(reduce_pair(PW_I32, PW_PROD, 7, 6), 42);
        assert_true(reduce_pair(PW_I64, PW_MIN, UINT64_MAX, 5) == UINT64_MAX);
        assert_int_equal(reduce_pair(PW_U16, PW_SUM, 0xffff, 3), 2);
        assert_int_equal(reduce_pair(PW_U16, PW_MAX, 0xffff, 3), 0xffff);
        assert_int_equal(reduce_pair(PW_U16, PW_PROD, 0xffff, 0xffff), 1);
        assert_int_equal(reduce_pair(PW_U32, PW_SUM, UINT32_MAX, 3), 2);
        assert_int_equal(reduce_pair(PW_U32, PW_MIN, UINT32_MAX, 3), 3);
        assert_true(reduce_pair(PW_U64, PW_SUM, UINT64_MAX, (UINT64_C(1) << 53) + 2) == (UINT64_C(1) << 53) + 1);
        assert_true(reduce_pair(PW_U64, PW_MAX, UINT64_MAX, 5) == UINT64_MAX);
        assert_int_equal(reduce_pair(PW_F32, PW_SUM, f32(1.5f), f32(2)), f32(3.5f));
        assert_int_equal(reduce_pair(PW_F32, PW_MAX, f32(-1), f32(-2)), f32(-1));
        assert_int_equal(reduce_pair(PW_F32, PW_MAX, f32(NAN), f32(1)), f32(NAN));
        assert_int_equal(reduce_pair(PW_F32, PW_MAX, f32(1), f32(NAN)), f32(NAN));
        assert_int_equal(reduce_pair(PW_F16, PW_SUM, 0x3c00, 0x4000), 0x4200);
        assert_int_equal(reduce_pair(PW_BF16, PW_PROD, 0x4000, 0x4040), 0x40c0);
        struct pw_box scalar = { .rank = 0 };
        assert_int_equal(pw_box_reduce(NULL, &scalar, NULL, &scalar, &scalar, PW_OPAQUE, PW_SUM), PW_UNSUPPORTED);
        assert_int_equal(pw_box_reduce(NULL, &scalar, NULL, &scalar, &scalar, (enum pw_dtype)50, PW_SUM), PW_UNSUPPORTED);
}

/* The larger bool is "or", the smaller one "and", whatever byte stands for true; there is no sum and no product of them. */
static void test_reductions_of_bools(void **state)
{
        struct pw_box scalar = { .rank = 0 };
        uint8_t to = 1;

        (void)state;
        for (uint64_t a = 0; a < 4; a++)
                for (uint64_t b = 0; b < 4; b++) {
                        assert_int_equal(reduce_pair(PW_BOOL, PW_MAX, a, b), a || b);
                        assert_int_equal(reduce_pair(PW_BOOL, PW_MIN, a, b), a && b);
                }
        assert_int_equal(pw_box_reduce(&to, &scalar, &to, &scalar, &scalar, PW_BOOL, PW_SUM), PW_UNSUPPORTED);
        assert_int_equal(pw_box_reduce(&to, &scalar, &to, &scalar, &scalar, PW_BOOL, PW_PROD), PW_UNSUPPORTED);
        assert_true(pw_dtype_reduces(PW_BOOL, PW_MAX) && pw_dtype_reduces(PW_U64, PW_SUM));
        assert_false(pw_dtype_reduces(PW_BOOL, PW_SUM) || pw_dtype_reduces(PW_OPAQUE, PW_MAX));
}

/* A reduce-scatter as receivers do it, in rank order: the bits of a plain loop over the ranks. */
static void test_rank_order(void **state)
{
        enum { RANKS = 5, ROWS = 13, COLUMNS = 7 };
        const uint32_t mesh[PW_MESH_AXES_MAX] = { RANKS, 0 };
        const struct pw_dims dims = PW_DIMS(ROWS, COLUMNS);
        float values[RANKS][ROWS * COLUMNS], shard[ROWS * COLUMNS], expected;
        struct pw_box whole = whole_box(&dims), box;

        (void)state;
        for (uint32_t i = 0; i < RANKS * ROWS * COLUMNS; i++)
                values[i % RANKS][i / RANKS] = (float)(i * 2654435761u % 1000003) * (i % 3 ? 1e-3f : 1e4f);
        for (uint32_t place = 0; place < RANKS; place++) {
                pw_shard_box(&dims, &PW_SPLIT(0), mesh, place, &box);
                pw_box_copy(shard, &box, values[0], &whole, &box, sizeof *shard);
                for (uint32_t rank = 1; rank < RANKS; rank++)
                        assert_int_equal(pw_box_reduce(shard, &box, values[rank], &whole, &box, PW_F32, PW_SUM), PW_OK);
                for (uint64_t i = 0; i < pw_box_elements(&box); i++) {
                        expected = values[0][box.start[0] * COLUMNS + i];
                        for (uint32_t rank = 1; rank < RANKS; rank++)
                                expected += values[rank][box.start[0] * COLUMNS + i];
                        assert_memory_equal(&shard[i], &expected, sizeof expected);
                }
        }
}

static uint32_t living(const struct pw_sharding *sharding, const uint32_t *mesh, uint32_t place, uint64_t lost)
{
        _Atomic uint64_t bits = lost;

        return pw_living_replica(sharding, mesh, place, &bits);
}

/* Of 4,096 places, all but the last one of a row lost. */
static void test_living_replica_of_many(void **state)
{
        const uint32_t mesh[PW_MESH_AXES_MAX] = { 64, 64 };
        const struct pw_sharding rows = PW_SPLIT(0);
        _Atomic uint64_t lost[PW_BITS_WORDS(4096)] = { 0 };
        (void)state;

        for (uint32_t i = 63 * 64; i < 4095; i++)
                pw_bits_add(lost, i);
        assert_int_equal(pw_living_replica(&rows, mesh, 63 * 64 + 5, lost), 4095);
        assert_int_equal(pw_living_replica(&rows, mesh, 62 * 64 + 5, lost), 62 * 64 + 5);
        pw_bits_add(lost, 4095);
        assert_int_equal(pw_living_replica(&rows, mesh, 63 * 64 + 5, lost), UINT32_MAX);
        pw_bits_clear(lost, 4096);
        assert_int_equal(pw_living_replica(&rows, mesh, 63 * 64 + 5, lost), 63 * 64 + 5);
}

static void test_living_replica(void **state)
{
        const uint32_t mesh[PW_MESH_AXES_MAX] = { 2, 3 };
        const struct pw_sharding rows = PW_SPLIT(0);
        const struct pw_sharding part = { { PW_AXIS_BROADCAST, PW_AXIS_PARTIAL(PW_SUM) } };
        (void)state;

        assert_int_equal(living(&rows, mesh, 1, 0), 1);
        assert_int_equal(living(&rows, mesh, 1, 1u << 1), 0);
        assert_int_equal(living(&rows, mesh, 1, 1u << 1 | 1u << 0), 2);
        assert_int_equal(living(&rows, mesh, 1, 7), UINT32_MAX);
        assert_int_equal(living(&rows, mesh, 4, 7), 4);
        assert_int_equal(living(&part, mesh, 1, 1u << 1), 4);
        assert_int_equal(living(&part, mesh, 1, 1u << 1 | 1u << 4), UINT32_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_living_replica), cmocka_unit_test(test_living_replica_of_many),
                cmocka_unit_test(test_mesh),
                cmocka_unit_test(test_uneven_split),
                cmocka_unit_test(test_every_layout),
                cmocka_unit_test(test_resharding),
                cmocka_unit_test(test_boxes),
                cmocka_unit_test(test_scalar),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_partial_by_one_op),
                cmocka_unit_test(test_rank_order),
                cmocka_unit_test(test_sharding_equality_and_text),
                cmocka_unit_test(test_mesh_text), cmocka_unit_test(test_reductions), cmocka_unit_test(test_reductions_of_bools),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
