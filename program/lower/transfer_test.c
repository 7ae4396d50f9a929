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
                uint32_t from_mesh[PW_MESH_AXES_MAX];
                struct pw_sharding to;
                uint32_t to_mesh[PW_MESH_AXES_MAX];
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
                /* one slice, more axes */
                { PW_SHARDING(AS0, AB, AS1, AB), { 2, 2, 2, 2 }, B, { 2, 2, 2, 2 }, true, "all-gather" },
                { PW_SHARDING(AB, AB, AB, AS1), { 2, 2, 2, 2 }, B, { 2, 2, 2, 2 }, true, "all-gather" },
                { PW_SHARDING(AS0, AB, AB, AP), { 2, 2, 2, 2 }, PW_SHARDING(AS0), { 2, 2, 2, 2 }, true, "all-reduce" },
                { PW_SHARDING(AS0, AP, AB), { 2, 2, 2 }, PW_SHARDING(AS0, AB, AS1), { 2, 2, 2 }, true, "reduce-scatter" },
                { PW_SHARDING(AB, AB, AP), { 2, 2, 2 }, PW_SHARDING(AB, AB, AS0), { 2, 2, 2 }, true, "reduce-scatter" },
                { PW_SHARDING(AB, AB, AS0), { 2, 2, 2 }, PW_SHARDING(AB, AS0), { 2, 2, 2 }, true, "all-to-all" },
                { PW_SHARDING(AB, AB, AS0), { 2, 2, 2 }, PW_SHARDING(AB, AB, AS1), { 2, 2, 2 }, true, "all-to-all" },
                { PW_SHARDING(AB), { 2, 2, 2 }, PW_SHARDING(AB, AB, AS1), { 2, 2, 2 }, true, "copy" },
                { PW_SHARDING(AB, AB, AS0), { 4, 1, 1 }, B, { 4, 1, 1 }, true, "copy" },
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
static const struct pw_slice_place rows[] = { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 1, 2 }, { 0, 1, 3 } };
static const struct pw_slice_place hosts[] = { { 0, 0, 0 }, { 0, 0, 1 }, { 1, 0, 0 }, { 1, 0, 1 } };
static const struct pw_slice_place turns[] = { { 0, 0, 0 }, { 0, 1, 1 }, { 0, 0, 2 }, { 0, 1, 3 } };
static const struct pw_slice_place three[] = { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 0, 2 }, { 0, 1, 3 } };
static const struct pw_slice_place far[] = { { 0, 1, 4 } };
/* `again`: the islands of the line, other devices or the same. */
static const struct pw_slice_map slices[] = {
        { .mesh = { 4 }, .device_count = 4, .places = rows },     { .mesh = { 2, 2 }, .device_count = 4, .places = rows },
        { .mesh = { 1 }, .device_count = 1, .places = far },      { .mesh = { 4 }, .device_count = 4, .places = turns },
        { .mesh = { 2, 2 }, .device_count = 4, .places = three }, { .mesh = { 2, 2 }, .device_count = 4, .places = hosts },
        { .mesh = { 4 }, .device_count = 4, .places = rows },     { .mesh = { 2, 2 }, .device_count = 4, .places = turns },
};
#define line slices[0]
#define square slices[1]
#define one slices[2]
#define zebra slices[3]
#define uneven slices[4]
#define two_hosts slices[5]
#define again slices[6]
#define columns slices[7]

static void expect_reach(const struct pw_slice_map *from_slice, struct pw_sharding from, const struct pw_slice_map *to_slice,
                         struct pw_sharding to, const char *expected)
{
        __attribute__((cleanup(pw_spreads_done))) struct pw_spreads spreads = { .slices = slices };
        struct pw_transfer_ends ends = { &from, from_slice, &to, to_slice, &PW_DIMS(8, 8), from_slice == to_slice, false };
        struct pw_reach reach;
        bool steps;

        assert_int_equal(pw_transfer_reach(&ends, &spreads, &reach, NULL), PW_OK);
        assert_int_equal(pw_transfer_in_steps(&ends, &spreads, &steps, NULL), PW_OK);
        assert_string_equal(reach.other_island ? steps ? "islands, in steps" : "islands" : reach.other_device ? "devices" : "own",
                            expected);
}

static void test_reach(void **state)
{
        (void)state;
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
        /* an island of another host is another one, whatever its number */
        expect_reach(&two_hosts, TWO(AB, AS0), &two_hosts, TWO(AB, AB), "devices");
        expect_reach(&two_hosts, TWO(AS0, AB), &two_hosts, TWO(AB, AB), "islands");
        expect_reach(&two_hosts, TWO(AP, AP), &two_hosts, TWO(AB, AB), "islands, in steps");
        /* nested splits: what is outside stays, what is inside moves; columns of the square are islands */
        expect_reach(&columns, TWO(AS0, AS0), &columns, TWO(AS0, AB), "islands");
        expect_reach(&square, TWO(AS0, AS0), &square, TWO(AS0, AB), "devices");
        expect_reach(&square, TWO(AS0, AB), &square, TWO(AS0, AS0), "own");
        /* replicas of every part in every island */
        expect_reach(&columns, TWO(AS0, AB), &columns, TWO(AB, AB), "devices");
        expect_reach(&columns, TWO(AB, AS0), &columns, TWO(AB, AB), "islands");
        expect_reach(&columns, TWO(AP, AB), &columns, TWO(AB, AB), "devices");
        /* terms stay where they are, but there is a choice of replicas, none of them in one island */
        expect_reach(&line, P, &line, P, "own");
        expect_reach(&uneven, TWO(AP, AB), &uneven, TWO(AP, AB), "devices");
        /* another slice: the nearest replica */
        expect_reach(&line, S0, &again, S0, "devices");
        expect_reach(&line, S0, &again, B, "islands");
        expect_reach(&line, P, &again, P, "islands");
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
