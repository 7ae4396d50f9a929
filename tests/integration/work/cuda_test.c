/* Programs over GPUs, by the fake driver. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/trace.h"

#include "base/memory.h"

#include <signal.h>

static struct it_gpus gpus;

static struct it_host *begin(void **state, const char *devices, const char *islands, const char *conf)
{
        struct it_host *host = *state;

        it_gpus_init(&gpus, conf);
        it_start(host, IT_ARGS("--devices", devices, "--islands", islands, "--cuda-driver", gpus.driver, "--host-memory", "64MiB",
                               "--device-memory", "8MiB"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
}

static struct pw_slice *slice_of(struct it_host *host, uint32_t count)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = count }, &slice, IT_ERR));
        return slice;
}

/* Loads, kernels, transfers within and between islands, a fetch: what comes out is what the processor makes of it. */
static void a_program(void **state)
{
        static const double expected[] = { 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48 };
        struct it_host *host = begin(state, "cuda:4", "2", NULL);
        struct pw_slice *slice = slice_of(host, 4);
        struct pw_program *program = pw_program_new(host->session, "test/cuda");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *result;

        value = pw_call(program, slice, "pw/add", PW_ARGS(value, value), PW_SPLIT(0));
        value = pw_move(value, slice, PW_BROADCAST);
        value = pw_call(program, slice, "pw/add", PW_ARGS(value, value), PW_BROADCAST);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        for (uint32_t i = 0; i < 5; i++) {
                it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
                it_expect_f64(result, expected, 12);
                pw_unref(result);
        }
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(a_program) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
