/* What is wrong with a program, a run or a slice is refused with a status of its own and a text that names the culprit; who asked
 * goes on, and so does everybody else.
 */
#include "tests/integration/trace.h"

#include "libclient/program/program.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct scene { struct it_host *host; struct pw_session *session; struct pw_slice *slice; struct pw_program *program; };

static struct scene begin(void **state, const char *name)
{
        struct it_host *host = *state;

        return (struct scene){ host, host->session, it_slice(host->session, 4, 1), pw_program_new(host->session, name) };
}

/* A good program still compiles and runs in the same session. */
static void end(struct scene *scene)
{
        struct pw_future *input = it_put_f64(scene->session, PW_DIMS(8), 1), *result;
        struct pw_program *good = it_one_node(scene->session, scene->slice, "pw/nop", PW_DIMS(8), NULL);

        result = it_run_1(good, input);
        it_expect_f64(result, (const double[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(good);
        pw_program_free(scene->program);
        pw_slice_close(scene->slice);
}

static struct pw_value *input(struct scene *scene)
{
        return pw_input(scene->program, scene->slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);
}

/* --- traces ----------------------------------------------------------------------------------------------------------- */

static void a_split_of_an_axis_that_is_not_there(void **state)
{
        struct scene scene = begin(state, "bad/split");

        pw_result(scene.program, pw_input(scene.program, scene.slice, PW_F64, PW_DIMS(8), PW_SPLIT(1), 0));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "bad/split|pw_input() 0|split(1)|rank 1");
        end(&scene);
        scene = begin(state, "bad/axis");
        pw_result(scene.program, pw_call(scene.program, scene.slice, "pw/nop", PW_ARGS(input(&scene)),
                                         PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0))));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "pw/nop|axis 1");
        end(&scene);
        scene = begin(state, "bad/input");
        pw_result(scene.program,
                  pw_input(scene.program, scene.slice, PW_F64, PW_DIMS(8, 8), PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0)), 0));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "pw_input() 0|axis 1");
        end(&scene);
        scene = begin(state, "bad/as");
        pw_result(scene.program, pw_as(input(&scene), PW_SPLIT(3)));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "split(3)");
        end(&scene);
        scene = begin(state, "bad/partial");
        pw_result(scene.program, pw_as(input(&scene), PW_PARTIAL(PW_SUM)));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "partial");
        end(&scene);
}

static void a_shape_that_does_not_fit_the_function(void **state)
{
        struct scene scene = begin(state, "bad/shape");
        struct pw_value *other = pw_input(scene.program, scene.slice, PW_F64, PW_DIMS(9), PW_BROADCAST, 0);

        pw_result(scene.program, pw_call(scene.program, scene.slice, "pw/add", PW_ARGS(input(&scene), other), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "pw/add|input 1");
        end(&scene);
        scene = begin(state, "bad/dtype");
        other = pw_input(scene.program, scene.slice, PW_F32, PW_DIMS(8, 8), PW_BROADCAST, 0);
        pw_result(scene.program, pw_call(scene.program, scene.slice, "pw/matmul", PW_ARGS(other, input(&scene)), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "pw/matmul");
        end(&scene);
        scene = begin(state, "bad/params");
        pw_result(scene.program, pw_call(scene.program, scene.slice, "pw/scale", PW_ARGS(input(&scene)), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "pw/scale|factor");
        end(&scene);
        /* Each shard is whole, so four of them say they are a quarter each of something else. */
        scene = begin(state, "bad/uneven");
        struct pw_value *uneven = pw_input(scene.program, scene.slice, PW_F64, PW_DIMS(6, 2), PW_SPLIT(0), 0);
        pw_result(scene.program, pw_call(scene.program, scene.slice, "pw/nop", PW_ARGS(uneven), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), PW_SHAPE, "pw/nop|fit together");
        end(&scene);
}

static void a_program_with_a_cycle(void **state)
{
        struct scene scene = begin(state, "bad/cycle");
        struct pw_value *first = pw_call(scene.program, scene.slice, "pw/nop", PW_ARGS(input(&scene)), PW_BROADCAST);
        struct pw_value *second = pw_call(scene.program, scene.slice, "pw/nop", PW_ARGS(first), PW_BROADCAST);

        pw_result(scene.program, second);
        scene.program->calls[0].args[0] = second->index; /* tracing cannot make one, a message of another client could */
        it_fails(pw_compile(scene.program, IT_ERR), PW_BAD_PROGRAM, "pw/nop|cycle");
        end(&scene);
}

static void a_program_without_results(void **state)
{
        struct scene scene = begin(state, "bad/nothing");

        pw_call(scene.program, scene.slice, "pw/nop", PW_ARGS(input(&scene)), PW_BROADCAST);
        it_fails(pw_compile(scene.program, IT_ERR), PW_BAD_PROGRAM, "bad/nothing|result");
        end(&scene);
}

static void a_value_of_another_program(void **state)
{
        struct scene scene = begin(state, "bad/mixed");
        struct pw_program *other = pw_program_new(scene.session, "other/one");
        struct pw_value *foreign = pw_input(other, scene.slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);

        pw_result(scene.program, pw_call(scene.program, scene.slice, "pw/add", PW_ARGS(input(&scene), foreign), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), PW_BAD_PROGRAM, "bad/mixed|pw/add|argument 1|other/one");
        pw_program_free(other);
        end(&scene);
}

static void a_value_on_another_slice(void **state)
{
        struct scene scene = begin(state, "bad/slice");
        struct pw_slice *elsewhere = it_slice(scene.session, 2, 1);

        pw_result(scene.program, pw_call(scene.program, elsewhere, "pw/nop", PW_ARGS(input(&scene)), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), PW_BAD_PROGRAM, "pw/nop|pw_move()");
        pw_slice_close(elsewhere);
        end(&scene);
}

/* --- modules ---------------------------------------------------------------------------------------------------------- */

static void compile_fails(void **state, const char *function, enum pw_status status, const char *texts)
{
        struct scene scene = begin(state, "bad/module");

        pw_result(scene.program, pw_call(scene.program, scene.slice, function, PW_ARGS(input(&scene)), PW_BROADCAST));
        it_fails(pw_compile(scene.program, IT_ERR), status, texts);
        end(&scene);
}

static void modules_that_cannot_be_used(void **state)
{
        compile_fails(state, "missing/nop", PW_NOT_FOUND, "missing");
        compile_fails(state, "pw/no_such", PW_NOT_FOUND, "no_such");
        compile_fails(state, "other_abi/nop", PW_BAD_MODULE, "other_abi|ABI 6|has 5: rebuild it");
        compile_fails(state, "older_abi/nop", PW_BAD_MODULE, "older_abi|ABI 4|has 5: rebuild it");
        compile_fails(state, "nomodule", PW_INVALID, "bad/module|module/function");
        compile_fails(state, "../pw/nop", PW_INVALID, "");
        compile_fails(state, "broken/shapeless", PW_CRASHED, "broken/shapeless|SIGSEGV");
}

/* Whoever's it was: others do not wait for the pauses that an executor is given which ends again and again. */
static void shape_functions_that_end_their_process(void **state)
{
        int64_t since_us = it_now_us();

        for (int i = 0; i < 10; i++)
                compile_fails(state, "broken/shapeless", PW_CRASHED, "call 0, broken/shapeless|SIGSEGV");
        it_within("the describer is there each time", since_us, IT_SECOND / 2);
}

/* broken/says: what the two return. */
static struct pw_value *call_says(struct scene *scene, uint32_t shape, uint32_t run)
{
        uint32_t says[] = { shape, run };

        return pw_call_with(scene->program, scene->slice, "broken/says", PW_ARGS(input(scene)), PW_BROADCAST,
                            &(struct pw_call_params){ .params = says, .params_bytes = sizeof says });
}

/* Whatever number a shape function returns, it says only what is wrong with the call. */
static void what_shape_functions_return(void **state)
{
        for (uint32_t number = 1; number < 256; number++) {
                struct scene scene = begin(state, "bad/says");

                pw_result(scene.program, call_says(&scene, number, PW_OK));
                it_fails(pw_compile(scene.program, IT_ERR),
                         number >= PW_INVALID && number <= PW_BUSY ? (enum pw_status)number : PW_SHAPE, "broken/says");
                pw_program_free(scene.program);
                pw_slice_close(scene.slice);
        }
}

/* And a function nothing about the future, or the session of who reads it. */
static void what_functions_return(void **state)
{
        static const struct { uint32_t number; enum pw_status status; } returned[] = {
                { PW_NOT_READY, PW_FAILED }, { 4, PW_FAILED }, { PW_SHAPE, PW_SHAPE }, { PW_NO_SPACE, PW_NO_SPACE },
                { PW_DAEMON_GONE, PW_FAILED }, { PW_FORKED, PW_FAILED }, { 85, PW_FAILED }, { UINT32_MAX, PW_FAILED },
        };
        struct pw_view view;

        for (size_t i = 0; i < sizeof returned / sizeof *returned; i++) {
                struct scene scene = begin(state, "bad/returns");
                struct pw_future *given = it_put_f64(scene.session, PW_DIMS(8), 0), *result;

                pw_result(scene.program, call_says(&scene, PW_OK, returned[i].number));
                it_ok(pw_compile(scene.program, IT_ERR));
                result = it_run_1(scene.program, given);
                it_fails(pw_get(result, IT_LONG, &view, IT_ERR), returned[i].status, "broken/says");
                pw_unref(result);
                pw_unref(given);
                end(&scene);
        }
}

static int compile_endless(void *context, int pipe)
{
        struct it_host host = *(struct it_host *)context, *self = &host;

        (void)pipe;
        host.session = it_connect(&host);
        for (int i = 0; i < 2; i++)
                compile_fails((void **)&self, "broken/endless", PW_TIME_LIMIT,
                              "broken/endless|its shape function ran over the limit of 2 s");
        pw_close(host.session);
        return 0;
}

/* Nobody else has anything for the daemon to do: it wakes for the limit itself, not 10 s after somebody connected, when it looks
 * who has not said Hello. */
static void a_shape_function_without_end(void **state)
{
        struct it_child child = it_fork(compile_endless, *state);

        assert_int_equal(it_reap_within(&child, 12 * IT_SECOND), 0);
}

/* Has all of the first processor that it gets, in a group of the scheduler of its own. */
static int spin(void *context, int pipe)
{
        cpu_set_t all, first;

        (void)context;
        (void)pipe;
        setsid();
        CPU_ZERO(&first);
        sched_getaffinity(0, sizeof all, &all);
        for (int i = 0; !CPU_COUNT(&first) && i < CPU_SETSIZE; i++)
                if (CPU_ISSET(i, &all))
                        CPU_SET(i, &first);
        sched_setaffinity(0, sizeof first, &first);
        while (getpid() > 1)
                ;
        return 0;
}

/* A shape function that waits for a processor for longer than its limit, and itself takes no time to speak of: a quarter of a
 * second of a tenth of a processor, less where other tests run in its session. */
#define SPINNERS 9u
static void a_shape_function_without_a_processor(void **state)
{
        struct scene scene = begin(state, "slow/shape");
        struct it_child spinners[SPINNERS];

        for (uint32_t i = 0; i < SPINNERS; i++)
                spinners[i] = it_fork(spin, NULL);
        pw_result(scene.program, pw_call(scene.program, scene.slice, "broken/slow_shape", PW_ARGS(input(&scene)), PW_BROADCAST));
        it_ok(pw_compile(scene.program, IT_ERR));
        for (uint32_t i = 0; i < SPINNERS; i++)
                it_reap(&spinners[i], SIGKILL);
        end(&scene);
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

static void runs_with_wrong_inputs(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_session *elsewhere = it_connect(host);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_future *good = it_put_f64(host->session, PW_DIMS(8), 0), *longer = it_put_f64(host->session, PW_DIMS(9), 0);
        struct pw_future *foreign = it_put_f64(elsewhere, PW_DIMS(8), 0), *result, *aborted;
        struct pw_put_params as_i64 = { .dtype = PW_I64, .dims = PW_DIMS(8) };
        struct pw_view view;
        void *data;

        it_fails(pw_run(program, PW_NO_FUTURES, &result, IT_ERR), PW_INVALID, "test/one|1 inputs|got 0");
        it_fails(pw_run(program, PW_FUTURES(good, good), &result, IT_ERR), PW_INVALID, "test/one|got 2");
        it_fails(pw_run(program, PW_FUTURES(NULL), &result, IT_ERR), PW_INVALID, "test/one|input 0");
        it_fails(pw_run(program, PW_FUTURES(foreign), &result, IT_ERR), PW_INVALID, "input 0|another session");
        it_fails(pw_run(program, PW_FUTURES(longer), &result, IT_ERR), PW_SHAPE, "test/one|input 0|8|9");
        pw_unref(longer);
        /* Not ready when it is submitted: what is wrong with it comes out in the result. */
        it_ok(pw_create(host->session, 64, &as_i64, &longer, &data, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(longer), &result, IT_ERR));
        it_ok(pw_seal(longer, IT_ERR));
        it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_SHAPE, "test/one|input 0|i64");
        pw_unref(result);
        it_ok(pw_create(host->session, 64, &as_i64, &aborted, &data, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(aborted), &result, IT_ERR));
        it_ok(pw_abort(aborted, IT_ERR));
        it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_CANCELLED, "");
        pw_unref(result);
        pw_unref(aborted);
        pw_unref(longer);
        pw_unref(good);
        pw_unref(foreign);
        pw_close(elsewhere);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* Bytes without dims that come after the run was submitted: they are as many as its program takes, or the result says so. */
static void bytes_that_come_late(void **state)
{
        static const uint64_t sizes[] = { 56, 64, 72 };
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_future *input, *result;
        struct pw_view view;
        void *data;

        for (int i = 0; i < 3; i++) {
                it_ok(pw_create(host->session, sizes[i], NULL, &input, &data, IT_ERR));
                memset(data, 0, sizes[i]);
                result = it_run_1(program, input);
                it_ok(pw_seal(input, IT_ERR));
                if (sizes[i] == 64)
                        it_expect_f64(result, (const double[8]){ 0 }, 8);
                else
                        it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_SHAPE, "test/one|input 0|opaque");
                pw_unref(result);
                pw_unref(input);
        }
        pw_program_free(program);
        pw_slice_close(slice);
}

static void use_after_donation(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = pw_program_new(host->session, "test/donate");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, PW_DONATED);
        struct pw_value *other = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);
        struct pw_future *given = it_put_f64(host->session, PW_DIMS(8), 0), *kept = it_put_f64(host->session, PW_DIMS(8), 1),
                         *result, *again;

        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(value, other), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_fails(pw_run(program, PW_FUTURES(pw_donate(&given), given), &result, IT_ERR), PW_DONATED_USE, "test/donate|2 times");
        assert_non_null(given);
        it_ok(pw_run(program, PW_FUTURES(pw_donate(&given), kept), &result, IT_ERR));
        assert_null(given);
        it_fails(pw_run(program, PW_FUTURES(pw_donate(&given), kept), &again, IT_ERR), PW_DONATED_USE, "test/donate|input 0");
        it_fails(pw_run(program, PW_FUTURES(given, kept), &again, IT_ERR), PW_INVALID, "test/donate|input 0|NULL|given away");
        it_expect_f64(result, (const double[]){ 1, 3, 5, 7, 9, 11, 13, 15 }, 8);
        pw_unref(result);
        pw_unref(kept);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* --- slices ----------------------------------------------------------------------------------------------------------- */

static void slices_that_cannot_be(void **state)
{
        struct it_host *host = *state;
        struct pw_slice_params nine = { .device_count = 9 }, none = { .device_count = 0 },
                               mesh = { .device_count = 4, .mesh = { 2, 3 } };
        struct pw_slice_params cuda = { .device_count = 1, .kind = "cuda" }, third = { .device_count = 1, .island = 3 };
        struct pw_slice_params islands = { .device_count = 6, .island_count = 3 },
                large = { .device_count = 1, .memory_bytes = UINT64_C(1) << 30 };
        struct pw_slice *slice;

        it_fails(pw_slice_open(host->session, &nine, &slice, IT_ERR), PW_TOO_LARGE, "9|8");
        it_fails(pw_slice_open(host->session, &none, &slice, IT_ERR), PW_INVALID, "at least one device");
        it_fails(pw_slice_open(host->session, &mesh, &slice, IT_ERR), PW_INVALID, "6|4");
        it_fails(pw_slice_open(host->session, &cuda, &slice, IT_ERR), PW_TOO_LARGE, "cuda");
        it_fails(pw_slice_open(host->session, &third, &slice, IT_ERR), PW_TOO_LARGE, "island");
        it_fails(pw_slice_open(host->session, &islands, &slice, IT_ERR), PW_TOO_LARGE, "3 islands");
        it_fails(pw_slice_open(host->session, &large, &slice, IT_ERR), PW_TOO_LARGE, "1 device");
}

/* By its number, as a message of any client could say: that of a slice that another session opened. */
static void a_slice_that_is_not_of_the_session(void **state)
{
        struct scene scene = begin(state, "bad/borrowed");
        struct pw_session *other = it_connect(scene.host);
        struct pw_slice *foreign = it_slice(other, 4, 1), borrowed = *scene.slice;

        borrowed.number = foreign->number;
        pw_result(scene.program, pw_input(scene.program, &borrowed, PW_F64, PW_DIMS(8), PW_SPLIT(0), 0));
        it_fails(pw_compile(scene.program, IT_ERR), PW_NOT_FOUND, "is not open in this session");
        pw_slice_close(foreign);
        pw_close(other);
        end(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_split_of_an_axis_that_is_not_there),
                IT_TEST(a_shape_that_does_not_fit_the_function),
                IT_TEST(a_program_with_a_cycle),
                IT_TEST(a_program_without_results),
                IT_TEST(a_value_of_another_program),
                IT_TEST(a_value_on_another_slice),
                IT_TEST(modules_that_cannot_be_used), IT_TEST(shape_functions_that_end_their_process),
                IT_TEST(what_shape_functions_return),
                IT_TEST(what_functions_return),
                IT_TEST(a_shape_function_without_end),
                IT_TEST(a_shape_function_without_a_processor),
                IT_TEST(runs_with_wrong_inputs),
                IT_TEST(bytes_that_come_late),
                IT_TEST(use_after_donation),
                IT_TEST(slices_that_cannot_be),
                IT_TEST(a_slice_that_is_not_of_the_session),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
