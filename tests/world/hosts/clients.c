/* What clients of the hosts do, and how all comes to rest. */
#include "tests/world/hosts/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void play_let_go(struct play_run *run)
{
        struct pw_result *result = run->result;
        uint32_t at = run->coordinator;

        run->result = NULL;
        pw_scheduler_result_free(play->hosts[at].scheduler, result, play->now_us);
        play_turn(at);
}

struct pw_input_place play_host_input(const struct pw_run *run, uint32_t input)
{
        const struct pw_image *image = run->row->image;
        const struct pw_image_input *inputs = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);
        const struct pw_image_value *want = pw_image_value(image, inputs[input].value);

        return (struct pw_input_place){ .source = PW_INPUT_HOST,
                                        .host = { .is_inline = true, .dtype = want->dtype, .dims = want->dims } };
}

/* What the client holds, and may be read where this one reads; sometimes given away. */
static struct pw_input_place input_of(const struct play_run *run)
{
        uint32_t earlier = (uint32_t)(run - play->runs);
        struct play_run *before = &play->runs[earlier ? play_below(earlier) : 0];
        struct pw_input_place place = play_host_input(run->run, 0);

        if (play->plain || before == run || !before->result || before->program != run->program || !play_below(4))
                return place;
        place = (struct pw_input_place){ .source = PW_INPUT_RESULT, .result = before->result };
        place.donated = place.alone = !before->read && before->result->users == 0 && play_below(2);
        before->read = true;
        return place;
}

struct play_run *play_begin_run(struct play_program *program)
{
        struct play_run *run = &play->runs[play->run_count++];

        run->program = program;
        run->coordinator = program->coordinator;
        run->run = pw_scheduler_run_new(play->hosts[run->coordinator].scheduler, program->handle[run->coordinator]);
        assert_non_null(run->run);
        run->result = run->run->results[0];
        for (uint32_t i = 0; i < run->run->result_count; i++)
                run->run->results[i]->object = run;
        for (uint32_t i = 0; i < run->run->input_count; i++)
                run->run->inputs[i] = play_host_input(run->run, i);
        play->open++;
        return run;
}

void play_submit(void)
{
        struct play_run *run, *given = NULL;

        if (play->run_count == PLAY_RUNS)
                return;
        run = play_begin_run(&play->programs[play_below(PLAY_PROGRAMS)]);
        run->run->inputs[0] = input_of(run);
        for (uint32_t i = 0; i < play->run_count; i++)
                if (run->run->inputs[0].donated && play->runs[i].result == run->run->inputs[0].result)
                        given = &play->runs[i];
        if (!play_below(8))
                run->run->deadline_us = play->now_us + 1 + play_below(2000);
        pw_scheduler_submit(play->hosts[run->coordinator].scheduler, run->run, play->now_us);
        play_turn(run->coordinator);
        if (given)
                play_let_go(given);
}

void play_cancel(struct play_run *run)
{
        if (!run->run)
                return;
        pw_scheduler_cancel(play->hosts[run->coordinator].scheduler, run->run->number, "a test", play->now_us);
        play_turn(run->coordinator);
}

void play_tick(void)
{
        play->now_us += play_below(200);
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                if (pw_scheduler_next_us(play->hosts[at].scheduler) <= play->now_us) {
                        pw_scheduler_tick(play->hosts[at].scheduler, play->now_us);
                        play_turn(at);
                }
}

/* --- the end ---------------------------------------------------------------------------------------------------------------- */

bool play_go_on(void)
{
        bool any = false;

        for (uint32_t from = 0; from < PLAY_HOSTS; from++)
                for (uint32_t to = 0; to < PLAY_HOSTS; to++)
                        while (play_deliver(from, to))
                                any = true;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++) {
                for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                        while (play_step(at, d))
                                any = true;
                while (pw_scheduler_next_us(play->hosts[at].scheduler) == 0) {
                        play_turn(at);
                        any = true;
                }
        }
        return any;
}

static void row_is_free(void *context, const struct pw_device_row *row)
{
        (void)context;
        if (row->free != row->capacity)
                play_failed("the end", "memory of a device is not free");
}

void play_memory_is_free(uint32_t at) { pw_scheduler_each_device(play->hosts[at].scheduler, row_is_free, NULL); }
