/* chain, lone and gang8: how fast nodes, runs and gangs go. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"
#include "tests/bench/pair.h"

#include <stdatomic.h>

#define CHAIN_NODES 1000u
#define GANG_PAIRS 200u
#define RUNS_AHEAD 4u
#define LONE_AHEAD 500u /* between marks: at most twice as many are under way */

struct subject {
        struct pw_bench_host host;
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_future *input;
};

/* --- life --------------------------------------------------------------------------------------------------------- */

static enum pw_status put_zero(struct subject *subject, struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_SCALAR };
        float zero = 0;

        return pw_put(subject->host.session, &zero, sizeof zero, &params, ret_future, ret_err);
}

static enum pw_status subject_init(struct subject *subject, uint32_t devices, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = devices };
        struct pw_slice_params slice = { .device_count = devices };

        *subject = (struct subject){ 0 };
        enum pw_status status = pw_bench_host_start(&params, &subject->host, ret_err);
        if (status == PW_OK)
                status = pw_slice_open(subject->host.session, &slice, &subject->slice, ret_err);
        if (status == PW_OK)
                status = put_zero(subject, &subject->input, ret_err);
        if (status == PW_OK)
                subject->program = pw_program_new(subject->host.session, "bench/step");
        return status;
}

static void subject_done(struct subject *subject)
{
        pw_unref(subject->input);
        pw_program_free(subject->program);
        pw_slice_close(subject->slice);
        pw_bench_host_stop(&subject->host);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

static struct pw_value *scalar_input(struct subject *subject, unsigned flags)
{
        return pw_input(subject->program, subject->slice, PW_F32, PW_SCALAR, PW_BROADCAST, flags);
}

static enum pw_status trace_nops(struct subject *subject, uint32_t nodes, unsigned flags, struct pw_error *ret_err)
{
        struct pw_value *value = scalar_input(subject, flags);

        for (uint32_t i = 0; i < nodes; i++)
                value = pw_call(subject->program, subject->slice, "pw/nop", PW_ARGS(value), PW_BROADCAST);
        pw_result(subject->program, value);
        return pw_compile(subject->program, ret_err);
}

/* An add whose output is partial, so that the next one's argument is completed by an all-reduce; all of zeros. */
static enum pw_status trace_pairs(struct subject *subject, uint32_t pairs, struct pw_error *ret_err)
{
        struct pw_value *zero = scalar_input(subject, 0), *value = zero;

        for (uint32_t i = 0; i < pairs; i++)
                value = pw_call(subject->program, subject->slice, "pw/add", PW_ARGS(value, zero), PW_PARTIAL(PW_SUM));
        pw_result(subject->program, PW_AS(value, PW_BROADCAST));
        return pw_compile(subject->program, ret_err);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* The result has come, as a value. */
static enum pw_status finish(struct pw_future **future, struct pw_error *ret_err)
{
        struct pw_view view;
        enum pw_status status = *future ? pw_get_shard(*future, 0, 60000000, &view, ret_err) : PW_OK;

        if (*future && status == PW_OK)
                pw_view_done(&view);
        pw_unref(*future);
        *future = NULL;
        return status;
}

/* Runs on the same input, a few under way. */
static enum pw_status run_many(struct subject *subject, uint32_t runs, double *ret_seconds, struct pw_error *ret_err)
{
        struct pw_future *results[RUNS_AHEAD] = { 0 };
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t run = 0; run < runs + RUNS_AHEAD && status == PW_OK; run++) {
                struct pw_future **place = &results[run % RUNS_AHEAD];
                status = finish(place, ret_err);
                if (status == PW_OK && run < runs)
                        status = pw_run(subject->program, PW_FUTURES(subject->input), place, ret_err);
        }
        *ret_seconds = pw_bench_seconds() - start;
        for (uint32_t i = 0; i < RUNS_AHEAD; i++)
                pw_unref(results[i]);
        return status;
}

/* Each run on the last one's result, given away and not awaited. A mark keeps a reference to one result in LONE_AHEAD (that
 * run's successor works on a copy) and is awaited when the next is set. */
static enum pw_status run_chained(struct subject *subject, uint32_t runs, double *ret_seconds, struct pw_error *ret_err)
{
        struct pw_future *value = NULL, *mark = NULL;
        enum pw_status status = put_zero(subject, &value, ret_err);
        double start = pw_bench_seconds();

        for (uint32_t run = 0; run < runs && status == PW_OK; run++) {
                if (run % LONE_AHEAD == 0) {
                        status = finish(&mark, ret_err);
                        mark = pw_ref(value);
                }
                if (status == PW_OK)
                        status = pw_run(subject->program, PW_FUTURES(pw_donate(&value)), &value, ret_err);
        }
        if (status == PW_OK)
                status = finish(&value, ret_err);
        *ret_seconds = pw_bench_seconds() - start;
        pw_unref(mark);
        pw_unref(value);
        return status;
}

/* --- benches ------------------------------------------------------------------------------------------------------ */

struct station { _Alignas(64) _Atomic uint64_t order, done; };

static void touch(struct station *station, uint64_t seq)
{
        atomic_store(&station->done, seq);
}

/* The floor of a chain: in one process, per node a word stored, a call through a pointer, and a word stored. */
static double nodes_per_s_alone(uint32_t nodes)
{
        static struct station station;
        void (*volatile call)(struct station *, uint64_t) = touch;
        double start = pw_bench_seconds();

        for (uint64_t seq = 1; seq <= nodes; seq++) {
                atomic_store(&station.order, seq);
                call(&station, seq);
        }
        return nodes / (pw_bench_seconds() - start);
}

enum pw_status pw_bench_chain(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "chain", "nodes/s", PW_BENCH_AT_LEAST, 4e6);
        uint32_t runs = context->quick ? 10 : 100;
        struct subject subject;
        double seconds;
        enum pw_status status = subject_init(&subject, 1, ret_err);

        if (status == PW_OK)
                status = trace_nops(&subject, CHAIN_NODES, 0, ret_err);
        if (status == PW_OK)
                status = run_many(&subject, runs / 5, &seconds, ret_err);
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = run_many(&subject, runs, &seconds, ret_err);
                pw_bench_row_value(row, runs * CHAIN_NODES / seconds);
                pw_bench_row_floor(row, nodes_per_s_alone(runs * CHAIN_NODES));
        }
        subject_done(&subject);
        return status;
}

enum pw_status pw_bench_lone(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "lone", "runs/s", PW_BENCH_AT_LEAST, 1e6);
        uint32_t runs = context->quick ? 10000 : 100000;
        struct subject subject;
        double seconds, floor = 0;
        enum pw_status status = subject_init(&subject, 1, ret_err);

        if (status == PW_OK)
                status = trace_nops(&subject, 1, PW_DONATED, ret_err);
        if (status == PW_OK)
                status = run_chained(&subject, runs / 5, &seconds, ret_err);
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = run_chained(&subject, runs, &seconds, ret_err);
                pw_bench_row_value(row, runs / seconds);
                if (status == PW_OK)
                        status = pw_pair_rings(runs, 2 * LONE_AHEAD, &floor, ret_err);
                pw_bench_row_floor(row, floor);
        }
        subject_done(&subject);
        return status;
}

enum pw_status pw_bench_gang8(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "gang8", "pairs/s", PW_BENCH_AT_LEAST, 7e4);
        uint32_t runs = context->quick ? 5 : 50;
        struct subject subject;
        double seconds, floor = 0;
        enum pw_status status = subject_init(&subject, 8, ret_err);

        if (status == PW_OK)
                status = trace_pairs(&subject, GANG_PAIRS, ret_err);
        if (status == PW_OK)
                status = run_many(&subject, 2, &seconds, ret_err);
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = run_many(&subject, runs, &seconds, ret_err);
                pw_bench_row_value(row, runs * GANG_PAIRS / seconds);
                if (status == PW_OK)
                        status = pw_pair_reduce(8, runs * GANG_PAIRS, &floor, ret_err);
                pw_bench_row_floor(row, floor);
        }
        subject_done(&subject);
        return status;
}
