/* pull_1k: small objects of another host opened and read, one after the other, and many at a time. */
#include "tests/bench/cluster/small.h"

#include "base/memory.h"
#include "libclient/session.h"
#include "tests/bench/cluster/floors.h"

#include <pthread.h>

#define OBJECTS 10000u
#define SESSIONS 2u       /* and threads */
#define AT_ONCE 500u      /* of each */
#define ROUNDS 100u       /* of each */
#define TRIPS 10000u

struct world {
        struct pw_bench_cluster cluster;
        struct pw_session *home, *sessions[SESSIONS]; /* with host 0; with host 1 */
        struct pw_future *objects[OBJECTS];
        struct pw_id ids[OBJECTS];
        uint32_t count;
};

static enum pw_status put_all(struct world *world, uint32_t count, struct pw_error *ret_err)
{
        uint8_t data[PW_BENCH_SMALL_BYTES] = { 1 };
        enum pw_status status = PW_OK;

        while (world->count < count && status == PW_OK) {
                status = pw_put(world->home, data, sizeof data, NULL, &world->objects[world->count], ret_err);
                if (status == PW_OK)
                        world->ids[world->count] = pw_future_id(world->objects[world->count]);
                world->count += status == PW_OK;
        }
        return status;
}

enum pw_status pw_bench_small_get(struct pw_session *session, struct pw_id id, struct pw_error *ret_err)
{
        struct pw_future *future;
        struct pw_view view;
        enum pw_status status = pw_open(session, id, &future, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_get(future, 10000000, &view, ret_err);
        if (status == PW_OK && (view.bytes != PW_BENCH_SMALL_BYTES || *(const uint8_t *)view.data != 1))
                status = pw_error_set(ret_err, PW_FAILED, "the object holds other bytes");
        if (status == PW_OK)
                pw_view_done(&view);
        pw_unref(future);
        return status;
}

/* --- one after the other ------------------------------------------------------------------------------------------------------ */

static enum pw_status one_by_one(const struct world *world, double *ret_us, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < world->count && status == PW_OK; i++)
                status = pw_bench_small_get(world->sessions[0], world->ids[i], ret_err);
        *ret_us = (pw_bench_seconds() - start) * 1e6 / world->count;
        return status == PW_OK ? pw_session_fence(world->sessions[0], ret_err) : status;
}

/* --- many at a time ----------------------------------------------------------------------------------------------------------- */

struct opener {
        struct pw_session *session;
        const struct pw_id *ids; /* of its own */
        uint32_t count, rounds;
        pthread_t thread;
        enum pw_status status;
        struct pw_error err;
};

static enum pw_status read_all(struct pw_future **futures, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_view view;

        for (uint32_t i = 0; i < AT_ONCE; i++) {
                if (status == PW_OK)
                        status = pw_get(futures[i], 10000000, &view, ret_err);
                if (status == PW_OK && (view.bytes != PW_BENCH_SMALL_BYTES || *(const uint8_t *)view.data != 1))
                        status = pw_error_set(ret_err, PW_FAILED, "the object holds other bytes");
                if (status == PW_OK)
                        pw_view_done(&view);
                pw_unref(futures[i]);
        }
        return status;
}

static void *open_in_thread(void *context)
{
        struct opener *opener = context;
        struct pw_future *futures[AT_ONCE];

        for (uint32_t i = 0; i < opener->rounds && opener->status == PW_OK; i++) {
                opener->status = pw_open_all(opener->session, opener->ids + i * AT_ONCE % opener->count, AT_ONCE, futures,
                                             &opener->err);
                if (opener->status == PW_OK)
                        opener->status = read_all(futures, &opener->err);
        }
        return NULL;
}

static enum pw_status many(const struct world *world, uint32_t rounds, double *ret_per_s, struct pw_error *ret_err)
{
        struct opener openers[SESSIONS];
        enum pw_status status = PW_OK;
        double began = pw_bench_seconds();
        uint32_t started = 0;

        for (; started < SESSIONS && status == PW_OK; started += status == PW_OK) {
                openers[started] = (struct opener){ .session = world->sessions[started], .rounds = rounds,
                                                    .ids = world->ids + started * (world->count / SESSIONS),
                                                    .count = world->count / SESSIONS };
                if (pthread_create(&openers[started].thread, NULL, open_in_thread, &openers[started]))
                        status = pw_error_set(ret_err, PW_SYSTEM, "no threads for a bench");
        }
        for (uint32_t i = 0; i < started; i++) {
                pthread_join(openers[i].thread, NULL);
                if (status == PW_OK && openers[i].status != PW_OK)
                        status = pw_error_set(ret_err, openers[i].status, "%s", openers[i].err.text);
        }
        *ret_per_s = SESSIONS * AT_ONCE * rounds / (pw_bench_seconds() - began);
        for (uint32_t i = 0; i < SESSIONS && status == PW_OK; i++)
                status = pw_session_fence(world->sessions[i], ret_err);
        return status;
}

/* --- the rows ----------------------------------------------------------------------------------------------------------------- */

struct rows { struct pw_bench_row *one, *many, *hand_on; };

static enum pw_status measure(const struct world *world, const struct pw_bench_hand *hand, const struct rows *rows, bool quick,
                              struct pw_error *ret_err)
{
        double us = 0, trip_us = 0, per_s = 0, hand_us = 0;
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = one_by_one(world, &us, ret_err);
                if (status == PW_OK)
                        status = pw_bench_hand_on(hand, world->home, quick ? TRIPS / 10 : TRIPS, &hand_us, ret_err);
                if (status == PW_OK)
                        status = pw_bench_loops_trip(TRIPS, &trip_us, ret_err);
                if (status == PW_OK)
                        status = many(world, quick ? ROUNDS / 10 : ROUNDS, &per_s, ret_err);
                if (status != PW_OK || !repeat)
                        continue;
                pw_bench_row_value(rows->one, us);
                pw_bench_row_floor(rows->one, trip_us);
                pw_bench_row_value(rows->many, per_s);
                pw_bench_row_value(rows->hand_on, hand_us);
                pw_bench_row_floor(rows->hand_on, us);
        }
        return status;
}

static enum pw_status connect_all(struct world *world, struct pw_error *ret_err)
{
        enum pw_status status = pw_bench_cluster_connect(&world->cluster, 0, &world->home, ret_err);

        for (uint32_t i = 0; i < SESSIONS && status == PW_OK; i++)
                status = pw_bench_cluster_connect(&world->cluster, 1, &world->sessions[i], ret_err);
        return status;
}

static void close_all(struct world *world)
{
        for (uint32_t i = 0; i < world->count; i++)
                pw_unref(world->objects[i]);
        pw_close(world->home);
        for (uint32_t i = 0; i < SESSIONS; i++)
                pw_close(world->sessions[i]);
        pw_bench_cluster_stop(&world->cluster);
}

enum pw_status pw_bench_pull_1k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        static struct world world;
        struct rows rows = { pw_bench_row_add(context, "pull_1k", "us", PW_BENCH_RATIO_AT_MOST, 1.5),
                             pw_bench_row_add(context, "pull_1k_many", "opens/s", PW_BENCH_AT_LEAST, 200e3),
                             pw_bench_row_add(context, "hand_on", "us", PW_BENCH_RATIO_AT_MOST, 3) };
        struct pw_bench_cluster_params params = { .hosts = 2 };
        struct pw_bench_hand hand = { .fd = -1 };
        enum pw_status status;

        if (!pw_bench_cluster_possible(context))
                return PW_OK;
        world = (struct world){ 0 };
        status = pw_bench_cluster_start(&params, &world.cluster, ret_err);
        if (status == PW_OK)
                status = pw_bench_hand_start(&world.cluster, &hand, ret_err);
        if (status == PW_OK)
                status = connect_all(&world, ret_err);
        if (status == PW_OK)
                status = put_all(&world, context->quick ? OBJECTS / 10 : OBJECTS, ret_err);
        if (status == PW_OK)
                status = measure(&world, &hand, &rows, context->quick, ret_err);
        pw_bench_hand_stop(&hand);
        close_all(&world);
        return status;
}
