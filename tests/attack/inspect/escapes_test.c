/* Names of programs, stages and processes that a terminal would obey: refused when compiled, and shown by no command of an
 * operator.
 */
#include "tests/attack/attack.h"
#include "tests/integration/operator/command.h"
#include "tests/integration/trace.h"

#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const names[] = {
        "a\033]0;owned\007",                 /* sets the title */
        "a\r\nok  running  root",            /* forges a row */
        "a\xc2\x9b" "2J",                    /* CSI of C1 */
        "a\xe2\x80\xae" "toor",              /* right to left */
        "a\x9b" "2J",
};

struct told { uint32_t compiled, refused; };

static struct pw_program *try_name(struct pw_session *session, struct pw_slice *slice, const char *program_name,
                                   const char *stage_name, struct told *told)
{
        struct pw_program *program = pw_program_new(session, program_name);
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_stage *stage = stage_name ? pw_stage(program, stage_name, 2) : NULL;
        struct pw_error err;

        pw_result(program, pw_call_with(program, slice, "pw/nop", PW_ARGS(input), PW_BROADCAST,
                                        &(struct pw_call_params){ .stage = stage }));
        if (pw_compile(program, &err) == PW_OK) {
                told->compiled++;
                return program;
        }
        assert_int_equal(err.status, PW_BAD_PROGRAM);
        assert_non_null(strstr(err.text, "is not a printable character"));
        assert_int_equal(err.text[pw_text_plain_length(err.text)], 0);
        told->refused++;
        pw_program_free(program);
        return NULL;
}

static int name_things(void *context, int pipe)
{
        struct told told = { 0, 0 };

        assert_int_equal(prctl(PR_SET_NAME, "a\033[31m\rb"), 0);
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_future *input = it_put_scalar(session, 1);

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                struct pw_program *program = try_name(session, slice, names[i], NULL, &told);
                if (program)
                        pw_unref(it_run_1(program, input));
                (void)try_name(session, slice, "fine", names[i], &told);
        }
        assert_int_equal(write(pipe, &told, sizeof told), sizeof told);
        pause();
        return 0;
}

static void expect_plain(const struct it_host *host, const char *const *args)
{
        char *out, *err;

        assert_int_equal(it_command_run(host, args, &out, &err), 0);
        for (const char *text = out; text; text = text == out ? err : NULL)
                for (const char *c = text; *c; c++)
                        if (((unsigned char)*c < ' ' && *c != '\n') || (unsigned char)*c == 0x7f || (unsigned char)*c == 0x9b ||
                            !strncmp(c, "\xe2\x80\xae", 3) || !strncmp(c, "\nok  running", 12))
                                fail_msg("`pathways %s` writes byte 0x%02x at %d", args[0], (unsigned char)*c, (int)(c - text));
        free(out);
        free(err);
}

static void run(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, name_things, host);
        struct told told;
        char pid[24];

        it_read(&child, &told, sizeof told);
        printf("escapes: %u compiled, %u refused\n", told.compiled, told.refused);
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        expect_plain(host, IT_ARGS("programs"));
        expect_plain(host, IT_ARGS("runs"));
        expect_plain(host, IT_ARGS("gangs"));
        expect_plain(host, IT_ARGS("owners"));
        expect_plain(host, IT_ARGS("why", pid));
        expect_plain(host, IT_ARGS("trace", "--seconds", "10ms", "-o", "/dev/null"));
        expect_plain(host, IT_ARGS("programs", "--json"));
        assert_int_equal(told.compiled, 0);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "escapes", .rule = "no name has what a terminal obeys", .users = true,
                                             .run = run });
}
