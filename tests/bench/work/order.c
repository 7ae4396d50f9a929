/* order: processor time of the daemon per gang while 1,000 runs are queued.
 *
 * All that the daemon does for them is counted: reading the submissions, admitting, preparing and ordering, taking note of what is
 * done, making results ready, and looking whether there is something to do while the device works.
 */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"

#include <errno.h>
#include <time.h>

#define RUNS 1000u
#define NODES 100u
#define HOLD_US UINT64_C(200000)

struct subject {
        struct pw_bench_host host;
        struct pw_slice *slice;
        struct pw_program *chain, *hold; /* hold: the device has to do while runs queue */
        struct pw_future *input;
};

static struct pw_value *input_of(struct subject *subject, struct pw_program *program)
{
        return pw_input(program, subject->slice, PW_F32, PW_SCALAR, PW_BROADCAST, 0);
}

static enum pw_status trace(struct subject *subject, uint32_t nodes, struct pw_error *ret_err)
{
        struct pw_program *chain = subject->chain = pw_program_new(subject->host.session, "bench/chain");
        struct pw_program *hold = subject->hold = pw_program_new(subject->host.session, "bench/hold");
        struct pw_value *value = input_of(subject, chain);
        uint64_t us = HOLD_US;

        for (uint32_t i = 0; i < nodes; i++)
                value = pw_call(chain, subject->slice, "pw/nop", PW_ARGS(value), PW_BROADCAST);
        pw_result(chain, value);
        pw_result(hold, pw_call_with(hold, subject->slice, "pw/sleep_us", PW_ARGS(input_of(subject, hold)), PW_BROADCAST,
                                     &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us }));
        enum pw_status status = pw_compile(chain, ret_err);
        return status == PW_OK ? pw_compile(hold, ret_err) : status;
}

static enum pw_status subject_init(struct subject *subject, uint32_t nodes, struct pw_error *ret_err)
{
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_SCALAR };
        float zero = 0;
        enum pw_status status;

        *subject = (struct subject){ 0 };
        status = pw_bench_host_start(&(struct pw_bench_daemon_params){ .devices = 1 }, &subject->host, ret_err);
        if (status == PW_OK)
                status = pw_slice_open(subject->host.session, &(struct pw_slice_params){ .device_count = 1 }, &subject->slice,
                                       ret_err);
        if (status == PW_OK)
                status = pw_put(subject->host.session, &zero, sizeof zero, &params, &subject->input, ret_err);
        return status == PW_OK ? trace(subject, nodes, ret_err) : status;
}

static void subject_done(struct subject *subject)
{
        pw_unref(subject->input);
        pw_program_free(subject->chain);
        pw_program_free(subject->hold);
        pw_slice_close(subject->slice);
        pw_bench_host_stop(&subject->host);
}

/* Of all threads of a process. */
static enum pw_status processor_seconds(pid_t pid, double *ret_seconds, struct pw_error *ret_err)
{
        struct timespec used;
        clockid_t clock;
        int number = clock_getcpuclockid(pid, &clock);

        if (!number && clock_gettime(clock, &used) < 0)
                number = errno;
        if (number)
                return pw_error_errno(ret_err, number, "processor time of the daemon");
        *ret_seconds = (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
        return PW_OK;
}

/* Runs queue behind the held device, then all of them are awaited. */
static enum pw_status run_all(struct subject *subject, struct pw_future *futures[RUNS + 1], struct pw_error *ret_err)
{
        enum pw_status status = pw_run(subject->hold, PW_FUTURES(subject->input), &futures[RUNS], ret_err);

        for (uint32_t i = 0; i < RUNS && status == PW_OK; i++)
                status = pw_run(subject->chain, PW_FUTURES(subject->input), &futures[i], ret_err);
        if (status == PW_OK)
                status = pw_wait(futures, RUNS, RUNS, 60000000, NULL, ret_err);
        for (uint32_t i = 0; i < RUNS && status == PW_OK; i++)
                if (pw_poll(futures[i]) != PW_OK)
                        status = pw_error_set(ret_err, pw_poll(futures[i]), "run %u failed", i);
        return status;
}

static enum pw_status repeat(struct subject *subject, uint32_t nodes, double *ret_us, struct pw_error *ret_err)
{
        struct pw_future *futures[RUNS + 1] = { 0 };
        double before = 0, after = 0;
        enum pw_status status = processor_seconds(subject->host.daemon.pid, &before, ret_err);

        if (status == PW_OK)
                status = run_all(subject, futures, ret_err);
        if (status == PW_OK)
                status = processor_seconds(subject->host.daemon.pid, &after, ret_err);
        for (uint32_t i = 0; i <= RUNS; i++)
                pw_unref(futures[i]);
        *ret_us = (after - before) * 1e6 / ((double)RUNS * nodes);
        return status;
}

enum pw_status pw_bench_order(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "order", "us", PW_BENCH_AT_MOST, 0.2);
        uint32_t nodes = context->quick ? NODES / 10 : NODES;
        struct subject subject;
        double us;
        enum pw_status status = subject_init(&subject, nodes, ret_err);

        if (status == PW_OK)
                status = repeat(&subject, nodes, &us, ret_err);
        for (uint32_t i = 0; i < PW_BENCH_REPEATS && status == PW_OK; i++) {
                status = repeat(&subject, nodes, &us, ret_err);
                pw_bench_row_value(row, us);
        }
        subject_done(&subject);
        return status;
}
