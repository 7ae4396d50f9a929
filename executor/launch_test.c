/* The launch loop, driven without a daemon: what gangs compute, what happens around sleep, what is measured. */
#include "executor/launch_fixture.h"

/* --- a chain on one device ----------------------------------------------------------------------------------------------- */

static void test_chain(void **state)
{
        struct build *build = build_new();
        struct trial trial;
        struct run runs[3];
        uint32_t slice = build_slice(build, devices, 1, 0);
        uint32_t last = build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST), from = last;
        (void)state;

        build_input(build, last);
        for (uint32_t i = 0; i < 40; i++, from = last) {
                last = build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
                if (i % 2)
                        build_call(build, &(struct build_call){ .function = "pw/add", .inputs = { from, from }, .input_count = 2,
                                                                .output = last });
                else
                        build_call(build,
                                   &(struct build_call){ SCALE(0.75), .inputs = { from }, .input_count = 1, .output = last });
        }
        build_result(build, last);
        trial_start(&trial, 1, 1, build);
        for (uint32_t r = 0; r < 3; r++) {
                double one = 1.0 + r;
                struct input input = INPUT(one);
                run_init(&runs[r], &trial.program, &input);
        }
        for (uint32_t n = 0; n < trial.program.image->node_count; n++) /* runs interleave */
                for (uint32_t r = 0; r < 3; r++)
                        run_order(&runs[r], n);
        for (uint32_t r = 0; r < 3; r++) {
                double expected = 1.0 + r;
                for (uint32_t i = 0; i < 40; i++)
                        expected *= i % 2 ? 2.0 : 0.75;
                run_wait(&runs[r]);
                assert_int_equal(run_head(&runs[r], 0, 0)->status, PW_OK);
                assert_true(*(const double *)run_data(&runs[r], 0, 0) == expected);
        }
        world_no_report(&trial.world);
        assert_int_equal(world_history(&trial.world, 0, 3 * 41).peak_bytes, 3 * pw_room_bytes(8)); /* result, two values */
        assert_int_equal(atomic_load(&trial.world.boards[0]->done.count), 3 * 41);
        assert_int_equal(atomic_load(&trial.world.boards[0]->running), 0);
        trial_done(&trial);
}

/* --- transfers ------------------------------------------------------------------------------------------------------------- */

/* x = load(split(0) over 4 as rows), all devices: x is partial(sum) of dims `dims`; result: its all-reduce. */
static void all_reduce(uint64_t columns, bool eager, uint32_t device_count)
{
        struct build *build = build_new();
        struct trial trial;
        struct input input = { .bytes = device_count * columns * 4 };
        uint32_t slice = build_slice(build, devices, device_count, 0), rows, part, whole, plus;
        float *host;

        rows = build_value(build, slice, PW_F32, PW_DIMS(device_count, columns), PW_SPLIT(0));
        part = build_value(build, slice, PW_F32, PW_DIMS(1, columns), PW_PARTIAL(PW_SUM));
        whole = build_value(build, slice, PW_F32, PW_DIMS(1, columns), PW_BROADCAST);
        plus = build_value(build, slice, PW_F32, PW_DIMS(1, columns), PW_BROADCAST);
        build_input(build, rows);
        build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { rows }, .input_count = 1, .output = part });
        build_transfer(build, &(struct build_transfer){ .from = part, .to = whole, .eager = eager });
        build_call(build,
                   &(struct build_call){ .function = "pw/add", .inputs = { whole, whole }, .input_count = 2, .output = plus });
        build_result(build, plus);
        trial_init(&trial, device_count, 1, build);
        host = input_in_host(&input, &trial.world);
        for (uint64_t i = 0; i < device_count * columns; i++) /* sums that depend on the order */
                host[i] = (float)(i % 7) * (i % 2 ? 1e8f : -3.25e-3f);
        world_start_all(&trial.world);
        trial_run(&trial, &input);
        for (uint64_t c = 0; c < columns; c++) {
                float sum = host[c];
                for (uint32_t d = 1; d < device_count; d++)
                        sum += host[d * columns + c];
                for (uint32_t d = 0; d < device_count; d++) {
                        float got = ((const float *)run_data(&trial.run, 0, d))[c], expected = sum + sum;
                        assert_memory_equal(&got, &expected, sizeof got);
                }
        }
        world_no_report(&trial.world);
        trial_done(&trial);
}

static void test_all_reduce(void **state)
{
        (void)state;
        all_reduce(1, true, 4);
        all_reduce(10, true, 3);
        all_reduce(1000, false, 4);
}

/* A matrix of the host, split unevenly, spread in another layout, gathered on one device; some shards are empty. */
static void test_layouts(void **state)
{
        struct build *build = build_new();
        struct trial trial;
        struct input inputs[2] = { { .bytes = 7 * 3 * 4 }, { .bytes = 2 * 4 } };
        uint32_t slice = build_slice(build, devices, 4, 0), one = build_slice(build, devices + 2, 1, 0);
        uint32_t rows, columns, whole, small, small_whole;
        int32_t *host[2];
        (void)state;

        rows = build_value(build, slice, PW_I32, PW_DIMS(7, 3), PW_SPLIT(0));
        columns = build_value(build, slice, PW_I32, PW_DIMS(7, 3), PW_SPLIT(1));
        whole = build_value(build, one, PW_I32, PW_DIMS(7, 3), PW_BROADCAST);
        small = build_value(build, slice, PW_I32, PW_DIMS(2), PW_SPLIT(0));
        small_whole = build_value(build, slice, PW_I32, PW_DIMS(2), PW_BROADCAST);
        build_input(build, rows);
        build_input(build, small);
        build_transfer(build, &(struct build_transfer){ .from = rows, .to = columns });
        build_transfer(build, &(struct build_transfer){ .from = columns, .to = whole });
        build_transfer(build, &(struct build_transfer){ .from = small, .to = small_whole, .eager = true });
        build_result(build, whole);
        build_result(build, small_whole);
        trial_init(&trial, 4, 1, build);
        for (uint32_t i = 0; i < 2; i++) {
                host[i] = input_in_host(&inputs[i], &trial.world);
                for (uint32_t k = 0; k < inputs[i].bytes / 4; k++)
                        host[i][k] = (int32_t)(100 * i + k);
        }
        world_start_all(&trial.world);
        trial_run(&trial, inputs);
        assert_memory_equal(run_data(&trial.run, 0, 0), host[0], inputs[0].bytes);
        for (uint32_t d = 0; d < 4; d++)
                assert_memory_equal(run_data(&trial.run, 1, d), host[1], inputs[1].bytes);
        world_no_report(&trial.world);
        trial_done(&trial);
}

/* A reduction over two islands: within each, then one of each island; and back into the first one's room, which waits. */
static void test_two_islands(void **state)
{
        struct build *build = build_new();
        struct trial trial;
        struct input input = { .bytes = 4 * 8 };
        uint32_t slice = build_slice(build, devices, 4, 0), rows, part, inner, whole, again, send, receive, call;
        double *host;
        (void)state;

        rows = build_value(build, slice, PW_F64, PW_DIMS(4), PW_SPLIT(0));
        part = build_value(build, slice, PW_F64, PW_DIMS(1), PW_PARTIAL(PW_SUM));
        inner = build_value(build, slice, PW_F64, PW_DIMS(1), PW_PARTIAL(PW_SUM));
        whole = build_value(build, slice, PW_F64, PW_DIMS(1), PW_BROADCAST);
        build_input(build, rows);
        build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { rows }, .input_count = 1, .output = part });
        build_transfer(build, &(struct build_transfer){ .from = part, .to = inner, .eager = true, .island_partial = 2 });
        send = build_transfer(build, &(struct build_transfer){ .from = inner, .to = whole, .phase = PW_PHASE_SEND });
        receive = build_transfer(build, &(struct build_transfer){ .from = inner, .to = whole, .phase = PW_PHASE_RECV,
                                                                  .island_partial = 1, .send_node = send });
        again = build_value_in(build, inner, PW_BROADCAST);
        call = build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { whole }, .input_count = 1, .output = again });
        build_wait(build, call, receive);
        build_result(build, whole);
        trial_init(&trial, 4, 2, build);
        host = input_in_host(&input, &trial.world);
        memcpy(host, (double[]){ 1.0, 10.0, 100.0, 1000.0 }, input.bytes);
        world_start_all(&trial.world);
        for (uint32_t i = 0; i < 50; i++) {
                trial_run(&trial, &input);
                for (uint32_t d = 0; d < 4; d++)
                        assert_true(*(const double *)run_data(&trial.run, 0, d) == 1111.0);
        }
        world_no_report(&trial.world);
        trial_done(&trial);
}

/* Partial over two devices, then partial over four: each contribution once, zeros where none is. */
static void test_partial_to_partial(void **state)
{
        struct build *build = build_new();
        struct trial trial;
        int32_t seven = 7;
        struct input input = INPUT(seven);
        uint32_t two = build_slice(build, devices, 2, 0), four = build_slice(build, devices, 4, 0), from, part, whole, to;
        (void)state;

        from = build_value(build, two, PW_I32, PW_DIMS(1), PW_BROADCAST);
        part = build_value(build, two, PW_I32, PW_DIMS(1), PW_PARTIAL(PW_SUM));
        to = build_value(build, four, PW_I32, PW_DIMS(1), PW_PARTIAL(PW_SUM));
        whole = build_value(build, four, PW_I32, PW_DIMS(1), PW_BROADCAST);
        build_input(build, from);
        build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { from }, .input_count = 1, .output = part });
        build_transfer(build, &(struct build_transfer){ .from = part, .to = to });
        build_transfer(build, &(struct build_transfer){ .from = to, .to = whole, .eager = true });
        build_result(build, to);
        build_result(build, whole);
        trial_start(&trial, 4, 1, build);
        run_init(&trial.run, &trial.program, &input);
        for (uint32_t d = 0; d < 4; d++) /* what lay there before is no part of it */
                memset((void *)(uintptr_t)run_data(&trial.run, 0, d), 0x55, 64);
        run_order_all(&trial.run);
        run_wait(&trial.run);
        for (uint32_t d = 0; d < 4; d++) {
                assert_int_equal(*(const int32_t *)run_data(&trial.run, 0, d), d < 2 ? 7 : 0);
                assert_int_equal(*(const int32_t *)run_data(&trial.run, 1, d), 14);
        }
        world_no_report(&trial.world);
        trial_done(&trial);
}

/* --- inputs in place ------------------------------------------------------------------------------------------------------- */

/* Results of one run are the inputs of the next, of another program: in place, and moved to another device. */
static void test_results_as_inputs(void **state)
{
        struct build *first = build_new(), *second = build_new();
        struct world world;
        struct program make, use;
        struct run made, used;
        double two = 2.0;
        struct input inputs[2] = { INPUT(two) };
        uint32_t slice = build_slice(first, devices, 2, 0), a, b, c, d;
        (void)state;

        a = build_value(first, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        b = build_value(first, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        build_input(first, a);
        build_call(first, &(struct build_call){ SCALE(3.0), .inputs = { a }, .input_count = 1, .output = b });
        build_result(first, b);

        slice = build_slice(second, devices, 3, 0);
        a = build_value(second, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        c = build_value(second, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        slice = build_slice(second, devices, 2, 0);
        b = build_value(second, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        d = build_value(second, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        build_input(second, a);
        build_input(second, b);
        build_call(second, &(struct build_call){ SCALE(10.0), .inputs = { a }, .input_count = 1, .output = c });
        build_call(second, &(struct build_call){ SCALE(100.0), .inputs = { b }, .input_count = 1, .output = d });
        build_result(second, c);
        build_result(second, d);

        world_init(&world, 3, 1);
        program_init(&make, &world, first);
        program_init(&use, &world, second);
        world_start_all(&world);
        run_init(&made, &make, inputs);
        run_order_all(&made);
        for (uint32_t i = 0; i < 2; i++) {
                inputs[i] =
                        (struct input){ .bytes = 8, .sharding = PW_BROADCAST, .mesh = { 2 }, .shard_count = 2, .in_place = i == 1 };
                for (uint32_t k = 0; k < 2; k++)
                        inputs[i].shards[k] = (struct pw_run_shard){ .segment = DEVICE_SEGMENT(k), .place = (uint16_t)k,
                                                                     .device = (uint16_t)k,
                                                                     .offset = made.results[0][k],
                                                                     .bytes = pw_room_bytes(8), .seq = 2 };
        }
        run_init(&used, &use, inputs);
        run_order_all(&used);
        run_wait(&used);
        for (uint32_t k = 0; k < 3; k++)
                assert_true(*(const double *)run_data(&used, 0, k) == 60.0);
        for (uint32_t k = 0; k < 2; k++)
                assert_true(*(const double *)run_data(&used, 1, k) == 600.0);
        /* Two results and one of the inputs: the other stays where it is. */
        assert_int_equal(world_history(&world, 0, atomic_load(&world.boards[0]->done.seq)).peak_bytes, 3 * pw_room_bytes(8));
        world_no_report(&world);
        world_done(&world);
        program_done(&make);
        program_done(&use);
}

/* --- places of other hosts ------------------------------------------------------------------------------------------------- */

/* Two rows, on two devices: 10 and 20. */
static struct build *build_rows(void)
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, 2, 0), rows = build_value(build, slice, PW_F64, PW_DIMS(2), PW_SPLIT(0));
        uint32_t made = build_value(build, slice, PW_F64, PW_DIMS(2), PW_SPLIT(0));

        build_input(build, rows);
        build_call(build, &(struct build_call){ SCALE(10.0), .inputs = { rows }, .input_count = 1, .output = made });
        build_result(build, made);
        return build;
}

/* Every other of four rows: loaded where the other one lies, doubled, and sent back. */
static struct build *build_apart(void)
{
        struct build *build = build_new();
        uint32_t there = build_slice(build, (uint32_t[]){ WORLD_AFAR, 1, WORLD_AFAR, 0 }, 4, 0);
        uint32_t back = build_slice(build, (uint32_t[]){ WORLD_AFAR, 0, WORLD_AFAR, 1 }, 4, 0), rows, doubled, sent;

        rows = build_value(build, there, PW_F64, PW_DIMS(4), PW_SPLIT(0));
        doubled = build_value(build, there, PW_F64, PW_DIMS(4), PW_SPLIT(0));
        sent = build_value(build, back, PW_F64, PW_DIMS(4), PW_SPLIT(0));
        build_input(build, rows);
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { rows }, .input_count = 1, .output = doubled });
        build_transfer(build, &(struct build_transfer){ .from = doubled, .to = sent });
        build_result(build, sent);
        return build;
}

/* Devices of other hosts have the same numbers, and places between ours: a record has rooms and shards of this host's only. */
static void test_other_hosts(void **state)
{
        static const double rows[] = { 1.0, 2.0 };
        struct input host = { .inline_value = rows, .bytes = sizeof rows, .mesh = { 1 } };
        struct input apart = { .bytes = 32, .sharding = PW_SPLIT(0), .mesh = { 4 }, .shard_count = 2 };
        struct program make, use;
        struct run made, used;
        struct world world;
        (void)state;

        world_init(&world, 2, 1);
        program_init(&make, &world, build_rows());
        program_init(&use, &world, build_apart());
        world_start_all(&world);
        run_init(&made, &make, &host);
        run_order_all(&made);
        for (uint32_t d = 0; d < 2; d++)
                apart.shards[d] = (struct pw_run_shard){ .segment = DEVICE_SEGMENT(d), .place = (uint16_t)(1 + 2 * d),
                                                         .device = (uint16_t)d, .offset = made.results[0][d],
                                                         .bytes = pw_room_bytes(8), .seq = 2 };
        run_init(&used, &use, &apart);
        run_order_all(&used);
        run_wait(&used);
        assert_true(*(const double *)run_data(&used, 0, 1) == 20.0);
        assert_true(*(const double *)run_data(&used, 0, 3) == 40.0);
        world_no_report(&world);
        world_done(&world);
        program_done(&make);
        program_done(&use);
}

/* --- what is measured ------------------------------------------------------------------------------------------------------ */

static void test_measured_peak(void **state)
{
        struct trial trial;
        uint64_t end;
        (void)state;

        trial_start(&trial, 1, 1, build_failing(1, "broken/fail", 99, true));
        for (uint32_t i = 0; i < 3; i++) {
                trial_run(&trial, &input_one);
                end = atomic_load(&trial.world.boards[0]->done.seq);
                /* Two results, and one of the input and the all-reduced value at a time. */
                assert_int_equal(world_history(&trial.world, 0, end).peak_bytes, 3 * pw_room_bytes(8));
                assert_int_equal(world_history(&trial.world, 0, end).run, trial.run.number);
                assert_true(world_history(&trial.world, 0, end).end_ns >= world_history(&trial.world, 0, end - 3).end_ns);
        }
        trial_done(&trial);
}

/* A run that has begun while more programs come than are kept: what was resolved of its own is gone, and resolved again. */
static void test_programs_come_and_go(void **state)
{
        static struct program others[PW_PROGRAMS_MAX];
        struct program program;
        struct world world;
        struct run run, other;
        (void)state;

        world_init(&world, 1, 1);
        program_init(&program, &world, build_failing(1, "broken/fail", 99, true));
        world_start_all(&world);
        run_init(&run, &program, &input_one);
        run_order(&run, 0);
        run_wait(&run);
        for (uint32_t i = 0; i < PW_PROGRAMS_MAX; i++) {
                program_init(&others[i], &world, build_failing(1, "broken/fail", 99, true));
                run_init(&other, &others[i], &input_one);
                run_order(&other, 0);
        }
        run_wait(&other);
        for (uint32_t node = 1; node < program.image->node_count; node++)
                run_order(&run, node);
        run_wait(&run);
        assert_int_equal(run_head(&run, 1, 0)->status, PW_OK);
        assert_true(*(const double *)run_data(&run, 1, 0) == 2.0);
        world_no_report(&world);
        world_done(&world);
        program_done(&program);
        for (uint32_t i = 0; i < PW_PROGRAMS_MAX; i++)
                program_done(&others[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_chain), cmocka_unit_test(test_all_reduce), cmocka_unit_test(test_layouts),
                cmocka_unit_test(test_two_islands), cmocka_unit_test(test_partial_to_partial),
                cmocka_unit_test(test_results_as_inputs), cmocka_unit_test(test_other_hosts),
                cmocka_unit_test(test_measured_peak),
                cmocka_unit_test(test_programs_come_and_go),
        };
        return world_tests(tests);
}
