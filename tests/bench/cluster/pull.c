/* pull_1g and pull_1g_tls: a large object from another daemon. spread_256m: one that four other daemons pull at once. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "libclient/session.h"
#include "tests/bench/cluster/floors.h"
#include "tests/bench/cluster/hosts.h"
#include "tests/bench/memory.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define STREAMS 2u /* as daemon/peer/pull/pulling.c */
#define LARGE (1ul << 30)
#define SPREAD (256ul << 20)
#define PULLERS (PW_BENCH_HOSTS_MAX - 1)
#define WAIT_US 60000000

/* Host 0 has the object, the others pull it. */
struct scene {
        struct pw_bench_cluster cluster;
        struct pw_session *sessions[PW_BENCH_HOSTS_MAX];
        struct pw_future *object;
        uint64_t bytes;
};

static enum pw_status put_it(struct scene *scene, struct pw_error *ret_err)
{
        void *room;
        enum pw_status status = pw_create(scene->sessions[0], scene->bytes, NULL, &scene->object, &room, ret_err);

        if (status != PW_OK)
                return status;
        memset(room, 1, scene->bytes);
        return pw_seal(scene->object, ret_err);
}

static enum pw_status scene_open(struct scene *scene, const struct pw_bench_cluster_params *params, uint64_t bytes,
                                 struct pw_error *ret_err)
{
        enum pw_status status = pw_bench_cluster_start(params, &scene->cluster, ret_err);

        scene->bytes = bytes;
        for (uint32_t i = 0; i < params->hosts && status == PW_OK; i++)
                status = pw_bench_cluster_connect(&scene->cluster, i, &scene->sessions[i], ret_err);
        return status == PW_OK ? put_it(scene, ret_err) : status;
}

static void scene_close(struct scene *scene)
{
        pw_unref(scene->object);
        for (uint32_t i = 0; i < PW_BENCH_HOSTS_MAX; i++)
                pw_close(scene->sessions[i]);
        pw_bench_cluster_stop(&scene->cluster);
}

/* What host `i` had of it is free again: the next pull finds room that was used before. */
static enum pw_status await_free(const struct scene *scene, uint32_t i, struct pw_error *ret_err)
{
        uint64_t used;
        enum pw_status status = pw_session_fence(scene->sessions[i], ret_err);

        while (status == PW_OK && (status = pw_bench_used(scene->sessions[i], &used, ret_err)) == PW_OK &&
               used >= scene->bytes)
                sched_yield();
        return status;
}

/* Seconds of an open and a get by host `i`. */
static enum pw_status pull(const struct scene *scene, uint32_t i, double *ret_seconds, struct pw_error *ret_err)
{
        double start = pw_bench_seconds();
        struct pw_future *future;
        struct pw_view view;
        enum pw_status status = pw_open(scene->sessions[i], pw_future_id(scene->object), &future, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_get(future, WAIT_US, &view, ret_err);
        *ret_seconds = pw_bench_seconds() - start;
        if (status == PW_OK && (view.bytes != scene->bytes || ((const uint8_t *)view.data)[view.bytes - 1] != 1))
                status = pw_error_set(ret_err, PW_FAILED, "the object holds other bytes");
        if (status == PW_OK)
                pw_view_done(&view);
        pw_unref(future);
        return status;
}

/* --- one puller --------------------------------------------------------------------------------------------------------------- */

static enum pw_status measure_one(const struct scene *scene, bool tls, struct pw_bench_row *row, struct pw_error *ret_err)
{
        struct pw_bench_streams streams = { scene->bytes, STREAMS, tls ? scene->cluster.folder : NULL };
        struct pw_bench_rooms rooms;
        double seconds, floor;
        enum pw_status status = pw_bench_rooms_make(scene->bytes, &rooms, ret_err);

        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = pull(scene, 1, &seconds, ret_err);
                if (status == PW_OK)
                        status = await_free(scene, 1, ret_err);
                if (status == PW_OK)
                        status = pw_bench_streams_move(&streams, &rooms, &floor, ret_err);
                if (status != PW_OK || !repeat) /* the first one finds room that nobody has touched */
                        continue;
                pw_bench_row_value(row, (double)scene->bytes / seconds);
                pw_bench_row_floor(row, (double)scene->bytes / floor);
        }
        pw_bench_rooms_done(&rooms);
        return status;
}

static enum pw_status bench_one(struct pw_bench_context *context, bool tls, struct pw_bench_row *row, struct pw_error *ret_err)
{
        struct pw_bench_cluster_params params = { .hosts = 2, .tls = tls, .host_memory = "1536MiB" };
        struct scene scene = { 0 };
        enum pw_status status;

        if (!pw_bench_cluster_possible(context))
                return PW_OK;
        status = scene_open(&scene, &params, context->quick ? LARGE / 10 : LARGE, ret_err);
        if (status == PW_OK)
                status = measure_one(&scene, tls, row, ret_err);
        scene_close(&scene);
        return status;
}

enum pw_status pw_bench_pull_1g(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "pull_1g", "B/s", PW_BENCH_RATIO_AT_LEAST, 0.90);

        return bench_one(context, false, row, ret_err);
}

enum pw_status pw_bench_pull_1g_tls(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "pull_1g_tls", "B/s", PW_BENCH_RATIO_AT_LEAST, 0.85);

        return bench_one(context, true, row, ret_err);
}

/* --- four pullers ------------------------------------------------------------------------------------------------------------- */

struct puller {
        const struct scene *scene;
        uint32_t host;
        pthread_t thread;
        enum pw_status status;
        double seconds;
        struct pw_error err;
};

static void *pull_in_thread(void *context)
{
        struct puller *puller = context;

        puller->status = pull(puller->scene, puller->host, &puller->seconds, &puller->err);
        return NULL;
}

static enum pw_status pull_by_all(const struct scene *scene, double *ret_seconds, struct pw_error *ret_err)
{
        struct puller pullers[PULLERS];
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();
        uint32_t started = 0;

        for (; started < PULLERS && status == PW_OK; started += status == PW_OK) {
                pullers[started] = (struct puller){ .scene = scene, .host = started + 1 };
                if (pthread_create(&pullers[started].thread, NULL, pull_in_thread, &pullers[started]))
                        status = pw_error_set(ret_err, PW_SYSTEM, "no thread for a bench");
        }
        for (uint32_t i = 0; i < started; i++) {
                pthread_join(pullers[i].thread, NULL);
                if (status == PW_OK && pullers[i].status != PW_OK)
                        status = pw_error_set(ret_err, pullers[i].status, "%s", pullers[i].err.text);
        }
        *ret_seconds = pw_bench_seconds() - start;
        for (uint32_t i = 0; i < PULLERS && status == PW_OK; i++)
                status = await_free(scene, i + 1, ret_err);
        return status;
}

/* Processor time of the two hosts and of this process for a single pull. */
static double spent(const struct scene *scene)
{
        return pw_bench_host_cpu_seconds(&scene->cluster, 0) + pw_bench_host_cpu_seconds(&scene->cluster, 1) +
                pw_bench_own_seconds();
}

static enum pw_status measure_spread(const struct scene *scene, struct pw_bench_row *row, struct pw_error *ret_err)
{
        double seconds, single, floor, processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = pull_by_all(scene, &seconds, ret_err);
                floor = spent(scene);
                if (status == PW_OK)
                        status = pull(scene, 1, &single, ret_err);
                floor = (spent(scene) - floor) * PULLERS / processors;
                if (status == PW_OK)
                        status = await_free(scene, 1, ret_err);
                if (status != PW_OK || !repeat)
                        continue;
                pw_bench_row_value(row, seconds * 1e3);
                pw_bench_row_floor(row, floor * 1e3);
        }
        return status;
}

enum pw_status pw_bench_spread_256m(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "spread_256m", "ms", PW_BENCH_RATIO_AT_MOST, 1.5);
        struct pw_bench_cluster_params params = { .hosts = PW_BENCH_HOSTS_MAX, .host_memory = "512MiB" };
        struct scene scene = { 0 };
        enum pw_status status;

        if (!pw_bench_cluster_possible(context))
                return PW_OK;
        status = scene_open(&scene, &params, context->quick ? SPREAD / 10 : SPREAD, ret_err);
        if (status == PW_OK)
                status = measure_spread(&scene, row, ret_err);
        scene_close(&scene);
        return status;
}
