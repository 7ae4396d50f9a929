/* Devices whose memory the processor does not read: what is there is fetched when somebody reads it. */
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/folder.h"
#include "tests/integration/trace.h"

#include "base/memory.h"

#include <signal.h>

static struct it_host *begin(void **state, const char *devices, const char *islands)
{
        struct it_host *host = *state;

        it_start(host, IT_ARGS("--devices", devices, "--islands", islands, "--emulated-apart", "--host-memory", "64MiB",
                               "--device-memory", "4MiB"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static struct pw_slice *slice_of(struct it_host *host, uint32_t count)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = count }, &slice, IT_ERR));
        return slice;
}

/* Twice the input, laid over the slice as `sharding` says. */
static struct pw_program *twice(struct it_host *host, struct pw_slice *slice, struct pw_sharding sharding)
{
        struct pw_program *program = pw_program_new(host->session, "test/apart");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), sharding, 0);

        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(value, value), sharding));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* Whole and by shards, again and again, by others too: one copy serves all of them, and goes with the value. */
static void values_are_fetched(void **state)
{
        static const double expected[] = { 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24 };
        struct it_host *host = begin(state, "emulated:4", "2");
        struct pw_slice *slice = slice_of(host, 4);
        struct pw_program *split = twice(host, slice, PW_SPLIT(0)), *broadcast = twice(host, slice, PW_BROADCAST);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *results[2], *opened;
        struct pw_session *other = it_connect(host);
        struct pw_view view;

        it_ok(pw_run(split, PW_FUTURES(input), &results[0], IT_ERR));
        it_ok(pw_run(broadcast, PW_FUTURES(input), &results[1], IT_ERR));
        for (uint32_t i = 0; i < 6; i++)
                it_expect_f64(results[i % 2], expected, 12);
        for (uint32_t shard = 0; shard < 4; shard++) {
                it_ok(pw_get_shard(results[0], shard, PW_FOREVER, &view, IT_ERR));
                assert_int_equal(view.bytes, 3 * sizeof(double));
                assert_memory_equal(view.data, expected + 3 * shard, view.bytes);
                pw_view_done(&view);
                it_ok(pw_get_shard(results[1], shard, PW_FOREVER, &view, IT_ERR));
                assert_memory_equal(view.data, expected, sizeof expected);
                pw_view_done(&view);
        }
        it_ok(pw_open(other, pw_future_id(results[0]), &opened, IT_ERR));
        it_expect_f64(opened, expected, 12);
        pw_unref(opened);
        pw_close(other);
        pw_unref(results[0]);
        pw_unref(results[1]);
        pw_unref(input);
        pw_program_free(split);
        pw_program_free(broadcast);
        pw_slice_close(slice);
        end(host);
}

/* --- other hosts --------------------------------------------------------------------------------------------------------- */

static void start_two(struct cluster *cluster)
{
        cluster->linked = cluster->apart = true;
        cluster->lease = "5s"; /* nobody is given up where processors are busy */
        for (int i = 0; i < 2; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
}

/* On the first host, over both of its devices: there, and not fetched. */
static struct pw_future *far_value(struct cluster *cluster, struct pw_dims dims, struct pw_sharding sharding)
{
        struct pw_session *session = cluster->hosts[0].session;
        struct pw_slice *slice = it_slice(session, 2, 1);
        struct pw_program *program = pw_program_new(session, "test/far");
        struct pw_future *input = it_put_f64(session, dims, 1), *result;

        pw_result(program, pw_call(program, slice, "pw/nop",
                                   PW_ARGS(pw_input(program, slice, PW_F64, dims, sharding, 0)), sharding));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        return result;
}

static bool has_none(const struct pw_listing *listing, void *context)
{
        (void)context;
        return !it_number(listing, 0, "objects");
}

static void until_none(struct cluster *cluster)
{
        for (int i = 0; i < 2; i++)
                it_until(cluster->hosts[i].session, "status", has_none, NULL);
}

/* Small values, which come with the answer where they can be read, and large ones, of one device and of several. */
static void another_host_has_them_fetched(void **state)
{
        static const uint64_t counts[] = { 2, 64, 1000, 200000 };
        const struct pw_sharding shardings[] = { PW_BROADCAST, PW_SPLIT(0) };
        struct cluster *cluster = *state;
        struct pw_future *future, *opened;
        struct pw_view view;

        start_two(cluster);
        for (uint32_t i = 0; i < 2 * pw_array_count(counts); i++) {
                uint64_t count = counts[i / 2];

                future = far_value(cluster, PW_DIMS(count), shardings[i % 2]);
                it_ok(pw_open(cluster->hosts[1].session, pw_future_id(future), &opened, IT_ERR));
                pw_unref(future);
                it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
                assert_int_equal(view.bytes, count * sizeof(double));
                for (uint64_t j = 0; j < count; j++)
                        assert_true(((const double *)view.data)[j] == (double)(j + 1));
                pw_view_done(&view);
                pw_unref(opened);
        }
        until_none(cluster);
}

/* Somebody wants the bytes, and the devices have yet to copy them. */
static void until_wanted(struct pw_session *session, const struct pw_future *future)
{
        char id[PW_ID_TEXT_BYTES];
        bool so = false;

        pw_id_format(pw_future_id(future), id);
        for (int64_t end_us = it_now_us() + IT_LONG; !so;) {
                struct pw_listing *why = it_list(session, "why", id);

                for (size_t i = 0; i < it_rows(why); i++)
                        so = so || strstr(it_text(why, i, "waits_for"), "to copy them");
                pw_listing_free(why);
                assert_true(it_now_us() < end_us);
        }
}

/* No session holds it but one, which is no other host's. */
static void until_let_go(struct pw_session *session, const struct pw_future *future)
{
        char id[PW_ID_TEXT_BYTES];
        size_t holders = 2;

        pw_id_format(pw_future_id(future), id);
        for (int64_t end_us = it_now_us() + IT_LONG; holders > 1;) {
                struct pw_listing *object = it_list(session, "object", id);

                holders = 0;
                for (size_t i = 0; i < it_rows(object); i++)
                        holders += !strcmp(it_text(object, i, "part"), "holder") && !strcmp(it_text(object, i, "kind"), "session");
                pw_listing_free(object);
                assert_true(it_now_us() < end_us);
        }
}

/* A device at the home copies nothing: who asked leaves before it goes on; another is told that its executor has ended. */
static void who_wants_one_leaves(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *home = &cluster->hosts[0];

        start_two(cluster);
        for (int ends = 0; ends < 2; ends++) {
                struct pw_future *future = far_value(cluster, PW_DIMS(1000), PW_SPLIT(0)), *opened;
                struct pw_view view;

                it_ok(pw_open(cluster->hosts[1].session, pw_future_id(future), &opened, IT_ERR));
                assert_true(it_signal_executor(home, "h1:1", SIGSTOP));
                it_fails(pw_get(opened, 100000, &view, IT_ERR), PW_DEADLINE, "");
                until_wanted(home->session, future);
                if (!ends) {
                        pw_unref(opened);
                        until_let_go(home->session, future);
                }
                assert_true(it_signal_executor(home, "h1:1", ends ? SIGKILL : SIGCONT));
                if (ends) {
                        it_fails(pw_get(opened, IT_LONG, &view, IT_ERR), PW_DEVICE_LOST, "");
                        pw_unref(opened);
                } else { /* what was wanted is there, and nobody there has it any more */
                        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
                        pw_view_done(&view);
                }
                pw_unref(future);
                until_none(cluster);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(values_are_fetched), CLUSTER_TEST(another_host_has_them_fetched),
                                            CLUSTER_TEST(who_wants_one_leaves) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
