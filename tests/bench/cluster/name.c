/* lookup: a name that was bound on another host, and one that was bound on this one. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "libclient/session.h"
#include "tests/bench/cluster/floors.h"
#include "tests/bench/cluster/hosts.h"

#include <stdio.h>

#define NAMES 1000u

struct scene {
        struct pw_bench_cluster cluster;
        struct pw_session *home, *session; /* with host 0, which the names are of; with host 1 */
        uint32_t count;
};

static enum pw_status name_all(const struct scene *scene, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < scene->count && status == PW_OK; i++) {
                struct pw_future *future;
                char name[24];

                snprintf(name, sizeof name, "bench/%u", i);
                status = pw_put(scene->home, &i, sizeof i, NULL, &future, ret_err);
                if (status != PW_OK)
                        return status;
                status = pw_name(future, name, ret_err);
                pw_unref(future);
        }
        return status;
}

static enum pw_status look_up_all(const struct scene *scene, struct pw_session *session, double *ret_us, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < scene->count && status == PW_OK; i++) {
                struct pw_future *future;
                char name[24];

                snprintf(name, sizeof name, "bench/%u", i);
                status = pw_lookup(session, name, 0, &future, ret_err);
                if (status == PW_OK)
                        pw_unref(future);
        }
        *ret_us = (pw_bench_seconds() - start) * 1e6 / scene->count;
        return status == PW_OK ? pw_session_fence(session, ret_err) : status;
}

static enum pw_status measure(const struct scene *scene, struct pw_bench_row *foreign, struct pw_bench_row *known,
                              struct pw_error *ret_err)
{
        double foreign_us = 0, known_us = 0, redis_us = 0, loops_us = 0;
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = look_up_all(scene, scene->session, &foreign_us, ret_err);
                if (status == PW_OK)
                        status = look_up_all(scene, scene->home, &known_us, ret_err);
                if (status == PW_OK)
                        status = pw_bench_redis_trip(&scene->cluster, scene->count, &redis_us, ret_err);
                if (status == PW_OK)
                        status = pw_bench_loops_trip(scene->count, &loops_us, ret_err);
                if (status != PW_OK || !repeat)
                        continue;
                pw_bench_row_value(foreign, foreign_us);
                pw_bench_row_floor(foreign, redis_us + loops_us);
                pw_bench_row_value(known, known_us);
        }
        return status;
}

enum pw_status pw_bench_lookup(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *foreign = pw_bench_row_add(context, "lookup", "us", PW_BENCH_RATIO_AT_MOST, 1.3);
        struct pw_bench_row *known = pw_bench_row_add(context, "lookup_known", "us", PW_BENCH_AT_MOST, 1);
        struct pw_bench_cluster_params params = { .hosts = 2 };
        struct scene scene = { .count = context->quick ? NAMES / 10 : NAMES };
        enum pw_status status;

        if (!pw_bench_cluster_possible(context))
                return PW_OK;
        status = pw_bench_cluster_start(&params, &scene.cluster, ret_err);
        if (status == PW_OK)
                status = pw_bench_cluster_connect(&scene.cluster, 0, &scene.home, ret_err);
        if (status == PW_OK)
                status = pw_bench_cluster_connect(&scene.cluster, 1, &scene.session, ret_err);
        if (status == PW_OK)
                status = name_all(&scene, ret_err);
        if (status == PW_OK)
                status = measure(&scene, foreign, known, ret_err);
        pw_close(scene.home);
        pw_close(scene.session);
        pw_bench_cluster_stop(&scene.cluster);
        return status;
}
