/* Programs of every shape, donation, many runs and clients at a time: values compared with what plain arithmetic says.
 */
#include "tests/integration/trace.h"

#include "pathways_module.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- shapes of programs ----------------------------------------------------------------------------------------------- */

static void one_node(void **state)
{
        struct it_host *host = *state;

        for (uint32_t devices = 1; devices <= 8; devices++) {
                struct pw_slice *slice = it_slice(host->session, devices, 0);
                double by = 0.5, expected[11];
                struct pw_program *program = it_one_node(host->session, slice, "parts/grow", PW_DIMS(11),
                                                         &(struct pw_call_params){ .params = &by, .params_bytes = sizeof by });
                struct pw_future *input = it_put_f64(host->session, PW_DIMS(11), devices), *result = it_run_1(program, input);
                struct pw_info info;

                for (int i = 0; i < 11; i++)
                        expected[i] = devices + i + 0.5;
                it_expect_f64(result, expected, 11);
                it_ok(pw_future_info(result, &info, IT_ERR));
                assert_int_equal(info.shard_count, devices);
                assert_int_equal(info.bytes, 88);
                pw_unref(result);
                pw_unref(input);
                pw_program_free(program);
                pw_slice_close(slice);
        }
}

static struct pw_value *broadcast_input(struct pw_program *program, struct pw_slice *slice, unsigned flags)
{
        return pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, flags);
}

static void a_chain(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 2);
        struct pw_program *program = pw_program_new(host->session, "test/chain");
        struct pw_value *value = broadcast_input(program, slice, 0);
        struct pw_future *input = it_put_scalar(host->session, 1), *result;

        for (int i = 0; i < 1000; i++)
                value = it_grow(program, slice, value, PW_BROADCAST, i);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        assert_true(it_get_scalar(result) == 1 + 999 * 500);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* a -> b, c -> d: on one slice, and with one branch in another island. */
static void a_diamond(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *here = it_slice(host->session, 3, 1), *there = NULL;
        struct pw_slice_params params = { .device_count = 2, .island = 2 };

        it_ok(pw_slice_open(host->session, &params, &there, IT_ERR));
        for (int far = 0; far < 2; far++) {
                struct pw_program *program = pw_program_new(host->session, "test/diamond");
                struct pw_slice *other = far ? there : here;
                struct pw_value *top = it_grow(program, here, broadcast_input(program, here, 0), PW_BROADCAST, 1);
                struct pw_value *left = it_grow(program, here, top, PW_BROADCAST, 10);
                struct pw_value *right = it_grow(program, other, far ? pw_move(top, other, PW_BROADCAST) : top, PW_BROADCAST, 100);
                struct pw_future *input = it_put_scalar(host->session, 0.25), *results[2];

                if (far)
                        right = pw_move(right, here, PW_BROADCAST);
                pw_result(program, pw_call(program, here, "pw/add", PW_ARGS(left, right), PW_BROADCAST));
                pw_result(program, top);
                it_ok(pw_compile(program, IT_ERR));
                it_ok(pw_run(program, PW_FUTURES(input), results, IT_ERR));
                assert_true(it_get_scalar(results[0]) == 0.25 * 2 + 2 + 110);
                assert_true(it_get_scalar(results[1]) == 1.25);
                pw_unref(results[0]);
                pw_unref(results[1]);
                pw_unref(input);
                pw_program_free(program);
        }
        pw_slice_close(here);
        pw_slice_close(there);
}

static void several_outputs(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 2);
        struct pw_program *program = pw_program_new(host->session, "test/outputs");
        const struct pw_sharding others[] = { PW_PARTIAL(PW_SUM), PW_SPLIT(0) };
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_DIMS(10), PW_SPLIT(0), 0);
        struct pw_value *first = pw_call_with(program, slice, "parts/stats", PW_ARGS(input), PW_SPLIT(0),
                                              &(struct pw_call_params){ .output_count = 3, .output_shardings = others });
        struct pw_future *future = it_put_f64(host->session, PW_DIMS(10), 0), *results[4];
        struct pw_view view;

        pw_result(program, first);
        pw_result(program, pw_output(first, 1)); /* stays partial: whoever gets it reduces */
        pw_result(program, PW_AS(pw_output(first, 1), PW_BROADCAST));
        pw_result(program, pw_output(first, 2));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(future), results, IT_ERR));
        it_expect_f64(results[0], (const double[]){ 0, 2, 4, 6, 8, 10, 12, 14, 16, 18 }, 10);
        it_expect_f64(results[1], (const double[]){ 45 }, 1);
        it_expect_f64(results[2], (const double[]){ 45 }, 1);
        it_ok(pw_get(results[3], IT_LONG, &view, IT_ERR));
        assert_int_equal(view.dtype, PW_I64);
        assert_memory_equal(view.data, ((const int64_t[]){ 3, 3, 2, 2 }), 32);
        pw_view_done(&view);
        for (int i = 0; i < 4; i++)
                pw_unref(results[i]);
        pw_unref(future);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* As many arguments as a call may have, then as many outputs: each is where it belongs. */
static void many_arguments_and_outputs(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = pw_program_new(host->session, "test/many");
        struct pw_sharding others[PW_OUTPUTS_MAX - 1];
        struct pw_value *args[PW_TASK_ARGS_MAX], *copies;
        struct pw_future *futures[PW_TASK_ARGS_MAX], *results[PW_OUTPUTS_MAX + 1];

        for (uint32_t i = 0; i < PW_OUTPUTS_MAX - 1; i++)
                others[i] = i % 2 ? PW_SPLIT(0) : PW_BROADCAST;
        for (uint32_t i = 0; i < PW_TASK_ARGS_MAX; i++) { /* as the outputs that they become */
                args[i] = pw_input(program, slice, PW_F64, PW_DIMS(2), i ? others[i - 1] : PW_BROADCAST, 0);
                futures[i] = it_put_f64(host->session, PW_DIMS(2), i);
        }
        copies = pw_call_with(program, slice, "pw/nop", args, PW_TASK_ARGS_MAX, PW_BROADCAST,
                              &(struct pw_call_params){ .output_count = PW_OUTPUTS_MAX, .output_shardings = others });
        for (uint32_t i = 0; i < PW_OUTPUTS_MAX; i++) {
                pw_result(program, pw_output(copies, i));
                args[i] = PW_AS(pw_output(copies, i), PW_BROADCAST);
        }
        pw_result(program, pw_call_with(program, slice, "pw/add", args, PW_TASK_ARGS_MAX, PW_BROADCAST, NULL));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run_with(program, futures, PW_TASK_ARGS_MAX, NULL, results, IT_ERR));
        for (uint32_t i = 0; i < PW_OUTPUTS_MAX; i++)
                it_expect_f64(results[i], (const double[]){ i, i + 1.0 }, 2);
        it_expect_f64(results[PW_OUTPUTS_MAX], (const double[]){ 255 * 128, 255 * 128 + 256 }, 2);
        for (uint32_t i = 0; i <= PW_OUTPUTS_MAX; i++)
                pw_unref(results[i]);
        for (uint32_t i = 0; i < PW_TASK_ARGS_MAX; i++)
                pw_unref(futures[i]);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* The same where no two are of one shape, and the outputs are the inputs the other way round. */
static void many_shapes(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = pw_program_new(host->session, "test/shapes");
        struct pw_sharding others[PW_OUTPUTS_MAX - 1];
        struct pw_value *args[PW_OUTPUTS_MAX], *reversed;
        struct pw_future *futures[PW_OUTPUTS_MAX], *results[PW_OUTPUTS_MAX];

        for (uint32_t i = 0; i < PW_OUTPUTS_MAX; i++) {
                args[i] = pw_input(program, slice, PW_F64, PW_DIMS(1 + i), PW_BROADCAST, 0);
                futures[i] = it_put_f64(host->session, PW_DIMS(1 + i), 1000 * i);
                others[i ? i - 1 : 0] = (struct pw_sharding)PW_BROADCAST;
        }
        reversed = pw_call_with(program, slice, "parts/reverse", args, PW_OUTPUTS_MAX, PW_BROADCAST,
                                &(struct pw_call_params){ .output_count = PW_OUTPUTS_MAX, .output_shardings = others });
        for (uint32_t i = 0; i < PW_OUTPUTS_MAX; i++)
                pw_result(program, pw_output(reversed, i));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run_with(program, futures, PW_OUTPUTS_MAX, NULL, results, IT_ERR));
        for (uint32_t i = 0; i < PW_OUTPUTS_MAX; i++) {
                double expected[PW_OUTPUTS_MAX];
                uint32_t from = PW_OUTPUTS_MAX - 1 - i;
                for (uint32_t k = 0; k <= from; k++)
                        expected[k] = 1000.0 * from + k;
                it_expect_f64(results[i], expected, from + 1);
                pw_unref(results[i]);
        }
        for (uint32_t i = 0; i < PW_OUTPUTS_MAX; i++)
                pw_unref(futures[i]);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* --- donation --------------------------------------------------------------------------------------------------------- */

struct step { struct pw_slice *slice; struct pw_program *program; };

/* w -> w + 1, w given away. */
static struct step make_step(struct pw_session *session, uint32_t devices)
{
        struct step step = { it_slice(session, devices, 0), pw_program_new(session, "test/step") };
        struct pw_value *weights = pw_input(step.program, step.slice, PW_F64, PW_DIMS(1000), PW_BROADCAST, PW_DONATED);

        pw_result(step.program, it_grow(step.program, step.slice, weights, PW_BROADCAST, 1));
        it_ok(pw_compile(step.program, IT_ERR));
        return step;
}

static void end_step(struct step *step)
{
        pw_program_free(step->program);
        pw_slice_close(step->slice);
}

static bool is_one_result(const struct pw_listing *devices, void *context)
{
        (void)context;
        return it_number(devices, 0, "used") == 8192; /* 8,000 bytes and their guard, in units of 256 */
}

static void donated_in_place(void **state)
{
        struct it_host *host = *state;
        struct step step = make_step(host->session, 4);
        struct pw_future *weights = it_put_f64(host->session, PW_DIMS(1000), 0);

        for (int i = 0; i < 500; i++)
                it_ok(pw_run(step.program, PW_FUTURES(pw_donate(&weights)), &weights, IT_ERR));
        assert_true(it_get_scalar(weights) == 500);
        it_until(host->session, "devices", is_one_result, NULL);
        pw_unref(weights);
        end_step(&step);
}

/* Somebody else still holds what is given away: they keep the old value, the run works on a copy. */
static void donated_while_held(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct step step = make_step(host->session, 4);
        struct pw_future *start = it_put_f64(host->session, PW_DIMS(1000), 0), *held[3], *weights, *foreign;

        it_ok(pw_run(step.program, PW_FUTURES(pw_donate(&start)), &weights, IT_ERR));
        for (int i = 0; i < 3; i++) {
                held[i] = pw_ref(weights);
                it_ok(pw_run(step.program, PW_FUTURES(pw_donate(&weights)), &weights, IT_ERR));
        }
        for (int i = 0; i < 3; i++) {
                assert_true(it_get_scalar(held[i]) == i + 1);
                pw_unref(held[i]);
        }
        assert_true(it_get_scalar(weights) == 4);
        it_ok(pw_open(other, pw_future_id(weights), &foreign, IT_ERR));
        it_ok(pw_run(step.program, PW_FUTURES(pw_donate(&weights)), &weights, IT_ERR));
        assert_true(it_get_scalar(foreign) == 4);
        assert_true(it_get_scalar(weights) == 5);
        pw_unref(foreign);
        pw_unref(weights);
        pw_close(other);
        end_step(&step);
}

/* Dropping the handle of the weights right after the next run is submitted takes nothing away that is needed. */
static void dropped_at_once(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 2);
        struct pw_program *program = pw_program_new(host->session, "test/dropped");
        struct pw_future *weights = it_put_f64(host->session, PW_DIMS(100), 0), *next;

        pw_result(program, it_grow(program, slice, pw_input(program, slice, PW_F64, PW_DIMS(100), PW_SPLIT(0), 0), PW_SPLIT(0), 1));
        it_ok(pw_compile(program, IT_ERR));
        for (int i = 0; i < 1000; i++) {
                next = it_run_1(program, weights);
                pw_unref(weights);
                weights = next;
        }
        assert_true(it_get_scalar(weights) == 1000);
        for (int i = 0; i < 1000; i++) /* nobody wants these */
                pw_unref(it_run_1(program, weights));
        pw_unref(weights);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* --- many at a time --------------------------------------------------------------------------------------------------- */

#define RUNS 300

/* A chain of runs over all devices and both islands, each with an all-reduce; returns whether the value is right. */
static int reduce_again_and_again(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, 8, 2);
        struct pw_program *program = pw_program_new(session, "test/reduce");
        double factor = 0.125;
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);
        struct pw_value *share = pw_call_with(program, slice, "pw/scale", PW_ARGS(input), PW_PARTIAL(PW_SUM),
                                              &(struct pw_call_params){ .params = &factor, .params_bytes = sizeof factor });
        struct pw_future *future = it_put_f64(session, PW_DIMS(8), 0), *next;

        pw_result(program, it_grow(program, slice, share, PW_BROADCAST, 1)); /* share is completed: eight eighths */
        it_ok(pw_compile(program, IT_ERR));
        for (int i = 0; i < RUNS; i++) {
                next = it_run_1(program, future);
                pw_unref(future);
                future = next;
        }
        int right = it_get_scalar(future) == RUNS;
        pw_unref(future);
        pw_close(session);
        (void)pipe;
        return right ? 0 : 1;
}

static void clients_interleave(void **state)
{
        struct it_child children[4];

        for (int i = 0; i < 4; i++)
                children[i] = it_fork(reduce_again_and_again, *state);
        for (int i = 0; i < 4; i++)
                assert_int_equal(it_reap(&children[i], 0), 0);
}

static void one_way_of_dispatch(struct it_host *host, bool sequential, double values[8])
{
        struct pw_slice *slice = it_slice(host->session, 8, 2);
        struct pw_program *program = pw_program_new(host->session, "test/dispatch");
        struct pw_run_params params = { .sequential = sequential };
        double weights[PW_MESH_AXES_MAX] = { 0.1 };
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 0.3), *result;
        struct pw_view view;

        for (int i = 0; i < 20; i++)
                value = pw_call_with(program, slice, "parts/mark", PW_ARGS(value), PW_PARTIAL(PW_SUM),
                                     &(struct pw_call_params){ .params = weights, .params_bytes = sizeof weights });
        pw_result(program, PW_AS(value, PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run_with(program, PW_FUTURES(input), &params, &result, IT_ERR));
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, 64);
        memcpy(values, view.data, 64);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* The same bits either way, and each time. */
static void sequential_equals_parallel(void **state)
{
        double parallel[8], again[8], sequential[8];

        one_way_of_dispatch(*state, false, parallel);
        one_way_of_dispatch(*state, false, again);
        one_way_of_dispatch(*state, true, sequential);
        assert_memory_equal(parallel, again, sizeof parallel);
        assert_memory_equal(parallel, sequential, sizeof parallel);
}

/* Results, programs and slices may go in any order, while runs are in flight. */
static void everything_freed_in_flight(void **state)
{
        struct it_host *host = *state;

        for (int i = 0; i < 50; i++) {
                struct pw_slice *slice = it_slice(host->session, 4, 2);
                struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(16), NULL);
                struct pw_future *input = it_put_f64(host->session, PW_DIMS(16), i), *results[10];

                for (int r = 0; r < 10; r++)
                        results[r] = it_run_1(program, input);
                pw_unref(input);
                pw_program_free(program);
                pw_slice_close(slice);
                for (int r = 0; r < 9; r++)
                        pw_unref(results[r]);
                assert_true(it_get_scalar(results[9]) == i);
                pw_unref(results[9]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(one_node),           IT_TEST(a_chain),         IT_TEST(a_diamond),
                IT_TEST(several_outputs),    IT_TEST(many_arguments_and_outputs), IT_TEST(many_shapes),
                IT_TEST(donated_in_place), IT_TEST(donated_while_held),
                IT_TEST(dropped_at_once),    IT_TEST(clients_interleave), IT_TEST(sequential_equals_parallel),
                IT_TEST(everything_freed_in_flight),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
