/* Room: what is granted, when a lane is told to look again, who waits and until when, what is taken back from whom. */
#include "store/account/quota.h"
#include "store/fixture_test.h"

#define ROOM (64 * PW_KIB)
#define HOST (16 * ROOM + 16384) /* 16 rooms, and the pages of two entry tables and of their records */

struct host { struct fixture f; struct client *ann, *bo; };

static void open_host(struct host *h, uint64_t capacity_bytes)
{
        fixture_open(&h->f, capacity_bytes);
        h->ann = fixture_client(&h->f, "ann");
        h->bo = fixture_client(&h->f, "bo");
}

/* Ask; the token of the request. Actions are as they come. */
static uint64_t ask(struct host *h, const struct client *client, uint64_t bytes, uint32_t count)
{
        struct pw_room_request request = fixture_ask(&h->f, client, bytes, count);

        pw_store_room_request(h->f.store, &request);
        return request.token;
}

static const struct pw_store_action *refused(struct host *h, uint64_t token, enum pw_status status)
{
        const struct pw_store_action *action = fixture_only(&h->f, PW_STORE_REFUSE);

        assert_true(action->token == token);
        assert_int_equal(action->status, status);
        return action;
}

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
        assert_non_null(strstr(refused(&h, ask(&h, h.ann, 17 * ROOM, 1), PW_TOO_LARGE)->text, "1.1 MiB do not fit into the 1016 KiB of host memory on h0"));
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
                cmocka_unit_test(test_grant),
                cmocka_unit_test(test_look_again),
                cmocka_unit_test(test_look_again_futures),
                cmocka_unit_test(test_look_again_when_full),
                cmocka_unit_test(test_too_large),
                cmocka_unit_test(test_invalid),
                cmocka_unit_test(test_count_overflow),
                cmocka_unit_test(test_no_slots),
                cmocka_unit_test(test_drain),
                cmocka_unit_test(test_deadline),
                cmocka_unit_test(test_nearest_deadline), cmocka_unit_test(test_many_late),
                cmocka_unit_test(test_turns),
                cmocka_unit_test(test_passed_but_not_for_ever),
                cmocka_unit_test(test_turns_of_tenants),
                cmocka_unit_test(test_requests_bounded),
                cmocka_unit_test(test_letting_go),
                cmocka_unit_test(test_system_is_short),
                cmocka_unit_test(test_own_room_comes_back),
                cmocka_unit_test(test_cancel),
                cmocka_unit_test(test_cancel_while_populating),
                cmocka_unit_test(test_idle_taken_back),
                cmocka_unit_test(test_populating_is_kept),
                cmocka_unit_test(test_populate_fails),
                cmocka_unit_test(test_lane_ends),
                cmocka_unit_test(test_session_ends_waiting),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
