/* The launch loop: how errors travel, and what happens around deaths. */
#include "executor/gang/failure.h"

static void check_failed(struct world *world, const struct run *run)
{
        struct pw_report report;

        for (uint32_t d = 0; d < 3; d++) {
                const struct pw_room_head *head = run_head(run, 1, d);
                assert_int_equal(run_head(run, 0, d)->status, d == 1 ? PW_FAILED : PW_OK);
                assert_int_equal(head->status, PW_FAILED);
                assert_int_equal(head->cause_node, 1);
                assert_int_equal(head->cause_device.device, 1);
                assert_int_equal(head->run, run->number);
                if (d == 1) {
                        report = world_report(world, d);
                        assert_int_equal(report.result, PW_NODE_NONE);
                        assert_string_equal(report.text, "shard 1 was told to fail");
                        assert_int_equal(report.status, PW_FAILED);
                        assert_int_equal(report.run, run->number);
                        assert_int_equal(world_report(world, d).result, 0);
                }
                report = world_report(world, d);
                assert_int_equal(report.result, 1);
                assert_int_equal(report.node, 3);
                assert_int_equal(report.cause_node, 1);
                assert_int_equal(report.cause_device.device, 1);
        }
        world_no_report(world);
}

static void test_failed_function(void **state)
{
        struct program bad, good;
        struct world world;
        struct run runs[2];
        (void)state;

        for (uint32_t eager = 0; eager < 2; eager++) {
                world_init(&world, 3, 1);
                program_init(&bad, &world, build_failing(3, "broken/fail", 1, eager));
                program_init(&good, &world, build_failing(3, "broken/fail", 99, eager));
                run_init(&runs[0], &bad, &input_one);
                run_init(&runs[1], &good, &input_one);
                run_order_all(&runs[0]);
                run_order_all(&runs[1]);
                world_start_all(&world);
                run_wait(&runs[1]);
                check_failed(&world, &runs[0]);
                for (uint32_t d = 0; d < 3; d++)
                        assert_true(*(const double *)run_data(&runs[1], 1, d) == 6.0);
                assert_int_equal(world_history(&world, 1, 2).status, PW_FAILED);
                world_done(&world);
                program_done(&bad);
                program_done(&good);
        }
}

/* Modules that cannot be used fail their nodes only, with a text that names them. */
static void test_bad_modules(void **state)
{
        static const struct { const char *function, *text; enum pw_status status; } bad[] = {
                { "missing/nop", "module missing", PW_NOT_FOUND },
                { "pw/missing", "module pw has no function missing", PW_NOT_FOUND },
                { "other_abi/nop", "module other_abi has ABI 6", PW_BAD_MODULE },
        };
        struct trial trial;
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(bad); i++) {
                struct pw_report report;
                trial_start(&trial, 1, 1, build_failing(1, bad[i].function, 0, true));
                trial_run(&trial, &input_one);
                report = world_report(&trial.world, 0);
                assert_int_equal(report.status, bad[i].status);
                assert_non_null(strstr(report.text, bad[i].text));
                assert_int_equal(run_head(&trial.run, 1, 0)->status, bad[i].status);
                trial_done(&trial);
        }
}

/* An input that is known to be in error when its load is ordered, though it was to be in place; one whose room says so. */
static void test_input_in_error(void **state)
{
        struct input input = input_one;
        struct trial trial;
        struct run runs[3];
        (void)state;

        trial_start(&trial, 1, 1, build_failing(1, "broken/fail", 0, true));
        run_init(&runs[0], &trial.program, &input);
        run_order_all(&runs[0]);
        run_wait(&runs[0]);
        for (uint32_t i = 0; i < 3; i++)
                world_report(&trial.world, 0);
        input = (struct input){ .bytes = 8, .mesh = { 1 }, .shard_count = 1, .in_place = true };
        input.shards[0] = (struct pw_run_shard){ .segment = DEVICE_SEGMENT(0), .offset = runs[0].results[0][0],
                                                .bytes = pw_room_bytes(8), .seq = 2 };
        for (uint32_t i = 1; i < 3; i++) {
                struct pw_run_input *record;
                run_init(&runs[i], &trial.program, &input);
                record = PW_RUN_AT(run_record(&runs[i], 0), struct pw_run_input, run_record(&runs[i], 0)->inputs);
                if (i == 2) {
                        record->in_place = 0;
                        record->status = PW_GONE;
                }
                run_order_all(&runs[i]);
                run_wait(&runs[i]);
                assert_int_equal(run_head(&runs[i], 1, 0)->status, i == 1 ? PW_FAILED : PW_GONE);
                for (uint32_t k = 0; k < 2; k++) {
                        struct pw_report report = world_report(&trial.world, 0);
                        assert_int_equal(report.result, k);
                        assert_int_equal(report.run, runs[i].number);
                        assert_int_equal(report.cause_node,
                                         i == 1 ? PW_NODE_NONE : 0); /* nodes of another run have no number here */
                }
        }
        world_no_report(&trial.world);
        trial_done(&trial);
}

/* From the node on where a run is cancelled nothing of it is done. */
static void cancelled(uint32_t at)
{
        struct trial trial;

        trial_start(&trial, 3, 1, build_failing(3, "broken/fail", 99, true));
        run_init(&trial.run, &trial.program, &input_one);
        run_record(&trial.run, 0)->cancelled_at = at;
        run_order_all(&trial.run);
        run_wait(&trial.run);
        for (uint32_t d = 0; d < 3; d++) {
                assert_int_equal(run_head(&trial.run, 0, d)->status, at > 1 ? PW_OK : PW_CANCELLED);
                assert_int_equal(run_head(&trial.run, 1, d)->status, PW_CANCELLED);
                for (uint32_t result = at > 1; result < 2; result++) {
                        struct pw_report report = world_report(&trial.world, d);
                        assert_int_equal(report.result, result);
                        assert_int_equal(report.status, PW_CANCELLED);
                }
        }
        world_no_report(&trial.world);
        trial_done(&trial);
}

static void test_cancelled(void **state)
{
        (void)state;
        for (uint32_t at = 1; at < 4; at++) /* the first call, the transfer, the last call */
                cancelled(at);
}

/* Who waits for a peer is in no function: what that takes does not count against the limit of the function before. */
static void test_waiting_for_a_peer(void **state)
{
        struct trial trial;
        (void)state;

        trial_init(&trial, 2, 1, build_failing(2, "broken/fail", 99, false));
        world_start(&trial.world, 0);
        run_init(&trial.run, &trial.program, &input_one);
        run_order_all(&trial.run);
        WORLD_UNTIL(atomic_load(&trial.world.boards[0]->running) == 3); /* the transfer, behind a call */
        assert_int_equal(atomic_load(&trial.world.boards[0]->running_since_ns), 0);
        world_start(&trial.world, 1);
        run_wait(&trial.run);
        for (uint32_t d = 0; d < 2; d++)
                assert_true(*(const double *)run_data(&trial.run, 1, d) == 4.0);
        trial_done(&trial);
}

/* What a dead device wrote is lost; the process that takes its place goes on with the queue. */
static void test_lost_device(void **state)
{
        struct trial trial;
        struct run runs[2];
        (void)state;

        trial_start(&trial, 3, 1, build_failing(3, "broken/fail", 99, false));
        run_init(&runs[0], &trial.program, &input_one);
        run_order(&runs[0], 0);
        run_order(&runs[0], 1);
        run_wait(&runs[0]);
        world_kill(&trial.world, 1);
        atomic_store(&trial.world.islands[0]->lost_before[1], 3);
        run_order(&runs[0], 2);
        run_order(&runs[0], 3);
        run_init(&runs[1], &trial.program, &input_one);
        run_order_all(&runs[1]);
        world_start(&trial.world, 1);
        run_wait(&runs[1]);
        for (uint32_t d = 0; d < 3; d++) {
                assert_int_equal(run_head(&runs[0], 1, d)->status, PW_DEVICE_LOST);
                assert_int_equal(run_head(&runs[0], 1, d)->cause_device.device, 1);
                assert_int_equal(run_head(&runs[1], 1, d)->status, PW_OK);
                assert_true(*(const double *)run_data(&runs[1], 1, d) == 6.0);
        }
        trial_done(&trial);
}

/* Where one input is lost and another one failed, the function that failed is the cause: in a call and in a transfer. */
static void test_lost_and_failed(void **state)
{
        double one = 1.0;
        uint64_t shard = 1;
        struct input input = INPUT(one);
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, 2, 0), values[4];
        struct trial trial;
        (void)state;

        for (uint32_t i = 0; i < 4; i++)
                values[i] = build_value(build, slice, PW_F64, PW_SCALAR, i == 1 ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        build_input(build, values[0]);
        build_call(build,
                   &(struct build_call){ .function = "broken/fail", .params = &shard, .params_bytes = 8, .inputs = { values[0] },
                                                .input_count = 1, .output = values[1] });
        build_transfer(build, &(struct build_transfer){ .from = values[1], .to = values[2] });
        build_call(build, &(struct build_call){ .function = "pw/add", .inputs = { values[0], values[1] }, .input_count = 2,
                                                .output = values[3] });
        build_result(build, values[2]);
        build_result(build, values[3]);
        trial_start(&trial, 2, 1, build);
        run_init(&trial.run, &trial.program, &input);
        run_order(&trial.run, 0);
        run_order(&trial.run, 1);
        run_wait(&trial.run);
        atomic_store(&trial.world.islands[0]->lost_before[0], 3);
        atomic_store(&trial.world.islands[0]->lost_before[1], 2);
        run_order(&trial.run, 2);
        run_order(&trial.run, 3);
        run_wait(&trial.run);
        for (uint32_t d = 0; d < 2; d++) {
                assert_int_equal(run_head(&trial.run, 0, d)->status, PW_FAILED);
                assert_int_equal(run_head(&trial.run, 0, d)->cause_device.device, 1);
                assert_int_equal(run_head(&trial.run, 1, d)->status, d ? PW_FAILED : PW_DEVICE_LOST);
                assert_int_equal(run_head(&trial.run, 1, d)->cause_device.device, d);
        }
        trial_done(&trial);
}

/* A member crashes in gang 2; the daemon marks it for peers, the next process writes its outputs in error. */
static void test_crash_in_gang(void **state)
{
        struct trial trial;
        (void)state;

        trial_start(&trial, 3, 1, build_failing(3, "broken/crash", 1, false));
        run_init(&trial.run, &trial.program, &input_one);
        run_order_all(&trial.run);
        WORLD_UNTIL(atomic_load(&trial.world.boards[1]->running) == 2);
        world_kill(&trial.world, 1); /* reaps it */
        atomic_store(&trial.world.islands[0]->lost_before[1], 2);
        trial.world.boards[1]->marks[2].status = PW_CRASHED;
        trial.world.boards[1]->marks[2].cause_node = 1;
        trial.world.boards[1]->marks[2].cause_device = (struct pw_device_id){ WORLD_HOST, 1 };
        atomic_store(&trial.world.boards[1]->marks[2].seq, 2);
        atomic_store(&trial.world.boards[1]->failed.status, PW_CRASHED);
        atomic_store(&trial.world.boards[1]->failed.seq, 2);
        pw_bells_ring(trial.world.bells, &trial.world.bells->sleepers[1].bits, UINT64_MAX);
        world_start(&trial.world, 1);
        run_wait(&trial.run);
        assert_int_equal(world_history(&trial.world, 1, 2).status, PW_CRASHED);
        for (uint32_t d = 0; d < 3; d++) {
                assert_int_equal(run_head(&trial.run, 1, d)->status, PW_CRASHED);
                assert_int_equal(run_head(&trial.run, 1, d)->cause_node, 1);
                assert_int_equal(run_head(&trial.run, 1, d)->cause_device.device, 1);
        }
        trial_done(&trial);
}

/* a -> b = 2 a -> c = 3 b in the room of b, of which device 1 reads b; results: what it read, and a. */
static struct build *build_reused_room(void)
{
        struct build *build = build_new();
        uint32_t one = build_slice(build, devices, 1, 0), other = build_slice(build, devices + 1, 1, 0);
        uint32_t a = build_value(build, one, PW_F64, PW_SCALAR, PW_BROADCAST);
        uint32_t b = build_value(build, one, PW_F64, PW_SCALAR, PW_BROADCAST);
        uint32_t read = build_value(build, other, PW_F64, PW_SCALAR, PW_BROADCAST), c = build_value_in(build, b, PW_BROADCAST);
        uint32_t send, receive, call;

        build_input(build, a);
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { a }, .input_count = 1, .output = b });
        send = build_transfer(build, &(struct build_transfer){ .from = b, .to = read, .phase = PW_PHASE_SEND });
        receive = build_transfer(build,
                                 &(struct build_transfer){ .from = b, .to = read, .phase = PW_PHASE_RECV, .send_node = send });
        call = build_call(build, &(struct build_call){ SCALE(3.0), .inputs = { b }, .input_count = 1, .output = c });
        build_wait(build, call, receive);
        build_result(build, read);
        build_result(build, a);
        return build;
}

/* A process ends in a gang that still waits for a reader of its room: who comes after it waits, too, and writes the error then. */
static void test_crash_before_reader(void **state)
{
        struct trial trial;
        (void)state;

        trial_init(&trial, 2, 1, build_reused_room());
        run_init(&trial.run, &trial.program, &input_one);
        world_start(&trial.world, 0);
        run_order_all(&trial.run);
        WORLD_UNTIL(atomic_load(&trial.world.boards[0]->running) == 5);
        world_kill(&trial.world, 0);
        atomic_store(&trial.world.bells->sleepers[1].bits, 0);
        atomic_store(&trial.world.islands[0]->lost_before[0], 5);
        atomic_store(&trial.world.boards[0]->failed.status, PW_CRASHED);
        atomic_store(&trial.world.boards[0]->failed.seq, 5);
        world_start(&trial.world, 0);
        WORLD_UNTIL(atomic_load(&trial.world.bells->sleepers[1].bits) || atomic_load(&trial.world.boards[0]->done.seq) >= 5);
        assert_int_equal(atomic_load(&trial.world.boards[0]->done.seq), 3);
        world_start(&trial.world, 1);
        run_wait(&trial.run);
        assert_int_equal(run_head(&trial.run, 0, 0)->status, PW_DEVICE_LOST);
        assert_int_equal(world_history(&trial.world, 0, 5).status, PW_CRASHED);
        trial_done(&trial);
}

/* --- a function writes past its room while another device copies from there ---------------------------------------------- */

/* What a device lost stands in the board of its own island: who reads of it in another one looks there. */
static void test_lost_in_another_island(void **state)
{
        struct trial trial;
        (void)state;

        trial_start(&trial, 2, 2, build_reduce(true));
        run_init(&trial.run, &trial.program, &input_one);
        run_order(&trial.run, 0);
        run_order(&trial.run, 1);
        run_wait(&trial.run);
        atomic_store(&trial.world.islands[1]->lost_before[1], 3);
        for (uint32_t node = 2; node < trial.program.image->node_count; node++)
                run_order(&trial.run, node);
        run_wait(&trial.run);
        for (uint32_t d = 0; d < 2; d++) {
                assert_int_equal(run_head(&trial.run, 0, d)->status, PW_OK);
                check_lost(&trial.run, 1, d);
        }
        trial_done(&trial);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_failed_function), cmocka_unit_test(test_bad_modules),
                cmocka_unit_test(test_input_in_error), cmocka_unit_test(test_cancelled),
                cmocka_unit_test(test_waiting_for_a_peer), cmocka_unit_test(test_lost_in_another_island),
                cmocka_unit_test(test_lost_device), cmocka_unit_test(test_lost_and_failed),
                cmocka_unit_test(test_crash_in_gang), cmocka_unit_test(test_crash_before_reader),
        };

        return world_tests(tests);
}
