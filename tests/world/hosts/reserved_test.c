/* Runs that took over blocks of a run that waits for another host: what becomes of them if that is not said, or wrongly. */
#include "tests/world/hosts/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define RUNS 16u
#define RESULT_BYTES 1024u         /* at most, of a run, on each device; */
#define BLOCK_BYTES (1u << 22)     /* so much and a bit */
#define FIRST 0u                   /* the host where there is room for one block, and all results; */
#define SECOND 1u                  /* where there is room for one run, and a result */
#define SOON_US 1000u              /* the deadline of the run that it is about */

static struct play_program *program;
static struct play_run *last;      /* it asks for rooms of the first host, and took over there */
static const struct pw_live *live;

/* The linker has all calls come here. */
static bool no_memory;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) { return no_memory ? NULL : __real_malloc(bytes); }

static struct pw_scheduler *coordinator(void) { return play->hosts[FIRST].scheduler; }

static void submit(uint64_t deadline_us)
{
        last = play_begin_run(program);
        live = pw_live_of(last->run);
        last->run->deadline_us = deadline_us;
        pw_scheduler_submit(coordinator(), last->run, play->now_us);
        play_turn(FIRST);
}

static struct pw_host_run *at_first(void) { return last->run ? pw_host_find(coordinator(), last->run->number) : NULL; }

static bool deliver_all(void)
{
        bool any = false;

        for (uint32_t from = 0; from < 2; from++)
                for (uint32_t to = 0; to < 2; to++)
                        while (play_deliver(from, to))
                                any = true;
        return any;
}

/* `until_queued`: the last run waits for rooms of the first host, which has not looked yet. */
static void pass_messages(bool until_queued)
{
        for (bool any = true; any;) {
                any = deliver_all();
                if (until_queued && at_first() && at_first()->state == PW_HOST_RUN_QUEUED)
                        return;
                for (uint32_t at = 0; at < 2; at++)
                        if (pw_scheduler_next_us(play->hosts[at].scheduler) == 0) {
                                play_turn(at);
                                any = true;
                        }
        }
}

/* The last run is in the queue of the first host, and is going to take over from one that waits for the second. */
static void begin(void)
{
        static struct play one; /* large */

        one = (struct play){ .seed = 1, .random = 1 };
        play = &one;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, BLOCK_BYTES + (at == FIRST ? RUNS + 8 : 4) * RESULT_BYTES, true);
        program = &play->programs[0];
        program->coordinator = FIRST;
        play_begin_program_over(program, 1u << FIRST | 1u << SECOND, &(struct play_shape){ .block_bytes = BLOCK_BYTES },
                                (struct pw_sharding)PW_SPLIT(0));
        submit(0);
        pass_messages(false);
        play_let_go(last); /* its rooms come back: who needs them waits */
        do {
                submit(0);
                pass_messages(false);
        } while (last->run->state == PW_RUN_ADMITTED);
        assert_int_equal(live->hosts[FIRST].state, PW_LIVE_HOST_RESERVED);
        assert_int_equal(live->hosts[SECOND].state, PW_LIVE_HOST_ASKED);
        submit(SOON_US);
        pass_messages(true);
        assert_int_equal(at_first()->state, PW_HOST_RUN_QUEUED);
        assert_int_equal(live->hosts[FIRST].state, PW_LIVE_HOST_ASKED);
}

/* All end, and nothing stays. */
static void finish(void)
{
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].result)
                        play_let_go(&play->runs[i]);
        for (bool any = true; any;) {
                pass_messages(false);
                any = false;
                for (uint32_t at = 0; at < 2; at++)
                        for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                                while (play_step(at, d))
                                        any = true;
        }
        assert_int_equal(play->open, 0);
        for (uint32_t at = 0; at < 2; at++)
                play_memory_is_free(at);
        play_end();
}

static void be_overdue(void)
{
        play->now_us = pw_scheduler_next_us(coordinator());
        assert_in_range(play->now_us, SOON_US, 1000 * SOON_US);
        pw_scheduler_tick(coordinator(), play->now_us);
        play_turn(FIRST);
        pass_messages(false);
}

/* What the first host says next goes astray. */
static void lose_answers(void)
{
        struct play_link *link = &play->links[FIRST][FIRST];

        play_turn(FIRST);
        assert_int_equal(at_first()->state, PW_HOST_RUN_RESERVED);
        assert_true(link->count >= 2);
        while (link->count)
                free(link->frames[--link->count].bytes);
}

static enum pw_status say_reserved(const uint32_t *slots, uint32_t slot_count)
{
        struct pw_core_message said = { .kind = PW_CORE_RESERVED, .host = PLAY_FIRST + FIRST, .run = live->id, .slot = live->slot,
                                        .serial = live->hosts[FIRST].serial };
        struct pw_core_body body = { .slots = slots, .slot_count = slot_count };
        struct pw_error err;

        return pw_scheduler_deliver(coordinator(), &said, &body, (struct pw_arrival){ PLAY_FIRST + FIRST, play->now_us }, &err);
}

/* Whose blocks it took over cannot be said: it has none, and ends for that. */
static void test_cannot_be_told(void **state)
{
        (void)state;
        begin();
        no_memory = true;
        pw_scheduler_turn(coordinator(), play->now_us);
        no_memory = false;
        play_act(FIRST);
        pass_messages(false);
        assert_null(last->run);
        assert_int_equal(last->result->status, PW_NO_MEMORY);
        finish();
}

/* Its coordinator did not hear: it is told again when it asks. */
static void test_is_told_again(void **state)
{
        (void)state;
        begin();
        lose_answers();
        pass_messages(false);
        assert_int_equal(live->hosts[FIRST].state, PW_LIVE_HOST_ASKED);
        be_overdue();
        assert_int_equal(live->hosts[FIRST].state, PW_LIVE_HOST_RESERVED);
        assert_int_equal(live->hosts[FIRST].placed, 1);
        be_overdue();
        assert_null(last->run);
        assert_int_equal(last->result->status, PW_NO_SPACE);
        finish();
}

/* More than a run can take over: nothing that it says of that run is waited for. */
static void test_too_many(void **state)
{
        static const uint32_t slots[8];

        (void)state;
        begin();
        lose_answers();
        assert_int_equal(say_reserved(slots, 8), PW_PROTOCOL);
        play_act(FIRST);
        pass_messages(false);
        assert_null(last->run);
        assert_int_equal(last->result->status, PW_PROTOCOL);
        finish();
}

/* From a run that there is not, or not any more: then its host is going to refuse it, and if it does not the deadline ends it. */
static void test_of_no_run(void **state)
{
        (void)state;
        begin();
        lose_answers();
        assert_int_equal(say_reserved((uint32_t[]){ 1 << 20 }, 1), PW_OK);
        assert_true(live->hosts[FIRST].lost);
        be_overdue();
        assert_null(last->run);
        assert_int_equal(last->result->status, PW_NO_SPACE);
        assert_non_null(strstr(last->result->error->text,
                               "was not admitted before its deadline: the run whose blocks it took over gave them back"));
        finish();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_cannot_be_told), cmocka_unit_test(test_is_told_again),
                                            cmocka_unit_test(test_too_many), cmocka_unit_test(test_of_no_run) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
