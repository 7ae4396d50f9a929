/* `pathways why` of runs: an island or a device that is elsewhere, credits, runs that ended, a gang's slowest member. */
#include "tests/integration/operator/why.h"

/* --- tests --------------------------------------------------------------------------------------------------------------- */

/* Two gangs ahead: the other island is told of what is sent only when the first function has returned. */
static void an_island_that_waits_for_another(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2];
        struct pw_program *program = pw_program_new(host->session, "test/across");
        struct pw_future *input = it_put_scalar(host->session, 1), *result;
        uint64_t us = 400000;
        char what[64];

        for (int32_t i = 0; i < 2; i++)
                it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1, .island = 2 - i }, &slices[i],
                                    IT_ERR));
        struct pw_value *value = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        for (int i = 0; i < 2; i++)
                value = pw_call_with(program, slices[0], "pw/sleep_us", &value, 1, PW_BROADCAST,
                                     &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        pw_result(program, pw_call(program, slices[1], "pw/nop", PW_ARGS(pw_move(value, slices[1], PW_BROADCAST)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        snprintf(what, sizeof what, "run %llu", (unsigned long long)newest_run(host));
        it_chain_expect(host, what,
               "(test/across|its gangs in one island: waits for island 1 to order what |in island 0 needs|device h0:1: waits for "
               "pw/sleep_us");
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slices[0]);
        pw_slice_close(slices[1]);
}

/* One device is past the run and at a later one, the other has not come to it: that one is to blame. */
static void a_device_that_is_past_the_run(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2] = { it_slice(host->session, 1, 1), NULL };
        struct pw_program *both = pw_program_new(host->session, "test/both"), *sleeps[2];
        struct pw_value *value = pw_input(both, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *one = it_put_scalar(host->session, 1), *results[2], *early, *late;
        uint64_t us[] = { 4000000, 3000000 }; /* longer than a loaded host is late */
        char what[64], expected[100];

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1, .island = 2 }, &slices[1], IT_ERR));
        for (int i = 0; i < 2; i++)
                sleeps[i] = it_one_node(host->session, slices[i], "pw/sleep_us", PW_SCALAR,
                                        &(struct pw_call_params){ .params = &us[i], .params_bytes = sizeof us[i] });
        pw_result(both, pw_call(both, slices[0], "pw/nop", PW_ARGS(value), PW_BROADCAST));
        pw_result(both, pw_call(both, slices[1], "pw/nop", PW_ARGS(pw_input(both, slices[1], PW_F64, PW_SCALAR, PW_BROADCAST, 0)),
                                PW_BROADCAST));
        it_ok(pw_compile(both, IT_ERR));
        early = it_run_1(sleeps[1], one);
        snprintf(expected, sizeof expected, "(test/both|device h0:4: waits for pw/sleep_us of run %llu ",
                 (unsigned long long)newest_run(host));
        it_ok(pw_run(both, PW_FUTURES(one, one), results, IT_ERR));
        snprintf(what, sizeof what, "run %llu", (unsigned long long)newest_run(host));
        late = it_run_1(sleeps[0], one);
        it_ok(pw_wait(&results[0], 1, 1, IT_LONG, NULL, IT_ERR));
        it_chain_expect(host, what, expected);
        it_ok(pw_wait((struct pw_future *[]){ results[0], results[1], early, late }, 4, 4, IT_LONG, NULL, IT_ERR));
        for (int i = 0; i < 2; i++) {
                pw_unref(results[i]);
                pw_program_free(sleeps[i]);
        }
        pw_unref(early);
        pw_unref(late);
        pw_unref(one);
        pw_program_free(both);
        pw_slice_close(slices[0]);
        pw_slice_close(slices[1]);
}

static struct pw_listing *list_limited(struct it_host *host, const char *what, const char *filter, uint32_t limit)
{
        struct pw_listing *listing;

        it_ok(pw_list(host->session, what, filter, limit, &listing, IT_ERR));
        return listing;
}

static bool has_state(struct it_host *host, const char *state)
{
        struct pw_listing *gangs = it_list(host->session, "gangs", NULL);
        bool found = false;

        for (size_t i = 0; i < it_rows(gangs) && !found; i++)
                found = !strcmp(it_text(gangs, i, "state"), state);
        pw_listing_free(gangs);
        return found;
}

/* One output in flight, and a slow reader: the next call of the stage is taken up and waits, so its executor is not to blame. */
static void a_stage_without_credit(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2] = { it_slice(host->session, 1, 1), NULL };
        struct pw_program *program = pw_program_new(host->session, "test/credits");
        struct pw_stage *stage = pw_stage(program, "encode", 1);
        struct pw_value *value = NULL, *input = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *one = it_put_scalar(host->session, 1), *results[3];
        uint64_t us[] = { 1, 400000 };
        struct pw_listing *gangs;
        struct pw_call_params fast = { .params = &us[0], .params_bytes = sizeof us[0], .stage = stage };
        struct pw_call_params slow = { .params = &us[1], .params_bytes = sizeof us[1] };

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1, .island = 2 }, &slices[1], IT_ERR));
        for (int i = 0; i < 3; i++) {
                value = pw_call_with(program, slices[0], "pw/sleep_us", &input, 1, PW_BROADCAST, &fast);
                value = pw_move(value, slices[1], PW_BROADCAST);
                pw_result(program, pw_call_with(program, slices[1], "pw/sleep_us", &value, 1, PW_BROADCAST, &slow));
        }
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(one), results, IT_ERR));
        it_chain_expect(host, "h0:0",
                        "device h0:0: waits for a credit of stage encode (quota 1), and so for device h0:4 to be done with |"
                             "before pw/sleep_us of run |; remedy: \n|device h0:4: waits for pw/sleep_us of run |to "
                             "return|pathwaysd ends its executor");
        assert_true(has_state(host, "waiting"));
        gangs = list_limited(host, "gangs", "h0:0", 2);
        assert_int_equal(it_rows(gangs), 2);
        assert_string_equal(it_text(gangs, 0, "state"), "waiting"); /* what is ordered behind it does not hide it */
        assert_true(pw_listing_rows(gangs)->truncated);
        pw_listing_free(gangs);
        it_ok(pw_wait(results, 3, 3, IT_LONG, NULL, IT_ERR));
        assert_false(has_state(host, "waiting"));
        for (int i = 0; i < 3; i++)
                pw_unref(results[i]);
        pw_unref(one);
        pw_program_free(program);
        pw_slice_close(slices[0]);
        pw_slice_close(slices[1]);
}

/* A run whose next call needs the room that the run before it still has in flight. */
static bool waits_for_a_credit(const struct pw_listing *runs, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(runs); i++) {
                const char *sentence = strstr(it_text(runs, i, "waiting_for"), "a credit of stage encode of quota 1, held by run ");

                if (sentence && atoll(strrchr(sentence, ' ')) + 1 == it_number(runs, i, "run"))
                        return true;
        }
        return false;
}

static void a_run_without_credit(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[2] = { it_slice(host->session, 1, 1), NULL };
        struct pw_program *program = pw_program_new(host->session, "test/credit");
        struct pw_value *value, *input = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *one = it_put_scalar(host->session, 1), *results[60];
        uint64_t us[] = { 1, 50000 };

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1, .island = 2 }, &slices[1], IT_ERR));
        value = pw_call_with(program, slices[0], "pw/sleep_us", &input, 1, PW_BROADCAST,
                             &(struct pw_call_params){ .params = &us[0], .params_bytes = sizeof us[0],
                                                       .stage = pw_stage(program, "encode", 1) });
        value = pw_move(value, slices[1], PW_BROADCAST);
        pw_result(program, pw_call_with(program, slices[1], "pw/sleep_us", &value, 1, PW_BROADCAST,
                                        &(struct pw_call_params){ .params = &us[1], .params_bytes = sizeof us[1] }));
        it_ok(pw_compile(program, IT_ERR));
        for (int i = 0; i < 60; i++)
                it_ok(pw_run(program, PW_FUTURES(one), &results[i], IT_ERR));
        it_until(host->session, "runs", waits_for_a_credit, NULL);
        for (int i = 0; i < 60; i++)
                pw_unref(results[i]);
        pw_unref(one);
        pw_program_free(program);
        pw_slice_close(slices[0]);
        pw_slice_close(slices[1]);
}

/* What it failed for is known when its results have gone. */
static void a_run_that_failed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        uint64_t us = 60000000, number;
        struct pw_program *program = it_one_node(host->session, slice, "pw/sleep_us", PW_SCALAR,
                                                 &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        struct pw_future *input = it_put_scalar(host->session, 1), *result;
        struct pw_listing *runs;
        char what[40];

        it_ok(pw_run_with(program, PW_FUTURES(input), &(struct pw_run_params){ .deadline_us = 50000 }, &result, IT_ERR));
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        number = newest_run(host);
        snprintf(what, sizeof what, "run %llu", (unsigned long long)number);
        it_chain_expect(host, what, "nothing: it ended |of test/one was not done at its deadline|mend that");
        runs = it_list(host->session, "runs", NULL);
        assert_non_null(strstr(it_text(runs, it_rows(runs) - 1, "error"), "was not done at its deadline"));
        pw_listing_free(runs);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static bool is_last_cancelled(const struct pw_listing *runs, void *context)
{
        (void)context;
        return !strcmp(it_text(runs, it_rows(runs) - 1, "state"), "cancelled");
}

/* One result failed, then the run was cancelled: its sentence is that of what it ended with. */
static void a_run_that_failed_and_was_cancelled(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/twice");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *input = it_put_scalar(host->session, 1), *results[2];
        uint64_t us = 200000;
        struct pw_listing *runs;

        pw_result(program, pw_call(program, slice, "broken/fail", PW_ARGS(value), PW_BROADCAST));
        for (int i = 0; i < 8; i++)
                value = pw_call_with(program, slice, "pw/sleep_us", &value, 1, PW_BROADCAST,
                                     &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), results, IT_ERR));
        it_ok(pw_wait(&results[0], 1, 1, IT_LONG, NULL, IT_ERR));
        it_ok(pw_cancel(results[1], IT_ERR));
        it_ok(pw_wait(&results[1], 1, 1, IT_LONG, NULL, IT_ERR));
        it_until(host->session, "runs", is_last_cancelled, NULL);
        runs = it_list(host->session, "runs", NULL);
        assert_non_null(strstr(it_text(runs, it_rows(runs) - 1, "error"), "cancel"));
        pw_listing_free(runs);
        pw_unref(results[0]);
        pw_unref(results[1]);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* The other way round: asked of a device that came, the chain leads to the one that did not. */
static void a_gang_leads_to_its_slowest_member(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = pw_program_new(host->session, "test/together");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(64), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64), 0), *result;
        pid_t pid = executor_of(host, "h0:2");

        pw_result(program, PW_AS(it_sleep(program, slice, value, PW_SPLIT(0), 1), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        assert_int_equal(kill(pid, SIGSTOP), 0);
        result = it_run_1(program, input);
        it_chain_expect(host, "gang h0:0 3",
               "gang 3 of run |its part on device h0:0|device h0:0: waits for device h0:2 to come to |device h0:2|which is "
               "stopped");
        assert_int_equal(kill(pid, SIGCONT), 0);
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static int setup_two_ahead(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--islands", "2", "--ahead", "2"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_gang_leads_to_its_slowest_member), IT_TEST(a_stage_without_credit), IT_TEST(a_run_without_credit),
                IT_TEST(a_run_that_failed), IT_TEST(a_run_that_failed_and_was_cancelled),
                IT_TEST(a_device_that_is_past_the_run),
                cmocka_unit_test_setup_teardown(an_island_that_waits_for_another, setup_two_ahead, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
