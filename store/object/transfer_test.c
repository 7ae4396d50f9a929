/* Whom an object is charged to: its grantee, whoever it was transferred to, the oldest holder. */
#include "store/fixture_test.h"

struct host { struct fixture f; struct client *ann, *second, *third, *bo; struct place place; struct pw_object *object; };

static void open_host(struct host *h)
{
        fixture_open(&h->f, 64 * PW_MIB);
        h->ann = fixture_client(&h->f, "ann");
        h->second = fixture_client(&h->f, "ann");
        h->third = fixture_client(&h->f, "ann");
        h->bo = fixture_client(&h->f, "bo");
        h->place = fixture_put(h->ann, fixture_grant(&h->f, h->ann, 4096, 4).first_slot);
        h->object = fixture_known(&h->f, h->place);
}

static bool find_charge(void *context, const struct pw_object_row *row)
{
        *(struct pw_charge *)context = row->charge;
        return false;
}

static void charged(struct host *h, const char *who)
{
        struct pw_charge charge = { 0 };
        char text[80], holders[200];

        pw_store_each_object(h->f.store, find_charge, &charge);
        assert_string_equal(pw_store_charge_text(h->f.store, &charge, text, sizeof text), who);
        assert_non_null(
                strstr(pw_store_holders_text(h->f.store, &(struct pw_holders_of){ .now_us = h->f.now_us }, holders, sizeof holders),
                       who)); /* says the same */
}

static enum pw_status transfer(struct host *h, const struct client *to)
{
        return pw_store_transfer(h->f.store, h->object, to->session, h->f.now_us++, NULL);
}

static void ref_later(struct host *h, const struct client *client)
{
        assert_int_equal(pw_store_ref(h->f.store, client->session, fixture_cell(h->place), h->f.now_us++), PW_OK);
}

/* Law 5: what others hold when its owner ends is charged to the oldest of them; when they end too it goes. */
static void test_moves_to_the_oldest(void **state)
{
        struct host h;

        (void)state;
        open_host(&h);
        ref_later(&h, h.third);
        ref_later(&h, h.second);
        pw_store_tick(h.f.store, h.f.now_us++);
        assert_int_equal(fixture_name(&h.f, "ann", "weights", h.object, NULL), PW_OK);
        charged(&h, "digits[1]");
        pw_store_session_end(h.f.store, h.ann->session, true, h.f.now_us);
        charged(&h, "digits[3]");
        pw_store_session_end(h.f.store, h.third->session, true, h.f.now_us);
        charged(&h, "digits[2]");
        pw_store_session_end(h.f.store, h.second->session, true, h.f.now_us);
        charged(&h, "name weights");
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(h.place), PW_ENTRY_READY);
        assert_int_equal(fixture_unname(&h.f, "ann", "weights", NULL), PW_OK);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_terms(&h.f).used, 0);
        fixture_close(&h.f);
}

/* While its grantee lives, it may let go. */
static void test_grantee_lets_go(void **state)
{
        struct host h;

        (void)state;
        open_host(&h);
        ref_later(&h, h.second);
        fixture_drop(&h.f, h.ann, h.place);
        charged(&h, "digits[2]");
        fixture_close(&h.f);
}

/* The receiver holds it without having asked; the reference that it then takes is that one. */
static void test_transfer(void **state)
{
        struct host h;

        (void)state;
        open_host(&h);
        ref_later(&h, h.third);
        assert_int_equal(transfer(&h, h.second), PW_OK);
        charged(&h, "digits[2]");
        assert_int_equal(h.object->refs, 3);
        pw_store_session_end(h.f.store, h.ann->session, true, h.f.now_us);
        assert_int_equal(transfer(&h, h.second), PW_OK); /* again: nothing changes */
        charged(&h, "digits[2]");
        fixture_ref(&h.f, h.second, h.place);
        assert_int_equal(h.object->refs, 2);
        fixture_ref(&h.f, h.second, h.place);
        assert_int_equal(h.object->refs, 3);
        fixture_drop(&h.f, h.second, h.place);
        charged(&h, "digits[2]");
        fixture_drop(&h.f, h.second, h.place);
        charged(&h, "digits[3]");
        fixture_drop(&h.f, h.third, h.place);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_terms(&h.f).used, 0);
        fixture_close(&h.f);
}

/* On to a third, and back to who made it. */
static void test_goes_on(void **state)
{
        struct host h;

        (void)state;
        open_host(&h);
        assert_int_equal(transfer(&h, h.second), PW_OK);
        assert_int_equal(transfer(&h, h.third), PW_OK);
        charged(&h, "digits[3]");
        assert_int_equal(transfer(&h, h.ann), PW_OK);
        charged(&h, "digits[1]");
        pw_store_session_end(h.f.store, h.second->session, true, h.f.now_us); /* what it never asked for goes with it */
        assert_int_equal(h.object->refs, 2);
        fixture_close(&h.f);
}

/* A name that is bound to it, until it is bound no more; another object's is not. */
static void test_to_a_name(void **state)
{
        struct host h;
        struct pw_object *other;

        (void)state;
        open_host(&h);
        other = fixture_known(&h.f, fixture_put(h.ann, h.place.slot + 1));
        assert_int_equal(fixture_name(&h.f, "ann", "weights", h.object, NULL), PW_OK);
        assert_int_equal(pw_store_transfer_to_name(h.f.store, other, "weights", NULL), PW_EXISTS);
        assert_int_equal(pw_store_transfer_to_name(h.f.store, h.object, "bias", NULL), PW_NOT_FOUND);
        charged(&h, "digits[1]");
        assert_int_equal(transfer(&h, h.second), PW_OK);
        assert_int_equal(pw_store_transfer_to_name(h.f.store, h.object, "weights", NULL), PW_OK);
        charged(&h, "name weights");
        assert_int_equal(fixture_unname(&h.f, "ann", "weights", NULL), PW_OK);
        charged(&h, "digits[1]");
        fixture_close(&h.f);
}

static void test_who_holds(void **state)
{
        struct host h;

        (void)state;
        open_host(&h);
        assert_true(pw_store_holds(h.f.store, h.object, h.ann->session));
        assert_false(pw_store_holds(h.f.store, h.object, h.second->session));
        ref_later(&h, h.second);
        assert_true(pw_store_holds(h.f.store, h.object, h.second->session));
        fixture_drop(&h.f, h.ann, h.place);
        assert_false(pw_store_holds(h.f.store, h.object, h.ann->session));
        fixture_close(&h.f);
}

static void test_refused(void **state)
{
        struct host h;

        (void)state;
        open_host(&h);
        assert_int_equal(transfer(&h, h.bo), PW_NOT_FOUND); /* of another tenant */
        pw_store_session_end(h.f.store, h.second->session, true, h.f.now_us);
        assert_int_equal(transfer(&h, h.second), PW_NOT_FOUND);
        charged(&h, "digits[1]");
        assert_int_equal(h.object->refs, 1);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_moves_to_the_oldest), cmocka_unit_test(test_grantee_lets_go), cmocka_unit_test(test_transfer),
                cmocka_unit_test(test_goes_on), cmocka_unit_test(test_to_a_name), cmocka_unit_test(test_who_holds),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
