/* Calls launched ahead that come to nothing: where the executor dies, what they would have written in place is lost with it, as it
 * lay on its device; where several that one reads fail, it says what it would have said, had each been done before the next.
 */
#include "tests/integration/scene.h"

#include <signal.h>
#include <string.h>

#define DIMS PW_DIMS(64)

static struct pw_value *call(struct pw_program *program, struct pw_slice *slice, struct pw_value *value)
{
        static const double factor = 2;
        struct pw_call_params params = { .params = &factor, .params_bytes = sizeof factor };

        return pw_call_with(program, slice, "pw/scale", PW_ARGS(value), PW_BROADCAST, &params);
}

/* One result that has nothing to do with the other, which is made in place of the second input, behind it. */
static struct pw_program *make(struct it_host *host, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(host->session, "test/launched");
        struct pw_value *first = pw_input(program, slice, PW_F64, DIMS, PW_BROADCAST, 0);
        struct pw_value *second = pw_input(program, slice, PW_F64, DIMS, PW_BROADCAST, PW_DONATED);

        pw_result(program, call(program, slice, first));
        pw_result(program, call(program, slice, second));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static bool is_calling(const struct pw_listing *gangs, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "state"), "running") && strstr(it_text(gangs, i, "node"), "pw/scale"))
                        return true;
        return false;
}

static void made_in_place_and_lost(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = make(host, slice), *other = pw_program_new(host->session, "test/other");
        struct pw_future *input = it_put_f64(host->session, DIMS, 0), *given, *results[2];

        pw_result(other, call(other, slice, pw_input(other, slice, PW_F64, DIMS, PW_BROADCAST, 0)));
        it_ok(pw_compile(other, IT_ERR));
        for (int i = 0; i < 2; i++) { /* its functions were called before */
                given = it_run_1(other, input);
                it_ok(pw_wait(&given, 1, 1, IT_LONG, NULL, IT_ERR));
                it_ok(pw_run(program, PW_FUTURES(input, pw_donate(&given)), results, IT_ERR));
                if (i == 0) {
                        it_ok(pw_wait(results, 2, 2, IT_LONG, NULL, IT_ERR));
                } else {
                        it_until(host->session, "gangs", is_calling, NULL);
                        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
                        it_fails_with(results[0], PW_CRASHED, "h0:0|SIGKILL");
                        it_fails_with(results[1], PW_DEVICE_LOST, "h0:0|SIGKILL");
                }
                pw_unref(results[0]);
                pw_unref(results[1]);
        }
        pw_unref(input);
        pw_program_free(program);
        pw_program_free(other);
        pw_slice_close(slice);
}

static struct pw_future *put(struct it_host *host, double number)
{
        double numbers[64] = { number };
        struct pw_put_params params = { .dtype = PW_F64, .dims = DIMS };
        struct pw_future *future;

        it_ok(pw_put(host->session, numbers, sizeof numbers, &params, &future, IT_ERR));
        return future;
}

/* All are called first where they do not fail, which is not ahead of each other. */
static void compile_and_fail(struct it_host *host, struct pw_program *program, const char *texts)
{
        it_ok(pw_compile(program, IT_ERR));
        for (int i = 0; i < 2; i++) {
                struct pw_future *input = put(host, i), *result = it_run_1(program, input);

                if (i == 0)
                        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
                else
                        it_fails_with(result, PW_FAILED, texts);
                pw_unref(result);
                pw_unref(input);
        }
        pw_program_free(program);
}

/* The first that is launched is the last that is read. */
static void first_input_is_named(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/named");
        struct pw_value *value = pw_input(program, slice, PW_F64, DIMS, PW_BROADCAST, 0);
        struct pw_value *launched = pw_call(program, slice, "broken/picky", PW_ARGS(value), PW_BROADCAST);
        struct pw_value *read = pw_call(program, slice, "broken/picky", PW_ARGS(call(program, slice, value)), PW_BROADCAST);

        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(read, launched), PW_BROADCAST));
        compile_and_fail(host, program, "broken/picky|was given 2");
        pw_slice_close(slice);
}

/* What a call left behind that failed is not for others. */
static void nothing_runs_on_what_failed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/grim");
        struct pw_value *value = pw_input(program, slice, PW_F64, DIMS, PW_BROADCAST, 0);

        value = pw_call(program, slice, "broken/picky", PW_ARGS(value), PW_BROADCAST);
        pw_result(program, pw_call(program, slice, "broken/grim", PW_ARGS(value), PW_BROADCAST));
        compile_and_fail(host, program, "broken/picky|was given 1");
        pw_slice_close(slice);
}

/* Runs that wait for nothing: one node of several of them is under way, each with rooms of its own. */
static void runs_of_one_node_at_once(void **state)
{
        static const struct { double value; uint64_t dtype, rank, dim; } fill = { 3, PW_F64, 1, 64 };
        struct pw_call_params params = { .params = &fill, .params_bytes = sizeof fill };
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/filled");
        struct pw_value *value = pw_call_with(program, slice, "pw/fill", PW_NO_ARGS, PW_BROADCAST, &params);
        struct pw_future *results[16];

        pw_result(program, call(program, slice, call(program, slice, value)));
        it_ok(pw_compile(program, IT_ERR));
        for (int i = 0; i < 16; i++)
                it_ok(pw_run(program, PW_NO_FUTURES, &results[i], IT_ERR));
        for (int i = 0; i < 16; i++) {
                struct pw_view view;

                it_ok(pw_get(results[i], IT_LONG, &view, IT_ERR));
                assert_true(((const double *)view.data)[63] == 12);
                pw_view_done(&view);
                pw_unref(results[i]);
        }
        pw_program_free(program);
        pw_slice_close(slice);
}

/* So long that it is seen to be under way. */
static int setup_long(void **state) { return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--launch-delay", "1s")); }

static int setup_short(void **state) { return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--launch-delay", "3ms")); }

static int setup(void **state) { return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--launch-delay", "300ms")); }

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(made_in_place_and_lost, setup_long, it_teardown),
                                            cmocka_unit_test_setup_teardown(first_input_is_named, setup, it_teardown),
                                            cmocka_unit_test_setup_teardown(nothing_runs_on_what_failed, setup, it_teardown),
                                            cmocka_unit_test_setup_teardown(runs_of_one_node_at_once, setup_short, it_teardown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
