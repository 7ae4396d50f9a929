/* Devices whose memory the processor does not read: what is there is fetched when somebody reads it. */
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

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(values_are_fetched) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
