/* Searches for idle slots: in parts, on and on while there is not enough, and to an end. */
#include "store/fixture_test.h"

#define ROOM (64 * PW_KIB)

/* Idle slots are looked for in parts, each time the queue is served, until there is enough. */
static void test_search_in_parts(void **state)
{
        struct fixture f;
        struct pw_room_request ask;

        (void)state;
        fixture_open(&f, 590 * 4096);
        for (uint32_t i = 0; i < 3; i++)
                fixture_grant(&f, fixture_client(&f, "ann"), 64, 4000);
        ask = fixture_ask(&f, fixture_client(&f, "ann"), 700 * PW_KIB, 1);
        ask.deadline_us = f.now_us; /* what is to be found counts for it */
        pw_store_room_request(f.store, &ask);
        assert_true(pw_store_reclaims(f.store));
        assert_int_equal(fixture_count(&f, PW_STORE_POPULATE), 0);
        pw_store_tick(f.store, f.now_us);
        fixture_settle(&f);
        assert_int_equal(fixture_count(&f, PW_STORE_REFUSE), 0);
        assert_int_equal(fixture_only(&f, PW_STORE_POPULATE)->token, ask.token);
        assert_false(pw_store_reclaims(f.store));
        fixture_close(&f);
}

/* There was enough when a search ended, and before it came the memory that is measured took it: the search goes on. */
static void test_search_goes_on(void **state)
{
        struct fixture f;
        struct pw_room_request ask;
        struct client *ann;

        (void)state;
        fixture_open(&f, 40 * ROOM);
        ann = fixture_client(&f, "ann");
        for (uint32_t i = 0; i < 3; i++)
                fixture_grant(&f, ann, ROOM, 12);
        ask = fixture_ask(&f, fixture_client(&f, "bo"), 8 * ROOM, 1);
        pw_store_room_request(f.store, &ask);
        assert_true(fixture_count(&f, PW_STORE_PUNCH) != 0); /* of the first twelve */
        assert_int_equal(fixture_count(&f, PW_STORE_POPULATE), 0);
        pw_store_overhead(f.store, 8 * (int64_t)ROOM);
        fixture_settle(&f);
        fixture_settle(&f); /* of what was found then */
        assert_int_equal(fixture_only(&f, PW_STORE_POPULATE)->token, ask.token);
        fixture_close(&f);
}

/* Many look for idle slots, and each of them passes by what was just granted to somebody: when all have looked, that was all for
 * now. */
static void test_searches_end(void **state)
{
        struct fixture f;
        struct pw_store_grant grant;
        struct client *waiting;
        uint32_t parts = 0;

        (void)state;
        fixture_open(&f, 900 * 4096);
        for (uint32_t i = 0; i < 4; i++) {
                struct client *holder = fixture_client(&f, "ann");

                grant = fixture_grant(&f, holder, 64, 4000);
                for (uint32_t slot = 0; slot < 4000; slot++)
                        fixture_put(holder, grant.first_slot + slot);
        }
        waiting = fixture_client(&f, "ann");
        for (uint32_t lane = 0; lane < 7; lane++) {
                struct pw_room_request ask = fixture_ask(&f, waiting, 1200 * PW_KIB, 1);

                ask.lane = lane;
                pw_store_room_request(f.store, &ask);
        }
        assert_int_equal(fixture_count(&f, PW_STORE_POPULATE), 0);
        fixture_grant(&f, fixture_client(&f, "ann"), 64, 64);
        f.now_us += 30000; /* nobody has a turn */
        pw_store_tick(f.store, f.now_us);
        while (pw_store_reclaims(f.store) && parts++ < 100)
                fixture_reclaim(&f);
        assert_in_range(parts, 2, 50);
        fixture_close(&f);
}

/* Two lanes ask at once, as pathwaysd does for what it pulls, and there is room for one. What was granted to the first one is not
 * taken back before that has heard of it: else it asks anew, and has it taken back from the second one, and so on, without end. */
static void test_taken_at_once(void **state)
{
        for (uint32_t takes = 0; takes < 2; takes++) {
                struct fixture f;
                struct pw_room_request ask;
                struct pw_store_grant grant;
                struct client *ann;
                uint64_t first;

                (void)state;
                fixture_open(&f, 2 * ROOM);
                ann = fixture_client(&f, "ann");
                ask = fixture_ask(&f, ann, ROOM, 1);
                ask.at_once = true;
                first = ask.token;
                pw_store_room_request(f.store, &ask);
                pw_store_populated(f.store, first, PW_OK, f.now_us);
                grant = fixture_only(&f, PW_STORE_GRANT)->grant;
                fixture_clear(&f);
                ask = fixture_ask(&f, ann, ROOM, 1);
                ask.at_once = true;
                ask.lane = 1;
                pw_store_room_request(f.store, &ask);
                for (uint32_t i = 0; i < 3; i++)
                        pw_store_tick(f.store, f.now_us);
                assert_int_equal(fixture_count(&f, PW_STORE_GRANT), 0);
                if (takes) {
                        struct place place = fixture_put(ann, grant.first_slot);

                        pw_store_extent_end(f.store, &grant, f.now_us);
                        fixture_reclaim(&f);
                        assert_int_equal(fixture_count(&f, PW_STORE_GRANT), 0);
                        fixture_drop(&f, ann, place);
                        fixture_reclaim(&f);
                } else { /* it did not want it any more */
                        pw_store_extent_end(f.store, &grant, f.now_us);
                        pw_store_tick(f.store, f.now_us);
                }
                assert_true(fixture_only(&f, PW_STORE_GRANT)->token == ask.token); /* its pages are there */
                fixture_close(&f);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_search_in_parts),
                cmocka_unit_test(test_search_goes_on),
                cmocka_unit_test(test_searches_end),
                cmocka_unit_test(test_taken_at_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
