/* Runs and their deadlines: what is ended for one that has passed, and what is not.
 */
#include "tests/integration/folder.h"
#include "tests/integration/scene.h"

#include <signal.h>
#include <string.h>

static struct pw_future *run_until(struct pw_program *program, struct pw_future *input, int64_t deadline_us)
{
        struct pw_run_params params = { .deadline_us = deadline_us };
        struct pw_future *result;

        it_ok(pw_run_with(program, PW_FUTURES(input), &params, &result, IT_ERR));
        return result;
}

static bool says_deadline(const struct pw_listing *why)
{
        for (size_t i = 0; i < it_rows(why); i++)
                if (strstr(it_text(why, i, "what"), ", to end within "))
                        return true;
        return false;
}

/* The function that is over the deadline is ended; a run whose deadline passes behind it says for whom it waited. */
static void a_function_over_the_deadline(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 60 * IT_SECOND), *quick = it_sleeper(host->session, slice, 0);
        struct pw_future *input = it_put_scalar(host->session, 1), *slow = run_until(program, input, IT_SECOND);
        struct pw_future *behind = run_until(quick, input, IT_SECOND / 4), *after = run_until(quick, input, IT_LONG);
        char id[PW_ID_TEXT_BYTES];
        int64_t start_us = it_now_us();

        it_until(host->session, "gangs", it_are_running, &(int){ 1 });
        struct pw_listing *why = it_list(host->session, "why", pw_id_format(pw_future_id(slow), id));
        assert_true(says_deadline(why));
        pw_listing_free(why);
        it_fails_with(behind, PW_DEADLINE,
                      "test/sleep|not done at its deadline|after it was submitted|device h0:|pw/sleep_us of run 1");
        assert_int_equal(pw_poll(slow), PW_NOT_READY);
        assert_int_equal(it_listed(host->session, "devices", "restarts"), 0);
        it_fails_with(slow, PW_DEADLINE, "test/sleep|deadline|device h0:|pw/sleep_us of run 1");
        it_within("the run ends", start_us, 2 * IT_SECOND);
        assert_true(it_get_scalar(after) == 1); /* the device is there again */
        it_until(host->session, "status", it_rests, NULL);
        pw_unref(behind);
        pw_unref(slow);
        pw_unref(after);
        pw_unref(input);
        pw_program_free(program);
        pw_program_free(quick);
        pw_slice_close(slice);
}

/* Cancelled, with less left of its own deadline than cancelling leaves: it is that which ends the function. */
static void a_deadline_after_cancelling(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 60 * IT_SECOND);
        struct pw_future *input = it_put_scalar(host->session, 1), *slow = run_until(program, input, 2 * IT_SECOND);

        it_until(host->session, "gangs", it_are_running, &(int){ 1 });
        it_ok(pw_cancel(slow, IT_ERR));
        it_fails_with(slow, PW_CANCELLED, "cancelled by");
        it_until(host->session, "status", it_rests, NULL);
        assert_true(it_has_said(host, "it outlived the deadline of its run"));
        pw_unref(slow);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* A stopped executor has not begun the function, so its process is not ended: no deadline is shown once it has passed. */
static void a_deadline_that_has_passed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 0);
        struct pw_future *input = it_put_scalar(host->session, 1), *result;
        struct pw_listing *why, *devices = it_list(host->session, "devices", NULL);
        pid_t executor = (pid_t)it_number(devices, 0, "pid");

        pw_listing_free(devices);
        assert_int_equal(kill(executor, SIGSTOP), 0);
        result = run_until(program, input, IT_SECOND / 4);
        it_fails_with(result, PW_DEADLINE, "not done at its deadline");
        why = it_list(host->session, "why", "run 1");
        assert_true(it_rows(why) > 0);
        assert_non_null(strstr(it_text(why, 0, "what"), "test/sleep"));
        assert_false(says_deadline(why));
        pw_listing_free(why);
        assert_int_equal(kill(executor, SIGCONT), 0);
        it_until(host->session, "status", it_rests, NULL);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void an_input_that_does_not_come(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 0);
        struct pw_future *input, *result;
        void *data;

        it_ok(pw_create(host->session, sizeof(double), &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_SCALAR }, &input,
                        &data, IT_ERR));
        result = run_until(program, input, IT_SECOND / 20);
        it_fails_with(result, PW_DEADLINE, "test/sleep|input 0 was not ready before the deadline");
        it_ok(pw_abort(input, IT_ERR));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static bool waits(const struct pw_listing *runs, void *context)
{
        (void)context;
        return it_rows(runs) == 1 && !strcmp(it_text(runs, 0, "state"), "waiting");
}

/* Nobody will seal it any more: the run that waits for it hears that at once. */
static void an_input_that_is_let_go(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 0);
        struct pw_future *input, *result;
        void *data;

        it_ok(pw_create(host->session, sizeof(double), &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_SCALAR }, &input,
                        &data, IT_ERR));
        result = it_run_1(program, input);
        it_until(host->session, "runs", waits, NULL);
        pw_unref(input);
        it_fails_with(result, PW_CANCELLED, "input 0");
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
}

static struct pw_slice *in_island(struct it_host *host, int32_t island)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1, .island = island }, &slice, IT_ERR));
        return slice;
}

/* Its credit comes once another device, which is in another run's function, has taken what it made before. Killing its process
 * would end nothing, and cost what others have there. */
static void a_call_that_waits_for_another_device(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2] = { in_island(host, 1), in_island(host, 2) };
        struct pw_program *program = pw_program_new(host->session, "test/credits");
        struct pw_program *kept = it_sleeper(host->session, slices[0], 0);
        struct pw_program *other = it_sleeper(host->session, slices[1], 2 * IT_SECOND);
        struct pw_stage *stage = pw_stage(program, "encode", 1);
        struct pw_value *value = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0), *encoded;
        struct pw_future *input = it_put_scalar(host->session, 1), *held = it_run_1(kept, input), *ahead, *results[2];

        for (int i = 0; i < 2; i++) {
                encoded = pw_call_with(program, slices[0], "pw/nop", PW_ARGS(value), PW_BROADCAST,
                                       &(struct pw_call_params){ .stage = stage });
                pw_result(program, pw_move(encoded, slices[1], PW_BROADCAST));
        }
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_wait(&held, 1, 1, IT_LONG, NULL, IT_ERR));
        ahead = it_run_1(other, input);
        it_until(host->session, "gangs", it_are_running, &(int){ 1 });
        it_ok(pw_run_with(program, PW_FUTURES(input), &(struct pw_run_params){ .deadline_us = IT_SECOND / 4 }, results, IT_ERR));
        it_fails_with(results[1], PW_DEADLINE, "not done at its deadline");
        assert_true(it_get_scalar(ahead) == 1);
        it_until(host->session, "status", it_rests, NULL);
        assert_true(it_get_scalar(held) == 1);
        assert_int_equal(it_listed(host->session, "devices", "restarts"), 0);
        for (int i = 0; i < 2; i++)
                pw_unref(results[i]);
        pw_unref(held);
        pw_unref(ahead);
        pw_unref(input);
        pw_program_free(program);
        pw_program_free(kept);
        pw_program_free(other);
        for (int i = 0; i < 2; i++)
                pw_slice_close(slices[i]);
}

static int setup_2(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--islands", "2", "--host-memory", "256MiB",
                                            "--device-memory", "16MiB"));
}

#define TEST_2(test) cmocka_unit_test_setup_teardown(test, setup_2, it_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST_2(a_function_over_the_deadline),
                TEST_2(a_deadline_after_cancelling),
                TEST_2(a_deadline_that_has_passed),
                TEST_2(a_call_that_waits_for_another_device),
                TEST_2(an_input_that_does_not_come),
                TEST_2(an_input_that_is_let_go),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
