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
                play_submit();
        else if (what < 14)
                play_cancel(&play->runs[play_below(PLAY_RUNS)]);
        else if (what < 22 && play->runs[at].result)
                play_let_go(&play->runs[at]);
        else if (what < 26)
                play_tick();
        else if (what < 29)
                play_deliver_again();
        else if (what < 60)
                play_step(play_below(PLAY_HOSTS), play_below(PLAY_DEVICES));
        else
                for (uint32_t n = play->slow ? 1 : 8; n--;)
                        play_deliver(play_below(PLAY_HOSTS), play_below(PLAY_HOSTS));
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
        while (play_go_on())
                ;
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].result) {
                        play_let_go(&play->runs[i]);
                        while (play_go_on())
                                ;
                }
        for (uint32_t n = 0; !play->plain && play->open && n < PLAY_RUNS; n++) {
                play->now_us += 2 * PW_ADMIT_US_DEFAULT;
                play_tick();
                while (play_go_on())
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
                play_memory_is_free(at);
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
        capacity = (32 + 8 * play_below(12)) / 3 * pw_room_bytes(64 * sizeof(int32_t)); /* 10 to 40 shards of the programs */
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
                                                                           { 509, TOGETHER }, { 5666, TOGETHER } };

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
