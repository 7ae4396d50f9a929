/* Hosts that give each other up: what is said of it, and that nothing stays behind. Seeds of the same: hosts_test.c. */
#include "tests/world/hosts/play.h"

#include "base/transition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define CLIENT 0u /* the host whose client runs programs, */
#define OTHER 1u  /* that has devices of them, too */

static struct play_program *program;

static void begin(struct pw_sharding sharding)
{
        static struct play one; /* large */

        one = (struct play){ .seed = 1, .random = 1 };
        play = &one;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, 1 << 16, true);
        program = &play->programs[0];
        program->coordinator = CLIENT;
        play_begin_program_over(program, 1u << CLIENT | 1u << OTHER, &(struct play_shape){ .nodes = 1 }, sharding);
}

/* It was read from its client's ring, and is still to be submitted. `reads` NULL: it reads a value of the client. */
static struct play_run *begin_run(struct pw_result *reads)
{
        struct play_run *run = play_begin_run(program);

        if (reads)
                run->run->inputs[0] = (struct pw_input_place){ .source = PW_INPUT_RESULT, .result = reads };
        return run;
}

static struct play_run *submit_reader(struct pw_result *reads)
{
        struct play_run *run = begin_run(reads);

        pw_scheduler_submit(play->hosts[CLIENT].scheduler, run->run, play->now_us);
        play_turn(CLIENT);
        return run;
}

static struct play_run *submit(void) { return submit_reader(NULL); }

static void pass_messages(void)
{
        for (bool any = true; any;) {
                any = false;
                for (uint32_t from = 0; from < PLAY_HOSTS; from++)
                        for (uint32_t to = 0; to < PLAY_HOSTS; to++)
                                any |= play_deliver(from, to);
                for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                        play_turn(at);
        }
}

static void work(uint32_t at)
{
        for (bool any = true; any;) {
                any = false;
                for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                        any |= play_step(at, d);
        }
}

static void work_all(void)
{
        for (uint32_t i = 0; i < 8; i++) {
                work(CLIENT);
                work(OTHER);
                pass_messages();
        }
}

static void give_up(uint32_t at, uint32_t whom)
{
        play->links[whom][at].cut = play->links[at][whom].cut = true;
        play->links[whom][at].given_up = true;
        pw_scheduler_give_up(play->hosts[at].scheduler, PLAY_FIRST + whom, "host h6 was not heard of for 3 s", play->now_us);
        play_turn(at);
}

/* Nobody holds a result any more. */
static void finish(void)
{
        give_up(CLIENT, OTHER);
        give_up(OTHER, CLIENT);
        work_all();
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].result)
                        pw_scheduler_result_free(play->hosts[CLIENT].scheduler, play->runs[i].result, play->now_us);
        play_turn(CLIENT);
        pass_messages();
        for (uint32_t at = 0; at < PLAY_HOSTS; at++) {
                play_turn(at);
                play_memory_is_free(at);
        }
        assert_int_equal(play->open, 0);
        play_end();
}

/* What it says is decided: its results, at once; later runs of the program are told to compile it again. */
static void test_what_is_told(void **state)
{
        struct play_run *run;

        (void)state;
        begin((struct pw_sharding)PW_SPLIT(0));
        run = submit();
        pass_messages();
        assert_int_equal(run->run->state, PW_RUN_ADMITTED);
        give_up(CLIENT, OTHER);
        assert_int_equal(run->result->status, PW_HOST_LOST);
        assert_string_equal(run->result->error->text, "host h6 was not heard of for 3 s");
        pass_messages();
        assert_int_equal(play->cancelled, 1); /* what is ordered here is skipped */
        run = submit();
        assert_int_equal(run->result->status, PW_HOST_LOST);
        assert_string_equal(run->result->error->text,
                            "run 2 of row: its program has devices of host 6, which was given up: compile it again");
        finish();
}

static void write_step(void *context, const struct pw_transition *transition)
{
        char text[PW_TRANSITION_TEXT_BYTES], *trace = context;

        if (!strcmp(transition->kind->name, "run_host"))
                sprintf(trace + strlen(trace), "%s\n", pw_transition_format(transition, text));
}

/* What a coordinator knows of each host of a run, from the first word to the last: of h5 that it is done, of h6 that it is gone. */
static void test_steps_of_hosts(void **state)
{
        char trace[4096] = "";
        const struct pw_observer observer = { write_step, trace };

        (void)state;
        begin((struct pw_sharding)PW_SPLIT(0));
        pw_scheduler_observe(play->hosts[CLIENT].scheduler, &observer);
        (void)submit();
        pass_messages();
        work(CLIENT);
        pass_messages();
        give_up(CLIENT, OTHER);
        pw_scheduler_observe(play->hosts[CLIENT].scheduler, NULL);
        assert_string_equal(trace, "run_host=1.5 from=idle to=asked cause=ask\n"
                                   "run_host=1.6 from=idle to=asked cause=ask\n"
                                   "run_host=1.6 from=asked to=reserved cause=reserve\n"
                                   "run_host=1.5 from=asked to=reserved cause=reserve\n"
                                   "run_host=1.5 from=reserved to=preparing cause=prepare\n"
                                   "run_host=1.6 from=reserved to=preparing cause=prepare\n"
                                   "run_host=1.6 from=preparing to=prepared cause=answer\n"
                                   "run_host=1.5 from=preparing to=prepared cause=answer\n"
                                   "run_host=1.5 from=prepared to=done cause=finish\n"
                                   "run_host=1.6 from=prepared to=done cause=finish\n");
        finish();
}

/* Of a run that has no rooms yet a host cannot have done anything. */
static void test_too_early(void **state)
{
        static const enum pw_core_kind kinds[] = { PW_CORE_RESULT, PW_CORE_SPOILED, PW_CORE_FAILED, PW_CORE_DONE };
        const struct pw_live *live;
        struct pw_error err;

        (void)state;
        begin((struct pw_sharding)PW_SPLIT(0));
        live = pw_live_of(submit()->run);
        for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                struct pw_core_message early = { .kind = kinds[i], .status = PW_FAILED, .host = PLAY_FIRST + OTHER,
                                                 .run = live->id, .slot = live->slot };
                assert_int_equal(pw_scheduler_deliver(play->hosts[CLIENT].scheduler, &early, NULL,
                                                      (struct pw_arrival){ PLAY_FIRST + OTHER, play->now_us }, &err),
                                 PW_PROTOCOL);
        }
        assert_int_equal(live->run.state, PW_RUN_QUEUED);
        assert_int_equal(live->hosts[1].state, PW_LIVE_HOST_ASKED);
        pass_messages();
        assert_int_equal(live->run.state, PW_RUN_ADMITTED);
        finish();
}

/* In each state of a run: nothing stays of it, on either side. */
static void test_each_state(void **state)
{
        (void)state;
        for (uint32_t messages = 0; messages < 24; messages++) {
                struct play_run *run;

                begin((struct pw_sharding)PW_SPLIT(0));
                run = submit();
                for (uint32_t n = 0; n < messages; n++)
                        if (!play_deliver(n % 2 ? OTHER : CLIENT, n % 2 ? CLIENT : OTHER))
                                work(n / 2 % 2 ? OTHER : CLIENT);
                give_up(messages & 1 ? CLIENT : OTHER, messages & 1 ? OTHER : CLIENT);
                if (run->result->status == PW_NOT_READY)
                        give_up(CLIENT, OTHER);
                assert_true(run->result->status == PW_HOST_LOST || run->result->status == PW_OK);
                finish();
        }
}

/* A result that lies on both, whole on each: it goes on until both places of it are lost. */
static void test_replicas(void **state)
{
        struct play_run *run;

        (void)state;
        begin((struct pw_sharding)PW_BROADCAST);
        run = submit();
        pass_messages();
        work_all();
        assert_null(run->run);
        assert_int_equal(run->result->status, PW_OK);
        for (uint32_t d = 0; d < PLAY_DEVICES; d++) {
                pw_scheduler_device_down(play->hosts[CLIENT].scheduler, d, 0, PW_CRASHED, "SIGSEGV", play->now_us);
                play_turn(CLIENT);
        }
        pass_messages();
        assert_int_equal(run->result->status, PW_OK);
        assert_true(run->result->losses);
        give_up(CLIENT, OTHER);
        assert_int_equal(run->result->status, PW_HOST_LOST);
        assert_string_equal(run->result->error->text, "host h6 was not heard of for 3 s");
        finish();
}

/* The other way round: each host knows of its own devices only. */
static void test_replicas_of_two_hosts(void **state)
{
        struct play_run *run;

        (void)state;
        begin((struct pw_sharding)PW_BROADCAST);
        run = submit();
        pass_messages();
        work_all();
        for (uint32_t i = 0; i < 2 * PLAY_DEVICES; i++) {
                uint32_t at = i < PLAY_DEVICES ? OTHER : CLIENT;
                assert_int_equal(run->result->status, PW_OK);
                pw_scheduler_device_down(play->hosts[at].scheduler, i % PLAY_DEVICES, 0, PW_CRASHED, "SIGSEGV", play->now_us);
                play_turn(at);
                pass_messages();
        }
        assert_int_equal(run->result->status, PW_DEVICE_LOST);
        finish();
}

/* It was done with its part, and was given up before the other was: the result is not whole anywhere. */
static void test_parts_are_lost(void **state)
{
        struct play_run *run;

        (void)state;
        begin((struct pw_sharding)PW_SPLIT(0));
        run = submit();
        pass_messages();
        work(OTHER);
        pass_messages();
        assert_int_equal(run->result->status, PW_NOT_READY);
        give_up(CLIENT, OTHER);
        work_all();
        assert_null(run->run);
        assert_int_equal(run->result->status, PW_HOST_LOST);
        assert_string_equal(run->result->error->text, "host h6 was not heard of for 3 s");
        finish();
}

static bool ends_member(struct pw_scheduler *scheduler)
{
        const struct pw_actions *actions = pw_scheduler_actions(scheduler);
        bool any = false;

        for (uint32_t i = 0; i < actions->count; i++)
                any |= actions->items[i].kind == PW_ACT_END_MEMBER;
        pw_actions_clear(pw_scheduler_actions(scheduler));
        return any;
}

/* A function of a lost client's run that does not end: it is ended, and who was given up comes back only then. */
static void test_functions_are_ended(void **state)
{
        struct pw_scheduler *other;
        struct pw_error err;

        (void)state;
        begin((struct pw_sharding)PW_SPLIT(0));
        other = play->hosts[OTHER].scheduler;
        submit();
        pass_messages();
        play_step(OTHER, 0); /* it has its input, and is in the function */
        play_step(OTHER, 1);
        assert_int_equal(pw_scheduler_coordinator_add(other, PLAY_FIRST + CLIENT, PLAY_EPOCH, &err), PW_EXISTS);
        for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                pw_scheduler_device_up(other, d, play->now_us);
        give_up(OTHER, CLIENT);
        assert_int_equal(pw_scheduler_coordinator_add(other, PLAY_FIRST + CLIENT, PLAY_EPOCH, &err), PW_BUSY);
        assert_int_equal(pw_scheduler_next_us(other), PW_CANCELLED_US_DEFAULT);
        play->now_us = PW_CANCELLED_US_DEFAULT;
        pw_scheduler_tick(other, play->now_us);
        assert_true(ends_member(other));
        assert_in_range(pw_scheduler_next_us(other), play->now_us + 1, play->now_us + 1000000);
        play->now_us = pw_scheduler_next_us(other); /* a member may have got into it since */
        pw_scheduler_tick(other, play->now_us);
        assert_true(ends_member(other));
        work(OTHER);
        assert_int_equal(pw_scheduler_next_us(other), UINT64_MAX);
        assert_int_equal(pw_scheduler_coordinator_add(other, PLAY_FIRST + CLIENT, PLAY_EPOCH, &err), PW_OK);
        assert_int_equal(pw_scheduler_coordinator_add(other, PLAY_FIRST + CLIENT, PLAY_EPOCH, &err), PW_EXISTS);
        finish();
}

static uint64_t free_bytes(uint32_t at)
{
        uint64_t bytes = 0;

        for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                bytes += play->hosts[at].scheduler->devices[d]->free;
        return bytes;
}

/* Nobody gets the room of a result while a run reads it there: not where its coordinator is given up, nor where it says too early
 * that nobody does. */
static void test_is_read(void **state)
{
        struct pw_scheduler *other;
        struct play_run *maker;
        uint64_t before;

        (void)state;
        for (uint32_t early = 0; early < 2; early++) {
                struct pw_core_message release = { .kind = PW_CORE_RELEASE, .host = PLAY_FIRST + OTHER };
                struct pw_error err;

                begin((struct pw_sharding)PW_SPLIT(0));
                other = play->hosts[OTHER].scheduler;
                maker = submit();
                pass_messages();
                work_all();
                assert_null(maker->run);
                submit_reader(maker->result);
                pass_messages();
                release.run = pw_result_live(maker->result)->maker;
                release.slot = pw_result_live(maker->result)->slot;
                before = free_bytes(OTHER);
                if (early)
                        assert_int_equal(pw_scheduler_deliver(other, &release, NULL,
                                                              (struct pw_arrival){ PLAY_FIRST + CLIENT, play->now_us }, &err),
                                         PW_OK);
                else
                        give_up(OTHER, CLIENT);
                assert_true(play->hosts[OTHER].ordered[0] > play->hosts[OTHER].done[0]);
                assert_int_equal(free_bytes(OTHER), before);
                work(OTHER);
                assert_true(free_bytes(OTHER) > before);
                finish();
        }
}

/* A run that was only read from its ring holds nothing of its inputs yet: it fails when it is submitted, and gives back what it
 * took then. */
static void test_not_submitted(void **state)
{
        struct play_run *maker, *reader;
        struct pw_core_message refused = { .kind = PW_CORE_REFUSED, .status = PW_NO_SPACE, .refusal = PW_REFUSED_EXPECTED,
                                           .host = PLAY_FIRST + OTHER };
        struct pw_error err;

        (void)state;
        begin((struct pw_sharding)PW_SPLIT(0));
        maker = submit();
        pass_messages();
        work_all();
        reader = begin_run(maker->result);
        refused.run = pw_live_of(reader->run)->id;
        refused.slot = pw_live_of(reader->run)->slot;
        assert_int_equal(pw_scheduler_deliver(play->hosts[CLIENT].scheduler, &refused, NULL,
                                              (struct pw_arrival){ PLAY_FIRST + OTHER, play->now_us }, &err), PW_EXISTS);
        assert_int_equal(reader->result->status, PW_NOT_READY);
        give_up(CLIENT, OTHER);
        assert_int_equal(reader->result->status, PW_NOT_READY);
        assert_int_equal(maker->result->users, 0);
        pw_scheduler_submit(play->hosts[CLIENT].scheduler, reader->run, play->now_us);
        play_turn(CLIENT);
        assert_null(reader->run);
        assert_int_equal(reader->decided, 1);
        assert_int_equal(reader->result->status, PW_HOST_LOST);
        assert_int_equal(maker->result->users, 0);
        finish();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_is_told), cmocka_unit_test(test_steps_of_hosts),
                                            cmocka_unit_test(test_too_early), cmocka_unit_test(test_each_state),
                                            cmocka_unit_test(test_replicas), cmocka_unit_test(test_replicas_of_two_hosts),
                                            cmocka_unit_test(test_parts_are_lost), cmocka_unit_test(test_is_read),
                                            cmocka_unit_test(test_not_submitted),
                                            cmocka_unit_test(test_functions_are_ended) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
