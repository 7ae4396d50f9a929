/* Devices that wait: asleep, for a record, for the doorbell, for who reads their reports. */
#include "executor/launch_fixture.h"

/* --- waiting --------------------------------------------------------------------------------------------------------------- */

/* An executor that sleeps is woken by an order; one that is not a member sleeps on, and is right about the log afterwards. */
static void test_sleep_and_log(void **state)
{
        struct build *build = build_new();
        struct trial trial;
        double one = 1.0;
        struct input inputs[2] = { INPUT(one) };
        uint32_t first = build_slice(build, devices, 1, 0), second = build_slice(build, devices + 1, 1, 0), value;
        (void)state;

        inputs[1] = inputs[0];
        value = build_value(build, first, PW_F64, PW_SCALAR, PW_BROADCAST);
        build_input(build, value);
        value = build_value(build, second, PW_F64, PW_SCALAR, PW_BROADCAST);
        build_input(build, value);
        build_result(build, value);
        trial_start(&trial, 2, 1, build);
        run_init(&trial.run, &trial.program, inputs);
        WORLD_UNTIL(atomic_load(&trial.world.bells->order_sleepers[0].bits) == 3);
        for (uint32_t i = 0; i < 3 * PW_ORDER_LOG; i++) { /* device 1 sees none of them */
                run_order(&trial.run, 0);
                if (i % 1000 == 999) /* less than PW_ORDER_REACH ahead */
                        world_wait(&trial.world, 0, i + 1);
        }
        assert_true(atomic_load(&trial.world.bells->order_sleepers[0].bits) & 2);
        assert_int_equal(atomic_load(&trial.world.bells->bell[1].word), 0);
        run_order(&trial.run, 1);
        run_wait(&trial.run);
        assert_int_equal(atomic_load(&trial.world.boards[1]->done.count), 1);
        assert_int_equal(atomic_load(&trial.world.boards[1]->done.seq), 3 * PW_ORDER_LOG + 1);
        trial_done(&trial);
}

/* A record that is being overwritten is not taken for an old one: it has this device as a member only later. */
static void test_record_being_overwritten(void **state)
{
        struct world world;
        struct pw_launch_params params = { .kind = pw_device_kind("cpu"), .collective = pw_collective_kind("host"),
                                           .device_count = 1, .island_count = 1 };
        struct pw_surroundings around = { 0 };
        struct pw_launch *launch;
        struct pw_error err;
        (void)state;

        world_init(&world, 1, 1);
        params.bells = world.bells;
        params.boards[0] = world.boards[0];
        params.islands[0] = world.islands[0];
        params.around = &around;
        assert_int_equal(params.kind->open(&(struct pw_device_params){ 0 }, &params.handle, &err), PW_OK);
        launch = pw_launch_new(&params);
        atomic_store(&world.islands[0]->head, 1); /* gang 1 had other members; its place is being written for the next round */
        atomic_store(&world.islands[0]->written, 1 + PW_ORDER_LOG);
        world.islands[0]->log[1] = (struct pw_order){ .members = 1 };
        assert_int_equal(pw_launch_turn(launch), 0);
        pw_launch_free(launch);
        params.kind->close(params.handle);
        world_done(&world);
}

/* The daemon is rung once, when it sleeps and the count that it asked for is reached. */
static void test_doorbell(void **state)
{
        struct trial trial;
        (void)state;

        trial_init(&trial, 1, 1, build_failing(1, "broken/fail", 99, true));
        run_init(&trial.run, &trial.program, &input_one);
        atomic_store(&trial.world.islands[0]->ring_at[0], 5);
        atomic_store(&trial.world.islands[0]->daemon_asleep, 1);
        world_start_all(&trial.world);
        run_order_all(&trial.run);
        run_wait(&trial.run);
        assert_int_equal(atomic_load(trial.world.doorbells), 0);
        run_order_all(&trial.run);
        run_wait(&trial.run);
        assert_int_equal(atomic_load(trial.world.doorbells), 1);
        trial_done(&trial);
}

/* More reports than the ring has room for: the executor waits for the daemon. */
static void test_full_reports(void **state)
{
        struct trial trial;
        uint32_t head = 0, count = 0;
        struct pw_report report;
        (void)state;

        trial_start(&trial, 1, 1, build_failing(1, "broken/fail", 0, true));
        run_init(&trial.run, &trial.program, &input_one);
        for (uint32_t i = 0; i < 100; i++)
                run_order_all(&trial.run); /* three reports each */
        WORLD_UNTIL(atomic_load(trial.world.doorbells));
        assert_int_equal(atomic_load(&trial.world.boards[0]->report_tail), PW_REPORTS);
        for (; count < 300; count++) {
                WORLD_UNTIL(pw_report_pop(trial.world.boards[0], &head, &report));
                if (atomic_load(&trial.world.boards[0]->report_waits))
                        pw_bells_ring_one(trial.world.bells, 0);
        }
        run_wait(&trial.run);
        assert_int_equal(atomic_load(&trial.world.boards[0]->report_waits), 0);
        trial_done(&trial);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sleep_and_log), cmocka_unit_test(test_record_being_overwritten),
                cmocka_unit_test(test_doorbell), cmocka_unit_test(test_full_reports),
        };
        return world_tests(tests);
}
