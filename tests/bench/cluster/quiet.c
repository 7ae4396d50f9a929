/* redis_load and idle_link: what hosts cost that have little to say. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "libclient/session.h"
#include "tests/bench/cluster/small.h"

#include <math.h>

#define IDLE_S 4.0
#define WORK 1000000u /* puts and gets, and a tenth of it opens of another host's object */

struct rows { struct pw_bench_row *idle, *work, *link; };

/* What passes in some seconds without work: commands of Redis, wake-ups of host 0. */
static enum pw_status rest(const struct pw_bench_cluster *cluster, double seconds, double *ret_commands, double *ret_wakes,
                           struct pw_error *ret_err)
{
        uint64_t before = 0, after = 0, wakes = pw_bench_switches(cluster->hosts[0].pid);
        enum pw_status status = pw_bench_redis_commands(cluster, &before, ret_err);

        if (status == PW_OK) {
                pw_bench_pass(seconds);
                status = pw_bench_redis_commands(cluster, &after, ret_err);
        }
        *ret_commands = (double)(after - before) / seconds;
        *ret_wakes = (double)(pw_bench_switches(cluster->hosts[0].pid) - wakes) / seconds;
        return status;
}

static enum pw_status work(struct pw_session *const sessions[2], uint32_t count, struct pw_error *ret_err)
{
        uint8_t data[PW_BENCH_SMALL_BYTES] = { 1 };
        struct pw_future *future, *foreign;
        struct pw_view view;
        enum pw_status status = pw_put(sessions[0], data, sizeof data, NULL, &foreign, ret_err);

        if (status != PW_OK)
                return status;
        for (uint32_t i = 0; i < count && status == PW_OK; i++) {
                status = pw_put(sessions[1], data, sizeof data, NULL, &future, ret_err);
                if (status != PW_OK)
                        break;
                status = pw_get(future, 0, &view, ret_err);
                if (status == PW_OK)
                        pw_view_done(&view);
                pw_unref(future);
                if (status == PW_OK && i % 10 == 0)
                        status = pw_bench_small_get(sessions[1], pw_future_id(foreign), ret_err);
        }
        pw_unref(foreign);
        return status;
}

/* Commands for each thousand of what was done, beyond those of as long a time without work. */
static enum pw_status work_and_rest(const struct pw_bench_cluster *cluster, uint32_t count, struct pw_bench_row *row,
                                    struct pw_error *ret_err)
{
        struct pw_session *sessions[2] = { NULL, NULL };
        uint64_t before = 0, after = 0;
        double start, seconds, idle, wakes;
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < 2 && status == PW_OK; i++)
                status = pw_bench_cluster_connect(cluster, i, &sessions[i], ret_err);
        if (status == PW_OK)
                status = pw_bench_redis_commands(cluster, &before, ret_err);
        start = pw_bench_seconds();
        if (status == PW_OK)
                status = work(sessions, count, ret_err);
        seconds = pw_bench_seconds() - start;
        if (status == PW_OK)
                status = pw_bench_redis_commands(cluster, &after, ret_err);
        pw_close(sessions[0]);
        pw_close(sessions[1]);
        if (status == PW_OK)
                status = rest(cluster, seconds, &idle, &wakes, ret_err);
        if (status == PW_OK)
                pw_bench_row_value(row, fmax(0, (double)(after - before) - idle * seconds) * 1e3 / count);
        return status;
}

/* A host alone, then the same with a link to another one. */
static enum pw_status measure(struct pw_bench_cluster *cluster, const struct rows *rows, bool quick, struct pw_error *ret_err)
{
        const struct pw_bench_cluster_params more = { .hosts = 1 };
        double seconds = quick ? IDLE_S / 4 : IDLE_S, alone[PW_BENCH_REPEATS], commands, wakes;
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < PW_BENCH_REPEATS && status == PW_OK; i++)
                status = rest(cluster, seconds, &commands, &alone[i], ret_err);
        if (status == PW_OK)
                status = pw_bench_cluster_add(&more, cluster, ret_err);
        for (uint32_t i = 0; i < PW_BENCH_REPEATS && status == PW_OK; i++) {
                status = rest(cluster, seconds, &commands, &wakes, ret_err);
                if (status != PW_OK)
                        break;
                pw_bench_row_value(rows->idle, commands / cluster->count);
                pw_bench_row_value(rows->link, wakes - alone[i]);
        }
        for (uint32_t i = 0; i < PW_BENCH_REPEATS && status == PW_OK; i++)
                status = work_and_rest(cluster, quick ? WORK / 10 : WORK, rows->work, ret_err);
        return status;
}

enum pw_status pw_bench_redis_load(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct rows rows = { pw_bench_row_add(context, "redis_load", "per s", PW_BENCH_AT_MOST, 2),
                             pw_bench_row_add(context, "redis_work", "per 1k", PW_BENCH_AT_MOST, 0.01),
                             pw_bench_row_add(context, "idle_link", "wakes/s", PW_BENCH_AT_MOST, 5) };
        struct pw_bench_cluster_params params = { .hosts = 1 };
        struct pw_bench_cluster cluster;
        enum pw_status status;

        if (!pw_bench_cluster_possible(context))
                return PW_OK;
        status = pw_bench_cluster_start(&params, &cluster, ret_err);
        if (status == PW_OK)
                status = measure(&cluster, &rows, context->quick, ret_err);
        pw_bench_cluster_stop(&cluster);
        return status;
}
