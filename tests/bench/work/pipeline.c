/* pipeline: 4 stages on 4 devices, dispatched in parallel and node after node. */
#include "tests/bench/bench.h"

#include "pathways.h"
#include "tests/bench/daemon.h"

#define STAGES 4u
#define MICROBATCHES 64u
#define CALL_US UINT64_C(100)
#define QUOTA 2u

struct subject {
        struct pw_bench_host host;
        struct pw_slice *slices[STAGES];
        struct pw_program *pipeline, *alone; /* alone: one call */
        struct pw_future *input;
};

static struct pw_value *sleep_in(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_stage *stage)
{
        uint64_t us = CALL_US;

        return pw_call_with(program, slice, "pw/sleep_us", PW_ARGS(value), PW_BROADCAST,
                            &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us, .stage = stage });
}

/* One input goes in as every microbatch; the results of the last stage are the program's. */
static enum pw_status trace_pipeline(struct subject *subject, struct pw_error *ret_err)
{
        struct pw_program *program = subject->pipeline = pw_program_new(subject->host.session, "bench/pipeline");
        struct pw_value *input = pw_input(program, subject->slices[0], PW_F32, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_stage *stages[STAGES];

        for (uint32_t s = 0; s < STAGES; s++)
                stages[s] = pw_stage(program, "stage", QUOTA);
        for (uint32_t m = 0; m < MICROBATCHES; m++) {
                struct pw_value *value = input;
                for (uint32_t s = 0; s < STAGES; s++)
                        value = sleep_in(program, subject->slices[s], s ? pw_move(value, subject->slices[s], PW_BROADCAST) : value,
                                         stages[s]);
                pw_result(program, value);
        }
        return pw_compile(program, ret_err);
}

/* As many calls as the ideal has, one after the other on one device. */
static enum pw_status trace_alone(struct subject *subject, struct pw_error *ret_err)
{
        struct pw_program *program = subject->alone = pw_program_new(subject->host.session, "bench/alone");
        struct pw_value *value = pw_input(program, subject->slices[0], PW_F32, PW_SCALAR, PW_BROADCAST, 0);

        for (uint32_t i = 0; i < MICROBATCHES + STAGES - 1; i++)
                value = sleep_in(program, subject->slices[0], value, NULL);
        pw_result(program, value);
        return pw_compile(program, ret_err);
}

static enum pw_status subject_init(struct subject *subject, struct pw_error *ret_err)
{
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_SCALAR };
        float zero = 0;
        enum pw_status status;

        *subject = (struct subject){ 0 };
        status = pw_bench_host_start(&(struct pw_bench_daemon_params){ .devices = STAGES }, &subject->host, ret_err);
        for (uint32_t s = 0; s < STAGES && status == PW_OK; s++)
                status = pw_slice_open(subject->host.session, &(struct pw_slice_params){ .device_count = 1 }, &subject->slices[s],
                                       ret_err);
        if (status == PW_OK)
                status = pw_put(subject->host.session, &zero, sizeof zero, &params, &subject->input, ret_err);
        if (status == PW_OK)
                status = trace_pipeline(subject, ret_err);
        return status == PW_OK ? trace_alone(subject, ret_err) : status;
}

static void subject_done(struct subject *subject)
{
        pw_unref(subject->input);
        pw_program_free(subject->pipeline);
        pw_program_free(subject->alone);
        for (uint32_t s = 0; s < STAGES; s++)
                pw_slice_close(subject->slices[s]);
        pw_bench_host_stop(&subject->host);
}

/* From the submission until all results are there. */
static enum pw_status time_run(struct subject *subject, struct pw_program *program, bool sequential, double *ret_seconds,
                               struct pw_error *ret_err)
{
        struct pw_future *results[MICROBATCHES] = { 0 };
        uint32_t count = pw_program_result_count(program);
        struct pw_run_params params = { .sequential = sequential };
        double start = pw_bench_seconds();
        enum pw_status status = pw_run_with(program, PW_FUTURES(subject->input), &params, results, ret_err);

        if (status == PW_OK)
                status = pw_wait(results, count, count, 60000000, NULL, ret_err);
        *ret_seconds = pw_bench_seconds() - start;
        for (uint32_t i = 0; i < count; i++) {
                if (status == PW_OK && pw_poll(results[i]) != PW_OK)
                        status = pw_error_set(ret_err, pw_poll(results[i]), "microbatch %u failed", i);
                pw_unref(results[i]);
        }
        return status;
}

static enum pw_status repeat(struct subject *subject, struct pw_bench_row *parallel, struct pw_bench_row *sequential,
                             struct pw_error *ret_err)
{
        double seconds[3] = { 0 };
        enum pw_status status = time_run(subject, subject->alone, false, &seconds[0], ret_err);

        if (status == PW_OK)
                status = time_run(subject, subject->pipeline, false, &seconds[1], ret_err);
        if (status == PW_OK)
                status = time_run(subject, subject->pipeline, true, &seconds[2], ret_err);
        for (uint32_t i = 1; i < 3 && status == PW_OK; i++) {
                pw_bench_row_value(i == 1 ? parallel : sequential, MICROBATCHES / seconds[i]);
                pw_bench_row_floor(i == 1 ? parallel : sequential, MICROBATCHES / seconds[0]);
        }
        return status;
}

/* The ideal is the time of as many calls, one after the other on one device, as a microbatch waits for and is one of. */
enum pw_status pw_bench_pipeline(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *parallel = pw_bench_row_add(context, "pipeline", "batches/s", PW_BENCH_RATIO_AT_LEAST, 0.85);
        struct pw_bench_row *sequential = pw_bench_row_add(context, "pipeline_seq", "batches/s", PW_BENCH_RATIO_AT_LEAST, 0.15);
        struct subject subject;
        double seconds;
        enum pw_status status = subject_init(&subject, ret_err);

        if (status == PW_OK)
                status = time_run(&subject, subject.pipeline, false, &seconds, ret_err);
        for (uint32_t i = 0; i < PW_BENCH_REPEATS && status == PW_OK; i++)
                status = repeat(&subject, parallel, sequential, ret_err);
        subject_done(&subject);
        return status;
}
