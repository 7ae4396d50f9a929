/* Executors that die, and what depends on them: causes, chains of failures, reports that were full. */
#include "tests/world/order.h"

static void test_death(void **state)
{
        struct world_program *program = &world.programs[0];
        struct world_object *first, *second, *other;

        (void)state;
        begin(1, 2, 8);
        world.options.donations = -1;
        world_make_chain(&world, program, "chain", 2, 64);
        world_make_chain(&world, &world.programs[1], "other", 2, 64);
        first = run_on(program, world_put(&world, program, 0, true), false);
        second = run_on(program, first, false);
        other = run_on(&world.programs[1], world_put(&world, &world.programs[1], 0, true), false);
        world_daemon(&world);
        reach(0, 2);
        world_expect(&world, WORLD_ASKS("1") WORLD_STARTS("1")
                             WORLD_ASKS("2") WORLD_STARTS("2")
                             WORLD_ASKS("3") WORLD_STARTS("3"));
        world_kill(&world, 0);
        world_settle(&world);
        world_expect(&world, WORLD_ENDS("1")
                             WORLD_ENDS("2")
                             WORLD_ENDS("3")
                             "object=2.0.1 from=pending to=error cause=fail\n"
                             "object=2.1.1 from=pending to=error cause=fail\n"
                             "object=2.2.1 from=pending to=ready cause=decide\n");
        assert_int_equal(first->status, PW_CRASHED);
        assert_string_equal(first->text, "m/update crashed (SIGKILL) on device h3:0, run 1");
        assert_int_equal(second->status, PW_CRASHED);
        assert_string_equal(second->text, "m/update crashed (SIGKILL) on device h3:0, run 1 (input 0 of run 2, chain)");
        assert_int_equal(other->status, PW_OK);
        world_kill(&world, 1);
        world_drop(&world, second);
        world_settle(&world);
        world_expect(&world, "object=2.2.1 from=ready to=lost cause=lose\n"
                             "object=2.1.1 from=error to=closing cause=close\n"
                             "object=2.1.1 from=closing to=free cause=free\n");
        assert_int_equal(other->status, PW_DEVICE_LOST);
        assert_string_equal(other->text, "the device h3:1 that held it was lost: its executor ended (SIGKILL)");
        world_done(&world);
}

/* What depends on the function that crashed says so, also where it needs what was lost with it; what only needs that is lost; what
 * needs neither goes on. */
static void test_death_in_a_fork(void **state)
{
        struct world_program *program = &world.programs[0];
        struct world_object *inputs[2], **results;
        static const char crashed[] = "m/left crashed (SIGKILL) on device h3:0, run 1";
        static const char lost[] = "the device h3:0 that held it was lost: its executor ended (SIGKILL)";

        (void)state;
        begin(1, 2, 8);
        world_make_fork(&world, program);
        for (uint32_t i = 0; i < 2; i++)
                inputs[i] = world_put(&world, program, i, true);
        results = world_submit(&world, program, inputs, false)->results;
        world_daemon(&world);
        reach(0, 2);
        world_kill(&world, 0);
        world_settle(&world);
        assert_int_equal(results[0]->status, PW_CRASHED);
        assert_string_equal(results[0]->text, crashed);
        assert_int_equal(results[1]->status, PW_DEVICE_LOST);
        assert_string_equal(results[1]->text, lost);
        assert_int_equal(results[2]->status, PW_CRASHED);
        assert_string_equal(results[2]->text, crashed);
        assert_int_equal(results[3]->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

/* What is lost was lost by device 1. */
static void tell(uint64_t run, uint32_t result, enum pw_status status, const char *text)
{
        struct pw_report report = { .run = run, .node = 1, .status = status, .result = result,
                                    .cause_node = status == PW_FAILED ? 1 : PW_NODE_NONE,
                                    .cause_device = { (uint16_t)WORLD_HOST, status == PW_DEVICE_LOST } };

        snprintf(report.text, sizeof report.text, "%s", text);
        pw_scheduler_report(world.scheduler, 0, &report, world.now_us);
}

/* Of what devices say of one result the cause is told, not that something was lost by it, in whatever order they say it; of two
 * causes the first. */
static void test_cause_of_several(void **state)
{
        static const enum pw_status told[][3] = {
                { PW_DEVICE_LOST, PW_FAILED, PW_DEVICE_LOST }, { PW_FAILED, PW_DEVICE_LOST, PW_SHAPE },
                        { PW_DEVICE_LOST, PW_DEVICE_LOST, PW_FAILED },
        };
        struct world_program *program = &world.programs[0];

        (void)state;
        for (uint32_t i = 0; i < 3; i++) {
                struct world_object *object;

                begin(1, 2, 8);
                world.options.donations = -1;
                world_make_chain(&world, program, "chain", 1, 64);
                object = run_on(program, world_put(&world, program, 0, true), false);
                object->maker->any = true;
                world_daemon(&world);
                world_kill(&world, 1);
                tell(object->maker->number, PW_NODE_NONE, PW_FAILED, "row 7 has no label");
                for (uint32_t t = 0; t < 3; t++)
                        tell(object->maker->number, 0, told[i][t], "");
                world_settle(&world);
                assert_int_equal(object->status, PW_FAILED);
                assert_string_equal(object->text, "m/update failed on device h3:0, run 1: row 7 has no label");
                world_done(&world);
        }
}

/* What another host's device lost was not lost by the one of that number here. */
static void test_lost_by_another_host(void **state)
{
        for (uint16_t host = 3; host <= 4; host++) {
                struct pw_report report = { .status = PW_DEVICE_LOST, .cause_node = PW_NODE_NONE, .cause_device = { host, 1 } };
                struct world_object *object;

                (void)state;
                begin(1, 2, 8);
                world.options.donations = -1;
                world_make_chain(&world, &world.programs[0], "chain", 1, 64);
                object = run_on(&world.programs[0], world_put(&world, &world.programs[0], 0, true), false);
                object->maker->any = true;
                world_daemon(&world);
                world_kill(&world, 1);
                report.run = object->maker->number;
                pw_scheduler_report(world.scheduler, 0, &report, world.now_us);
                world_settle(&world);
                assert_int_equal(object->status, PW_DEVICE_LOST);
                assert_string_equal(object->text, host == 3 ? "the device h3:1 that held it was lost: its executor ended (SIGKILL)"
                                                            : "chain of run 1: the device that held it was lost");
                world_done(&world);
        }
}

/* An executor may say anything: of results that the run has not, of devices and nodes that are not there, of a device that was
 * lost. */
static void test_reports_of_nothing(void **state)
{
        static const uint32_t results[] = { 1, 2, 4096, UINT32_MAX - 1 };
        struct world_object *object;

        (void)state;
        begin(1, 1, 8);
        world.options.donations = -1;
        world_make_chain(&world, &world.programs[0], "chain", 2, 64);
        object = run_on(&world.programs[0], world_put(&world, &world.programs[0], 0, true), false);
        world_daemon(&world);
        for (uint32_t i = 0; i < sizeof results / sizeof *results; i++) {
                struct pw_report report = { .run = object->maker->number, .node = UINT32_MAX - 1, .status = 1u << 30,
                                            .result = results[i], .cause_node = UINT32_MAX - 1, .cause_device = { 4095, 65535 } };
                pw_scheduler_report(world.scheduler, 0, &report, world.now_us);
                report.status = PW_DEVICE_LOST;
                report.result = report.node = PW_NODE_NONE;
                pw_scheduler_report(world.scheduler, 0, &report, world.now_us);
        }
        world_settle(&world);
        assert_int_equal(object->status, PW_OK);
        world_done(&world);
}

static void test_failure_chain(void **state)
{
        struct world_program *program = &world.programs[0];
        struct world_object *object, *third;

        (void)state;
        begin(1, 1, 8);
        world.options.donations = -1;
        world_make_chain(&world, program, "chain", 2, 64);
        object = run_on(program, world_put(&world, program, 0, true), false);
        pw_list_first(&world.runs, struct world_run, link)->failing = 2;
        object = run_on(program, object, false);
        third = run_on(program, object, false);
        pw_list_first(&world.runs, struct world_run, link)->any = true;
        world_settle(&world);
        assert_int_equal(third->status, PW_FAILED);
        assert_string_equal(third->text, "m/update failed on device h3:0, run 1: meant to fail (input 0 of run 3, chain)");
        world_done(&world);
}

/* An executor that waits for room among its reports is rung once there is some, others are not. */
static void test_full_reports(void **state)
{
        struct pw_report report = { .result = PW_NODE_NONE, .status = PW_FAILED };
        static struct pw_bells bells;

        (void)state;
        memset(&bells, 0, sizeof bells);
        begin(1, 2, 8);
        pw_boards_bells(world.host, &bells);
        for (uint32_t d = 0; d < 2; d++)
                while (pw_report_push(world.executors[d].board, &report))
                        ;
        atomic_store(&world.executors[1].board->report_waits, 1);
        world_daemon(&world);
        assert_int_equal(pw_bells_seen(&bells, 0), 0);
        assert_int_equal(pw_bells_seen(&bells, 1), 1);
        assert_true(pw_report_push(world.executors[1].board, &report));
        world_done(&world);
}

/* An executor that dies between taking a sleeper's bit and ringing it leaves it asleep, if nobody else rings. */
static void test_death_while_ringing(void **state)
{
        static struct pw_bells bells;

        (void)state;
        memset(&bells, 0, sizeof bells);
        begin(2, 4, 8);
        pw_boards_bells(world.host, &bells);
        atomic_store(&bells.sleepers[1].bits, 0); /* 0 and 3 slept; the dead took them off */
        world_kill(&world, 1);
        assert_int_equal(pw_bells_seen(&bells, 0), 1);
        assert_int_equal(pw_bells_seen(&bells, 3), 1);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_death), cmocka_unit_test(test_cause_of_several), cmocka_unit_test(test_failure_chain),
                cmocka_unit_test(test_lost_by_another_host), cmocka_unit_test(test_reports_of_nothing),
                cmocka_unit_test(test_death_in_a_fork), cmocka_unit_test(test_full_reports),
                cmocka_unit_test(test_death_while_ringing),
        };

        return WORLD_RUN_TESTS(tests);
}
