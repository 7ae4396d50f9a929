/* put_1k and put_64m: puts in the steady state, where room comes back from what was dropped. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "base/size.h"
#include "pathways.h"
#include "tests/bench/daemon.h"

#include <math.h>

#define SMALL_BYTES 1024u
#define SMALL_SOURCE (4 * PW_MIB)
#define LARGE_BYTES (64 * PW_MIB)
#define LARGE_PUTS 8u

/* Rooms of a machine that has no faults left to take: written before it is measured. */
static uint8_t *touched(uint64_t bytes)
{
        uint8_t *memory = aligned_alloc(4096, bytes);

        if (memory)
                memset(memory, 0x5a, bytes);
        return memory;
}

static enum pw_status put_once(struct pw_session *session, const void *data, uint64_t bytes, struct pw_error *ret_err)
{
        struct pw_future *future;
        enum pw_status status = pw_put(session, data, bytes, NULL, &future, ret_err);

        if (status == PW_OK)
                pw_unref(future);
        return status;
}

/* --- put_1k ------------------------------------------------------------------------------------------------------- */

static enum pw_status put_many(struct pw_session *session, const uint8_t *source, uint32_t count, double *ret_per_s,
                               struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < count && status == PW_OK; i++)
                status = put_once(session, source + (uint64_t)i * SMALL_BYTES % SMALL_SOURCE, SMALL_BYTES, ret_err);
        *ret_per_s = count / (pw_bench_seconds() - start);
        return status;
}

/* The floor: the copy alone, into memory as large as the source. */
static double copy_many(uint8_t *target, const uint8_t *source, uint32_t count)
{
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < count; i++) {
                uint64_t at = (uint64_t)i * SMALL_BYTES % SMALL_SOURCE;
                memcpy(target + at, source + at, SMALL_BYTES);
                __asm__ volatile("" ::: "memory");
        }
        return count / (pw_bench_seconds() - start);
}

static int compare(const void *a, const void *b)
{
        float x = *(const float *)a, y = *(const float *)b;

        return (x > y) - (x < y);
}

/* Microseconds under which 999 of 1,000 puts stay. */
static enum pw_status put_p999(struct pw_session *session, const uint8_t *source, uint32_t count, float *took, double *ret_us,
                               struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double last = pw_bench_seconds();

        for (uint32_t i = 0; i < count && status == PW_OK; i++) {
                status = put_once(session, source + (uint64_t)i * SMALL_BYTES % SMALL_SOURCE, SMALL_BYTES, ret_err);
                double now = pw_bench_seconds();
                took[i] = (float)((now - last) * 1e6);
                last = now;
        }
        qsort(took, count, sizeof *took, compare);
        *ret_us = took[(uint64_t)count * 999 / 1000];
        return status;
}

static enum pw_status put_syscalls(struct pw_session *session, const uint8_t *source, uint32_t count, struct pw_bench_row *row,
                                   struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                if (!pw_syscalls_begin()) {
                        row->remark = "the kernel has no syscall user dispatch";
                        return PW_OK;
                }
                for (uint32_t i = 0; i < count && status == PW_OK; i++) {
                        pw_syscalls_mark();
                        status = put_once(session, source + (uint64_t)i * SMALL_BYTES % SMALL_SOURCE, SMALL_BYTES, ret_err);
                }
                pw_bench_row_value(row, (double)pw_syscalls_end() / count);
        }
        return status;
}

struct small_puts {
        uint8_t *source, *target;
        float *took;
        uint32_t count;
        struct pw_bench_row *rate, *p999, *syscalls;
};

static enum pw_status measure_small(struct small_puts *puts, struct pw_session *session, struct pw_error *ret_err)
{
        double value;
        enum pw_status status = put_many(session, puts->source, puts->count, &value, ret_err); /* until room comes back */

        copy_many(puts->target, puts->source, puts->count);
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = put_many(session, puts->source, puts->count, &value, ret_err);
                pw_bench_row_value(puts->rate, value);
                pw_bench_row_floor(puts->rate, copy_many(puts->target, puts->source, puts->count));
                if (status == PW_OK)
                        status = put_p999(session, puts->source, puts->count, puts->took, &value, ret_err);
                pw_bench_row_value(puts->p999, value);
        }
        if (status == PW_OK)
                status = put_syscalls(session, puts->source, puts->count, puts->syscalls, ret_err);
        return status;
}

enum pw_status pw_bench_put_1k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_host host;
        struct small_puts puts = { .source = touched(SMALL_SOURCE), .target = touched(SMALL_SOURCE),
                                   .count = context->quick ? 50000 : 500000 };
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        puts.took = calloc(puts.count, sizeof *puts.took);
        puts.rate = pw_bench_row_add(context, "put_1k", "1/s", PW_BENCH_AT_LEAST, 3e6);
        puts.p999 = pw_bench_row_add(context, "put_1k_p999", "us", PW_BENCH_AT_MOST, 10);
        puts.syscalls = pw_bench_row_add(context, "put_1k_syscalls", "1/put", PW_BENCH_AT_MOST, 0.001);
        if (status == PW_OK && (!puts.source || !puts.target || !puts.took))
                status = pw_error_set(ret_err, PW_NO_MEMORY, "no memory to put from");
        if (status == PW_OK)
                status = measure_small(&puts, host.session, ret_err);
        pw_bench_host_stop(&host);
        free(puts.source);
        free(puts.target);
        free(puts.took);
        return status;
}

/* --- put_64m ------------------------------------------------------------------------------------------------------ */

static enum pw_status put_large(struct pw_session *session, const uint8_t *source, double *ret_gb_per_s, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < LARGE_PUTS && status == PW_OK; i++)
                status = put_once(session, source, LARGE_BYTES, ret_err);
        *ret_gb_per_s = (double)LARGE_PUTS * LARGE_BYTES / 1e9 / (pw_bench_seconds() - start);
        return status;
}

static double copy_large(uint8_t *target, const uint8_t *source)
{
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < LARGE_PUTS; i++) {
                memcpy(target, source, LARGE_BYTES);
                __asm__ volatile("" ::: "memory");
        }
        return (double)LARGE_PUTS * LARGE_BYTES / 1e9 / (pw_bench_seconds() - start);
}

static enum pw_status measure_large(struct pw_bench_row *row, struct pw_session *session, uint8_t *target, const uint8_t *source,
                                    struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double value;

        for (uint32_t warm = 0; warm < 3 && status == PW_OK; warm++) /* every room that will be taken was written once */
                status = put_large(session, source, &value, ret_err);
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = put_large(session, source, &value, ret_err);
                pw_bench_row_value(row, value);
                pw_bench_row_floor(row, copy_large(target, source));
        }
        return status;
}

enum pw_status pw_bench_put_64m(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_host host;
        struct pw_bench_row *row = pw_bench_row_add(context, "put_64m", "GB/s", PW_BENCH_RATIO_AT_LEAST, 0.9);
        uint8_t *source = touched(LARGE_BYTES), *target = touched(LARGE_BYTES);
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        if (status == PW_OK && (!source || !target))
                status = pw_error_set(ret_err, PW_NO_MEMORY, "no memory to put from");
        if (status == PW_OK)
                status = measure_large(row, host.session, target, source, ret_err);
        pw_bench_host_stop(&host);
        free(source);
        free(target);
        return status;
}
