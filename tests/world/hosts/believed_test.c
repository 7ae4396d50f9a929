/* What a host says of a run that it has a part in, and that cannot be so: nothing of it is believed. */
#include "tests/world/hosts/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CLIENT 0u /* the host whose client runs programs, */
#define OTHER 1u  /* that has devices of them, too */

static struct play_program *program;
static struct pw_live *live;

static struct pw_scheduler *client(void) { return play->hosts[CLIENT].scheduler; }

/* A run of a program over these hosts, submitted. */
static struct play_run *begin(uint32_t hosts, const struct play_shape *shape, struct pw_sharding sharding)
{
        static struct play one; /* large */
        struct play_run *run;

        one = (struct play){ .seed = 1, .random = 1 };
        play = &one;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, 1 << 16, true);
        program = &play->programs[0];
        program->coordinator = CLIENT;
        play_begin_program_over(program, hosts, shape, sharding);
        run = play_begin_run(program);
        live = pw_live_of(run->run);
        pw_scheduler_submit(client(), run->run, play->now_us);
        play_turn(CLIENT);
        return run;
}

static struct play_run *begin_both(struct pw_sharding sharding)
{
        return begin(1u << CLIENT | 1u << OTHER, &(struct play_shape){ .nodes = 1 }, sharding);
}

static struct play_run *begin_apart(void)
{
        return begin(1u << CLIENT | 1u << OTHER, &(struct play_shape){ .apart = true }, (struct pw_sharding)PW_SPLIT(0));
}

static bool pass_message(void)
{
        for (uint32_t link = 0; link < 4; link++)
                if (play_deliver(link / 2, link % 2))
                        return true;
        play_turn(CLIENT);
        play_turn(OTHER);
        return false;
}

static void pass_messages(void)
{
        while (pass_message())
                ;
}

static void pass_until(enum pw_live_host_state state)
{
        while (live->hosts[live->host_count - 1].state != state)
                assert_true(pass_message());
}

static void work(uint32_t at)
{
        for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                while (play_step(at, d))
                        ;
        pass_messages();
}

/* The other host says so. */
static enum pw_status say(struct pw_core_message said, const struct pw_core_body *body)
{
        struct pw_error err;

        said.host = PLAY_FIRST + OTHER;
        said.run = live->id;
        said.slot = said.kind == PW_CORE_LOST ? said.slot : live->slot;
        return pw_scheduler_deliver(client(), &said, body, (struct pw_arrival){ PLAY_FIRST + OTHER, play->now_us }, &err);
}

static enum pw_status say_of(enum pw_core_kind kind, uint32_t result)
{
        return say((struct pw_core_message){ .kind = kind, .status = PW_FAILED, .result = result }, NULL);
}

static enum pw_status say_lost(const struct pw_result *result, enum pw_status status, uint32_t place)
{
        return say((struct pw_core_message){ .kind = PW_CORE_LOST, .status = status, .result = result->index, .place = place,
                                             .slot = pw_result_live((struct pw_result *)result)->slot }, NULL);
}

/* Nobody holds a result any more, and the hosts give each other up. */
static void finish(struct pw_result *const *results, uint32_t count)
{
        for (uint32_t i = 0; i < 4; i++) {
                pass_messages();
                work(CLIENT);
                work(OTHER);
        }
        for (uint32_t i = 0; i < count; i++)
                pw_scheduler_result_free(client(), results[i], play->now_us);
        pass_messages();
        pw_scheduler_give_up(client(), PLAY_FIRST + OTHER, "it was not heard of", play->now_us);
        pw_scheduler_give_up(play->hosts[OTHER].scheduler, PLAY_FIRST + CLIENT, "it was not heard of", play->now_us);
        work(CLIENT);
        work(OTHER);
        for (uint32_t at = 0; at < 2; at++)
                play_memory_is_free(at);
        assert_int_equal(play->open, 0);
        play_end();
}

static const enum pw_core_kind work_kinds[] = { PW_CORE_RESULT, PW_CORE_SPOILED, PW_CORE_FAILED, PW_CORE_DONE };

/* Before its records are written a host cannot have done anything. */
static void test_before_its_records(void **state)
{
        static const enum pw_live_host_state states[] = { PW_LIVE_HOST_ASKED, PW_LIVE_HOST_PREPARING };

        (void)state;
        for (uint32_t s = 0; s < 2; s++) {
                struct play_run *run = begin_both((struct pw_sharding)PW_SPLIT(0));

                pass_until(states[s]);
                for (uint32_t i = 0; i < 4; i++)
                        assert_int_equal(say_of(work_kinds[i], 0), PW_PROTOCOL);
                assert_int_equal(live->hosts[1].state, states[s]);
                assert_null(live->causes);
                finish(&run->result, 1);
        }
}

/* The only host of a run, which was not told to end it. */
static void test_of_one_host(void **state)
{
        struct play_run *run = begin(1u << OTHER, &(struct play_shape){ .nodes = 1 }, (struct pw_sharding)PW_SPLIT(0));

        (void)state;
        assert_int_equal(live->hosts[0].state, PW_LIVE_HOST_ASKED);
        assert_int_equal(say_of(PW_CORE_DONE, 0), PW_PROTOCOL);
        pw_scheduler_cancel(client(), run->run->number, "a test", play->now_us);
        assert_int_equal(say_of(PW_CORE_DONE, 0), PW_OK);
        play_act(CLIENT);
        assert_null(run->run);
        finish(&run->result, 1);
}

/* Of a result on devices of another host alone a host has nothing to say. */
static void test_of_anothers_result(void **state)
{
        struct play_run *run = begin_apart();
        struct pw_result *results[2] = { run->run->results[0], run->run->results[1] };

        (void)state;
        pass_messages();
        assert_int_equal(live->hosts[1].state, PW_LIVE_HOST_PREPARED);
        assert_int_equal(say_of(PW_CORE_RESULT, 0), PW_PROTOCOL);
        assert_int_equal(say_of(PW_CORE_SPOILED, 0), PW_PROTOCOL);
        assert_int_equal(results[0]->status, PW_NOT_READY);
        work(CLIENT);
        assert_int_equal(results[0]->status, PW_OK);
        assert_int_equal(results[1]->status, PW_NOT_READY);
        assert_int_equal(say_lost(results[0], PW_DEVICE_LOST, 0), PW_PROTOCOL);
        assert_int_equal(say_lost(results[0], PW_OK, 0), PW_PROTOCOL);
        work(OTHER);
        assert_int_equal(results[1]->status, PW_OK);
        assert_int_equal(results[0]->status, PW_OK);
        assert_false(results[0]->losses);
        finish(results, 2);
}

/* Both have places of it: each tells of its own. */
static void test_of_anothers_place(void **state)
{
        struct play_run *run = begin_both((struct pw_sharding)PW_BROADCAST);

        (void)state;
        pass_messages();
        work(CLIENT);
        work(OTHER);
        assert_int_equal(run->result->status, PW_OK);
        assert_int_equal(say_lost(run->result, PW_OK, 0), PW_PROTOCOL);
        assert_int_equal(say_lost(run->result, PW_NOT_READY, 0), PW_PROTOCOL);
        assert_false(run->result->losses);
        assert_int_equal(say_lost(run->result, PW_OK, PLAY_DEVICES), PW_OK);
        assert_int_equal(run->result->losses, 1);
        finish(&run->result, 1);
}

/* It is done, and has not said of its result that it is written: that is an error. */
static void test_untold(void **state)
{
        struct play_run *run = begin_apart();
        struct pw_result *results[2] = { run->run->results[0], run->run->results[1] };

        (void)state;
        pass_messages();
        assert_int_equal(say_of(PW_CORE_DONE, 0), PW_OK);
        assert_int_equal(say_of(PW_CORE_DONE, 0), PW_EXISTS);
        assert_int_equal(say_of(PW_CORE_RESULT, 1), PW_EXISTS);
        work(CLIENT);
        assert_null(run->run);
        assert_int_equal(results[0]->status, PW_OK);
        assert_int_equal(results[1]->status, PW_PROTOCOL);
        assert_string_equal(results[1]->error->text, "run 1 of row is over on its hosts, and they have not told of result 1");
        finish(results, 2);
}

/* Rooms on devices of others, on devices that the slice does not have there, or too small for what lies there. */
static void test_placed(void **state)
{
        struct play_run *run = begin_both((struct pw_sharding)PW_SPLIT(0));
        uint64_t bytes = pw_type_shard_bytes(run->result->type, PLAY_DEVICES);
        struct pw_room good[PLAY_DEVICES] = { { PLAY_FIRST + OTHER, 0, 7, 0, bytes }, { PLAY_FIRST + OTHER, 1, 8, 0, bytes } };

        (void)state;
        pass_until(PW_LIVE_HOST_ASKED);
        for (uint32_t i = 0; i < 4; i++) {
                struct pw_room rooms[PLAY_DEVICES];
                struct pw_core_body body = { .rooms = rooms, .room_count = PLAY_DEVICES };

                memcpy(rooms, good, sizeof rooms);
                if (i == 0)
                        rooms[1].host = PLAY_FIRST + CLIENT;
                if (i == 1)
                        rooms[1].device = 0;
                if (i == 2)
                        rooms[1].bytes--;
                assert_int_equal(say((struct pw_core_message){ .kind = PW_CORE_PLACED, .serial = live->hosts[1].serial }, &body),
                                 i < 3 ? PW_PROTOCOL : PW_OK);
                assert_int_equal(live->hosts[1].placed, i == 3);
        }
        finish(&run->result, 1);
}

/* Hosts do not step together, so no run goes step by step over several. */
static void test_step_by_step(void **state)
{
        struct play_run *before = begin_both((struct pw_sharding)PW_SPLIT(0)), *run = &play->runs[play->run_count++];
        struct pw_result *results[2] = { before->result };

        (void)state;
        run->run = pw_scheduler_run_new(client(), program->handle[CLIENT]);
        run->run->sequential = true;
        run->run->inputs[0] = before->run->inputs[0];
        results[1] = run->run->results[0];
        results[1]->object = run;
        play->open++;
        pw_scheduler_submit(client(), run->run, play->now_us);
        assert_int_equal(results[1]->status, PW_UNSUPPORTED);
        assert_string_equal(results[1]->error->text,
                            "run 2 of row: its program has devices of 2 hosts, which do not go step by step together");
        play_act(CLIENT);
        assert_null(run->run);
        finish(results, 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_before_its_records), cmocka_unit_test(test_of_one_host),
                                            cmocka_unit_test(test_of_anothers_result), cmocka_unit_test(test_of_anothers_place),
                                            cmocka_unit_test(test_untold), cmocka_unit_test(test_placed),
                                            cmocka_unit_test(test_step_by_step) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
