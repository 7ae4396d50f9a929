/* What tests share that say messages by hand: a run in two islands, whose messages are on their way until they are told to arrive.
 */
#ifndef PW_TESTS_WORLD_SAID_SAID_H
#define PW_TESTS_WORLD_SAID_SAID_H

#include "tests/world/order.h"

static struct world_run *run;

/* Where a run lies, and how it was asked for, is known once it is under way. */
static inline struct pw_core_message message_of(const struct world_run *of, enum pw_core_kind kind)
{
        const struct pw_live *live = pw_live_find(world.scheduler, of->number);

        return (struct pw_core_message){ .kind = kind, .host = WORLD_HOST, .run = { WORLD_HOST, WORLD_EPOCH, of->number },
                                         .slot = live ? live->slot : 0, .serial = live ? live->hosts[0].serial : 0 };
}

static inline struct pw_core_message message(enum pw_core_kind kind, uint32_t island)
{
        struct pw_core_message said = message_of(run, kind);

        said.island = island;
        return said;
}

static inline enum pw_status deliver_from(uint32_t from, const struct pw_core_message *message, const struct pw_core_body *body)
{
        struct pw_error err;
        struct pw_arrival arrival = { from, world.now_us };
        enum pw_status status = pw_scheduler_deliver(world.scheduler, message, body, arrival, &err);

        assert_true(status == PW_OK || err.text[0]);
        return status;
}

static inline enum pw_status deliver(const struct pw_core_message *message)
{
        return deliver_from(WORLD_HOST, message, &(struct pw_core_body){ .text = "refused by hand" });
}

static inline enum pw_status say(enum pw_core_kind kind, uint32_t island)
{
        struct pw_core_message said = message(kind, island);

        return deliver(&said);
}

/* Its records are written, and the answer lost. */
static inline void prepare(struct world_run *of)
{
        struct pw_core_message said = message_of(of, PW_CORE_PREPARE);
        struct pw_error err;

        assert_int_equal(world_hear(&world, WORLD_HOST, &said, NULL, &err), PW_OK);
        assert_int_equal(world_hear(&world, WORLD_HOST, &said, NULL, &err), PW_EXISTS);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
}

static inline enum pw_status say_of(struct world_run *of, enum pw_core_kind kind, uint32_t about)
{
        struct pw_core_message said = message_of(of, kind);

        said.about = about;
        return deliver(&said);
}

/* What was said of the run last, with its body, is heard; a second time it changes nothing. */
static inline void hand_over(struct world_run *of, enum pw_core_kind kind)
{
        struct pw_actions *actions = pw_scheduler_actions(world.scheduler);
        struct pw_core_message said;
        struct pw_core_frame frame;
        struct pw_core_body body;
        struct pw_error err;
        uint32_t i = actions->count;
        void *space;

        while (i-- && !(actions->items[i].kind == PW_ACT_CORE && actions->items[i].core.kind == kind &&
                        actions->items[i].core.run.number == of->number))
                ;
        assert_true(i < actions->count);
        frame = actions->items[i].frame;
        assert_int_equal(pw_core_decode(frame.bytes, frame.length, &said, &body, &space, &err), PW_OK);
        assert_int_equal(deliver_from(WORLD_HOST, &said, &body), PW_OK);
        assert_int_equal(deliver_from(WORLD_HOST, &said, &body), kind == PW_CORE_DONE ? PW_NOT_FOUND : PW_EXISTS);
        free(space);
}

/* Its rooms are reserved; that it is told of, and nothing that comes of it. */
static inline void admit(struct world_run *of)
{
        hand_over(of, PW_CORE_RESERVE);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        pw_scheduler_turn(world.scheduler, world.now_us);
        assert_int_equal(pw_host_find(world.scheduler, of->number)->state, PW_HOST_RUN_RESERVED);
        assert_int_equal(of->run->state, PW_RUN_QUEUED);
        hand_over(of, PW_CORE_PLACED);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        assert_int_equal(say_of(of, PW_CORE_RESERVED, 0), PW_OK);
        assert_int_equal(say_of(of, PW_CORE_RESERVED, 0), PW_EXISTS);
        assert_int_equal(of->run->state, PW_RUN_ADMITTED);
}

/* Two islands, messages on their way until they are told to arrive; one run, which is admitted. */
static inline void begin_slow(void)
{
        world_init(&world, 1, &(struct world_options){ .islands = 3, .devices_per_island = 2, .ahead = 8,
                                                       .capacity = 1 << 20, .slow_messages = true });
        world_make_all_reduce(&world, &world.programs[0], 4, 2);
        run = world_submit(&world, &world.programs[0],
                           (struct world_object *[]){ world_put(&world, &world.programs[0], 0, true) }, false);
        admit(run);
        world_expect(&world, "run=1 from=waiting to=queued cause=arrive\n" "host_run=1 from=idle to=queued cause=queue\n"
                             "host_run=1 from=queued to=reserved cause=place\n" "run=1 from=queued to=admitted cause=reserve\n");
}

static inline void go_on(void)
{
        world_deliver(&world, true);
        world_daemon(&world);
        for (uint32_t i = 0; i < world.device_count; i++)
                while (world_step(&world, i))
                        ;
}

static inline void end(uint64_t good)
{
        while (world.runs_open)
                go_on();
        world_check(&world);
        assert_int_equal(world.good, good);
        world_done(&world);
}

#endif
