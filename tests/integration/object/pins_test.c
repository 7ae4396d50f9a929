/* Pages of clients that a GPU reads by itself: they are given back and come again, and what is loaded is what was put there last.
 * There is room in host memory for what one session has, not for two, and the fake driver keeps what is registered as it was. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/process.h"
#include "tests/integration/scene.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS (3u << 19) /* 12 MiB */
#define ROUNDS 4

static struct it_gpus gpus;

static struct it_host *begin(void **state, const char *conf)
{
        struct it_host *host = *state;

        it_gpus_init(&gpus, conf);
        it_start(host, IT_ARGS("--devices", "cuda:2", "--islands", "1", "--cuda-driver", gpus.driver, "--host-memory", "30MiB",
                               "--device-memory", "64MiB"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
}

/* To a slice of two devices, half a value each, and back. */
static void there_and_back(struct pw_session *session, double number)
{
        struct pw_slice *slice = it_slice(session, 2, 1);
        struct pw_program *program = pw_program_new(session, "test/there");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(ELEMENTS), PW_SPLIT(0), 0);
        struct pw_future *input, *result;

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        input = it_put_same(session, ELEMENTS, number);
        result = it_run_1(program, input);
        pw_unref(input);
        it_expect_same(result, ELEMENTS, number);
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void in_turn(struct it_host *host)
{
        struct pw_session *other = it_connect(host);

        for (int i = 0; i < ROUNDS; i++) {
                there_and_back(host->session, 2 * i);
                there_and_back(other, 2 * i + 1);
        }
        pw_close(other);
        there_and_back(host->session, 100); /* the other's segments are gone */
        end(host);
}

static void pages_come_back(void **state) { in_turn(begin(state, NULL)); }
static void pages_come_back_late(void **state) { in_turn(begin(state, "delay_us = 3000\n")); }
static void what_is_fetched_alone(void **state) { in_turn(begin(state, "refuse_read_only = 1\n")); }
static void nothing_is_registered(void **state) { in_turn(begin(state, "refuse_register = 1\n")); }

/* Needs pages that executors have pinned. */
static int put_much(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *futures[2];

        (void)pipe;
        for (uint32_t i = 0; i < 2; i++)
                futures[i] = it_put_same(session, ELEMENTS, i);
        for (uint32_t i = 0; i < 2; i++)
                pw_unref(futures[i]);
        pw_close(session);
        return 0;
}

static bool is_letting_go(const struct pw_listing *memory, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(memory); i++)
                if (!strcmp(it_text(memory, i, "memory"), "h0") && !strcmp(it_text(memory, i, "term"), "letting go"))
                        return it_number(memory, i, "bytes") > 1 << 20;
        return false;
}

/* An executor that does not answer holds up those who need its pages, until it ends. */
static void who_does_not_answer_ends(void **state)
{
        struct it_host *host = begin(state, NULL);
        struct it_child child;
        char pid[24];

        there_and_back(host->session, 1);
        assert_true(it_signal_executor(host, "h0:1", SIGSTOP));
        child = it_fork(put_much, host);
        it_until(host->session, "memory", is_letting_go, NULL);
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        it_chain_expect(host, pid, "device h0:1 to let go of pages that were given up");
        it_chain_expect(host, pid, "which is stopped");
        assert_true(it_signal_executor(host, "h0:1", SIGKILL));
        assert_int_equal(it_reap(&child, 0), 0);
        there_and_back(host->session, 2);
        end(host);
}

static bool are_ready(const struct pw_listing *devices, void *context)
{
        int64_t restarts = it_number(devices, 0, "restarts") + it_number(devices, 1, "restarts");

        return restarts >= *(const int *)context && !strcmp(it_text(devices, 0, "state"), "ready") &&
               !strcmp(it_text(devices, 1, "state"), "ready");
}

/* Its device would go on with pages that are the system's again. */
static void what_stays_registered_ends_its_executor(void **state)
{
        struct it_host *host = begin(state, "fail = cuMemHostUnregister@1=1\n");
        struct pw_session *other = it_connect(host);

        there_and_back(host->session, 1);
        there_and_back(other, 2); /* takes the pages of the first */
        it_until(host->session, "devices", are_ready, &(int){ 1 });
        assert_true(it_has_said(host, "memory of the host that stays registered"));
        pw_close(other);
        end(host);
}

/* Of what each executor is given the daemon keeps nothing. */
static void descriptors_stay_as_many(void **state)
{
        struct it_host *host = begin(state, NULL);
        uint64_t before = 0;

        for (int i = 1; i <= 5; i++) {
                assert_true(it_signal_executor(host, "h0:0", SIGKILL));
                it_until(host->session, "devices", are_ready, &i);
                before = i == 2 ? it_has(host->pid).fds : before;
        }
        assert_true(it_has(host->pid).fds <= before + 2);
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(what_stays_registered_ends_its_executor),
                                            IT_FOLDER_TEST(descriptors_stay_as_many),
                                            IT_FOLDER_TEST(pages_come_back), IT_FOLDER_TEST(pages_come_back_late),
                                            IT_FOLDER_TEST(what_is_fetched_alone), IT_FOLDER_TEST(nothing_is_registered),
                                            IT_FOLDER_TEST(who_does_not_answer_ends) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
