/* Whose rings are read before something is freed: its grantee's, and those of who asked for its segment. Nobody else's. */
#include "store/fixture_test.h"

/* The sessions of the next scan, as one number: a decimal digit each, in the order of their numbers. */
static uint32_t look(struct fixture *f)
{
        uint32_t count, digits = 0;
        const uint32_t *sessions = pw_store_scan(f->store, &count);

        for (uint32_t number = 1; number <= FIXTURE_CLIENTS; number++)
                for (uint32_t i = 0; i < count; i++)
                        if (sessions[i] == number)
                                digits = digits * 10 + number;
        return digits;
}

static uint32_t reclaim(struct fixture *f)
{
        uint32_t digits;

        assert_true(pw_store_reclaim_begin(f->store));
        digits = look(f);
        pw_store_reclaim_finish(f->store, f->now_us);
        fixture_clear(f);
        return digits;
}

/* Ann's rings have more than is read at once: hers waits, as does what she drops meanwhile, and what bob drops does not. */
static void test_part_of_a_tenant(void **state)
{
        struct fixture f;
        struct client *ann, *bob;
        struct place mine, next, again, other;
        struct pw_store_grant first, second;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        bob = fixture_client(&f, "bob");
        first = fixture_grant(&f, ann, 1024, 8);
        second = fixture_grant(&f, bob, 1024, 8);
        mine = fixture_put(ann, first.first_slot);
        next = fixture_put(ann, first.first_slot + 1);
        again = fixture_put(ann, first.first_slot + 2);
        other = fixture_put(bob, second.first_slot);
        fixture_drop(&f, ann, mine);
        fixture_drop(&f, ann, again);
        fixture_drop(&f, bob, other);
        assert_true(pw_store_reclaim_begin(f.store));
        assert_int_equal(look(&f), 12);
        pw_store_scan_partial(f.store, ann->session);
        assert_true(pw_store_reclaim_finish(f.store, f.now_us)); /* there is more */
        assert_int_equal(fixture_state(mine), PW_ENTRY_CLOSING);
        assert_int_not_equal(fixture_state(other), PW_ENTRY_CLOSING);
        fixture_drop(&f, ann, next);
        assert_int_equal(reclaim(&f), 0);
        assert_int_equal(fixture_state(next), PW_ENTRY_READY);
        assert_true(pw_store_reclaims_of(f.store, "ann"));
        assert_false(pw_store_reclaims_of(f.store, "bob"));
        fixture_ref(&f, ann, again); /* a record that the scan comes to */
        assert_int_equal(fixture_state(again), PW_ENTRY_READY);
        fixture_drop(&f, ann, again);
        pw_store_scan_whole(f.store, "ann", f.now_us);
        assert_int_not_equal(fixture_state(mine), PW_ENTRY_CLOSING);
        assert_int_equal(fixture_state(again), PW_ENTRY_READY);
        assert_int_equal(reclaim(&f), 1);
        assert_int_not_equal(fixture_state(next), PW_ENTRY_READY);
        assert_int_not_equal(fixture_state(again), PW_ENTRY_READY);
        assert_false(pw_store_reclaims(f.store));
        fixture_close(&f);
}

static void reads(struct fixture *f, const struct client *client, uint32_t segment)
{
        struct pw_error err;

        assert_int_equal(pw_store_reader_add(f->store, segment, client->session, &err), PW_OK);
}

static void test_own_segment(void **state)
{
        struct fixture f;
        struct client *one, *two;
        struct pw_store_grant first, second;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        one = fixture_client(&f, "ann");
        two = fixture_client(&f, "ann");
        fixture_client(&f, "ann");
        first = fixture_grant(&f, one, 1024, 8);
        second = fixture_grant(&f, two, 1024, 8);
        for (uint32_t i = 0; i < 3; i++)
                fixture_drop(&f, one, fixture_put(one, first.first_slot + i));
        assert_int_equal(reclaim(&f), 1);
        assert_int_equal(look(&f), 0);
        fixture_drop(&f, one, fixture_put(one, first.first_slot + 3));
        fixture_drop(&f, two, fixture_put(two, second.first_slot));
        assert_int_equal(reclaim(&f), 12);
        fixture_close(&f);
}

static void test_readers(void **state)
{
        struct fixture f;
        struct client *one, *two, *three, *stranger, *root;
        struct pw_store_grant grant;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        one = fixture_client(&f, "ann");
        two = fixture_client(&f, "ann");
        three = fixture_client(&f, "ann");
        stranger = fixture_client(&f, "bo");
        root = fixture_operator(&f, "root");
        grant = fixture_grant(&f, one, 1024, 8);
        reads(&f, two, one->segment);
        reads(&f, two, one->segment);
        reads(&f, three, one->segment);
        reads(&f, stranger, one->segment); /* of another tenant: it can refer to nothing there */
        fixture_drop(&f, one, fixture_put(one, grant.first_slot));
        fixture_drop(&f, one, fixture_put(one, grant.first_slot + 1));
        assert_int_equal(reclaim(&f), 123);
        pw_store_session_end(f.store, two->session, true, f.now_us);
        fixture_drop(&f, one, fixture_put(one, grant.first_slot + 2));
        assert_int_equal(reclaim(&f), 13);
        reads(&f, root, one->segment); /* an operator can */
        fixture_drop(&f, one, fixture_put(one, grant.first_slot + 3));
        assert_int_equal(reclaim(&f), 135);
        fixture_close(&f);
}

/* The owner of a value ended, somebody else holds it: who reads its segment may still refer to it. */
static void test_grantee_ended(void **state)
{
        struct fixture f;
        struct client *one, *two;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        one = fixture_client(&f, "ann");
        two = fixture_client(&f, "ann");
        reads(&f, two, one->segment);
        place = fixture_put(one, fixture_grant(&f, one, 1024, 8).first_slot);
        fixture_ref(&f, two, place);
        pw_store_session_end(f.store, one->session, false, f.now_us);
        fixture_drop(&f, two, place);
        assert_int_equal(reclaim(&f), 2);
        fixture_close(&f);
}

static void test_futures(void **state)
{
        struct fixture f;
        struct client *one, *two;
        struct pw_store_grant grant;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        one = fixture_client(&f, "ann");
        two = fixture_client(&f, "ann");
        fixture_client(&f, "ann");
        grant = fixture_grant_futures(&f, one, 4);
        fixture_drop(&f, one, fixture_future(&f, grant.first_slot));
        assert_int_equal(reclaim(&f), 1);
        reads(&f, two, FIXTURE_FUTURES);
        fixture_drop(&f, one, fixture_future(&f, grant.first_slot + 1));
        assert_int_equal(reclaim(&f), 12);
        fixture_close(&f);
}

/* Whether a donated value is its run's alone is known after a scan at who may refer to it. */
static void test_donated(void **state)
{
        struct fixture f;
        struct client *one, *two;
        struct pw_error err;
        struct place place;
        struct pw_object *object;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        one = fixture_client(&f, "ann");
        two = fixture_client(&f, "ann");
        reads(&f, two, one->segment);
        place = fixture_put(one, fixture_grant(&f, one, 1024, 8).first_slot);
        object = fixture_known(&f, place);
        assert_int_equal(pw_store_donate(f.store, one->session, object, 7, &err), PW_OK);
        assert_int_equal(look(&f), 12);
        assert_true(pw_store_donated_alone(f.store, object));
        pw_store_release(f.store, object, (struct pw_owner){ PW_OWNER_RUN, 7 }, f.now_us);
        assert_int_equal(reclaim(&f), 12);
        fixture_close(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_own_segment),
                cmocka_unit_test(test_part_of_a_tenant),
                cmocka_unit_test(test_readers),
                cmocka_unit_test(test_grantee_ended),
                cmocka_unit_test(test_futures),
                cmocka_unit_test(test_donated),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
