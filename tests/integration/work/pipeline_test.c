/* Runs that overlap: consecutive steps in one block, stages of a pipeline within their quotas.
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

        return pw_call_with(program, slice, "pw/fill", PW_NO_ARGS, PW_BROADCAST,
                            &(struct pw_call_params){ .params = &fill, .params_bytes = sizeof fill });
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
        assert_in_range(it_listed(host->session, "programs", "measured_peak"), 1, peak);
        pw_unref(weights);
        pw_program_free(step);
        for (int i = 0; i < 2; i++)
                pw_slice_close(slices[i]);
}

/* --- stages ------------------------------------------------------------------------------------------------------------- */

#define STAGES 4
#define MICROBATCHES 24
#define QUOTA 2
#define CALL_US 300 /* of the first stage; each takes longer than the one before, which without a quota would run ahead */

/* A device for each stage, every other one in the other island. */
static void open_stages(struct pw_session *session, struct pw_slice *slices[STAGES])
{
        for (int i = 0; i < STAGES; i++)
                it_ok(pw_slice_open(session, &(struct pw_slice_params){ .device_count = 1, .island = 1 + i % 2 }, &slices[i],
                                    IT_ERR));
}

static void close_stages(struct pw_slice *slices[STAGES])
{
        for (int i = 0; i < STAGES; i++)
                pw_slice_close(slices[i]);
}

static struct pw_value *through(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_stage *stage,
                                uint64_t us)
{

        return pw_call_with(program, slice, "pw/sleep_us", PW_ARGS(pw_move(value, slice, PW_BROADCAST)), PW_BROADCAST,
                            &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us, .stage = stage });
}

/* `count` microbatches, stage after stage: it is the quota that makes a pipeline of it. */
static struct pw_program *trace_pipeline(struct pw_session *session, struct pw_slice *slices[STAGES], int count)
{
        static const char *const names[STAGES] = { "first", "second", "third", "fourth" };
        struct pw_program *program = pw_program_new(session, "test/pipeline");
        struct pw_value *values[MICROBATCHES];

        for (int m = 0; m < count; m++)
                values[m] = pw_input(program, slices[0], PW_F64, PW_DIMS(100), PW_BROADCAST, 0);
        for (int s = 0; s < STAGES; s++) {
                struct pw_stage *stage = pw_stage(program, names[s], QUOTA);
                for (int m = 0; m < count; m++)
                        values[m] = through(program, slices[s], values[m], stage, CALL_US * (1 + s));
        }
        for (int m = 0; m < count; m++)
                pw_result(program, values[m]);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* When the gangs of a device ended whose node's name ends with `name`. Returns how many have. */
static int ended(struct pw_session *session, const char *device, const char *name, int64_t ret_ends[MICROBATCHES])
{
        struct pw_listing *gangs = it_list(session, "gangs", device);
        int count = 0;

        for (size_t i = 0; i < it_rows(gangs); i++) {
                const char *node = it_text(gangs, i, "node");
                if (strlen(node) < strlen(name) || strcmp(node + strlen(node) - strlen(name), name))
                        continue;
                if (strcmp(it_text(gangs, i, "state"), "done") != 0)
                        continue;
                assert_in_range(count, 0, MICROBATCHES - 1);
                ret_ends[count++] = it_number(gangs, i, "end_us");
        }
        pw_listing_free(gangs);
        return count;
}

/* A result is there before the device that made it has written down that its gang is done. */
static void ends_of(struct pw_session *session, const char *device, const char *name, int64_t ret_ends[MICROBATCHES])
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (ended(session, device, name, ret_ends) < MICROBATCHES)
                if (it_now_us() > limit_us)
                        fail_msg("%s: not all of its %d gangs of %s are done", device, MICROBATCHES, name);
}

/* A stage ended its call m only when the next one had what it made in call m - QUOTA; and the stages worked at the same time. */
static void expect_quotas(struct pw_session *session, const uint32_t devices[STAGES])
{
        int64_t calls[STAGES][MICROBATCHES], reads[MICROBATCHES];
        char device[16];

        for (int s = 0; s < STAGES; s++) {
                snprintf(device, sizeof device, "h0:%u", devices[s]);
                ends_of(session, device, "pw/sleep_us", calls[s]);
                if (!s)
                        continue;
                ends_of(session, device, "send-recv receive", reads);
                for (int m = QUOTA; m < MICROBATCHES; m++)
                        if (calls[s - 1][m] < reads[m - QUOTA])
                                fail_msg("stage %d, call %d ended %d us before its credit came", s - 1, m,
                                         (int)(reads[m - QUOTA] - calls[s - 1][m]));
        }
        assert_true(calls[0][MICROBATCHES - 1] > calls[STAGES - 1][0]);
}

static void microbatches_of_a_run(void **state)
{
        static const uint32_t devices[STAGES] = { 0, 4, 1, 5 };
        struct it_host *host = *state;
        struct pw_slice *slices[STAGES];
        struct pw_future *inputs[MICROBATCHES], *results[MICROBATCHES];
        struct pw_program *program;

        open_stages(host->session, slices);
        program = trace_pipeline(host->session, slices, MICROBATCHES);
        for (int m = 0; m < MICROBATCHES; m++)
                inputs[m] = it_put_f64(host->session, PW_DIMS(100), m);
        it_ok(pw_run_with(program, inputs, MICROBATCHES, NULL, results, IT_ERR));
        for (int m = 0; m < MICROBATCHES; m++) {
                assert_true(it_get_scalar(results[m]) == m);
                pw_unref(results[m]);
                pw_unref(inputs[m]);
        }
        expect_quotas(host->session, devices);
        pw_program_free(program);
        close_stages(slices);
}

static void runs_of_a_microbatch(void **state)
{
        static const uint32_t devices[STAGES] = { 0, 4, 1, 5 };
        struct it_host *host = *state;
        struct pw_slice *slices[STAGES];
        struct pw_future *results[MICROBATCHES];
        struct pw_program *program;
        struct pw_listing *programs;

        open_stages(host->session, slices);
        program = trace_pipeline(host->session, slices, 1);
        programs = it_list(host->session, "programs", "");
        assert_string_equal(it_text(programs, 0, "stages"), "first 2, second 2, third 2, fourth 2");
        pw_listing_free(programs);
        for (int m = 0; m < MICROBATCHES; m++) {
                struct pw_future *input = it_put_f64(host->session, PW_DIMS(100), m);
                it_ok(pw_run(program, PW_FUTURES(input), &results[m], IT_ERR));
                pw_unref(input);
        }
        for (int m = 0; m < MICROBATCHES; m++) {
                assert_true(it_get_scalar(results[m]) == m);
                pw_unref(results[m]);
        }
        expect_quotas(host->session, devices);
        pw_program_free(program);
        close_stages(slices);
}

static void quota_too_small(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[STAGES];
        struct pw_program *program = pw_program_new(host->session, "test/both");
        struct pw_stage *stage = pw_stage(program, "first", 1);
        struct pw_value *input, *one, *two;

        open_stages(host->session, slices);
        input = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        one = through(program, slices[0], input, stage, CALL_US);
        two = through(program, slices[0], input, stage, CALL_US);
        pw_result(program, pw_call(program, slices[0], "pw/add", PW_ARGS(one, two), PW_BROADCAST));
        it_fails(pw_compile(program, IT_ERR), PW_BAD_PROGRAM, "call 1, pw/sleep_us|stage first|quota is 1");
        pw_program_free(program);
        program = pw_program_new(host->session, "test/zero");
        pw_stage(program, "none", 0);
        it_fails(pw_compile(program, IT_ERR), PW_INVALID, "stage none|quota of 0");
        pw_program_free(program);
        close_stages(slices);
}

static int setup_small(void **state)
{
        return it_setup_with(
                state, IT_ARGS("--devices", "emulated:2", "--islands", "1", "--host-memory", "256MiB", "--device-memory", "16MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(steps_in_one_block, setup_small, it_teardown),
                IT_TEST(microbatches_of_a_run),
                IT_TEST(runs_of_a_microbatch),
                IT_TEST(quota_too_small),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
