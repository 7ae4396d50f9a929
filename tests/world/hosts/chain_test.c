/* A thousand runs, each in the block of the one before on one host, while the first waits for another host: when that gives its
 * rooms back, so do all, in work that grows with their number and a stack that does not. */
#include "tests/world/hosts/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define RUNS 1000u
#define RESULT_BYTES 1024u         /* at most, of a run, on each device; */
#define BLOCK_BYTES (1u << 22)     /* so much and a bit */
#define FIRST 0u                   /* the host where there is room for one block, and all results; */
#define SECOND 1u                  /* where there is room for one run, and a result */

static struct play_program *program;
static struct pw_result *results[RUNS];
static uint64_t numbers[RUNS];

static struct pw_scheduler *coordinator(void) { return play->hosts[FIRST].scheduler; }

static void submit(uint32_t i)
{
        struct pw_run *run = pw_scheduler_run_new(coordinator(), program->handle[FIRST]);

        numbers[i] = run->number;
        results[i] = run->results[0];
        results[i]->object = &results[i];
        for (uint32_t n = 0; n < 2; n++)
                run->inputs[n] = play_host_input(run, n);
        pw_scheduler_submit(coordinator(), run, play->now_us);
        play_turn(FIRST);
}

static void let_go(uint32_t i)
{
        struct pw_result *result = results[i];

        results[i] = NULL;
        pw_scheduler_result_free(coordinator(), result, play->now_us);
        play_turn(FIRST);
}

static void pass_messages(void)
{
        for (bool any = true; any;) {
                any = false;
                for (uint32_t from = 0; from < 2; from++)
                        for (uint32_t to = 0; to < 2; to++)
                                any |= play_deliver(from, to);
                for (uint32_t at = 0; at < 2; at++)
                        if (pw_scheduler_next_us(play->hosts[at].scheduler) == 0) {
                                play_turn(at);
                                any = true;
                        }
        }
}

static void finish(void)
{
        for (bool any = true; any;) {
                any = false;
                for (uint32_t at = 0; at < 2; at++)
                        for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                                while (play_step(at, d))
                                        any = true;
                pass_messages();
        }
}

static void test_all_give_back(void **state)
{
        static struct play one; /* large */
        uint64_t before, reserved = 0;
        uint32_t waits = 0;

        (void)state;
        one = (struct play){ .seed = 1, .random = 1 };
        play = &one;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, BLOCK_BYTES + (at == FIRST ? RUNS + 8 : 4) * RESULT_BYTES, false);
        program = &play->programs[0];
        program->coordinator = FIRST;
        play_begin_program_over(program, 1u << FIRST | 1u << SECOND, &(struct play_shape){ .block_bytes = BLOCK_BYTES },
                                (struct pw_sharding)PW_SPLIT(0));
        submit(0);
        pass_messages();
        let_go(0); /* its rooms come back: who needs them waits */
        for (uint32_t i = 1; i < RUNS; i++) {
                submit(i);
                pass_messages();
        }
        while (pw_scheduler_run(coordinator(), numbers[waits])->state == PW_RUN_ADMITTED)
                waits++;
        assert_true(waits < 16);
        for (uint32_t i = waits; i < RUNS; i++)
                reserved += pw_live_of(pw_scheduler_run(coordinator(), numbers[i]))->hosts_in[PW_LIVE_HOST_RESERVED] == 1;
        assert_true(reserved > RUNS - 16);
        before = coordinator()->passes;
        pw_scheduler_cancel(coordinator(), numbers[waits], "a test", play->now_us);
        play_turn(FIRST);
        pass_messages();
        assert_in_range(coordinator()->passes - before, RUNS - 16, 3 * RUNS);
        for (uint32_t i = 1; i < RUNS; i++)
                let_go(i);
        finish();
        for (uint32_t i = 0; i < RUNS; i++)
                assert_null(pw_scheduler_run(coordinator(), numbers[i]));
        for (uint32_t at = 0; at < 2; at++)
                play_memory_is_free(at);
        play_end();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_give_back) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
