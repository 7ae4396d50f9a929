/* All-reduces of GPUs by NCCL, over the fakes of both libraries: which way they go, and what goes wrong there. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/scene.h"
#include "tests/integration/trace.h"

#include "base/memory.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTS 12u
#define SLOW "delay_us = 150000\n" /* of each step: there is time to look, and to kill */

static struct it_gpus gpus;

static struct it_host *begin(void **state, const char *conf, const char *nccl)
{
        struct it_host *host = *state;

        it_gpus_init(&gpus, NULL);
        it_gpus_nccl(&gpus, conf);
        it_start(host, IT_ARGS("--devices", "cuda:4", "--cuda-driver", gpus.driver, "--nccl-library", nccl ? nccl : gpus.nccl,
                               "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
}

/* What each device holds, through `function`, and summed `times` times. */
static struct pw_program *reducer(struct it_host *host, struct pw_slice *slice, const char *function, uint32_t times)
{
        struct pw_program *program = pw_program_new(host->session, "test/reducer");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(ELEMENTS), PW_BROADCAST, 0);

        for (uint32_t i = 0; i < times; i++) {
                value = pw_call(program, slice, i ? "pw/nop" : function, PW_ARGS(value), PW_PARTIAL(PW_SUM));
                value = pw_as(value, PW_BROADCAST);
        }
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

struct scene { struct it_host *host; struct pw_slice *slice; struct pw_program *program; struct pw_future *input; };

static struct scene scene_begin(void **state, const char *conf, const char *nccl)
{
        struct scene scene = { .host = begin(state, conf, nccl) };

        scene.slice = it_slice(scene.host->session, 4, 1);
        scene.program = reducer(scene.host, scene.slice, "pw/nop", 1);
        scene.input = it_put_f64(scene.host->session, PW_DIMS(ELEMENTS), 1);
        return scene;
}

static void scene_end(struct scene *scene)
{
        pw_unref(scene->input);
        pw_program_free(scene->program);
        pw_slice_close(scene->slice);
        end(scene->host);
}

static void expect_sum(struct pw_future *result, double times)
{
        double expected[ELEMENTS];

        for (uint32_t i = 0; i < ELEMENTS; i++)
                expected[i] = times * (i + 1);
        it_expect_f64(result, expected, ELEMENTS);
        pw_unref(result);
}

static void expect_right(const struct scene *scene) { expect_sum(it_run_1(scene->program, scene->input), 4); }
static void expect_fails(const struct scene *scene, enum pw_status status, const char *texts)
{
        struct pw_future *result = it_run_1(scene->program, scene->input);

        it_fails_with(result, status, texts);
        pw_unref(result);
}

/* --- which way ---------------------------------------------------------------------------------------------------------------- */

/* What is said of the all-reduce, before it was tried or behind. */
static void expect_way(const struct scene *scene, const char *way)
{
        struct pw_session *session = scene->host->session;
        char program[32];
        struct pw_listing *nodes;

        snprintf(program, sizeof program, "%lld", (long long)it_listed(session, "programs", "program"));
        nodes = it_list(session, "programs", program);
        assert_string_equal(it_text(nodes, it_find(nodes, "name", "all-reduce"), "way"), way);
        assert_string_equal(it_text(nodes, it_find(nodes, "name", "pw/nop"), "way"), "");
        pw_listing_free(nodes);
}

/* The call that fails says that it goes by NCCL; it is said in its words, and the next one makes another communicator. */
static void by_nccl(void **state)
{
        struct scene scene = scene_begin(state, "fail = ncclAllReduce@3=1\nrefuse_nvls = 1\n", NULL);

        expect_way(&scene, "nccl");
        expect_right(&scene);
        expect_right(&scene);
        expect_way(&scene, "nccl");
        expect_fails(&scene, PW_SYSTEM, "an all-reduce|ncclUnhandledCudaError");
        for (uint32_t i = 0; i < 3; i++)
                expect_right(&scene);
        scene_end(&scene);
}

static void without_it(void **state)
{
        static const struct { const char *conf, *library, *said, *advised; } cases[] = {
                { NULL, "/nowhere/libnccl.so.2", "/nowhere/libnccl.so.2", "install NCCL 2.28 or newer" },
                { "version = 22700\n", NULL, "too old: is 2.27, needs 2.28", "install a newer one" },
        };

        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct scene scene = scene_begin(state, cases[i].conf, cases[i].library);

                expect_right(&scene);
                expect_right(&scene);
                expect_way(&scene, "peer");
                assert_true(it_has_said(scene.host, "no NCCL, GPUs read each other's memory device=0"));
                assert_true(it_has_said(scene.host, cases[i].said));
                assert_true(it_has_said(scene.host, cases[i].advised));
                scene_end(&scene);
        }
}

/* A communicator with sums in switches fails here: so that is what it was asked for. */
static void sums_in_switches(void **state)
{
        struct it_host *host = *state;
        struct scene scene = { .host = host };

        it_gpus_init(&gpus, NULL);
        it_gpus_nccl(&gpus, "refuse_nvls = 1\n");
        it_start(host, IT_ARGS("--devices", "cuda:4", "--cuda-driver", gpus.driver, "--nccl-library", gpus.nccl, "--nccl-nvls",
                               "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        scene.slice = it_slice(host->session, 4, 1);
        scene.program = reducer(host, scene.slice, "pw/nop", 1);
        scene.input = it_put_f64(host->session, PW_DIMS(ELEMENTS), 1);
        expect_fails(&scene, PW_SYSTEM, "no NVLS");
        scene_end(&scene);
}

/* Bytes go by memory of NCCL's own. */
static void without_registered_memory(void **state)
{
        struct scene scene = scene_begin(state, "refuse_register = 2\n", NULL);

        for (uint32_t i = 0; i < 3; i++)
                expect_right(&scene);
        assert_true(it_has_said(scene.host, "NCCL goes without registered memory"));
        scene_end(&scene);
}

/* NCCL takes none twice: it is not tried. */
static void one_gpu_twice(void **state)
{
        struct it_host *host = *state;
        struct scene scene = { .host = host };

        it_gpus_init(&gpus, NULL);
        it_gpus_nccl(&gpus, NULL);
        it_start(host, IT_ARGS("--devices", "cuda@0,1,0", "--cuda-driver", gpus.driver, "--nccl-library", gpus.nccl,
                               "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        scene.slice = it_slice(host->session, 3, 1);
        scene.program = reducer(host, scene.slice, "pw/nop", 1);
        scene.input = it_put_f64(host->session, PW_DIMS(ELEMENTS), 1);
        expect_way(&scene, "peer");
        for (uint32_t i = 0; i < 2; i++)
                expect_sum(it_run_1(scene.program, scene.input), 3);
        scene_end(&scene);
}

/* Where communicators cannot be made some runs fail, and then GPUs go on without NCCL. */
static void no_communicator(void **state)
{
        struct scene scene = scene_begin(state, "fail = ncclCommInitRankConfig@1=1,ncclCommInitRankConfig@2=1,"
                                                "ncclCommInitRankConfig@3=1,ncclCommInitRankConfig@4=1\n", NULL);

        for (uint32_t i = 0; i < 3; i++)
                expect_fails(&scene, PW_SYSTEM, "making a communicator|ncclUnhandledCudaError");
        for (uint32_t i = 0; i < 3; i++)
                expect_right(&scene);
        assert_true(it_has_said(scene.host, "no communicator, GPUs read each other's memory from now on"));
        scene_end(&scene);
}

/* --- what goes wrong ---------------------------------------------------------------------------------------------------------- */

static void a_member_without_a_value(void **state)
{
        struct scene scene = scene_begin(state, NULL, NULL);
        struct pw_program *bad = reducer(scene.host, scene.slice, "gpu/refuse", 1);
        struct pw_future *result;

        for (uint32_t i = 0; i < 3; i++) {
                result = it_run_1(bad, scene.input);
                it_fails_with(result, PW_FAILED, "gpu/refuse|h0:0");
                pw_unref(result);
                expect_right(&scene);
        }
        pw_program_free(bad);
        scene_end(&scene);
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
        DIR *folder = opendir(gpus.folder);
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

static void kill_and_go_on(const struct scene *scene, struct pw_future *result, const char *device, int restarts)
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
        expect_right(scene);
}

/* It is stopped when its state says so, not when the signal was sent. */
static void stop(const struct it_host *host, size_t device)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);
        pid_t executor = (pid_t)it_number(devices, device, "pid");
        char path[40], state = 0;
        FILE *file;

        pw_listing_free(devices);
        assert_int_equal(kill(executor, SIGSTOP), 0);
        snprintf(path, sizeof path, "/proc/%d/stat", (int)executor);
        while (state != 'T') {
                file = fopen(path, "re");
                assert_non_null(file);
                assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
                fclose(file);
        }
}

/* It had begun nothing, so the next executor does, without the communicator that the others have: they make another. */
static void killed_before_it_began(void **state)
{
        struct scene scene = scene_begin(state, NULL, NULL);
        struct pw_future *result;
        int64_t start_us;

        expect_right(&scene);
        for (int i = 0; i < 3; i++) {
                stop(scene.host, (size_t)i);
                result = it_run_1(scene.program, scene.input);
                it_until(scene.host->session, "gangs", are_in_it, &(int){ 3 });
                start_us = it_now_us();
                assert_true(it_signal_executor(scene.host, (const char *const[]){ "h0:0", "h0:1", "h0:2" }[i], SIGKILL));
                expect_sum(result, 4);
                it_within("the run goes on", start_us, 2 * IT_SECOND);
                it_back_within_a_second(scene.host->session, i + 1, start_us);
        }
        scene_end(&scene);
}

/* Of rank 0 too, which makes the id. */
static void killed_as_they_meet(void **state)
{
        static const char *const devices[] = { "h0:1", "h0:0" };

        for (size_t i = 0; i < pw_array_count(devices); i++) {
                struct scene scene = scene_begin(state, SLOW, NULL);
                struct pw_future *result = it_run_1(scene.program, scene.input);

                it_until(scene.host->session, "status", have_an_id, NULL);
                kill_and_go_on(&scene, result, devices[i], 1);
                scene_end(&scene);
        }
}

/* The communicator is there: what is slow is the collective. */
static void killed_in_it(void **state)
{
        struct scene scene = scene_begin(state, SLOW, NULL);
        struct pw_future *result;

        expect_right(&scene);
        for (int i = 0; i < 3; i++) {
                result = it_run_1(scene.program, scene.input);
                it_until(scene.host->session, "gangs", are_in_it, &(int){ 4 });
                kill_and_go_on(&scene, result, "h0:2", i + 1);
        }
        scene_end(&scene);
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
        struct scene scene = scene_begin(state, SLOW, NULL);
        struct pw_session *session = scene.host->session;
        struct pw_future *result = it_run_1(scene.program, scene.input);

        it_until(session, "gangs", are_in_it, &(int){ 4 });
        it_chain_expect(scene.host, "h0:1", "NCCL to connect the 4 devices of all-reduce of run 1");
        it_chain_expect(scene.host, "h0:1", "NCCL to do all-reduce of run 1, which all 4 devices have launched");
        expect_sum(result, 4);
        stop(scene.host, 2);
        result = it_run_1(scene.program, scene.input);
        it_until(session, "gangs", are_in_it, &(int){ 3 });
        it_chain_expect(scene.host, "h0:1", "device h0:2 to come to all-reduce of run 2");
        it_chain_expect(scene.host, "h0:1", "its executor, process");
        assert_true(it_signal_executor(scene.host, "h0:2", SIGCONT));
        expect_sum(result, 4);
        scene_end(&scene);
}

/* An abort that does not return ends its executor, with a sentence, and all devices are back. */
static void an_abort_that_hangs(void **state)
{
        struct scene scene = scene_begin(state, "fail = ncclAllReduce@2=2\nhang_abort = 1\n", NULL);

        expect_right(&scene);
        expect_fails(&scene, PW_CRASHED, "NCCL|abort");
        it_until(scene.host->session, "devices", are_back, NULL);
        expect_right(&scene);
        scene_end(&scene);
}

/* --- how many ------------------------------------------------------------------------------------------------------------- */

/* How often the executors called `function`. */
static int calls_of(const char *function)
{
        char path[96], line[200], name[64];
        FILE *file;
        int count = 0;

        snprintf(path, sizeof path, "%s/trace", gpus.folder);
        file = fopen(path, "re");
        assert_non_null(file);
        while (fgets(line, sizeof line, file))
                count += sscanf(line, "%*d %63s", name) == 1 && !strcmp(name, function);
        fclose(file);
        return count;
}

/* One is kept: two programs of other devices each have their own closed for that of the other, and what is registered with it. */
static void one_at_a_time(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2];
        struct pw_program *programs[2];
        struct pw_future *input;

        it_gpus_init(&gpus, NULL);
        it_gpus_nccl(&gpus, "trace = trace\n");
        it_start(host, IT_ARGS("--devices", "cuda:4", "--cuda-driver", gpus.driver, "--nccl-library", gpus.nccl,
                               "--nccl-communicators", "1", "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        for (uint32_t i = 0; i < 2; i++) {
                slices[i] = it_slice(host->session, 4 - i, 1);
                programs[i] = reducer(host, slices[i], "pw/nop", 1);
        }
        input = it_put_f64(host->session, PW_DIMS(ELEMENTS), 1);
        for (uint32_t k = 0; k < 6; k++)
                expect_sum(it_run_1(programs[k / 2 % 2], input), 4 - k / 2 % 2);
        for (uint32_t i = 0; i < 2; i++) {
                pw_program_free(programs[i]);
                pw_slice_close(slices[i]);
        }
        pw_unref(input);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_int_equal(calls_of("ncclAllReduce"), 2 * (4 + 3 + 4));
        assert_int_equal(calls_of("ncclCommInitRankConfig"), 4 + 3 + 4);
        assert_int_equal(calls_of("ncclCommRegister"), 4 + 3 + 4);
        assert_int_equal(calls_of("ncclCommDestroy"), 3 + 3);
        assert_int_equal(calls_of("ncclCommDeregister"), 3 + 3);
        it_gpus_done(&gpus);
}

/* --- order -------------------------------------------------------------------------------------------------------------------- */

#define OVERLAPPING 3u
#define RUNS 4u

/* Sets of devices that overlap, each of another program, in runs beside each other. */
static void overlap(struct it_host *host, struct pw_future *input, uint64_t seed)
{
        struct pw_slice *slices[OVERLAPPING];
        struct pw_program *programs[OVERLAPPING];
        struct pw_future *results[OVERLAPPING][RUNS];
        double expected[OVERLAPPING];

        for (uint32_t i = 0; i < OVERLAPPING; i++) {
                uint32_t devices = 2 + (uint32_t)(it_random(&seed) % 3), times = 1 + (uint32_t)(it_random(&seed) % 3);

                slices[i] = it_slice(host->session, devices, 1);
                programs[i] = reducer(host, slices[i], "pw/nop", times);
                expected[i] = 1;
                while (times--)
                        expected[i] *= devices;
        }
        for (uint32_t k = 0; k < RUNS; k++)
                for (uint32_t i = 0; i < OVERLAPPING; i++)
                        results[i][k] = it_run_1(programs[i], input);
        for (uint32_t k = 0; k < RUNS; k++)
                for (uint32_t i = 0; i < OVERLAPPING; i++)
                        expect_sum(results[i][k], expected[i]);
        for (uint32_t i = 0; i < OVERLAPPING; i++) {
                pw_program_free(programs[i]);
                pw_slice_close(slices[i]);
        }
}

/* All launch in the order of the island, whatever their sets are. Two communicators are kept, so each set makes those of others go.
 * PW_OVERLAPS is how many seeds, PW_SEED the first. */
static void overlapping_sets(void **state)
{
        struct it_host *host = *state;
        uint64_t count = it_environment("PW_OVERLAPS", 8), first = it_environment("PW_SEED", 1);
        struct pw_future *input;

        it_gpus_init(&gpus, NULL);
        it_gpus_nccl(&gpus, NULL);
        it_start(host, IT_ARGS("--devices", "cuda:4", "--cuda-driver", gpus.driver, "--nccl-library", gpus.nccl,
                               "--nccl-communicators", "2", "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        input = it_put_f64(host->session, PW_DIMS(ELEMENTS), 1);
        for (uint64_t i = 0; i < count; i++)
                overlap(host, input, first + i);
        pw_unref(input);
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(by_nccl),          IT_FOLDER_TEST(without_it),      IT_FOLDER_TEST(no_communicator),
                IT_FOLDER_TEST(without_registered_memory), IT_FOLDER_TEST(sums_in_switches), IT_FOLDER_TEST(one_gpu_twice),
                IT_FOLDER_TEST(one_at_a_time),    IT_FOLDER_TEST(overlapping_sets), IT_FOLDER_TEST(a_member_without_a_value),
                IT_FOLDER_TEST(killed_in_it),     IT_FOLDER_TEST(killed_before_it_began),
                IT_FOLDER_TEST(killed_as_they_meet), IT_FOLDER_TEST(an_abort_that_hangs), IT_FOLDER_TEST(why_it_waits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
