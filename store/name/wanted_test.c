/* Names of other hosts, looked up: what metadata is asked, and who is told which answer. */
#include "store/name/named_test.h"

#include "store/name/name_private.h"

static const struct pw_id there = { .place = UINT64_C(7) << 48 | 3, .epoch = 5, .generation = 1 };

static void open_cluster(struct named *n)
{
        open_named(n);
        n->f.is_metadata = true;
        n->f.store->params.names_elsewhere = true;
}

static struct pw_name_request of_ann(const struct named *n, uint64_t number)
{
        return (struct pw_name_request){ .session = n->ann->session, .request = number, .tenant = "ann", .name = "far" };
}

static void look(struct named *n, uint64_t number)
{
        struct pw_name_request request = of_ann(n, number);

        assert_int_equal(pw_store_name_look(n->f.store, &request, NULL), PW_OK);
}

static void wait_for(struct named *n, uint64_t number, uint64_t until_us)
{
        struct pw_name_request request = of_ann(n, number);

        assert_int_equal(pw_store_name_wait(n->f.store, &request, until_us, NULL), PW_OK);
}

/* The only question there is, and it goes out. */
static uint64_t asked(struct named *n)
{
        struct pw_name_ask ask, other;

        assert_true(pw_store_name_next(n->f.store, &ask));
        assert_int_equal(ask.kind, PW_NAME_RESOLVE);
        assert_string_equal(ask.tenant, "ann");
        assert_string_equal(ask.name, "far");
        pw_store_name_asked(n->f.store, ask.token);
        assert_false(pw_store_name_next(n->f.store, &other));
        return ask.token;
}

static void assert_quiet(struct named *n)
{
        struct pw_name_ask ask;

        assert_false(pw_store_name_next(n->f.store, &ask));
        assert_false(pw_store_names_tell(n->f.store));
}

static void answer(struct named *n, uint64_t token, enum pw_name_outcome outcome, struct pw_id id)
{
        pw_store_name_answered(n->f.store, &(struct pw_name_answer){ token, outcome, id, .version = 1 }, 1);
}

/* The next who is told, and nobody else is. */
static struct pw_name_told told_last(struct named *n, uint64_t number)
{
        struct pw_name_told told;

        assert_true(pw_store_name_told(n->f.store, &told));
        assert_int_equal(told.request, number);
        assert_false(pw_store_names_tell(n->f.store));
        return told;
}

static void assert_elsewhere(struct named *n, uint64_t number)
{
        struct pw_name_told told = told_last(n, number);

        assert_int_equal(told.status, PW_OK);
        assert_true(told.elsewhere && !told.found);
        assert_true(pw_id_equal(told.object, there));
}

static void test_outcomes(void **state)
{
        static const struct { enum pw_name_outcome outcome; enum pw_status status; } each[] = {
                { PW_NAMED_NOT_FOUND, PW_NOT_FOUND }, { PW_NAMED_UNKNOWN, PW_NOT_READY }, { PW_NAMED_AWAY, PW_NOT_READY },
        };
        struct named n;

        (void)state;
        open_cluster(&n);
        for (uint32_t i = 0; i < pw_array_count(each); i++) {
                look(&n, i);
                answer(&n, asked(&n), each[i].outcome, (struct pw_id){ 0 });
                assert_int_equal(told_last(&n, i).status, each[i].status);
        }
        look(&n, 9);
        answer(&n, asked(&n), PW_NAMED_OK, there);
        assert_elsewhere(&n, 9);
        assert_quiet(&n);
        fixture_close(&n.f);
}

/* It is bound here while metadata is asked where it is to be removed: that came too early, and holds nothing. */
static void test_removed_too_early(void **state)
{
        struct pw_name_request removes;
        struct named n;
        struct pw_name_ask ask;

        (void)state;
        open_cluster(&n);
        removes = of_ann(&n, 1);
        removes.to_remove = true;
        assert_int_equal(pw_store_name_look(n.f.store, &removes, NULL), PW_OK);
        (void)asked(&n);
        assert_int_equal(pw_store_name_bind(n.f.store, &(struct pw_name_request){ n.bo->session, 2, "ann", "far", 0, false },
                                            n.object, 0, NULL), PW_OK);
        assert_true(pw_store_name_next(n.f.store, &ask));
        assert_int_equal(ask.kind, PW_NAME_BIND);
        answer(&n, ask.token, PW_NAMED_OK, ask.id);
        assert_int_equal(n.object->refs, 2); /* who put it, and the name */
        for (uint32_t i = 0; i < 2; i++) {
                struct pw_name_told told;

                assert_true(pw_store_name_told(n.f.store, &told));
                assert_int_equal(told.status, told.request == 1 ? PW_NOT_FOUND : PW_OK);
                assert_false(told.found);
        }
        assert_ptr_equal(named_found(&n, "far"), n.object);
        fixture_close(&n.f);
}

/* An answer is about the time when its question was asked: who came later is told by the next. */
static void test_who_comes_later(void **state)
{
        struct named n;
        uint64_t first;

        (void)state;
        open_cluster(&n);
        look(&n, 1);
        look(&n, 2); /* it was not asked yet: one question is for both */
        first = asked(&n);
        look(&n, 3);
        assert_quiet(&n);
        answer(&n, first, PW_NAMED_NOT_FOUND, (struct pw_id){ 0 });
        assert_true(pw_store_name_told(n.f.store, &(struct pw_name_told){ 0 }));
        assert_int_equal(told_last(&n, 2).status, PW_NOT_FOUND);
        answer(&n, first, PW_NAMED_NOT_FOUND, (struct pw_id){ 0 }); /* of a question that nobody asks any more */
        assert_false(pw_store_names_tell(n.f.store));
        answer(&n, asked(&n), PW_NAMED_OK, there);
        assert_elsewhere(&n, 3);
        fixture_close(&n.f);
}

/* Who waits is told when another host has bound it: asked again when somebody bound something, and when metadata is back. */
static void test_waits(void **state)
{
        struct named n;

        (void)state;
        open_cluster(&n);
        wait_for(&n, 1, UINT64_MAX);
        answer(&n, asked(&n), PW_NAMED_NOT_FOUND, (struct pw_id){ 0 });
        assert_quiet(&n);
        pw_store_names_bound(n.f.store);
        answer(&n, asked(&n), PW_NAMED_AWAY, (struct pw_id){ 0 });
        assert_quiet(&n);
        pw_store_names_back(n.f.store);
        look(&n, 2);
        answer(&n, asked(&n), PW_NAMED_NOT_FOUND, (struct pw_id){ 0 });
        assert_int_equal(told_last(&n, 2).status, PW_NOT_FOUND);
        pw_store_names_bound(n.f.store);
        answer(&n, asked(&n), PW_NAMED_OK, there);
        assert_elsewhere(&n, 1);
        pw_store_names_bound(n.f.store);
        assert_quiet(&n);
        fixture_close(&n.f);
}

/* It was bound while a question was open, whose answer may be of before: it is asked once more. */
static void test_bound_meanwhile(void **state)
{
        struct named n;
        uint64_t token;

        (void)state;
        open_cluster(&n);
        wait_for(&n, 1, UINT64_MAX);
        token = asked(&n);
        pw_store_names_bound(n.f.store);
        pw_store_names_bound(n.f.store);
        assert_quiet(&n);
        answer(&n, token, PW_NAMED_NOT_FOUND, (struct pw_id){ 0 });
        answer(&n, asked(&n), PW_NAMED_NOT_FOUND, (struct pw_id){ 0 });
        assert_quiet(&n);
        pw_store_names_bound(n.f.store);
        answer(&n, asked(&n), PW_NAMED_OK, there);
        assert_elsewhere(&n, 1);
        assert_quiet(&n);
        fixture_close(&n.f);
}

/* A binding of this host is found when it is told so, and not by what metadata says of it. */
static void test_bound_here_meanwhile(void **state)
{
        struct pw_name_request bind;
        struct pw_name_told told;
        struct pw_name_ask ask;
        struct named n;
        uint64_t first;

        (void)state;
        open_cluster(&n);
        wait_for(&n, 1, UINT64_MAX);
        first = asked(&n);
        bind = of_ann(&n, 2);
        assert_int_equal(pw_store_name_bind(n.f.store, &bind, n.object, 0, NULL), PW_OK);
        answer(&n, first, PW_NAMED_OK, pw_object_id(n.f.store, n.object));
        assert_false(pw_store_names_tell(n.f.store));
        assert_true(pw_store_name_next(n.f.store, &ask));
        assert_int_equal(ask.kind, PW_NAME_BIND);
        pw_store_name_asked(n.f.store, ask.token);
        answer(&n, ask.token, PW_NAMED_OK, ask.id);
        assert_true(pw_store_name_told(n.f.store, &told));
        assert_true(told.request == 2 && !told.found);
        assert_true(pw_store_name_told(n.f.store, &told));
        assert_true(told.request == 1 && told.found && !told.elsewhere);
        assert_quiet(&n);
        fixture_close(&n.f);
}

static void test_ends(void **state)
{
        struct named n;
        uint64_t first;

        (void)state;
        open_cluster(&n);
        wait_for(&n, 1, 500);
        first = asked(&n);
        pw_store_tick(n.f.store, 500);
        assert_int_equal(told_last(&n, 1).status, PW_DEADLINE);
        answer(&n, first, PW_NAMED_OK, there);
        assert_quiet(&n);
        look(&n, 2); /* its session ends before the answer */
        first = asked(&n);
        pw_store_session_end(n.f.store, n.ann->session, true, 600);
        answer(&n, first, PW_NAMED_OK, there);
        assert_quiet(&n);
        n.f.is_metadata = false;
        fixture_close(&n.f);
}

/* Where there is one host, nobody is asked. */
static void test_alone(void **state)
{
        struct pw_name_request request;
        struct named n;

        (void)state;
        open_cluster(&n);
        n.f.store->params.names_elsewhere = false;
        request = of_ann(&n, 1);
        assert_int_equal(pw_store_name_look(n.f.store, &request, NULL), PW_NOT_FOUND);
        wait_for(&n, 2, UINT64_MAX);
        pw_store_names_bound(n.f.store);
        assert_quiet(&n);
        fixture_close(&n.f);
}

/* Metadata kept another host's binding: this one's is over, and holds its object no more. */
static void test_lost(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        assert_int_equal(name_until(&n, "far", 0), PW_OK);
        assert_int_equal(n.object->refs, 2);
        pw_store_name_lost(n.f.store, "ann", "near", there, 1);
        pw_store_name_lost(n.f.store, "bo", "far", there, 1);
        pw_store_name_lost(n.f.store, "ann", "far", pw_object_id(n.f.store, n.object), 1);
        assert_ptr_equal(named_found(&n, "far"), n.object);
        pw_store_name_lost(n.f.store, "ann", "far", there, 1);
        assert_null(named_found(&n, "far"));
        assert_int_equal(n.object->refs, 1);
        assert_quiet(&n);
        assert_int_equal(name_until(&n, "far", 0), PW_OK); /* it may be bound again: metadata decides */
        fixture_close(&n.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_outcomes),
                cmocka_unit_test(test_removed_too_early), cmocka_unit_test(test_who_comes_later), cmocka_unit_test(test_waits),
                cmocka_unit_test(test_bound_meanwhile),
                cmocka_unit_test(test_bound_here_meanwhile), cmocka_unit_test(test_ends), cmocka_unit_test(test_alone),
                cmocka_unit_test(test_lost),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
