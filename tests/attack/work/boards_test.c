/* A function that writes over its device's board, or over the bells: what it published goes back, marks are gone, nobody is rung.
 * Runs of others over that device come to an end all the same, with their value or in a typed error, and the device is there
 * again. */
#include "tests/attack/attack.h"

#include "tests/integration/trace.h"

#include <string.h>

#define DEVICES 8u
#define ROWS 64u /* 8 on each device: too much for a mark */
#define BOUND (10 * IT_SECOND) /* of what takes a second or two */

struct scene {
        struct pw_session *session;
        struct pw_slice *slices[2]; /* of one island; of both */
        struct pw_program *good[2];
        struct pw_future *input;
};

/* The input split, through `function` told to misbehave on shard 1, gathered on every device. */
static struct pw_program *compile(struct scene *scene, uint32_t islands, const char *function)
{
        struct pw_slice *slice = scene->slices[islands - 1];
        struct pw_program *program = pw_program_new(scene->session, "boards");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(ROWS), PW_SPLIT(0), 0);
        struct pw_value *y = it_break(program, slice, function, x, PW_SPLIT(0), 1);

        y = pw_call(program, slice, "pw/nop", PW_ARGS(PW_AS(y, PW_BROADCAST)), PW_SPLIT(0));
        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(PW_AS(y, PW_BROADCAST)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* True: the run gave its value. Else a typed error; it must not wait for ever. */
static bool ends(struct scene *scene, struct pw_program *program, const char *what)
{
        struct pw_future *result = it_run_1(program, scene->input);
        struct pw_view view;
        struct pw_error err = { PW_OK, "" };
        enum pw_status status = pw_get(result, BOUND, &view, &err);

        if (status == PW_DEADLINE)
                fail_msg("a run beside %s is not done after %d s", what, (int)(BOUND / IT_SECOND));
        if (status == PW_OK) {
                for (uint64_t i = 0; i < ROWS; i++)
                        assert_true(((const double *)view.data)[i] == (double)i);
                pw_view_done(&view);
        } else if (status != PW_CRASHED && status != PW_FAILED && status != PW_DEVICE_LOST) {
                fail_msg("a run beside %s ended in %s", what, err.text);
        }
        pw_unref(result);
        return status == PW_OK;
}

static void spoil(struct scene *scene, const char *function, uint32_t islands, uint32_t times)
{
        struct pw_program *bad = compile(scene, islands, function);
        int64_t since_us;

        for (uint32_t i = 0; i < times; i++) {
                ends(scene, bad, function);
                for (uint32_t k = 0; k < 20; k++)
                        ends(scene, scene->good[k % 2], function);
        }
        since_us = it_now_us();
        for (uint32_t well = 0; well < 10;) { /* the device is there, and what it holds can be read */
                well = ends(scene, scene->good[well % 2], function) ? well + 1 : 0;
                if (it_now_us() - since_us > BOUND)
                        fail_msg("the device is not back after %s", function);
        }
        pw_program_free(bad);
}

/* Reports: a run that fails has to say so. */
static void spoil_head(struct scene *scene)
{
        struct pw_program *fail = compile(scene, 2, "broken/fail"), *head = compile(scene, 2, "broken/head");

        ends(scene, head, "broken/head");
        assert_false(ends(scene, fail, "broken/head"));
        pw_program_free(fail);
        pw_program_free(head);
}

static void run(struct it_host *host)
{
        struct scene scene = { .session = it_connect(host) };
        static const struct { const char *function; uint32_t islands; } blows[] = {
                { "broken/back", 2 }, { "broken/unmark", 1 }, { "broken/unmark", 2 }, { "broken/silent", 1 },
                { "broken/silent", 2 }, { "broken/spoilt", 2 },
        };
        uint32_t which = (uint32_t)it_environment("PW_BLOWS", UINT32_MAX); /* a bit each */
        uint32_t times = (uint32_t)it_environment("PW_SPOILS", 1);

        scene.slices[0] = it_slice(scene.session, DEVICES / 2, 1);
        scene.slices[1] = it_slice(scene.session, DEVICES, 2);
        scene.input = it_put_f64(scene.session, PW_DIMS(ROWS), 0);
        for (uint32_t i = 0; i < 2; i++)
                scene.good[i] = compile(&scene, i + 1, "pw/spin_us");
        for (uint32_t i = 0; i < sizeof blows / sizeof blows[0]; i++)
                if (which >> i & 1)
                        spoil(&scene, blows[i].function, blows[i].islands, times);
        if (which >> 31)
                spoil_head(&scene);
        for (uint32_t i = 0; i < 2; i++)
                pw_program_free(scene.good[i]);
        pw_unref(scene.input);
        for (uint32_t i = 0; i < 2; i++)
                pw_slice_close(scene.slices[i]);
        pw_close(scene.session);
}

int main(void)
{
        return attack_main(&(struct attack){
                .name = "boards",
                .rule = "what an executor published does not go back, and no sleep relies on bells for longer than a second",
                .alone = true,
                .unwatched = true,
                .run = run,
        });
}
