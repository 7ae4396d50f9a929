/* Runs and the memory of devices: what can never fit, what waits and for whom, and what a program says that it needs.
 */
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* A program that makes `mib` MiB on each device of nothing. */
static struct pw_program *make_filler(struct pw_session *session, struct pw_slice *slice, uint64_t mib)
{
        struct { double value; uint64_t dtype, rank, dim[1]; } fill = { 1, PW_F64, 1, { mib * MIB / sizeof(double) } };
        struct pw_program *program = pw_program_new(session, "test/filler");

        pw_result(program, pw_call_with(program, slice, "pw/fill", PW_NO_ARGS, PW_BROADCAST,
                                        &(struct pw_call_params){ .params = &fill, .params_bytes = sizeof fill }));
        return program;
}

/* --- never ------------------------------------------------------------------------------------------------------------ */

static void what_can_never_fit(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = make_filler(host->session, slice, 24), *small = make_filler(host->session, slice, 4);
        struct pw_future *result;

        it_fails(pw_compile(program, IT_ERR), PW_TOO_LARGE, "test/filler|24 MiB|h0:0|16 MiB|8 MiB too much");
        pw_program_free(program);
        program = make_filler(host->session, slice, 16); /* and what goes with a value */
        it_fails(pw_compile(program, IT_ERR), PW_TOO_LARGE, "16777472 B|16777216 B|256 B too much");
        it_ok(pw_compile(small, IT_ERR));
        it_ok(pw_run(small, PW_NO_FUTURES, &result, IT_ERR));
        assert_true(it_get_scalar(result) == 1);
        pw_unref(result);
        pw_program_free(program);
        pw_program_free(small);
        pw_slice_close(slice);
}

/* --- later ------------------------------------------------------------------------------------------------------------ */

/* Holds 12 of the 16 MiB of each device until it is told to let go, or is killed. */
static int hold_12(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_program *program = make_filler(session, it_slice(session, 2, 1), 12);
        struct pw_future *result;

        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_NO_FUTURES, &result, IT_ERR));
        assert_true(it_get_scalar(result) == 1);
        assert_int_equal(write(pipe, "h", 1), 1);
        return pause();
}

static bool somebody_waits(const struct pw_listing *islands, void *context)
{
        (void)context;
        return it_number(islands, 0, "runs_queued") > 0;
}

static bool says(const struct pw_listing *why, const char *text)
{
        for (size_t i = 0; i < it_rows(why); i++)
                if (strstr(it_text(why, i, "waits_for"), text) || strstr(it_text(why, i, "what"), text))
                        return true;
        return false;
}

static void what_fits_later(void **state)
{
        struct it_host *host = *state;
        struct it_child holder = it_fork(hold_12, host);
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = make_filler(host->session, slice, 8), *small = make_filler(host->session, slice, 2);
        struct pw_future *waiting, *passing;
        char id[PW_ID_TEXT_BYTES], name[32], byte;

        it_read(&holder, &byte, 1);
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_compile(small, IT_ERR));
        it_ok(pw_run(program, PW_NO_FUTURES, &waiting, IT_ERR));
        it_until(host->session, "islands", somebody_waits, NULL);
        struct pw_listing *why = it_list(host->session, "why", pw_id_format(pw_future_id(waiting), id));
        snprintf(name, sizeof name, "[%d]", (int)holder.pid);
        if (!says(why, name) || !says(why, "4 MiB") || !says(why, "h0:0")) {
                it_print(why);
                fail_msg("why does not name %s, which holds 12 MiB, and the 4 MiB that h0:0 lacks", name);
        }
        pw_listing_free(why);
        /* The run that waits for a session to let go does not hold back what fits. */
        it_ok(pw_run(small, PW_NO_FUTURES, &passing, IT_ERR));
        assert_true(it_get_scalar(passing) == 1);
        pw_unref(passing);
        assert_int_equal(pw_poll(waiting), PW_NOT_READY);
        int64_t start_us = it_now_us();
        it_reap(&holder, SIGKILL);
        assert_true(it_get_scalar(waiting) == 1);
        it_within("the run goes on", start_us, IT_SECOND);
        pw_unref(waiting);
        pw_program_free(program);
        pw_program_free(small);
        pw_slice_close(slice);
}

/* The result that is in the way is the client's own, and let go while the daemon sleeps: nobody else says that it is gone. */
static void what_the_client_itself_lets_go(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = make_filler(host->session, slice, 12);
        struct pw_future *result, *next;

        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_NO_FUTURES, &result, IT_ERR));
        for (int i = 0; i < 20; i++) {
                int64_t start_us = it_now_us();

                it_ok(pw_run(program, PW_NO_FUTURES, &next, IT_ERR));
                if (i % 2)
                        it_until(host->session, "islands", somebody_waits, NULL);
                assert_true(it_get_scalar(result) == 1);
                pw_unref(result);
                assert_true(it_get_scalar(next) == 1);
                it_within("the next run has the room", start_us, IT_SECOND);
                result = next;
        }
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void what_does_not_fit_before_its_deadline(void **state)
{
        struct it_host *host = *state;
        struct it_child holder = it_fork(hold_12, host);
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = make_filler(host->session, slice, 8);
        struct pw_run_params params = { .deadline_us = 100000 };
        struct pw_future *result;
        struct pw_view view;
        char byte, texts[64];

        it_read(&holder, &byte, 1);
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run_with(program, PW_NO_FUTURES, &params, &result, IT_ERR));
        snprintf(texts, sizeof texts, "test/filler|h0:0|4 MiB|[%d]", (int)holder.pid);
        it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_NO_SPACE, texts);
        pw_unref(result);
        /* Cancelled while it waits: nobody wants it any more. */
        it_ok(pw_run(program, PW_NO_FUTURES, &result, IT_ERR));
        it_until(host->session, "islands", somebody_waits, NULL);
        pw_unref(result);
        it_reap(&holder, SIGKILL);
        pw_program_free(program);
        pw_slice_close(slice);
}

static int setup_16(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--host-memory", "128MiB", "--device-memory", "16MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_can_never_fit, setup_16, it_teardown),
                cmocka_unit_test_setup_teardown(what_fits_later, setup_16, it_teardown),
                cmocka_unit_test_setup_teardown(what_the_client_itself_lets_go, setup_16, it_teardown),
                cmocka_unit_test_setup_teardown(what_does_not_fit_before_its_deadline, setup_16, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
