/* Sources: whatever the layout, what a receiver reads adds up to what it wants, once. */
#include "base/memory.h"
#include "base/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PLACES_MAX 16
#define ELEMENTS_MAX 64

static const struct pw_axis_sharding layouts[] = { PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1), PW_AXIS_PARTIAL(PW_SUM) };
static const uint32_t meshes[][PW_MESH_AXES_MAX] = { { 1, 0 }, { 4, 0 }, { 2, 3 }, { 4, 2 } };
#define IN(h, i) { .host = (h), .island = (i) }
static const struct pw_slice_place one_island[PLACES_MAX];
static const struct pw_slice_place two_islands[PLACES_MAX] = { IN(0, 0), IN(0, 0), IN(0, 1), IN(0, 1),
                                                               IN(0, 1), IN(0, 1), IN(0, 1), IN(0, 1) };
static const struct pw_slice_place halves[PLACES_MAX] = { IN(0, 0), IN(0, 0), IN(0, 0), IN(0, 0),
                                                          IN(0, 1), IN(0, 1), IN(0, 1), IN(0, 1) };
/* Each host numbers its islands from 0. */
static const struct pw_slice_place two_hosts[PLACES_MAX] = { IN(5, 0), IN(5, 0), IN(5, 0), IN(5, 0),
                                                             IN(9, 0), IN(9, 0), IN(9, 0), IN(9, 0) };

/* How often a receiver's wanted box is covered: each contribution counts 1, so a whole value counts `contributions`. */
static void check_cover(const struct pw_value_layout *layout, const struct pw_receiver *receiver, uint64_t contributions)
{
        uint32_t places[PLACES_MAX], groups[PLACES_MAX], count = pw_sources(layout, receiver, places, groups);
        int32_t covered[ELEMENTS_MAX] = { 0 }, ones[ELEMENTS_MAX];
        uint64_t elements = pw_box_elements(&receiver->wanted);

        for (uint32_t i = 0; i < ELEMENTS_MAX; i++)
                ones[i] = 1;
        for (uint32_t i = 0; i < count; i++) {
                struct pw_box box, part;
                pw_shard_box(&layout->dims, &layout->sharding, layout->mesh, places[i], &box);
                assert_true(pw_box_meet(&box, &receiver->wanted, &part));
                assert_int_equal(pw_box_reduce(covered, &receiver->wanted, ones, &box, &part, PW_I32, PW_SUM), PW_OK);
                if (i && groups[i] == groups[i - 1])
                        assert_true(places[i] > places[i - 1]);
                else
                        assert_int_equal(groups[i], i ? groups[i - 1] + 1 : 0);
        }
        for (uint64_t i = 0; i < elements; i++)
                assert_int_equal(covered[i], contributions);
}

static uint64_t contributions_of(const struct pw_value_layout *layout)
{
        uint32_t part, part_count;

        pw_sources_part(&layout->sharding, layout->mesh, 0, &part, &part_count);
        return part_count;
}

/* Every source layout and every destination layout over the same mesh. */
static void check_mesh(const uint32_t mesh[PW_MESH_AXES_MAX], const struct pw_slice_place *at)
{
        for (uint32_t i = 0; i < pw_array_count(layouts) * pw_array_count(layouts) * 9; i++) {
                struct pw_value_layout layout = { .dims = PW_DIMS(5, 3), .places = at };
                struct pw_sharding to = { { layouts[i % 3], layouts[i / 3 % 3] } };
                layout.sharding = (struct pw_sharding){ { layouts[i / 9 % 4], layouts[i / 36 % 4] } };
                memcpy(layout.mesh, mesh, sizeof layout.mesh);
                for (uint32_t place = 0; place < pw_mesh_count(mesh); place++) {
                        struct pw_receiver receiver = { .place = place, .number = place, .at = at[place],
                                                        .part_count = 1 };
                        pw_shard_box(&layout.dims, &to, mesh, place, &receiver.wanted);
                        check_cover(&layout, &receiver, contributions_of(&layout));
                        receiver.place = PW_PLACE_NONE;
                        check_cover(&layout, &receiver, contributions_of(&layout));
                }
        }
}

static void test_every_layout_is_covered(void **state)
{
        (void)state;
        for (uint32_t m = 0; m < pw_array_count(meshes); m++) {
                check_mesh(meshes[m], one_island);
                check_mesh(meshes[m], two_islands);
                check_mesh(meshes[m], two_hosts);
        }
}

static uint32_t ask(const struct pw_value_layout *layout, struct pw_receiver receiver, uint32_t ret_places[PLACES_MAX])
{
        uint32_t groups[PLACES_MAX];

        receiver.wanted = (struct pw_box){ .rank = layout->dims.rank };
        memcpy(receiver.wanted.size, layout->dims.dim, sizeof receiver.wanted.size);
        return pw_sources(layout, &receiver, ret_places, groups);
}

/* Replicas: the own one, else one in the own island, else receivers spread over them. */
static void test_replicas(void **state)
{
        struct pw_value_layout layout = { .dims = PW_DIMS(3), .mesh = { 8, 0 }, .sharding = PW_BROADCAST, .places = halves };
        uint32_t places[PLACES_MAX];
        (void)state;

        assert_int_equal(ask(&layout, (struct pw_receiver){ .place = 6, .at = IN(0, 1), .part_count = 1 }, places), 1);
        assert_int_equal(places[0], 6);
        assert_int_equal(
                ask(&layout, (struct pw_receiver){ .place = PW_PLACE_NONE, .number = 1, .at = IN(0, 1), .part_count = 1 },
                    places), 1);
        assert_int_equal(places[0], 4);
        for (uint32_t number = 0; number < 8; number++) {
                assert_int_equal(ask(&layout,
                                     (struct pw_receiver){ .place = PW_PLACE_NONE, .number = number, .at = IN(0, 7),
                                                           .part_count = 1 },
                                     places), 1);
                assert_int_equal(places[0], number);
        }
}

/* A reduction in two steps: within the island, then one of each island. */
static void check_two_steps(const struct pw_slice_place *at)
{
        struct pw_value_layout layout = { .dims = PW_DIMS(3), .mesh = { 8, 0 }, .sharding = PW_PARTIAL(PW_SUM), .places = at };
        struct pw_receiver receiver = { .place = 5, .number = 5, .at = at[5], .part = 5, .part_count = 8 };
        uint32_t places[PLACES_MAX];

        receiver.flags = PW_SOURCES_OWN_ISLAND;
        assert_int_equal(ask(&layout, receiver, places), 4);
        for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(places[i], 4 + i);
        receiver.flags = PW_SOURCES_REDUCED;
        receiver.part = 0;
        receiver.part_count = 1;
        assert_int_equal(ask(&layout, receiver, places), 2);
        assert_int_equal(places[0], 1); /* 5 modulo the 4 places of island 0 */
        assert_int_equal(places[1], 5); /* its own */
}

static void test_two_steps(void **state)
{
        (void)state;
        check_two_steps(halves);
        check_two_steps(two_hosts);
}

/* Partial to partial: together the receivers read each contribution once. */
static void test_partial_stays_partial(void **state)
{
        struct pw_value_layout layout = { .dims = PW_DIMS(3), .mesh = { 8, 0 }, .sharding = PW_PARTIAL(PW_SUM) };
        uint32_t seen[8] = { 0 }, places[PLACES_MAX];
        (void)state;

        for (uint32_t part = 0; part < 3; part++) {
                uint32_t count = ask(&layout, (struct pw_receiver){ .place = PW_PLACE_NONE, .part = part, .part_count = 3 },
                                     places);
                for (uint32_t i = 0; i < count; i++)
                        seen[places[i]]++;
        }
        for (uint32_t i = 0; i < 8; i++)
                assert_int_equal(seen[i], 1);
        assert_int_equal(ask(&layout, (struct pw_receiver){ .place = PW_PLACE_NONE, .part = 9, .part_count = 16 }, places), 0);
}

static void test_nothing_wanted(void **state)
{
        struct pw_value_layout layout = { .dims = PW_DIMS(0, 4), .mesh = { 4, 0 }, .sharding = PW_SPLIT(1) };
        uint32_t places[PLACES_MAX];
        (void)state;

        assert_int_equal(ask(&layout, (struct pw_receiver){ .place = 0, .part_count = 1 }, places), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_layout_is_covered), cmocka_unit_test(test_replicas),
                cmocka_unit_test(test_two_steps),               cmocka_unit_test(test_partial_stays_partial),
                cmocka_unit_test(test_nothing_wanted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
