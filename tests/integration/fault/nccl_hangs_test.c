/* Calls of NCCL that do not come back: their executors are ended at the limit of what they are in, or as its run is over; who
 * waited for them goes on, and so do others. Over the fakes of both libraries. */
#include "tests/integration/work/nccl_scene.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define CHAIN 8

/* CHAIN calls that are launched one behind another, without a sum or with one at the end. */
static struct pw_program *chain(const struct nccl_scene *scene, bool summed)
{
        struct pw_program *program = pw_program_new(scene->host->session, summed ? "test/summed" : "test/chain");
        struct pw_value *value = pw_input(program, scene->slice, PW_F64, PW_DIMS(NCCL_ELEMENTS), PW_BROADCAST, 0);

        for (int i = 0; i < CHAIN; i++)
                value = pw_call(program, scene->slice, "pw/nop", PW_ARGS(value),
                                summed && i == CHAIN - 1 ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        pw_result(program, summed ? pw_as(value, PW_BROADCAST) : value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static struct nccl_scene begin(void **state, const char *call, const char *limit)
{
        char conf[100], option[60];

        snprintf(conf, sizeof conf, "delay_us = 0\nfail = %s=-1\n", call);
        snprintf(option, sizeof option, "--function-limit=%s", limit);
        return nccl_scene_over(nccl_begin_with(state, "cuda:4", conf, NULL, option), 4);
}

static void others_go_on(const struct nccl_scene *scene)
{
        struct pw_program *program = chain(scene, false);

        nccl_expect_sum(it_run_1(program, scene->input), 1);
        pw_program_free(program);
}

static bool calls_nccl(const struct pw_listing *devices, void *context)
{
        const struct nccl_scene *scene = context;
        struct pw_listing *why = it_list(scene->host->session, "why", "h0:1");
        bool found = false;

        (void)devices;
        for (size_t i = 0; i < it_rows(why); i++)
                found |= strstr(it_text(why, i, "waits_for"), "NCCL, called for all-reduce of run") != NULL;
        pw_listing_free(why);
        return found;
}

/* In the first sum, while the library is opened, as rank 0 makes an id, and as a communicator is made. */
static void at_first(void **state)
{
        static const char *const calls[] = { "ncclGetVersion@1", "ncclGetUniqueId@1", "ncclCommInitRankConfig@1",
                                             "ncclCommGetAsyncError@1", "ncclAllReduce@1" };

        for (size_t i = 0; i < pw_array_count(calls); i++) {
                struct nccl_scene scene = begin(state, calls[i], "1s");
                struct pw_future *result;
                int64_t start_us = it_now_us();

                print_message("%s\n", calls[i]);
                result = it_run_1(scene.program, scene.input);
                it_until(scene.host->session, "devices", calls_nccl, &scene);
                it_fails_with(result, PW_TIME_LIMIT, "all-reduce");
                it_within("the run has failed", start_us, 4 * IT_SECOND); /* its limit, and two to give it up */
                pw_unref(result);
                others_go_on(&scene);
                nccl_scene_end(&scene);
        }
}

/* Of processes that end as they make a communicator three in a row are enough: from then on GPUs read each other's memory. */
static void again_and_again(void **state)
{
        struct nccl_scene scene = begin(state, "ncclCommInitRankConfig@1", "200ms");

        for (int i = 0; i < 3; i++) {
                struct pw_future *result = it_run_1(scene.program, scene.input);

                it_fails_with(result, PW_TIME_LIMIT, "all-reduce");
                pw_unref(result);
        }
        for (int i = 0; i < 2; i++)
                nccl_expect_sum(it_run_1(scene.program, scene.input), 4);
        assert_true(it_has_said(scene.host, "read each other's memory from now on text=\"3 processes ended as they made one\""));
        nccl_scene_end(&scene);
}

/* It is launched behind functions, which are not to blame. */
static void behind_functions(void **state)
{
        struct nccl_scene scene = begin(state, "ncclAllReduce@3", "1s");
        struct pw_program *program = chain(&scene, true);
        struct pw_future *result;
        struct pw_error err = { PW_OK, "" };
        struct pw_view view;
        int64_t start_us;

        for (int i = 0; i < 2; i++)
                nccl_expect_sum(it_run_1(program, scene.input), 4);
        start_us = it_now_us();
        result = it_run_1(program, scene.input);
        assert_int_not_equal(pw_get(result, IT_LONG, &view, &err), PW_OK);
        print_message("%s %s\n", pw_status_name(err.status), err.text);
        assert_true(err.status == PW_TIME_LIMIT ? strstr(err.text, "all-reduce") != NULL :
                                                  err.status == PW_DEVICE_LOST && strstr(err.text, "launched behind it"));
        assert_non_null(strstr(err.text, "over its time limit of 1 s"));
        it_within("the run has failed", start_us, 4 * IT_SECOND);
        pw_unref(result);
        nccl_expect_sum(it_run_1(program, scene.input), 4); /* who was ended counts its calls anew */
        pw_program_free(program);
        nccl_scene_end(&scene);
}

/* Nothing has a limit, but its run a deadline. */
static void at_a_deadline(void **state)
{
        static const char *const calls[] = { "ncclGetUniqueId@1", "ncclCommInitRankConfig@1" };

        for (size_t i = 0; i < pw_array_count(calls); i++) {
                struct nccl_scene scene = begin(state, calls[i], "0");
                struct pw_run_params params = { .deadline_us = IT_SECOND };
                struct pw_future *result;
                int64_t start_us = it_now_us();

                it_ok(pw_run_with(scene.program, PW_FUTURES(scene.input), &params, &result, IT_ERR));
                it_fails_with(result, PW_DEADLINE, "all-reduce of run");
                pw_unref(result);
                others_go_on(&scene);
                it_within("the devices are free", start_us, 4 * IT_SECOND);
                nccl_scene_end(&scene);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(at_first), IT_FOLDER_TEST(again_and_again),
                                            IT_FOLDER_TEST(behind_functions),
                                            IT_FOLDER_TEST(at_a_deadline) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
