/* The table of transfers, row by row. */
#include "base/memory.h"
#include "program/lower/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define B PW_BROADCAST
#define S0 PW_SPLIT(0)
#define S1 PW_SPLIT(1)
#define P PW_PARTIAL(PW_SUM)
#define TWO(first, second) ((struct pw_sharding){ { first, second } })
#define AB PW_AXIS_BROADCAST
#define AS0 PW_AXIS_SPLIT(0)
#define AS1 PW_AXIS_SPLIT(1)
#define AP PW_AXIS_PARTIAL(PW_SUM)

static void test_kinds(void **state)
{
        const struct {
                struct pw_sharding from;
                uint32_t from_mesh[2];
                struct pw_sharding to;
                uint32_t to_mesh[2];
                bool same_slice;
                const char *kind;
        } rows[] = {
                /* one slice, one axis */
                { B, { 4 }, B, { 4 }, true, "copy" },
                { B, { 4 }, S0, { 4 }, true, "copy" },
                { S0, { 4 }, B, { 4 }, true, "all-gather" },
                { P, { 4 }, B, { 4 }, true, "all-reduce" },
                { P, { 4 }, S0, { 4 }, true, "reduce-scatter" },
                { S0, { 4 }, S1, { 4 }, true, "all-to-all" },
                { P, { 1 }, B, { 1 }, true, "copy" },
                { P, { 4 }, P, { 4 }, true, "copy" },
                /* one slice, two axes */
                { TWO(AS0, AB), { 2, 2 }, TWO(AB, AB), { 2, 2 }, true, "all-gather" },
                { TWO(AS0, AS1), { 2, 2 }, TWO(AB, AB), { 2, 2 }, true, "all-gather" },
                { TWO(AS0, AB), { 2, 2 }, TWO(AB, AS0), { 2, 2 }, true, "all-to-all" },
                { TWO(AS0, AS1), { 2, 2 }, TWO(AS1, AS0), { 2, 2 }, true, "all-to-all" },
                { TWO(AS0, AP), { 2, 2 }, TWO(AS0, AB), { 2, 2 }, true, "all-reduce" },
                { TWO(AS0, AP), { 2, 2 }, TWO(AB, AB), { 2, 2 }, true, "all-reduce" },
                { TWO(AP, AP), { 2, 2 }, TWO(AB, AB), { 2, 2 }, true, "all-reduce" },
                { TWO(AP, AP), { 2, 2 }, TWO(AS0, AB), { 2, 2 }, true, "reduce-scatter" },
                { TWO(AP, AB), { 2, 2 }, TWO(AB, AS0), { 2, 2 }, true, "reduce-scatter" },
                { TWO(AP, AS0), { 2, 2 }, TWO(AB, AS0), { 2, 2 }, true, "all-reduce" },
                { TWO(AS0, AS1), { 4, 1 }, TWO(AB, AB), { 4, 1 }, true, "all-gather" },
                /* between slices */
                { B, { 1 }, B, { 4 }, false, "broadcast" },
                { B, { 1 }, S0, { 4 }, false, "scatter" },
                { S0, { 4 }, B, { 1 }, false, "gather" },
                { P, { 4 }, B, { 1 }, false, "gather" },
                { S0, { 4 }, S0, { 3 }, false, "send-recv" },
                { B, { 4 }, B, { 4 }, false, "send-recv" },
                { B, { 1 }, B, { 1 }, false, "send-recv" },
        };

        (void)state;
        for (size_t i = 0; i < pw_array_count(rows); i++)
                assert_string_equal(pw_transfer_text(pw_transfer_between(&rows[i].from, rows[i].from_mesh, &rows[i].to,
                                                                         rows[i].to_mesh, rows[i].same_slice)),
                                    rows[i].kind);
        assert_string_equal(pw_transfer_text(PW_TRANSFER_KINDS), "?");
}

/* 4 devices in 2 islands, and one more device of island 1. */
static const uint16_t islands[] = { 0, 0, 1, 1 }, devices[] = { 0, 1, 2, 3 }, far_island[] = { 1 }, far_device[] = { 4 };
static const struct pw_slice_map line = { .mesh = { 4 }, .device_count = 4, .islands = islands, .devices = devices };
static const struct pw_slice_map square = { .mesh = { 2, 2 }, .device_count = 4, .islands = islands, .devices = devices };
static const struct pw_slice_map one = { .mesh = { 1 }, .device_count = 1, .islands = far_island, .devices = far_device };

static void expect_reach(const struct pw_slice_map *from_slice, struct pw_sharding from, const struct pw_slice_map *to_slice,
                         struct pw_sharding to, const char *expected)
{
        struct pw_transfer_ends ends = { &from, from_slice, &to, to_slice, &PW_DIMS(8, 8), from_slice == to_slice, false };
        struct pw_reach reach;
        bool steps;

        assert_int_equal(pw_transfer_reach(&ends, &reach, &(uint64_t){ 0 }, NULL), PW_OK);
        assert_int_equal(pw_transfer_in_steps(&ends, &steps, NULL), PW_OK);
        assert_string_equal(reach.other_island ? steps ? "islands, in steps" : "islands" : reach.other_device ? "devices" : "own",
                            expected);
}

static void test_reach(void **state)
{
        const uint16_t crossed[] = { 0, 1, 0, 1 }, three[] = { 0, 0, 0, 1 };
        struct pw_slice_map zebra = line, uneven = square;

        (void)state;
        zebra.islands = crossed;
        uneven.islands = three;
        expect_reach(&line, B, &line, S0, "own");
        expect_reach(&line, S0, &line, B, "islands");
        expect_reach(&line, P, &line, B, "islands, in steps");
        expect_reach(&zebra, P, &zebra, S0, "islands, in steps");
        /* rows of the square are islands */
        expect_reach(&square, TWO(AB, AP), &square, TWO(AB, AB), "devices");
        expect_reach(&square, TWO(AB, AS0), &square, TWO(AB, AB), "devices");
        expect_reach(&square, TWO(AP, AB), &square, TWO(AB, AB),
                     "islands"); /* one member in each island: nothing to reduce inside */
        expect_reach(&square, TWO(AP, AP), &square, TWO(AB, AB), "islands, in steps");
        expect_reach(&uneven, TWO(AS0, AP), &uneven, TWO(AS0, AB), "islands"); /* a group without a member in island 1 */
        /* another slice: the nearest replica */
        expect_reach(&line, B, &one, B, "devices");
        expect_reach(&line, S0, &one, B, "islands");
        expect_reach(&one, B, &line, B, "islands");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kinds),
                cmocka_unit_test(test_reach),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
