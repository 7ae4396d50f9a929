/* objects_1m: what a million live objects take in all processes, besides their data. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"
#include "tests/bench/memory.h"

/* Of the daemon, of this client, and what they share. */
static uint64_t all_bytes(const struct pw_bench_host *host)
{
        return pw_bench_shared_bytes(host->daemon.pid) + pw_bench_private_bytes(host->daemon.pid) +
                pw_bench_private_bytes(getpid());
}

static enum pw_status measure(const struct pw_bench_host *host, struct pw_future **futures, uint32_t count, uint32_t bytes,
                              double *ret_bytes, struct pw_error *ret_err)
{
        uint8_t data[1024] = { 1 };
        uint64_t before = all_bytes(host);
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < count && status == PW_OK; i++)
                status = pw_put(host->session, data, bytes, NULL, &futures[i], ret_err);
        *ret_bytes = ((double)all_bytes(host) - (double)before) / count - bytes;
        return status;
}

/* Each repeat has a daemon of its own: what was used before would not be counted. */
static enum pw_status objects(struct pw_bench_context *context, const char *name, uint32_t bytes, uint32_t repeats,
                              struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1, .host_memory = "3GiB" };
        struct pw_bench_row *row = pw_bench_row_add(context, name, "B", PW_BENCH_AT_MOST, 192);
        uint32_t count = context->quick ? 100000 : 1000000;
        pw_auto_free struct pw_future **futures = malloc(count * sizeof *futures);
        enum pw_status status = futures ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u futures", count);

        if (futures)
                memset(futures, 1, count * sizeof *futures);
        for (uint32_t i = 0; i < repeats && status == PW_OK; i++) {
                struct pw_bench_host host;
                double value = 0;

                status = pw_bench_host_start(&params, &host, ret_err);
                if (status == PW_OK)
                        status = measure(&host, futures, count, bytes, &value, ret_err);
                pw_bench_row_value(row, value);
                for (uint32_t k = 0; k < count && status == PW_OK; k++)
                        pw_unref(futures[k]);
                pw_bench_host_stop(&host);
        }
        return status;
}

enum pw_status pw_bench_objects(struct pw_bench_context *context, struct pw_error *ret_err)
{
        enum pw_status status = objects(context, "objects_1m_16b", 16, 2, ret_err);

        return status == PW_OK ? objects(context, "objects_1m_1k", 1024, 2, ret_err) : status;
}
