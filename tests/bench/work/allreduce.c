/* allreduce_64m: a sum of 64 MiB over 2 devices, beside the copies that it needs and beside Open MPI.
 *
 * Each run is given the last one's sum, calls it partial in the room where it lies, and sums it. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"
#include "tests/bench/pair.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define ELEMENTS (UINT64_C(16) << 20)
#define RANKS 2u
#define RUNS 5u /* of each repeat */

struct subject {
        struct pw_bench_host host;
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_future *value; /* the last sum, on each device */
        uint64_t elements;
        float each;              /* of its elements */
};

/* --- the work ---------------------------------------------------------------------------------------------------------- */

static enum pw_status make_ones(struct subject *subject, struct pw_error *ret_err)
{
        struct { double value; uint64_t dtype, rank, dim[1]; } fill = { 1, PW_F32, 1, { subject->elements } };
        struct pw_program *program = pw_program_new(subject->host.session, "bench/ones");

        pw_result(program, pw_call_with(program, subject->slice, "pw/fill", NULL, 0, PW_BROADCAST,
                                        &(struct pw_call_params){ .params = &fill, .params_bytes = sizeof fill }));
        enum pw_status status = pw_compile(program, ret_err);
        if (status == PW_OK)
                status = pw_run_with(program, NULL, 0, NULL, &subject->value, ret_err);
        pw_program_free(program);
        return status;
}

static enum pw_status subject_init(struct subject *subject, uint64_t elements, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = RANKS, .device_memory = "400MiB" };
        enum pw_status status;

        *subject = (struct subject){ .elements = elements, .each = 1 };
        status = pw_bench_host_start(&params, &subject->host, ret_err);
        if (status == PW_OK)
                status = pw_slice_open(subject->host.session, &(struct pw_slice_params){ .device_count = RANKS }, &subject->slice,
                                       ret_err);
        if (status == PW_OK)
                status = make_ones(subject, ret_err);
        if (status != PW_OK)
                return status;
        subject->program = pw_program_new(subject->host.session, "bench/allreduce");
        struct pw_value *value = pw_input(subject->program, subject->slice, PW_F32, PW_DIMS(elements), PW_BROADCAST, PW_DONATED);
        value = pw_call(subject->program, subject->slice, "pw/nop", PW_ARGS(value), PW_PARTIAL(PW_SUM));
        pw_result(subject->program, PW_AS(value, PW_BROADCAST));
        return pw_compile(subject->program, ret_err);
}

static void subject_done(struct subject *subject)
{
        pw_unref(subject->value);
        pw_program_free(subject->program);
        pw_slice_close(subject->slice);
        pw_bench_host_stop(&subject->host);
}

static enum pw_status check(const struct subject *subject, struct pw_error *ret_err)
{
        struct pw_view view;
        enum pw_status status = pw_get_shard(subject->value, RANKS - 1, 60000000, &view, ret_err);

        if (status != PW_OK)
                return status;
        const float *values = view.data;
        for (uint64_t i = 0; i < subject->elements && status == PW_OK; i += 4099)
                if (values[i] != subject->each) /* powers of two */
                        status = pw_error_set(ret_err, PW_FAILED, "element %llu of the sum is %g", (unsigned long long)i,
                                              (double)values[i]);
        pw_view_done(&view);
        return status;
}

/* From the submission until both devices have the sum. */
static enum pw_status reduce(struct subject *subject, double *ret_ms, struct pw_error *ret_err)
{
        double start = pw_bench_seconds();
        enum pw_status status = pw_run(subject->program, PW_FUTURES(pw_donate(&subject->value)), &subject->value, ret_err);

        if (status == PW_OK)
                status = pw_wait(&subject->value, 1, 1, 60000000, NULL, ret_err);
        *ret_ms = (pw_bench_seconds() - start) * 1e3;
        subject->each *= RANKS;
        return status == PW_OK ? check(subject, ret_err) : status;
}

static enum pw_status reduce_many(struct subject *subject, double *ret_ms, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double ms, sum = 0;

        for (uint32_t i = 0; i < RUNS && status == PW_OK; i++, sum += ms)
                status = reduce(subject, &ms, ret_err);
        *ret_ms = sum / RUNS;
        return status;
}

/* --- floors ------------------------------------------------------------------------------------------------------------ */

/* The mean of as many all-reduces by two ranks of Open MPI. NaN: there is none here. */
static double mpi_ms(uint64_t elements)
{
        char build[PATH_MAX], command[PATH_MAX + 200];
        double ms = NAN;
        struct pw_error err;

        if (pw_bench_build_folder(build, &err) != PW_OK)
                return NAN;
        snprintf(command, sizeof command, "%s/tests/bench/work/allreduce_mpi", build);
        if (access(command, X_OK) < 0)
                return NAN;
        snprintf(command, sizeof command,
                 "mpirun --allow-run-as-root --oversubscribe -n %u %s/tests/bench/work/allreduce_mpi %llu %u 2>/dev/null",
                 RANKS, build, (unsigned long long)elements, RUNS);
        FILE *from = popen(command, "re");
        if (!from)
                return NAN;
        if (fscanf(from, "%lf", &ms) != 1)
                ms = NAN;
        pclose(from);
        return ms;
}

static enum pw_status repeat(struct subject *subject, struct pw_bench_row *row, struct pw_bench_row *beside_mpi,
                             struct pw_error *ret_err)
{
        double ms, floor;
        enum pw_status status = reduce_many(subject, &ms, ret_err);

        if (status == PW_OK)
                status = pw_pair_copies(subject->elements * sizeof(float), RUNS, &floor, ret_err);
        if (status != PW_OK)
                return status;
        pw_bench_row_value(row, ms);
        pw_bench_row_floor(row, floor * 1e3);
        floor = mpi_ms(subject->elements);
        if (floor > 0) {
                pw_bench_row_value(beside_mpi, ms);
                pw_bench_row_floor(beside_mpi, floor);
        }
        return status;
}

enum pw_status pw_bench_allreduce(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "allreduce_64m", "ms", PW_BENCH_RATIO_AT_MOST, 1.5);
        struct pw_bench_row *beside_mpi = pw_bench_row_add(context, "allreduce_mpi", "ms", PW_BENCH_RATIO_AT_MOST, 0.67);
        struct subject subject;
        double ms;
        enum pw_status status = subject_init(&subject, context->quick ? ELEMENTS / 10 : ELEMENTS, ret_err);

        beside_mpi->remark = "there is no mpirun, or configure found no mpicc";
        if (status == PW_OK)
                status = reduce_many(&subject, &ms, ret_err);
        for (uint32_t i = 0; i < PW_BENCH_REPEATS && status == PW_OK; i++)
                status = repeat(&subject, row, beside_mpi, ret_err);
        subject_done(&subject);
        return status;
}
