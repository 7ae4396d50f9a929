/* GPUs that are slow, by the fake driver: what holds while work is under way. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/scene.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LARGE 98304u /* elements: 32 of such values are more than the pinned memory of a device */
#define RUNS 48u

static struct it_gpus gpus;

static struct it_host *begin(void **state, const char *devices, const char *conf)
{
        struct it_host *host = *state;

        it_gpus_init(&gpus, conf);
        it_start(host, IT_ARGS("--devices", devices, "--islands", "1", "--cuda-driver", gpus.driver, "--host-memory", "128MiB",
                               "--device-memory", "128MiB"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
}

static struct pw_slice *slice_of_one(struct it_host *host)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR));
        return slice;
}

/* Of more inputs than fit into what is pinned each comes to the device as it was put. */
static void loads(struct it_host *host)
{
        struct pw_slice *slice = slice_of_one(host);
        struct pw_program *program = pw_program_new(host->session, "test/loads");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(LARGE), PW_BROADCAST, 0);
        struct pw_future *results[RUNS];

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        for (uint32_t i = 0; i < RUNS; i++) {
                struct pw_future *input = it_put_same(host->session, LARGE, i);

                results[i] = it_run_1(program, input);
                pw_unref(input);
        }
        for (uint32_t i = 0; i < RUNS; i++) {
                it_expect_same(results[i], LARGE, i);
                pw_unref(results[i]);
        }
        pw_program_free(program);
        pw_slice_close(slice);
        end(host);
}

static void loads_behind_each_other(void **state) { loads(begin(state, "cuda:1", "delay_us = 4000\n")); }

/* Where the driver registers nothing. */
static void loads_by_the_stage(void **state) { loads(begin(state, "cuda:1", "delay_us = 4000\nrefuse_register = 1\n")); }

#define ROWS 3u
#define COLUMNS 800002u

/* What does not lie in one piece, and is more than the host gathers at once. */
static void a_large_load_in_rows(void **state)
{
        struct it_host *host = begin(state, "cuda:2", NULL);
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = pw_program_new(host->session, "test/rows");
        struct pw_dims dims = PW_DIMS(1, ROWS, COLUMNS);
        struct pw_value *value = pw_input(program, slice, PW_F64, dims, PW_SPLIT(2), 0);
        struct pw_future *input = it_put_f64(host->session, dims, 1), *result;
        const double *data;
        struct pw_view view;

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_SPLIT(2)));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        data = view.data;
        for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
                if (data[i] != i + 1)
                        fail_msg("element %u is %g", i, data[i]);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        end(host);
}

/* The sender of a transfer is done with it, and the receiver is not; or the run is over. */
struct halfway { struct pw_future *result; uint64_t run; char sender[16], receiver[16]; };

static void find_ends(const struct pw_listing *gangs, struct halfway *halfway)
{
        halfway->sender[0] = halfway->receiver[0] = 0;
        for (size_t i = 0; i < it_rows(gangs); i++) {
                if (it_number(gangs, i, "run") != (int64_t)halfway->run || !strstr(it_text(gangs, i, "node"), "send-recv"))
                        continue;
                if (!strcmp(it_text(gangs, i, "state"), "done"))
                        snprintf(halfway->sender, sizeof halfway->sender, "%s", it_text(gangs, i, "device"));
                if (!strcmp(it_text(gangs, i, "state"), "running"))
                        snprintf(halfway->receiver, sizeof halfway->receiver, "%s", it_text(gangs, i, "device"));
        }
}

static bool is_halfway(const struct pw_listing *gangs, void *context)
{
        struct halfway *halfway = context;

        find_ends(gangs, halfway);
        return (halfway->sender[0] && halfway->receiver[0]) || pw_wait(&halfway->result, 1, 1, 0, NULL, NULL) == PW_OK;
}

/* And stopped there. False: it was faster. */
static bool stop_halfway(struct it_host *host, struct halfway *halfway)
{
        struct pw_listing *gangs;
        char receiver[16];

        it_until(host->session, "gangs", is_halfway, halfway);
        if (!halfway->receiver[0])
                return false;
        snprintf(receiver, sizeof receiver, "%s", halfway->receiver);
        assert_true(it_signal_executor(host, receiver, SIGSTOP));
        it_chain_expect(host, receiver, "is stopped");
        gangs = it_list(host->session, "gangs", NULL);
        find_ends(gangs, halfway);
        pw_listing_free(gangs);
        if (!halfway->receiver[0])
                assert_true(it_signal_executor(host, receiver, SIGCONT));
        return halfway->receiver[0];
}

static bool has_restarted(const struct pw_listing *devices, void *context)
{
        return it_number(devices, it_find(devices, "device", context), "restarts") == 1;
}

/* What was copied of it may have been another's by then: nobody takes it for the value. */
static void a_sender_that_ends_under_a_copy(void **state)
{
        struct it_host *host = begin(state, "cuda:2", "delay_us = 300000\n");
        struct pw_slice *slices[2] = { slice_of_one(host), slice_of_one(host) };
        struct pw_program *program = pw_program_new(host->session, "test/send");
        struct pw_value *value = pw_input(program, slices[0], PW_F64, PW_DIMS(12), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1);
        struct halfway halfway = { .run = 0 };

        value = pw_call(program, slices[0], "pw/nop", PW_ARGS(value), PW_BROADCAST);
        pw_result(program, pw_move(value, slices[1], PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        do {
                pw_unref(halfway.result);
                halfway.result = it_run_1(program, input);
                halfway.run++;
        } while (!stop_halfway(host, &halfway));
        assert_true(it_signal_executor(host, halfway.sender, SIGKILL));
        it_until(host->session, "devices", has_restarted, halfway.sender);
        assert_true(it_signal_executor(host, halfway.receiver, SIGCONT));
        it_fails_with(halfway.result, PW_DEVICE_LOST, halfway.sender);
        pw_unref(halfway.result);
        pw_unref(input);
        pw_program_free(program);
        for (uint32_t i = 0; i < 2; i++)
                pw_slice_close(slices[i]);
        end(host);
}

/* What the driver says of a load is said of the run, whichever of its calls fails. */
static void a_load_that_fails(void **state)
{
        static const struct { const char *conf, *texts; enum pw_status status; } cases[] = {
                { "fail = cuStreamWriteValue64@1=1\n", "load 0|h0:0|writing a number|INVALID_VALUE", PW_SYSTEM },
                { "fail = cuMemcpyHtoDAsync@1=2\n", "load 0|h0:0|OUT_OF_MEMORY", PW_NO_SPACE },
        };

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct it_host *host = begin(state, "cuda:1", cases[i].conf);
                struct pw_slice *slice = slice_of_one(host);
                struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(12), NULL);
                struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *result = it_run_1(program, input);

                it_fails_with(result, cases[i].status, cases[i].texts);
                pw_unref(result);
                result = it_run_1(program, input);
                it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(result);
                pw_unref(input);
                pw_program_free(program);
                pw_slice_close(slice);
                end(host);
        }
}

static int get_whole(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_future *whole;

        (void)pipe;
        it_ok(pw_lookup(session, "whole", IT_LONG, &whole, IT_ERR));
        it_expect_same(whole, 8, 1);
        pw_unref(whole);
        pw_close(session);
        return 0;
}

static bool is_waited_for(const struct pw_listing *object)
{
        for (size_t i = 0; i < it_rows(object); i++)
                if (!strcmp(it_text(object, i, "part"), "waiter"))
                        return true;
        return false;
}

/* The executor that was to copy it ends: another device has the same. */
static void a_get_of_what_another_has(void **state)
{
        struct it_host *host = begin(state, "cuda:2", NULL);
        struct pw_program *program = pw_program_new(host->session, "test/whole");
        struct pw_future *input = it_put_same(host->session, 8, 1), *result;
        struct pw_listing *object;
        char id[PW_ID_TEXT_BYTES];
        struct pw_slice *slice;
        struct it_child child;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 2 }, &slice, IT_ERR));
        pw_result(program, pw_call(program, slice, "pw/nop",
                                   PW_ARGS(pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        it_ok(pw_name(result, "whole", IT_ERR));
        assert_true(it_signal_executor(host, "h0:0", SIGSTOP));
        child = it_fork(get_whole, host);
        for (bool is = false; !is; pw_listing_free(object)) {
                object = it_list(host->session, "object", pw_id_format(pw_future_id(result), id));
                is = is_waited_for(object);
        }
        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        assert_int_equal(it_reap(&child, 0), 0);
        it_ok(pw_unname(host->session, "whole", IT_ERR));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(loads_behind_each_other), IT_FOLDER_TEST(loads_by_the_stage),
                                            IT_FOLDER_TEST(a_load_that_fails),
                                            IT_FOLDER_TEST(a_large_load_in_rows), IT_FOLDER_TEST(a_sender_that_ends_under_a_copy),
                                            IT_FOLDER_TEST(a_get_of_what_another_has) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
