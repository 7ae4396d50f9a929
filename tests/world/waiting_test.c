/* Runs that wait: for inputs, for a quota, until a deadline; and what shape an input may come in. */
#include "tests/world/admission.h"

#include <pthread.h>

static struct world_object *submit_until(struct world_program *program, uint64_t deadline_us)
{
        struct world_run *run;
        struct world_object *result;

        /* The deadline is read at submission, which world_submit() makes: shorten it afterwards and let it be looked at. */
        result = submit(program);
        run = result->maker;
        run->run->deadline_us = deadline_us;
        pw_deadline_note(pw_live_of(run->run));
        return result;
}

/* A quota is exact: a run that needs a byte more waits for the quota, and one that needs all that is left has it. */
static void test_quota(void **state)
{
        struct world_object *held, *next;
        uint64_t used, both;

        (void)state;
        begin(64 << 10);
        next = submit(step);
        world_settle(&world);
        both = pw_scheduler_quota_used(world.scheduler, "tenant");
        world_drop(&world, next);
        held = submit(large);
        world_settle(&world);
        used = pw_scheduler_quota_used(world.scheduler, "tenant");
        both += used;
        assert_true(used > 0 && both > used);
        for (uint64_t quota = used; quota <= both; quota = quota == used ? both - 1 : quota + 1) {
                assert_int_equal(pw_scheduler_quota(world.scheduler, "tenant", quota, NULL), PW_OK);
                if (quota == used)
                        next = submit(step);
                world_settle(&world);
                assert_int_equal(state_of(next), quota < both ? PW_RUN_QUEUED : PW_RUN_ENDED);
                assert_true(pw_scheduler_quota_used(world.scheduler, "tenant") <= quota);
        }
        assert_int_equal(held->status, PW_OK);
        assert_int_equal(next->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

/* What lacks its tenant's quota, and waits for runs of the tenant, holds back that tenant's alone: others have room on the
 * device. */
static void test_quota_of_another(void **state)
{
        struct world_program *others = &world.programs[3];
        struct world_object *first, *over, *small, *other;

        (void)state;
        begin(64 << 10);
        world_make_chain(&world, &world.programs[4], "second", 3, 1004);
        world.tenant = world_tenants[1];
        world_make_chain(&world, others, "others", 1, 236);
        assert_int_equal(pw_scheduler_quota(world.scheduler, "tenant", 18 << 10, NULL), PW_OK);
        first = submit(block); /* 12 KiB of 18, 8 of which it gives back */
        over = submit(&world.programs[4]);
        small = submit(step);
        other = submit(others);
        world_daemon(&world);
        assert_int_equal(state_of(first), PW_RUN_ADMITTED);
        assert_int_equal(state_of(over), PW_RUN_QUEUED);
        assert_int_equal(state_of(small), PW_RUN_QUEUED);
        assert_int_equal(state_of(other), PW_RUN_ADMITTED);
        world_check(&world);
        world_done(&world); /* no memory of the other tenant's lies here: nothing is run */
}

/* Rooms that a cancelled run lets go of come back by themselves, too: who waits for them of its quota holds back those behind
 * it. */
static void test_quota_let_go(void **state)
{
        struct world_object *first, *over, *small;

        (void)state;
        begin(64 << 10);
        world_make_chain(&world, &world.programs[4], "second", 3, 1004);
        assert_int_equal(pw_scheduler_quota(world.scheduler, "tenant", 18 << 10, NULL), PW_OK);
        first = submit(block); /* 12 KiB of 18 */
        world_daemon(&world);
        while (!atomic_load(&world.executors[0].board->running))
                assert_true(world_step(&world, 0));
        world_cancel(&world, first->maker);
        world_daemon(&world);
        assert_int_equal(pw_scheduler_quota_used(world.scheduler, "tenant"), 12 << 10);
        over = submit(&world.programs[4]);
        small = submit(step);
        world_daemon(&world);
        assert_int_equal(state_of(over), PW_RUN_QUEUED);
        assert_int_equal(state_of(small), PW_RUN_QUEUED);
        world_settle(&world);
        assert_int_equal(over->status, PW_OK);
        assert_int_equal(small->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

static void test_deadline(void **state)
{
        struct world_object *held, *late;
        struct pw_run_row row;
        uint64_t last;
        char why[256] = "";

        (void)state;
        begin(6 << 10);
        held = submit(large);
        world_settle(&world);
        late = submit_until(large, 1000);
        world_daemon(&world);
        assert_false(late->decided);
        assert_int_equal(pw_scheduler_next_us(world.scheduler), 1000);
        assert_true(pw_scheduler_run_row(world.scheduler, 2, &row, &last));
        assert_int_equal(row.state, PW_RUN_QUEUED);
        snprintf(why, sizeof why, "%s", row.waiting_for);
        assert_string_equal(why,
                            "room: device h3:0 lacks 2 KiB; 4 KiB held by tenant tenant, a process that ended: 1 result of large");
        world.now_us = 1000;
        world_daemon(&world);
        assert_int_equal(late->status, PW_NO_SPACE);
        assert_string_equal(late->text, "run 2 of large was not admitted before its deadline: device h3:0 lacks 2 KiB; 4 KiB held "
                                        "by tenant tenant, a process that ended: 1 result of large");
        assert_int_equal(held->status, PW_OK);
        assert_int_equal(pw_scheduler_next_us(world.scheduler), UINT64_MAX);
        world_done(&world);
}

/* Of another tenant it is only told how much it holds. */
static void test_deadline_beside_another(void **state)
{
        struct world_program *others = &world.programs[3];
        struct world_object *late;

        (void)state;
        begin(6 << 10);
        submit(large);
        world_settle(&world);
        world.tenant = world_tenants[1];
        world_make_chain(&world, others, "others", 1, 1004);
        late = submit_until(others, 1000);
        world.now_us = 1000;
        world_daemon(&world);
        assert_int_equal(late->status, PW_NO_SPACE);
        assert_string_equal(late->text,
                            "run 2 of others was not admitted before its deadline: device h3:0 lacks 2 KiB; 4 KiB held by "
                                        "other tenants");
        world_done(&world);
}

/* 21 runs, each of what the one before makes; the input of the first is not there. */
static struct world_run *begin_chain(struct world_object **ret_last)
{
        struct world_object *input;
        struct world_run *first;

        begin(64 << 10);
        input = world_put(&world, step, 0, false);
        first = world_submit(&world, step, &input, false);
        *ret_last = first->results[0];
        for (uint32_t i = 0; i < 20; i++)
                *ret_last = world_submit(&world, step, ret_last, false)->results[0];
        return first;
}

/* A chain behind an input that is not there: all wait for it, none holds anything, then all are admitted at once. */
static void test_inputs(void **state)
{
        struct world_object *last;
        struct world_run *first = begin_chain(&last);

        (void)state;
        world_daemon(&world);
        assert_int_equal(state_of(last), PW_RUN_WAITING);
        assert_int_equal(world.scheduler->devices[0]->free, world.options.capacity);
        world_input_ready(&world, first, 0, PW_OK);
        world_daemon(&world);
        assert_int_equal(state_of(last), PW_RUN_ADMITTED);
        world_settle(&world);
        assert_int_equal(last->status, PW_OK);
        world_done(&world);
}

/* A chain whose first input fails: its runs end one by one, none is admitted and no device hears of them. */
static void test_failed_input(void **state)
{
        struct world_object *last;
        struct world_run *first = begin_chain(&last);

        (void)state;
        world_input_ready(&world, first, 0, PW_PRODUCER_LOST);
        world_daemon(&world);
        assert_int_equal(last->status, PW_PRODUCER_LOST);
        assert_int_equal(state_of(last), PW_RUN_ENDED);
        assert_int_equal(world.runs_open, 0);
        assert_int_equal(pw_scheduler_actions(world.scheduler)->prepares, 0);
        assert_int_equal(atomic_load(&world.boards[0]->head), 0);
        world_check(&world);
        world_done(&world);
}

/* What is not computed from the input that failed is made all the same. */
static void test_failed_input_of_some(void **state)
{
        struct world_program *fork = &world.programs[3];
        struct world_object *inputs[2];
        struct world_run *run;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 64 << 10 });
        world_make_fork(&world, fork);
        for (uint32_t i = 0; i < 2; i++)
                inputs[i] = world_put(&world, fork, i, i == 1);
        run = world_submit(&world, fork, inputs, false);
        world_input_ready(&world, run, 0, PW_PRODUCER_LOST);
        world_settle(&world);
        for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(run->results[i]->status, i < 3 ? PW_PRODUCER_LOST : PW_OK);
        world_done(&world);
}

/* The room of an error that a waiting run reads does not come back before that run is admitted: who came before it and lacks that
 * room is passed by it, and has the room then. */
static void test_room_of_an_error(void **state)
{
        struct world_program *fork = &world.programs[3], *whole = &world.programs[4];
        struct world_object *inputs[2], *result;
        struct world_run *made, *reads;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 4 << 10,
                                                       .donations = -1 });
        world_make_fork(&world, fork);
        world_make_chain(&world, whole, "whole", 1, 1004);
        for (uint32_t i = 0; i < 2; i++)
                inputs[i] = world_put(&world, fork, i, true);
        made = world_submit(&world, fork, inputs, false);
        inputs[0] = made->results[0];
        inputs[1] = world_put(&world, fork, 1, false);
        reads = world_submit(&world, fork, inputs, false);
        reads->any = true;
        world_cancel(&world, made);
        world_settle(&world);
        assert_true(made->ended);
        result = submit(whole);
        world_settle(&world);
        assert_int_equal(state_of(result), PW_RUN_QUEUED);
        world_input_ready(&world, reads, 1, PW_OK);
        world_settle(&world);
        assert_int_equal(reads->results[0]->status, PW_CANCELLED);
        assert_int_equal(reads->results[3]->status, PW_OK);
        for (uint32_t i = 0; i < 4; i++) {
                world_drop(&world, made->results[i]);
                world_drop(&world, reads->results[i]);
        }
        world_settle(&world);
        assert_int_equal(result->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

static void test_input_deadline(void **state)
{
        struct world_object *input, *result, *after;
        struct world_run *run;

        (void)state;
        begin(64 << 10);
        world.options.donations = -1;
        input = world_put(&world, step, 0, false);
        run = world_submit(&world, step, &input, false);
        result = run->results[0];
        after = world_submit(&world, step, &result, false)->results[0];
        run->run->deadline_us = 1000;
        pw_deadline_note(pw_live_of(run->run));
        world.now_us = 1000;
        world_settle(&world);
        assert_int_equal(result->status, PW_DEADLINE);
        assert_string_equal(result->text, "run 1 of step: input 0 was not ready before the deadline");
        assert_int_equal(after->status, PW_DEADLINE);
        world_check(&world);
        world_done(&world);
}

/* Very many that are due at once end in parts, the first ones first, however their deadlines were asked for. */
static void test_many_deadlines(void **state)
{
        enum { MANY = 200 };
        struct world_object *input, *results[MANY];
        uint32_t ended = 0;

        (void)state;
        begin(64 << 10);
        input = world_put(&world, step, 0, false);
        for (uint32_t i = 0; i < MANY; i++) {
                results[i] = world_submit(&world, step, &input, false)->results[0];
                results[i]->maker->run->deadline_us = i % 2 ? 1000 : 2000;
                pw_deadline_note(pw_live_of(results[i]->maker->run));
        }
        assert_int_equal(pw_scheduler_next_us(world.scheduler), 1000);
        pw_scheduler_tick(world.scheduler, 2000);
        for (uint32_t i = 0; i < MANY; i++) {
                bool has = results[i]->maker->run->state == PW_RUN_ENDED;

                ended += has;
                assert_true(i % 2 || !has);
        }
        assert_in_range(ended, 1, MANY / 2);
        assert_int_equal(pw_scheduler_next_us(world.scheduler), 1000);
        world.now_us = 2000;
        world_settle(&world);
        for (uint32_t i = 0; i < MANY; i++)
                assert_int_equal(results[i]->status, PW_DEADLINE);
        world_check(&world);
        world_done(&world);
}

/* A result of other dims than the program was compiled for never reaches an executor. */
static void test_shape(void **state)
{
        struct world_object *wrong, *result;

        (void)state;
        begin(64 << 10);
        wrong = submit(large);
        world_settle(&world);
        result = world_submit(&world, step, &wrong, false)->results[0];
        result->maker->any = true;
        world_settle(&world);
        assert_int_equal(result->status, PW_SHAPE);
        assert_string_equal(result->text, "input 0 of step is i32 [1004], the program wants i32 [236] (input 0 of run 2, step)");
        world_done(&world);
}

/* Nor does one that comes after the run, be it of another run or a client's. */
static void test_late_shape(void **state)
{
        struct world_object *wrong, *results[2];
        struct world_run *maker;

        (void)state;
        begin(64 << 10);
        world.options.donations = -1;
        wrong = world_put(&world, large, 0, false);
        maker = world_submit(&world, large, &wrong, false);
        results[0] = world_submit(&world, step, &wrong, false)->results[0];
        results[1] = world_submit(&world, step, maker->results, false)->results[0];
        for (uint32_t i = 0; i < 2; i++) {
                results[i]->maker->any = true;
                assert_int_equal(state_of(results[i]), PW_RUN_WAITING);
        }
        world_input_ready(&world, results[0]->maker, 0, PW_OK);
        world_input_ready(&world, maker, 0, PW_OK);
        world_settle(&world);
        assert_int_equal(maker->results[0]->status, PW_OK);
        assert_int_equal(results[0]->status, PW_SHAPE);
        assert_string_equal(results[0]->text,
                            "input 0 of step is i32 [1004], the program wants i32 [236] (input 0 of run 2, step)");
        assert_int_equal(results[1]->status, PW_SHAPE);
        assert_string_equal(results[1]->text,
                            "input 0 of step is i32 [1004], the program wants i32 [236] (input 0 of run 3, step)");
        world_done(&world);
}

static void *refuse_all(void *first)
{
        assert_int_equal(pw_scheduler_quota(world.scheduler, world_tenants[0], 64, NULL), PW_OK);
        world_input_ready(&world, first, 0, PW_OK);
        world_settle(&world);
        return NULL;
}

/* A chain of runs whose quota shrinks while they wait: each is refused in its turn, so however many there are it takes no more of
 * the stack. Each has a result that no input in error reaches. */
static void test_refused_chain(void **state)
{
        struct world_object *last, *other;
        struct world_run *first = NULL;
        pthread_attr_t small;
        pthread_t thread;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 64 << 10,
                                                       .donations = -1 });
        world.check_every = 1u << 20;
        step = &world.programs[0];
        world_make_fork(&world, step);
        last = world_put(&world, step, 0, false);
        other = world_put(&world, step, 1, true);
        for (uint32_t i = 0; i < 3000; i++) {
                struct world_run *run = world_submit(&world, step, (struct world_object *[]){ last, other }, false);

                run->any = true;
                first = first ? first : run;
                last = run->results[0];
        }
        assert_int_equal(state_of(last), PW_RUN_WAITING);
        assert_int_equal(pthread_attr_init(&small), 0);
        assert_int_equal(pthread_attr_setstacksize(&small, 512 << 10), 0);
        assert_int_equal(pthread_create(&thread, &small, refuse_all, first), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&small);
        assert_int_equal(last->status, PW_TOO_LARGE);
        assert_int_equal(world.runs_open, 0);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_quota), cmocka_unit_test(test_deadline), cmocka_unit_test(test_inputs),
                cmocka_unit_test(test_shape), cmocka_unit_test(test_input_deadline), cmocka_unit_test(test_many_deadlines),
                cmocka_unit_test(test_late_shape), cmocka_unit_test(test_failed_input),
                cmocka_unit_test(test_failed_input_of_some),
                                            cmocka_unit_test(test_room_of_an_error), cmocka_unit_test(test_quota_of_another),
                cmocka_unit_test(test_quota_let_go), cmocka_unit_test(test_deadline_beside_another),
                cmocka_unit_test(test_refused_chain),
        };

        return WORLD_RUN_TESTS(tests);
}
