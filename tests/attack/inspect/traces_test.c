/* Traces that nobody asks for again, while runs of the tracer's own and of a stranger with a large program go on: what the daemon
 * keeps for them has a bound, nothing of the stranger's program is copied, and the stranger's runs cost the daemon about what they
 * cost before.
 */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "base/size.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX_BYTES (24 * PW_MIB)
#define NODES 4000u /* of the stranger's program: its image is some MiB */

struct attacked { const struct it_host *host; uint32_t traces, runs; };

static struct pw_program *large_program(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "stranger/large");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0), *value = input;

        for (uint32_t i = 0; i < NODES; i++)
                value = pw_call(program, slice, "pw/add", PW_ARGS(value, input), PW_BROADCAST);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* With few under way: records of runs are not what is measured. */
static void run_often(struct pw_session *session, struct pw_program *program, uint32_t count)
{
        struct pw_future *input = it_put_scalar(session, 1), *result = NULL;

        for (uint32_t i = 0; i < count; i++) {
                pw_unref(result);
                result = it_run_1(program, input);
                if (i % 500 == 0)
                        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        }
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        pw_unref(input);
}

/* Traces begin; those that the daemon refuses are no attack. Then runs of its own until told to end. */
static int trace_and_forget(void *context, int pipe)
{
        const struct attacked *attacked = context;
        struct pw_session **sessions = calloc(attacked->traces, sizeof *sessions), *session = it_connect(attacked->host);
        struct pw_slice *slice = it_slice(session, 4, 1);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL);
        uint32_t begun = 0;

        for (uint32_t i = 0; i < attacked->traces; i++) {
                struct pw_trace_chunk *part;

                sessions[i] = it_connect(attacked->host);
                if (pw_trace_next(sessions[i], 0, false, &part, NULL) != PW_OK)
                        continue;
                pw_trace_chunk_free(part);
                begun++;
        }
        assert_true(begun > 0);
        assert_int_equal(write(pipe, "t", 1), 1);
        run_often(session, program, attacked->runs);
        assert_int_equal(write(pipe, "r", 1), 1);
        pause();
        return 0;
}

static void run(struct it_host *host)
{
        struct attacked attacked = { host, (uint32_t)it_environment("PW_TRACES", 60),
                                     (uint32_t)it_environment("PW_TRACED_RUNS", 20000) };
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *large = large_program(host->session, slice);
        struct pw_program *small = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        uint64_t at_us = attack_cpu_us(host->pid), quiet_us, traced_us, before, after;

        run_often(host->session, small, attacked.runs);
        quiet_us = attack_cpu_us(host->pid) - at_us;
        before = attack_private_bytes(host->pid);
        struct it_child child = attack_fork(ATTACK_USER, trace_and_forget, &attacked);
        char byte;

        it_read(&child, &byte, 1);
        at_us = attack_cpu_us(host->pid);
        run_often(host->session, small, attacked.runs);
        traced_us = attack_cpu_us(host->pid) - at_us;
        run_often(host->session, large, 2);
        it_read(&child, &byte, 1);
        after = attack_private_bytes(host->pid);
        printf("traces: the daemon has %llu MiB more; runs of a stranger took it %llu ms before, %llu ms then\n",
               (unsigned long long)((after - before) / PW_MIB), (unsigned long long)quiet_us / 1000,
               (unsigned long long)traced_us / 1000);
        if (!attack_is_shared()) {
                assert_true(after < before + KEPT_MAX_BYTES);
                assert_true(traced_us < 4 * quiet_us + 200000);
        }
        it_reap(&child, SIGKILL);
        pw_program_free(small);
        pw_program_free(large);
        pw_slice_close(slice);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "traces",
                                             .rule = "what happens is kept once for all traces of a tenant, and within a bound",
                                             .users = true, .run = run });
}
