/* `pathways why`: each kind of wait is walked down to a cause that a person can act on.
 */
#include "tests/integration/operator/why.h"

/* Its names and leases. */
static void drop(struct it_host *host, const char *name)
{
        struct pw_future *future;

        it_ok(pw_lookup(host->session, name, 0, &future, IT_ERR));
        it_ok(pw_free_object(host->session, pw_future_id(future), false, IT_ERR));
        pw_unref(future);
}

/* --- children ------------------------------------------------------------------------------------------------------------ */

/* A process that creates an object under a name, says so, and leaves it unsealed. */
static int leave_unsealed(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, 8, &(struct pw_put_params){ .dtype = PW_F64 }, &future, &data, IT_ERR));
        it_ok(pw_name(future, "unsealed", IT_ERR));
        assert_int_equal(write(pipe, "c", 1), 1);
        pause();
        return 0;
}

static int look_up(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;

        assert_int_equal(write(pipe, "c", 1), 1);
        it_ok(pw_lookup(session, "late", IT_LONG, &future, IT_ERR));
        pw_unref(future);
        pw_close(session);
        return 0;
}

/* A process that compiles a program whose shape function does not end, again and again: each time that is ended. */
static int compile_endlessly(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 1);

        assert_int_equal(write(pipe, "c", 1), 1);
        for (enum pw_status status = PW_CRASHED; status == PW_CRASHED;) {
                struct pw_program *program = pw_program_new(session, "test/endless");
                struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
                pw_result(program, pw_call(program, slice, "broken/endless", PW_ARGS(input), PW_BROADCAST));
                status = pw_compile(program, NULL);
                pw_program_free(program);
        }
        return 1;
}

/* A process whose name a terminal would obey. */
static int wait_in_disguise(void *context, int pipe)
{
        assert_int_equal(prctl(PR_SET_NAME, "a\033[31m\377b"), 0);
        return look_up(context, pipe);
}

/* --- tests --------------------------------------------------------------------------------------------------------------- */

static void a_function_that_runs(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        uint64_t us = 2000000;
        struct pw_program *program = it_one_node(host->session, slice, "pw/sleep_us", PW_SCALAR,
                                                 &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        struct pw_future *input = it_put_scalar(host->session, 1), *first = it_run_1(program, input),
                         *second = it_run_1(program, input);
        char id[PW_ID_TEXT_BYTES], gang[40];

        it_chain_expect(host, it_id_of(second, id),
               "object |waits for run |run |(test/one of why_test|device h0:0: waits for pw/sleep_us of run |to return|pathwaysd "
               "ends its executor");
        snprintf(gang, sizeof gang, "gang h0:0 2");
        it_chain_expect(host, gang, "gang 2 of run |waits for its part on device h0:0|pw/sleep_us");
        it_chain_expect(host, "h0:0",
                        "to return|`pathways cancel run |` ends it 10 s later; wait: if it has not returned in |, pathwaysd ends "
                        "its executor, at its time limit of 10 min");
        it_ok(pw_cancel(first, IT_ERR)); /* is not advised again */
        it_chain_expect(host, "h0:0",
                        "to return|remedy: wait: if it has not returned in |, pathwaysd ends its executor, as its run was "
                        "cancelled");
        it_ok(pw_wait(&second, 1, 1, IT_LONG, NULL, IT_ERR));
        it_chain_expect(host, gang, "nothing: it took ");
        it_chain_expect(host, id, "nothing: it is held by why_test");
        it_chain_expect(host, "gang 0 900000", "not ordered, or forgotten");
        it_chain_expect(host, "gang h7:0 1", "device h7:0: this host has h0:0 to h0:7");
        it_chain_expect(host, "h7:0", "device h7:0: this host has h0:0 to h0:7");
        it_chain_expect(host, "h7", "h7: this host is h0|`pathways why h0`");
        pw_unref(first);
        pw_unref(second);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static bool is_first_ready(const struct pw_listing *devices, void *context)
{
        (void)context;
        return !strcmp(it_text(devices, 0, "state"), "ready");
}

/* False: the run was cancelled before its function began, which then never does. */
static bool tells_of_cancelled(struct it_host *host)
{
        bool told = false, runs = true;

        while (runs && !told) {
                char *chain = it_chain_of(host, "h0:0");

                runs = it_chain_has(chain, "to return");
                told = it_chain_has(chain, "to return|remedy: wait: if it has not returned in |, as its run was cancelled");
                free(chain);
        }
        return told;
}

/* Nobody else ends it. */
static void a_function_without_limit(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        uint64_t us = 2000000;
        struct pw_program *program = it_one_node(host->session, slice, "pw/sleep_us", PW_SCALAR,
                                                 &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        struct pw_future *input = it_put_scalar(host->session, 1), *result;
        int64_t end_us = it_now_us() + IT_LONG;
        bool told = false;

        while (!told && it_now_us() < end_us) {
                result = it_run_1(program, input);
                it_chain_expect(host, "h0:0",
                                "to return|`pathways cancel run |` ends it 10 s later; or wait, it has no time limit");
                it_ok(pw_cancel(result, IT_ERR));
                told = tells_of_cancelled(host);
                pw_unref(result);
        }
        assert_true(told);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static bool is_first_started_again(const struct pw_listing *devices, void *context)
{
        return !strcmp(it_text(devices, 0, "state"), "ready") && it_number(devices, 0, "restarts") >= *(int64_t *)context;
}

/* From the second time in a row on it is started later, each time twice as much. */
static void end_often(struct it_host *host)
{
        for (int64_t i = 0; i < 4; i++) {
                it_until(host->session, "devices", is_first_started_again, &i);
                assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        }
}

/* One that ends for nothing is not said to be in a function; what one ends of is named. */
static void an_executor_that_ends(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/ended");
        struct pw_future *result;

        pw_result(program, pw_call_with(program, slice, "broken/lone", NULL, 0, PW_BROADCAST, NULL));
        it_ok(pw_compile(program, IT_ERR));
        end_often(host);
        it_chain_expect(host, "h0:0",
                        "to be started again; remedy: its executor ended again and again, the last time, SIGKILL, in no function: "
                        "the log|; next start in ");
        it_until(host->session, "devices", is_first_ready, NULL);
        it_ok(pw_run_with(program, NULL, 0, NULL, &result, IT_ERR));
        /* its end comes from the next one */
        it_chain_expect(host, "h0:0", "again and again, the last time, SIGSEGV, in broken/lone of run |: mend that; ");
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* Each run waits for the one before: the chain comes to the cause however many they are. */
static void a_loop_of_runs(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct it_child child = it_start_child(host, leave_unsealed);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input, *next;
        uint64_t first;
        char expected[300], run[32];

        it_ok(pw_lookup(host->session, "unsealed", 0, &input, IT_ERR));
        next = it_run_1(program, input);
        it_chain_expect(host, "h0:0", "device h0:0: waits for nothing");
        first = newest_run(host);
        for (uint32_t i = 0; i < 200; i++)
                it_ok(pw_run(program, PW_FUTURES(pw_donate(&next)), &next, IT_ERR));
        snprintf(run, sizeof run, "run %llu", (unsigned long long)first + 200);
        snprintf(expected, sizeof expected,
                 "result 0 of run %llu|199 runs of test/one before it|and so for run %llu|\n2 run %llu |to seal it",
                 (unsigned long long)first + 199, (unsigned long long)first, (unsigned long long)first);
        it_chain_expect(host, run, expected);
        snprintf(run, sizeof run, "run %llu", (unsigned long long)first + 201);
        it_chain_expect(host, run, "there is none yet, the last is run ");
        it_reap(&child, SIGKILL);
        it_ok(pw_wait(&next, 1, 1, IT_LONG, NULL, IT_ERR));
        drop(host, "unsealed");
        pw_unref(next);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void an_input_that_nobody_seals(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_start_child(host, leave_unsealed);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input, *result, *next;
        char id[PW_ID_TEXT_BYTES], stopped[200], pid[32];

        it_ok(pw_lookup(host->session, "unsealed", 0, &input, IT_ERR));
        result = it_run_1(program, input);
        next = it_run_1(program, result);
        it_id_of(next, id);
        it_chain_expect(host, id,
               "object |run |input 0, result 0 of run |run |input 0, which is not ready|object |to seal it|pw_seal() or "
               "pw_abort()");
        assert_int_equal(kill(child.pid, SIGSTOP), 0);
        snprintf(stopped, sizeof stopped, "to seal it, which is stopped|kill -CONT %d", (int)child.pid);
        it_chain_expect(host, id, stopped);
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        it_chain_expect(host, pid, "to be continued: it is stopped|kill -CONT");
        it_reap(&child, SIGKILL);
        it_ok(pw_wait(&next, 1, 1, IT_LONG, NULL, IT_ERR));
        it_chain_expect(host, id, "nothing: it is in error|mend that");
        drop(host, "unsealed");
        pw_unref(next);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void a_name_that_nobody_binds(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_start_child(host, look_up);
        struct pw_future *late = it_put_scalar(host->session, 1);
        char pid[32];

        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        it_chain_expect(host, pid, "name late to be bound|put --name late");
        it_chain_expect(host, "late",
                        "0 name late of tenant |somebody to bind it: nobody has, and 1 lookup waits|put --name late`|1 "
                        "why_test|this name, and gives up in ");
        it_chain_expect(host, "later", "neither an id, nor a name");
        it_ok(pw_name(late, "late", IT_ERR));
        assert_int_equal(it_reap(&child, 0), 0);
        it_chain_expect(host, pid, "no such process");
        it_ok(pw_unname(host->session, "late", IT_ERR));
        pw_unref(late);
        child = it_start_child(host, wait_in_disguise);
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        it_chain_expect(host, pid, "0 a?[31m?b[|name late to be bound");
        it_reap(&child, SIGKILL);
}

/* A second client's program waits behind the first one's, and is compiled once that is over. */
static void a_shape_function_that_does_not_end(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_start_child(host, compile_endlessly);
        char pid[32];

        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        it_chain_expect(host, pid, "the shapes of broken/endless|the shape function of broken/endless|mend it");
        it_reap(&child, SIGKILL);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        pw_program_free(it_one_node(host->session, slice, "pw/nop", PW_DIMS(5), NULL));
        pw_slice_close(slice);
}

/* The child of the daemon that has no device. */
static pid_t describer_of(struct it_host *host)
{
        char path[80], line[64];
        FILE *children, *command;
        int pid, found = 0;

        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)host->pid, (int)host->pid);
        children = fopen(path, "r");
        assert_non_null(children);
        while (!found && fscanf(children, "%d", &pid) == 1) {
                size_t length;

                snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
                command = fopen(path, "r");
                length = command ? fread(line, 1, sizeof line - 1, command) : 0;
                if (memmem(line, length, "--describe", 10))
                        found = pid;
                if (command)
                        fclose(command);
        }
        fclose(children);
        assert_int_not_equal(found, 0);
        return found;
}

/* All-reduces over 8 devices in 2 islands; the executor of one is stopped: the others name it, from either island. */
static void a_member_that_does_not_come(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 8, 2);
        struct pw_program *program = pw_program_new(host->session, "test/together");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(64), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64), 0), *result;
        pid_t pid = executor_of(host, "h0:6");
        char what[64], expected[120];

        pw_result(program, it_grow(program, slice, PW_AS(value, PW_BROADCAST), PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        assert_int_equal(kill(pid, SIGSTOP), 0);
        result = it_run_1(program, input);
        snprintf(what, sizeof what, "run %llu", (unsigned long long)newest_run(host));
        snprintf(expected, sizeof expected, "(test/together|device h0:6|process %d, which is stopped|kill -CONT %d", (int)pid,
                 (int)pid);
        it_chain_expect(host, what, expected);
        it_chain_expect(host, "h0", strstr(expected, "device h0:6"));
        assert_int_equal(kill(pid, SIGCONT), 0);
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        it_chain_expect(host, what, "nothing: it ended ");
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* An executor without a device is one of those that may be stopped. */
static void a_describing_executor_that_is_stopped(void **state)
{
        struct it_host *host = *state;
        pid_t pid = describer_of(host);
        struct it_child child;
        char what[64], expected[120];

        assert_int_equal(kill(pid, SIGSTOP), 0);
        child = it_start_child(host, compile_endlessly);
        snprintf(what, sizeof what, "pid %d", (int)child.pid);
        snprintf(expected, sizeof expected,
                 "the shapes of broken/endless|the describing executor: waits for its executor, process %d, which is stopped",
                 (int)pid);
        it_chain_expect(host, what, expected);
        it_chain_expect(host, "h0", "the describing executor: waits for its executor|kill -CONT");
        it_reap(&child, SIGKILL);
        assert_int_equal(kill(pid, SIGCONT), 0);
}

static void what_keeps_an_object(void **state)
{
        struct it_host *host = *state;
        struct pw_future *value = it_put_scalar(host->session, 1);
        char id[PW_ID_TEXT_BYTES], own[64];

        it_ok(pw_name(value, "kept", IT_ERR));
        it_ok(pw_lease(value, 3600 * IT_SECOND, IT_ERR));
        pw_unref(value);
        it_chain_expect(host, "kept", "held by a lease, |free` drops");
        it_chain_expect(host, "kept", "held by name kept");
        it_ok(pw_lookup(host->session, "kept", 0, &value, IT_ERR));
        it_chain_expect(host, it_id_of(value, id), "held by why_test");
        drop(host, "kept");
        pw_unref(value);
        snprintf(own, sizeof own, "pid %d", (int)getpid());
        it_chain_expect(host, own, "nothing: no thread of it waits");
        it_chain_expect(host, "nothing", "neither an id, nor a name");
        it_chain_expect(host, "why_test[0]", "no such process");
}

static int setup_unlimited(void **state) { return it_setup_with(state, IT_ARGS("--function-limit", "0")); }

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_function_that_runs),
                cmocka_unit_test_setup_teardown(a_function_without_limit, setup_unlimited, it_teardown),
                IT_TEST(an_executor_that_ends), IT_TEST(a_loop_of_runs), IT_TEST(an_input_that_nobody_seals),
                IT_TEST(a_name_that_nobody_binds), IT_TEST(a_shape_function_that_does_not_end),
                IT_TEST(a_describing_executor_that_is_stopped), IT_TEST(a_member_that_does_not_come),
                IT_TEST(what_keeps_an_object),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
