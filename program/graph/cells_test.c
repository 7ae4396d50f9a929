/* Cells against shards one by one. */
#include "program/graph/cells.h"

#include "base/memory.h"
#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint32_t meshes[][PW_MESH_AXES_MAX] = { { 1, 0 }, { 7, 0 }, { 4, 6 }, { 5, 3 }, { 64, 64 } };
static const struct pw_sharding shardings[] = { { { PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST } },
                                                { { PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(0) } },
                                                { { PW_AXIS_SPLIT(1), PW_AXIS_SPLIT(0) } },
                                                { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_SPLIT(1) } } };
static const struct pw_dims dims[] = { { .rank = 2, .dim = { 13, 29 } }, { .rank = 2, .dim = { 4, 4096 } },
                                       { .rank = 2, .dim = { 0, 1 } },   { .rank = 2, .dim = { 5003, 97 } } };

static struct pw_dims shard(const struct pw_dims *whole, const struct pw_sharding *sharding, const uint32_t *mesh, uint32_t place)
{
        struct pw_box box;

        pw_shard_box(whole, sharding, mesh, place, &box);
        return pw_box_dims(&box);
}

/* Each place is in the cell that is found for it, and has what the first place of that cell has. Spans add up to all places. */
static void check(const struct pw_cells *cells, const uint32_t *mesh, uint32_t first_sharding, uint32_t first_dims)
{
        uint32_t count = pw_cells_count(cells), places = 0;

        assert_int_equal(pw_cells_first(cells, 0), 0);
        for (uint32_t cell = 0; cell < count; cell++) {
                uint32_t span = 1, start;
                assert_int_equal(pw_cells_of(cells, pw_cells_first(cells, cell)), cell);
                assert_true(!cell || pw_cells_first(cells, cell) > pw_cells_first(cells, cell - 1));
                for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                        span *= pw_cells_span(cells, cell, a, &start);
                places += span;
        }
        assert_int_equal(places, pw_mesh_count(mesh));
        for (uint32_t place = 0; place < places; place++) {
                uint32_t first = pw_cells_first(cells, pw_cells_of(cells, place));
                for (uint32_t i = 0; i < 2; i++) {
                        const struct pw_dims *whole = &dims[(first_dims + i) % pw_array_count(dims)];
                        const struct pw_sharding *sharding = &shardings[(first_sharding + i) % pw_array_count(shardings)];
                        struct pw_dims own = shard(whole, sharding, mesh, place), of_first = shard(whole, sharding, mesh, first);
                        assert_true(first <= place && pw_dims_equal(&own, &of_first));
                }
        }
}

/* Two values over each mesh at a time. */
static void test_shards_of_a_cell_are_alike(void **state)
{
        (void)state;
        for (uint32_t m = 0; m < pw_array_count(meshes); m++) {
                for (uint32_t i = 0; i < pw_array_count(shardings) * pw_array_count(dims); i++) {
                        uint32_t s = i % pw_array_count(shardings), d = i / pw_array_count(shardings);
                        struct pw_cells one, cells;
                        assert_true(pw_cells_init(&one, meshes[m]) && pw_cells_cut(&one, &dims[d], &shardings[s]));
                        assert_true(pw_cells_copy(&cells, &one));
                        assert_true(pw_cells_cut(&cells, &dims[(d + 1) % pw_array_count(dims)],
                                                 &shardings[(s + 1) % pw_array_count(shardings)]));
                        check(&cells, meshes[m], s, d);
                        assert_true(pw_cells_count(&one) <= 3 * 3 && pw_cells_count(&cells) <= 5 * 5);
                        pw_cells_done(&one);
                        pw_cells_done(&cells);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_shards_of_a_cell_are_alike) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
