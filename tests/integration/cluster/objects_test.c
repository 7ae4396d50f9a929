/* Objects of other hosts: opened by id and by name, waited for, read, let go of; and what becomes of them when their host is
 * lost. */
#include "libclient/session.h"
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void start(struct cluster *cluster, int count)
{
        cluster->linked = true;
        for (int i = 0; i < count; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
}

static struct pw_session *of(struct cluster *cluster, int i) { return cluster->hosts[i].session; }

static struct pw_future *put(struct cluster *cluster, int i, const void *bytes, size_t count)
{
        struct pw_future *future;

        it_ok(pw_put(of(cluster, i), bytes, count, NULL, &future, IT_ERR));
        return future;
}

static struct pw_future *open_at(struct cluster *cluster, int i, const struct pw_future *future)
{
        struct pw_future *opened;

        it_ok(pw_open(of(cluster, i), pw_future_id(future), &opened, IT_ERR));
        return opened;
}

static void expect_bytes(struct pw_future *future, const void *bytes, size_t count)
{
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, count);
        assert_memory_equal(view.data, bytes, count);
        pw_view_done(&view);
}

/* How many objects a host has. */
static bool has_objects(const struct pw_listing *listing, void *context)
{
        return it_number(listing, 0, "objects") == *(const int64_t *)context;
}

static void until_objects(struct cluster *cluster, int i, int64_t count)
{
        it_until(of(cluster, i), "status", has_objects, &count);
}

static void small_values_come_with_the_answer(void **state)
{
        static const size_t counts[] = { 0, 1, 24, 25, 1000, 4096 };
        struct cluster *cluster = *state;
        uint8_t bytes[4096];

        start(cluster, 2);
        memset(bytes, 7, sizeof bytes);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                struct pw_future *future = put(cluster, 0, bytes, counts[i]), *opened = open_at(cluster, 1, future);
                struct pw_id own = pw_future_id(future), seen = pw_future_id(opened);

                assert_memory_equal(&own, &seen, sizeof own);
                expect_bytes(opened, bytes, counts[i]);
                pw_unref(future);
                expect_bytes(opened, bytes, counts[i]); /* whoever put it let go: it is held there for this host */
                pw_unref(opened);
        }
        it_ok(pw_session_fence(of(cluster, 1), IT_ERR));
        until_objects(cluster, 1, 0);
        until_objects(cluster, 0, 0);
}

/* A future is opened before its value is there. */
static void what_is_to_come_is_waited_for(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *opened;
        struct pw_view view;
        void *bytes;

        start(cluster, 2);
        it_ok(pw_create(of(cluster, 0), 8, NULL, &made, &bytes, IT_ERR));
        opened = open_at(cluster, 1, made);
        assert_int_equal(pw_poll(opened), PW_NOT_READY);
        assert_int_equal(pw_get(opened, 20000, &view, NULL), PW_DEADLINE);
        memcpy(bytes, "a value!", 8);
        it_ok(pw_seal(made, IT_ERR));
        it_ok(pw_wait(&opened, 1, 1, IT_LONG, NULL, IT_ERR));
        expect_bytes(opened, "a value!", 8);
        pw_unref(made);
        pw_unref(opened);
        until_objects(cluster, 0, 0);
        until_objects(cluster, 1, 0);
}

/* An error is a value: who opened the future elsewhere gets the same one. */
static void errors_cross_hosts(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *opened;
        struct pw_view view;
        struct pw_error err;
        void *bytes;

        start(cluster, 2);
        it_ok(pw_create(of(cluster, 0), 8, NULL, &made, &bytes, IT_ERR));
        opened = open_at(cluster, 1, made);
        it_ok(pw_abort(made, IT_ERR));
        assert_int_equal(pw_get(opened, IT_LONG, &view, &err), PW_CANCELLED);
        pw_unref(made);
        pw_unref(opened);
        until_objects(cluster, 1, 0);
}

static void names_lead_to_other_hosts(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *future, *found;

        start(cluster, 3);
        future = put(cluster, 0, "named", 5);
        it_ok(pw_name(future, "weights", IT_ERR));
        pw_unref(future);
        for (int i = 0; i < 3; i++) {
                it_ok(pw_lookup(of(cluster, i), "weights", IT_LONG, &found, IT_ERR));
                expect_bytes(found, "named", 5);
                pw_unref(found);
        }
        it_ok(pw_unname(of(cluster, 0), "weights", IT_ERR));
        for (int i = 0; i < 3; i++)
                until_objects(cluster, i, 0);
}

/* Its id goes from A to B and from B to C, while those before let go. */
static void ids_are_handed_on(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *first, *second, *third;

        start(cluster, 3);
        first = put(cluster, 0, "handed on", 9);
        second = open_at(cluster, 1, first);
        pw_unref(first);
        third = open_at(cluster, 2, second);
        pw_unref(second);
        expect_bytes(third, "handed on", 9);
        pw_unref(third);
        for (int i = 0; i < 3; i++)
                until_objects(cluster, i, 0);
}

static void what_is_not_there_is_refused(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *future = NULL, *opened;
        struct pw_error err;
        struct pw_id id;

        start(cluster, 2);
        future = put(cluster, 0, "gone", 4);
        id = pw_future_id(future);
        pw_unref(future);
        until_objects(cluster, 0, 0);
        assert_int_equal(pw_open(of(cluster, 1), id, &opened, &err), PW_GONE);
        id.place = pw_id_make(9, id.epoch, 0, 0, 1).place;
        assert_int_equal(pw_open(of(cluster, 1), id, &opened, &err), PW_NOT_FOUND);
        assert_non_null(strstr(err.text, "h9"));
}

/* What has not come when its host is lost is lost; what is here stays. */
static void a_lost_host_ends_what_it_had(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *pending, *kept, *whole, *unopened, *opened;
        struct pw_view view;
        struct pw_error err;
        struct pw_id gone;
        void *bytes;

        start(cluster, 2);
        unopened = put(cluster, 0, "goes", 4);
        gone = pw_future_id(unopened);
        it_ok(pw_create(of(cluster, 0), 8, NULL, &made, &bytes, IT_ERR));
        pending = open_at(cluster, 1, made);
        kept = put(cluster, 0, "stays", 5);
        whole = open_at(cluster, 1, kept);
        cluster_kill(cluster, 0);
        assert_int_equal(pw_get(pending, IT_LONG, &view, &err), PW_HOST_LOST);
        it_fails(pw_open(of(cluster, 1), gone, &opened, IT_ERR), PW_HOST_LOST, "is lost|no other has a replica");
        it_fails(pw_open_all(of(cluster, 1), &gone, 1, &opened, IT_ERR), PW_HOST_LOST, "is lost|no other has a replica");
        assert_non_null(strstr(err.text, "host"));
        expect_bytes(whole, "stays", 5);
        pw_unref(pending);
        pw_unref(whole);
        pw_unref(made);
        pw_unref(kept);
        pw_unref(unopened);
        until_objects(cluster, 1, 0);
}

/* A value of its own for each place and size. */
static uint8_t *pattern(size_t count, uint32_t seed)
{
        uint8_t *bytes = malloc(count);

        assert_non_null(bytes);
        for (size_t i = 0; i < count; i++)
                bytes[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
        return bytes;
}

static void large_values_are_pulled(void **state)
{
        static const size_t counts[] = { 4097, 1 << 20, (1 << 20) + 1, 5 * (1 << 20) + 77 };
        struct cluster *cluster = *state;

        start(cluster, 2);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                uint8_t *bytes = pattern(counts[i], (uint32_t)i);
                struct pw_future *future = put(cluster, 0, bytes, counts[i]), *opened = open_at(cluster, 1, future);

                assert_int_equal(pw_poll(opened), PW_OK); /* ready, and elsewhere */
                expect_bytes(opened, bytes, counts[i]);
                expect_bytes(opened, bytes, counts[i]);
                pw_unref(future);
                pw_unref(opened);
                free(bytes);
        }
        until_objects(cluster, 1, 0);
        until_objects(cluster, 0, 0);
}

/* One value to two others, which may have it from each other. */
static void a_value_spreads(void **state)
{
        enum { COUNT = 6 * (1 << 20) };
        struct cluster *cluster = *state;
        uint8_t *bytes = pattern(COUNT, 3);
        struct pw_future *future, *opened[2];

        start(cluster, 3);
        future = put(cluster, 0, bytes, COUNT);
        for (int i = 0; i < 2; i++)
                opened[i] = open_at(cluster, i + 1, future);
        pw_unref(future);
        for (int i = 0; i < 2; i++)
                expect_bytes(opened[i], bytes, COUNT);
        for (int i = 0; i < 2; i++)
                pw_unref(opened[i]);
        for (int i = 0; i < 3; i++)
                until_objects(cluster, i, 0);
        free(bytes);
}

/* The home is lost: who has a replica hands it out. */
static void a_replica_outlives_its_home(void **state)
{
        enum { COUNT = 3 * (1 << 20) };
        struct cluster *cluster = *state;
        uint8_t *bytes = pattern(COUNT, 4);
        struct pw_future *future, *replica, *found;

        start(cluster, 3);
        future = put(cluster, 0, bytes, COUNT);
        replica = open_at(cluster, 1, future);
        expect_bytes(replica, bytes, COUNT);
        cluster_kill(cluster, 0);
        pw_unref(future);
        cluster_until_link(cluster, 1, 0, "away");
        cluster_until_link(cluster, 2, 0, "away");
        found = open_at(cluster, 2, replica);
        pw_unref(replica);
        expect_bytes(found, bytes, COUNT);
        pw_unref(found);
        for (int i = 1; i < 3; i++)
                until_objects(cluster, i, 0);
        free(bytes);
}

/* The result of a run on the first host, whose value is laid over its devices like that; got on the second one. */
static void get_spread(struct cluster *cluster, struct pw_slice *slice, struct pw_sharding input_sharding,
                       struct pw_sharding sharding, double times)
{
        struct pw_program *program = pw_program_new(of(cluster, 0), "spread");
        struct pw_dims dims = PW_DIMS(600, 333);
        struct pw_value *x = pw_input(program, slice, PW_F64, dims, input_sharding, 0);
        struct pw_future *input, *result, *opened;
        struct pw_view view;

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(x), sharding));
        it_ok(pw_compile(program, IT_ERR));
        input = it_put_f64(of(cluster, 0), dims, 1);
        result = it_run_1(program, input);
        opened = open_at(cluster, 1, result);
        it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.dtype, PW_F64);
        assert_int_equal(view.dims.rank, 2);
        assert_int_equal(view.bytes, 600 * 333 * 8);
        for (int i = 0; i < 600 * 333; i++)
                assert_true(((const double *)view.data)[i] == times * (1 + i));
        pw_view_done(&view);
        pw_unref(opened);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
}

static void results_of_runs_are_gathered(void **state)
{
        struct cluster *cluster = *state;
        struct pw_slice *slice;

        start(cluster, 2);
        slice = it_slice(of(cluster, 0), 2, 1);
        get_spread(cluster, slice, PW_BROADCAST, PW_BROADCAST, 1);
        get_spread(cluster, slice, PW_SPLIT(0), PW_SPLIT(0), 1);
        get_spread(cluster, slice, PW_SPLIT(1), PW_SPLIT(1), 1);
        get_spread(cluster, slice, PW_BROADCAST, PW_PARTIAL(PW_SUM), 2);
        pw_slice_close(slice);
        for (int i = 0; i < 2; i++)
                until_objects(cluster, i, 0);
}

/* The device that has the value of an object dies before anybody pulled it: who pulls is told so, as who is at its home. */
static void a_lost_value_is_said_to_be(void **state)
{
        struct cluster *cluster = *state;
        struct pw_dims dims = PW_DIMS(600, 333);
        struct pw_listing *devices;
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_value *x;
        struct pw_future *input, *result, *opened;
        struct pw_view view;
        pid_t executor;

        start(cluster, 2);
        slice = it_slice(of(cluster, 0), 2, 1);
        program = pw_program_new(of(cluster, 0), "lost");
        x = pw_input(program, slice, PW_F64, dims, PW_SPLIT(0), 0);
        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(x), PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        input = it_put_f64(of(cluster, 0), dims, 1);
        result = it_run_1(program, input);
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        opened = open_at(cluster, 1, result);
        it_ok(pw_wait(&opened, 1, 1, IT_LONG, NULL, IT_ERR));
        devices = it_list(of(cluster, 0), "devices", NULL);
        executor = (pid_t)it_number(devices, 0, "pid");
        pw_listing_free(devices);
        assert_int_equal(kill(executor, SIGKILL), 0);
        while (pw_poll(result) == PW_OK)
                it_ok(pw_session_fence(of(cluster, 0), IT_ERR));
        assert_int_equal(pw_get(result, IT_LONG, &view, NULL), PW_DEVICE_LOST);
        assert_int_equal(pw_get(opened, IT_LONG, &view, NULL), PW_DEVICE_LOST);
        pw_unref(opened);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        for (int i = 0; i < 2; i++)
                until_objects(cluster, i, 0);
}

/* The run on one host has an input that lies on the other: its bytes come first. */
static void a_run_has_foreign_inputs(void **state)
{
        struct cluster *cluster = *state;
        struct pw_dims dims = PW_DIMS(1000, 100);
        struct pw_future *input, *opened, *result;
        struct pw_program *program;
        struct pw_slice *slice;
        struct pw_view view;

        start(cluster, 2);
        input = it_put_f64(of(cluster, 0), dims, 3);
        opened = open_at(cluster, 1, input);
        slice = it_slice(of(cluster, 1), 2, 1);
        program = pw_program_new(of(cluster, 1), "foreign");
        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(pw_input(program, slice, PW_F64, dims, PW_SPLIT(0), 0)),
                                   PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, opened);
        pw_unref(opened);
        pw_unref(input);
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        for (int i = 0; i < 1000 * 100; i++)
                assert_true(((const double *)view.data)[i] == 3 + i);
        pw_view_done(&view);
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
        for (int i = 0; i < 2; i++)
                until_objects(cluster, i, 0);
}

/* What B's client has let go of, and its daemon has not read, keeps no room of A from others. */
static void room_of_the_home_comes_back(void **state)
{
        enum { COUNT = 40 * (1 << 20) }; /* there is no room for two */
        struct pw_put_params params = { .timeout_us = 5 * IT_SECOND };
        struct cluster *cluster = *state;
        uint8_t *bytes = pattern(COUNT, 5);
        struct pw_future *first, *second, *opened;

        start(cluster, 2);
        first = put(cluster, 0, bytes, COUNT);
        opened = open_at(cluster, 1, first);
        pw_unref(first);
        pw_unref(opened);
        it_ok(pw_put(of(cluster, 0), bytes, COUNT, &params, &second, IT_ERR));
        pw_unref(second);
        free(bytes);
        it_ok(pw_session_fence(of(cluster, 1), IT_ERR));
}

/* More than are asked for at a time, of two hosts and of this one; all or none. */
static void many_are_opened_together(void **state)
{
        enum { COUNT = 1300, GONE = 651 };
        static struct pw_future *made[COUNT], *opened[COUNT];
        static struct pw_id ids[COUNT];
        struct cluster *cluster = *state;

        start(cluster, 3);
        for (uint32_t i = 0; i < COUNT; i++) {
                made[i] = put(cluster, i % 3, &i, sizeof i);
                ids[i] = pw_future_id(made[i]);
        }
        ids[COUNT - 1] = ids[0]; /* twice */
        it_ok(pw_open_all(of(cluster, 2), ids, COUNT, opened, IT_ERR));
        for (uint32_t i = 0; i < COUNT; i++) {
                uint32_t value = i < COUNT - 1 ? i : 0;

                expect_bytes(opened[i], &value, sizeof value);
        }
        for (uint32_t i = 0; i < COUNT; i++)
                pw_unref(opened[i]);
        it_ok(pw_session_fence(of(cluster, 2), IT_ERR));
        until_objects(cluster, 2, COUNT / 3); /* its own */
        pw_unref(made[GONE]);
        it_ok(pw_session_fence(of(cluster, GONE % 3), IT_ERR));
        until_objects(cluster, GONE % 3, COUNT / 3); /* of one more; it may be opened again until it is freed */
        opened[0] = NULL;
        it_fails(pw_open_all(of(cluster, 2), ids, COUNT, opened, IT_ERR), PW_GONE, "the object is gone");
        assert_null(opened[0]); /* what was opened before the one that is gone was let go of */
        it_ok(pw_session_fence(of(cluster, 2), IT_ERR));
        until_objects(cluster, 2, COUNT / 3);
        it_ok(pw_open_all(of(cluster, 2), NULL, 0, NULL, IT_ERR));
        it_fails(pw_open_all(of(cluster, 2), NULL, 1, opened, IT_ERR), PW_INVALID, "ids");
        for (uint32_t i = 0; i < COUNT; i++)
                if (i != GONE)
                        pw_unref(made[i]);
        for (int i = 0; i < 3; i++)
                it_ok(pw_session_fence(of(cluster, i), IT_ERR));
        for (int i = 0; i < 3; i++)
                until_objects(cluster, i, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(room_of_the_home_comes_back),
                CLUSTER_TEST(what_is_to_come_is_waited_for),
                CLUSTER_TEST(errors_cross_hosts),
                CLUSTER_TEST(names_lead_to_other_hosts),
                CLUSTER_TEST(ids_are_handed_on),
                CLUSTER_TEST(what_is_not_there_is_refused),
                CLUSTER_TEST(a_lost_host_ends_what_it_had),
                CLUSTER_TEST(a_lost_value_is_said_to_be),
                CLUSTER_TEST(small_values_come_with_the_answer),
                CLUSTER_TEST(many_are_opened_together),
                CLUSTER_TEST(large_values_are_pulled),
                CLUSTER_TEST(a_value_spreads),
                CLUSTER_TEST(results_of_runs_are_gathered),
                CLUSTER_TEST(a_run_has_foreign_inputs),
                CLUSTER_TEST(a_replica_outlives_its_home),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
