/* Functions that do to their process what they must not: they harm their own gang at most. What they start ends with the executor
 * and holds nothing of it; what they change in the process is of no matter to the next function.
 */
#include "tests/integration/scene.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct it_scene begin(void **state, const char *function)
{
        struct it_host *host = *state;
        struct it_scene scene = { .host = host, .slice = it_slice(host->session, 1, 1), .input = it_put_scalar(host->session, 1) };

        scene.bad = it_one_node(host->session, scene.slice, function, PW_SCALAR, NULL);
        scene.good = it_one_node(host->session, scene.slice, "pw/nop", PW_SCALAR, NULL);
        return scene;
}

/* The device is there, after `restarts`, and does what it is asked; an executor that was ended is back within a second. */
static void expect_good(struct it_scene *scene, int restarts, int64_t since_us)
{
        struct pw_future *result = it_run_1(scene->good, scene->input);

        assert_true(it_get_scalar(result) == 1);
        pw_unref(result);
        it_back_within_a_second(scene->host->session, restarts, since_us);
}

static void fails_with(struct it_scene *scene, enum pw_status status, const char *texts)
{
        struct pw_future *result = it_run_1(scene->bad, scene->input);

        it_fails_with(result, status, texts);
        pw_unref(result);
}

/* --- signals ---------------------------------------------------------------------------------------------------------- */

static void ends_itself_by_a_signal(void **state)
{
        struct it_scene scene = begin(state, "broken/term");
        int64_t start_us = it_now_us();

        fails_with(&scene, PW_CRASHED, "broken/term|SIGTERM|h0:0|run 1");
        expect_good(&scene, 1, start_us);
        it_scene_end(&scene);
}

static void stops_itself(void **state)
{
        struct it_scene scene = begin(state, "broken/stop");
        int64_t start_us = it_now_us();

        fails_with(&scene, PW_TIME_LIMIT, "broken/stop|time limit|h0:0|run 1");
        expect_good(&scene, 1, start_us + 200000);
        it_scene_end(&scene);
}

/* --- the process ------------------------------------------------------------------------------------------------------ */

static void spoils_its_process(void **state)
{
        struct it_scene scene = begin(state, "broken/spoil");
        struct pw_future *result = it_run_1(scene.bad, scene.input);

        assert_true(it_get_scalar(result) == 1);
        pw_unref(result);
        /* A module that was not loaded before, and an end by the daemon. */
        struct pw_program *other =
                it_one_node(scene.host->session, scene.slice, "parts/grow", PW_SCALAR,
                            &(struct pw_call_params){ .params = &(double){ 1 }, .params_bytes = sizeof(double) });
        result = it_run_1(other, scene.input);
        assert_true(it_get_scalar(result) == 2);
        pw_unref(result);
        pw_program_free(other);
        expect_good(&scene, 0, it_now_us());
        it_scene_end(&scene);
}

/* It has no way left to its daemon: that gang fails, at once, and another executor comes. */
static void closes_descriptors(const char *function, void **state)
{
        struct it_scene scene = begin(state, function);
        int64_t start_us = it_now_us();

        fails_with(&scene, PW_CRASHED, "closed its connection|h0:0|run 1");
        expect_good(&scene, 1, start_us);
        it_scene_end(&scene);
}

static void closes_them_as_it_runs(void **state) { closes_descriptors("broken/close", state); }

static void closes_them_as_it_is_loaded(void **state) { closes_descriptors("shut/pass", state); }

/* --- processes of its own --------------------------------------------------------------------------------------------- */

static bool is_there(pid_t pid)
{
        return kill(pid, 0) == 0 || errno != ESRCH;
}

/* It is nobody's child that would wait for it, but init's, which may take its time. */
static bool is_dead(pid_t pid)
{
        char path[40], state = 0;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "re");
        bool read = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
        if (file)
                fclose(file);
        return !read || state == 'Z' || state == 'X';
}

/* Descriptors besides standard input, output and error. */
static int descriptors_of(pid_t pid)
{
        char path[40];
        int count = 0;

        snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));)
                count += entry->d_name[0] != '.' && atoi(entry->d_name) > STDERR_FILENO;
        closedir(folder);
        return count;
}

static bool runs(pid_t pid, const char *program)
{
        char path[40], name[32] = "";

        snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        FILE *file = fopen(path, "re");
        bool so = file && fgets(name, sizeof name, file) && !strncmp(name, program, strlen(program));
        if (file)
                fclose(file);
        return so;
}

static pid_t leave_one(struct it_scene *scene)
{
        struct pw_future *result = it_run_1(scene->bad, scene->input);
        pid_t pid = (pid_t)it_get_scalar(result);

        pw_unref(result);
        assert_true(is_there(pid));
        return pid;
}

static void until_dead(const char *what, pid_t pid, int64_t since_us)
{
        while (!is_dead(pid) && it_now_us() - since_us < IT_LONG)
                sched_yield();
        if (!is_dead(pid))
                kill(pid, SIGKILL);
        it_within(what, since_us, IT_SECOND);
}

/* The executor is killed: what it forked goes with it, and nothing of the device is held by it. */
static void leaves_processes(void **state)
{
        struct it_scene scene = begin(state, "broken/leave");
        pid_t left[3];

        for (int i = 0; i < 3; i++)
                left[i] = leave_one(&scene);
        int64_t start_us = it_now_us();
        assert_true(it_signal_executor(scene.host, "h0:0", SIGKILL));
        for (int i = 0; i < 3; i++)
                until_dead("a forked process ends with its executor", left[i], start_us);
        expect_good(&scene, 1, start_us);
        it_scene_end(&scene);
}

static void leaves_a_program(void **state, const char *function)
{
        struct it_scene scene = begin(state, function);
        pid_t left = leave_one(&scene);
        int64_t start_us = it_now_us();

        while (!runs(left, "sleep") && it_now_us() - start_us < IT_LONG)
                sched_yield();
        /* Its loader has a library open for a moment, under the lowest number. */
        while (descriptors_of(left) && it_now_us() - start_us < IT_LONG)
                sched_yield();
        assert_int_equal(descriptors_of(left), 0);
        start_us = it_now_us();
        assert_true(it_signal_executor(scene.host, "h0:0", SIGKILL));
        until_dead("a program ends with the executor that started it", left, start_us);
        expect_good(&scene, 1, start_us);
        it_scene_end(&scene);
}

static void executes_a_program(void **state) { leaves_a_program(state, "broken/exec"); }
/* No handler of fork() sees it. */
static void spawns_a_program(void **state) { leaves_a_program(state, "broken/spawn"); }

/* Not even when the daemon is killed does anything of it stay. */
static void nothing_outlives_the_daemon(void **state)
{
        struct it_scene scene = begin(state, "broken/leave");
        pid_t left = leave_one(&scene);
        int64_t start_us = it_now_us();

        assert_int_equal(it_host_end(scene.host, SIGKILL), 128 + SIGKILL);
        until_dead("a forked process ends with the daemon", left, start_us);
        it_scene_end(&scene);
}

static int setup_1(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--host-memory", "64MiB", "--device-memory", "16MiB"));
}

static int teardown_none(void **state)
{
        struct it_host *host = *state;

        it_host_done(host);
        free(host);
        return 0;
}

#define TEST_1(test) cmocka_unit_test_setup_teardown(test, setup_1, it_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST_1(ends_itself_by_a_signal),
                TEST_1(stops_itself),
                TEST_1(spoils_its_process),
                TEST_1(closes_them_as_it_runs),
                TEST_1(closes_them_as_it_is_loaded),
                TEST_1(leaves_processes),
                TEST_1(executes_a_program), TEST_1(spawns_a_program),
                cmocka_unit_test_setup_teardown(nothing_outlives_the_daemon, setup_1, teardown_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
