/* Programs over GPUs, by the fake driver. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/scene.h"
#include "tests/integration/trace.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* --- what goes wrong -------------------------------------------------------------------------------------------------------- */

/* One call of `function` on one device. */
static struct pw_future *call_once(struct it_host *host, struct pw_slice *slice, const char *function)
{
        struct pw_program *program = pw_program_new(host->session, "test/wrong");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *result;

        pw_result(program, pw_call(program, slice, function, PW_ARGS(value), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        return result;
}

/* The device goes on. */
static void expect_alive(struct it_host *host, struct pw_slice *slice)
{
        static const double expected[] = { 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24 };
        struct pw_program *program = pw_program_new(host->session, "test/right");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *result;

        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(value, value), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_expect_f64(result, expected, 12);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
}

/* Each is an error that names device, function and what was wrong; what ends a device ends it for what lay there alone, and the
 * next executor finds its memory again. */
static void calls_that_go_wrong(void **state)
{
        static const struct { const char *function, *texts; enum pw_status status; } cases[] = {
                { "gpu/fault", "gpu/fault|h0:0|the second fault", PW_FAILED },
                { "gpu/unnamed", "gpu/unnamed|h0:0|fault 9", PW_FAILED },
                { "gpu/refuse", "gpu/refuse|h0:0|shard 0 ?[2Jwill not", PW_FAILED },
                { "gpu/spill", "gpu/spill|h0:0|output 0 is 96 bytes here", PW_OVERRUN },
                { "gpu/beyond", "gpu/beyond|h0:0|the device is lost", PW_OVERRUN },
                { "gpu/forgot", "gpu/forgot|h0:0|no kernel gpu_nowhere", PW_BAD_MODULE },
                { "gpu/wide", "gpu/wide|h0:0|launching gpu_trap, grid 1x3x1, block 2000x1x1|INVALID_VALUE", PW_FAILED },
                { "gpu/holed", "gpu/holed|h0:0|a kernel without a name or one of its arguments", PW_FAILED },
                { "gpu/few", "gpu/few|h0:0|kernel gpu_write has 2 parameters, and arg_count is 1", PW_FAILED },
                { "gpu/lost", "gpu/lost|h0:0|no kernel gpu_nowhere", PW_BAD_MODULE },
                { "gpu/ahead", "gpu/ahead|h0:0|tomorrow|older architecture|Unsupported .target 'sm_999'", PW_BAD_MODULE },
                { "gpu/newer",
                  "gpu/newer|h0:0|newer is of a newer CUDA than the driver of device 0, 1|older nvcc|Unsupported .version",
                  PW_BAD_MODULE },
                { "gpu/trap", "gpu/trap|h0:0|LAUNCH_FAILED", PW_CRASHED },
                { "gpu/hang", "gpu/hang|h0:0|300 ms", PW_TIME_LIMIT },
                { "gpu/stuck", "gpu/stuck|h0:0|300 ms", PW_TIME_LIMIT },
        };
        struct it_host *host = begin(state, "cuda:1", "1", "trap = gpu_trap\nhang = gpu_hang\n");
        struct pw_slice *slice = slice_of(host, 1);

        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct pw_future *result = call_once(host, slice, cases[i].function);

                it_fails_with(result, cases[i].status, cases[i].texts);
                pw_unref(result);
                expect_alive(host, slice);
        }
        pw_slice_close(slice);
        end(host);
}

/* Behind `nops` others. */
static struct pw_program *calls(struct it_host *host, struct pw_slice *slice, int nops, const char *function, const uint64_t *param)
{
        struct pw_program *program = pw_program_new(host->session, function);
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_BROADCAST, 0);

        while (nops-- > 0)
                value = pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_BROADCAST);
        value = pw_call_with(program, slice, function, PW_ARGS(value), PW_BROADCAST,
                             &(struct pw_call_params){ .params = param, .params_bytes = param ? sizeof *param : 0 });
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* A call that does not return from its launch, behind another run's that takes a while. Each was called before, in this process. */
struct stuck { struct it_host *host; struct pw_slice *slice; struct pw_future *input; struct pw_program *ahead, *behind; };

static struct stuck stuck_begin(void **state, int nops, const char *function, uint64_t ahead_us)
{
        struct stuck stuck = { .host = begin(state, "cuda:1", "1", NULL) };
        struct pw_future *first;

        stuck.slice = slice_of(stuck.host, 1);
        stuck.behind = calls(stuck.host, stuck.slice, nops, function, NULL);
        stuck.ahead = calls(stuck.host, stuck.slice, 0, "pw/spin_us", &ahead_us);
        stuck.input = it_put_f64(stuck.host->session, PW_DIMS(12), 1);
        for (int i = 0; i < 2; i++) {
                first = it_run_1(i ? stuck.ahead : stuck.behind, stuck.input);
                it_ok(pw_wait(&first, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(first);
        }
        return stuck;
}

static void stuck_end(struct stuck *stuck)
{
        pw_unref(stuck->input);
        pw_program_free(stuck->ahead);
        pw_program_free(stuck->behind);
        expect_alive(stuck->host, stuck->slice);
        pw_slice_close(stuck->slice);
        end(stuck->host);
}

/* It is to blame, and not what the device does ahead of it. */
static void stuck_behind_another(void **state)
{
        struct stuck stuck = stuck_begin(state, 1, "gpu/again", 1000000);
        struct pw_future *first = it_run_1(stuck.ahead, stuck.input), *second = it_run_1(stuck.behind, stuck.input);

        it_fails_with(first, PW_DEVICE_LOST, "h0:0|launched behind it|time limit of 300 ms");
        it_ok(pw_wait(&second, 1, 1, IT_LONG, NULL, IT_ERR)); /* a new process calls it for the first time */
        pw_unref(first);
        pw_unref(second);
        stuck_end(&stuck);
}

/* Its run is over by its deadline, half a second later. What is slow alone costs the other nothing. */
static void stuck_until_its_deadline(void **state)
{
        for (int slow = 0; slow < 2; slow++) {
                struct stuck stuck = stuck_begin(state, !slow, slow ? "gpu/slowly" : "gpu/endless", slow ? 1000000 : 4000000);
                struct pw_run_params params = { .deadline_us = slow ? IT_SECOND / 10 : IT_SECOND / 2 };
                struct pw_future *first = it_run_1(stuck.ahead, stuck.input), *second;
                struct pw_view view;

                it_ok(pw_run_with(stuck.behind, PW_FUTURES(stuck.input), &params, &second, IT_ERR));
                it_fails_with(second, PW_DEADLINE, slow ? "gpu/slowly" : "gpu/endless");
                if (slow) {
                        it_ok(pw_get(first, IT_LONG, &view, IT_ERR));
                        pw_view_done(&view);
                } else {
                        it_fails_with(first, PW_DEVICE_LOST, "h0:0|launched behind it|outlived the deadline of its run");
                }
                pw_unref(first);
                pw_unref(second);
                stuck_end(&stuck);
        }
}

static bool is_running(const struct pw_listing *gangs, void *node)
{
        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "state"), "running") && strstr(it_text(gangs, i, "node"), node))
                        return true;
        return false;
}

/* A function runs for the first time, alone and for long: a value that lies on its device is fetched all the same. */
static void served_meanwhile(void **state)
{
        static const double expected[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
        struct it_host *host = begin(state, "cuda:1", "1", NULL);
        struct pw_slice *slice = slice_of(host, 1);
        struct pw_program *passes = calls(host, slice, 0, "pw/nop", NULL);
        struct pw_program *is_long = calls(host, slice, 0, "pw/spin_us", &(uint64_t){ 3000000 });
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1), *value = it_run_1(passes, input), *late;

        it_ok(pw_wait(&value, 1, 1, IT_LONG, NULL, IT_ERR));
        late = it_run_1(is_long, input);
        it_until(host->session, "gangs", is_running, (char[]){ "pw/spin_us" });
        it_expect_f64(value, expected, 12);
        it_fails(pw_wait(&late, 1, 1, 0, NULL, IT_ERR), PW_DEADLINE, "0 of 1");
        it_ok(pw_wait(&late, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(value);
        pw_unref(late);
        pw_unref(input);
        pw_program_free(passes);
        pw_program_free(is_long);
        pw_slice_close(slice);
        end(host);
}

/* Its start is over when it has to be, whatever the driver does. */
static void a_driver_that_does_not_return(void **state)
{
        struct it_host *host = *state;
        char path[200], said[600];
        int ready, code = -1;

        if (it_gpus_given())
                it_skip("it takes a driver that does not return");
        snprintf(path, sizeof path, "%s/libcuda.so.1", host->folder);
        assert_int_equal(mkfifo(path, 0666), 0);
        assert_int_equal(chmod(host->folder, 0711), 0);
        assert_int_equal(chmod(path, 0666), 0);
        ready = it_host_launch(host, IT_ARGS("--devices", "cuda:2", "--cuda-driver", path, "--device-memory", "0",
                                             "--host-memory", "64MiB"));
        while (access(host->log, R_OK) || !it_has_said(host, "drivers are asked what devices have"))
                assert_int_equal(kill(host->pid, 0), 0);
        assert_int_equal(kill(host->pid, SIGTERM), 0);
        assert_false(it_host_await(host, ready, &code, said));
        assert_int_equal(code, 0);
}

#define CHAIN 40u
#define RUNS 10u

/* Runs of a chain of calls. They are short, as is known from the second one on, so several end together. */
static void run_chain(struct it_host *host, struct pw_slice *slice, const char *function, struct pw_future *results[RUNS])
{
        struct pw_program *program = pw_program_new(host->session, "test/chain");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(12), 1);
        bool adds = !strcmp(function, "pw/add");

        for (uint32_t i = 0; i < CHAIN; i++)
                value = adds ? pw_call(program, slice, function, PW_ARGS(value, value), PW_BROADCAST)
                             : pw_call(program, slice, function, PW_ARGS(value), PW_BROADCAST);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        for (uint32_t i = 0; i < RUNS; i++)
                it_ok(pw_run(program, PW_FUTURES(input), &results[i], IT_ERR));
        pw_unref(input);
        pw_program_free(program);
}

static void chains(void **state)
{
        struct it_host *host = begin(state, "cuda:1", "1", "delay_us = 1\n");
        struct pw_slice *slice = slice_of(host, 1);
        struct pw_future *results[RUNS];
        double expected[12];

        for (uint32_t i = 0; i < 12; i++)
                expected[i] = (double)(UINT64_C(1) << CHAIN) * (i + 1);
        run_chain(host, slice, "pw/add", results);
        for (uint32_t i = 0; i < RUNS; i++) {
                it_expect_f64(results[i], expected, 12);
                pw_unref(results[i]);
        }
        run_chain(host, slice, "gpu/fault", results);
        for (uint32_t i = 0; i < RUNS; i++) {
                it_fails_with(results[i], PW_FAILED, "gpu/fault|h0:0|the second fault");
                pw_unref(results[i]);
        }
        run_chain(host, slice, "gpu/spill", results);
        for (uint32_t i = 0; i < RUNS; i++) {
                it_fails_with(results[i], PW_OVERRUN, "gpu/spill|h0:0|output 0 is 96 bytes here");
                pw_unref(results[i]);
        }
        pw_slice_close(slice);
        end(host);
}

/* Functions without a form for the devices of their slice are refused when they are compiled. */
static void functions_without_a_form(void **state)
{
        struct it_host *host = begin(state, "cuda:1,emulated:1", "2", NULL);
        static const struct { const char *kind, *function, *texts; } cases[] = {
                { "cuda", "gpu/hostly", "gpu/hostly|no form for GPUs|pw_function.cuda" },
                { "emulated", "gpu/fault", "gpu/fault|for GPUs alone|kind cuda" },
        };

        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct pw_slice *slice;
                struct pw_program *program = pw_program_new(host->session, "test/form");
                struct pw_value *value;

                it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1, .kind = cases[i].kind }, &slice,
                                    IT_ERR));
                value = pw_input(program, slice, PW_F64, PW_DIMS(12), PW_BROADCAST, 0);
                pw_result(program, pw_call(program, slice, cases[i].function, PW_ARGS(value), PW_BROADCAST));
                it_fails(pw_compile(program, IT_ERR), PW_UNSUPPORTED, cases[i].texts);
                pw_program_free(program);
                pw_slice_close(slice);
        }
        end(host);
}

static void hosts_without(void **state)
{
        static const struct { const char *devices, *conf, *texts; } cases[] = {
                { "cuda@7", NULL, "there is no GPU 7 on this host: it has 4" },
                { "cuda:1", "driver = 11000\n", "too old|11.0|12.0" },
                { "cuda:1", "capacity = 4194304\n", "h0:0: GPU 0 has too little free memory: 8 MiB|of 4 MiB 2 MiB are free" },
                { "cuda@2", "arch = 70\n", "h0:0: GPU 2 is too old: of architecture sm_70, needs sm_75" },
                { "cuda:1", "fail = cuDriverGetVersion@1=34\n", "libcuda.so.1: is the toolkit's, to link with|--cuda-driver" },
                { "cuda:1", "fail = cuInit@1=100\n", "h0:0: the CUDA driver finds no GPU|/dev/nvidia*" },
                { "cuda:1", "fail = cuMemHostAlloc@1=2\n", "h0:0: pinned memory of the host: |OUT_OF_MEMORY" },
                { "cuda:1", "fail = cuMemHostAlloc@2=2\n", "h0:0: pinned memory of the host: |OUT_OF_MEMORY" },
                { "cuda:1", "fail = cuDevicePrimaryCtxRetain@1=2\n", "h0:0: a context: |OUT_OF_MEMORY" },
                { "cuda:1", "fail = cuMemCreate@1=801\n", "h0:0: the memory of the device: |NOT_SUPPORTED" },
                { "cuda:1", "mps = 1\n", "GPU 0 is shared by MPS|nvidia-cuda-mps-control" },
        };
        struct it_host *host = *state;

        if (it_gpus_given())
                it_skip("hosts that lack something are those of the fake driver");
        for (size_t i = 0; i < pw_array_count(cases); i++) {
                it_gpus_init(&gpus, cases[i].conf);
                it_refuses_to_start(host, IT_ARGS("--devices", cases[i].devices, "--cuda-driver", gpus.driver, "--host-memory",
                                                  "64MiB", "--device-memory", "8MiB"), cases[i].texts);
                it_gpus_done(&gpus);
        }
        it_refuses_to_start(host, IT_ARGS("--devices", "cuda:1", "--cuda-driver", "/nowhere/libcuda.so.1", "--host-memory",
                                          "64MiB"), "/nowhere/libcuda.so.1|let --cuda-driver name");
        it_refuses_to_start(host, IT_ARGS("--devices", "cuda:1", "--cuda-driver", "/no where/libcuda.so.1", "--host-memory",
                                          "64MiB"), "/no where/libcuda.so.1");
}

/* The fake driver reads it in each process that is started from now on. */
static void tell_driver(const char *line)
{
        char path[IT_GPUS_PATH];
        FILE *file;

        snprintf(path, sizeof path, "%s/fake_cuda.conf", gpus.folder);
        file = fopen(path, "ae");
        assert_non_null(file);
        assert_true(fputs(line, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

static bool is_tried_again(const struct pw_listing *devices, void *context)
{
        (void)context;
        return it_number(devices, 0, "restarts") >= 3;
}

/* While the daemon runs: it says so, tries again, and its memory is there when the GPU is. */
static void a_gpu_that_is_away(void **state)
{
        struct it_host *host;
        struct pw_slice *slice;

        if (it_gpus_given())
                it_skip("only a fake GPU goes away when it is told to");
        host = begin(state, "cuda@2", "1", NULL);
        slice = slice_of(host, 1);
        expect_alive(host, slice);
        tell_driver("devices = 1\n");
        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        it_until(host->session, "devices", is_tried_again, NULL);
        assert_true(it_has_said(host, "device cannot be opened device=h0:0 status=PW_NOT_FOUND reason=\"there is no GPU 2 on this "
                                      "host: it has 1"));
        it_chain_expect(host, "h0:0", "as its device cannot be opened: there is no GPU 2 on this host: it has 1");
        tell_driver("devices = 4\n");
        expect_alive(host, slice);
        pw_slice_close(slice);
        end(host);
}

/* What the arenas of all devices have. */
static int64_t capacity_of(struct it_host *host) { return it_listed(host->session, "devices", "capacity"); }

/* Of a daemon that takes all memory of `devices`, `count` of them. */
static int64_t taken(struct it_host *host, const char *devices, uint32_t count, const char *more)
{
        struct pw_slice *slice;
        int64_t bytes;

        it_gpus_init(&gpus, NULL);
        it_start(host, IT_ARGS("--devices", devices, "--cuda-driver", gpus.driver, "--host-memory", "64MiB", "--device-memory", "0",
                               more));
        host->session = it_connect(host);
        bytes = capacity_of(host);
        slice = slice_of(host, count);
        expect_alive(host, slice);
        pw_slice_close(slice);
        end(host);
        return bytes;
}

/* Nine tenths of 1 GiB without the 2 MiB that the executor has of it, less what NCCL may want, and where it does not; two on one
 * GPU have half of it each. Of a GPU that is no fake it is only known to be like that. */
static void as_much_as_there_is(void **state)
{
        const int64_t mib = 1 << 20;
        bool is_one = it_gpus_given() && it_environment("PW_CUDA_COUNT", 1) < 2;
        const char *devices = is_one ? "cuda@0" : "cuda@1,0";
        uint32_t count = is_one ? 1 : 2;
        int64_t less = taken(*state, devices, count, "--nccl-communicators=16");
        int64_t whole = taken(*state, devices, count, "--no-nccl");
        int64_t half = taken(*state, "cuda@0,0", 2, "--no-nccl");

        if (it_gpus_given()) {
                assert_in_range(whole - less, 384 * mib, 640 * mib);
                assert_in_range(half, whole / 20 * 9, whole / 20 * 11);
                return;
        }
        assert_int_equal(less, (964480203 - 512 * mib) & ~4095);
        assert_int_equal(whole, 964480203 & ~4095);
        assert_int_equal(half, 964480203 / 2 & ~4095);
}

static void more_than_there_is(void **state)
{
        struct it_host *host = *state;

        it_gpus_init(&gpus, it_gpus_given() ? NULL : "capacity = 536870912\n");
        if (!it_gpus_given())
                it_refuses_to_start(host, IT_ARGS("--devices", "cuda:1", "--cuda-driver", gpus.driver, "--device-memory", "0"),
                                    "--device-memory 0|nothing is left");
        it_refuses_to_start(host, IT_ARGS("--devices", "cuda@9", "--cuda-driver", gpus.driver, "--device-memory", "0"),
                            "--device-memory 0: device h0:0: there is no GPU 9");
        it_refuses_to_start(host, IT_ARGS("--devices", "cuda:1,cpu:1", "--cuda-driver", gpus.driver, "--device-memory", "0"),
                            "device h0:1|kind cpu|give --device-memory a size");
        it_gpus_done(&gpus);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(a_program), IT_FOLDER_TEST(served_meanwhile),
                                            IT_FOLDER_TEST(stuck_behind_another), IT_FOLDER_TEST(stuck_until_its_deadline),
                                            IT_FOLDER_TEST(a_driver_that_does_not_return),
                                            IT_FOLDER_TEST(calls_that_go_wrong), IT_FOLDER_TEST(chains),
                                            IT_FOLDER_TEST(functions_without_a_form), IT_FOLDER_TEST(hosts_without),
                                            IT_FOLDER_TEST(a_gpu_that_is_away),
                                            IT_FOLDER_TEST(as_much_as_there_is), IT_FOLDER_TEST(more_than_there_is) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
