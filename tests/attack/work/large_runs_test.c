/* Large programs of a hostile user that run once, one after the other, beside a bystander on the same devices: the bystander waits
 * for one of their nodes at a time, never for a whole program, and executors have no more memory afterwards than they keep for
 * programs whoever runs them. */
#include "tests/attack/attack.h"

#include "executor/program/program.h"
#include "executor/program/run.h"
#include "libclient/program/program.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <stdlib.h>

#define DEVICES 4u /* all that a daemon of its own has: the bystander's is one of them */
#define NODES 60000u
#define MIB (UINT64_C(1) << 20)
/* pathwaysd(8), what is not charged: nodes, slices of programs, places of runs, and their tables */
#define EXECUTOR_MOST (16 * MIB)
_Static_assert(PW_NODES_BYTES + PW_PROGRAMS_BYTES + PW_RUNS_BYTES <= EXECUTOR_MOST, "what the manual says");

struct shape { const char *what; uint32_t nodes, args; };

static void run_once(struct pw_session *session, struct pw_slice *slice, const struct shape *shape)
{
        struct pw_program *program = pw_program_new(session, shape->what);
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(64), PW_SPLIT(0), 0), *y = x, *args[PW_TASK_ARGS_MAX];
        float numbers[64] = { 1 };
        struct pw_future *input, *result;
        uint32_t nodes = (uint32_t)it_environment("PW_LARGE_PERMILLE", 1000) * (shape->nodes / 1000);
        int64_t since_us;

        it_ok(pw_put(session, numbers, sizeof numbers, &(struct pw_put_params){ .dtype = PW_F32, .dims = PW_DIMS(64) }, &input,
                     IT_ERR));
        for (uint32_t n = 0; n < nodes; n++) {
                for (uint32_t i = 0; i < shape->args; i++)
                        args[i] = i % 2 ? x : y;
                y = pw_call_with(program, slice, "pw/add", args, shape->args, PW_SPLIT(0), NULL);
        }
        pw_result(program, y);
        it_ok(pw_compile(program, IT_ERR));
        since_us = it_now_us();
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_wait(&result, 1, 1, 100 * IT_SECOND, NULL, IT_ERR));
        fprintf(stderr, "%s: a run took %.0f ms\n", shape->what, (double)(it_now_us() - since_us) / 1000);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
}

static int run_all(void *context, int pipe)
{
        static const struct shape shapes[] = {
                { "large/plain", NODES, 2 }, { "large/wide", NODES / 3, 100 }, { "large/widest", NODES, 250 },
        };
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, DEVICES, 0);

        (void)pipe;
        for (uint32_t i = 0; i < pw_array_count(shapes); i++)
                run_once(session, slice, &shapes[i]);
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

static uint64_t most_of(struct it_host *host)
{
        pid_t executors[16];
        uint32_t count = attack_children(host->pid, executors, 16);
        uint64_t most = 0;

        for (uint32_t i = 0; i < count; i++)
                most = pw_max_u64(most, attack_anonymous_bytes(executors[i]));
        return most;
}

static void large(struct it_host *host)
{
        uint64_t before = most_of(host), after;
        struct it_child child = attack_fork(ATTACK_USER, run_all, host);

        assert_int_equal(it_reap_within(&child, 200 * IT_SECOND), 0);
        after = most_of(host);
        fprintf(stderr, "an executor had %d KiB of its own before, %d KiB afterwards\n", (int)(before / 1024), (int)(after / 1024));
        if (!attack_is_shared())
                assert_true(after < before + EXECUTOR_MOST);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "large_runs",
                                             .rule = "a launch costs what its own node costs, and executors keep a bounded number "
                                                     "of bytes for programs",
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "1",
                                                             "--host-memory", "1GiB", "--device-memory", "16MiB"),
                                             .seconds = 240,
                                             .run = large });
}
