/* Futures of programs: claimed once, by whom they were granted to, decided once; cancelled when nobody holds any;
 * watched entries. */
#include "store/fixture_test.h"

#define SHARDS_MAX 2048u
union shards {
        struct pw_shard_list list;
        char space[PW_SHARD_LIST_BYTES(SHARDS_MAX)];
};

/* Lists of two shards, and of many. */
static union shards two, many;
static struct pw_decision ready = { .status = PW_OK, .list = &two.list, .bytes = 128 };
static const struct pw_decision failed = { .status = PW_FAILED, .text = "function a/b failed on device h0:1" };

struct runs { struct fixture f; struct client *ann, *other; struct pw_store_grant grant; struct pw_return_reader returns; };

static void open_runs(struct runs *r)
{
        two.list = (struct pw_shard_list){ .shard_count = 2, .dtype = PW_F32, .dims = { 2, { 4, 8 } } };
        two.list.shards[0] = (struct pw_shard_place){ 4096, 64, 70, { 5, 0 } };
        two.list.shards[1] = (struct pw_shard_place){ 8192, 64, 71, { 5, 1 } };
        many.list.shard_count = SHARDS_MAX;
        fixture_open(&r->f, 64 * PW_MIB);
        r->ann = fixture_client(&r->f, "ann");
        r->other = fixture_client(&r->f, "ann");
        r->grant = fixture_grant_futures(&r->f, r->ann, 16);
        r->returns = fixture_returns(r->ann, &r->grant);
}

static struct place result(struct runs *r, uint32_t i) { return fixture_future(&r->f, r->grant.first_slot + i); }

static struct pw_object *claim(struct runs *r, struct place place, uint64_t run)
{
        struct pw_object *object;

        assert_int_equal(pw_store_claim(r->f.store, r->ann->session, fixture_cell(place), run, place.entry, &object, NULL), PW_OK);
        return object;
}

static void test_ready(void **state)
{
        struct runs r;
        struct place place;
        struct pw_object *object;

        (void)state;
        open_runs(&r);
        place = result(&r, 0);
        object = claim(&r, place, 1);
        atomic_store(&r.f.hints->waiters[pw_hint_bucket(place.segment, place.slot)], 1);
        pw_store_decide(r.f.store, object, &ready, 0);
        assert_true(pw_entry_load(place.entry) == pw_word_make(PW_ENTRY_READY, PW_ENTRY_SHARDED, place.generation, PW_OK));
        assert_memory_equal(r.f.futures.base + place.entry->room_offset, &two, sizeof two.list + 2 * sizeof two.list.shards[0]);
        assert_int_equal(place.entry->bytes, 128);
        assert_int_equal(place.entry->dtype, PW_F32);
        assert_int_equal(place.entry->rank, 2);
        assert_int_equal(place.entry->room_segment, place.segment);
        assert_int_equal(fixture_only(&r.f, PW_STORE_WAKE)->slot, place.slot);
        pw_store_decide(r.f.store, object, &failed, 0); /* decided once */
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        fixture_drop(&r.f, r.ann, place);
        fixture_reclaim(&r.f);
        assert_ptr_equal(fixture_only(&r.f, PW_STORE_FREE_RESULT)->payload, place.entry);
        assert_int_equal(fixture_returned(&r.returns), place.slot);
        assert_int_equal(result(&r, 0).generation, place.generation + 1); /* pending again */
        fixture_close(&r.f);
}

static void test_error(void **state)
{
        struct runs r;
        struct place place;

        (void)state;
        open_runs(&r);
        place = result(&r, 3);
        pw_store_decide(r.f.store, claim(&r, place, 1), &failed, 0);
        assert_true(pw_entry_load(place.entry) == pw_word_make(PW_ENTRY_ERROR, 0, place.generation, PW_FAILED));
        assert_string_equal(r.f.futures.base + place.entry->room_offset, failed.text);
        assert_int_equal(place.entry->bytes, strlen(failed.text) + 1);
        place = result(&r, 4);
        pw_store_decide(r.f.store, claim(&r, place, 2), &(struct pw_decision){ .status = PW_CANCELLED }, 0); /* no text */
        assert_int_equal(place.entry->bytes, 0);
        assert_int_equal(place.entry->room_offset, 0);
        fixture_close(&r.f);
}

static void test_claims_refused(void **state)
{
        struct runs r;
        struct client *bo;
        struct place place, own;
        struct pw_object *object = NULL;
        struct pw_error err;

        (void)state;
        open_runs(&r);
        bo = fixture_client(&r.f, "bo");
        place = result(&r, 0);
        assert_int_equal(pw_store_claim(r.f.store, r.other->session, fixture_cell(place), 1, NULL, &object, &err), PW_PROTOCOL);
        assert_non_null(strstr(err.text, "was not granted to the session"));
        assert_int_equal(pw_store_claim(r.f.store, bo->session, fixture_cell(place), 1, NULL, &object, NULL), PW_PROTOCOL);
        claim(&r, place, 1);
        assert_int_equal(pw_store_claim(r.f.store, r.ann->session, fixture_cell(place), 2, NULL, &object, &err), PW_PROTOCOL);
        assert_non_null(strstr(err.text, "of another run already"));
        place = result(&r, 1);
        place.generation++;
        assert_int_equal(pw_store_claim(r.f.store, r.ann->session, fixture_cell(place), 2, NULL, &object, NULL), PW_PROTOCOL);
        own = fixture_create(r.ann, fixture_grant(&r.f, r.ann, 0, 4).first_slot);
        assert_int_equal(pw_store_claim(r.f.store, r.ann->session, fixture_cell(own), 2, NULL, &object, NULL), PW_PROTOCOL);
        assert_null(object);
        fixture_close(&r.f);
}

/* Granted, dropped before it was ever submitted: it serves again. Dropped and then submitted: refused. */
static void test_drop_of_unsubmitted(void **state)
{
        struct runs r;
        struct place place;
        struct pw_object *object;

        (void)state;
        open_runs(&r);
        place = result(&r, 5);
        fixture_drop(&r.f, r.ann, place);
        assert_int_equal(pw_store_claim(r.f.store, r.ann->session, fixture_cell(place), 1, NULL, &object, NULL), PW_PROTOCOL);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_returned(&r.returns), place.slot);
        assert_int_equal(result(&r, 5).generation, place.generation + 1);
        assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 0);
        fixture_close(&r.f);
}

/* A run goes on while somebody holds one of its results, whoever that is; then it is cancelled, once. */
static void test_cancelled_when_unheld(void **state)
{
        struct runs r;
        struct place places[3];
        struct pw_object *objects[3];

        (void)state;
        open_runs(&r);
        for (uint32_t i = 0; i < 3; i++)
                objects[i] = claim(&r, places[i] = result(&r, i), 7);
        fixture_drop(&r.f, r.ann, places[0]);
        fixture_ref(&r.f, r.other, places[1]);
        fixture_drop(&r.f, r.ann, places[1]);
        fixture_drop(&r.f, r.ann, places[2]);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 0);
        fixture_drop(&r.f, r.other, places[1]);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_only(&r.f, PW_STORE_CANCEL_RUN)->number, 7);
        fixture_check(&r.f);
        fixture_ref(&r.f, r.other, places[2]); /* asked again, for what is held, and for what is not */
        pw_store_scan_again(r.f.store, objects[2]);
        pw_store_scan_again(r.f.store, objects[1]);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 1);
        fixture_drop(&r.f, r.other, places[2]);
        pw_store_scan_again(r.f.store, objects[1]);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 3);
        for (uint32_t i = 0; i < 3; i++)
                pw_store_decide(r.f.store, objects[i], &failed, 0);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_count(&r.f, PW_STORE_FREE_RESULT), 3);
        assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 3);
        fixture_close(&r.f);
}

/* A result that is decided has no part in it any more: who holds it needs nothing of the others, whether it comes before or after
 * these were let go of. */
static void cancelled_but_for_the_decided(uint32_t dropped_before)
{
        struct runs r;
        struct place places[3];
        struct pw_object *objects[3];

        open_runs(&r);
        for (uint32_t i = 0; i < 3; i++)
                objects[i] = claim(&r, places[i] = result(&r, i), 7);
        for (uint32_t i = 0; i < 3; i++) {
                assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), i == 2 && dropped_before < 2);
                if (i == dropped_before)
                        pw_store_decide(r.f.store, objects[2], &ready, 0);
                if (i < 2)
                        fixture_drop(&r.f, r.ann, places[i]);
                fixture_reclaim(&r.f);
        }
        assert_int_equal(fixture_only(&r.f, PW_STORE_CANCEL_RUN)->number, 7);
        for (uint32_t i = 0; i < 2; i++)
                pw_store_decide(r.f.store, objects[i], &failed, 0);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 1);
        assert_int_equal(fixture_state(places[2]), PW_ENTRY_READY);
        fixture_close(&r.f);
}

static void test_cancelled_but_for_the_decided(void **state)
{
        (void)state;
        for (uint32_t dropped_before = 0; dropped_before < 3; dropped_before++)
                cancelled_but_for_the_decided(dropped_before);
}

/* Whose run a slot waits for, from its grant until that is read. */
static void test_unclaimed(void **state)
{
        struct runs r;
        struct place place, own, beyond, before;

        (void)state;
        open_runs(&r);
        place = beyond = before = result(&r, 0);
        assert_int_equal(pw_store_unclaimed(r.f.store, fixture_cell(place)), r.ann->session);
        beyond.slot = FIXTURE_SLOTS;
        before.generation--;
        own = fixture_create(r.ann, fixture_grant(&r.f, r.ann, 0, 4).first_slot);
        assert_int_equal(pw_store_unclaimed(r.f.store, fixture_cell(beyond)), 0);
        assert_int_equal(pw_store_unclaimed(r.f.store, fixture_cell(before)), 0);
        assert_int_equal(pw_store_unclaimed(r.f.store, fixture_cell(own)), 0);
        beyond.segment = 999;
        assert_int_equal(pw_store_unclaimed(r.f.store, fixture_cell(beyond)), 0);
        claim(&r, place, 1);
        assert_int_equal(pw_store_unclaimed(r.f.store, fixture_cell(place)), 0);
        fixture_close(&r.f);
}

/* A REF that is read in the scan comes in time; so does the decision. */
static void test_kept_in_the_scan(void **state)
{
        for (int how = 0; how < 3; how++) {
                struct runs r;
                struct place place, before;
                struct pw_object *object;

                (void)state;
                open_runs(&r);
                before = result(&r, 1); /* so that the next body is not the first of the arena */
                pw_store_decide(r.f.store, claim(&r, before, 6), &ready, 0);
                place = result(&r, 0);
                object = claim(&r, place, 7);
                fixture_drop(&r.f, r.ann, place);
                assert_true(pw_store_reclaim_begin(r.f.store));
                if (how == 0)
                        fixture_ref(&r.f, r.other, place);
                else
                        pw_store_decide(r.f.store, object, how == 1 ? &ready : &failed, 0);
                if (how == 2)
                        pw_store_reclaim_begin(r.f.store);
                pw_store_reclaim_finish(r.f.store, 0);
                assert_int_equal(fixture_count(&r.f, PW_STORE_CANCEL_RUN), 0);
                fixture_check(&r.f);
                if (how == 0) {
                        assert_int_equal(fixture_state(place), PW_ENTRY_PENDING);
                        assert_int_equal(object->refs, 1);
                } else {
                        fixture_reclaim(&r.f);
                        assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
                        assert_int_equal(fixture_count(&r.f, PW_STORE_FREE_RESULT), 1);
                }
                fixture_close(&r.f);
        }
}

/* The session ends: what was never submitted becomes an error for who waits for it, a run that nobody else holds is cancelled. */
static void test_session_end(void **state)
{
        for (int dead = 0; dead < 2; dead++) {
                struct runs r;
                struct place idle, shared, run_alone, run_shared;
                struct pw_object *alone, *kept;

                (void)state;
                open_runs(&r);
                idle = result(&r, 0);
                shared = result(&r, 1);
                run_alone = result(&r, 2);
                run_shared = result(&r, 3);
                alone = claim(&r, run_alone, 8);
                kept = claim(&r, run_shared, 9);
                fixture_ref(&r.f, r.other, shared);
                fixture_ref(&r.f, r.other, run_shared);
                pw_store_session_end(r.f.store, r.ann->session, dead, 0);
                assert_true(pw_entry_load(shared.entry) == pw_word_make(PW_ENTRY_ERROR, 0, shared.generation, PW_PRODUCER_LOST));
                fixture_reclaim(&r.f);
                assert_int_equal(fixture_only(&r.f, PW_STORE_CANCEL_RUN)->number, 8);
                assert_int_not_equal(fixture_state(idle), PW_ENTRY_PENDING);
                fixture_check(&r.f);
                pw_store_decide(r.f.store, alone, &failed, 0);
                pw_store_decide(r.f.store, kept, &ready, 0);
                fixture_reclaim(&r.f);
                assert_int_equal(fixture_state(run_shared), PW_ENTRY_READY);
                fixture_drop(&r.f, r.other, run_shared);
                fixture_drop(&r.f, r.other, shared);
                fixture_reclaim(&r.f);
                assert_int_equal(fixture_count(&r.f, PW_STORE_FREE_RESULT), 2);
                fixture_clear(&r.f);
                fixture_grant_futures(&r.f, r.other, FIXTURE_SLOTS); /* every slot serves again */
                fixture_close(&r.f);
        }
}

/* The arena of shard lists is full: the result becomes an error, with its reason while there is room for that, and the arena
 * serves again when objects have gone. */
static void test_arena_full(void **state)
{
        struct pw_decision decision = { .status = PW_OK, .list = &many.list, .bytes = 1 };
        struct place places[16];
        uint32_t ready_count = 0;
        struct runs r;

        (void)state;
        open_runs(&r);
        for (int round = 0; round < 3; round++, ready_count = 0) {
                for (uint32_t i = 0; i < 16; i++) {
                        places[i] = result(&r, i);
                        pw_store_decide(r.f.store, claim(&r, places[i], 1 + i), &decision, 0);
                        ready_count += fixture_state(places[i]) == PW_ENTRY_READY;
                }
                assert_int_equal(ready_count,
                                 FIXTURE_LISTS_BYTES / pw_round_up(PW_SHARD_LIST_BYTES(SHARDS_MAX), 64));
                assert_int_equal(pw_word_status(pw_entry_load(places[ready_count].entry)), PW_NO_SPACE);
                assert_non_null(strstr((char *)r.f.futures.base + places[ready_count].entry->room_offset,
                                       "no space for its list of shards"));
                for (uint32_t i = 0; i < 16; i++)
                        fixture_drop(&r.f, r.ann, places[i]);
                fixture_reclaim(&r.f);
        }
        fixture_close(&r.f);
}

static void test_lost(void **state)
{
        struct runs r;
        struct place place, pending;

        (void)state;
        open_runs(&r);
        place = result(&r, 0);
        pending = result(&r, 1);
        pw_store_decide(r.f.store, claim(&r, place, 1), &ready, 0);
        pw_store_lose(r.f.store, fixture_known(&r.f, place), PW_DEVICE_LOST, "device h0:1 was lost: SIGKILL", 0);
        pw_store_lose(r.f.store, claim(&r, pending, 2), PW_DEVICE_LOST, "device h0:1 was lost: SIGKILL", 0);
        assert_string_equal(r.f.futures.base + place.entry->body.loss.offset, "device h0:1 was lost: SIGKILL");
        assert_int_equal(place.entry->body.loss.bytes, strlen("device h0:1 was lost: SIGKILL") + 1);
        assert_memory_equal(r.f.futures.base + place.entry->room_offset, &two, sizeof two.list); /* somebody may be reading it */
        fixture_check(&r.f);
        assert_true(pw_entry_load(place.entry) == pw_word_make(PW_ENTRY_LOST, PW_ENTRY_SHARDED, place.generation, PW_DEVICE_LOST));
        assert_int_equal(fixture_state(pending), PW_ENTRY_PENDING);
        pw_store_lose(r.f.store, fixture_known(&r.f, place), PW_DEVICE_LOST, "again", 0);
        fixture_drop(&r.f, r.ann, place);
        fixture_reclaim(&r.f);
        assert_int_equal(fixture_count(&r.f, PW_STORE_FREE_RESULT), 1);
        assert_int_equal(place.entry->body.loss.bytes, 0);
        fixture_close(&r.f);
}

/* A loss that is found while the value closes: who reopens it sees what is lost. */
static void test_lost_in_the_scan(void **state)
{
        for (int closing = 0; closing < 2; closing++) {
                struct runs r;
                struct place place;
                const struct pw_shard_list *list;
                _Atomic uint64_t second = 2;

                (void)state;
                open_runs(&r);
                place = result(&r, 0);
                pw_store_decide(r.f.store, claim(&r, place, 1), &ready, 0);
                list = (const void *)(r.f.futures.base + place.entry->room_offset);
                if (closing) {
                        fixture_drop(&r.f, r.ann, place);
                        assert_true(pw_store_reclaim_begin(r.f.store));
                        assert_int_equal(fixture_state(place), PW_ENTRY_CLOSING);
                }
                pw_store_lose_shards(r.f.store, fixture_known(&r.f, place), &second);
                if (closing) {
                        fixture_ref(&r.f, r.other, place);
                        pw_store_reclaim_finish(r.f.store, 0);
                }
                assert_int_equal(fixture_state(place), PW_ENTRY_READY);
                assert_int_equal(*pw_shard_list_lost(list), 2);
                assert_int_equal(list->losses, 1);
                fixture_drop(&r.f, closing ? r.other : r.ann, place);
                fixture_reclaim(&r.f);
                fixture_close(&r.f);
        }
}

/* --- watched entries -------------------------------------------------------------------------------------------------------- */

static void test_watch(void **state)
{
        struct runs r;
        struct place first, second;
        uint32_t slot;
        uint64_t old = 0;

        (void)state;
        open_runs(&r);
        slot = fixture_grant(&r.f, r.ann, 0, 4).first_slot;
        first = fixture_create(r.ann, slot);
        second = fixture_create(r.ann, slot + 1);
        assert_false(pw_store_watch(r.f.store, fixture_known(&r.f, first)));
        assert_false(pw_store_watch(r.f.store, fixture_known(&r.f, first)));
        assert_false(pw_store_watch(r.f.store, fixture_known(&r.f, second)));
        pw_store_rung(r.f.store, r.ann->session, 0); /* for something else */
        assert_int_equal(fixture_count(&r.f, PW_STORE_READY), 0);
        assert_true(pw_entry_decide(first.entry, first.generation, PW_OK, 0, UINT32_MAX, &old));
        assert_true(pw_word_flags(old) & PW_ENTRY_RING);
        pw_store_rung(r.f.store, r.other->session, 0); /* not its entries */
        assert_int_equal(fixture_count(&r.f, PW_STORE_READY), 0);
        pw_store_rung(r.f.store, r.ann->session, 0);
        pw_store_rung(r.f.store, r.ann->session, 0);
        assert_ptr_equal(fixture_only(&r.f, PW_STORE_READY)->object, fixture_known(&r.f, first));
        assert_true(pw_store_watch(r.f.store, fixture_known(&r.f, first)));
        fixture_clear(&r.f);
        assert_int_equal(pw_store_hold(r.f.store, fixture_known(&r.f, second), (struct pw_owner){ PW_OWNER_RUN, 1 }, NULL), PW_OK);
        pw_store_session_end(r.f.store, r.ann->session, true, 0); /* decides it */
        assert_ptr_equal(fixture_only(&r.f, PW_STORE_READY)->object, fixture_known(&r.f, second));
        assert_int_equal(pw_word_status(pw_entry_load(second.entry)), PW_PRODUCER_LOST);
        fixture_close(&r.f);
}

#define WATCHED 600u

/* More than are looked at when somebody rings, decided in any order, with rings at any time of the scan: once that is over, each
 * that was decided before the last ring is told of, once. */
static void test_watch_many(void **state)
{
        struct place places[WATCHED];
        uint32_t slot, decided = 0, over = 0;
        uint64_t seed = 1, old = 0;
        struct runs r;

        (void)state;
        open_runs(&r);
        slot = fixture_grant(&r.f, r.ann, 0, WATCHED).first_slot;
        for (uint32_t i = 0; i < WATCHED; i++) {
                places[i] = fixture_create(r.ann, slot + i);
                assert_false(pw_store_watch(r.f.store, fixture_known(&r.f, places[i])));
        }
        while (decided < WATCHED) {
                uint32_t next = (uint32_t)((seed = seed * UINT64_C(6364136223846793005) + 1) >> 33);
                struct place *place = &places[next % (WATCHED - decided)];
                assert_true(pw_entry_decide(place->entry, place->generation, PW_OK, 0, UINT32_MAX, &old));
                assert_true(pw_word_flags(old) & PW_ENTRY_RING);
                *place = places[WATCHED - ++decided];
                pw_store_rung(r.f.store, r.ann->session, 0);
                if (next >> 16 & 3)
                        continue;
                do
                        fixture_reclaim(&r.f);
                while (pw_store_reclaims(r.f.store));
                assert_int_equal(fixture_count(&r.f, PW_STORE_READY), decided);
                over++;
        }
        assert_true(over > 50);
        fixture_close(&r.f);
}

/* A watched future of a program is the store's own to decide. */
static void test_watch_future(void **state)
{
        struct runs r;
        struct place place;

        (void)state;
        open_runs(&r);
        place = result(&r, 0);
        assert_false(pw_store_watch(r.f.store, claim(&r, place, 1)));
        pw_store_decide(r.f.store, fixture_known(&r.f, place), &ready, 0);
        assert_ptr_equal(fixture_only(&r.f, PW_STORE_READY)->object, fixture_known(&r.f, place));
        fixture_close(&r.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ready),
                cmocka_unit_test(test_error),
                cmocka_unit_test(test_claims_refused),
                cmocka_unit_test(test_drop_of_unsubmitted),
                cmocka_unit_test(test_cancelled_when_unheld),
                cmocka_unit_test(test_cancelled_but_for_the_decided),
                cmocka_unit_test(test_unclaimed),
                cmocka_unit_test(test_kept_in_the_scan),
                cmocka_unit_test(test_session_end),
                cmocka_unit_test(test_arena_full),
                cmocka_unit_test(test_lost), cmocka_unit_test(test_lost_in_the_scan),
                cmocka_unit_test(test_watch), cmocka_unit_test(test_watch_many),
                cmocka_unit_test(test_watch_future),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
