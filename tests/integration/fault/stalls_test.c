/* Executors that do not come back from where no limit of a function is counted.
 */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/scene.h"

#include <signal.h>

#define STALL (60 * IT_SECOND) /* twice the limit, and half a minute, and what a busy machine takes */

static struct it_gpus gpus;

static struct pw_slice *slice_of(struct it_host *host, const char *kind, uint32_t count)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = count, .kind = kind }, &slice, IT_ERR));
        return slice;
}

static struct pw_future *run_on(struct it_host *host, struct pw_slice *slice, const char *function, bool sum)
{
        struct pw_program *program = pw_program_new(host->session, "test/stalls");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 1), *result;

        value = pw_call(program, slice, function, PW_ARGS(value), sum ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        pw_result(program, sum ? pw_as(value, PW_BROADCAST) : value);
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        pw_unref(input);
        pw_program_free(program);
        return result;
}

static void expect_alive(struct it_host *host, struct pw_slice *slice)
{
        struct pw_future *result = run_on(host, slice, "pw/nop", false);
        double expected[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

        it_expect_f64(result, expected, 8);
        pw_unref(result);
}

/* What its constructor does is the function's that it is loaded for, but for that one's own limit. */
static void a_module_that_is_loaded_for_ever(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice;
        struct pw_future *result;

        it_start(host, IT_ARGS("--devices", "cpu:1", "--function-limit", "1s", "--host-memory", "64MiB", "--device-memory",
                               "8MiB"));
        host->session = it_connect(host);
        slice = slice_of(host, "cpu", 1);
        result = run_on(host, slice, "endless/nop", false);
        it_fails_with(result, PW_TIME_LIMIT, "endless/nop|h0:0|over its time limit of 1 s");
        pw_unref(result);
        expect_alive(host, slice);
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* A function that hides, and a kernel of a transfer that does not end, side by side. `why` knows when they are ended. */
static void what_has_no_limit(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *plain, *pair;
        struct pw_future *hides, *sum;

        it_gpus_init(&gpus, "hang = pw_peer_f64_sum\n");
        it_start(host, IT_ARGS("--devices", "cpu:1,cuda:2", "--cuda-driver", gpus.driver, "--no-nccl", "--function-limit", "1s",
                               "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        plain = slice_of(host, "cpu", 1);
        pair = slice_of(host, "cuda", 2);
        hides = run_on(host, plain, "broken/hides", false);
        sum = run_on(host, pair, "pw/nop", true);
        it_fails(pw_wait(&sum, 1, 1, 5 * IT_SECOND, NULL, IT_ERR), PW_DEADLINE, "0 of 1");
        it_chain_expect(host, "h0:1", "all-reduce of run 2 to move its bytes|if it is not done in |pathwaysd ends its executor");
        it_chain_expect(host, "h0:0", "broken/hides of run 1, which is the next|pathwaysd ends its executor");
        it_ok(pw_wait(&hides, 1, 1, STALL, NULL, IT_ERR));
        it_fails_with(hides, PW_TIME_LIMIT, "broken/hides|h0:0|after it could begin");
        it_ok(pw_wait(&sum, 1, 1, STALL, NULL, IT_ERR));
        it_fails_with(sum, PW_TIME_LIMIT, "all-reduce|h0:|after it could begin");
        pw_unref(hides);
        pw_unref(sum);
        expect_alive(host, plain);
        expect_alive(host, pair);
        pw_slice_close(plain);
        pw_slice_close(pair);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(a_module_that_is_loaded_for_ever), IT_FOLDER_TEST(what_has_no_limit) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
