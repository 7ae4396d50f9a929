/* A tenant has very many gangs wait at each device, one by one and over all of them: others' runs come behind one of them, not
 * all. */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICES 4
#define GANGS 10       /* of a run, each asleep: */
#define GANG_US UINT64_C(100)
#define RUNS 3000u     /* at each device: 3 s of work */
#define ROUNDS 8

struct crowd { const struct it_host *host; uint32_t runs; };

static struct pw_program *sleeper(struct pw_session *session, struct pw_slice *slice)
{
        uint64_t us = GANG_US;
        struct pw_call_params params = { .params = &us, .params_bytes = sizeof us };
        struct pw_program *program = pw_program_new(session, "crowd");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);

        for (int i = 0; i < GANGS; i++)
                value = pw_call_with(program, slice, "pw/sleep_us", PW_ARGS(value), PW_BROADCAST, &params);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* A byte when all are submitted, another when the last of them is done. */
static int crowd(void *context, int pipe)
{
        const struct crowd *crowd = context;
        struct pw_session *session = it_connect(crowd->host);
        struct pw_program *programs[DEVICES + 1];
        struct pw_future *input, **last = calloc(DEVICES + 1, sizeof(struct pw_future *));
        double one = 1;

        for (int i = 0; i <= DEVICES; i++)
                programs[i] = sleeper(session, i < DEVICES ? it_slice(session, 1, 1) : it_slice(session, DEVICES, 2));
        it_ok(pw_put(session, &one, sizeof one, &(struct pw_put_params){ .dtype = PW_F64 }, &input, IT_ERR));
        for (uint32_t i = 0; i < crowd->runs; i++)
                for (int p = 0; p <= DEVICES; p++) /* results are kept: else the runs would be cancelled */
                        it_ok(pw_run(programs[p], PW_FUTURES(input), &last[p], IT_ERR));
        it_ok(pw_session_fence(session, IT_ERR));
        assert_int_equal(write(pipe, "s", 1), 1);
        it_ok(pw_wait(last, DEVICES + 1, DEVICES + 1, PW_FOREVER, NULL, IT_ERR));
        assert_int_equal(write(pipe, "d", 1), 1);
        return 0;
}

static bool is_done(const struct it_child *child)
{
        struct pollfd look = { .fd = child->pipe, .events = POLLIN };

        return poll(&look, 1, 0) == 1;
}

static void attack(struct it_host *host)
{
        struct crowd context = { host, (uint32_t)it_environment("PW_CROWD_RUNS", RUNS) };
        struct pw_slice *slice = it_slice(host->session, DEVICES, 2);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(8), NULL);
        double numbers[8] = { 1 };
        struct pw_future *input;
        struct it_child child = attack_fork(ATTACK_USER, crowd, &context);
        int64_t longest_us = 0;
        char byte;

        it_ok(pw_put(host->session, numbers, sizeof numbers, &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(8) },
                     &input, IT_ERR));
        it_read(&child, &byte, 1);
        for (int i = 0; i < ROUNDS; i++) {
                int64_t since_us = it_now_us();
                struct pw_future *result = it_run_1(program, input);
                struct pw_view view;

                it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
                longest_us = it_now_us() - since_us > longest_us ? it_now_us() - since_us : longest_us;
                it_within("turns: a run over all", since_us, 50000);
                pw_view_done(&view);
                pw_unref(result);
        }
        printf("turns: beside %u runs of %d gangs at each of %d devices, and as many over all, one over all took %lld us at most\n",
               context.runs, GANGS, DEVICES, (long long)longest_us);
        assert_false(is_done(&child));
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "turns", .rule = "tenants take turns at devices", .users = true, .alone = true,
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "2", "--host-memory", "1GiB",
                                                             "--device-memory", "64MiB"),
                                             .run = attack });
}
