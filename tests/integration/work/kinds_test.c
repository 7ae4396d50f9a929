/* Devices of two kinds in one daemon: a slice has one kind, and programs go over slices of both. */
#include "tests/integration/folder.h"
#include "tests/integration/trace.h"

#include "base/memory.h"

#include <signal.h>

static struct it_host *begin(void **state, const char *devices, const char *islands)
{
        struct it_host *host = *state;

        it_start(host, IT_ARGS("--devices", devices, "--islands", islands, "--host-memory", "64MiB", "--device-memory", "4MiB"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static struct pw_slice *slice_of(struct it_host *host, const char *kind, uint32_t count)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = count, .kind = kind }, &slice, IT_ERR));
        return slice;
}

static void expect_kinds(struct it_host *host, const char *const *kinds, size_t count)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);

        assert_int_equal(it_rows(devices), count);
        for (size_t i = 0; i < count; i++)
                assert_string_equal(it_text(devices, i, "kind"), kinds[i]);
        pw_listing_free(devices);
}

/* From the devices of one kind to those of the other, and back. */
static void a_program_over_both(void **state)
{
        static const char *const kinds[] = { "emulated", "emulated", "emulated", "cpu", "cpu" };
        struct it_host *host = begin(state, "emulated:3, cpu:2", "2");
        struct pw_slice *emulated = slice_of(host, "emulated", 3), *cpu = slice_of(host, "cpu", 2), *any, *none;
        struct pw_program *program = pw_program_new(host->session, "test/kinds");
        struct pw_value *value = pw_input(program, emulated, PW_F64, PW_DIMS(12), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *result;

        expect_kinds(host, kinds, 5);
        value = pw_call(program, emulated, "pw/add", PW_ARGS(value, value), PW_SPLIT(0));
        value = pw_move(value, cpu, PW_SPLIT(0));
        value = pw_call(program, cpu, "pw/add", PW_ARGS(value, value), PW_SPLIT(0));
        pw_result(program, pw_move(value, emulated, PW_BROADCAST));
        if (it_apart()) {
                it_fails(pw_compile(program, IT_ERR), PW_UNSUPPORTED, "kind cpu|kind emulated|pw_get() and pw_put()");
        } else {
                it_ok(pw_compile(program, IT_ERR));
                it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
                it_expect_f64(result, (const double[]){ 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48 }, 12);
                pw_unref(result);
        }
        /* One kind for the whole slice, also where it may be any. */
        it_fails(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 4 }, &none, IT_ERR), PW_TOO_LARGE, "4");
        it_fails(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 3, .kind = "cpu" }, &none, IT_ERR),
                 PW_TOO_LARGE, "cpu|3|2");
        any = slice_of(host, NULL, 3);
        pw_slice_close(any);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(cpu);
        pw_slice_close(emulated);
        end(host);
}

static void kinds_that_cannot_be(void **state)
{
        static const struct { const char *devices, *texts; } cases[] = {
                { "emulated:2,gpu:1", "the kinds are cpu, emulated and cuda, not \"gpu\"" }, { "cpu:2,", "KIND:COUNT" },
                { ",cpu:2", "KIND:COUNT" }, { "cpu:0,emulated:1", "KIND:COUNT" }, { "cpu:40,emulated:25", "1 to 64 devices" },
                { "cpu:2x", "KIND:COUNT" }, { "cpu:", "KIND:COUNT" }, { "cp:1", "not \"cp\"" }, { "cpu:-1", "KIND:COUNT" },
                { "", "KIND:COUNT" },
        };
        static const char *const kinds[] = { "cpu", "emulated", "emulated" };
        struct it_host *host = *state;

        for (size_t i = 0; i < pw_array_count(cases); i++)
                it_refuses_to_start(host, IT_ARGS("--devices", cases[i].devices, "--host-memory", "64MiB"), cases[i].texts);
        begin(state, "cpu,emulated:2", "1");
        expect_kinds(host, kinds, 3);
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(a_program_over_both), IT_FOLDER_TEST(kinds_that_cannot_be) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
