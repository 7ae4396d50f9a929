/* Functions that go wrong and executors that die: exactly what depends on them ends in a typed error that names the cause, all else
 * goes on, and the device is back within a second.
 */
#include "tests/integration/scene.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct pw_value *input_of(struct pw_program *program, struct pw_slice *slice)
{
        return pw_input(program, slice, PW_F64, PW_DIMS(8), PW_SPLIT(0), 0);
}

/* Both over 4 devices. bad: result 0 comes through `function`, which goes wrong on shard 1, is reduced over all devices, then
 * grows; result 1 has nothing to do with it. */
static struct it_scene begin(void **state, const char *function)
{
        struct it_host *host = *state;
        struct it_scene scene = { host, it_slice(host->session, 4, 1), pw_program_new(host->session, "test/bad"),
                                  pw_program_new(host->session, "test/good"), it_put_f64(host->session, PW_DIMS(8), 0) };
        struct pw_value *input = input_of(scene.bad, scene.slice);
        struct pw_value *broken = it_break(scene.bad, scene.slice, function, input, PW_SPLIT(0), 1);
        struct pw_value *whole = PW_AS(broken, PW_BROADCAST);

        pw_result(scene.bad, it_grow(scene.bad, scene.slice, whole, PW_BROADCAST, 1));
        pw_result(scene.bad, it_grow(scene.bad, scene.slice, input, PW_SPLIT(0), 1));
        it_ok(pw_compile(scene.bad, IT_ERR));
        pw_result(scene.good,
                  it_grow(scene.good, scene.slice, PW_AS(input_of(scene.good, scene.slice), PW_BROADCAST), PW_BROADCAST, 1));
        it_ok(pw_compile(scene.good, IT_ERR));
        return scene;
}

static const double plus_1[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void expect_good(struct it_scene *scene)
{
        struct pw_future *result = it_run_1(scene->good, scene->input);

        it_expect_f64(result, plus_1, 8);
        pw_unref(result);
}

/* --- functions -------------------------------------------------------------------------------------------------------- */

/* The run fails, in what depends on the function; no executor ends. */
static void a_run_fails_by(void **state, const char *function, enum pw_status status, const char *texts)
{
        struct it_scene scene = begin(state, function);
        struct pw_future *results[2], *next;

        it_ok(pw_run(scene.bad, PW_FUTURES(scene.input), results, IT_ERR));
        it_ok(pw_run(scene.good, PW_FUTURES(results[0]), &next, IT_ERR));
        it_fails_with(results[0], status, texts);
        it_expect_f64(results[1], plus_1, 8);
        it_fails_with(next, status, texts);
        expect_good(&scene);
        assert_int_equal(it_listed(scene.host->session, "devices", "restarts"), 0);
        pw_unref(results[0]);
        pw_unref(results[1]);
        pw_unref(next);
        it_scene_end(&scene);
}

static void a_function_that_fails(void **state)
{
        a_run_fails_by(state, "broken/fail", PW_FAILED, "broken/fail|h0:|run|shard 1 was told to fail");
}
/* What it returns stands for no error, and for no value. */
static void a_function_that_returns_not_ready(void **state)
{
        a_run_fails_by(state, "broken/unready", PW_FAILED, "broken/unready failed|h0:|run");
}
static void a_function_that_writes_past_its_output(void **state)
{
        a_run_fails_by(state, "broken/over", PW_OVERRUN, "broken/over|wrote past an output|h0:|run|output 0 is 16 bytes");
}

/* Of several outputs it is named which. */
static void a_function_that_writes_past_one_of_its_outputs(void **state)
{
        static const struct pw_sharding lies[] = { PW_SPLIT(0), PW_SPLIT(0) };
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = pw_program_new(host->session, "test/outputs");
        struct pw_value *in = input_of(program, slice), *first;
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 0), *results[3];

        first = pw_call_with(program, slice, "broken/over", PW_ARGS(in, in, in), PW_SPLIT(0),
                             &(struct pw_call_params){ .output_count = 3, .output_shardings = lies, .params = &(uint64_t){ 1 },
                                                       .params_bytes = 8 });
        for (uint32_t i = 0; i < 3; i++)
                pw_result(program, i ? pw_output(first, i) : first);
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), results, IT_ERR));
        for (uint32_t i = 0; i < 3; i++) {
                it_fails_with(results[i], PW_OVERRUN, "broken/over|wrote past an output|output 2 is 16 bytes");
                pw_unref(results[i]);
        }
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* The other result of the run lies in part on the device that is lost. */
static void an_executor_ends_by(void **state, const char *function, enum pw_status status, const char *texts)
{
        struct it_scene scene = begin(state, function);
        struct pw_future *results[2], *more[20];
        struct pw_view view;
        int64_t start_us;

        it_ok(pw_run(scene.bad, PW_FUTURES(scene.input), results, IT_ERR));
        for (int i = 0; i < 20; i++)
                more[i] = it_run_1(scene.good, scene.input);
        it_fails_with(results[0], status, texts);
        start_us = it_now_us();
        enum pw_status other = pw_get(results[1], IT_LONG, &view, NULL);
        if (other == PW_OK)
                pw_view_done(&view);
        else
                it_fails_with(results[1], PW_DEVICE_LOST, "h0:");
        for (int i = 0; i < 20; i++) { /* in the queue of the executor that died: it gets them again */
                it_expect_f64(more[i], plus_1, 8);
                pw_unref(more[i]);
        }
        it_back_within_a_second(scene.host->session, 1, start_us);
        expect_good(&scene);
        pw_unref(results[0]);
        pw_unref(results[1]);
        it_scene_end(&scene);
}

static void a_function_that_crashes(void **state)
{
        an_executor_ends_by(state, "broken/crash", PW_CRASHED, "broken/crash|SIGSEGV|h0:|run");
}
static void a_function_that_exits(void **state)
{
        an_executor_ends_by(state, "broken/exit", PW_CRASHED, "broken/exit|exit status 3|h0:|run");
}
static void a_function_that_loops(void **state)
{
        an_executor_ends_by(state, "broken/loop", PW_TIME_LIMIT, "broken/loop|time limit|h0:|run");
}

static int setup_limited(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--host-memory", "64MiB", "--device-memory", "4MiB",
                                            "--function-limit", "50ms"));
}

/* The operator's bounds its own, which is 200 ms. */
static void a_function_that_loops_beyond_the_limit_of_all(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program =
                it_one_node(host->session, slice, "broken/loop", PW_DIMS(8),
                            &(struct pw_call_params){ .params = &(uint64_t){ 0 }, .params_bytes = 8 });
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 0), *result = it_run_1(program, input);

        it_fails_with(result, PW_TIME_LIMIT, "broken/loop|time limit of 50 ms");
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* It says what cannot be and lives on: it is ended, once. Its gang is the first on its device since the daemon last looked. */
static void a_function_that_writes_into_the_board(void **state, const char *function)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        const struct pw_call_params shard_1 = { .params = &(uint64_t){ 1 }, .params_bytes = 8 };
        struct pw_program *keep = it_one_node(host->session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_program *bad = it_one_node(host->session, slice, function, PW_DIMS(8), &shard_1);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 1), *kept = it_run_1(keep, input), *result;
        int64_t start_us = it_now_us();
        char texts[64];

        it_expect_f64(kept, plus_1, 8);
        result = it_run_1(bad, kept);
        it_back_within_a_second(host->session, 1, start_us);
        snprintf(texts, sizeof texts, "%s|impossible counts|h0:1|run", function);
        it_fails_with(result, PW_CRASHED, texts);
        it_fails_with(kept, PW_DEVICE_LOST, "h0:1|impossible counts");
        pw_unref(result);
        result = it_run_1(keep, input);
        it_expect_f64(result, plus_1, 8);
        pw_unref(result);
        pw_unref(kept);
        pw_unref(input);
        pw_program_free(keep);
        pw_program_free(bad);
        pw_slice_close(slice);
}
static void a_function_that_counts_gangs(void **state) { a_function_that_writes_into_the_board(state, "broken/count"); }
static void a_function_that_is_ahead_of_the_order(void **state) { a_function_that_writes_into_the_board(state, "broken/seq"); }
static void a_function_that_makes_up_reports(void **state) { a_function_that_writes_into_the_board(state, "broken/tail"); }

/* Its gang is failed all the same: at once where its board says that it had come so far, else when the next process ends there. */
static void a_function_that_says_it_is_in_none(void **state)
{
        static const struct { const char *function; int restarts; } cases[] = {
                { "broken/launches", 1 }, { "broken/arrives", 1 }, { "broken/denies", 2 },
        };
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        int restarts = 0;

        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct pw_program *program = pw_program_new(host->session, cases[i].function);
                struct pw_future *result;

                pw_result(program, pw_call(program, slice, cases[i].function, PW_NO_ARGS, PW_BROADCAST));
                it_ok(pw_compile(program, IT_ERR));
                it_ok(pw_run(program, PW_NO_FUTURES, &result, IT_ERR));
                it_fails_with(result, PW_CRASHED, "SIGKILL|h0:0|run");
                it_back_within_a_second(host->session, restarts += cases[i].restarts, it_now_us());
                pw_unref(result);
                pw_program_free(program);
        }
        pw_slice_close(slice);
}

/* Whatever lay in that device's memory may be spoilt, so it is lost; nothing of it is ever got as a value. */
static void a_function_that_writes_past_its_room(void **state)
{
        struct it_host *host = *state;
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 1), *kept;
        struct pw_slice *everywhere = it_slice(host->session, 8, 2);
        struct pw_program *keep = it_one_node(host->session, everywhere, "pw/nop", PW_DIMS(8), NULL);

        kept = it_run_1(keep, input);
        it_expect_f64(kept, plus_1, 8);
        an_executor_ends_by(state, "broken/far", PW_OVERRUN, "broken/far|wrote past|h0:|run|output");
        it_fails_with(kept, PW_DEVICE_LOST, "h0:|a function wrote past its output");
        pw_unref(kept);
        pw_unref(input);
        pw_program_free(keep);
        pw_slice_close(everywhere);
}

/* What it forked cannot reach the device's memory, now or later; the run goes on. */
static void a_function_that_forks(void **state)
{
        struct it_scene scene = begin(state, "broken/fork");
        struct pw_future *results[2];

        it_ok(pw_run(scene.bad, PW_FUTURES(scene.input), results, IT_ERR));
        it_expect_f64(results[0], plus_1, 8);
        it_expect_f64(results[1], plus_1, 8);
        assert_int_equal(it_listed(scene.host->session, "devices", "restarts"), 0);
        pw_unref(results[0]);
        pw_unref(results[1]);
        it_scene_end(&scene);
}

/* --- executors -------------------------------------------------------------------------------------------------------- */

/* What only its memory held is lost, and says so; what is copied everywhere else is not asked for. */
static void a_killed_executor_loses_its_memory(void **state)
{
        struct it_scene scene = begin(state, "pw/nop");
        struct pw_future *result = it_run_1(scene.good, scene.input), *split[2], *again;
        struct pw_view view;

        it_ok(pw_run(scene.bad, PW_FUTURES(scene.input), split, IT_ERR));
        it_expect_f64(result, plus_1, 8);
        it_expect_f64(split[1], plus_1, 8);
        it_ok(pw_get_shard(split[1], 0, 0, &view, IT_ERR));
        int64_t start_us = it_now_us();
        assert_true(it_signal_executor(scene.host, "h0:1", SIGKILL));
        it_back_within_a_second(scene.host->session, 1, start_us);
        it_fails_with(split[1], PW_DEVICE_LOST, "h0:1|SIGKILL");
        assert_int_equal(pw_poll(split[1]), PW_DEVICE_LOST);
        assert_true(*(const double *)view.data == 1); /* the bytes of who maps them do not change */
        pw_view_done(&view);
        it_ok(pw_run(scene.good, PW_FUTURES(split[1]), &again, IT_ERR));
        it_fails_with(again, PW_DEVICE_LOST, "h0:1|SIGKILL");
        expect_good(&scene);
        pw_unref(again);
        pw_unref(split[0]);
        pw_unref(split[1]);
        pw_unref(result);
        it_scene_end(&scene);
}

/* A value of which each device holds all goes on while one of them does, for who gets it and for runs. */
static void a_replica_takes_the_place_of_a_lost_one(void **state)
{
        struct it_scene scene = begin(state, "pw/nop");
        struct pw_slice *more = it_slice(scene.host->session, 4, 1);
        struct pw_program *split = it_one_node(scene.host->session, more, "pw/nop", PW_DIMS(8), NULL);
        struct pw_future *whole = it_run_1(scene.good, scene.input), *again;
        char executor[16];
        const void *first;
        struct pw_view view;

        it_ok(pw_get(whole, IT_LONG, &view, IT_ERR));
        first = view.data;
        pw_view_done(&view);
        for (int lost = 0; lost < 4; lost++) {
                int64_t start_us = it_now_us();
                snprintf(executor, sizeof executor, "h0:%d", lost);
                assert_true(it_signal_executor(scene.host, executor, SIGKILL));
                it_back_within_a_second(scene.host->session, lost + 1, start_us);
                if (lost == 3)
                        break;
                it_ok(pw_get(whole, IT_LONG, &view, IT_ERR));
                if (!it_apart()) /* the copy is as good as it was */
                        assert_ptr_not_equal(view.data, first);
                assert_memory_equal(view.data, plus_1, sizeof plus_1);
                pw_view_done(&view);
                again = it_run_1(scene.good, whole);
                it_expect_f64(again, (double[]){ 2, 3, 4, 5, 6, 7, 8, 9 }, 8);
                pw_unref(again);
                again = it_run_1(split, whole);
                it_expect_f64(again, plus_1, 8);
                pw_unref(again);
        }
        it_fails_with(whole, PW_DEVICE_LOST, "h0:3|SIGKILL");
        pw_unref(whole);
        pw_program_free(split);
        pw_slice_close(more);
        it_scene_end(&scene);
}

/* As many devices as *context says are in pw/sleep_us. */
static bool are_sleeping(const struct pw_listing *gangs, void *context)
{
        int running = 0;

        for (size_t i = 0; i < it_rows(gangs); i++)
                running += !strcmp(it_text(gangs, i, "state"), "running") && strstr(it_text(gangs, i, "node"), "pw/sleep_us");
        return running == *(const int *)context;
}

/* Killed while a gang runs that all devices are in: peers do not wait for it. */
static void an_executor_killed_in_a_gang(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 8, 2), *apart = NULL;
        struct pw_program *program = pw_program_new(host->session, "test/gang"), *other;
        struct pw_value *slow, *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *scalar = it_put_scalar(host->session, 1), *result, *after, *beside;

        slow = it_sleep(program, slice, input, PW_PARTIAL(PW_SUM), 60 * 1000000); /* until somebody dies */
        pw_result(program, it_grow(program, slice, slow, PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 8, .island_count = 2 }, &apart, IT_ERR));
        other = it_one_node(host->session, apart, "pw/nop", PW_SCALAR, NULL);
        result = it_run_1(program, scalar);
        after = it_run_1(program, result);
        it_until(host->session, "gangs", are_sleeping, &(int){ 8 });
        int64_t start_us = it_now_us();
        for (int device = 0; device < 8; device++) {
                char name[16];

                snprintf(name, sizeof name, "h0:%d", device);
                assert_true(it_signal_executor(host, name, SIGKILL));
        }
        it_fails_with(result, PW_CRASHED, "pw/sleep_us|SIGKILL|h0:");
        it_fails_with(after, PW_CRASHED, "pw/sleep_us|SIGKILL|h0:");
        it_back_within_a_second(host->session, 8, start_us);
        beside = it_run_1(other, scalar);
        assert_true(it_get_scalar(beside) == 1);
        pw_unref(beside);
        pw_unref(result);
        pw_unref(after);
        pw_unref(scalar);
        pw_program_free(program);
        pw_program_free(other);
        pw_slice_close(slice);
        pw_slice_close(apart);
}

/* One of a gang dies; the others of it are in the same function still, and end it. */
static void one_of_a_gang_is_killed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = pw_program_new(host->session, "test/gang");
        struct pw_value *slow, *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *scalar = it_put_scalar(host->session, 1), *result;

        slow = it_sleep(program, slice, input, PW_PARTIAL(PW_SUM), 300000);
        pw_result(program, it_grow(program, slice, slow, PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, scalar);
        it_until(host->session, "gangs", are_sleeping, &(int){ 4 });
        assert_true(it_signal_executor(host, "h0:2", SIGKILL));
        int64_t start_us = it_now_us();
        it_fails_with(result, PW_CRASHED, "pw/sleep_us|SIGKILL|h0:2");
        it_within("the peers go on", start_us, IT_SECOND + 300000);
        pw_unref(result);
        result = it_run_1(program, scalar);
        assert_true(it_get_scalar(result) == 5);
        pw_unref(result);
        pw_unref(scalar);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* "restarts" counts what is to come, too. */
static bool has_ended_often(const struct pw_listing *devices, void *context)
{
        return it_number(devices, 0, "restarts") == *(const int *)context;
}

static bool waits_for_its_start(const struct pw_listing *devices, void *context)
{
        (void)context;
        return !strcmp(it_text(devices, 0, "state"), "backoff");
}

/* An executor that ends again and again before it has done anything is started at once, then after 100 ms, and after twice that
 * each time. */
static void pauses_between_starts_grow(void **state)
{
        struct it_host *host = *state;
        int64_t since_us = 0;

        for (int ends = 1; ends <= 6; ends++) {
                for (int64_t end_us = it_now_us() + IT_LONG; !it_signal_executor(host, "h0:0", SIGKILL);)
                        assert_true(it_now_us() < end_us);
                if (ends == 1)
                        since_us = it_now_us();
                it_until(host->session, "devices", has_ended_often, &ends);
        }
        int64_t took_us = it_now_us() - since_us, pauses_us = (100 + 200 + 400 + 800) * 1000;
        if (took_us < pauses_us)
                fail_msg("5 starts took %d ms, their pauses are %d ms", (int)(took_us / 1000), (int)(pauses_us / 1000));
        it_within("5 starts", since_us, pauses_us + IT_SECOND);
        it_until(host->session, "devices", waits_for_its_start, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_function_that_fails), IT_TEST(a_function_that_returns_not_ready),
                IT_TEST(a_function_that_crashes),
                IT_TEST(a_function_that_exits),
                IT_TEST(a_function_that_loops),
                cmocka_unit_test_setup_teardown(a_function_that_loops_beyond_the_limit_of_all, setup_limited, it_teardown),
                IT_TEST(a_function_that_writes_past_its_output), IT_TEST(a_function_that_writes_past_one_of_its_outputs),
                IT_TEST(a_function_that_writes_past_its_room),
                IT_TEST(a_function_that_counts_gangs),
                IT_TEST(a_function_that_is_ahead_of_the_order),
                IT_TEST(a_function_that_makes_up_reports), IT_TEST(a_function_that_says_it_is_in_none),
                IT_TEST(a_function_that_forks),
                IT_TEST(a_killed_executor_loses_its_memory),
                IT_TEST(a_replica_takes_the_place_of_a_lost_one),
                IT_TEST(one_of_a_gang_is_killed),
                IT_TEST(an_executor_killed_in_a_gang),
                IT_TEST(pauses_between_starts_grow),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
