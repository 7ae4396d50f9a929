/* What a host does not do for a run, and what cannot be said for lack of memory: the run ends, typed. */
#include "tests/world/order.h"

/* Messages are on their way until they are told to arrive. */
static void begin_slow(void)
{
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 1 << 20,
                                                       .slow_messages = true });
        world_make_chain(&world, &world.programs[0], "step", 1, 236);
}

static struct world_run *submit(void)
{
        return world_submit(&world, &world.programs[0],
                            (struct world_object *[]){ world_put(&world, &world.programs[0], 0, true) }, false);
}

static void go_on(void)
{
        world_deliver(&world, true);
        world_daemon(&world);
        for (uint32_t i = 0; i < world.device_count; i++)
                while (world_step(&world, i))
                        ;
}

/* It was never at its host. */
static void expect_failed(void)
{
        world_expect(&world, "run=1 from=waiting to=queued cause=arrive\n" "run=1 from=queued to=ended cause=fail\n"
                             "object=2.0.1 from=pending to=error cause=fail\n");
}

/* --- what was asked is wrong -------------------------------------------------------------------------------------------------- */

/* Whatever is wrong with it, who asked is answered: by the one message that is said. */
static void expect_refused(enum pw_status why)
{
        struct pw_actions *actions = pw_scheduler_actions(world.scheduler);

        assert_int_equal(actions->count, 1);
        assert_int_equal(actions->items[0].core.kind, PW_CORE_REFUSED);
        assert_int_equal(actions->items[0].core.refusal, 1);
        assert_int_equal(actions->items[0].core.status, why);
}

static struct pw_core_input nothing_read = { .source = PW_SOURCE_HOST };
static uint32_t slot = 77, epoch = WORLD_EPOCH;

/* It came from this host, now. */
static struct pw_arrival here(void) { return (struct pw_arrival){ WORLD_HOST, world.now_us }; }

/* Of a run that there is not, so what is answered is heard by nobody. */
static enum pw_status reserve(uint32_t program, uint64_t serial, const struct pw_core_body *body)
{
        struct pw_error err;

        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        return pw_scheduler_deliver(world.scheduler, &(struct pw_core_message){ .kind = PW_CORE_RESERVE, .program = program,
                                                                               .serial = serial, .slot = 50, .host = WORLD_HOST,
                                                                               .run = { WORLD_HOST, epoch, 1000 } },
                                    body, here(), &err);
}

/* Its inputs and results are those of its program, and what it reads is here; else nothing is kept of it. */
static void test_wrong_reserve(void **state)
{
        struct pw_core_body body = { .inputs = &nothing_read, .input_count = 1, .slots = &slot, .slot_count = 1 };
        uint32_t program;

        (void)state;
        begin_slow();
        program = world.programs[0].handle;
        assert_int_equal(reserve(program + 1, 10, &body), PW_NOT_FOUND);
        expect_refused(PW_NOT_FOUND);
        assert_int_equal(reserve(program + 1, UINT64_MAX, &body), PW_NOT_FOUND); /* what is wrong counts for nothing */
        body.slot_count = 0;
        assert_int_equal(reserve(program, 11, &body), PW_PROTOCOL);
        expect_refused(PW_PROTOCOL);
        body.inputs = (struct pw_core_input[]){ nothing_read, nothing_read };
        body.slots = (uint32_t[]){ 1, 2, 1, 3 }; /* one place for two results */
        body.input_count = 2;
        body.slot_count = 4;
        world_make_fork(&world, &world.programs[1]);
        assert_int_equal(reserve(world.programs[1].handle, 11, &body), PW_OK);
        expect_refused(PW_PROTOCOL);
        body.inputs = &nothing_read;
        body.input_count = 1;
        body.slots = &slot;
        body.slot_count = 1;
        epoch--;
        assert_int_equal(reserve(program, 12, &body), PW_NOT_FOUND);
        epoch++;
        body.input_count = 0;
        assert_int_equal(reserve(program, 12, &body), PW_PROTOCOL);
        expect_refused(PW_PROTOCOL);
        body.input_count = 1;
        body.inputs = &(struct pw_core_input){ .source = PW_SOURCE_RESULT, .run = { WORLD_HOST, WORLD_EPOCH, 999 }, .slot = 1 };
        assert_int_equal(reserve(program, 13, &body), PW_OK);
        expect_refused(PW_PROTOCOL);
        assert_null(world.scheduler->own->runs[50]);
        body.inputs = &nothing_read;
        assert_int_equal(reserve(program, 13, &body), PW_EXISTS);
        assert_int_equal(reserve(program, 14, &body), PW_OK);
        assert_int_equal(world.scheduler->own->runs[50]->id.number, 1000);
        assert_int_equal(reserve(program, 15, &body), PW_PROTOCOL); /* it is here: that was the answer */
        assert_int_equal(pw_scheduler_actions(world.scheduler)->count, 0);
        world_done(&world);
}

/* Its maker is taken back while it waits for rooms: what it reads is there as long as it is, and nobody will ever write it. */
static void test_maker_gives_back(void **state)
{
        struct pw_core_body body = { .inputs = &nothing_read, .input_count = 1, .slots = &slot, .slot_count = 1 };
        struct pw_core_input reads = { .source = PW_SOURCE_RESULT, .run = { WORLD_HOST, WORLD_EPOCH, 1000 }, .slot = slot };
        struct pw_core_message said = { .kind = PW_CORE_RESERVE, .serial = 11, .slot = 51, .host = WORLD_HOST,
                                        .run = { WORLD_HOST, WORLD_EPOCH, 1001 } };
        uint64_t free_bytes, result_bytes;
        uint32_t other = slot + 1;
        struct pw_error err;

        (void)state;
        begin_slow();
        said.program = world.programs[0].handle;
        free_bytes = world.scheduler->devices[0]->free;
        assert_int_equal(reserve(said.program, 10, &body), PW_OK);
        pw_scheduler_turn(world.scheduler, world.now_us);
        assert_int_equal(world.scheduler->own->runs[50]->state, PW_HOST_RUN_RESERVED);
        result_bytes = world.scheduler->own->results[slot]->rooms[0].bytes;
        body.inputs = &reads;
        body.slots = &other;
        assert_int_equal(pw_scheduler_deliver(world.scheduler, &said, &body, here(), &err), PW_OK);
        said.kind = PW_CORE_GIVE_BACK;
        said.slot--;
        said.serial--;
        said.run.number--;
        assert_int_equal(pw_scheduler_deliver(world.scheduler, &said, NULL, here(), &err), PW_OK);
        assert_null(world.scheduler->own->runs[50]);
        assert_int_equal(world.scheduler->devices[0]->free, free_bytes - result_bytes);
        pw_scheduler_turn(world.scheduler, world.now_us);
        assert_int_equal(world.scheduler->own->runs[51]->state, PW_HOST_RUN_RESERVED);
        said.slot++;
        said.serial++;
        said.run.number++;
        assert_int_equal(pw_scheduler_deliver(world.scheduler, &said, NULL, here(), &err), PW_OK);
        assert_int_equal(world.scheduler->devices[0]->free, free_bytes);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        world_done(&world);
}

/* Its RESERVE names a program that its host does not have: the run waits no longer, and ends for that. */
static void test_run_ends(void **state)
{
        struct pw_actions *actions;
        const struct pw_action *last;
        struct pw_core_message said;
        struct world_run *run;
        struct pw_core_body body;
        struct pw_error err;
        void *space;

        (void)state;
        begin_slow();
        run = submit();
        run->any = true;
        actions = pw_scheduler_actions(world.scheduler);
        last = &actions->items[actions->count - 1];
        assert_int_equal(last->core.kind, PW_CORE_RESERVE);
        assert_int_equal(pw_core_decode(last->frame.bytes, last->frame.length, &said, &body, &space, &err), PW_OK);
        said.program++;
        pw_actions_clear(actions);
        assert_int_equal(pw_scheduler_deliver(world.scheduler, &said, &body, here(), &err),
                         PW_NOT_FOUND);
        free(space);
        expect_refused(PW_NOT_FOUND);
        assert_string_equal(err.text, "program 2 of run 1 is not here");
        while (world.runs_open)
                go_on();
        assert_int_equal(run->results[0]->status, PW_NOT_FOUND);
        expect_failed();
        world_done(&world);
}

static enum pw_status decode(const struct pw_core_message *message, const struct pw_core_body *body)
{
        struct pw_core_message said;
        struct pw_core_body with;
        enum pw_status status;
        struct pw_error err;
        uint8_t bytes[256];
        void *space;

        pw_core_encode(message, body, bytes);
        status = pw_core_decode(bytes, pw_core_bytes(body), &said, &with, &space, &err);
        free(space);
        return status;
}

/* What a message says of itself or of an input becomes the error of a value: not one that says that it is not ready, or is about
 * who reads it. */
static void test_errors_of_no_value(void **state)
{
        static const enum pw_status statuses[] = { PW_NOT_READY, PW_DAEMON_GONE, PW_FORKED };
        struct pw_core_input input = { .source = PW_SOURCE_ERROR, .status = PW_FAILED };
        struct pw_core_body body = { .inputs = &input, .input_count = 1 };
        struct pw_core_message said = { .kind = PW_CORE_RESERVE };

        (void)state;
        assert_int_equal(decode(&said, &body), PW_OK);
        for (uint32_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
                input.status = statuses[i];
                assert_int_equal(decode(&said, &body), PW_PROTOCOL);
                said.status = statuses[i];
                assert_int_equal(decode(&said, NULL), PW_PROTOCOL);
                said.status = PW_OK;
        }
}

/* --- no memory to say it ------------------------------------------------------------------------------------------------------ */

/* The linker has all calls come here. */
static bool no_memory;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) { return no_memory ? NULL : __real_malloc(bytes); }

/* It is not asked for, and fails at once. */
static void test_cannot_ask(void **state)
{
        struct world_run *run;
        struct world_object *input;

        (void)state;
        begin_slow();
        input = world_put(&world, &world.programs[0], 0, true);
        no_memory = true;
        run = world_submit(&world, &world.programs[0], &input, false);
        no_memory = false;
        run->any = true;
        while (world.runs_open)
                go_on();
        assert_int_equal(run->results[0]->status, PW_NO_MEMORY);
        expect_failed();
        world_done(&world);
}

/* Its rooms are there, but not where they are: nothing of it is ordered, and they are given back. */
static void test_cannot_place(void **state)
{
        uint64_t free_bytes;
        struct world_run *run;

        (void)state;
        begin_slow();
        free_bytes = world.scheduler->devices[0]->free;
        run = submit();
        run->any = true;
        world_act(&world);
        world_deliver(&world, true);
        world_act(&world);
        no_memory = true;
        pw_scheduler_turn(world.scheduler, world.now_us);
        no_memory = false;
        assert_int_equal(run->run->state, PW_RUN_QUEUED);
        while (world.runs_open)
                go_on();
        assert_int_equal(run->results[0]->status, PW_NO_MEMORY);
        assert_int_equal(world.scheduler->devices[0]->ordered, 0);
        world_settle(&world);
        assert_int_equal(world.scheduler->devices[0]->free, free_bytes);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_wrong_reserve), cmocka_unit_test(test_maker_gives_back),
                                            cmocka_unit_test(test_run_ends), cmocka_unit_test(test_errors_of_no_value),
                                            cmocka_unit_test(test_cannot_ask), cmocka_unit_test(test_cannot_place) };

        return WORLD_RUN_TESTS(tests);
}
