/* A tracer that does not ask again has large programs run, more of them than its trace has room for: a gang of a program that is
 * not told of costs the daemon no look at all of that program.
 */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 40000u
#define PROGRAMS 8u /* about 23 MiB of them in a trace, which has room for 16 */

struct attacked { const struct it_host *host; uint32_t programs; };

static struct pw_program *large_program(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "traced/large");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);

        for (uint32_t i = 0; i < NODES; i++)
                value = pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_BROADCAST);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static void run_once(struct pw_session *session, struct pw_program *program)
{
        struct pw_future *input = it_put_scalar(session, 1), *result = it_run_1(program, input);

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        pw_unref(input);
}

/* Says 'c' when all is compiled, 'u' when one was run without a trace, 't' when the others were run, 'r' when it was run again. */
static int trace_many(void *context, int pipe)
{
        const struct attacked *attacked = context;
        struct pw_session *session = it_connect(attacked->host);
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program **programs = calloc(attacked->programs, sizeof *programs);
        struct pw_trace_chunk *part;

        for (uint32_t i = 0; i < attacked->programs; i++) {
                programs[i] = large_program(session, slice);
                assert_int_equal(write(pipe, ".", 1), 1);
        }
        run_once(session, programs[0]); /* what the first run of a program takes besides is no matter */
        run_once(session, programs[attacked->programs - 1]);
        assert_int_equal(write(pipe, "c", 1), 1);
        run_once(session, programs[attacked->programs - 1]);
        assert_int_equal(write(pipe, "u", 1), 1);
        it_ok(pw_trace_next(session, 0, false, &part, IT_ERR));
        pw_trace_chunk_free(part);
        for (uint32_t i = 0; i + 1 < attacked->programs; i++) {
                run_once(session, programs[i]);
                assert_int_equal(write(pipe, ".", 1), 1);
        }
        assert_int_equal(write(pipe, "t", 1), 1);
        run_once(session, programs[attacked->programs - 1]);
        assert_int_equal(write(pipe, "r", 1), 1);
        pause();
        return 0;
}

static void hear(struct it_child *child, char until)
{
        char byte;

        do
                it_read(child, &byte, 1);
        while (byte != until);
}

static void run(struct it_host *host)
{
        struct attacked attacked = { host, (uint32_t)it_environment("PW_TRACED_PROGRAMS", PROGRAMS) };
        struct it_child child = attack_fork(ATTACK_USER, trace_many, &attacked);
        uint64_t at_us, untraced_us, traced_us;

        hear(&child, 'c');
        at_us = attack_cpu_us(host->pid);
        hear(&child, 'u');
        untraced_us = attack_cpu_us(host->pid) - at_us;
        hear(&child, 't');
        at_us = attack_cpu_us(host->pid);
        hear(&child, 'r');
        traced_us = attack_cpu_us(host->pid) - at_us;
        printf("trace_programs: a run of %u gangs took the daemon %llu ms without a trace, %llu ms in one that has no room for "
               "its program\n", NODES, (unsigned long long)untraced_us / 1000, (unsigned long long)traced_us / 1000);
        assert_true(traced_us < 4 * untraced_us + 500000);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "trace_programs",
                                             .rule = "a program that a trace has no room for is looked at once",
                                             .users = true, .alone = true,
                                             .run = run });
}
