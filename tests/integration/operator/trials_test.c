/* Programs by hand: `pathways run` times a function, `cancel` ends a run, `why` says what a process waits for.
 */
#include "tests/integration/operator/command.h"
#include "tests/integration/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPECT(code, texts, ...) it_command_expect(host, code, texts, IT_ARGS(__VA_ARGS__))

static void a_function_is_tried(void **state)
{
        struct it_host *host = *state;
        struct pw_listing *devices = it_list(host->session, "devices", NULL);

        EXPECT(0, "1 run of pw/nop on 1 device in |runs/s", "run", "pw/nop");
        EXPECT(0, "20 chained runs of pw/nop on 2 devices in ", "run", "pw/nop", "--devices", "2", "--repeat", "20", "--ahead",
               "3");
        EXPECT(0, "3 runs of pw/add on 4 devices in ", "run", "pw/add", "--inputs", "2", "--devices", "4", "--islands", "2",
               "--repeat", "3",
               "--dims", "8", "--sharding", "split:0", "--result", "partial:sum");
        EXPECT(0, "\"function\": \"pw/nop\", \"devices\": 1, \"runs\": 5, \"chained\": \"yes\", \"took_us\": |\"runs_per_s\": ",
               "run", "pw/nop",
               "--repeat", "5", "--json");
        EXPECT(0, "1 run of pw/nop on 1 device in ", "run", "pw/nop", "--kind", it_text(devices, 0, "kind"));
        pw_listing_free(devices);
        assert_int_equal(it_listed(host->session, "status", "runs_done"), 2 + 21 + 4 + 6 + 2); /* the first of each is not timed */
}

/* What cannot be tried is refused before anything runs. */
static void a_trial_is_refused(void **state)
{
        struct it_host *host = *state;

        EXPECT(2, "--repeat and --ahead are at least 1", "run", "pw/nop", "--repeat", "0");
        EXPECT(2, "--inputs 1000: at most", "run", "pw/nop", "--inputs", "1000");
        EXPECT(2, "--sharding sideways", "run", "pw/nop", "--sharding", "sideways");
        EXPECT(2, "--result backwards", "run", "pw/nop", "--result", "backwards");
        EXPECT(2, "--params-u64: \"1,x\" is no list", "run", "pw/sleep_us", "--params-u64", "1,x");
        EXPECT(1, "slice of 9 devices: there are 8", "run", "pw/nop", "--devices", "9");
        EXPECT(1, "slice of 1 devices: there are 0 of kind mainframe", "run", "pw/nop", "--kind", "mainframe");
        EXPECT(1, "broken/fail failed", "run", "broken/fail", "--params-u64", "0");
        assert_int_equal(it_listed(host->session, "status", "runs_done"), 1);
}

/* What was tried stands in each listing, as a table for people and as JSON. */
static void what_ran_is_listed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(64), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64), 0), *result = it_run_1(program, input);

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        EXPECT(0,
               "program  name      nodes  inputs  results|      1  test/one      2       1        1        1 KiB     1 KiB     1  "
               "2 x 1\n", "programs");
        EXPECT(0,
               "   0  load  load 0      0  -       0        -      -    block + 0        -\n"
               "   1  call  pw/nop      0  0       1        -      -    result 0         -\n", "programs", "1");
        EXPECT(0, "run  program   client|  1  test/one  trials_test[|  done  |      2        2  ", "runs");
        EXPECT(0, "h0:0      1    1  test/one  0 load 0  done |h0:1      2    1  test/one  1 pw/nop  done ", "gangs");
        EXPECT(0,
               "{\"device\": \"h0:1\", \"seq\": 2, \"run\": 1, \"program\": \"test/one\", \"node\": \"1 pw/nop\", \"state\": "
               "\"done\", ", "gangs", "h0:1", "--json");
        EXPECT(0, "]  test/one    0 B   1 KiB        1  |]  -         512 B     0 B        1  ", "owners");
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static struct pw_program *sleeper(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "test/sleep");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);

        pw_result(program, it_sleep(program, slice, input, PW_BROADCAST, 60000000));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* The number of the newest run. */
static const char *newest_run(struct pw_session *session, char text[24])
{
        struct pw_listing *runs = NULL;

        it_ok(pw_list(session, "runs", NULL, 1, &runs, IT_ERR));
        assert_int_equal(it_rows(runs), 1);
        snprintf(text, 24, "%lld", (long long)it_number(runs, 0, "run"));
        pw_listing_free(runs);
        return text;
}

/* By its number, by the id of a result and by a result's name; each ends that run alone. */
static void a_run_is_cancelled(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = sleeper(host->session, slice);
        struct pw_future *input = it_put_scalar(host->session, 1), *runs[3];
        char id[PW_ID_TEXT_BYTES], number[24];

        for (int i = 0; i < 3; i++)
                runs[i] = it_run_1(program, input);
        it_ok(pw_name(runs[0], "first", IT_ERR));
        EXPECT(0, "", "cancel", "run", newest_run(host->session, number));
        it_fails_with(runs[2], PW_CANCELLED, "test/sleep|cancelled by|pathways[");
        EXPECT(0, "\"cancelled\": \"h0.", "cancel", pw_id_format(pw_future_id(runs[1]), id), "--json");
        it_fails_with(runs[1], PW_CANCELLED, "cancelled by|pathways[");
        assert_int_equal(pw_poll(runs[0]), PW_NOT_READY);
        EXPECT(0, "", "cancel", "first");
        it_fails_with(runs[0], PW_CANCELLED, "cancelled by|pathways[");
        EXPECT(2, "12x is not the number of a run", "cancel", "run", "12x");
        EXPECT(2, "0 is not the number of a run", "cancel", "run", "0");
        EXPECT(2, "an id, a name or `run N`", "cancel", "run");
        EXPECT(2, "an id, a name or `run N`", "cancel", "first", "second");
        EXPECT(5, "run 400", "cancel", "run", "400");
        EXPECT(5, "nobody", "cancel", "nobody");
        EXPECT(2, "no run makes it", "cancel", pw_id_format(pw_future_id(input), id));
        it_ok(pw_unname(host->session, "first", IT_ERR));
        for (int i = 0; i < 3; i++)
                pw_unref(runs[i]);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* What `why run N` says to another user, without the number. */
static void why_to_others(struct it_host *host, const char *number, char *ret_text, size_t text_bytes)
{
        char *err, *at;

        it_command_as(12345);
        int code = it_command(host, NULL, &err, "why", "run", number);
        it_command_as(0);
        assert_int_equal(code, 5);
        at = strstr(err, number);
        assert_non_null(at);
        snprintf(ret_text, text_bytes, "%.*s%s", (int)(at - err), err, at + strlen(number));
        free(err);
}

/* One that waits, one that has ended, and one that never was. */
static void a_run_of_somebody_else(void **state)
{
        struct it_host *host = *state;
        char waits[400], ended[400], never[400], number[24];

        if (geteuid() != 0)
                it_skip("needs root, to be another user");
        assert_int_equal(chmod(host->folder, 0711), 0);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = sleeper(host->session, slice);
        struct pw_future *input = it_put_scalar(host->session, 1), *run;

        EXPECT(0, "1 run of pw/nop", "run", "pw/nop");
        EXPECT(0, "it ended ", "why", "run", "1");
        why_to_others(host, "1", ended, sizeof ended);
        run = it_run_1(program, input);
        newest_run(host->session, number);
        EXPECT(0, "test/sleep", "why", "run", number);
        why_to_others(host, number, waits, sizeof waits);
        why_to_others(host, "4711", never, sizeof never);
        assert_string_equal(waits, never);
        assert_string_equal(ended, never);
        assert_non_null(strstr(never, "tenant uid-12345 has none of that number"));
        EXPECT(5, "there is none yet, the last is run ", "why", "run", "4711");
        pw_unref(run);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static bool is_waited_for(struct pw_session *session, const char *id)
{
        struct pw_listing *object = it_list(session, "object", id);
        bool waited = false;

        for (size_t i = 0; i < it_rows(object); i++)
                waited = waited || !strcmp(it_text(object, i, "part"), "waiter");
        pw_listing_free(object);
        return waited;
}

/* From the thread that waits to the object, and on to who has still to make it. */
static void a_process_waits(void **state)
{
        struct it_host *host = *state;
        struct pw_future *pending;
        char id[PW_ID_TEXT_BYTES], pid[24], chain[240];
        void *data;

        it_ok(pw_create(host->session, 8, &(struct pw_put_params){ .dtype = PW_F64 }, &pending, &data, IT_ERR));
        it_ok(pw_name(pending, "pending", IT_ERR));
        struct it_child child = it_fork(it_wait_for_pending, host);
        pw_id_format(pw_future_id(pending), id);
        for (int64_t end_us = it_now_us() + IT_LONG; !is_waited_for(host->session, id);)
                assert_true(it_now_us() < end_us);
        snprintf(pid, sizeof pid, "%d", (int)child.pid);
        snprintf(chain, sizeof chain, "thread %s of trials_test[%s]|waits for object %s|waits for trials_test[%d] to seal it", pid,
                 pid, id, (int)getpid());
        EXPECT(5, "there was no run yet; `pid N` names a process", "why", pid);
        EXPECT(0, chain, "why", "pid", pid);
        *(double *)data = 1;
        it_ok(pw_seal(pending, IT_ERR));
        assert_int_equal(it_reap(&child, 0), 0);
        it_ok(pw_unname(host->session, "pending", IT_ERR));
        pw_unref(pending);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_function_is_tried),
                IT_TEST(a_trial_is_refused),
                IT_TEST(what_ran_is_listed),
                IT_TEST(a_run_is_cancelled),
                IT_TEST(a_run_of_somebody_else),
                IT_TEST(a_process_waits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
