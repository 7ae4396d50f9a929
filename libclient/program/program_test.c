/* Tracing and running: the table of wrong traces, what a compiled program sends, donations, and errors of results. */
#include "libclient/fake/fake_daemon.h"
#include "libclient/session.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

struct world {
        struct fake_daemon *fake;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *other; /* a program with one value, to take values from */
        struct pw_value *foreign;
};

static int start(void **state, const struct fake_params *params)
{
        struct world *world = calloc(1, sizeof *world);
        world->fake = fake_start(params);
        struct pw_session_params session = { .fd = fake_client_fd(world->fake) };
        *state = world;
        assert_int_equal(pw_session_open(&session, &world->session, NULL), PW_OK);
        assert_int_equal(pw_slice_open(world->session, &(struct pw_slice_params){ .device_count = 4 }, &world->slice, NULL), PW_OK);
        world->other = pw_program_new(world->session, "other");
        world->foreign = pw_input(world->other, world->slice, PW_F32, PW_DIMS(4), PW_BROADCAST, 0);
        return 0;
}
static int setup(void **state) { return start(state, &(struct fake_params){ .room_bytes = 0 }); }
static int setup_hold(void **state) { return start(state, &(struct fake_params){ .hold_runs = true }); }
static int setup_fail(void **state) { return start(state, &(struct fake_params){ .fail_runs = true }); }
static int teardown(void **state)
{
        struct world *world = *state;
        pw_program_free(world->other);
        pw_slice_close(world->slice);
        pw_close(world->session);
        fake_stop(world->fake);
        free(world);
        return 0;
}

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
        { too_many_outputs, PW_BAD_PROGRAM, "9 outputs" },
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

static struct pw_program *step(struct world *world, unsigned flags)
{
        struct pw_program *program = pw_program_new(world->session, "test/step");
        struct pw_value *weights = pw_input(program, world->slice, PW_I64, PW_SCALAR, PW_BROADCAST, flags);
        struct pw_value *images = pw_input(program, world->slice, PW_F32, PW_DIMS(2, 3), PW_BROADCAST, 0);
        pw_result(program, pw_call(program, world->slice, "test/step", PW_ARGS(weights, images), PW_BROADCAST));
        assert_int_equal(pw_compile(program, NULL), PW_OK);
        return program;
}

static struct pw_future *put_weights(struct world *world)
{
        int64_t zero = 0;
        struct pw_future *future;
        struct pw_put_params params = { .dtype = PW_I64, .dims = PW_SCALAR };
        assert_int_equal(pw_put(world->session, &zero, sizeof zero, &params, &future, NULL), PW_OK);
        return future;
}

static struct pw_future *put_images(struct world *world)
{
        float images[6] = { 0 };
        struct pw_future *future;
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_DIMS(2, 3) };
        assert_int_equal(pw_put(world->session, images, sizeof images, &params, &future, NULL), PW_OK);
        return future;
}

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

static void test_wrong_runs(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED), *raw = pw_program_new(world->session, "raw");
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result = NULL, *none = NULL;
        struct pw_error err;
        assert_int_equal(pw_run(raw, PW_FUTURES(weights, images), &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_FUTURES(weights), &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_NO_FUTURES, &result, &err), PW_INVALID);
        assert_int_equal(pw_run(program, PW_FUTURES(images, weights), &result, &err), PW_SHAPE);
        assert_non_null(strstr(err.text, "test/step: input 0 takes i64 [], got f32 [2, 3]"));
        assert_int_equal(pw_run(program, PW_FUTURES(pw_donate(&none), images), &result, &err), PW_DONATED_USE);
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

/* The one result of a run of one step. */
static struct pw_future *run_once(struct world *world)
{
        struct pw_program *program = step(world, 0);
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result;
        assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &result, NULL), PW_OK);
        pw_unref(weights);
        pw_unref(images);
        pw_program_free(program);
        return result;
}

static void expect_gathered(struct pw_future *future, const int32_t want[5])
{
        struct pw_view view;
        assert_int_equal(pw_get(future, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.bytes, 5 * sizeof(int32_t));
        assert_int_equal(view.dtype, PW_I32);
        assert_int_equal(view.dims.dim[0], 5);
        assert_memory_equal(view.data, want, view.bytes);
        pw_view_done(&view);
}

static void expect_shard(struct pw_future *future, uint32_t shard, uint64_t count, int32_t first)
{
        struct pw_view view;
        assert_int_equal(pw_get_shard(future, shard, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.bytes, count * sizeof(int32_t));
        assert_int_equal(view.dims.dim[0], count);
        assert_int_equal(*(const int32_t *)view.data, first);
        pw_view_done(&view);
}

static void test_split_is_gathered(void **state)
{
        struct pw_future *result = run_once(*state);
        struct pw_view view;
        struct pw_info info;
        expect_gathered(result, (const int32_t[]){ 1, 2, 3, 10, 20 });
        expect_shard(result, 0, 3, 1);
        expect_shard(result, 1, 2, 10);
        assert_int_equal(pw_get_shard(result, 2, PW_FOREVER, &view, NULL), PW_INVALID);
        assert_int_equal(pw_future_info(result, &info, NULL), PW_OK);
        assert_int_equal(info.shard_count, 2);
        assert_int_equal(info.bytes, 20);
        pw_unref(result);
}

static void test_partial_is_reduced(void **state)
{
        struct pw_future *result = run_once(*state);
        expect_gathered(result, (const int32_t[]){ 11, 22, 33, 44, 55 });
        expect_shard(result, 1, 5, 10);
        pw_unref(result);
}

static void test_broadcast_is_shard_0(void **state)
{
        struct pw_future *result = run_once(*state);
        expect_gathered(result, (const int32_t[]){ 1, 2, 3, 4, 5 });
        pw_unref(result);
}

static void test_short_shard(void **state)
{
        struct pw_future *result = run_once(*state);
        struct pw_view view;
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_PROTOCOL);
        pw_unref(result);
}

/* Values of one column whose sum is another one in every other order of the shards. */
#define COLUMNS 6u
static const float in_order[4][COLUMNS] = {
        { 1e8f, 1, 1e8f, 3e7f, 1, 1e-8f },
        { 3, 1e8f, 5, 7, 1e-8f, 1 },
        { -1e8f, -1e8f, 9, -3e7f, 1e8f, -1 },
        { 7, 3, -1e8f, 1, -1e8f, 5e-8f },
};

static void test_partial_is_summed_in_order(void **state)
{
        struct pw_future *result = run_once(*state);
        struct pw_view view;
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.bytes, COLUMNS * sizeof(float));
        for (uint32_t i = 0; i < COLUMNS; i++) {
                volatile float sum = in_order[0][i];
                for (uint32_t shard = 1; shard < 4; shard++)
                        sum = sum + in_order[shard][i];
                assert_true(((const float *)view.data)[i] == sum);
        }
        pw_view_done(&view);
        pw_unref(result);
}

/* The device of shard 0 is lost while the value is gathered: when it comes to shard 2, what it read of shard 0 may be anything. */
static struct { struct fake_daemon *fake; uint8_t *page; int times; } losing;

static void on_read(int signal)
{
        (void)signal;
        losing.times++;
        fake_lose(losing.fake, 1);
        mprotect(losing.page, 4096, PROT_READ);
}

static void test_gathers_again_after_a_loss(void **state)
{
        struct world *world = *state;
        struct pw_future *result = run_once(world);
        struct sigaction before, action = { .sa_handler = on_read };
        struct pw_view view;
        assert_int_equal(pw_get_shard(result, 2, PW_FOREVER, &view, NULL), PW_OK);
        losing.fake = world->fake;
        losing.page = (uint8_t *)(uintptr_t)view.data;
        losing.times = 0;
        pw_view_done(&view);
        assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
        assert_int_equal(mprotect(losing.page, 4096, PROT_NONE), 0);
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
        assert_int_equal(losing.times, 1);
        for (int32_t i = 0; i < 4; i++)
                assert_int_equal(((const int32_t *)view.data)[i], i + 1);
        pw_view_done(&view);
        pw_unref(result);
}

static int setup_in_order(void **state)
{
        static const struct fake_value value = { .dtype = PW_F32, .dims = { 1, { COLUMNS } }, .mesh = { 4, 1 }, .shard_count = 4,
                                                 .sharding = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_BROADCAST } },
                                                 .shard_bytes = sizeof in_order[0],
                                                 .data = in_order };
        return start(state, &(struct fake_params){ .value = &value });
}
/* Split over the rows of the mesh, the same in each column: shards 0 and 1, 2 and 3 hold the same. */
static int setup_losing(void **state)
{
        static const int32_t shards[4][2] = { { 77, 77 }, { 1, 2 }, { 3, 4 }, { 3, 4 } };
        static const struct fake_value value = { .dtype = PW_I32, .dims = { 1, { 4 } }, .mesh = { 2, 2 }, .shard_count = 4,
                                                 .sharding = { { PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST } },
                                                 .shard_bytes = sizeof shards[0], .data = shards };
        return start(state, &(struct fake_params){ .value = &value });
}
static int setup_split(void **state) { return start(state, &(struct fake_params){ .sharded = true, .sharding = PW_SPLIT(0) }); }
static int setup_partial(void **state)
{
        return start(state, &(struct fake_params){ .sharded = true, .sharding = PW_PARTIAL(PW_SUM) });
}
static int setup_broadcast(void **state) { return start(state, &(struct fake_params){ .sharded = true }); }
static int setup_short(void **state)
{
        return start(state, &(struct fake_params){ .sharded = true, .sharding = PW_SPLIT(0), .short_shard = true });
}

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
                TEST(test_donated_but_held), TEST(test_wrong_runs),
                cmocka_unit_test_setup_teardown(test_results_wait, setup_hold, teardown),
                cmocka_unit_test_setup_teardown(test_results_fail, setup_fail, teardown),
                cmocka_unit_test_setup_teardown(test_split_is_gathered, setup_split, teardown),
                cmocka_unit_test_setup_teardown(test_partial_is_reduced, setup_partial, teardown),
                cmocka_unit_test_setup_teardown(test_partial_is_summed_in_order, setup_in_order, teardown),
                cmocka_unit_test_setup_teardown(test_gathers_again_after_a_loss, setup_losing, teardown),
                cmocka_unit_test_setup_teardown(test_broadcast_is_shard_0, setup_broadcast, teardown),
                cmocka_unit_test_setup_teardown(test_short_shard, setup_short, teardown), TEST(test_slices),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
