/* Runs that end before they are done: cancelled, at their deadline, with their client gone; and when their rooms are free. */
#include "tests/world/world.h"

#include "scheduler/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct world world;
static struct world_program *block, *other; /* both: a block of 8 KiB, a result of 4 KiB, three gangs */

static void begin(void)
{
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 1, .ahead = 8, .capacity = 16 << 10 });
        block = &world.programs[0];
        other = &world.programs[1];
        world_make_chain(&world, block, "block", 3, 1004);
        world_make_chain(&world, other, "other", 3, 1004);
}

static struct world_object *submit(struct world_program *program, uint64_t deadline_us)
{
        struct world_object *input = world_put(&world, program, 0, true);
        struct world_object *result;

        world.deadline_us = deadline_us;
        result = world_submit(&world, program, &input, false)->results[0];
        if (input->held)
                world_drop(&world, input);
        return result;
}

static const struct pw_device *device(void) { return world.scheduler->devices[0]; }

/* The device has begun its next gang. */
static void begin_gang(void)
{
        world_daemon(&world);
        while (!atomic_load(&world.executors[0].board->running))
                assert_true(world_step(&world, 0));
}

/* Who is in a gang may still write: all rooms of the run stay, as letting go, and nobody else gets them. */
static void test_letting_go(void **state)
{
        struct world_object *late, *next;

        (void)state;
        begin();
        late = submit(block, 0);
        next = submit(other, 0);
        begin_gang();
        world_cancel(&world, late->maker);
        world_daemon(&world);
        assert_int_equal(late->status, PW_CANCELLED);
        assert_string_equal(late->text, "run 1 of block was cancelled by a client");
        assert_int_equal(device()->used[PW_USE_LETTING_GO], 12 << 10);
        assert_int_equal(device()->used[PW_USE_BLOCK] + device()->used[PW_USE_RESULT], 0);
        world_expect(&world, WORLD_ASKS("1") WORLD_STARTS("1")
                             WORLD_ASKS("2")
                             "object=2.0.1 from=pending to=error cause=fail\n");
        world_check(&world);
        while (atomic_load(&world.executors[0].board->running))
                world_step(&world, 0);
        world_expect(&world, "");
        world_settle(&world);
        world_expect(&world, WORLD_ENDS("1")
                             WORLD_STARTS("2")
                             "object=1.0.1 from=ready to=closing cause=close\n"
                             "object=1.0.1 from=closing to=free cause=free\n"
                             WORLD_ENDS("2")
                             "object=2.1.1 from=pending to=ready cause=decide\n"
                             "object=1.1.1 from=ready to=closing cause=close\n"
                             "object=1.1.1 from=closing to=free cause=free\n");
        assert_int_equal(next->status, PW_OK); /* though the error is held still */
        assert_int_equal(device()->used[PW_USE_LETTING_GO], 0);
        assert_int_equal(device()->used[PW_USE_RESULT], 4 << 10);
        world_check(&world);
        world_done(&world);
}

/* A board says anything of the gang in which its process ended: what is not the one that the device is at is none. */
static void test_dead_in_no_gang(void **state)
{
        static const uint64_t any[] = { 0, 1, 2, 7, PW_ORDER_LOG, UINT64_MAX - 1, UINT64_MAX };
        struct world_object *result;

        (void)state;
        begin();
        for (uint32_t turn = 0; turn < 2; turn++) { /* nothing was ordered ever; all that was ordered is done */
                for (uint32_t i = 0; i < sizeof any / sizeof *any; i++) {
                        pw_scheduler_device_down(world.scheduler, 0, any[i], PW_CRASHED, "SIGKILL", world.now_us);
                        world_daemon(&world);
                        assert_int_equal(atomic_load(&world.executors[0].board->failed.seq), 0);
                        pw_scheduler_device_up(world.scheduler, 0, world.now_us);
                }
                result = submit(block, 0);
                world_settle(&world);
                assert_int_equal(result->status, PW_OK);
                world_drop(&world, result);
        }
        world_check(&world);
        world_done(&world);
}

/* What is ordered is skipped, what is not never is. */
static void test_cancel_skips(void **state)
{
        struct world_object *result;
        uint64_t gangs;

        (void)state;
        begin();
        result = submit(block, 0);
        begin_gang();
        gangs = world.executors[0].gangs;
        world_cancel(&world, result->maker);
        world_settle(&world);
        assert_true(result->maker->ended);
        assert_true(world.executors[0].gangs - gangs <= 4);
        world_expect(&world, WORLD_ASKS("1") WORLD_STARTS("1")
                             "object=2.0.1 from=pending to=error cause=fail\n"
                             WORLD_ENDS("1")
                             "object=1.0.1 from=ready to=closing cause=close\n"
                             "object=1.0.1 from=closing to=free cause=free\n");
        world_done(&world);
}

static void test_deadline(void **state)
{
        struct world_object *slow, *after;

        (void)state;
        begin();
        slow = submit(block, 1000);
        after = submit(other, 2000);
        world_daemon(&world);
        while (device()->done < 1 || !atomic_load(&world.executors[0].board->running)) { /* past the load */
                world_step(&world, 0);
                world_daemon(&world);
        }
        assert_int_equal(pw_scheduler_next_us(world.scheduler), 1000);
        world.now_us = 1000;
        world_daemon(&world);
        assert_int_equal(slow->status, PW_DEADLINE);
        assert_non_null(strstr(slow->text,
                               "run 1 of block was not done at its deadline, 1 ms after it was submitted: it waited for "
                               "device h3:0, which is at gang 2, "));
        assert_int_equal(world.ending, 1);
        assert_int_equal(device()->used[PW_USE_LETTING_GO], 12 << 10);
        assert_int_equal(after->maker->run->state, PW_RUN_QUEUED);
        world_kill(&world, 0);
        world_settle(&world);
        assert_true(slow->maker->ended);
        assert_int_equal(after->status, PW_OK);
        assert_int_equal(pw_scheduler_next_us(world.scheduler), UINT64_MAX);
        world_check(&world);
        world_done(&world);
}

/* A member that gets into its function after the deadline is found when it is looked at again, however often that takes. */
static void test_function_after_the_deadline(void **state)
{
        struct world_object *slow;

        (void)state;
        begin();
        slow = submit(block, 1000);
        begin_gang(); /* the load: no function of the run */
        for (uint64_t looks = 0; looks < 3; looks++) {
                world.now_us = pw_scheduler_next_us(world.scheduler);
                assert_true(world.now_us >= 1000 + looks * 1000 && world.now_us < 1000 * 1000);
                world_daemon(&world);
                assert_int_equal(slow->status, PW_DEADLINE);
                assert_int_equal(world.ending, 0);
        }
        for (uint32_t i = 0; i < 2; i++)
                assert_true(world_step(&world, 0));
        world.now_us = pw_scheduler_next_us(world.scheduler);
        world_daemon(&world);
        assert_int_equal(world.ending, 1);
        world_kill(&world, 0);
        world_settle(&world);
        assert_true(slow->maker->ended);
        world_check(&world);
        world_done(&world);
}

/* The members of a run that waits behind another's are left alone. */
static void test_deadline_behind_another(void **state)
{
        struct world_object *slow, *behind;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 1, .ahead = 8, .capacity = 64 << 10 });
        block = &world.programs[0];
        other = &world.programs[1];
        world_make_chain(&world, block, "block", 3, 1004);
        world_make_chain(&world, other, "other", 3, 1004);
        slow = submit(block, 0);
        behind = submit(other, 1000);
        begin_gang();
        world.now_us = 1000;
        world_daemon(&world);
        assert_int_equal(behind->status, PW_DEADLINE);
        assert_non_null(strstr(behind->text, " of run 1"));
        assert_int_equal(world.ending, 0);
        world_settle(&world);
        assert_int_equal(slow->status, PW_OK);
        assert_true(behind->maker->ended);
        world_done(&world);
}

/* A function that does not end is ended some time after its run was cancelled, whoever is attached; at the deadline that its client
 * asked for, if that is before. */
static void cancelled_function(uint64_t deadline_us, uint64_t ended_us)
{
        struct world_object *result;

        begin();
        result = submit(block, deadline_us);
        world_daemon(&world);
        while (device()->done < 1 || !atomic_load(&world.executors[0].board->running)) {
                world_step(&world, 0);
                world_daemon(&world);
        }
        world_cancel(&world, result->maker);
        world_daemon(&world);
        assert_int_equal(pw_scheduler_next_us(world.scheduler), ended_us);
        world.now_us = ended_us - 1;
        world_daemon(&world);
        assert_int_equal(world.ending, 0);
        world.now_us = ended_us;
        world_daemon(&world);
        assert_int_equal(world.ending, 1);
        world_kill(&world, 0);
        world_settle(&world);
        assert_true(result->maker->ended);
        world_done(&world);
}

static void test_cancelled_function(void **state)
{
        (void)state;
        cancelled_function(0, PW_CANCELLED_US_DEFAULT);
        cancelled_function(PW_CANCELLED_US_DEFAULT / 2, PW_CANCELLED_US_DEFAULT / 2);
        cancelled_function(2 * PW_CANCELLED_US_DEFAULT, PW_CANCELLED_US_DEFAULT);
}

/* Nobody holds what is still to come, but somebody what has come: the run goes on until that is gone too, then it is
 * asked again. Whether what has come came before the rest was let go of, or after. */
static void held_in_part(bool comes_first)
{
        struct world_program *fork = &world.programs[0];
        struct world_object *inputs[2];
        struct world_run *run;

        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 1 << 20 });
        world_make_fork(&world, fork);
        for (uint32_t i = 0; i < 2; i++)
                inputs[i] = world_put(&world, fork, i, true);
        run = world_submit(&world, fork, inputs, false);
        for (uint32_t i = 0; i < 2; i++)
                if (inputs[i]->held)
                        world_drop(&world, inputs[i]);
        for (uint32_t i = 0; !comes_first && i < 3; i++)
                world_drop(&world, run->results[i]);
        world_daemon(&world);
        while (!run->results[3]->decided) {
                assert_true(world_step(&world, run->results[3]->result->rooms[0].device));
                world_daemon(&world);
        }
        for (uint32_t i = 0; comes_first && i < 3; i++)
                world_drop(&world, run->results[i]);
        world_daemon(&world);
        assert_false(run->run->cancelled);
        world_drop(&world, run->results[3]);
        for (uint32_t turns = 0; turns < 2; turns++)
                world_daemon(&world);
        assert_true(run->ended || run->run->cancelled);
        assert_true(run->cancelled);
        world_settle(&world);
        assert_true(run->ended);
        world_done(&world);
}

static void test_held_in_part(void **state)
{
        (void)state;
        held_in_part(true);
        held_in_part(false);
}

/* Of a run that waits for windows nothing was ordered: it ends when it is cancelled, not when the device comes to it. */
static void test_nothing_ordered(void **state)
{
        struct world_object *waits;
        uint64_t used;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 1, .ahead = 8, .capacity = 64 << 10 });
        block = &world.programs[0];
        world_make_chain(&world, block, "block", 20, 16);
        submit(block, 0);
        world_daemon(&world);
        used = device()->used[PW_USE_RESULT] + device()->used[PW_USE_BLOCK];
        waits = submit(block, 0);
        world_daemon(&world);
        assert_int_equal(waits->maker->run->state, PW_RUN_ADMITTED);
        world_cancel(&world, waits->maker);
        world_daemon(&world);
        assert_true(waits->maker->ended);
        assert_int_equal(device()->used[PW_USE_RESULT] + device()->used[PW_USE_BLOCK], used);
        assert_int_equal(device()->done, 0);
        world_settle(&world);
        assert_int_equal(world.runs_open, 0);
        world_check(&world);
        world_done(&world);
}

/* A chain of runs that wait for a window, all cancelled: the last is read by nobody, then the one before it. None of their gangs is
 * ordered. */
static void test_chain_cancelled(void **state)
{
        struct world_object *object, *chain[20];
        uint64_t head;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 1, .ahead = 8, .capacity = 256 << 10,
                                                       .donations = -1 });
        block = &world.programs[0];
        world_make_chain(&world, block, "block", 20, 16);
        object = submit(block, 0);
        for (uint32_t i = 0; i < 20; i++)
                object = chain[i] = world_submit(&world, block, &object, false)->results[0];
        world_daemon(&world);
        head = atomic_load(&world.boards[0]->head);
        for (uint32_t i = 0; i < 20; i++) {
                assert_int_equal(chain[i]->maker->run->state, PW_RUN_ADMITTED);
                world_cancel(&world, chain[i]->maker);
        }
        world_daemon(&world);
        assert_int_equal(world.runs_open, 1);
        world_settle(&world);
        assert_int_equal(world.runs_open, 0);
        assert_int_equal(atomic_load(&world.boards[0]->head), head - 8 + 21);
        world_check(&world);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_ordered), cmocka_unit_test(test_chain_cancelled), cmocka_unit_test(test_letting_go),
                cmocka_unit_test(test_cancel_skips), cmocka_unit_test(test_deadline), cmocka_unit_test(test_dead_in_no_gang),
                cmocka_unit_test(test_function_after_the_deadline),
                cmocka_unit_test(test_deadline_behind_another), cmocka_unit_test(test_cancelled_function),
                cmocka_unit_test(test_held_in_part),
        };

        return WORLD_RUN_TESTS(tests);
}
