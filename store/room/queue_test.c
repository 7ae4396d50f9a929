/* Requests for room that wait: who is served, who is told that it was in vain. */
#include "store/room/host_test.h"

/* --- the queue -------------------------------------------------------------------------------------------------------------- */

/* ann fills the host with 16 rooms, all used. */
static void fill(struct host *h, struct place *ret_places)
{
        struct pw_store_grant grant;

        open_host(h, HOST);
        grant = fixture_grant(&h->f, h->ann, ROOM, 16);
        assert_int_equal(grant.slot_count, 16);
        for (uint32_t i = 0; i < 16; i++)
                ret_places[i] = fixture_put(h->ann, grant.first_slot + i);
}

/* Rings are read when the first one queues; from then on each lane rings, until nobody queues. */
static void test_drain(void **state)
{
        struct host h;
        struct place places[16];

        (void)state;
        fill(&h, places);
        ask(&h, h.bo, ROOM, 2);
        fixture_only(&h.f, PW_STORE_DRAIN);
        fixture_clear(&h.f);
        ask(&h, h.ann, 2 * ROOM, 1);
        assert_int_equal(fixture_count(&h.f, PW_STORE_DRAIN), 0);
        pw_store_tick(h.f.store, h.f.now_us + 1000000);
        assert_false(pw_store_waits_for_room(h.f.store, 0));
        fixture_clear(&h.f);
        h.f.now_us += 1000000;
        ask(&h, h.bo, ROOM, 2);
        fixture_only(&h.f, PW_STORE_DRAIN);
        fixture_close(&h.f);
}

static void test_deadline(void **state)
{
        struct host h;
        struct place places[16];
        const char *text;
        uint64_t token;

        (void)state;
        fill(&h, places);
        assert_true(pw_store_next_us(h.f.store) == UINT64_MAX);
        token = ask(&h, h.bo, ROOM, 2);
        fixture_only(&h.f, PW_STORE_DRAIN);
        assert_true(pw_store_waits_for_room(h.f.store, 0));
        assert_true(pw_store_next_us(h.f.store) <= h.f.now_us + 1000000);
        pw_store_tick(h.f.store, h.f.now_us + 999999);
        assert_true(pw_store_next_us(h.f.store) == h.f.now_us + 1000000);
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        pw_store_tick(h.f.store, h.f.now_us + 1000000);
        text = refused(&h, token, PW_NO_SPACE)->text;
        assert_non_null(strstr(text, "waited 1 s for 64 KiB of host memory on h0: 1 MiB held by other tenants"));
        assert_false(pw_store_waits_for_room(h.f.store, 0));
        assert_true(pw_store_next_us(h.f.store) == UINT64_MAX);
        fixture_clear(&h.f);
        h.f.now_us += 1000000;
        struct pw_room_request request = fixture_ask(&h.f, h.bo, ROOM, 1);
        request.deadline_us = h.f.now_us;
        pw_store_room_request(h.f.store, &request);
        refused(&h, request.token, PW_NO_SPACE); /* it would not wait */
        fixture_close(&h.f);
}

/* The nearest deadline is that of who still waits. */
static void test_nearest_deadline(void **state)
{
        struct host h;
        struct place places[16];
        struct pw_room_request late, soon;

        (void)state;
        fill(&h, places);
        late = fixture_ask(&h.f, h.bo, ROOM, 1);
        soon = fixture_ask(&h.f, h.bo, 2 * ROOM, 1);
        late.deadline_us = soon.deadline_us + 1000;
        pw_store_room_request(h.f.store, &late);
        assert_true(pw_store_next_us(h.f.store) == late.deadline_us);
        pw_store_room_request(h.f.store, &soon);
        assert_true(pw_store_next_us(h.f.store) == soon.deadline_us);
        pw_store_tick(h.f.store, soon.deadline_us);
        refused(&h, soon.token, PW_NO_SPACE);
        assert_true(pw_store_next_us(h.f.store) == late.deadline_us);
        pw_store_room_cancel(h.f.store, late.token);
        fixture_reclaim(&h.f);
        assert_true(pw_store_next_us(h.f.store) == UINT64_MAX);
        fixture_close(&h.f);
}

/* Many whose time is over at once are told so in parts, and all hear who holds what they waited for. */
static void test_many_late(void **state)
{
        struct host h;
        struct place places[16];
        struct pw_room_request ask;
        uint32_t asked, told = 0, parts = 0;

        (void)state;
        fill(&h, places);
        ask = fixture_ask(&h.f, h.bo, ROOM, 1);
        for (asked = 0; asked < PW_LANES_MAX; asked++) {
                ask.lane = asked;
                ask.token = fixture_ask(&h.f, h.bo, ROOM, 1).token;
                pw_store_room_request(h.f.store, &ask);
        }
        fixture_clear(&h.f);
        while (told < asked) {
                uint32_t part;

                assert_true(pw_store_next_us(h.f.store) <= ask.deadline_us);
                pw_store_tick(h.f.store, ask.deadline_us);
                part = fixture_count(&h.f, PW_STORE_REFUSE);
                assert_in_range(part, 1, PW_LANES_MAX / 2);
                for (uint32_t i = 0; i < pw_store_actions(h.f.store)->count; i++)
                        if (pw_store_actions(h.f.store)->items[i].kind == PW_STORE_REFUSE)
                                assert_non_null(strstr(pw_store_actions(h.f.store)->items[i].text, "held by"));
                told += part;
                parts++;
                fixture_clear(&h.f);
        }
        assert_in_range(parts, 2, 16);
        assert_true(pw_store_next_us(h.f.store) == UINT64_MAX);
        fixture_check(&h.f);
        fixture_close(&h.f);
}

/* Who came first has a turn: what is freed is for it. When that is over, others pass; then it has another. */
static void test_turns(void **state)
{
        struct host h;
        struct place places[16];
        uint64_t large, small;

        (void)state;
        fill(&h, places);
        large = ask(&h, h.bo, 4 * ROOM, 1);
        small = ask(&h, h.bo, ROOM, 1);
        fixture_clear(&h.f);
        for (uint32_t i = 0; i < 3; i++)
                fixture_drop(&h.f, h.ann, places[i]);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 0);
        assert_true(pw_store_next_us(h.f.store) == h.f.now_us + 25000);
        fixture_check(&h.f);
        pw_store_tick(h.f.store, h.f.now_us += 25000);
        fixture_settle(&h.f);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == small);
        pw_store_populated(h.f.store, small, PW_OK, h.f.now_us);
        assert_true(fixture_only(&h.f, PW_STORE_GRANT)->token == small);
        for (uint32_t i = 3; i < 5; i++)
                fixture_drop(&h.f, h.ann, places[i]);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 2);
        pw_store_populated(h.f.store, large, PW_OK, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 2);
        for (uint32_t i = 0; i < 5; i++)
                assert_int_equal(fixture_state(places[i]), PW_ENTRY_TAKEN);
        fixture_close(&h.f);
}

/* Many small ones come all the time, each for as much as was just freed: who wants much is served nonetheless. */
static void test_passed_but_not_for_ever(void **state)
{
        struct host h;
        struct place places[16];
        uint64_t large, small = 0;
        uint32_t passed = 0, held = 16;

        (void)state;
        fill(&h, places);
        struct pw_room_request request = fixture_ask(&h.f, h.bo, 12 * ROOM, 1);
        request.deadline_us = UINT64_MAX;
        pw_store_room_request(h.f.store, &request);
        large = request.token;
        for (;;) {
                if (fixture_count(&h.f, PW_STORE_POPULATE) && fixture_only(&h.f, PW_STORE_POPULATE)->token == large)
                        break;
                fixture_clear(&h.f);
                pw_store_tick(h.f.store, h.f.now_us += 5000);
                if (!small) {
                        request = fixture_ask(&h.f, h.ann, ROOM, 1);
                        request.deadline_us = UINT64_MAX;
                        pw_store_room_request(h.f.store, &request);
                        small = request.token;
                }
                if (held) /* one is freed every 5 ms */
                        fixture_drop(&h.f, h.ann, places[--held]);
                fixture_reclaim(&h.f);
                pw_store_tick(h.f.store, h.f.now_us);
                fixture_settle(&h.f);
                if (fixture_count(&h.f, PW_STORE_LOOK_AGAIN) && fixture_only(&h.f, PW_STORE_LOOK_AGAIN)->token == small) {
                        held++; /* it takes what came back to it */
                        places[held - 1] = fixture_put(h.ann, places[held - 1].slot);
                        small = 0;
                        passed++;
                }
                if (small && fixture_count(&h.f, PW_STORE_POPULATE) && fixture_only(&h.f, PW_STORE_POPULATE)->token == small)
                        pw_store_populated(h.f.store, small, PW_OK, h.f.now_us);
                if (small && fixture_count(&h.f, PW_STORE_GRANT)) {
                        assert_true(held < 16);
                        places[held++] = fixture_put(h.ann, fixture_only(&h.f, PW_STORE_GRANT)->grant.first_slot);
                        small = 0;
                        passed++;
                }
                assert_true(h.f.now_us < 60000000);
        }
        assert_true(passed >= 20 && passed <= 200);
        print_message("passed %u times in %u ms\n", passed, (unsigned)(h.f.now_us / 1000 - 1000));
        fixture_close(&h.f);
}

/* The turns go round by tenants, however many of one wait. */
static void test_turns_of_tenants(void **state)
{
        struct host h;
        struct place places[16];
        uint64_t bo;

        (void)state;
        fill(&h, places);
        for (uint32_t lane = 0; lane < 8; lane++) {
                struct pw_room_request request = fixture_ask(&h.f, h.ann, 15 * ROOM, 1);

                request.lane = lane;
                request.deadline_us = UINT64_MAX;
                pw_store_room_request(h.f.store, &request);
        }
        struct pw_room_request request = fixture_ask(&h.f, h.bo, 4 * ROOM, 1);
        request.deadline_us = UINT64_MAX;
        bo = request.token;
        pw_store_room_request(h.f.store, &request);
        fixture_clear(&h.f);
        fixture_reclaim(&h.f);
        pw_store_tick(h.f.store, h.f.now_us);             /* one of ann's has the first turn */
        pw_store_tick(h.f.store, h.f.now_us += 25000);    /* others pass */
        pw_store_tick(h.f.store, h.f.now_us += 8 * 25000); /* bo's turn */
        request = fixture_ask(&h.f, h.ann, ROOM, 1);
        request.lane = 9;
        pw_store_room_request(h.f.store, &request);
        for (uint32_t i = 0; i < 4; i++)
                fixture_drop(&h.f, h.ann, places[i]);
        fixture_reclaim(&h.f);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == bo);
        fixture_close(&h.f);
}

/* Once is enough for a lane and a size; and a session has as many waits as lanes. */
static void test_requests_bounded(void **state)
{
        struct host h;
        struct place places[16];
        struct pw_room_request request;

        (void)state;
        fill(&h, places);
        for (uint32_t lane = 0; lane < PW_LANES_MAX; lane++) {
                request = fixture_ask(&h.f, h.bo, ROOM, 1);
                request.lane = lane;
                pw_store_room_request(h.f.store, &request);
                if (lane)
                        continue;
                assert_non_null(strstr(refused(&h, ask(&h, h.bo, ROOM, 1), PW_LIMIT)->text, "waits for such room already"));
                fixture_clear(&h.f);
        }
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        assert_non_null(strstr(refused(&h, ask(&h, h.bo, 2 * ROOM, 1), PW_LIMIT)->text, "as it has lanes"));
        fixture_clear(&h.f);
        assert_int_equal(pw_store_puts_waiting(h.f.store), PW_LANES_MAX);
        pw_store_session_end(h.f.store, h.bo->session, true, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), PW_LANES_MAX);
        assert_int_equal(pw_store_puts_waiting(h.f.store), 0);
        fixture_close(&h.f);
}

/* What was given up is free when its pages are gone, and not before; so long it is its tenant's. */
static void test_letting_go(void **state)
{
        struct host h;
        struct place places[16];
        struct pw_store_action punch;
        uint64_t token;

        (void)state;
        fill(&h, places);
        pw_store_session_end(h.f.store, h.ann->session, true, h.f.now_us);
        fixture_clear(&h.f);
        token = ask(&h, h.bo, 8 * ROOM, 1);
        if (pw_store_reclaim_begin(h.f.store))
                pw_store_reclaim_finish(h.f.store, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 0);
        struct pw_store_leaving leaving = pw_store_segment_remove(h.f.store, fixture_only(&h.f, PW_STORE_SEGMENT_IDLE)->segment);
        assert_int_equal(leaving.bytes, 16 * ROOM + 4096);
        assert_int_equal(fixture_terms(&h.f).letting_go, 16 * ROOM + 4096);
        assert_int_equal(pw_store_use(h.f.store, "ann").host_bytes, 16 * ROOM + 4096);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 0);
        pw_store_pages_gone(h.f.store, leaving.owner, 4 * ROOM, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 0);
        pw_store_tick(h.f.store, h.f.now_us += 1500000); /* its deadline is over, but what is leaving counts for it for a second */
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        assert_true(pw_store_next_us(h.f.store) > h.f.now_us);
        fixture_check(&h.f);
        pw_store_pages_gone(h.f.store, leaving.owner, 12 * ROOM + 4096, h.f.now_us);
        punch = *fixture_only(&h.f, PW_STORE_POPULATE);
        assert_true(punch.token == token);
        assert_int_equal(fixture_terms(&h.f).letting_go, 0);
        assert_int_equal(pw_store_use(h.f.store, "ann").host_bytes, 0);
        fixture_close(&h.f);
}

/* The system has no memory for what was granted: it waits, and is tried again. */
static void test_system_is_short(void **state)
{
        struct host h;
        uint64_t token;

        (void)state;
        open_host(&h, HOST);
        token = ask(&h, h.ann, ROOM, 16);
        pw_store_populated(h.f.store, token, PW_NO_SPACE, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        fixture_clear(&h.f);
        assert_true(pw_store_next_us(h.f.store) == h.f.now_us + 100000);
        pw_store_tick(h.f.store, h.f.now_us += 100000);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == token);
        pw_store_populated(h.f.store, token, PW_NO_SPACE, h.f.now_us);
        fixture_clear(&h.f);
        pw_store_tick(h.f.store, h.f.now_us += 900000);
        fixture_settle(&h.f);
        assert_non_null(strstr(refused(&h, token, PW_NO_SPACE)->text, "its memory cgroup or the system has too little left"));
        fixture_close(&h.f);
}

/* A lane that waits is told of its own room that came back. */
static void test_own_room_comes_back(void **state)
{
        struct host h;
        struct place places[16];
        uint64_t token;

        (void)state;
        fill(&h, places);
        token = ask(&h, h.ann, ROOM, 1);
        fixture_clear(&h.f);
        fixture_drop(&h.f, h.ann, places[7]);
        fixture_reclaim(&h.f);
        assert_true(fixture_only(&h.f, PW_STORE_LOOK_AGAIN)->token == token);
        assert_int_equal(fixture_state(places[7]), PW_ENTRY_FREE);
        assert_false(pw_store_waits_for_room(h.f.store, 0));
        fixture_close(&h.f);
}

static void test_cancel(void **state)
{
        struct host h;
        struct place places[16];
        uint64_t large, small;

        (void)state;
        fill(&h, places);
        large = ask(&h, h.bo, 8 * ROOM, 1);
        small = ask(&h, h.bo, ROOM, 1);
        fixture_drop(&h.f, h.ann, places[0]);
        fixture_reclaim(&h.f);
        fixture_clear(&h.f);
        pw_store_room_cancel(h.f.store, large);
        assert_true(pw_store_reclaims(h.f.store));
        fixture_reclaim(&h.f);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == small); /* it was all that held it back */
        fixture_clear(&h.f);
        pw_store_room_cancel(h.f.store, small);
        pw_store_populated(h.f.store, small, PW_OK, 0);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT) + fixture_count(&h.f, PW_STORE_REFUSE), 0);
        assert_int_equal(fixture_terms(&h.f).idle + fixture_terms(&h.f).free, ROOM);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_drain), cmocka_unit_test(test_deadline), cmocka_unit_test(test_nearest_deadline),
                cmocka_unit_test(test_many_late), cmocka_unit_test(test_turns), cmocka_unit_test(test_passed_but_not_for_ever),
                cmocka_unit_test(test_turns_of_tenants), cmocka_unit_test(test_requests_bounded),
                cmocka_unit_test(test_letting_go), cmocka_unit_test(test_system_is_short),
                cmocka_unit_test(test_own_room_comes_back), cmocka_unit_test(test_cancel),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
