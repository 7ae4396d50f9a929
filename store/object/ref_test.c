/* References: who holds what, given back once, by those who have it; what the end of a session leaves; donation. */
#include "store/fixture_test.h"

static struct pw_owner run_owner(uint64_t run) { return (struct pw_owner){ PW_OWNER_RUN, run }; }

static void test_put_and_drop(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct pw_return_reader returns;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 1024, 16);
        returns = fixture_returns(ann, &grant);
        place = fixture_put(ann, grant.first_slot + 3);
        fixture_drop(&f, ann, place);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
        assert_int_equal(fixture_returned(&returns), grant.first_slot + 3);
        assert_int_equal(fixture_returned(&returns), UINT32_MAX);
        assert_int_equal(fixture_put(ann, place.slot).generation, place.generation + 1);
        fixture_close(&f);
}

/* A second DROP finds nothing to give back, whenever it is read. */
static void test_drop_twice(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct pw_return_reader returns;
        struct place place, next;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 1024, 4);
        returns = fixture_returns(ann, &grant);
        place = fixture_put(ann, grant.first_slot);
        fixture_drop(&f, ann, place);
        fixture_drop(&f, ann, place);
        assert_true(pw_store_reclaim_begin(f.store));
        fixture_drop(&f, ann, place);
        pw_store_reclaim_finish(f.store, f.now_us);
        fixture_drop(&f, ann, place);
        fixture_reclaim(&f);
        assert_int_equal(fixture_returned(&returns), place.slot);
        next = fixture_put(ann, place.slot);
        fixture_drop(&f, ann, place);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(next), PW_ENTRY_READY);
        assert_int_equal(fixture_returned(&returns), UINT32_MAX);
        assert_int_equal(pw_store_actions(f.store)->count, 0);
        fixture_close(&f);
}

/* A DROP of a generation that has ended is none of the next one, which others know of already. */
static void test_late_drop(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct place place, next;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        other = fixture_client(&f, "ann");
        place = fixture_put(ann, fixture_grant(&f, ann, 1024, 4).first_slot);
        fixture_drop(&f, ann, place);
        fixture_reclaim(&f);
        next = fixture_put(ann, place.slot);
        fixture_ref(&f, other, next);
        fixture_drop(&f, ann, place);
        fixture_drop(&f, other, place);
        assert_int_equal(fixture_known(&f, next)->refs, 2);
        fixture_drop(&f, other, next);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(next), PW_ENTRY_READY);
        fixture_close(&f);
}

static void test_drop_by_a_stranger(void **state)
{
        struct fixture f;
        struct client *ann, *other, *bo;
        struct pw_store_grant grant;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        other = fixture_client(&f, "ann");
        bo = fixture_client(&f, "bo");
        grant = fixture_grant(&f, ann, 1024, 4);
        place = fixture_put(ann, grant.first_slot);
        fixture_drop(&f, other, place);
        fixture_known(&f, place);
        fixture_drop(&f, other, place);
        assert_false(pw_store_reclaim_begin(f.store));
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        fixture_drop(&f, bo, place); /* for another tenant it is not there */
        fixture_ref(&f, bo, place);
        place.slot += FIXTURE_SLOTS; /* whatever the cell says */
        fixture_ref(&f, bo, place);
        place.slot -= FIXTURE_SLOTS;
        assert_null(pw_store_find(f.store, bo->session, place.segment, place.slot, place.generation));
        assert_int_equal(fixture_known(&f, place)->refs, 1);
        fixture_close(&f);
}

/* A client says of its own value what only the store may say: who refers to it finds an error, and the client is ended. */
static void test_spoiled_before_ref(void **state)
{
        static const uint64_t words[] = { PW_ENTRY_CLOSING, PW_ENTRY_READY | PW_ENTRY_SHARDED | PW_ENTRY_MOVING };

        (void)state;
        for (uint32_t i = 0; i < 2 * pw_array_count(words); i++) {
                struct fixture f;
                fixture_open(&f, 64 * PW_MIB);
                struct client *ann = fixture_client(&f, "ann"), *other = fixture_client(&f, "ann");
                struct pw_store_grant grant = fixture_grant(&f, ann, 1024, 4);
                struct place place = fixture_put(ann, grant.first_slot);

                if (i % 2)
                        fixture_known(&f, place);
                atomic_store(&place.entry->word, pw_word_make(PW_ENTRY_FREE, 0, place.generation, PW_OK) | words[i / 2]);
                fixture_ref(&f, other, place);
                assert_true(pw_entry_load(place.entry) == pw_word_make(PW_ENTRY_ERROR, 0, place.generation, PW_PROTOCOL));
                assert_int_equal(fixture_only(&f, PW_STORE_END_SESSION)->number, ann->session);
                fixture_close(&f);
        }
}

static void test_records_that_cannot_be(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 1024, 4);
        place = fixture_put(ann, grant.first_slot);
        place.generation++;
        assert_int_equal(pw_store_drop(f.store, ann->session, fixture_cell(place), 0), PW_PROTOCOL); /* not yet there */
        fixture_ref(&f, ann, place); /* by somebody who was told a wrong id */
        place.slot = FIXTURE_SLOTS;
        assert_int_equal(pw_store_drop(f.store, ann->session, fixture_cell(place), 0), PW_PROTOCOL);
        assert_int_equal(pw_store_ref(f.store, ann->session, fixture_cell(place), 0), PW_PROTOCOL);
        place.slot = FIXTURE_SLOTS - 1; /* never granted */
        fixture_drop(&f, ann, place);
        fixture_ref(&f, ann, place);
        place.segment = 999; /* went with its last object */
        fixture_drop(&f, ann, place);
        fixture_ref(&f, ann, place);
        assert_null(pw_store_find(f.store, ann->session, 999, 0, 1));
        assert_null(pw_store_find(f.store, ann->session, ann->segment, FIXTURE_SLOTS, 1));
        fixture_close(&f);
}

static void test_counts_per_holder(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct pw_store_grant grant;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        other = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 1024, 4);
        place = fixture_put(ann, grant.first_slot);
        fixture_ref(&f, other, place);
        fixture_ref(&f, other, place);
        fixture_ref(&f, ann, place);
        assert_int_equal(fixture_known(&f, place)->refs, 4);
        fixture_drop(&f, ann, place);
        fixture_drop(&f, ann, place);
        fixture_drop(&f, ann, place);
        assert_int_equal(fixture_known(&f, place)->refs, 2);
        fixture_drop(&f, other, place);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        fixture_drop(&f, other, place);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
        fixture_close(&f);
}

static void test_run_holds(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct place place;
        struct pw_object *object;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 0, 4);
        place = fixture_put(ann, grant.first_slot);
        object = fixture_known(&f, place);
        for (uint64_t run = 1; run <= 3; run++) {
                assert_int_equal(pw_store_hold(f.store, object, run_owner(run), NULL), PW_OK);
                assert_int_equal(pw_store_hold(f.store, object, run_owner(run), NULL), PW_OK);
        }
        fixture_drop(&f, ann, place);
        for (uint64_t run = 3; run >= 1; run--) {
                pw_store_release(f.store, object, run_owner(run), 0);
                pw_store_release(f.store, object, run_owner(9), 0); /* holds none */
                fixture_reclaim(&f);
                assert_int_equal(fixture_state(place), PW_ENTRY_READY);
                pw_store_release(f.store, object, run_owner(run), 0);
        }
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
        fixture_close(&f);
}

/* Two clients of one tenant; the first has rooms. */
static struct pw_store_grant open_two(struct fixture *f, struct client **ret_ann, struct client **ret_other)
{
        fixture_open(f, 64 * PW_MIB);
        *ret_ann = fixture_client(f, "ann");
        *ret_other = fixture_client(f, "ann");
        return fixture_grant(f, *ret_ann, 4096, 8);
}

/* A session of a dead process ends: what others hold stays, the rest goes, and its segment goes with the last object. */
static void test_session_dies(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct pw_store_grant grant;
        struct place held, alone, pending, unsealed;

        (void)state;
        grant = open_two(&f, &ann, &other);
        held = fixture_put(ann, grant.first_slot);
        alone = fixture_put(ann, grant.first_slot + 1);
        pending = fixture_create(ann, grant.first_slot + 2);
        unsealed = fixture_create(ann, grant.first_slot + 3);
        fixture_ref(&f, other, held);
        fixture_ref(&f, other, pending);
        pw_store_session_end(f.store, ann->session, true, f.now_us);
        assert_int_equal(fixture_state(pending), PW_ENTRY_ERROR);
        assert_int_equal(pw_word_status(pw_entry_load(pending.entry)), PW_PRODUCER_LOST);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(held), PW_ENTRY_READY);
        assert_int_equal(fixture_state(pending), PW_ENTRY_ERROR);
        assert_int_equal(fixture_state(alone), PW_ENTRY_TAKEN);
        assert_int_equal(fixture_state(unsealed), PW_ENTRY_TAKEN);
        assert_int_equal(fixture_terms(&f).used, 2 * 4096);
        assert_int_equal(fixture_known(&f, held)->refs, 1);
        fixture_drop(&f, other, pending);
        fixture_reclaim(&f);
        assert_int_equal(fixture_count(&f, PW_STORE_SEGMENT_IDLE), 0);
        fixture_drop(&f, other, held);
        fixture_reclaim(&f);
        assert_int_equal(fixture_only(&f, PW_STORE_SEGMENT_IDLE)->segment, ann->segment);
        pw_store_session_dead(f.store, ann->session, f.now_us); /* said once */
        assert_int_equal(fixture_count(&f, PW_STORE_SEGMENT_IDLE), 1);
        fixture_remove(&f, ann->segment);
        assert_int_equal(fixture_terms(&f).free, 64 * PW_MIB);
        fixture_close(&f);
}

/* A session ends and its process lives: it may still write, so its rooms are let go only when it is dead. */
static void test_session_ends_process_lives(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct pw_store_grant grant;
        struct place held, alone;

        (void)state;
        grant = open_two(&f, &ann, &other);
        held = fixture_put(ann, grant.first_slot);
        alone = fixture_put(ann, grant.first_slot + 1);
        fixture_ref(&f, other, held);
        pw_store_session_end(f.store, ann->session, false, f.now_us);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(alone), PW_ENTRY_TAKEN);
        assert_int_equal(fixture_terms(&f).used, 4096);
        assert_int_equal(fixture_terms(&f).letting_go, 7 * 4096);
        fixture_drop(&f, other, held);
        fixture_reclaim(&f);
        assert_int_equal(fixture_terms(&f).letting_go, 8 * 4096);
        assert_int_equal(fixture_count(&f, PW_STORE_SEGMENT_IDLE) + fixture_count(&f, PW_STORE_PUNCH), 0);
        fixture_check(&f);
        pw_store_session_dead(f.store, ann->session, f.now_us);
        assert_int_equal(fixture_only(&f, PW_STORE_SEGMENT_IDLE)->segment, ann->segment);
        fixture_remove(&f, ann->segment);
        assert_int_equal(fixture_terms(&f).free, 64 * PW_MIB);
        fixture_close(&f);
}

/* The references that an ended session had to others' objects go too. */
static void test_session_end_gives_back(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct pw_store_grant grant;
        struct pw_return_reader returns;
        struct place place;

        (void)state;
        grant = open_two(&f, &ann, &other);
        returns = fixture_returns(ann, &grant);
        place = fixture_put(ann, grant.first_slot);
        fixture_ref(&f, other, place);
        fixture_ref(&f, other, place);
        fixture_drop(&f, ann, place);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        pw_store_session_end(f.store, other->session, false, f.now_us);
        fixture_reclaim(&f);
        assert_int_equal(fixture_returned(&returns), place.slot);
        assert_int_equal(pw_store_drop(f.store, other->session, fixture_cell(place), 0), PW_OK); /* read after its end */
        fixture_close(&f);
}

/* --- donation --------------------------------------------------------------------------------------------------------------- */

struct donated { struct fixture f; struct client *ann, *other; struct place place; struct pw_object *object; };

static void open_donated(struct donated *d)
{
        struct pw_store_grant grant;

        fixture_open(&d->f, 64 * PW_MIB);
        d->ann = fixture_client(&d->f, "ann");
        d->other = fixture_client(&d->f, "ann");
        grant = fixture_grant(&d->f, d->ann, 4096, 8);
        d->place = fixture_put(d->ann, grant.first_slot);
        d->object = fixture_known(&d->f, d->place);
}

static bool flagged(const struct donated *d) { return pw_word_flags(pw_entry_load(d->place.entry)) & PW_ENTRY_DONATED; }

static void test_donate_alone(void **state)
{
        struct donated d;
        struct pw_error err;

        (void)state;
        open_donated(&d);
        assert_int_equal(pw_store_donate(d.f.store, d.ann->session, d.object, 5, NULL), PW_OK);
        assert_true(flagged(&d));
        assert_true(pw_store_donated_alone(d.f.store, d.object));
        assert_int_equal(pw_store_hold(d.f.store, d.object, run_owner(6), &err), PW_DONATED_USE);
        assert_non_null(strstr(err.text, "given to a run"));
        assert_int_equal(fixture_name(&d.f, "ann", "weights", d.object, NULL), PW_DONATED_USE);
        assert_int_equal(pw_store_lease(d.f.store, d.object, 1, NULL), PW_DONATED_USE);
        fixture_ref(&d.f, d.other, d.place);
        assert_int_equal(d.object->refs, 1);
        assert_int_equal(pw_store_donate(d.f.store, d.ann->session, d.object, 6, &err), PW_DONATED_USE);
        fixture_drop(&d.f, d.ann, d.place); /* it has none any more */
        assert_int_equal(d.object->refs, 1);
        pw_store_release(d.f.store, d.object, run_owner(5), 0);
        fixture_reclaim(&d.f);
        assert_int_equal(fixture_state(d.place), PW_ENTRY_FREE);
        fixture_close(&d.f);
}

/* Whoever holds it too, from before or by a REF that was published before the flag was set, keeps it. */
static void test_donate_shared(void **state)
{
        for (int late = 0; late < 2; late++) {
                struct donated d;

                (void)state;
                open_donated(&d);
                if (!late)
                        fixture_ref(&d.f, d.other, d.place);
                assert_int_equal(pw_store_donate(d.f.store, d.ann->session, d.object, 5, NULL), PW_OK);
                if (late)
                        fixture_ref(&d.f, d.other, d.place);
                assert_false(pw_store_donated_alone(d.f.store, d.object));
                assert_false(flagged(&d));
                pw_store_release(d.f.store, d.object, run_owner(5), 0);
                fixture_reclaim(&d.f);
                assert_int_equal(fixture_state(d.place), PW_ENTRY_READY);
                assert_int_equal(pw_store_donate(d.f.store, d.other->session, d.object, 6, NULL), PW_OK);
                assert_true(pw_store_donated_alone(d.f.store, d.object));
                pw_store_release(d.f.store, d.object, run_owner(6), 0);
                fixture_reclaim(&d.f);
                assert_int_equal(fixture_state(d.place), PW_ENTRY_FREE);
                fixture_close(&d.f);
        }
}

static void test_donate_what_one_lacks(void **state)
{
        struct donated d;
        struct pw_error err;

        (void)state;
        open_donated(&d);
        assert_int_equal(pw_store_donate(d.f.store, d.other->session, d.object, 5, &err), PW_GONE);
        assert_non_null(strstr(err.text, "holds no reference"));
        assert_int_equal(d.object->refs, 1);
        assert_false(flagged(&d));
        fixture_close(&d.f);
}

/* Thousands hold it, runs among them, and let go in another order than they came. */
static void test_many_holders(void **state)
{
        enum { SESSIONS = 5000, RUNS = 1000, FIRST = 100 };
        struct fixture f;
        struct client *ann;
        struct place place;
        struct pw_object *object;
        struct pw_error err;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        place = fixture_put(ann, fixture_grant(&f, ann, 1024, 16).first_slot);
        object = fixture_known(&f, place);
        for (uint32_t i = 0; i < SESSIONS; i++) {
                struct pw_store_session_params params = { .session = FIRST + i, .tenant = "ann", .client = "many[1]" };

                assert_int_equal(pw_store_session_open(f.store, &params, &err), PW_OK);
                assert_int_equal(pw_store_ref(f.store, FIRST + i, fixture_cell(place), f.now_us), PW_OK);
                if (i % (SESSIONS / RUNS) == 0)
                        assert_int_equal(pw_store_hold(f.store, object, run_owner(i), &err), PW_OK);
        }
        assert_int_equal(object->refs, 1 + SESSIONS + RUNS);
        for (uint32_t i = 0; i < SESSIONS; i++) {
                uint32_t other = i * 7919 % SESSIONS;

                if (other % (SESSIONS / RUNS) == 0)
                        pw_store_release(f.store, object, run_owner(other), f.now_us);
                if (other % 2)
                        assert_int_equal(pw_store_drop(f.store, FIRST + other, fixture_cell(place), f.now_us), PW_OK);
                pw_store_session_end(f.store, FIRST + other, true, f.now_us);
        }
        assert_int_equal(object->refs, 1);
        fixture_drop(&f, ann, place);
        fixture_reclaim(&f);
        assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
        fixture_close(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_put_and_drop),
                cmocka_unit_test(test_drop_twice),
                cmocka_unit_test(test_late_drop),
                cmocka_unit_test(test_drop_by_a_stranger),
                cmocka_unit_test(test_spoiled_before_ref),
                cmocka_unit_test(test_records_that_cannot_be),
                cmocka_unit_test(test_counts_per_holder),
                cmocka_unit_test(test_run_holds),
                cmocka_unit_test(test_many_holders),
                cmocka_unit_test(test_session_dies),
                cmocka_unit_test(test_session_ends_process_lives),
                cmocka_unit_test(test_session_end_gives_back),
                cmocka_unit_test(test_donate_alone),
                cmocka_unit_test(test_donate_shared),
                cmocka_unit_test(test_donate_what_one_lacks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
