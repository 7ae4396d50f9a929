/* Executors that die in the midst of all-reduces in parts, where each member waits for the others several times: nobody waits for
 * the dead, and all are back within a second.
 */
#include "tests/integration/scene.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTS 100003u
#define DEVICES 4u
#define SUMS 60
#define KILLS 12

/* So many all-reduces behind each other; their maximum is what each of them is given. */
static struct pw_program *make_sums(struct it_host *host, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(host->session, "test/parts");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(ELEMENTS), PW_BROADCAST, 0);

        for (int i = 0; i < SUMS; i++)
                value = PW_AS(pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_PARTIAL(PW_MAX)), PW_BROADCAST);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* Some device is in one; where the processor does not read its memory, it goes in one piece. */
static bool is_reducing(const struct pw_listing *gangs)
{
        const char *name = it_apart() ? "all-reduce" : "all-reduce in parts";

        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "state"), "running") && strstr(it_text(gangs, i, "node"), name))
                        return true;
        return false;
}

/* A run of which some device is in one now: one after the other, for this process may see nothing of a run that is over. */
static struct pw_future *run_reducing(struct it_host *host, struct pw_program *program, struct pw_future *input)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (it_now_us() < limit_us) {
                struct pw_future *result = it_run_1(program, input);

                while (pw_poll(result) == PW_NOT_READY) {
                        struct pw_listing *gangs = it_list(host->session, "gangs", NULL);
                        bool so = is_reducing(gangs);

                        pw_listing_free(gangs);
                        if (so)
                                return result;
                }
                pw_unref(result);
        }
        fail_msg("no run is seen in an all-reduce");
        return NULL;
}

/* The value, or what was lost with the device, told by its name. */
static void expect_end(struct pw_future *result, const char *device)
{
        struct pw_error err;
        struct pw_view view;
        enum pw_status status = pw_get(result, IT_LONG, &view, &err);

        if (status == PW_OK) {
                for (uint64_t i = 0; i < ELEMENTS; i++)
                        assert_true(((const double *)view.data)[i] == (double)i);
                pw_view_done(&view);
        } else if ((status != PW_CRASHED && status != PW_DEVICE_LOST) || !strstr(err.text, device)) {
                fail_msg("%s is killed: %s, %s", device, pw_status_name(status), err.text);
        }
}

static void executors_killed_in_large_sums(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, DEVICES, 1);
        struct pw_program *program = make_sums(host, slice);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(ELEMENTS), 0), *result;

        for (int i = 0; i < KILLS; i++) {
                char device[16];

                snprintf(device, sizeof device, "h0:%d", i % (int)DEVICES);
                result = run_reducing(host, program, input);
                assert_true(it_signal_executor(host, device, SIGKILL));
                int64_t start_us = it_now_us();
                expect_end(result, device);
                it_back_within_a_second(host->session, i + 1, start_us);
                pw_unref(result);
        }
        result = it_run_1(program, input);
        expect_end(result, "nobody");
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(executors_killed_in_large_sums) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
