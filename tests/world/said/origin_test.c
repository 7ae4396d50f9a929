/* Messages that are another's to say: a host speaks for itself, and a coordinator of its own runs. Nothing of them is believed. */
#include "tests/world/said/said.h"

/* Whoever is at the other end of a link says what is its own to say. */
static void test_of_a_third(void **state)
{
        struct world_run *maker, *reader;
        struct pw_core_message said;
        struct pw_error err;

        (void)state;
        begin_slow();
        assert_int_equal(pw_scheduler_coordinator_add(world.scheduler, WORLD_HOST + 1, WORLD_EPOCH, &err), PW_OK);
        maker = run;
        reader = world_submit(&world, &world.programs[0], (struct world_object *[]){ run->results[0] }, false);
        hand_over(reader, PW_CORE_RESERVE);
        for (uint32_t kind = 0; kind <= PW_CORE_KINDS; kind++)
                for (uint32_t i = 0; i < 2; i++) {
                        uint32_t count = pw_scheduler_actions(world.scheduler)->count;

                        said = message_of(i ? maker : reader, (enum pw_core_kind)kind);
                        said.status = PW_CORE_ANSWERS >> kind & 1 ? PW_FAILED : PW_OK;
                        said.refusal = kind == PW_CORE_REFUSED ? PW_REFUSED_RESERVED : 0;
                        assert_int_equal(deliver_from(WORLD_HOST + 1, &said, NULL), PW_PROTOCOL);
                        assert_int_equal(world_hear(&world, WORLD_HOST + 1, &said, NULL, &err), PW_PROTOCOL);
                        assert_int_equal(pw_scheduler_actions(world.scheduler)->count, count);
                }
        assert_int_equal(maker->run->state, PW_RUN_ADMITTED);
        assert_int_equal(reader->run->state, PW_RUN_QUEUED);
        assert_int_equal(pw_host_find(world.scheduler, maker->number)->state, PW_HOST_RUN_RESERVED);
        assert_int_equal(pw_host_find(world.scheduler, reader->number)->state, PW_HOST_RUN_QUEUED);
        world_done(&world);
}

/* A host tells its own islands alone, and a peer's coordinator the runs of its own. */
static void test_as_another(void **state)
{
        struct pw_core_message said;
        struct pw_error err;

        (void)state;
        begin_slow();
        assert_int_equal(pw_scheduler_coordinator_add(world.scheduler, WORLD_HOST + 1, WORLD_EPOCH, &err), PW_OK);
        said = message(PW_CORE_NOTICE, 1);
        said.host = WORLD_HOST + 1; /* "its islands" */
        assert_int_equal(deliver_from(WORLD_HOST + 1, &said, NULL), PW_PROTOCOL);
        said.host = WORLD_HOST; /* this one's, of a run of the peer's own */
        said.run.coordinator++;
        assert_int_equal(deliver_from(WORLD_HOST + 1, &said, NULL), PW_PROTOCOL);
        said = message(PW_CORE_PREPARED, 0);
        said.host = WORLD_HOST + 1;
        assert_int_equal(deliver_from(WORLD_HOST + 1, &said, NULL), PW_PROTOCOL); /* it has no part in the run */
        said.host = WORLD_HOST;
        said.run.coordinator++;
        assert_int_equal(deliver_from(WORLD_HOST, &said, NULL), PW_PROTOCOL); /* what it has to say is not for this host */
        said = message(PW_CORE_CANCEL, 0);
        said.run.coordinator++;
        assert_int_equal(deliver_from(WORLD_HOST, &said, NULL), PW_PROTOCOL);
        assert_int_equal(deliver_from(WORLD_HOST + 1, &said, NULL), PW_NOT_FOUND); /* its own, which is not here */
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_of_a_third), cmocka_unit_test(test_as_another) };

        return WORLD_RUN_TESTS(tests);
}
