/* idle and start: what a daemon costs that does nothing, and how soon it is there. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"

#include <dirent.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

#define DEVICES 8u

/* --- idle --------------------------------------------------------------------------------------------------------- */

/* The number behind `key` in a status file of /proc; 0 where it is not. */
static uint64_t status_number(const char *path, const char *key)
{
        char line[256];
        uint64_t number = 0;
        FILE *file = fopen(path, "re");

        while (file && fgets(line, sizeof line, file))
                if (!strncmp(line, key, strlen(key)))
                        number = strtoull(line + strlen(key), NULL, 10);
        if (file)
                fclose(file);
        return number;
}

/* Times that threads of the process gave the processor away, or had it taken. */
static uint64_t switches_of(const char *pid)
{
        char path[600];
        struct dirent *thread;
        uint64_t sum = 0;

        snprintf(path, sizeof path, "/proc/%.20s/task", pid);
        DIR *threads = opendir(path);
        while (threads && (thread = readdir(threads))) {
                if (thread->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/status", pid, thread->d_name);
                sum += status_number(path, "voluntary_ctxt_switches:") + status_number(path, "nonvoluntary_ctxt_switches:");
        }
        if (threads)
                closedir(threads);
        return sum;
}

uint64_t pw_bench_switches(pid_t pid)
{
        char text[16];

        snprintf(text, sizeof text, "%d", (int)pid);
        return switches_of(text);
}

/* Of the daemon and its children. */
static uint64_t switches_of_all(pid_t daemon, uint32_t *ret_processes)
{
        struct dirent *process;
        uint64_t sum = 0;
        DIR *processes = opendir("/proc");

        *ret_processes = 0;
        while (processes && (process = readdir(processes))) {
                char path[64];
                if (process->d_name[0] < '0' || process->d_name[0] > '9')
                        continue;
                snprintf(path, sizeof path, "/proc/%.20s/status", process->d_name);
                if (strtol(process->d_name, NULL, 10) != daemon && status_number(path, "PPid:") != (uint64_t)daemon)
                        continue;
                sum += switches_of(process->d_name);
                ++*ret_processes;
        }
        if (processes)
                closedir(processes);
        return sum;
}

/* One run, so that what is idle afterwards has worked. */
static enum pw_status run_once(struct pw_session *session, struct pw_error *ret_err)
{
        struct pw_slice_params params = { .device_count = DEVICES };
        struct pw_slice *slice = NULL;
        struct pw_program *program = NULL;
        struct pw_future *input = NULL, *result = NULL;
        struct pw_put_params scalar = { .dtype = PW_F32, .dims = PW_SCALAR };
        float zero = 0;
        enum pw_status status = pw_slice_open(session, &params, &slice, ret_err);

        if (status == PW_OK)
                status = pw_put(session, &zero, sizeof zero, &scalar, &input, ret_err);
        if (status == PW_OK) {
                program = pw_program_new(session, "bench/idle");
                struct pw_value *value = pw_input(program, slice, PW_F32, PW_SCALAR, PW_BROADCAST, 0);
                pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_BROADCAST));
                status = pw_compile(program, ret_err);
        }
        if (status == PW_OK)
                status = pw_run(program, PW_FUTURES(input), &result, ret_err);
        if (status == PW_OK)
                status = pw_wait(&result, 1, 1, 10000000, NULL, ret_err);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        return status;
}

enum pw_status pw_bench_idle(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "idle", "wakes/5s", PW_BENCH_AT_MOST, 0);
        struct pw_bench_daemon_params params = { .devices = DEVICES };
        struct pw_bench_host host;
        uint32_t processes = 0, processes_before;
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        if (status == PW_OK)
                status = run_once(host.session, ret_err);
        pw_bench_pass(context->quick ? 0.2 : 1); /* until the last run's traces are gone */
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                double span = context->quick ? 0.2 : 5;
                uint64_t before = switches_of_all(host.daemon.pid, &processes_before);
                pw_bench_pass(span);
                uint64_t after = switches_of_all(host.daemon.pid, &processes);
                pw_bench_row_value(row, (double)(after - before));
                if (processes <= DEVICES || processes != processes_before)
                        status = pw_error_set(ret_err, PW_FAILED, "%" PRIu32 " processes, then %" PRIu32 ": at least %u expected",
                                              processes_before, processes, DEVICES + 1);
        }
        pw_bench_host_stop(&host);
        return status;
}

/* --- start -------------------------------------------------------------------------------------------------------- */

/* The floor: as many processes as a daemon and its executors, started together, that end at once. */
static double start_nothing(void)
{
        char *argv[] = { "true", NULL };
        pid_t pids[DEVICES + 1];
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i <= DEVICES; i++)
                if (posix_spawnp(&pids[i], "true", NULL, NULL, argv, environ))
                        pids[i] = -1;
        for (uint32_t i = 0; i <= DEVICES; i++)
                if (pids[i] > 0)
                        waitpid(pids[i], NULL, 0);
        return pw_bench_seconds() - start;
}

enum pw_status pw_bench_start(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, "start", "s", PW_BENCH_AT_MOST, 0.05);
        struct pw_bench_daemon_params params = { .devices = DEVICES };
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                struct pw_bench_daemon daemon;
                status = pw_bench_daemon_start(&params, &daemon, ret_err);
                pw_bench_row_value(row, daemon.start_seconds);
                pw_bench_row_floor(row, start_nothing());
                pw_bench_daemon_stop(&daemon);
        }
        return status;
}
