/* Messages between the cores that should not be: nothing of them is believed. */
#include "tests/world/said/said.h"

static uint64_t ordered(uint32_t island) { return atomic_load(&world.boards[island]->head); }

/* A run of another coordinator, of this one's epoch before, or with another number; an island that it is not in. */
static void test_of_another(void **state)
{
        struct pw_core_message said;

        (void)state;
        begin_slow();
        for (int i = 0; i < 3; i++) {
                said = message(PW_CORE_PREPARED, 0);
                said.run.coordinator -= i == 0;
                said.run.epoch -= i == 1;
                said.run.number += i == 2;
                assert_int_equal(deliver(&said), PW_NOT_FOUND);
        }
        assert_int_equal(say(PW_CORE_PREPARE, 0), PW_PROTOCOL);
        assert_int_equal(say((enum pw_core_kind)(PW_CORE_KINDS + 1), 0), PW_PROTOCOL);
        end(1);
}

/* Nothing is ordered before all records are written, whoever says that they are. */
static void test_too_early(void **state)
{
        (void)state;
        begin_slow();
        assert_int_equal(say(PW_CORE_START, 0), PW_PROTOCOL);
        world_daemon(&world);
        world_link_lose(&world);
        prepare(run);
        world_daemon(&world);
        world_link_lose(&world);
        assert_int_equal(ordered(0) + ordered(1), 0);
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_OK);
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_EXISTS);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        assert_int_equal(say(PW_CORE_START, 0), PW_OK);
        assert_int_equal(say(PW_CORE_START, 0), PW_EXISTS);
        world_daemon(&world);
        assert_true(ordered(0) > 0);
        assert_true(ordered(1) > 0);
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_EXISTS);
        for (uint32_t i = 0; i < world.device_count; i++)
                while (world_step(&world, i))
                        ;
        pw_scheduler_cancel(world.scheduler, run->number, "a test", world.now_us);
        run->cancelled = run->any = true;
        world_done(&world);
}

/* A notice names a node and an island of the run. */
static void test_wrong_notice(void **state)
{
        struct pw_core_message said;

        (void)state;
        begin_slow();
        said = message(PW_CORE_NOTICE, 1);
        said.node = 1000;
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        said.node = 0;
        said.from = 2;
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        said.from = 0; /* which has ordered nothing yet */
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        prepare(run);
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_OK);
        assert_int_equal(say(PW_CORE_START, 0), PW_OK);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        pw_scheduler_turn(world.scheduler, world.now_us);
        said.node = pw_host_find(world.scheduler, run->number)->fragments[0].next; /* of its gangs the one that is next */
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        assert_int_equal(pw_host_find(world.scheduler, run->number)->fragments[1].noticed[0], 0);
        world_done(&world);
}

/* One record cannot be written: nothing is ordered anywhere; and who reads it, prepared before that was known, loads its error. */
static void test_refused(void **state)
{
        struct world_run *reader, *refused;
        struct pw_core_message said;

        (void)state;
        begin_slow();
        refused = run;
        reader = world_submit(&world, &world.programs[0], (struct world_object *[]){ run->results[0] }, false);
        world_link_lose(&world);
        run->any = reader->any = true;
        admit(reader);
        world_daemon(&world);
        world_link_lose(&world);
        prepare(refused);
        prepare(reader);
        run = reader;
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_OK);
        run = refused;
        said = message(PW_CORE_PREPARED, 0);
        said.status = PW_NO_SPACE;
        assert_int_equal(deliver(&said), PW_OK);
        assert_int_equal(deliver(&said), PW_EXISTS);
        assert_false(refused->ended);
        while (!refused->ended)
                go_on();
        assert_int_equal(refused->results[0]->status, PW_NO_SPACE);
        assert_string_equal(refused->results[0]->text, "refused by hand");
        while (!reader->results[0]->decided)
                go_on();
        assert_int_equal(reader->results[0]->status, PW_NO_SPACE);
        end(0);
}

/* Cancelled when its PREPARE is on its way: what is ordered of it, as somebody reads it, is skipped all the same. */
static void test_cancelled_early(void **state)
{
        struct pw_core_message said;
        struct pw_message written;
        struct pw_error err;
        bool more;

        (void)state;
        begin_slow();
        world_submit(&world, &world.programs[0], (struct world_object *[]){ run->results[0] }, false)->any = true;
        run->any = true;
        world_cancel(&world, run);
        assert_int_equal(say_of(run, PW_CORE_CANCEL, 0), PW_OK);
        said = message(PW_CORE_PREPARE, 0);
        assert_int_equal(pw_scheduler_preparing(world.scheduler, &said, &written, &more, &err), PW_OK);
        const uint8_t *bytes = pw_actions_pools(pw_scheduler_actions(world.scheduler)).bytes + written.at;
        assert_int_equal(((const struct pw_run_record *)(const void *)bytes)->cancelled_at, 0);
        world_done(&world);
}

/* A run waits for its maker's records and is cancelled: what comes of the maker no longer concerns it, nor whoever has its
 * place. */
static void test_reader_leaves(void **state)
{
        struct world_run *maker, *reader;

        (void)state;
        begin_slow();
        maker = run;
        reader = world_submit(&world, &world.programs[0], (struct world_object *[]){ run->results[0] }, false);
        world_link_lose(&world);
        admit(reader);
        world_daemon(&world);
        world_link_lose(&world);
        prepare(reader);
        run = reader;
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_OK);
        world_cancel(&world, reader);
        assert_int_equal(say_of(reader, PW_CORE_CANCEL, 1), PW_OK);
        assert_int_equal(say_of(reader, PW_CORE_CANCEL, 1), PW_NOT_FOUND); /* nothing of it is ordered: that was all */
        hand_over(reader, PW_CORE_DONE);
        pw_actions_clear(pw_scheduler_actions(world.scheduler)); /* its place is free, */
        reader = world_submit(&world, &world.programs[0],
                              (struct world_object *[]){ world_put(&world, &world.programs[0], 0, true) }, false);
        admit(reader); /* and taken */
        prepare(maker);
        pw_actions_clear(pw_scheduler_actions(world.scheduler));
        run = maker;
        assert_int_equal(say(PW_CORE_PREPARED, 0), PW_OK);
        assert_int_equal(pw_scheduler_actions(world.scheduler)->count, 1); /* it starts, and nobody else */
        world_done(&world);
}

/* Of inputs that it has not, of none that fails, of a run that was not asked for; and what is said once changes nothing later. */
static void test_not_believed(void **state)
{
        struct pw_core_message said;
        struct world_run *waits;

        (void)state;
        begin_slow();
        waits = world_submit(&world, &world.programs[0],
                             (struct world_object *[]){ world_put(&world, &world.programs[0], 0, false) }, false);
        assert_int_equal(say_of(waits, PW_CORE_RESERVED, 0), PW_PROTOCOL);
        assert_int_equal(say_of(waits, PW_CORE_PREPARED, 0), PW_PROTOCOL);
        assert_int_equal(say_of(waits, PW_CORE_RESULT, 0), PW_PROTOCOL);
        assert_int_equal(say_of(waits, PW_CORE_DONE, 0), PW_PROTOCOL);
        assert_int_equal(say_of(waits, PW_CORE_CANCEL, 1), PW_NOT_FOUND);
        assert_int_equal(say_of(run, PW_CORE_RESULT, 1), PW_PROTOCOL); /* it has one */
        assert_int_equal(say_of(run, PW_CORE_SPOILED, 0), PW_PROTOCOL); /* by no error */
        said = message(PW_CORE_SPOILED, 0);
        said.status = PW_NOT_READY;
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        assert_int_equal(say_of(run, PW_CORE_RESERVED, 0), PW_EXISTS);
        assert_int_equal(say_of(run, PW_CORE_PLACED, 0), PW_EXISTS);
        assert_int_equal(say_of(run, PW_CORE_OVERDUE, 0), PW_EXISTS);
        assert_int_equal(waits->run->state, PW_RUN_WAITING);
        said = message(PW_CORE_INPUT, 0);
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        said.status = PW_FAILED;
        said.input = UINT32_MAX;
        assert_int_equal(deliver(&said), PW_PROTOCOL);
        said.input = 0; /* it is a value in host memory: it is there */
        assert_int_equal(deliver(&said), PW_EXISTS);
        assert_int_equal(say_of(run, PW_CORE_FAILED, 0), PW_PROTOCOL);
        assert_int_equal(say_of(run, PW_CORE_EXPIRED, 0), PW_EXISTS);
        assert_int_equal(say_of(run, PW_CORE_EXPIRED, 2), PW_OK);
        assert_int_equal(say_of(run, PW_CORE_EXPIRED, 1), PW_EXISTS);
        world_done(&world);
}

/* What would be decided, and look as if it were not; or is about who reads it. */
static void test_errors_of_no_value(void **state)
{
        static const enum pw_status statuses[] = { PW_NOT_READY, PW_DAEMON_GONE, PW_FORKED };
        static const enum pw_core_kind kinds[] = { PW_CORE_PREPARED, PW_CORE_LOST, PW_CORE_INPUT, PW_CORE_SPOILED };
        struct pw_core_message said;

        (void)state;
        begin_slow();
        for (uint32_t i = 0; i < 12; i++) {
                said = message(kinds[i / 3], 0);
                if (said.kind == PW_CORE_LOST)
                        said.slot = pw_host_find(world.scheduler, run->number)->results[0]->slot;
                said.status = statuses[i % 3];
                assert_int_equal(deliver(&said), PW_PROTOCOL);
        }
        end(1);
}

/* A record is not written: whoever says START is not believed, as orders would be written beside it. */
static void test_unwritten(void **state)
{
        struct pw_core_message said;
        struct pw_message written;
        struct pw_error err;
        bool more = true;

        (void)state;
        begin_slow();
        run->any = true;
        said = message(PW_CORE_PREPARE, 0);
        while (more)
                assert_int_equal(pw_scheduler_preparing(world.scheduler, &said, &written, &more, &err), PW_OK);
        assert_int_equal(pw_scheduler_prepared(world.scheduler, &said, PW_NO_SPACE, "no room", world.now_us, &err), PW_OK);
        assert_int_equal(say(PW_CORE_START, 0), PW_PROTOCOL);
        assert_false(pw_host_find(world.scheduler, run->number)->started);
        world_done(&world);
}

static uint32_t said_of(const struct world_run *of, enum pw_core_kind kind)
{
        const struct pw_actions *actions = pw_scheduler_actions(world.scheduler);
        uint32_t count = 0;

        for (uint32_t i = 0; i < actions->count; i++)
                count += actions->items[i].kind == PW_ACT_CORE && actions->items[i].core.kind == kind &&
                         actions->items[i].core.run.number == of->number;
        return count;
}

/* It waited for rooms for too long: its host forgets it, and is told nothing of its results; it fails once. */
static void test_overdue(void **state)
{
        struct world_run *late;

        (void)state;
        begin_slow();
        late = world_submit(&world, &world.programs[0], (struct world_object *[]){ world_put(&world, &world.programs[0], 0, true) },
                            false);
        late->any = true;
        hand_over(late, PW_CORE_RESERVE);
        assert_int_equal(say_of(late, PW_CORE_OVERDUE, 0), PW_OK);
        assert_int_equal(say_of(late, PW_CORE_OVERDUE, 0), PW_NOT_FOUND);
        hand_over(late, PW_CORE_REFUSED);
        assert_null(pw_host_find(world.scheduler, late->number));
        pw_scheduler_turn(world.scheduler, world.now_us);
        world_expect(&world, "run=2 from=waiting to=queued cause=arrive\n" "host_run=2 from=idle to=queued cause=queue\n"
                             "host_run=2 from=queued to=idle cause=refuse\n" "run=2 from=queued to=ended cause=fail\n");
        assert_int_equal(said_of(late, PW_CORE_RELEASE), 0);
        world_done(&world);
}

/* A run that is over lets its place in boards go: not while a record is being written there. */
static void test_ends_behind_its_records(void **state)
{
        struct pw_core_message said;
        struct pw_message written;
        struct pw_error err;
        bool more;

        (void)state;
        begin_slow();
        world_cancel(&world, run);
        assert_int_equal(say_of(run, PW_CORE_CANCEL, 1), PW_OK);
        said = message(PW_CORE_PREPARE, 0);
        assert_int_equal(pw_scheduler_prepared(world.scheduler, &said, PW_OK, NULL, world.now_us, &err), PW_PROTOCOL);
        assert_int_equal(pw_scheduler_preparing(world.scheduler, &said, &written, &more, &err), PW_OK);
        world_expect(&world, "fragment=1.0 from=reserved to=recorded cause=record\n");
        assert_int_equal(pw_scheduler_prepared(world.scheduler, &said, PW_OK, NULL, world.now_us, &err), PW_PROTOCOL);
        assert_int_equal(say(PW_CORE_START, 0), PW_PROTOCOL); /* the record in island 1 is not being written yet, */
        assert_true(more);
        assert_int_equal(pw_scheduler_preparing(world.scheduler, &said, &written, &more, &err), PW_OK);
        assert_false(more);
        assert_int_equal(pw_scheduler_preparing(world.scheduler, &said, &written, &more, &err), PW_EXISTS);
        world_expect(&world, "fragment=1.1 from=reserved to=recorded cause=record\n");
        assert_int_equal(say(PW_CORE_START, 0), PW_PROTOCOL); /* and nobody has said that both are there */
        assert_int_equal(pw_scheduler_prepared(world.scheduler, &said, PW_OK, NULL, world.now_us, &err), PW_OK);
        world_expect(&world, "fragment=1.0 from=recorded to=prepared cause=answer\n"
                             "fragment=1.1 from=recorded to=prepared cause=answer\n"
                             "host_run=1 from=reserved to=idle cause=done\n");
        assert_int_equal(pw_scheduler_prepared(world.scheduler, &said, PW_OK, NULL, world.now_us, &err), PW_NOT_FOUND);
        assert_null(pw_host_find(world.scheduler, run->number));
        world_done(&world);
}

/* What its host was told of a run that is over says nothing of the next in its record. */
static void test_expired_anew(void **state)
{
        const struct pw_host_run *here;

        (void)state;
        begin_slow();
        here = pw_host_find(world.scheduler, run->number);
        assert_int_equal(say_of(run, PW_CORE_EXPIRED, 2), PW_OK);
        run->any = true;
        while (!run->ended)
                go_on();
        run = world_submit(&world, &world.programs[0],
                           (struct world_object *[]){ world_put(&world, &world.programs[0], 0, true) }, false);
        admit(run);
        assert_ptr_equal(pw_host_find(world.scheduler, run->number), here);
        assert_int_equal(say_of(run, PW_CORE_EXPIRED, 1), PW_OK);
        world_done(&world);
}

static enum pw_status say_of_result(enum pw_core_kind kind, uint32_t at, uint32_t place, enum pw_status status)
{
        struct pw_core_message said = message(kind, 0);

        said.slot = at;
        said.place = place;
        said.status = status;
        return deliver(&said);
}

/* A result is let go once, and released once; then its host knows nothing of it. Who has its place in memory later is another. */
static void test_results(void **state)
{
        const struct pw_host_result *here;
        uint32_t at;

        (void)state;
        begin_slow();
        here = pw_host_find(world.scheduler, run->number)->results[0];
        at = here->slot;
        assert_int_equal(say_of_result(PW_CORE_RELEASE, at + 1, 0, PW_OK), PW_NOT_FOUND);
        assert_int_equal(say_of_result(PW_CORE_LET_GO, UINT32_MAX, 0, PW_OK), PW_NOT_FOUND);
        assert_int_equal(say_of_result(PW_CORE_LOST, at + 1, 0, PW_OK), PW_NOT_FOUND);
        assert_int_equal(say_of_result(PW_CORE_LOST, at, 4, PW_OK), PW_PROTOCOL);
        assert_int_equal(say_of_result(PW_CORE_LOST, at, 1, PW_OK), PW_OK);
        assert_int_equal(say_of_result(PW_CORE_LOST, at, 1, PW_OK), PW_EXISTS);
        assert_int_equal(say_of_result(PW_CORE_LOST, at, 1, PW_DEVICE_LOST), PW_EXISTS); /* it is not there yet */
        assert_int_equal(say_of_result(PW_CORE_LET_GO, at, 0, PW_OK), PW_OK);
        assert_int_equal(say_of_result(PW_CORE_LET_GO, at, 0, PW_OK), PW_EXISTS);
        assert_int_equal(say_of_result(PW_CORE_RELEASE, at, 0, PW_OK), PW_OK);
        assert_int_equal(say_of_result(PW_CORE_RELEASE, at, 0, PW_OK), PW_NOT_FOUND);
        assert_true(here->released); /* its run still writes it */
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_of_another), cmocka_unit_test(test_too_early),
                                            cmocka_unit_test(test_wrong_notice), cmocka_unit_test(test_refused),
                                            cmocka_unit_test(test_cancelled_early), cmocka_unit_test(test_reader_leaves),
                                            cmocka_unit_test(test_not_believed), cmocka_unit_test(test_results),
                                            cmocka_unit_test(test_overdue), cmocka_unit_test(test_unwritten),
                                            cmocka_unit_test(test_errors_of_no_value),
                                            cmocka_unit_test(test_ends_behind_its_records),
                                            cmocka_unit_test(test_expired_anew) };

        return WORLD_RUN_TESTS(tests);
}
