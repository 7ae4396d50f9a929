/* What executors take of their GPUs beside what is there for rooms: contexts and communicators, as overhead of the device's memory.
 * The fake driver and the fake NCCL count it, and the fake NVML tells the daemon.
 */
#include "tests/integration/operator/command.h"
#include "tests/integration/operator/exposition.h"
#include "tests/integration/operator/http.h"
#include "tests/integration/work/nccl_scene.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define ARENA (8 * MIB)
#define COMMUNICATOR 1000000
#define CONTEXT 3000000
#define COUNTED "account = 1\ncontext = 3000000\n"
#define SYSTEM_PIDS 0xEFFFFFFCu

/* Another configuration of NVML, whole at any time. */
static void say(const char *conf)
{
        char path[96], next[96];
        FILE *file;

        snprintf(path, sizeof path, "%s/fake_nvml.conf", nccl_gpus.folder);
        snprintf(next, sizeof next, "%s/next", nccl_gpus.folder);
        file = fopen(next, "we");
        assert_non_null(file);
        fprintf(file, "memory_total = %lld\n%s", (long long)(1000 * MIB), conf);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(rename(next, path), 0);
}

/* Four GPUs, of which each executor keeps one communicator. */
static struct it_host *begin(void **state, const char *driver, const char *nvml)
{
        struct it_host *host = *state;
        char path[96], library[600];
        struct stat names;

        it_gpus_init(&nccl_gpus, driver);
        it_gpus_nccl(&nccl_gpus, "memory = 1000000\ntrace = trace\n");
        if (stat("/proc/self/ns/pid", &names) < 0 || names.st_ino != SYSTEM_PIDS)
                it_skip("a driver numbers processes as the system does, and not as they are here");
        snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", nccl_gpus.folder);
        it_built("tests/fake_nvml/.libs/libnvidia-ml.so.1", library);
        assert_int_equal(symlink(library, path), 0);
        say(nvml);
        it_start(host, IT_ARGS("--devices", "cuda:4", "--cuda-driver", nccl_gpus.driver, "--nccl-library", nccl_gpus.nccl,
                               "--nccl-communicators", "1", "--nvml", path, "--host-memory", "64MiB", "--device-memory", "8MiB",
                               "--http", "127.0.0.1:0"));
        host->session = it_connect(host);
        return host;
}

/* A term of the first device. */
static int64_t term(const struct pw_listing *memory, const char *name, const char **ret_about)
{
        for (size_t i = 0; i < it_rows(memory); i++) {
                if (strcmp(it_text(memory, i, "memory"), "h0:0") || strcmp(it_text(memory, i, "term"), name))
                        continue;
                *ret_about = it_text(memory, i, "about");
                return it_number(memory, i, "bytes");
        }
        fail_msg("there is no %s of h0:0", name);
        return 0;
}

static int64_t bytes(const struct pw_listing *memory, const char *name)
{
        const char *about;

        return term(memory, name, &about);
}

/* All of them add up, and what is there for rooms is as it was. */
static void expect_whole(const struct pw_listing *memory)
{
        assert_int_equal(bytes(memory, "unaccounted"), 0);
        assert_int_equal(bytes(memory, "capacity"), bytes(memory, "free") + bytes(memory, "used") + bytes(memory, "reserved") +
                                                            bytes(memory, "letting go") + bytes(memory, "overhead"));
}

/* For it_until(): the overhead is between, and the words are said of it. */
struct wanted { int64_t least, most; const char *about; };

static bool is_listed(const struct pw_listing *memory, void *context)
{
        const struct wanted *wanted = context;
        const char *about;
        int64_t overhead = term(memory, "overhead", &about);

        expect_whole(memory);
        return overhead >= wanted->least && overhead <= wanted->most && strstr(about, wanted->about);
}

static void until_overhead(struct it_host *host, int64_t least, int64_t most, const char *about)
{
        it_until(host->session, "memory", is_listed, &(struct wanted){ least, most, about });
}

static int64_t overhead(struct it_host *host)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        int64_t of = bytes(memory, "overhead");

        assert_int_equal(bytes(memory, "capacity") - of, ARENA);
        pw_listing_free(memory);
        return of;
}

static void sum_over(struct it_host *host, uint32_t devices)
{
        struct nccl_scene scene = nccl_scene_over(host, devices);

        nccl_expect_sum(it_run_1(scene.program, scene.input), devices);
        nccl_scene_close(&scene);
}

#define KNOWN "context, code and communicators of its executor"

/* What the driver says now is known. */
static bool has_power(const struct pw_listing *devices, void *context)
{
        return it_number(devices, 0, "gpu_power") == *(const int64_t *)context;
}

static void until_asked_again(struct it_host *host, int64_t power)
{
        char conf[40];

        snprintf(conf, sizeof conf, "power = %lld\n", (long long)power);
        say(conf);
        it_until(host->session, "devices", has_power, &power);
}

static void end_but_the_folder(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* One of four devices, then one of two: the first was closed for the second. */
static void communicators_come_and_go(void **state)
{
        struct it_host *host = begin(state, COUNTED, "");
        int64_t without;

        until_overhead(host, CONTEXT, ARENA, KNOWN);
        without = overhead(host);
        sum_over(host, 4);
        until_overhead(host, without + COMMUNICATOR, without + COMMUNICATOR, KNOWN);
        sum_over(host, 2);
        until_asked_again(host, 7);
        assert_int_equal(overhead(host), without + COMMUNICATOR);
        end_but_the_folder(host);
        assert_int_equal(nccl_calls_of("ncclCommInitRankConfig"), 4 + 2);
        assert_int_equal(nccl_calls_of("ncclCommDestroy"), 2);
        it_gpus_done(&nccl_gpus);
}

static void restart(struct it_host *host)
{
        int64_t since_us = it_now_us();

        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        it_back_within_a_second(host->session, 1, since_us);
}

/* What was known of the one before is not said of the next. */
static void the_next_executor_has_as_much(void **state)
{
        struct it_host *host = begin(state, COUNTED, "");
        int64_t without;

        until_overhead(host, CONTEXT, ARENA, KNOWN);
        without = overhead(host);
        sum_over(host, 4);
        until_overhead(host, without + COMMUNICATOR, without + COMMUNICATOR, KNOWN);
        restart(host);
        until_overhead(host, without, without, KNOWN);
        end_but_the_folder(host);
        it_gpus_done(&nccl_gpus);
}

/* No figure then, and why. */
static void expect_unknown(void **state, const char *driver, const char *nvml, const char *why)
{
        struct it_host *host = begin(state, driver, nvml);
        struct pw_listing *devices;
        char about[160];

        snprintf(about, sizeof about, "rounding; not known: context, code and communicators, as %s", why);
        until_overhead(host, 0, 0, about);
        assert_int_equal(overhead(host), 0);
        devices = it_list(host->session, "devices", NULL);
        for (size_t i = 0; i < pw_listing_rows(devices)->rows[0]->n_cells; i++)
                assert_string_not_equal(pw_listing_rows(devices)->rows[0]->cells[i]->key, "gpu_overhead");
        pw_listing_free(devices);
        end_but_the_folder(host);
        it_gpus_done(&nccl_gpus);
}

static void what_is_not_known(void **state)
{
        static const char *const silent[] = { "fail = nvmlDeviceGetComputeRunningProcesses_v2=3\n", "unavailable = 1\n",
                                              "fail = nvmlDeviceGetComputeRunningProcesses_v2=999\n" };

        for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
                expect_unknown(state, COUNTED, silent[i], "its driver does not say what a process has");
        expect_unknown(state, COUNTED, "fail = nvmlDeviceGetComputeRunningProcesses_v2=7\n", "more processes have the GPU than");
        expect_unknown(state, "account = 1\ncontext = 9000000\n", "", "its driver may count the memory for rooms");
        expect_unknown(state, "", "", "its executor is not among the processes that its driver lists");
        expect_unknown(state, COUNTED, "hang = nvmlInit_v2\n", "NVML has not answered yet");
}

/* A driver that does not answer any more: what it said before is known, and how old it is. */
static void it_is_of_then(void **state)
{
        struct it_host *host = begin(state, COUNTED, "");

        until_overhead(host, CONTEXT, ARENA, KNOWN ", and rounding");
        say("hang = nvmlDeviceGetMemoryInfo\n");
        until_overhead(host, CONTEXT, ARENA, KNOWN ", and rounding; as NVML said ");
        end_but_the_folder(host);
        it_gpus_done(&nccl_gpus);
}

/* Nothing to ask: which library could not be opened. A device beside it that has the same bytes is not said to be like it. */
static void nothing_to_ask(void **state)
{
        struct it_host *host = *state;

        it_gpus_init(&nccl_gpus, "");
        it_start(host, IT_ARGS("--devices", "cuda:1,cpu:1", "--cuda-driver", nccl_gpus.driver, "--nvml",
                               "/nowhere/libnvidia-ml.so.1",
                               "--no-nccl", "--host-memory", "64MiB", "--device-memory", "8MiB"));
        host->session = it_connect(host);
        until_overhead(host, 0, 0, "not known: context, code and communicators, as no NVML: /nowhere/libnvidia-ml.so.1: ");
        it_command_expect(host, 0, "h0:0\n|not known: context|h0:1\n|\nunaccounted 0\n", IT_ARGS("memory"));
        end_but_the_folder(host);
        it_gpus_done(&nccl_gpus);
}

static void it_is_shown(void **state)
{
        struct it_host *host = begin(state, COUNTED, "");
        char *text = malloc(HTTP_ANSWER_BYTES), address[120];
        struct pw_listing *devices;
        const char *bad;
        int64_t of;

        assert_non_null(text);
        until_overhead(host, CONTEXT, ARENA, KNOWN);
        of = overhead(host);
        devices = it_list(host->session, "devices", NULL);
        assert_int_equal(it_number(devices, 0, "gpu_overhead"), of);
        assert_int_equal(it_number(devices, 0, "capacity"), ARENA);
        pw_listing_free(devices);
        it_command_expect(host, 0, "h0:0|for rooms, and what its executor takes|overhead|" KNOWN "|\nunaccounted 0\n",
                          IT_ARGS("memory"));
        http_address(host, address);
        assert_int_equal(http_ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", text), 200);
        if ((bad = exposition_check(text)))
                fail_msg("%s", bad);
        assert_true(exposition_value(text, "pathways_gpu_memory_bytes{device=\"h0:0\",term=\"overhead\"}") == (double)of);
        assert_true(exposition_value(text, "pathways_memory_bytes{memory=\"h0:0\",term=\"overhead\"}") == (double)of);
        assert_true(exposition_value(text, "pathways_memory_bytes{memory=\"h0:0\",term=\"capacity\"}") == (double)(ARENA + of));
        free(text);
        end_but_the_folder(host);
        it_gpus_done(&nccl_gpus);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(communicators_come_and_go), IT_FOLDER_TEST(the_next_executor_has_as_much),
                IT_FOLDER_TEST(what_is_not_known),         IT_FOLDER_TEST(it_is_shown),
                IT_FOLDER_TEST(it_is_of_then),             IT_FOLDER_TEST(nothing_to_ask),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
