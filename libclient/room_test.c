/* Rows of extents over a control memory that the test writes as the daemon would. */
#include "libclient/room.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SLOTS 1024u
#define SEGMENT_BYTES (64 * PW_MIB)

struct world {
        uint8_t *control;
        struct pw_grant_bounds bounds;
        struct pw_row row;
};

static int setup(void **state)
{
        struct world *world = calloc(1, sizeof *world);
        uint64_t bytes = PW_CONTROL_RINGS_OFFSET + 64 * PW_KIB;
        world->control = aligned_alloc(PW_LINE_BYTES, bytes);
        memset(world->control, 0, bytes);
        world->bounds = (struct pw_grant_bounds){ world->control, bytes, SLOTS, SEGMENT_BYTES };
        *state = world;
        return 0;
}

static int teardown(void **state)
{
        struct world *world = *state;
        pw_row_clear(&world->row);
        free(world->control);
        free(world);
        return 0;
}

static Pathways__Wire__RoomGrant grant_of(uint32_t extent, uint32_t first_slot, uint32_t slot_count)
{
        Pathways__Wire__RoomGrant grant = PATHWAYS__WIRE__ROOM_GRANT__INIT;
        grant.extent = extent;
        grant.first_slot = first_slot;
        grant.slot_count = slot_count;
        grant.room_offset = SLOTS * 64;
        grant.room_bytes = 1024;
        grant.return_ring = PW_CONTROL_RINGS_OFFSET + extent * 1024;
        return grant;
}

static struct pw_return_writer returns_of(struct world *world, const Pathways__Wire__RoomGrant *grant)
{
        return pw_return_ring_init((struct pw_return_ring *)(void *)(world->control + grant->return_ring), grant->slot_count);
}

static void expect_slot(struct world *world, uint32_t want, bool want_turned)
{
        uint32_t slot;
        bool turned;
        assert_true(pw_row_pop(&world->row, &slot, &turned));
        assert_int_equal(slot, want);
        assert_int_equal(turned, want_turned);
}

static void expect_none(struct world *world)
{
        uint32_t slot;
        bool turned;
        assert_false(pw_row_pop(&world->row, &slot, &turned));
}

static void test_first_in_first_out(void **state)
{
        struct world *world = *state;
        Pathways__Wire__RoomGrant grant = grant_of(0, 10, 3);
        struct pw_return_writer returns = returns_of(world, &grant);
        expect_none(world);
        assert_int_equal(pw_row_add(&world->row, &grant, &world->bounds, NULL), PW_OK);
        expect_slot(world, 10, false);
        pw_return_give(&returns, 10); /* what was never used comes first */
        expect_slot(world, 11, false);
        expect_slot(world, 12, false);
        expect_slot(world, 10, false);
        expect_none(world);
        pw_return_give(&returns, 12);
        pw_return_give(&returns, 11);
        expect_slot(world, 12, false);
        expect_slot(world, 11, false);
        expect_none(world);
}

static void test_many_extents(void **state)
{
        struct world *world = *state;
        Pathways__Wire__RoomGrant first = grant_of(0, 0, 2), second = grant_of(1, 2, 2);
        struct pw_return_writer returns = returns_of(world, &first);
        returns_of(world, &second);
        assert_int_equal(pw_row_add(&world->row, &first, &world->bounds, NULL), PW_OK);
        expect_slot(world, 0, false);
        expect_slot(world, 1, false);
        assert_int_equal(pw_row_add(&world->row, &second, &world->bounds, NULL), PW_OK);
        expect_slot(world, 2, false);
        pw_return_give(&returns, 1);
        expect_slot(world, 3, false);
        expect_slot(world, 1, true); /* the row turned to the other extent */
        expect_none(world);
}

static void test_granted_anew(void **state)
{
        struct world *world = *state;
        Pathways__Wire__RoomGrant grant = grant_of(0, 0, 4), again = grant_of(0, 100, 2);
        returns_of(world, &grant);
        assert_int_equal(pw_row_add(&world->row, &grant, &world->bounds, NULL), PW_OK);
        expect_slot(world, 0, false);
        assert_int_equal(pw_row_add(&world->row, &again, &world->bounds, NULL), PW_OK);
        assert_int_equal(world->row.extent_count, 1);
        expect_slot(world, 100, false);
        expect_slot(world, 101, false);
        expect_none(world);
}

/* A slot in the return ring that is not of the extent is passed over. */
static void test_foreign_slot(void **state)
{
        struct world *world = *state;
        Pathways__Wire__RoomGrant grant = grant_of(0, 5, 2);
        struct pw_return_writer returns = returns_of(world, &grant);
        assert_int_equal(pw_row_add(&world->row, &grant, &world->bounds, NULL), PW_OK);
        expect_slot(world, 5, false);
        expect_slot(world, 6, false);
        pw_return_give(&returns, 4);
        pw_return_give(&returns, 6);
        expect_slot(world, 6, false);
        expect_none(world);
}

static void test_grants_outside(void **state)
{
        struct world *world = *state;
        Pathways__Wire__RoomGrant good = grant_of(0, 0, 4), bad[9];
        for (size_t i = 0; i < pw_array_count(bad); i++)
                bad[i] = good;
        bad[0].slot_count = 0;
        bad[1].first_slot = SLOTS - 3;
        bad[2].room_offset = SEGMENT_BYTES - 4 * 1024 + 64;
        bad[3].room_bytes = UINT64_MAX / 2;
        bad[4].room_offset += 8;
        bad[5].return_ring = 0; /* over the lanes */
        bad[6].return_ring = world->bounds.control_bytes - 64;
        bad[7].return_ring += 4;
        bad[8].first_slot = UINT32_MAX;
        for (size_t i = 0; i < pw_array_count(bad); i++)
                assert_int_equal(pw_row_add(&world->row, &bad[i], &world->bounds, NULL), PW_PROTOCOL);
        assert_int_equal(world->row.extent_count, 0);
        assert_int_equal(pw_row_add(&world->row, &good, &world->bounds, NULL), PW_OK);
}

static void test_requests_grow(void **state)
{
        struct world *world = *state;
        assert_int_equal(pw_row_want(&world->row, 1024), PW_GRANT_SLOTS_MIN);
        assert_int_equal(pw_row_want(&world->row, 512 * PW_KIB), 8);
        assert_int_equal(pw_row_want(&world->row, PW_MIB + 4096), 1);
        world->row.last_granted = 64;
        assert_int_equal(pw_row_want(&world->row, 1024), 128);
        world->row.last_granted = 4096;
        assert_int_equal(pw_row_want(&world->row, 1024), 4096);
        assert_int_equal(pw_row_want(&world->row, 0), PW_GRANT_SLOTS_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_first_in_first_out, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many_extents, setup, teardown),
                cmocka_unit_test_setup_teardown(test_granted_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(test_foreign_slot, setup, teardown),
                cmocka_unit_test_setup_teardown(test_grants_outside, setup, teardown),
                cmocka_unit_test_setup_teardown(test_requests_grow, setup, teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
