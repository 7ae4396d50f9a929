/* A client has every device burn its processor for 285 years, and cancels; one that multiplies nothing by nothing of 2^62 rows. The
 * devices are there for others again within a bound, whoever is attached. */
#include "tests/attack/attack.h"

#include "tests/integration/trace.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 4u
#define LIMIT_US (12 * IT_SECOND)   /* of each function; a cancelled one has 10 s */
#define BOUND (2 * LIMIT_US)

/* Held by one session while another, which has nothing to do with it, waits for the devices. */
static void come_back(struct it_host *host, const char *after)
{
        struct pw_slice *slice = it_slice(host->session, DEVICES, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 1), *result;
        int64_t since_us = it_now_us();
        struct pw_view view;
        struct pw_error err = { PW_OK, "" };
        enum pw_status status;

        do {
                result = it_run_1(program, input);
                status = pw_get(result, BOUND, &view, &err);
                if (status == PW_OK)
                        pw_view_done(&view);
                pw_unref(result);
                if (status == PW_DEADLINE || it_now_us() - since_us > 2 * BOUND)
                        fail_msg("the devices are held for %d s after %s: %s", (int)((it_now_us() - since_us) / IT_SECOND),
                                 after, err.text);
        } while (status != PW_OK);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static bool is_in_function(const struct pw_listing *listing, void *context)
{
        (void)context;
        for (size_t row = 0; row < it_rows(listing); row++)
                if (strstr(it_text(listing, row, "waiting_for"), "spin_us"))
                        return true;
        return false;
}

static struct pw_future *spin(struct pw_session *session, struct pw_slice *slice, uint64_t us)
{
        const struct pw_call_params params = { .params = &us, .params_bytes = sizeof us, .time_limit_us = UINT64_C(1) << 60 };
        struct pw_program *program = it_one_node(session, slice, "pw/spin_us", PW_DIMS(8), &params);
        struct pw_future *input = it_put_f64(session, PW_DIMS(8), 1), *result = it_run_1(program, input);

        pw_unref(input);
        pw_program_free(program);
        return result;
}

/* Cancelled, while its client stays: what has begun ends before the daemon's own limit. */
static void spin_cancelled(struct it_host *host, struct pw_session *session, struct pw_slice *slice)
{
        struct pw_future *result = spin(session, slice, UINT64_C(1) << 53);

        it_until(host->session, "runs", is_in_function, NULL);
        it_ok(pw_cancel(result, IT_ERR));
        come_back(host, "a cancelled run");
        pw_unref(result);
}

/* Not cancelled: the limit that the daemon gives each function ends it, whatever the call says of one. */
static void spin_on(struct it_host *host, struct pw_session *session, struct pw_slice *slice)
{
        struct pw_future *result = spin(session, slice, UINT64_C(1) << 53);
        struct pw_view view;

        it_fails(pw_get(result, BOUND, &view, IT_ERR), PW_TIME_LIMIT, "pw/spin_us|time limit");
        pw_unref(result);
        come_back(host, "a function that never ends");
}

static void multiply(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "nothing");
        struct pw_value *a = pw_input(program, slice, PW_F64, PW_DIMS(UINT64_C(1) << 62, 0), PW_BROADCAST, 0);
        struct pw_value *b = pw_input(program, slice, PW_F64, PW_DIMS(0, 0), PW_BROADCAST, 0);
        struct pw_put_params params[2] = { { .dtype = PW_F64, .dims = PW_DIMS(UINT64_C(1) << 62, 0) },
                                           { .dtype = PW_F64, .dims = PW_DIMS(0, 0) } };
        struct pw_future *inputs[2], *result;
        struct pw_view view;
        int64_t since_us;

        pw_result(program, pw_call(program, slice, "pw/matmul", PW_ARGS(a, b), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        for (uint32_t i = 0; i < 2; i++)
                it_ok(pw_put(session, "", 0, &params[i], &inputs[i], IT_ERR));
        since_us = it_now_us();
        it_ok(pw_run(program, PW_FUTURES(inputs[0], inputs[1]), &result, IT_ERR));
        it_ok(pw_get(result, BOUND, &view, IT_ERR));
        it_within("nothing times nothing", since_us, IT_SECOND / 10);
        assert_int_equal(view.bytes, 0);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(inputs[0]);
        pw_unref(inputs[1]);
        pw_program_free(program);
}

static void run(struct it_host *host)
{
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, DEVICES, 1);

        multiply(session, slice);
        spin_cancelled(host, session, slice);
        spin_on(host, session, slice);
        pw_slice_close(slice);
        pw_close(session);
}


int main(void)
{
        return attack_main(&(struct attack){
                .name = "spins",
                .rule = "a function has a limit, a cancelled one a shorter one, whoever is attached; what is empty takes no time",
                .args = IT_ARGS("--devices", "emulated:4", "--host-memory", "256MiB", "--device-memory", "16MiB",
                                "--function-limit", "12s"),
                .alone = true,
                .unwatched = true,
                .run = run,
        });
}
