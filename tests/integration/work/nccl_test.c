/* All-reduces of GPUs by NCCL, over the fakes of both libraries: which way they go, and what goes wrong there. */
#include "tests/integration/folder.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/work/nccl_scene.h"

#include "base/memory.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SLOW "delay_us = 150000\n" /* of each step: there is time to look, and to kill */

/* --- which way ---------------------------------------------------------------------------------------------------------------- */

/* The call that fails says that it goes by NCCL; it is said in its words, and the next one makes another communicator. */
static void by_nccl(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, "fail = ncclAllReduce@3=1\nrefuse_nvls = 1\n", NULL);

        nccl_expect_way(&scene, "nccl");
        nccl_expect_right(&scene);
        nccl_expect_right(&scene);
        nccl_expect_way(&scene, "nccl");
        nccl_expect_fails(&scene, PW_SYSTEM, "an all-reduce|ncclUnhandledCudaError");
        for (uint32_t i = 0; i < 3; i++)
                nccl_expect_right(&scene);
        nccl_scene_end(&scene);
}

static void without_it(void **state)
{
        static const struct { const char *conf, *library, *said, *advised; } cases[] = {
                { NULL, "/nowhere/libnccl.so.2", "/nowhere/libnccl.so.2", "let --nccl-library name" },
                { "version = 22700\n", NULL, "too old: is 2.27, needs 2.28", "install a newer one" },
        };

        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct nccl_scene scene = nccl_scene_begin(state, cases[i].conf, cases[i].library);

                nccl_expect_right(&scene);
                nccl_expect_right(&scene);
                nccl_expect_way(&scene, "peer");
                assert_true(it_has_said(scene.host, "warning executor h0:0: no NCCL, GPUs read each other's memory text="));
                assert_true(it_has_said(scene.host, cases[i].said));
                assert_true(it_has_said(scene.host, cases[i].advised));
                nccl_scene_end(&scene);
        }
}

/* A communicator with sums in switches fails here: so that is what it was asked for. */
static void sums_in_switches(void **state)
{
        struct nccl_scene scene = nccl_scene_over(nccl_begin_with(state, "cuda:4", "refuse_nvls = 1\n", NULL, "--nccl-nvls"), 4);

        nccl_expect_fails(&scene, PW_SYSTEM, "no NVLS");
        nccl_scene_end(&scene);
}

/* Bytes go by memory of NCCL's own. */
static void without_registered_memory(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, "refuse_register = 2\n", NULL);

        for (uint32_t i = 0; i < 3; i++)
                nccl_expect_right(&scene);
        assert_true(it_has_said(scene.host, "NCCL goes without registered memory"));
        nccl_scene_end(&scene);
}

/* NCCL takes none twice: it is not tried. */
static void one_gpu_twice(void **state)
{
        struct nccl_scene scene = nccl_scene_over(nccl_begin_with(state, "cuda@0,1,0", NULL, NULL, NULL), 3);

        nccl_expect_way(&scene, "peer");
        for (uint32_t i = 0; i < 2; i++)
                nccl_expect_sum(it_run_1(scene.program, scene.input), 3);
        nccl_scene_end(&scene);
}

/* Where communicators cannot be made some runs fail, and then GPUs go on without NCCL. An executor that is new would take part, and
 * does as the others. */
static void no_communicator(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, "fail = ncclCommInitRankConfig@1=1,ncclCommInitRankConfig@2=1,"
                                                "ncclCommInitRankConfig@3=1,ncclCommInitRankConfig@4=1\n", NULL);
        int64_t start_us;

        for (uint32_t i = 0; i < 3; i++)
                nccl_expect_fails(&scene, PW_SYSTEM, "making a communicator|ncclUnhandledCudaError");
        for (uint32_t i = 0; i < 3; i++)
                nccl_expect_right(&scene);
        assert_true(it_has_said(scene.host, "no communicator, GPUs read each other's memory from now on"));
        start_us = it_now_us();
        assert_true(it_signal_executor(scene.host, "h0:2", SIGKILL));
        it_back_within_a_second(scene.host->session, 1, start_us);
        for (uint32_t i = 0; i < 3; i++)
                nccl_expect_right(&scene);
        nccl_scene_end(&scene);
}

/* --- what goes wrong ---------------------------------------------------------------------------------------------------------- */

static void a_member_without_a_value(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, NULL, NULL);
        struct pw_program *bad = nccl_reducer(scene.host, scene.slice, "gpu/refuse", 1);
        struct pw_future *result;

        for (uint32_t i = 0; i < 3; i++) {
                result = it_run_1(bad, scene.input);
                it_fails_with(result, PW_FAILED, "gpu/refuse|h0:0");
                pw_unref(result);
                nccl_expect_right(&scene);
        }
        pw_program_free(bad);
        nccl_scene_end(&scene);
}

/* So many members are in the all-reduce. */
static bool are_in_it(const struct pw_listing *gangs, void *context)
{
        int running = 0;

        for (size_t i = 0; i < it_rows(gangs); i++)
                running += strstr(it_text(gangs, i, "node"), "all-reduce") &&
                           (!strcmp(it_text(gangs, i, "state"), "running") || !strcmp(it_text(gangs, i, "state"), "waiting"));
        return running >= *(const int *)context;
}

static bool have_an_id(const struct pw_listing *status, void *context)
{
        DIR *folder = opendir(nccl_gpus.folder);
        const struct dirent *entry;
        bool have = false;
        (void)status;
        (void)context;

        while (folder && !have && (entry = readdir(folder)))
                have = !strncmp(entry->d_name, "nccl-", 5);
        if (folder)
                closedir(folder);
        return have;
}

static void kill_and_go_on(const struct nccl_scene *scene, struct pw_future *result, const char *device, int restarts)
{
        char texts[40];
        int64_t start_us;

        assert_true(it_signal_executor(scene->host, device, SIGKILL));
        start_us = it_now_us();
        snprintf(texts, sizeof texts, "%s|SIGKILL", device);
        it_fails_with(result, PW_CRASHED, texts);
        it_within("the run has failed", start_us, 2 * IT_SECOND);
        pw_unref(result);
        it_back_within_a_second(scene->host->session, restarts, start_us);
        nccl_expect_right(scene);
}

/* It had begun nothing, so the next executor does, without the communicator that the others have: they make another. */
static void killed_before_it_began(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, NULL, NULL);
        struct pw_future *result;
        int64_t start_us;

        nccl_expect_right(&scene);
        for (int i = 0; i < 3; i++) {
                nccl_stop(scene.host, (size_t)i);
                result = it_run_1(scene.program, scene.input);
                it_until(scene.host->session, "gangs", are_in_it, &(int){ 3 });
                start_us = it_now_us();
                assert_true(it_signal_executor(scene.host, (const char *const[]){ "h0:0", "h0:1", "h0:2" }[i], SIGKILL));
                nccl_expect_sum(result, 4);
                it_within("the run goes on", start_us, 2 * IT_SECOND);
                it_back_within_a_second(scene.host->session, i + 1, start_us);
        }
        nccl_scene_end(&scene);
}

/* Of rank 0 too, which makes the id. */
static void killed_as_they_meet(void **state)
{
        static const char *const devices[] = { "h0:1", "h0:0" };

        for (size_t i = 0; i < pw_array_count(devices); i++) {
                struct nccl_scene scene = nccl_scene_begin(state, SLOW, NULL);
                struct pw_future *result = it_run_1(scene.program, scene.input);

                it_until(scene.host->session, "status", have_an_id, NULL);
                kill_and_go_on(&scene, result, devices[i], 1);
                nccl_scene_end(&scene);
        }
}

/* The communicator is there: what is slow is the collective. */
static void killed_in_it(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, SLOW, NULL);
        struct pw_future *result;

        nccl_expect_right(&scene);
        for (int i = 0; i < 3; i++) {
                result = it_run_1(scene.program, scene.input);
                it_until(scene.host->session, "gangs", are_in_it, &(int){ 4 });
                kill_and_go_on(&scene, result, "h0:2", i + 1);
        }
        nccl_scene_end(&scene);
}

static bool are_back(const struct pw_listing *devices, void *context)
{
        int64_t restarts = 0;
        (void)context;

        for (size_t i = 0; i < it_rows(devices); i++) {
                restarts += it_number(devices, i, "restarts");
                if (strcmp(it_text(devices, i, "state"), "ready"))
                        return false;
        }
        return restarts >= 4;
}

/* Nothing of it moves by itself: what NCCL does is said, and how it can be ended. */
static void why_it_waits(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, SLOW, NULL);
        struct pw_session *session = scene.host->session;
        struct pw_future *result = it_run_1(scene.program, scene.input);

        it_until(session, "gangs", are_in_it, &(int){ 4 });
        it_chain_expect(scene.host, "h0:1", "NCCL to connect the 4 devices of all-reduce of run 1");
        it_chain_expect(scene.host, "h0:1", "NCCL to do all-reduce of run 1, which all 4 devices have launched");
        nccl_expect_sum(result, 4);
        nccl_stop(scene.host, 2);
        result = it_run_1(scene.program, scene.input);
        it_until(session, "gangs", are_in_it, &(int){ 3 });
        it_chain_expect(scene.host, "h0:1", "device h0:2 to come to all-reduce of run 2");
        it_chain_expect(scene.host, "h0:1", "its executor, process");
        assert_true(it_signal_executor(scene.host, "h0:2", SIGCONT));
        nccl_expect_sum(result, 4);
        nccl_scene_end(&scene);
}

/* An abort that does not return ends its executor, with a sentence, and all devices are back. */
static void an_abort_that_hangs(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, "fail = ncclAllReduce@2=2\nhang_abort = 1\n", NULL);

        nccl_expect_right(&scene);
        nccl_expect_fails(&scene, PW_CRASHED, "NCCL|abort");
        it_until(scene.host->session, "devices", are_back, NULL);
        nccl_expect_right(&scene);
        nccl_scene_end(&scene);
}

/* Nobody can meet, and all are told why. */
static void no_id(void **state)
{
        struct nccl_scene scene = nccl_scene_begin(state, "fail = ncclGetUniqueId@1=2\n", NULL);

        nccl_expect_fails(&scene, PW_SYSTEM, "an id for a communicator|ncclSystemError|--no-nccl");
        for (uint32_t i = 0; i < 3; i++)
                nccl_expect_right(&scene);
        nccl_scene_end(&scene);
}

/* A communicator that never comes is given up, and its devices are there for others, with all that lies there. */
static void does_not_end(void **state, const char *option, int64_t deadline_us, enum pw_status status, const char *texts)
{
        struct it_host *host = nccl_begin_with(state, "cuda:4", "delay_us = 600000000\n", NULL, option);
        struct nccl_scene scene = nccl_scene_over(host, 4);
        struct pw_program *other = it_one_node(host->session, scene.slice, "pw/nop", PW_DIMS(NCCL_ELEMENTS), NULL);
        struct pw_future *before = it_run_1(other, scene.input), *result;
        int64_t since_us = it_now_us();

        it_ok(pw_run_with(scene.program, &scene.input, 1, &(struct pw_run_params){ .deadline_us = deadline_us }, &result, IT_ERR));
        if (!deadline_us)
                it_chain_expect(host, "h0:1", "pathwaysd has it given up, at its time limit of 1 s");
        it_fails_with(result, status, texts);
        pw_unref(result);
        nccl_expect_sum(it_run_1(other, scene.input), 1);
        it_within("others have the devices", since_us, 2 * IT_SECOND);
        nccl_expect_sum(before, 1);
        assert_int_equal(it_listed(host->session, "devices", "restarts"), 0);
        pw_program_free(other);
        nccl_scene_end(&scene);
}

static void over_the_limit(void **state)
{
        does_not_end(state, "--function-limit=1s", 0, PW_TIME_LIMIT, "all-reduce|together took longer than a function may");
}

static bool is_back(const struct pw_listing *devices, void *context)
{
        size_t device = *(const size_t *)context;

        return it_number(devices, device, "restarts") == 1 && !strcmp(it_text(devices, device, "state"), "ready");
}

/* One of them does not give it up, as it does nothing: it is ended, and the others are as they were. */
static void one_does_nothing(void **state)
{
        struct it_host *host = nccl_begin_with(state, "cuda:4", "delay_us = 600000000\n", NULL, "--function-limit=1s");
        struct nccl_scene scene = nccl_scene_over(host, 4);
        struct pw_program *other = it_one_node(host->session, scene.slice, "pw/nop", PW_DIMS(NCCL_ELEMENTS), NULL);
        struct pw_future *result = it_run_1(scene.program, scene.input);

        it_until(host->session, "gangs", are_in_it, &(int){ 4 });
        nccl_stop(host, 2);
        it_fails_with(result, PW_TIME_LIMIT, "all-reduce|together took longer than a function may");
        it_until(host->session, "devices", is_back, &(size_t){ 2 });
        assert_int_equal(it_listed(host->session, "devices", "restarts"), 0);
        pw_unref(result);
        nccl_expect_sum(it_run_1(other, scene.input), 1);
        pw_program_free(other);
        nccl_scene_end(&scene);
}

static void over_its_deadline(void **state) { does_not_end(state, NULL, 300000, PW_DEADLINE, "deadline"); }

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(by_nccl),          IT_FOLDER_TEST(without_it),      IT_FOLDER_TEST(no_communicator),
                IT_FOLDER_TEST(without_registered_memory), IT_FOLDER_TEST(sums_in_switches), IT_FOLDER_TEST(one_gpu_twice),
                IT_FOLDER_TEST(a_member_without_a_value),
                IT_FOLDER_TEST(killed_in_it),     IT_FOLDER_TEST(killed_before_it_began),
                IT_FOLDER_TEST(killed_as_they_meet), IT_FOLDER_TEST(an_abort_that_hangs), IT_FOLDER_TEST(why_it_waits),
                IT_FOLDER_TEST(no_id),            IT_FOLDER_TEST(over_the_limit),   IT_FOLDER_TEST(over_its_deadline),
                IT_FOLDER_TEST(one_does_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
