/* Runs over several hosts, from a seed: each host is a scheduler, messages between them go as bytes, late, and once more after they
 * have arrived. Memory is short, so that runs wait, give back and take over from one another. Devices do what they are given.
 *
 * In other plays links are cut, hosts give each other up, and meet again.
 *
 * What must hold: nothing is ordered before every host has its records; each scheduler's invariants, after each event; in the end
 * every run has ended with each result decided once, and all memory is free: nobody waits for ever. PW_WORLD_SEED=n plays that seed
 * alone, PW_WORLD_SEEDS=n so many, PW_WORLD_TRACE=1 prints the messages. */
#include "tests/world/hosts/play.h"
#include "tests/world/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- what clients do -------------------------------------------------------------------------------------------------------- */

static void let_go(struct play_run *run)
{
        struct pw_result *result = run->result;
        uint32_t at = run->coordinator;

        run->result = NULL;
        pw_scheduler_result_free(play->hosts[at].scheduler, result, play->now_us);
        play_turn(at);
}

/* What the client holds, and may be read where this one reads; sometimes given away. */
static void fill_input(struct play_run *run, struct pw_input_place *place, const struct pw_image *image)
{
        const struct pw_image_input *input = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);
        const struct pw_image_value *want = pw_image_value(image, input->value);
        uint32_t from = play->run_count ? play_below(play->run_count) : 0;
        struct play_run *before = &play->runs[from];

        *place = (struct pw_input_place){ .source = PW_INPUT_HOST,
                                          .host = { .is_inline = true, .dtype = want->dtype, .dims = want->dims } };
        if (play->plain || before == run || !before->result || before->program != run->program || !play_below(4))
                return;
        *place = (struct pw_input_place){ .source = PW_INPUT_RESULT, .result = before->result };
        place->donated = place->alone = !before->read && before->result->users == 0 && play_below(2);
        before->read = true;
}

static void submit(void)
{
        struct play_run *run = &play->runs[play->run_count];
        struct pw_scheduler *scheduler;
        struct play_run *given = NULL;

        if (play->run_count == PLAY_RUNS)
                return;
        run->program = &play->programs[play_below(PLAY_PROGRAMS)];
        run->coordinator = run->program->coordinator;
        scheduler = play->hosts[run->coordinator].scheduler;
        run->run = pw_scheduler_run_new(scheduler, run->program->handle[run->coordinator]);
        assert_non_null(run->run);
        run->result = run->run->results[0];
        run->result->object = run;
        fill_input(run, &run->run->inputs[0], run->run->row->image);
        for (uint32_t i = 0; i < play->run_count; i++)
                if (run->run->inputs[0].donated && play->runs[i].result == run->run->inputs[0].result)
                        given = &play->runs[i];
        if (!play_below(8))
                run->run->deadline_us = play->now_us + 1 + play_below(2000);
        play->run_count++;
        play->open++;
        pw_scheduler_submit(scheduler, run->run, play->now_us);
        play_turn(run->coordinator);
        if (given)
                let_go(given);
}

static void cancel(void)
{
        struct play_run *run = &play->runs[play_below(PLAY_RUNS)];

        if (!run->run)
                return;
        pw_scheduler_cancel(play->hosts[run->coordinator].scheduler, run->run->number, "a test", play->now_us);
        play_turn(run->coordinator);
}

static void tick(void)
{
        play->now_us += play_below(200);
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                if (pw_scheduler_next_us(play->hosts[at].scheduler) <= play->now_us) {
                        pw_scheduler_tick(play->hosts[at].scheduler, play->now_us);
                        play_turn(at);
                }
}

/* One whose runs have all ended is compiled again, maybe over other hosts. */
static void compile_again(void)
{
        struct play_program *program = &play->programs[play_below(PLAY_PROGRAMS)];

        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].program == program && (play->runs[i].run || play->runs[i].result))
                        return;
        play_end_program(program);
        play_begin_program(program);
}

static void fall_out(void)
{
        switch (play_below(8)) {
        case 0: play_cut(); break;
        case 1: compile_again(); break;
        case 2:
        case 3: play_give_up(); break;
        default: play_meet(); break;
        }
}

static void event(void)
{
        uint32_t what = play_below(100), at = play_below(PLAY_RUNS);

        if (play->falls_out && !play_below(16))
                fall_out();
        if (what < 12)
                submit();
        else if (what < 14)
                cancel();
        else if (what < 22 && play->runs[at].result)
                let_go(&play->runs[at]);
        else if (what < 26)
                tick();
        else if (what < 29)
                play_deliver_again();
        else if (what < 60)
                play_step(play_below(PLAY_HOSTS), play_below(PLAY_DEVICES));
        else
                for (uint32_t n = play->slow ? 1 : 8; n--;)
                        play_deliver(play_below(PLAY_HOSTS), play_below(PLAY_HOSTS));
}

static bool go_on(void)
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

/* Only those are left that runs may be submitted to. */
static void check_programs(uint32_t at)
{
        const struct pw_sched_program *program;

        for (uint32_t i = 0; (program = pw_table_next(&play->hosts[at].scheduler->programs, &i));) {
                uint32_t p = 0;

                while (p < PLAY_PROGRAMS && play->programs[p].handle[at] != program->row.program)
                        p++;
                if (p == PLAY_PROGRAMS)
                        play_failed("a program that was freed stays", program->row.name);
        }
}

/* Nothing is on its way, and nobody holds anything: who still waits does so for ever, but for runs whose inputs are in one
 * another's way. These end at their deadlines. */
static void finish(void)
{
        play_give_up_all();
        while (go_on())
                ;
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].result) {
                        let_go(&play->runs[i]);
                        while (go_on())
                                ;
                }
        for (uint32_t n = 0; !play->plain && play->open && n < PLAY_RUNS; n++) {
                play->now_us += 2 * PW_ADMIT_US_DEFAULT;
                tick();
                while (go_on())
                        ;
        }
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].run) {
                        const struct pw_live *live = pw_live_of(play->runs[i].run);
                        const struct pw_live *ahead = pw_live_ahead(live);
                        char text[200];
                        snprintf(text, sizeof text,
                                 "run %lu of host %u, state %d, hosts idle %u, asked %u, reserved %u, behind run %lu of state %d\n",
                                 (unsigned long)live->run.number, live->id.coordinator, (int)live->run.state,
                                 live->hosts_in[PW_LIVE_HOST_IDLE], live->hosts_in[PW_LIVE_HOST_ASKED],
                                 live->hosts_in[PW_LIVE_HOST_RESERVED], ahead ? (unsigned long)ahead->run.number : 0,
                                 ahead ? (int)ahead->run.state : 0);
                        play_failed("waits for ever", text);
                }
        for (uint32_t at = 0; at < PLAY_HOSTS; at++) {
                pw_scheduler_each_device(play->hosts[at].scheduler, row_is_free, NULL);
                check_programs(at);
        }
}

/* The kinds of plays. */
enum { TOGETHER = 0, FALLS_OUT = 1, REMOTE = 2 };

static void play_seed(uint64_t seed, uint32_t kind)
{
        static struct play one; /* large */
        uint64_t capacity;

        one = (struct play){ .seed = seed, .falls_out = kind & FALLS_OUT, .remote = kind & REMOTE,
                             .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
        play = &one;
        play->slow = play_below(2);
        play->refuses = !play_below(4);
        play->plain = play_below(2);
        capacity = 4096 + 1024 * play_below(12);
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, capacity, play_below(2));
        for (uint32_t p = 0; p < PLAY_PROGRAMS; p++)
                play_begin_program(&play->programs[p]);
        for (uint32_t n = 0; n < 1500; n++)
                event();
        finish();
        play_end();
}

/* Runs that had taken over from each other; that asked again without end; a result that no host had and was let go of; one behind
 * two others, of which the second was admitted when it had had its rooms for long. */
static void test_what_was_found(void **state)
{
        static const struct { uint64_t seed; uint32_t kind; } seeds[] = { { 137, TOGETHER }, { 265, TOGETHER }, { 300, TOGETHER },
                                                                           { 509, TOGETHER }, { 3735, REMOTE } };

        (void)state;
        for (uint32_t i = 0; !getenv("PW_WORLD_SEED") && i < sizeof seeds / sizeof *seeds; i++)
                play_seed(seeds[i].seed, seeds[i].kind);
}

struct sums { uint64_t runs, good, gave_back, refused, deferred, lost, met; };

static struct sums play_seeds(uint32_t kind)
{
        struct world_seeds seeds = world_seeds(1, 40, 10);
        struct sums sums = { 0 };

        for (uint64_t i = 0; i < seeds.count + seeds.fresh; i++) {
                play_seed(world_seed(&seeds, i), kind);
                sums.runs += play->run_count;
                sums.good += play->admitted;
                sums.gave_back += play->gave_back;
                sums.refused += play->refused;
                sums.deferred += play->deferred;
                sums.lost += play->lost;
                sums.met += play->met;
        }
        print_message("%lu plays: %lu runs, %lu good, %lu lost; %lu refused for now, %lu deferred, %lu gave back; met again %lu\n",
                      (unsigned long)(seeds.count + seeds.fresh), (unsigned long)sums.runs, (unsigned long)sums.good,
                      (unsigned long)sums.lost,
                      (unsigned long)sums.refused, (unsigned long)sums.deferred, (unsigned long)sums.gave_back,
                      (unsigned long)sums.met);
        return sums;
}

static void test_seeds(void **state)
{
        struct sums sums = play_seeds(TOGETHER);

        (void)state;
        if (!getenv("PW_WORLD_SEED"))
                assert_true(sums.gave_back && sums.refused && sums.deferred && sums.good > sums.runs / 4 && !sums.lost);
}

static void test_links_are_cut(void **state)
{
        struct sums sums = play_seeds(FALLS_OUT);

        (void)state;
        if (!getenv("PW_WORLD_SEED"))
                assert_true(sums.lost > 100 && sums.met > 100 && sums.good > sums.runs / 8);
}

/* Runs of a client whose host has no device of them. */
static void test_remote(void **state)
{
        struct sums sums = play_seeds(REMOTE), cut = play_seeds(REMOTE | FALLS_OUT);

        (void)state;
        if (!getenv("PW_WORLD_SEED"))
                assert_true(sums.gave_back && sums.deferred && sums.good > sums.runs / 4 && !sums.lost && cut.lost > 100);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_was_found), cmocka_unit_test(test_seeds),
                                            cmocka_unit_test(test_links_are_cut), cmocka_unit_test(test_remote) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
