/* All-reduces by NCCL that are launched behind the functions that make what they add: before these have ended, and whatever becomes
 * of them. Over the fakes of both libraries. */
#include "tests/integration/operator/chain.h"
#include "tests/integration/work/nccl_scene.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NEVER_ENDS 7
#define FAILS 8
#define IS_LATE 9

/* A sum over `devices` of what gpu/moody copies. It has run before: the first run of a function is waited for. */
struct ahead { struct nccl_scene scene; struct pw_program *sum; uint32_t devices; int restarts; };

static struct pw_future *run_of(const struct ahead *ahead, struct pw_program *program, double mood)
{
        struct pw_future *input = it_put_same(ahead->scene.host->session, NCCL_ELEMENTS, mood), *result = it_run_1(program, input);

        pw_unref(input);
        return result;
}

static struct pw_future *run(const struct ahead *ahead, double mood) { return run_of(ahead, ahead->sum, mood); }

static void expect_right(const struct ahead *ahead, double mood)
{
        struct pw_future *result = run(ahead, mood);

        it_expect_same(result, NCCL_ELEMENTS, ahead->devices * mood);
        pw_unref(result);
}

static struct ahead ahead_begin(void **state, const char *devices, uint32_t count)
{
        struct ahead ahead = { nccl_scene_over(nccl_begin_slow(state, devices), count), NULL, count, 0 };

        ahead.sum = nccl_reducer(ahead.scene.host, ahead.scene.slice, "gpu/moody", 1);
        expect_right(&ahead, 1);
        return ahead;
}

static void ahead_end(struct ahead *ahead)
{
        pw_program_free(ahead->sum);
        nccl_scene_end(&ahead->scene);
}

static bool have_launched(const struct pw_listing *status, void *context)
{
        (void)status;
        return nccl_calls_of("ncclAllReduce") >= *(const int *)context;
}

/* So many members have come to the all-reduce, or are done with it. */
static bool are_in_it(const struct pw_listing *gangs, void *context)
{
        int running = 0;

        for (size_t i = 0; i < it_rows(gangs); i++)
                running += strstr(it_text(gangs, i, "node"), "all-reduce") && !strcmp(it_text(gangs, i, "state"), "running");
        return running >= *(const int *)context;
}

/* While shard 2 is made, all four have launched, and who comes last launches its call and its part at once; `why` leads from those
 * that wait in NCCL to the function. The end of its device ends the others' part. */
static void behind_a_function_that_does_not_end(void **state)
{
        struct ahead ahead = ahead_begin(state, "cuda:4", 4);
        struct pw_session *session = ahead.scene.host->session;
        struct pw_future *result;
        int64_t start_us;

        for (int i = 1; i <= 2; i++) {
                nccl_stop(ahead.scene.host, 3);
                result = run(&ahead, NEVER_ENDS);
                it_until(session, "gangs", are_in_it, &(int){ 2 });
                assert_true(it_signal_executor(ahead.scene.host, "h0:3", SIGCONT));
                it_until(session, "status", have_launched, &(int){ 8 * i });
                it_chain_expect(ahead.scene.host, "h0:1", "device h0:2 to come to all-reduce of run");
                it_chain_expect(ahead.scene.host, "h0:1", "gpu/moody of run");
                assert_true(it_signal_executor(ahead.scene.host, "h0:2", SIGKILL));
                start_us = it_now_us();
                it_fails_with(result, PW_CRASHED, "h0:2|SIGKILL");
                it_within("the run has failed", start_us, 2 * IT_SECOND);
                pw_unref(result);
                it_back_within_a_second(session, i, start_us);
                expect_right(&ahead, 1);
        }
        ahead_end(&ahead);
}

/* The same without a sum. */
static struct pw_program *copies(const struct ahead *ahead)
{
        struct pw_program *program = pw_program_new(ahead->scene.host->session, "test/copies");
        struct pw_value *value = pw_input(program, ahead->scene.slice, PW_F64, PW_DIMS(NCCL_ELEMENTS), PW_BROADCAST, 0);

        pw_result(program, pw_call(program, ahead->scene.slice, "gpu/moody", PW_ARGS(value), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* It is there again, and has come to the all-reduce, or is done with it. */
static bool is_back(const struct pw_listing *gangs, void *context)
{
        const struct ahead *ahead = context;
        struct pw_listing *devices = it_list(ahead->scene.host->session, "devices", NULL);
        bool is = it_number(devices, 2, "restarts") == ahead->restarts && !strcmp(it_text(devices, 2, "state"), "ready");
        size_t last = 0;

        pw_listing_free(devices);
        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "device"), "h0:2"))
                        last = i;
        return is && strstr(it_text(gangs, last, "node"), "all-reduce") &&
               (!strcmp(it_text(gangs, last, "state"), "running") || !strcmp(it_text(gangs, last, "state"), "failed"));
}

static const struct { size_t row; const char *device; } others[] = { { 0, "h0:0" }, { 1, "h0:1" }, { 3, "h0:3" } };

static void others_stop(const struct ahead *ahead)
{
        for (size_t k = 0; k < pw_array_count(others); k++)
                nccl_stop(ahead->scene.host, others[k].row);
}

static void others_go_on(const struct ahead *ahead)
{
        for (size_t k = 0; k < pw_array_count(others); k++)
                assert_true(it_signal_executor(ahead->scene.host, others[k].device, SIGCONT));
}

/* Shard 2 is launched behind a function of another run, in which its process ends: the next one makes it, and takes no part, for
 * the others have begun without it. They hear of all that only then. */
static void behind_another_run(void **state)
{
        struct ahead ahead = ahead_begin(state, "cuda:4", 4);
        struct pw_session *session = ahead.scene.host->session;
        struct pw_program *other = copies(&ahead);
        struct pw_future *stuck, *result;
        int64_t start_us;

        for (int i = 1; i <= 2; i++) {
                stuck = run_of(&ahead, other, 1);
                it_expect_same(stuck, NCCL_ELEMENTS, 1);
                pw_unref(stuck);
                stuck = run_of(&ahead, other, NEVER_ENDS);
                result = run(&ahead, 1);
                it_until(session, "status", have_launched, &(int){ 8 * i });
                others_stop(&ahead);
                assert_true(it_signal_executor(ahead.scene.host, "h0:2", SIGKILL));
                ahead.restarts = i;
                it_until(session, "gangs", is_back, &ahead);
                others_go_on(&ahead);
                start_us = it_now_us();
                it_fails_with(stuck, PW_CRASHED, "h0:2|SIGKILL");
                it_fails_with(result, PW_DEVICE_LOST, "h0:2");
                it_within("both have failed", start_us, 2 * IT_SECOND);
                pw_unref(stuck);
                pw_unref(result);
                expect_right(&ahead, 1);
        }
        pw_program_free(other);
        ahead_end(&ahead);
}

static bool is_at_function(const struct pw_listing *gangs, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "device"), "h0:2") && strstr(it_text(gangs, i, "node"), "gpu/moody") &&
                    !strcmp(it_text(gangs, i, "state"), "running"))
                        return true;
        return false;
}

static bool is_ready(const struct pw_listing *devices, void *context)
{
        return it_number(devices, 2, "restarts") == *(const int *)context && !strcmp(it_text(devices, 2, "state"), "ready");
}

/* Its process ends in the all-reduce, and the next one behind it, before the others look: the later end does not hide the first. */
static void and_ends_again_behind_it(void **state)
{
        struct ahead ahead = ahead_begin(state, "cuda:4", 4);
        struct pw_session *session = ahead.scene.host->session;
        struct pw_program *other = copies(&ahead);
        struct pw_future *result, *behind;
        int64_t start_us;

        for (int i = 1; i <= 2; i++) {
                result = run(&ahead, NEVER_ENDS);
                it_until(session, "status", have_launched, &(int){ 8 * i });
                others_stop(&ahead);
                assert_true(it_signal_executor(ahead.scene.host, "h0:2", SIGKILL));
                behind = run_of(&ahead, other, NEVER_ENDS);
                it_until(session, "devices", is_ready, &(int){ 2 * i - 1 });
                it_until(session, "gangs", is_at_function, NULL);
                assert_true(it_signal_executor(ahead.scene.host, "h0:2", SIGKILL));
                it_until(session, "devices", is_ready, &(int){ 2 * i });
                others_go_on(&ahead);
                start_us = it_now_us();
                it_fails_with(result, PW_CRASHED, "h0:2|SIGKILL");
                it_within("the others have given up", start_us, IT_SECOND / 5); /* not by the rule for what nobody thought of */
                it_fails_with(behind, PW_CRASHED, "h0:2|SIGKILL");
                pw_unref(result);
                pw_unref(behind);
                expect_right(&ahead, 1);
        }
        pw_program_free(other);
        ahead_end(&ahead);
}

/* So many gangs of devices: the function, and all that added. */
static bool have_failed(const struct pw_listing *gangs, void *context)
{
        int failed = 0;

        for (size_t i = 0; i < it_rows(gangs); i++)
                failed += !strcmp(it_text(gangs, i, "state"), "failed");
        return failed == *(const int *)context;
}

/* They have added what was no value: all find that, and who is to blame. The communicator is as good as before. */
static void behind_a_function_that_fails(void **state)
{
        struct ahead ahead = ahead_begin(state, "cuda:4", 4);
        struct pw_future *result;

        for (int i = 1; i <= 3; i++) {
                result = run(&ahead, FAILS);
                it_fails_with(result, PW_FAILED, "gpu/moody|h0:2|the first fault");
                pw_unref(result);
                it_until(ahead.scene.host->session, "gangs", have_failed, &(int){ 5 * i });
                assert_int_equal(nccl_calls_of("ncclAllReduce"), 12 * i - 4);
                expect_right(&ahead, 1);
                expect_right(&ahead, IS_LATE);
                assert_int_equal(nccl_calls_of("ncclAllReduce"), 12 * i + 4);
        }
        assert_int_equal(nccl_calls_of("ncclCommInitRankConfig"), 4);
        ahead_end(&ahead);
}

/* Two of them are one GPU, which NCCL does not take: members find that when all have come, and read each other's rooms, as each is
 * made. */
static void by_no_joint_after_all(void **state)
{
        struct ahead ahead = ahead_begin(state, "cuda@0,1,3,0", 4);
        struct pw_future *result;

        for (int i = 1; i <= 3; i++) {
                expect_right(&ahead, IS_LATE);
                result = run(&ahead, FAILS);
                it_fails_with(result, PW_FAILED, "gpu/moody|h0:2|the first fault");
                pw_unref(result);
        }
        ahead_end(&ahead);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(behind_a_function_that_does_not_end),
                                            IT_FOLDER_TEST(behind_another_run), IT_FOLDER_TEST(and_ends_again_behind_it),
                                            IT_FOLDER_TEST(behind_a_function_that_fails), IT_FOLDER_TEST(by_no_joint_after_all) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
