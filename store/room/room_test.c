/* Room: what is granted, when a lane is told to look again, who waits and until when, what is taken back from whom. */
#include "store/room/host_test.h"

static void test_grant(void **state)
{
        struct host h;
        struct pw_store_grant grant;
        const struct pw_store_action *populate;
        uint64_t token;

        (void)state;
        open_host(&h, 64 * PW_MIB);
        token = ask(&h, h.ann, 1000, 16);
        populate = fixture_only(&h.f, PW_STORE_POPULATE);
        assert_true(populate->token == token);
        assert_int_equal(populate->segment, h.ann->segment);
        assert_int_equal(populate->offset, h.ann->layout.room_offset);
        assert_int_equal(populate->bytes, 16384);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 0); /* not before its pages are there */
        assert_int_equal(fixture_terms(&h.f).idle, 16384);
        assert_int_equal(fixture_terms(&h.f).overhead, 8192); /* a page of entries, and one of records */
        pw_store_populated(h.f.store, token, PW_OK, 0);
        grant = fixture_only(&h.f, PW_STORE_GRANT)->grant;
        assert_int_equal(grant.session, h.ann->session);
        assert_int_equal(grant.segment, h.ann->segment);
        assert_int_equal(grant.slot_count, 16);
        assert_int_equal(grant.room_bytes, 1024);
        assert_int_equal(grant.room_offset, h.ann->layout.room_offset);
        assert_int_equal(pw_store_segment_bytes(h.f.store, h.ann->segment), 4096 + 16384);
        fixture_put(h.ann, grant.first_slot + 15);
        assert_int_equal(fixture_terms(&h.f).used, 1024);
        assert_int_equal(fixture_terms(&h.f).idle, 15 * 1024);
        pw_store_populated(h.f.store, token, PW_OK, 0); /* twice, and of nobody */
        pw_store_populated(h.f.store, 999, PW_OK, 0);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 1);
        fixture_close(&h.f);
}

/* As many came back as are asked for: look again, once. Fewer: the lane grows. */
static void test_look_again(void **state)
{
        for (uint64_t bytes = 0; bytes <= 1024; bytes += 1024) {
                struct host h;
                struct pw_store_grant grant;
                struct pw_room_request other;

                (void)state;
                open_host(&h, 64 * PW_MIB);
                grant = fixture_grant(&h.f, h.ann, bytes, 8);
                for (uint32_t i = 0; i < 8; i++)
                        fixture_drop(&h.f, h.ann, fixture_put(h.ann, grant.first_slot + i));
                fixture_reclaim(&h.f);
                other = fixture_ask(&h.f, h.ann, 4096, 8); /* another class */
                pw_store_room_request(h.f.store, &other);
                other = fixture_ask(&h.f, h.ann, bytes, 8);
                other.lane = 1;
                pw_store_room_request(h.f.store, &other);
                assert_int_equal(fixture_count(&h.f, PW_STORE_LOOK_AGAIN), 0);
                fixture_clear(&h.f);
                assert_true(ask(&h, h.ann, bytes, 8) == fixture_only(&h.f, PW_STORE_LOOK_AGAIN)->token);
                assert_int_equal(pw_store_actions(h.f.store)->count, 1);
                fixture_clear(&h.f);
                assert_int_equal(fixture_grant(&h.f, h.ann, bytes, 8).slot_count, 8); /* nothing came back since */
                fixture_drop(&h.f, h.ann, fixture_put(h.ann, grant.first_slot));
                fixture_reclaim(&h.f);
                assert_int_equal(fixture_grant(&h.f, h.ann, bytes, 16).slot_count, 16);
                fixture_close(&h.f);
        }
}

static void test_look_again_futures(void **state)
{
        struct host h;
        struct pw_store_grant grant;
        struct pw_room_request request;

        (void)state;
        open_host(&h, 64 * PW_MIB);
        grant = fixture_grant_futures(&h.f, h.ann, 4);
        for (uint32_t i = 0; i < 4; i++)
                fixture_drop(&h.f, h.ann, fixture_future(&h.f, grant.first_slot + i));
        fixture_reclaim(&h.f);
        request = fixture_ask(&h.f, h.ann, 0, 4);
        request.inline_only = false;
        request.futures = true;
        pw_store_room_request(h.f.store, &request);
        assert_true(fixture_only(&h.f, PW_STORE_LOOK_AGAIN)->token == request.token);
        fixture_clear(&h.f);
        assert_int_equal(fixture_grant_futures(&h.f, h.ann, 4).slot_count, 4);
        fixture_close(&h.f);
}

/* Where nothing more fits, one room that came back is enough. */
static void test_look_again_when_full(void **state)
{
        struct host h;
        struct pw_store_grant grant;

        (void)state;
        open_host(&h, HOST);
        grant = fixture_grant(&h.f, h.ann, ROOM, 16);
        for (uint32_t i = 0; i < 16; i++)
                fixture_put(h.ann, grant.first_slot + i);
        fixture_drop(&h.f, h.ann, (struct place){ h.ann->segment, grant.first_slot, 1, NULL });
        fixture_reclaim(&h.f);
        assert_true(ask(&h, h.ann, ROOM, 16) == fixture_only(&h.f, PW_STORE_LOOK_AGAIN)->token);
        fixture_close(&h.f);
}

/* --- what can never be ------------------------------------------------------------------------------------------------------ */

static void test_too_large(void **state)
{
        struct host h;
        struct pw_room_request request;

        (void)state;
        open_host(&h, 16 * ROOM);
        assert_non_null(strstr(refused(&h, ask(&h, h.ann, 17 * ROOM, 1), PW_TOO_LARGE)->text,
                               "1.1 MiB do not fit into the 1016 KiB of host memory on h0"));
        fixture_clear(&h.f);
        refused(&h, ask(&h, h.ann, 16 * ROOM, 1), PW_TOO_LARGE); /* its entry needs a page, and its record another */
        fixture_clear(&h.f);
        request = fixture_ask(&h.f, h.ann, UINT64_MAX, 1);
        assert_int_equal(request.size_class, PW_CLASS_COUNT);
        pw_store_room_request(h.f.store, &request);
        refused(&h, request.token, PW_TOO_LARGE);
        fixture_clear(&h.f);
        assert_int_equal(fixture_grant(&h.f, h.ann, 15 * ROOM, 1).slot_count, 1);
        fixture_close(&h.f);
}

static void test_invalid(void **state)
{
        struct host h;
        struct pw_room_request request;

        (void)state;
        open_host(&h, 64 * PW_MIB);
        refused(&h, ask(&h, h.ann, 64, 0), PW_INVALID);
        fixture_clear(&h.f);
        request = fixture_ask(&h.f, h.bo, 0, 4); /* bo has no futures segment */
        request.futures = true;
        pw_store_room_request(h.f.store, &request);
        refused(&h, request.token, PW_INVALID);
        fixture_clear(&h.f);
        request.session = 99;
        pw_store_room_request(h.f.store, &request);
        refused(&h, request.token, PW_INVALID);
        fixture_close(&h.f);
}

/* However many are asked for, it is as many as the library asks for, and they were booked. */
static void test_count_overflow(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;

        (void)state;
        fixture_open(&f, UINT64_C(1) << 62);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 32 * PW_MIB, UINT32_MAX);
        assert_int_equal(grant.slot_count, 1);
        grant = fixture_grant(&f, ann, PW_MIB, UINT32_MAX);
        assert_int_equal(grant.slot_count, 4);
        assert_int_equal(fixture_terms(&f).idle, 36 * PW_MIB);
        grant = fixture_grant(&f, ann, 0, 2048);
        assert_int_equal(fixture_terms(&f).overhead, 2 * (2048 + 64) * 64); /* entries and records, in pages */
        fixture_close(&f);
}

static void test_no_slots(void **state)
{
        struct host h;

        (void)state;
        open_host(&h, 64 * PW_MIB);
        assert_int_equal(fixture_grant(&h.f, h.ann, 0, 1).slot_count, 1);
        assert_int_equal(fixture_grant(&h.f, h.ann, 0, FIXTURE_SLOTS).slot_count, FIXTURE_SLOTS / 2);
        assert_int_equal(fixture_grant(&h.f, h.ann, 0, FIXTURE_SLOTS - 1).slot_count, FIXTURE_SLOTS / 2 - 1);
        assert_non_null(strstr(refused(&h, ask(&h, h.ann, 0, 16), PW_LIMIT)->text, "no more slots"));
        fixture_close(&h.f);
}

/* --- taken back ------------------------------------------------------------------------------------------------------------- */

static void test_idle_taken_back(void **state)
{
        struct host h;
        struct pw_store_grant grant;
        struct place used, raced;
        uint32_t generation;

        (void)state;
        open_host(&h, HOST);
        grant = fixture_grant(&h.f, h.ann, ROOM, 16);
        used = fixture_put(h.ann, grant.first_slot + 3);
        raced = fixture_create(h.ann, grant.first_slot + 9);
        assert_int_equal(fixture_grant(&h.f, h.bo, 14 * ROOM, 1).slot_count, 1);
        assert_int_equal(fixture_state(used), PW_ENTRY_READY);
        assert_int_equal(fixture_state(raced), PW_ENTRY_PENDING);
        assert_false(pw_entry_take(pw_map_entry(&h.ann->map, grant.first_slot), &generation));
        fixture_check(&h.f);
        fixture_drop(&h.f, h.ann, used);
        fixture_drop(&h.f, h.ann, raced);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_terms(&h.f).used, 0);
        assert_int_equal(fixture_grant(&h.f, h.bo, ROOM, 2).slot_count, 2);
        fixture_close(&h.f);
}

/* Its pages are on their way: the lane may ask for as much at once, and what comes of the first serves nobody. */
static void test_cancel_while_populating(void **state)
{
        struct host h;
        uint64_t first, second;

        (void)state;
        open_host(&h, HOST);
        first = ask(&h, h.ann, ROOM, 1);
        pw_store_room_cancel(h.f.store, first);
        pw_store_room_cancel(h.f.store, first); /* twice is once */
        second = ask(&h, h.ann, ROOM, 1);
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 2);
        pw_store_populated(h.f.store, first, PW_OK, 0);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 0);
        pw_store_populated(h.f.store, second, PW_OK, 0);
        assert_true(fixture_only(&h.f, PW_STORE_GRANT)->token == second);
        fixture_close(&h.f);
}

/* Rooms that are being populated for one are not taken for another. */
static void test_populating_is_kept(void **state)
{
        struct host h;
        uint64_t first, second;

        (void)state;
        open_host(&h, HOST);
        first = ask(&h, h.ann, ROOM, 16);
        second = ask(&h, h.bo, ROOM, 1);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 1);
        assert_true(pw_store_waits_for_room(h.f.store, 0));
        pw_store_populated(h.f.store, first, PW_OK, 0);
        pw_store_populated(h.f.store, second, PW_OK, 0); /* its rooms were idle in the meantime */
        assert_true(pw_store_actions(h.f.store)->count > 2);
        fixture_close(&h.f);
}

static void test_populate_fails(void **state)
{
        struct host h;
        uint64_t first, second;

        (void)state;
        open_host(&h, HOST);
        first = ask(&h, h.ann, ROOM, 16);
        second = ask(&h, h.bo, ROOM, 4);
        pw_store_populated(h.f.store, first, PW_SYSTEM, 0);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 1);
        fixture_settle(&h.f);
        assert_non_null(strstr(refused(&h, first, PW_SYSTEM)->text, "64 KiB"));
        assert_int_equal(fixture_only(&h.f, PW_STORE_PUNCH)->bytes, 16 * ROOM);
        pw_store_populated(h.f.store, second, PW_OK, 0);
        assert_true(fixture_only(&h.f, PW_STORE_GRANT)->token == second);
        assert_int_equal(fixture_terms(&h.f).free, 12 * ROOM);
        fixture_close(&h.f);
}

static void test_lane_ends(void **state)
{
        struct host h;
        struct pw_store_grant grant;
        struct pw_return_reader returns;
        struct place used;
        uint32_t generation;

        (void)state;
        open_host(&h, HOST);
        grant = fixture_grant(&h.f, h.ann, ROOM, 4);
        returns = fixture_returns(h.ann, &grant);
        used = fixture_put(h.ann, grant.first_slot);
        pw_store_lane_end(h.f.store, h.ann->session, 1, 0); /* another */
        assert_true(pw_entry_take(pw_map_entry(&h.ann->map, grant.first_slot + 1), &generation));
        pw_store_lane_end(h.f.store, h.ann->session, 0, 0);
        assert_false(pw_entry_take(pw_map_entry(&h.ann->map, grant.first_slot + 2), &generation));
        fixture_drop(&h.f, h.ann, used);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_returned(&returns), UINT32_MAX);
        assert_int_equal(fixture_state(used), PW_ENTRY_TAKEN);
        assert_int_equal(fixture_terms(&h.f).used, ROOM); /* what was created and not sealed */
        fixture_close(&h.f);
}

/* The end of a session ends its waits, and what was populated for it serves nobody before its process is dead. */
static void test_session_ends_waiting(void **state)
{
        struct host h;
        uint64_t populating, queued;

        (void)state;
        open_host(&h, HOST);
        populating = ask(&h, h.ann, ROOM, 16);
        queued = ask(&h, h.ann, 2 * ROOM, 1);
        fixture_clear(&h.f);
        pw_store_session_end(h.f.store, h.ann->session, true, 0);
        refused(&h, queued, PW_CANCELLED);
        assert_int_equal(fixture_count(&h.f, PW_STORE_SEGMENT_IDLE), 0);
        fixture_check(&h.f);
        pw_store_populated(h.f.store, populating, PW_OK, 0);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 0);
        fixture_remove(&h.f, fixture_only(&h.f, PW_STORE_SEGMENT_IDLE)->segment);
        assert_int_equal(fixture_terms(&h.f).free, HOST);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_grant), cmocka_unit_test(test_look_again), cmocka_unit_test(test_look_again_futures),
                cmocka_unit_test(test_look_again_when_full), cmocka_unit_test(test_too_large), cmocka_unit_test(test_invalid),
                cmocka_unit_test(test_count_overflow), cmocka_unit_test(test_no_slots),
                cmocka_unit_test(test_cancel_while_populating), cmocka_unit_test(test_idle_taken_back),
                cmocka_unit_test(test_populating_is_kept), cmocka_unit_test(test_populate_fails),
                cmocka_unit_test(test_lane_ends), cmocka_unit_test(test_session_ends_waiting),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
