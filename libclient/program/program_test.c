/* Tracing and running: the table of wrong traces, what a compiled program sends, donations, and errors of results. */
#include "libclient/program/program_fixture_test.h"
#include "pathways_module.h"

#include <pthread.h>

struct elsewhere { struct pw_program *program; struct pw_future **inputs, *result; enum pw_status status; };

static int setup(void **state) { return start(state, &(struct fake_params){ .room_bytes = 0 }); }

static int setup_hold(void **state) { return start(state, &(struct fake_params){ .hold_runs = true }); }

static int setup_few(void **state) { return start(state, &(struct fake_params){ .future_slots = 4 }); }

static int setup_fail(void **state) { return start(state, &(struct fake_params){ .fail_runs = true }); }

/* --- wrong traces --------------------------------------------------------------------------------------------------------- */

static struct pw_value *good_input(struct world *world, struct pw_program *program)
{
        return pw_input(program, world->slice, PW_F32, PW_DIMS(8, 3), PW_SPLIT(0), 0);
}

static void split_of_no_dim(struct world *world, struct pw_program *program)
{
        good_input(world, program);
        pw_result(program, pw_input(program, world->slice, PW_F32, PW_DIMS(8), PW_SPLIT(1), 0));
}

static void no_dtype(struct world *world, struct pw_program *program)
{
        pw_result(program, pw_input(program, world->slice, (enum pw_dtype)77, PW_DIMS(8), PW_BROADCAST, 0));
}

static void too_large(struct world *world, struct pw_program *program)
{
        pw_result(program, pw_input(program, world->slice, PW_F64, PW_DIMS(UINT64_MAX / 4, 4), PW_BROADCAST, 0));
}

static void no_slice(struct world *world, struct pw_program *program)
{
        (void)world;
        pw_result(program, pw_input(program, NULL, PW_F32, PW_DIMS(8), PW_BROADCAST, 0));
}

static void foreign_arg(struct world *world, struct pw_program *program)
{
        pw_result(program,
                  pw_call(program, world->slice, "pw/add", PW_ARGS(good_input(world, program), world->foreign), PW_SPLIT(0)));
}

static void foreign_result(struct world *world, struct pw_program *program) { pw_result(program, world->foreign); }

static void null_arg(struct world *world, struct pw_program *program)
{
        pw_result(program, pw_call(program, world->slice, "pw/add", PW_ARGS(good_input(world, program), NULL), PW_SPLIT(0)));
}

static void null_result(struct world *world, struct pw_program *program)
{
        (void)world;
        pw_result(program, NULL);
}

static void no_function(struct world *world, struct pw_program *program)
{
        pw_result(program, pw_call(program, world->slice, "add", PW_ARGS(good_input(world, program)), PW_SPLIT(0)));
}

static void no_such_output(struct world *world, struct pw_program *program)
{
        struct pw_value *value = pw_call(program, world->slice, "pw/add", PW_ARGS(good_input(world, program)), PW_SPLIT(0));
        pw_result(program, pw_output(value, 1));
}

static void output_of_input(struct world *world, struct pw_program *program)
{
        pw_result(program, pw_output(good_input(world, program), 0));
}

static void outputs_without_shardings(struct world *world, struct pw_program *program)
{
        struct pw_call_params params = { .output_count = 3 };
        pw_result(program, pw_call_with(program, world->slice, "pw/add", PW_NO_ARGS, PW_BROADCAST, &params));
}

static void too_many_outputs(struct world *world, struct pw_program *program)
{
        struct pw_call_params params = { .output_count = PW_OUTPUTS_MAX + 1 };
        pw_result(program, pw_call_with(program, world->slice, "pw/add", PW_NO_ARGS, PW_BROADCAST, &params));
}

static void too_many_args(struct world *world, struct pw_program *program)
{
        struct pw_value *args[PW_TASK_ARGS_MAX + 1];

        for (uint32_t i = 0; i <= PW_TASK_ARGS_MAX; i++)
                args[i] = good_input(world, program);
        pw_result(program, pw_call_with(program, world->slice, "pw/add", args, PW_TASK_ARGS_MAX + 1, PW_BROADCAST, NULL));
}

#define RUN_VALUES (PW_RING_CELLS - 2) /* inputs and results of a run */

static void too_many_results(struct world *world, struct pw_program *program)
{
        struct pw_value *value = good_input(world, program);

        for (uint32_t i = 0; i < RUN_VALUES; i++)
                pw_result(program, value);
}

static void too_many_inputs(struct world *world, struct pw_program *program)
{
        pw_result(program, good_input(world, program));
        for (uint32_t i = 1; i < RUN_VALUES; i++)
                good_input(world, program);
}

static const struct {
        void (*trace)(struct world *world, struct pw_program *program);
        enum pw_status status;
        const char *says;
} wrong[] = {
        { split_of_no_dim, PW_SHAPE, "pw_input() 1" },
        { no_dtype, PW_SHAPE, "pw_input() 0" },
        { too_large, PW_TOO_LARGE, "pw_input() 0" },
        { no_slice, PW_INVALID, "slice is NULL" },
        { foreign_arg, PW_BAD_PROGRAM, "call 0 of pw/add: argument 1 is a value of program other" },
        { foreign_result, PW_BAD_PROGRAM, "pw_result() 0 is a value of program other" },
        { null_arg, PW_INVALID, "argument 1 is NULL" },
        { null_result, PW_INVALID, "value is NULL" },
        { no_function, PW_INVALID, "module/function" },
        { no_such_output, PW_BAD_PROGRAM, "pw_output() 1 of pw/add, which has 1" },
        { output_of_input, PW_BAD_PROGRAM, "not what a call returned" },
        { outputs_without_shardings, PW_INVALID, "outputs 1 to 2" },
        { too_many_outputs, PW_BAD_PROGRAM, "257 outputs, at most 256 are possible" },
        { too_many_args, PW_BAD_PROGRAM, "257 arguments, at most 256 are possible" },
        { too_many_results, PW_LIMIT,
          "pw_result() 8189: the program has 1 inputs and 8189 results already, a run takes 8190 of both together at most" },
        { too_many_inputs, PW_LIMIT, "pw_input() 8189: the program has 8189 inputs and 1 results already" },
};

static void test_wrong_traces(void **state)
{
        struct world *world = *state;
        for (size_t i = 0; i < pw_array_count(wrong); i++) {
                struct pw_program *program = pw_program_new(world->session, "wrong");
                struct pw_error err = { .text = "" };
                wrong[i].trace(world, program);
                /* what follows a wrong call is no new error */
                pw_result(program, pw_as(pw_call(program, world->slice, "pw/nop", PW_ARGS(good_input(world, program)), PW_SPLIT(0)),
                                         PW_BROADCAST));
                assert_int_equal(pw_compile(program, &err), wrong[i].status);
                assert_int_equal(pw_compile(program, NULL), wrong[i].status);
                assert_non_null(strstr(err.text, wrong[i].says));
                assert_int_equal(strncmp(err.text, "wrong: ", 7), 0);
                pw_program_free(program);
        }
        struct pw_program *empty = pw_program_new(world->session, "wrong");
        struct pw_error err;
        good_input(world, empty);
        assert_int_equal(pw_compile(empty, &err), PW_BAD_PROGRAM);
        assert_non_null(strstr(err.text, "no results"));
        pw_program_free(empty);
        assert_int_equal(fake_counts(world->fake)->compiles, 0);
}

static void test_without_session(void **state)
{
        struct world *world = *state;
        struct pw_program *program = pw_program_new(NULL, "none");
        struct pw_value *value = pw_input(program, world->slice, PW_F32, PW_DIMS(1), PW_BROADCAST, 0);
        pw_result(program, pw_output(pw_as(pw_move(value, world->slice, PW_BROADCAST), PW_BROADCAST), 3));
        assert_int_equal(pw_compile(program, NULL), PW_INVALID);
        pw_program_free(program);
}

/* --- running ---------------------------------------------------------------------------------------------------------------- */

static void test_trace_is_sent(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED);
        uint64_t peak;
        assert_int_equal(pw_compile(program, NULL), PW_OK);
        assert_int_equal(fake_counts(world->fake)->compiles, 1);
        assert_int_equal(fake_counts(world->fake)->last_values, 3);
        assert_int_equal(fake_counts(world->fake)->last_calls, 1);
        assert_int_equal(fake_counts(world->fake)->last_results, 1);
        assert_int_equal(pw_program_input_count(program), 2);
        assert_int_equal(pw_program_result_count(program), 1);
        assert_int_equal(pw_program_peak(program, &peak, NULL), PW_OK);
        assert_int_equal(peak, 4096);
        pw_result(program, NULL); /* too late */
        assert_int_equal(pw_compile(program, NULL), PW_BAD_PROGRAM);
        pw_program_free(program);
}

/* Weights go from step to step: given away, and replaced. */
static void test_donated_loop(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED);
        struct pw_future *weights = put_weights(world), *images = put_images(world);
        for (int i = 0; i < 20000; i++)
                assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&weights), images), &weights, NULL), PW_OK);
        struct pw_view view;
        assert_int_equal(pw_get(weights, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(*(const int64_t *)view.data, 20000);
        pw_view_done(&view);
        assert_int_equal(fake_counts(world->fake)->donated, 20000);
        assert_int_equal(fake_counts(world->fake)->drops, 0);
        pw_unref(weights);
        pw_unref(images);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->drops, 2);
        assert_int_equal(fake_counts(world->fake)->dropped_unknown, 0);
        pw_program_free(program);
}

/* Somebody else in the process still holds it: it goes as an input, and only this reference ends. */
static void test_donated_but_held(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED);
        struct pw_future *weights = put_weights(world), *images = put_images(world), *kept = pw_ref(weights), *result;
        assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&weights), images), &result, NULL), PW_OK);
        assert_null(weights);
        assert_int_equal(pw_poll(kept), PW_OK);
        struct pw_view view;
        assert_int_equal(pw_get(kept, 0, &view, NULL), PW_OK);
        pw_unref(result);
        assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&kept), images), &result, NULL), PW_OK); /* a view counts too */
        pw_view_done(&view);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->donated, 0);
        assert_int_equal(fake_counts(world->fake)->drops, 2);
        pw_unref(result);
        pw_unref(images);
        pw_program_free(program);
}

static void *run_elsewhere(void *argument)
{
        struct elsewhere *run = argument;
        run->status = pw_run_with(run->program, run->inputs, 2, NULL, &run->result, NULL);
        return NULL;
}

static void expect_refused(enum pw_status status, struct pw_error *err)
{
        assert_int_equal(status, PW_INVALID);
        assert_non_null(strstr(err->text, "pw_donate()"));
        err->text[0] = 0;
}

/* Every call that takes futures, but for pw_run(). */
static void expect_no_future(struct pw_future *mark)
{
        struct pw_future *marks[] = { mark };
        struct pw_error err;
        struct pw_info info;
        struct pw_view view;
        expect_refused(pw_wait(marks, 1, 1, 0, NULL, &err), &err);
        expect_refused(pw_get(mark, 0, &view, &err), &err);
        expect_refused(pw_get_shard(mark, 0, 0, &view, &err), &err);
        expect_refused(pw_future_info(mark, &info, &err), &err);
        expect_refused(pw_seal(mark, &err), &err);
        expect_refused(pw_abort(mark, &err), &err);
        expect_refused(pw_notify(mark, &err), &err);
        expect_refused(pw_name(mark, "mark", &err), &err);
        expect_refused(pw_lease(mark, 1000000, &err), &err);
        expect_refused(pw_transfer(mark, "name mark", &err), &err);
        expect_refused(pw_relocate(marks, NULL, &err), &err);
        expect_refused(pw_cancel(mark, &err), &err);
        assert_int_equal(pw_poll(mark), PW_INVALID);
        assert_null(pw_ref(mark));
        assert_int_equal(pw_future_id(mark).generation, 0);
        pw_unref(mark);
}

/* What is given away is said by the inputs of that call, whoever makes it, and by nothing else. */
static void test_donations_are_of_their_call(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED);
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result;
        struct pw_future *mark = pw_donate(&weights), *inputs[] = { mark, images };
        struct pw_error err;
        assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &result, NULL), PW_OK);
        assert_non_null(weights);
        pw_unref(result);
        expect_no_future(mark);
        struct elsewhere run = { .program = program, .inputs = inputs };
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, &run), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(run.status, PW_OK);
        assert_null(weights);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->donated, 1);
        assert_int_equal(pw_run_with(program, inputs, 2, NULL, &result, &err), PW_DONATED_USE); /* of an empty variable */
        pw_unref(run.result);
        pw_unref(images);
        pw_program_free(program);
}

/* Every third of more inputs than a word has bits; one of them is held twice. */
static void test_many_donations(void **state)
{
        enum { COUNT = 150 };
        struct world *world = *state;
        struct pw_program *program = pw_program_new(world->session, "many");
        struct pw_value *values[COUNT];
        struct pw_future *futures[COUNT], *inputs[COUNT], *result, *kept;
        for (uint32_t i = 0; i < COUNT; i++) {
                values[i] = pw_input(program, world->slice, PW_I64, PW_SCALAR, PW_BROADCAST, PW_DONATED);
                futures[i] = put_weights(world);
                inputs[i] = i % 3 ? futures[i] : pw_donate(&futures[i]);
        }
        kept = pw_ref(futures[75]);
        pw_result(program, pw_call_with(program, world->slice, "pw/add", values, COUNT, PW_BROADCAST, NULL));
        assert_int_equal(pw_compile(program, NULL), PW_OK);
        assert_int_equal(pw_run_with(program, inputs, COUNT - 1, NULL, &result, NULL), PW_INVALID);
        for (uint32_t i = 0; i < COUNT; i++)
                assert_non_null(futures[i]); /* as before */
        assert_int_equal(pw_run_with(program, inputs, COUNT, NULL, &result, NULL), PW_OK);
        for (uint32_t i = 0; i < COUNT; i++)
                assert_true(!futures[i] == (i % 3 == 0));
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->donated, COUNT / 3 - 1);
        for (uint32_t i = 0; i < COUNT; i++)
                pw_unref(futures[i]);
        pw_unref(kept);
        pw_unref(result);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->drops, COUNT - COUNT / 3 + 2);
        assert_int_equal(fake_counts(world->fake)->dropped_unknown, 0);
        pw_program_free(program);
}

static void test_wrong_runs(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED), *raw = pw_program_new(world->session, "raw");
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result = NULL, *none = NULL;
        struct pw_future *mark = pw_donate(&weights);
        struct pw_error err;
        assert_int_equal(pw_run(raw, PW_FUTURES(weights, images), &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_FUTURES(weights), &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_NO_FUTURES, &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_FUTURES(images, weights), &result, &err), PW_SHAPE);
        assert_non_null(strstr(err.text, "test/step: input 0 takes i64 [], got f32 [2, 3]"));
        assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&none), images), &result, &err), PW_DONATED_USE);
        assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&mark), images), &result, &err), PW_DONATED_USE);
        assert_non_null(strstr(err.text, "input 0: pw_donate() of a variable that holds what pw_donate() returned"));
        assert_int_equal(pw_run(program, PW_FUTURES(weights, NULL), &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_FUTURES(NULL, images), &result, &err), PW_INVALID); /* though it may be donated */
        assert_non_null(strstr(err.text, "input 0: the future is NULL"));
        assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&weights), weights), &result, &err), PW_SHAPE);
        assert_non_null(weights); /* as before */
        struct pw_run_params params = { .deadline_us = -1 };
        assert_int_equal(pw_run_with(program, PW_FUTURES(weights, images), &params, &result, &err), PW_INVALID);
        assert_null(result);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->runs, 0);
        struct pw_program *twice = pw_program_new(world->session, "twice");
        struct pw_value *a = pw_input(twice, world->slice, PW_I64, PW_SCALAR, PW_BROADCAST, PW_DONATED);
        struct pw_value *b = pw_input(twice, world->slice, PW_I64, PW_SCALAR, PW_BROADCAST, 0);
        pw_result(twice, pw_call(twice, world->slice, "pw/add", PW_ARGS(a, b), PW_BROADCAST));
        assert_int_equal(pw_compile(twice, NULL), PW_OK);
        assert_int_equal(pw_run(twice, PW_FUTURES(pw_donate(&weights), weights), &result, &err), PW_DONATED_USE);
        assert_int_equal(pw_run(twice, PW_FUTURES(weights, weights), &result, &err), PW_OK);
        pw_unref(result);
        pw_unref(weights);
        pw_unref(images);
        pw_program_free(program);
        pw_program_free(raw);
        pw_program_free(twice);
}

static void test_results_wait(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, 0);
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result;
        struct pw_view view;
        assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &result, NULL), PW_OK);
        assert_int_equal(pw_poll(result), PW_NOT_READY);
        assert_int_equal(pw_get(result, 1000, &view, NULL), PW_DEADLINE);
        fake_release(world->fake);
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.dtype, PW_I64);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(weights);
        pw_unref(images);
        pw_program_free(program);
}

/* As many objects as there may be: a run waits for slots for its results, of all of them together until its deadline. */
static void test_results_without_slots(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, 0), *two = pw_program_new(world->session, "test/two");
        struct pw_future *weights = put_weights(world), *images = put_images(world), *results[5] = { NULL };
        struct pw_run_params soon = { .deadline_us = 20000 }, later = { .deadline_us = INT64_C(60) * 1000 * 1000 };
        struct pw_value *value = pw_input(two, world->slice, PW_I64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_error err;
        pw_result(two, value);
        pw_result(two, value);
        assert_int_equal(pw_compile(two, NULL), PW_OK);
        for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &results[i], NULL), PW_OK);
        assert_int_equal(pw_run_with(two, PW_FUTURES(weights), &soon, &results[3], &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "test/two: slots for results: "));
        assert_null(results[3]);
        assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &results[3], NULL), PW_OK); /* what it took is back */
        assert_int_equal(pw_run_with(program, PW_FUTURES(weights, images), &soon, &results[4], &err), PW_NO_SPACE);
        pw_unref(results[1]);
        assert_int_equal(pw_run_with(program, PW_FUTURES(weights, images), &later, &results[1], NULL), PW_OK);
        for (uint32_t i = 0; i < 4; i++)
                pw_unref(results[i]);
        pw_unref(weights);
        pw_unref(images);
        pw_program_free(program);
        pw_program_free(two);
}

static void test_results_fail(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, 0);
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result;
        struct pw_view view;
        struct pw_error err;
        char id[PW_ID_TEXT_BYTES];
        assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &result, NULL), PW_OK);
        assert_int_equal(pw_get(result, PW_FOREVER, &view, &err), PW_FAILED);
        assert_int_equal(strncmp(err.text, pw_id_format(pw_future_id(result), id), strlen(id)), 0);
        assert_non_null(strstr(err.text, ": function test/fails returned an error on device h0:0, run 1"));
        pw_unref(result);
        pw_unref(weights);
        pw_unref(images);
        pw_program_free(program);
}

/* --- sharded results --------------------------------------------------------------------------------------------------------- */

static void test_slices(void **state)
{
        struct world *world = *state;
        struct pw_slice *slice;
        struct pw_error err;
        assert_int_equal(pw_slice_device_count(world->slice), 4);
        assert_int_equal(pw_slice_open(world->session, &(struct pw_slice_params){ .device_count = 0 }, &slice, &err), PW_INVALID);
        struct pw_slice_params params = { .device_count = 4, .mesh = { 3, 2 } };
        assert_int_equal(pw_slice_open(world->session, &params, &slice, &err), PW_INVALID);
        assert_non_null(strstr(err.text, "6 places"));
        params.mesh[0] = 0;
        assert_int_equal(pw_slice_open(world->session, &params, &slice, &err), PW_INVALID);
        params.mesh[0] = 2;
        assert_int_equal(pw_slice_open(world->session, &params, &slice, &err), PW_OK);
        pw_slice_close(slice);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_wrong_traces), TEST(test_without_session), TEST(test_trace_is_sent), TEST(test_donated_loop),
                TEST(test_donated_but_held), TEST(test_donations_are_of_their_call),
                TEST(test_many_donations), TEST(test_wrong_runs),
                cmocka_unit_test_setup_teardown(test_results_wait, setup_hold, teardown),
                cmocka_unit_test_setup_teardown(test_results_without_slots, setup_few, teardown),
                cmocka_unit_test_setup_teardown(test_results_fail, setup_fail, teardown), TEST(test_slices),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
