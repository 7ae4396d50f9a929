/* Who is to do what: in order, no further ahead than allowed, each part once, whoever is lost.
 */
#include "examples/parameter-server/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STEPS 40u
#define PARTS 3u

static struct schedule schedule_of(uint32_t staleness)
{
        struct schedule schedule;

        assert_true(schedule_start(&schedule, STEPS, PARTS, staleness));
        return schedule;
}

static struct turn take(struct schedule *schedule, uint32_t step, uint32_t part)
{
        struct turn turn;

        assert_true(schedule_next(schedule, &turn));
        assert_int_equal(turn.step, step);
        assert_int_equal(turn.part, part);
        return turn;
}

static void a_step_waits_for_all_of_the_one_before(void **state)
{
        struct schedule schedule = schedule_of(0);
        struct turn first = take(&schedule, 0, 0), second = take(&schedule, 0, 1), third = take(&schedule, 0, 2), none;

        (void)state;
        assert_false(schedule_next(&schedule, &none));
        schedule_finish(&schedule, third);
        schedule_finish(&schedule, first);
        assert_false(schedule_next(&schedule, &none));
        assert_int_equal(schedule.oldest, 0);
        schedule_finish(&schedule, second);
        assert_int_equal(schedule.oldest, 1);
        take(&schedule, 1, 0);
        assert_int_equal(schedule.widest, 0);
        schedule_done(&schedule);
}

static void it_is_so_many_steps_ahead_and_no_more(void **state)
{
        struct schedule schedule = schedule_of(2);
        struct turn slow = take(&schedule, 0, 0), turn;
        uint32_t taken = 1;

        (void)state;
        while (schedule_next(&schedule, &turn)) {
                schedule_finish(&schedule, turn);
                taken++;
        }
        assert_int_equal(taken, 3 * PARTS);
        assert_int_equal(schedule.widest, 2);
        schedule_finish(&schedule, slow);
        assert_int_equal(schedule.oldest, 3);
        schedule_done(&schedule);
}

static void without_a_bound_it_is_ahead_to_the_end(void **state)
{
        struct schedule schedule = schedule_of(UINT32_MAX);
        struct turn slow = take(&schedule, 0, 0), turn;

        (void)state;
        while (schedule_next(&schedule, &turn))
                schedule_finish(&schedule, turn);
        assert_int_equal(schedule.next.step, STEPS);
        assert_int_equal(schedule.widest, STEPS - 1);
        assert_int_equal(schedule.oldest, 0);
        schedule_finish(&schedule, slow);
        assert_int_equal(schedule.oldest, STEPS);
        schedule_done(&schedule);
}

static void what_a_lost_worker_had_goes_to_the_next(void **state)
{
        struct schedule schedule = schedule_of(0);
        struct turn none;

        (void)state;
        take(&schedule, 0, 0);
        struct turn lost = take(&schedule, 0, 1);
        take(&schedule, 0, 2);
        schedule_return(&schedule, lost);
        take(&schedule, 0, 1);
        assert_false(schedule_next(&schedule, &none));
        schedule_done(&schedule);
}

/* Workers that take, finish and are lost in any order: all is done once, within the bound. */
static void play(uint32_t staleness, uint64_t seed)
{
        struct schedule schedule = schedule_of(staleness);
        struct turn held[PARTS];
        bool holds[PARTS] = { false };
        uint32_t finished[STEPS][PARTS] = { { 0 } }, alive = PARTS;

        while (schedule.oldest < STEPS) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                uint32_t worker = (uint32_t)(seed >> 33) % alive;
                if (!holds[worker]) {
                        holds[worker] = schedule_next(&schedule, &held[worker]);
                        assert_true(!holds[worker] || held[worker].step - schedule.oldest <= staleness);
                } else if ((seed >> 40) % 50 == 0 && worker && worker == alive - 1) {
                        schedule_return(&schedule, held[worker]);
                        alive--;
                } else {
                        finished[held[worker].step][held[worker].part]++;
                        schedule_finish(&schedule, held[worker]);
                        holds[worker] = false;
                }
        }
        for (uint32_t step = 0; step < STEPS; step++)
                for (uint32_t part = 0; part < PARTS; part++)
                        if (finished[step][part] != 1)
                                fail_msg("staleness %u: part %u of step %u: done %u times", staleness, part, step,
                                         finished[step][part]);
        schedule_done(&schedule);
}

static void all_is_done_once_in_any_order(void **state)
{
        (void)state;
        for (uint64_t seed = 0; seed < 200; seed++) {
                play(0, seed);
                play(2, seed);
                play(UINT32_MAX, seed);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_step_waits_for_all_of_the_one_before),
                cmocka_unit_test(it_is_so_many_steps_ahead_and_no_more),
                cmocka_unit_test(without_a_bound_it_is_ahead_to_the_end),
                cmocka_unit_test(what_a_lost_worker_had_goes_to_the_next),
                cmocka_unit_test(all_is_done_once_in_any_order),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
