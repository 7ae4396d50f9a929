/* Leases: they hold an object for a time, and end the name that they are of. */
#include "store/name/named_test.h"

static void test_leases(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 3000, NULL), PW_OK);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 1000, NULL), PW_OK);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 2000, NULL), PW_OK);
        fixture_drop(&n.f, n.ann, n.place);
        for (uint64_t now_us = 1000; now_us <= 3000; now_us += 1000) {
                assert_true(pw_store_next_us(n.f.store) == now_us);
                pw_store_tick(n.f.store, now_us - 1);
                assert_there(&n);
                pw_store_tick(n.f.store, now_us);
        }
        assert_true(pw_store_next_us(n.f.store) == UINT64_MAX);
        assert_gone(&n);
        fixture_close(&n.f);
}

/* A name that is bound anew has the end that it was bound with last: a later one, an earlier one, none. It has one lease. */
static void test_names_bound_anew(void **state)
{
        static const struct { uint64_t first_us, then_us; } cases[] = { { 1000, 2000 }, { 2000, 1000 }, { 0, 1000 }, { 1000, 0 } };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(cases); i++) {
                uint64_t end_us = cases[i].then_us;
                struct named n;

                open_named(&n);
                assert_int_equal(name_until(&n, "weights", cases[i].first_us), PW_OK);
                assert_int_equal(name_until(&n, "weights", end_us), PW_OK);
                assert_int_equal(n.object->claims, 1 + (end_us > 0));
                assert_true(pw_store_next_us(n.f.store) == (end_us ? end_us : UINT64_MAX));
                fixture_drop(&n.f, n.ann, n.place);
                pw_store_tick(n.f.store, end_us ? end_us - 1 : 2000);
                assert_ptr_equal(named_found(&n, "weights"), n.object);
                assert_there(&n);
                if (end_us)
                        pw_store_tick(n.f.store, end_us);
                else
                        assert_int_equal(fixture_unname(&n.f, "ann", "weights", NULL), PW_OK);
                assert_null(named_found(&n, "weights"));
                assert_gone(&n);
                fixture_close(&n.f);
        }
}

/* As many claims as there may be: the end of one can be put off all the same. */
static void test_put_off_when_full(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        assert_int_equal(name_until(&n, "weights", 1000), PW_OK);
        for (uint32_t i = 2; i < PW_STORE_CLAIMS_OF_ONE_MAX; i++)
                assert_int_equal(pw_store_lease(n.f.store, n.object, 3000, NULL), PW_OK);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 3000, NULL), PW_LIMIT);
        assert_int_equal(name_until(&n, "weights", 2000), PW_OK);
        pw_store_tick(n.f.store, 1000);
        assert_ptr_equal(named_found(&n, "weights"), n.object);
        pw_store_tick(n.f.store, 2000);
        assert_null(named_found(&n, "weights"));
        fixture_close(&n.f);
}

/* A name for a time goes with its object, unless it was removed and bound anew meanwhile. */
static void test_names_that_end(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        assert_int_equal(name_until(&n, "weights", 1000), PW_OK);
        assert_int_equal(fixture_unname(&n.f, "ann", "weights", NULL), PW_OK);
        assert_int_equal(fixture_name(&n.f, "ann", "weights", n.object, NULL), PW_OK);
        pw_store_tick(n.f.store, 1000);
        assert_ptr_equal(named_found(&n, "weights"), n.object);
        assert_int_equal(name_until(&n, "weights", 2000), PW_OK);
        fixture_drop(&n.f, n.ann, n.place);
        pw_store_tick(n.f.store, 1999);
        assert_there(&n);
        pw_store_tick(n.f.store, 2000);
        assert_null(named_found(&n, "weights"));
        assert_gone(&n);
        fixture_close(&n.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_leases),
                cmocka_unit_test(test_names_bound_anew),
                cmocka_unit_test(test_put_off_when_full),
                cmocka_unit_test(test_names_that_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
