/* The clock of another host: what stamps say of it, clocks that are far apart, drift and jump, and what is not believed. */
#include "cluster/link/link_ends_test.h"

#define HOUR_US (3600 * (int64_t)SECOND)

/* Two clocks, and what each knows of the other's. */
struct two { int64_t now_us, ahead_us[2]; struct pw_link_clock clocks[2]; };

static uint64_t clock_of(const struct two *two, uint32_t at) { return (uint64_t)(two->now_us + two->ahead_us[at]); }

static void say(struct two *two, uint32_t from, int64_t takes_us)
{
        struct pw_link_stamps stamps = pw_link_clock_stamps(&two->clocks[from], clock_of(two, from));

        pw_link_clock_wrote(&two->clocks[from], &stamps);
        two->now_us += takes_us;
        pw_link_clock_hear(&two->clocks[!from], &stamps, clock_of(two, !from));
}

static uint64_t apart(int64_t a, int64_t b) { return (uint64_t)(a > b ? a - b : b - a); }

static struct pw_link_sample expect(const struct two *two, uint32_t at)
{
        struct pw_link_sample sample;

        assert_true(pw_link_clock_see(&two->clocks[at], clock_of(two, at), &sample));
        assert_true(apart(sample.ahead_us, two->ahead_us[!at] - two->ahead_us[at]) <= sample.bound_us);
        return sample;
}

static void test_a_round_trip(void **state)
{
        struct two two = { .now_us = 50 * HOUR_US, .ahead_us = { 0, -40 * HOUR_US } };
        struct pw_link_sample sample;

        (void)state;
        say(&two, 0, 100);
        assert_false(pw_link_clock_see(&two.clocks[1], clock_of(&two, 1), &sample)); /* one way says nothing */
        two.now_us += 300000; /* how long it stays there does not count, but for what clocks drift */
        say(&two, 1, 100);
        sample = expect(&two, 0);
        assert_true(sample.bound_us >= 100 && sample.bound_us <= 100 + 300000 / PW_LINK_CLOCK_DRIFT + 4);
        assert_false(pw_link_clock_see(&two.clocks[1], clock_of(&two, 1), &sample));
        two.now_us += 300000;
        say(&two, 0, 100);
        expect(&two, 1);
}

/* Ways that are as unequal as can be: the truth lies at the edge of the bounds, not beyond. */
static void test_unequal_ways(void **state)
{
        static const int64_t takes_us[][2] = { { 0, 80000 }, { 80000, 0 }, { 1, 1 }, { 500000, 3 } };

        (void)state;
        for (uint32_t i = 0; i < sizeof takes_us / sizeof *takes_us; i++) {
                struct two two = { .now_us = 50 * HOUR_US, .ahead_us = { 7 * HOUR_US, 0 } };
                struct pw_link_sample sample;

                say(&two, 0, takes_us[i][0]);
                say(&two, 1, takes_us[i][1]);
                sample = expect(&two, 0);
                assert_true(sample.bound_us <= (uint64_t)(takes_us[i][0] + takes_us[i][1]) / 2 + 5);
        }
}

/* The smallest round trip is believed; with time another one is. */
static void test_the_best_is_believed(void **state)
{
        struct two two = { .now_us = 50 * HOUR_US, .ahead_us = { 0, HOUR_US } };

        (void)state;
        say(&two, 0, 20);
        say(&two, 1, 20);
        for (uint32_t i = 0; i < 3; i++) {
                two.now_us += 20000;
                say(&two, 0, 9000);
                two.now_us += 20000;
                say(&two, 1, 2000);
        }
        assert_true(expect(&two, 0).bound_us < 100);
        two.now_us += 1000 * (int64_t)SECOND;
        assert_true(expect(&two, 0).bound_us > 1000 * SECOND / PW_LINK_CLOCK_DRIFT);
        say(&two, 0, 9000);
        two.now_us += 20000;
        say(&two, 1, 2000);
        assert_true(expect(&two, 0).bound_us < 6000);
}

/* What was known of a clock before it jumped is forgotten. */
static void test_jumps(void **state)
{
        static const int64_t jumps_us[] = { 5 * HOUR_US, -9 * HOUR_US, 30000, -30000 };
        struct two two = { .now_us = 50 * HOUR_US, .ahead_us = { 0, HOUR_US } };

        (void)state;
        for (uint32_t i = 0; i < 2 * sizeof jumps_us / sizeof *jumps_us; i++) {
                for (uint32_t n = 0; n < 20; n++) {
                        two.now_us += 250000;
                        say(&two, n % 2, 30);
                }
                expect(&two, 0);
                expect(&two, 1);
                two.ahead_us[i % 2] += jumps_us[i / 2]; /* in the middle of a round trip */
                for (uint32_t n = 0; n < 4; n++) {
                        two.now_us += 250000;
                        say(&two, n % 2, 30);
                }
                expect(&two, 0);
                expect(&two, 1);
        }
}

/* Heads that follow each other say times once in a while. */
static void test_pause(void **state)
{
        struct pw_link_clock clock = { .count = 0 };
        struct pw_link_stamps stamps = pw_link_clock_stamps(&clock, 1000000);

        (void)state;
        assert_int_equal(stamps.said_us, 1000000);
        pw_link_clock_wrote(&clock, &stamps);
        stamps = pw_link_clock_stamps(&clock, 1000000 + PW_LINK_CLOCK_PAUSE_US - 1);
        assert_int_equal(stamps.said_us, 0);
        pw_link_clock_wrote(&clock, &stamps);
        assert_int_equal(pw_link_clock_stamps(&clock, 1000000 + PW_LINK_CLOCK_PAUSE_US).said_us, 1000000 + PW_LINK_CLOCK_PAUSE_US);
        assert_int_equal(pw_link_clock_stamps(&clock, 999999).said_us, 999999); /* it went back */
}

/* Whatever another host says, nothing comes of it that cannot be. */
static void test_what_cannot_be(void **state)
{
        static const struct pw_link_stamps wrong[] = {
                { 0, 5 * HOUR_US, 5 }, { UINT64_MAX, 5 * HOUR_US, 5 }, { 7, 5 * HOUR_US, 8 }, { 7, 5 * HOUR_US + 1, 6 },
                { 7, UINT64_MAX, 6 }, { 7, 0, 6 }, { 3 * HOUR_US, 5 * HOUR_US, 6 }, { 7, 5 * HOUR_US, UINT64_MAX },
        };
        struct pw_link_sample sample;

        (void)state;
        for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct pw_link_clock clock = { .said_us = 5 * HOUR_US };

                pw_link_clock_hear(&clock, &wrong[i], 6 * HOUR_US);
                assert_false(pw_link_clock_see(&clock, 6 * HOUR_US, &sample));
        }
}

/* Two peers whose clocks are hours apart, drift, and jump by less than a lease. The ways take milliseconds, by chance. */
static void test_peers(void **state)
{
        uint32_t seen = 0;

        (void)state;
        ends_begin(7);
        scene->ends[0].ahead_us = 30 * HOUR_US;
        scene->ends[0].drift = 90;
        scene->ends[1].drift = -90;
        for (uint32_t i = 0; i < 60; i++) {
                for (uint32_t n = ends_below(20); n; n--) {
                        ends_say(ends_below(2), false);
                        ends_go_on(1000 + ends_below(90000));
                }
                ends_go_on(2 * SECOND);
                for (uint32_t at = 0; at < 2; at++) {
                        struct pw_link_sample sample;

                        ends_must(pw_link_clock_see(&scene->ends[at].link->clock, ends_clock(at), &sample), "nothing is known");
                        ends_must(apart(sample.ahead_us, (int64_t)(ends_clock(!at) - ends_clock(at))) <= sample.bound_us,
                                  "a clock is not what it is said to be");
                        seen += sample.bound_us < 20000;
                }
                if (i % 3 == 0)
                        scene->ends[ends_below(2)].ahead_us += (int64_t)ends_below(2 * SECOND) - (int64_t)SECOND;
        }
        assert_true(seen > 100);
        ends_done();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_round_trip),         cmocka_unit_test(test_unequal_ways),
                                            cmocka_unit_test(test_the_best_is_believed), cmocka_unit_test(test_jumps),
                                            cmocka_unit_test(test_pause),                cmocka_unit_test(test_what_cannot_be),
                                            cmocka_unit_test(test_peers) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
