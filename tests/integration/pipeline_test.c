/* Runs that overlap: consecutive steps in one block.
 */
#include "tests/integration/trace.h"

#include <stdio.h>
#include <string.h>

#define STEPS 30
#define DEVICE_BYTES (16 << 20)
#define BIG_BYTES 9600000 /* with its head 0.6 of a device */

static struct pw_value *big(struct pw_program *program, struct pw_slice *slice)
{
        struct { double value; uint64_t dtype, rank, dim; } fill = { 1, PW_F64, 1, BIG_BYTES / 8 };

        return pw_call_with(program, slice, "pw/fill", PW_NO_ARGS, PW_BROADCAST, &(struct pw_call_params){ .params = &fill, .params_bytes = sizeof fill });
}

static struct pw_value *slowly(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_value *with)
{
        uint64_t us = 3000;

        return pw_call_with(program, slice, "pw/sleep_us", PW_ARGS(value, with), PW_BROADCAST,
                            &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
}

/* A step that needs 0.6 of each of its two devices: one makes what the weights are to meet there, then the other updates them. */
static struct pw_program *trace_step(struct pw_session *session, struct pw_slice *slices[2])
{
        struct pw_program *program = pw_program_new(session, "test/step");
        struct pw_value *weights, *value, *batch;

        for (int i = 0; i < 2; i++)
                it_ok(pw_slice_open(session, &(struct pw_slice_params){ .device_count = 1 }, &slices[i], IT_ERR));
        batch = big(program, slices[0]);
        weights = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, PW_DONATED);
        value = slowly(program, slices[0], weights, batch);
        value = slowly(program, slices[1], pw_move(value, slices[1], PW_BROADCAST), big(program, slices[1]));
        pw_result(program, it_grow(program, slices[1], value, PW_BROADCAST, 2));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static bool two_under_way(const struct pw_listing *runs, void *context)
{
        size_t running = 0;

        (void)context;
        for (size_t i = 0; i < it_rows(runs); i++)
                running += !strcmp(it_text(runs, i, "state"), "running") && it_number(runs, i, "nodes_ordered") > 0;
        return running >= 2;
}

/* Times of the first and the last gang of each run on a device. */
struct spans { int64_t first[STEPS + 1], last_end[STEPS + 1]; };

static void spans_of(struct pw_session *session, const char *device, struct spans *ret_spans)
{
        struct pw_listing *gangs = it_list(session, "gangs", device);

        *ret_spans = (struct spans){ { 0 }, { 0 } };
        for (size_t i = 0; i < it_rows(gangs); i++) {
                int64_t run = it_number(gangs, i, "run");
                assert_in_range(run, 1, STEPS);
                if (!ret_spans->first[run])
                        ret_spans->first[run] = it_number(gangs, i, "start_us");
                ret_spans->last_end[run] = it_number(gangs, i, "end_us");
        }
        pw_listing_free(gangs);
}

static void steps_in_one_block(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2];
        struct pw_program *step = trace_step(host->session, slices);
        struct pw_future *weights = it_put_scalar(host->session, 1);
        struct spans first, second;
        double expected = 1;
        int overlapping = 0;
        uint64_t peak;

        it_ok(pw_program_peak(step, &peak, IT_ERR));
        assert_in_range(peak, DEVICE_BYTES * 55 / 100, DEVICE_BYTES * 65 / 100);
        for (int i = 0; i < STEPS; i++) {
                it_ok(pw_run(step, PW_FUTURES(pw_donate(&weights)), &weights, IT_ERR));
                expected += 2;
        }
        it_until(host->session, "runs", two_under_way, NULL); /* gangs of both are ordered */
        assert_true(it_get_scalar(weights) == expected);
        spans_of(host->session, "h0:0", &first);
        spans_of(host->session, "h0:1", &second);
        for (int run = 1; run < STEPS; run++)
                overlapping += first.first[run + 1] < second.last_end[run];
        printf("%d of %d steps began on the first device before the last ended on the second\n", overlapping, STEPS - 1);
        assert_in_range(overlapping, STEPS / 2, STEPS);
        assert_in_range(it_look(host->session, "programs", "measured_peak"), 1, peak);
        pw_unref(weights);
        pw_program_free(step);
        for (int i = 0; i < 2; i++)
                pw_slice_close(slices[i]);
}

static int setup_small(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--islands", "1", "--host-memory", "256MiB", "--device-memory", "16MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(steps_in_one_block, setup_small, it_teardown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
