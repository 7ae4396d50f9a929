/* The end of an object: CLOSING, the scan, freed or reopened, with whatever comes in between; words that a client spoils. */
#include "store/fixture_test.h"

struct one { struct fixture f; struct client *ann,
             *other; struct pw_store_grant grant; struct pw_return_reader returns; struct place place; };

static void open_one(struct one *o)
{
        fixture_open(&o->f, 64 * PW_MIB);
        o->ann = fixture_client(&o->f, "ann");
        o->other = fixture_client(&o->f, "ann");
        o->grant = fixture_grant(&o->f, o->ann, 1024, 4);
        o->returns = fixture_returns(o->ann, &o->grant);
        o->place = fixture_put(o->ann, o->grant.first_slot);
}

static void assert_freed(struct one *o)
{
        assert_int_equal(fixture_state(o->place), PW_ENTRY_FREE);
        assert_int_equal(fixture_returned(&o->returns), o->place.slot);
        assert_int_equal(fixture_returned(&o->returns), UINT32_MAX);
}

static void test_ref_before_begin(void **state)
{
        struct one o;

        (void)state;
        open_one(&o);
        fixture_drop(&o.f, o.ann, o.place);
        fixture_ref(&o.f, o.other, o.place);
        fixture_reclaim(&o.f);
        assert_int_equal(fixture_state(o.place), PW_ENTRY_READY);
        fixture_drop(&o.f, o.other, o.place);
        fixture_reclaim(&o.f);
        assert_freed(&o);
        fixture_close(&o.f);
}

/* Its REF is read in the scan: the object is open again at once, and who waits for its word is woken. */
static void test_ref_in_the_scan(void **state)
{
        struct one o;

        (void)state;
        open_one(&o);
        fixture_drop(&o.f, o.ann, o.place);
        assert_true(pw_store_reclaim_begin(o.f.store));
        assert_int_equal(fixture_state(o.place), PW_ENTRY_CLOSING);
        atomic_store(&o.f.hints->waiters[pw_hint_bucket(o.place.segment, o.place.slot)], 1);
        fixture_ref(&o.f, o.other, o.place);
        pw_store_reclaim_finish(o.f.store, o.f.now_us);
        assert_int_equal(fixture_state(o.place), PW_ENTRY_READY);
        assert_int_equal(fixture_only(&o.f, PW_STORE_WAKE)->slot, o.place.slot);
        assert_int_equal(fixture_returned(&o.returns), UINT32_MAX);
        fixture_drop(&o.f, o.other, o.place);
        fixture_reclaim(&o.f);
        assert_freed(&o);
        fixture_close(&o.f);
}

static void test_ref_after_finish(void **state)
{
        struct one o;
        struct place next;

        (void)state;
        open_one(&o);
        fixture_drop(&o.f, o.ann, o.place);
        fixture_reclaim(&o.f);
        assert_freed(&o);
        fixture_ref(&o.f, o.other, o.place);
        assert_null(pw_store_find(o.f.store, 0, o.place.segment, o.place.slot, o.place.generation));
        next = fixture_put(o.ann, o.place.slot);
        fixture_ref(&o.f, o.other, o.place);
        assert_int_equal(fixture_known(&o.f, next)->refs, 1);
        fixture_close(&o.f);
}

static void test_ref_and_drop_in_the_scan(void **state)
{
        struct one o;

        (void)state;
        open_one(&o);
        fixture_drop(&o.f, o.ann, o.place);
        assert_true(pw_store_reclaim_begin(o.f.store));
        fixture_ref(&o.f, o.other, o.place);
        fixture_drop(&o.f, o.other, o.place);
        pw_store_reclaim_finish(o.f.store, o.f.now_us);
        assert_int_equal(fixture_state(o.place), PW_ENTRY_READY);
        fixture_reclaim(&o.f);
        assert_freed(&o);
        fixture_close(&o.f);
}

/* Beginning again before the scan has ended closes what was dropped since, and frees nothing twice. */
static void test_begin_twice(void **state)
{
        struct one o;
        struct place second;

        (void)state;
        open_one(&o);
        second = fixture_put(o.ann, o.place.slot + 1);
        fixture_drop(&o.f, o.ann, o.place);
        assert_true(pw_store_reclaim_begin(o.f.store));
        fixture_ref(&o.f, o.other, o.place);
        fixture_drop(&o.f, o.other, o.place);
        fixture_drop(&o.f, o.ann, second);
        assert_true(pw_store_reclaim_begin(o.f.store));
        assert_int_equal(fixture_state(second), PW_ENTRY_CLOSING);
        pw_store_reclaim_finish(o.f.store, o.f.now_us);
        assert_int_equal(fixture_state(second), PW_ENTRY_FREE);
        assert_int_equal(fixture_returned(&o.returns) + fixture_returned(&o.returns), o.place.slot + second.slot);
        assert_int_equal(fixture_returned(&o.returns), UINT32_MAX);
        assert_false(pw_store_reclaim_begin(o.f.store));
        fixture_close(&o.f);
}

/* An error stays an error, also when it was nearly gone. */
static void test_reopens_as_before(void **state)
{
        struct one o;
        struct place failed;

        (void)state;
        open_one(&o);
        failed = fixture_create(o.ann, o.place.slot + 1);
        fixture_seal(failed, PW_FAILED);
        fixture_drop(&o.f, o.ann, failed);
        assert_true(pw_store_reclaim_begin(o.f.store));
        fixture_ref(&o.f, o.other, failed);
        pw_store_reclaim_finish(o.f.store, o.f.now_us);
        assert_true(pw_entry_load(failed.entry) == pw_word_make(PW_ENTRY_ERROR, 0, failed.generation, PW_FAILED));
        fixture_close(&o.f);
}

/* Its memory is lost while it is closing: who gets it after all reads so. */
static void test_lost_in_the_scan(void **state)
{
        struct one o;

        (void)state;
        open_one(&o);
        fixture_drop(&o.f, o.ann, o.place);
        assert_true(pw_store_reclaim_begin(o.f.store));
        pw_store_lose(o.f.store, fixture_known(&o.f, o.place), PW_DEVICE_LOST, NULL, 0);
        fixture_ref(&o.f, o.other, o.place);
        pw_store_reclaim_finish(o.f.store, o.f.now_us);
        assert_true(pw_entry_load(o.place.entry) == pw_word_make(PW_ENTRY_LOST, 0, o.place.generation, PW_DEVICE_LOST));
        fixture_drop(&o.f, o.other, o.place);
        fixture_reclaim(&o.f);
        assert_freed(&o);
        fixture_close(&o.f);
}

/* Given back without being sealed: nobody else could have decided it. */
static void test_drop_of_pending(void **state)
{
        struct one o;
        struct place pending;

        (void)state;
        open_one(&o);
        pending = fixture_create(o.ann, o.place.slot + 1);
        fixture_drop(&o.f, o.ann, pending);
        assert_true(pw_store_reclaim_begin(o.f.store));
        assert_int_equal(pw_word_status(pw_entry_load(pending.entry)), PW_CANCELLED);
        pw_store_reclaim_finish(o.f.store, o.f.now_us);
        assert_int_equal(fixture_state(pending), PW_ENTRY_FREE);
        assert_int_equal(fixture_returned(&o.returns), pending.slot);
        fixture_close(&o.f);
}

/* The session ends between begin and finish: the slot is not given back to a ring that is no more. */
static void test_session_ends_in_the_scan(void **state)
{
        for (int dead = 0; dead < 2; dead++) {
                struct one o;

                (void)state;
                open_one(&o);
                fixture_drop(&o.f, o.ann, o.place);
                assert_true(pw_store_reclaim_begin(o.f.store));
                pw_store_session_end(o.f.store, o.ann->session, dead, o.f.now_us);
                memset(o.ann->control, 0xee, PW_CONTROL_RINGS_OFFSET + 4096);
                pw_store_reclaim_finish(o.f.store, o.f.now_us);
                assert_int_equal(fixture_state(o.place), PW_ENTRY_TAKEN);
                assert_int_equal(o.ann->control[o.grant.return_ring], 0xee);
                if (!dead)
                        pw_store_session_dead(o.f.store, o.ann->session, o.f.now_us);
                fixture_remove(&o.f, fixture_only(&o.f, PW_STORE_SEGMENT_IDLE)->segment);
                fixture_close(&o.f);
        }
}

/* A client that writes over the words of its own entries loses its session, nobody else anything. */
static void test_spoiled_words(void **state)
{
        static const uint64_t words[] = { 0, UINT64_MAX, 0x102, 0x103, 0x106, 0x206, 0x203 };

        for (uint32_t when = 0; when < 3; when++) {
                for (uint32_t i = 0; i < pw_array_count(words); i++) {
                        struct one o;
                        uint64_t begun;

                        (void)state;
                        open_one(&o);
                        if (when == 0)
                                atomic_store(&o.place.entry->word, words[i]);
                        (void)!pw_store_drop(o.f.store, o.ann->session, fixture_cell(o.place), 0);
                        if (when == 1)
                                atomic_store(&o.place.entry->word, words[i]);
                        begun = pw_store_reclaim_begin(o.f.store);
                        if (when == 2)
                                atomic_store(&o.place.entry->word, words[i]);
                        if (begun)
                                pw_store_reclaim_finish(o.f.store, 0);
                        assert_true(fixture_count(&o.f, PW_STORE_END_SESSION) <= 1);
                        if (when == 2 && words[i] != 0x106)
                                assert_int_equal(fixture_only(&o.f, PW_STORE_END_SESSION)->number, o.ann->session);
                        pw_store_session_end(o.f.store, o.ann->session, true, 0);
                        fixture_reclaim(&o.f);
                        fixture_remove(&o.f, fixture_only(&o.f, PW_STORE_SEGMENT_IDLE)->segment);
                        assert_int_equal(fixture_terms(&o.f).free, 64 * PW_MIB);
                        fixture_close(&o.f);
                }
        }
}

/* A slot whose generations are used up serves no more; its neighbours do. */
static void test_worn_slot(void **state)
{
        struct one o;
        struct place last;

        (void)state;
        open_one(&o);
        atomic_store(&pw_map_entry(&o.ann->map, o.grant.first_slot + 1)->word,
                     pw_word_make(PW_ENTRY_FREE, 0, UINT32_MAX - 1, PW_OK));
        last = fixture_put(o.ann, o.grant.first_slot + 1);
        assert_int_equal(last.generation, UINT32_MAX);
        fixture_drop(&o.f, o.ann, last);
        fixture_reclaim(&o.f);
        assert_int_equal(fixture_state(last), PW_ENTRY_TAKEN);
        assert_int_equal(fixture_returned(&o.returns), UINT32_MAX);
        fixture_drop(&o.f, o.ann, o.place);
        fixture_reclaim(&o.f);
        assert_freed(&o);
        fixture_close(&o.f);
}

static void test_wakes_only_waiters(void **state)
{
        struct one o;

        (void)state;
        open_one(&o);
        fixture_drop(&o.f, o.ann, o.place);
        fixture_reclaim(&o.f);
        assert_int_equal(fixture_count(&o.f, PW_STORE_WAKE), 0);
        atomic_store(&o.f.hints->waiters[pw_hint_bucket(o.place.segment, o.place.slot)], 1);
        o.place = fixture_put(o.ann, o.place.slot);
        fixture_drop(&o.f, o.ann, o.place);
        fixture_reclaim(&o.f);
        assert_int_equal(fixture_only(&o.f, PW_STORE_WAKE)->segment, o.place.segment);
        fixture_close(&o.f);
}

/* Very much that one tenant let go of: what another one lets go of meanwhile does not come behind it. */
static void test_tenants_take_turns(void **state)
{
        struct one o;
        struct pw_store_grant grant;
        struct client *bo;
        struct place place;

        (void)state;
        open_one(&o);
        bo = fixture_client(&o.f, "bo");
        grant = fixture_grant(&o.f, bo, 1024, 1);
        place = fixture_put(bo, grant.first_slot);
        fixture_drop(&o.f, o.ann, o.place);
        for (uint32_t i = 0; i < 4; i++) {
                grant = fixture_grant(&o.f, o.ann, 64, 1000);
                for (uint32_t j = 0; j < grant.slot_count; j++)
                        fixture_drop(&o.f, o.ann, fixture_put(o.ann, grant.first_slot + j));
        }
        fixture_drop(&o.f, bo, place);
        assert_true(pw_store_reclaim_begin(o.f.store));
        assert_true(pw_store_reclaim_finish(o.f.store, o.f.now_us)); /* of the first one's there is more */
        assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
        assert_false(pw_store_reclaims_of(o.f.store, "bo"));
        assert_true(pw_store_reclaims_of(o.f.store, "ann"));
        while (pw_store_reclaims(o.f.store))
                fixture_reclaim(&o.f);
        assert_false(pw_store_reclaims_of(o.f.store, "ann"));
        fixture_close(&o.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ref_before_begin),
                cmocka_unit_test(test_ref_in_the_scan),
                cmocka_unit_test(test_ref_after_finish),
                cmocka_unit_test(test_ref_and_drop_in_the_scan),
                cmocka_unit_test(test_begin_twice),
                cmocka_unit_test(test_reopens_as_before),
                cmocka_unit_test(test_lost_in_the_scan),
                cmocka_unit_test(test_drop_of_pending),
                cmocka_unit_test(test_session_ends_in_the_scan),
                cmocka_unit_test(test_spoiled_words),
                cmocka_unit_test(test_worn_slot),
                cmocka_unit_test(test_wakes_only_waiters),
                cmocka_unit_test(test_tenants_take_turns),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
