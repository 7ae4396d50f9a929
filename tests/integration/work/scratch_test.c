/* Scratch memory of functions: what they get, what it is counted as, and what goes wrong with it; over each kind of device. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/other.h"
#include "tests/integration/scene.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT 64u
#define BYTES (COUNT * sizeof(double))
#define ROOM 768u /* of a value of so many bytes, and its guard */

static struct it_gpus gpus;

struct kind { const char *devices, *more; };
static const struct kind cpu = { "cpu:2", "--function-limit=0" }, emulated = { "emulated:2", "--launch-delay=1ms" },
                         apart = { "emulated:2", "--emulated-apart" }, cuda = { "cuda:2", NULL };

static struct it_host *begin(void **state, const struct kind *kind)
{
        struct it_host *host = *state;
        char driver[IT_GPUS_PATH + 16] = "";

        if (!kind->more) {
                it_gpus_init(&gpus, NULL);
                snprintf(driver, sizeof driver, "--cuda-driver=%s", gpus.driver);
        }
        it_start(host, IT_ARGS("--devices", kind->devices, "--islands", "1", "--host-memory", "64MiB", "--device-memory", "8MiB",
                               kind->more ? kind->more : driver));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host, const struct kind *kind)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        if (!kind->more)
                it_gpus_done(&gpus);
}

static struct pw_slice *slice_of(struct it_host *host, uint32_t count)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = count }, &slice, IT_ERR));
        return slice;
}

static int64_t of_program(struct it_host *host, const char *key)
{
        return it_listed(host->session, "programs", key);
}

/* In a program with others, over shards of two sizes: the values are right, and the peak known before is what is measured. */
static void values(void **state, const struct kind *kind)
{
        struct it_host *host = begin(state, kind);
        struct pw_slice *slice = slice_of(host, 2);
        struct pw_program *program = pw_program_new(host->session, "test/scratch");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(2 * COUNT - 1), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(2 * COUNT - 1), 1), *result;
        double expected[2 * COUNT - 1];

        for (uint32_t i = 0; i < pw_array_count(expected); i++)
                expected[i] = i + 1;
        value = pw_call(program, slice, "scratch/through", PW_ARGS(value), PW_SPLIT(0));
        value = pw_call(program, slice, "scratch/none", PW_ARGS(value), PW_SPLIT(0));
        pw_result(program, pw_call(program, slice, "scratch/through", PW_ARGS(value), PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        assert_int_equal(of_program(host, "peak"), 4 * ROOM); /* input, first output and scratch; the result */
        for (uint32_t i = 0; i < 10; i++) {
                it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
                it_expect_f64(result, expected, pw_array_count(expected));
                pw_unref(result);
        }
        assert_int_equal(of_program(host, "measured_peak"), 4 * ROOM);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        end(host, kind);
}

static struct pw_future *call_once(struct it_host *host, const char *function, uint64_t param)
{
        struct pw_slice *slice = slice_of(host, 1);
        struct pw_call_params params = { .params = &param, .params_bytes = sizeof param };
        struct pw_program *program = it_one_node(host->session, slice, function, PW_DIMS(COUNT), &params);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(COUNT), 1), *result = it_run_1(program, input);

        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        return result;
}

static void expect_good(struct pw_future *result)
{
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        assert_int_equal(pw_poll(result), PW_OK);
        pw_unref(result);
}

static void expect(struct pw_future *result, enum pw_status status, const char *texts)
{
        it_fails_with(result, status, texts);
        pw_unref(result);
}

/* What a function says that it needs is looked at before anything has room. */
static void claims(void **state, const struct kind *kind)
{
        static const struct { uint64_t bytes; const char *parts; } refused[] = {
                { UINT64_MAX, "call 0|scratch/claim|scratch memory" },
                { UINT64_MAX - 15, "call 0|scratch/claim|scratch memory" },
                { UINT64_MAX / 2, "call 0|scratch/claim|scratch memory" },
                { UINT64_C(1) << 60, "8 MiB" },
                { 9 << 20, "9 MiB|8 MiB" },
        };
        struct it_host *host = begin(state, kind);
        struct pw_slice *slice = slice_of(host, 1);

        for (uint32_t i = 0; i < pw_array_count(refused); i++) {
                struct pw_program *program = pw_program_new(host->session, "test/claims");
                struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(COUNT), PW_SPLIT(0), 0);
                struct pw_call_params params = { .params = &refused[i].bytes, .params_bytes = sizeof refused[i].bytes };

                pw_result(program, pw_call_with(program, slice, "scratch/claim", PW_ARGS(value), PW_SPLIT(0), &params));
                it_fails(pw_compile(program, IT_ERR), PW_TOO_LARGE, refused[i].parts);
                pw_program_free(program);
        }
        expect_good(call_once(host, "scratch/claim", 7 << 20));
        expect_good(call_once(host, "scratch/claim", 0));
        pw_slice_close(slice);
        end(host, kind);
}

/* Half of 512 bytes, a room of 512: a write behind it is found out, and one behind its room ends the executor. */
static void spills(void **state, const struct kind *kind)
{
        struct it_host *host = begin(state, kind);

        expect_good(call_once(host, "scratch/spill", 0));
        expect(call_once(host, "scratch/spill", 1), PW_OVERRUN, "scratch/spill|its scratch memory is 256 bytes here");
        expect(call_once(host, "scratch/spill", 256), PW_OVERRUN,
               "scratch/spill|its scratch memory is 256 bytes here|behind its room");
        expect_good(call_once(host, "scratch/through", 0));
        end(host, kind);
}

/* --- what another tenant left ------------------------------------------------------------------------------------------------ */

#define MIB_COUNT ((1u << 20) / (uint32_t)sizeof(double))
static const double zeros[4 * MIB_COUNT];

/* Of values that are all 0. */
static int look_as_other(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(4 * MIB_COUNT) };
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_future *input, *result;
        struct pw_view view;

        it_ok(pw_slice_open(session, &(struct pw_slice_params){ .device_count = 2 }, &slice, IT_ERR));
        program = it_one_node(session, slice, "scratch/look", PW_DIMS(4 * MIB_COUNT), NULL);
        it_ok(pw_put(session, zeros, sizeof zeros, &params, &input, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, sizeof zeros);
        if (memcmp(view.data, zeros, sizeof zeros))
                fail_msg("what another tenant left is seen");
        pw_view_done(&view);
        assert_int_equal(write(pipe, "x", 1), 1);
        pw_close(session);
        return 0;
}

/* Numbers that are not 0 in 7 MiB of 8 of each device, all freed; then another's scratch memory, which lies in them. */
static void others(void **state, const struct kind *kind)
{
        struct it_host *host = begin(state, kind);
        struct pw_slice *slice = slice_of(host, 2);
        struct pw_program *program = it_one_node(host->session, slice, "scratch/none", PW_DIMS(7 * MIB_COUNT), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(7 * MIB_COUNT), 1), *result;
        struct it_child child;
        char done;

        if (!it_alone(host)) {
                result = it_run_1(program, input);
                it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(result);
                child = it_fork(look_as_other, host);
                it_read(&child, &done, 1);
                assert_int_equal(it_reap(&child, 0), 0);
        }
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        end(host, kind);
}

#define OVER(kind)                                                                                                     \
        static void values_on_##kind(void **state) { values(state, &kind); }                                           \
        static void claims_on_##kind(void **state) { claims(state, &kind); }                                           \
        static void spills_on_##kind(void **state) { spills(state, &kind); }                                           \
        static void others_on_##kind(void **state) { others(state, &kind); }
OVER(cpu)
OVER(emulated)
OVER(apart)
OVER(cuda)
#define TESTS_OVER(kind)                                                                                               \
        IT_FOLDER_TEST(values_on_##kind), IT_FOLDER_TEST(claims_on_##kind), IT_FOLDER_TEST(spills_on_##kind),          \
                IT_FOLDER_TEST(others_on_##kind)

/* A node says how much. */
static void nodes_say_so(void **state)
{
        struct it_host *host = begin(state, &cpu);
        struct pw_slice *slice = slice_of(host, 1);
        struct pw_program *program = it_one_node(host->session, slice, "scratch/through", PW_DIMS(COUNT), NULL);
        char text[32];
        struct pw_listing *nodes;
        size_t row;

        snprintf(text, sizeof text, "%lld", (long long)it_listed(host->session, "programs", "program"));
        nodes = it_list(host->session, "programs", text);
        row = it_find(nodes, "name", "scratch/through");
        assert_int_equal(it_number(nodes, row, "scratch"), BYTES);
        assert_string_equal(it_text(nodes, row, "outputs"), "1");
        assert_int_equal(it_number(nodes, it_find(nodes, "name", "load 0"), "scratch"), 0);
        pw_listing_free(nodes);
        pw_program_free(program);
        pw_slice_close(slice);
        end(host, &cpu);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TESTS_OVER(cpu), TESTS_OVER(emulated), TESTS_OVER(apart), TESTS_OVER(cuda), IT_FOLDER_TEST(nodes_say_so),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
