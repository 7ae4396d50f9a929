/* Ranges of values over meshes against the value itself. */
#include "base/gather.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHARDS_MAX 16

struct spread {
        struct pw_gather gather;
        uint32_t *whole, *shards[SHARDS_MAX];
        uint64_t elements;
        uint32_t asked;
};

static enum pw_status shard(void *context, uint32_t place, const struct pw_box *box, const uint8_t **ret_data,
                            struct pw_error *ret_err)
{
        struct spread *spread = context;

        (void)box, (void)ret_err;
        spread->asked++;
        *ret_data = (const uint8_t *)spread->shards[place];
        return PW_OK;
}

/* Element i is i; of partial axes the first place has that, and the others bring 0. */
static void spread_out(struct spread *spread, struct pw_dims dims, struct pw_sharding sharding, uint32_t x, uint32_t y)
{
        struct pw_box all = { .rank = dims.rank }, box;

        *spread = (struct spread){ .gather = { .dims = dims, .sharding = sharding, .mesh = { x, y }, .dtype = PW_U32,
                                               .element_bytes = 4, .shard = shard, .context = spread }, .elements = 1 };
        for (uint32_t i = 0; i < dims.rank; i++)
                spread->elements *= all.size[i] = dims.dim[i];
        spread->whole = malloc(spread->elements * 4 + 4);
        for (uint64_t i = 0; i < spread->elements; i++)
                spread->whole[i] = (uint32_t)i;
        for (uint32_t place = 0; place < pw_mesh_count(spread->gather.mesh); place++) {
                uint32_t coords[PW_MESH_AXES_MAX];
                bool brings = true;

                pw_mesh_coords(spread->gather.mesh, place, coords);
                pw_shard_box(&dims, &sharding, spread->gather.mesh, place, &box);
                spread->shards[place] = calloc(pw_box_elements(&box) + 1, 4);
                for (uint32_t axis = 0; axis < 2; axis++)
                        brings &= sharding.axis[axis].layout != PW_LAYOUT_PARTIAL || coords[axis] == 0;
                if (brings)
                        pw_box_copy(spread->shards[place], &box, spread->whole, &all, &box, 4);
        }
}

static void done(struct spread *spread)
{
        for (uint32_t i = 0; i < SHARDS_MAX; i++)
                free(spread->shards[i]);
        free(spread->whole);
}

static void check_all_ranges(struct spread *spread)
{
        uint32_t *to = malloc(spread->elements * 4 + 4);

        for (uint64_t first = 0; first < spread->elements; first++)
                for (uint64_t count = 0; count <= spread->elements - first; count++) {
                        memset(to, 0xee, spread->elements * 4 + 4);
                        assert_int_equal(pw_gather_range(&spread->gather, first, count, to, NULL), PW_OK);
                        assert_memory_equal(to, spread->whole + first, count * 4);
                        assert_int_equal(to[count], 0xeeeeeeee);
                }
        free(to);
}

static void every_range(void **state)
{
        const struct pw_dims dims[] = { { .rank = 1, .dim = { 13 } }, { .rank = 2, .dim = { 5, 7 } },
                                        { .rank = 3, .dim = { 3, 4, 5 } }, { .rank = 4, .dim = { 2, 1, 3, 4 } } };
        const enum pw_layout layouts[] = { PW_LAYOUT_SPLIT, PW_LAYOUT_BROADCAST, PW_LAYOUT_PARTIAL };
        struct spread spread;

        (void)state;
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
                for (uint32_t first = 0; first < 3; first++)
                        for (uint32_t second = 0; second < 3; second++) {
                                struct pw_sharding sharding = { .axis = { { .layout = layouts[first] },
                                                                          { .layout = layouts[second],
                                                                            .dim = (uint8_t)(dims[d].rank - 1) } } };

                                spread_out(&spread, dims[d], sharding, 2, 3);
                                check_all_ranges(&spread);
                                done(&spread);
                        }
}

/* A chunk asks for the shards that it is of, and no others. */
static void only_what_is_needed(void **state)
{
        struct pw_sharding rows = { .axis = { { .layout = PW_LAYOUT_SPLIT } } };
        struct spread spread;
        uint32_t to[32];

        (void)state;
        spread_out(&spread, (struct pw_dims){ .rank = 2, .dim = { 8, 16 } }, rows, 8, 0);
        assert_int_equal(pw_gather_range(&spread.gather, 40, 20, to, NULL), PW_OK);
        assert_in_range(spread.asked, 2, 4);
        assert_false(pw_sharding_is_whole(&rows, spread.gather.mesh));
        done(&spread);
}

static void of_no_axis(void **state)
{
        struct spread spread;
        uint32_t to = 9;

        (void)state;
        spread_out(&spread, (struct pw_dims){ .rank = 0 },
                   (struct pw_sharding){ .axis = { { .layout = PW_LAYOUT_BROADCAST } } }, 2, 0);
        assert_int_equal(pw_gather_range(&spread.gather, 0, 1, &to, NULL), PW_OK);
        assert_int_equal(to, 0);
        assert_true(pw_sharding_is_whole(&spread.gather.sharding, spread.gather.mesh));
        done(&spread);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(every_range), cmocka_unit_test(only_what_is_needed),
                                            cmocka_unit_test(of_no_axis) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
