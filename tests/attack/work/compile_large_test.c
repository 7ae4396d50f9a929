/* One request to compile a program of as many values as there may be, of shapes that cost most to lower, or of as many bytes. It
 * may take as long as it does: nobody else waits for it. */
#include "tests/attack/attack.h"

#include "libclient/program/program.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGES 4000u
#define ARGS 16
#define PARAMS_BYTES 60000000u

static uint32_t items(uint32_t most) { return (uint32_t)it_environment("PW_COMPILE_PERMILLE", 1000) * (most / 1000); }

static struct pw_value *call_in(struct pw_program *program, struct pw_slice *slice, struct pw_value *x, struct pw_stage *stage)
{
        return pw_call_with(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST, &(struct pw_call_params){ .stage = stage });
}

static void compile(struct pw_program *program, const char *what)
{
        struct pw_error err;
        int64_t since_us = it_now_us();
        enum pw_status status = pw_compile(program, &err);

        fprintf(stderr, "%s: %.0f ms, %s\n", what, (double)(it_now_us() - since_us) / 1000,
                status == PW_OK ? "compiled" : err.text);
        assert_true(status == PW_OK || status == PW_TOO_LARGE || status == PW_NO_SPACE || status == PW_BAD_PROGRAM ||
                    (status == PW_TIME_LIMIT && attack_is_shared())); /* a shape function, beside all other attacks */
        pw_program_free(program);
}

/* An output of each of many stages, moved to another slice, where all other calls read them. */
static void moved(struct pw_session *session, struct pw_slice *slice, struct pw_slice *other)
{
        struct pw_program *program = pw_program_new(session, "large/moved");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0), *last = NULL;
        struct pw_value **moves = calloc(STAGES, sizeof *moves);
        uint32_t stages = items(STAGES);

        for (uint32_t s = 0; s < stages; s++) {
                struct pw_value *made = call_in(program, slice, x, pw_stage(program, "s", 1));
                moves[s] = pw_move(made, other, (struct pw_sharding)PW_BROADCAST);
        }
        for (uint32_t i = 0; i < items(57000); i++)
                last = pw_call(program, other, "pw/nop", PW_ARGS(moves[i % stages]), PW_BROADCAST);
        pw_result(program, last);
        free(moves);
        compile(program, "reads of what was moved");
}

/* A chain of layouts, and calls of a stage that read its end with every argument. */
static void layouts(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "large/layouts");
        struct pw_stage *stage = pw_stage(program, "s", 4);
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0), *last = NULL;

        x = call_in(program, slice, x, stage);
        for (uint32_t i = 0; i < items(20000); i++)
                x = pw_as(x, (struct pw_sharding)PW_BROADCAST);
        for (uint32_t i = 0; i < items(20000); i++)
                last = pw_call_with(program, slice, "pw/nop", PW_ARGS(x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x), PW_BROADCAST,
                                    &(struct pw_call_params){ .stage = stage });
        pw_result(program, last);
        compile(program, "a chain of layouts");
}

/* More than a run could have: tracing refuses that, a message of another client may say it. */
static void results(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "large/results");
        uint32_t count = items(65000);

        pw_result(program, pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0));
        program->results = realloc(program->results, count * sizeof *program->results);
        assert_non_null(program->results);
        for (uint32_t i = 1; i < count; i++)
                program->results[i] = program->results[0];
        program->result_count = program->result_capacity = count;
        compile(program, "results");
}

static void stages(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "large/stages");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0), *last = NULL;
        struct pw_stage **all = calloc(STAGES, sizeof(struct pw_stage *));

        for (uint32_t s = 0; s < items(STAGES); s++)
                all[s] = pw_stage(program, "s", 2);
        for (uint32_t i = 0; i < items(60000); i++)
                last = call_in(program, slice, x, all[i % items(STAGES)]);
        pw_result(program, last);
        free(all);
        compile(program, "stages");
}

/* Few values, many bytes: they go through the daemon to where shapes are asked for, and into a board. */
static void parameters(struct pw_session *session, struct pw_slice *slice)
{
        uint8_t *bytes = calloc(1, PARAMS_BYTES);

        for (uint32_t i = 0; i < 4; i++) {
                struct pw_program *program = pw_program_new(session, "large/parameters");
                struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);

                memset(bytes, (int)i, PARAMS_BYTES);
                pw_result(program, pw_call_with(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST,
                                                &(struct pw_call_params){ .params = bytes, .params_bytes = PARAMS_BYTES }));
                compile(program, "parameters");
        }
        free(bytes);
}

static int compile_all(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 4, 0), *other = it_slice(session, 4, 0);

        (void)pipe;
        moved(session, slice, other);
        layouts(session, slice);
        results(session, slice);
        stages(session, slice);
        parameters(session, slice);
        pw_slice_close(slice);
        pw_slice_close(other);
        pw_close(session);
        return 0;
}

static void large(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, compile_all, host);

        assert_int_equal(it_reap_within(&child, 100 * IT_SECOND), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "compile_large",
                                             .rule = "programs are lowered beside the loop, in time that grows with them, a "
                                                     "tenant's one by one",
                                             .run = large });
}
