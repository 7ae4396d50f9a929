/* Names: they hold what they name, without a session, until they are removed. */
#include "store/account/quota.h"
#include "store/name/named_test.h"

#include "base/transition.h"

/* Names of one length meet, whosever they are, so that each is found by what it is. */
uint64_t pw_hash_pair(const struct pw_hash_secret *secret, const char *first, const char *second)
{
        (void)secret;
        (void)first;
        return strlen(second);
}
uint64_t pw_hash(const struct pw_hash_secret *secret, const void *data, size_t bytes) { return (void)secret, (void)data, bytes; }

static void note(void *context, const struct pw_transition *transition)
{
        char line[PW_TRANSITION_TEXT_BYTES];

        strcat(strcat(context, pw_transition_format(transition, line)), "\n");
}

static void test_bind_and_remove(void **state)
{
        char seen[1000] = "";
        const struct pw_observer observer = { note, seen };
        struct named n;
        struct place other;
        struct pw_error err;

        (void)state;
        open_named(&n);
        pw_store_observe(n.f.store, &observer);
        assert_null(named_found(&n, "weights"));
        assert_int_equal(fixture_unname(&n.f, "ann", "weights", &err), PW_NOT_FOUND);
        assert_string_equal(err.text, "name weights: not bound");
        assert_int_equal(fixture_name(&n.f, "ann", "weights", n.object, NULL), PW_OK);
        assert_int_equal(fixture_name(&n.f, "ann", "weights", n.object, NULL), PW_OK); /* as it is */
        assert_int_equal(n.object->refs, 2);
        other = fixture_put(n.ann, n.place.slot + 1);
        assert_int_equal(fixture_name(&n.f, "ann", "weights", fixture_known(&n.f, other), &err), PW_EXISTS);
        assert_string_equal(err.text, "name weights: bound already; pw_unname() or `pathways free` lets it go");
        assert_ptr_equal(named_found(&n, "weights"), n.object);
        assert_null(named_found(&n, "weight"));
        fixture_drop(&n.f, n.ann, n.place);
        assert_there(&n);
        assert_int_equal(fixture_unname(&n.f, "ann", "weights", NULL), PW_OK);
        assert_null(named_found(&n, "weights"));
        assert_gone(&n);
        assert_string_equal(seen, "name=1 from=none to=held cause=wanted\n"
                                  "name=1 from=held to=bound cause=done\n"
                                  "name=1 from=bound to=ending cause=ended\n"
                                  "name=1 from=ending to=none cause=done\n"
                                  "object=a.0.1 from=ready to=closing cause=close\n"
                                  "object=a.0.1 from=closing to=free cause=free\n");
        fixture_close(&n.f);
}

/* Each of those that meet can be removed, whether it came first, last or between. */
static void test_names_that_meet(void **state)
{
        static const char *const names[] = { "one", "two", "six", "ten" };
        struct named n;

        (void)state;
        for (uint32_t gone = 0; gone < 4; gone++) {
                open_named(&n);
                for (uint32_t i = 0; i < 4; i++)
                        assert_int_equal(fixture_name(&n.f, "ann", names[i], n.object, NULL), PW_OK);
                assert_int_equal(pw_store_names(n.f.store), 4);
                assert_int_equal(fixture_unname(&n.f, "ann", names[gone], NULL), PW_OK);
                for (uint32_t i = 0; i < 4; i++)
                        assert_ptr_equal(named_found(&n, names[i]), i == gone ? NULL : n.object);
                assert_int_equal(pw_store_names(n.f.store), 3);
                assert_int_equal(pw_store_free_object(n.f.store, n.object, false, 0, NULL), PW_OK);
                for (uint32_t i = 0; i < 4; i++)
                        assert_null(named_found(&n, names[i]));
                assert_int_equal(pw_store_names(n.f.store), 0);
                fixture_close(&n.f);
        }
}

/* An object has so many names and leases, which may all go at once. */
static void test_bound(void **state)
{
        struct named n;
        struct pw_error err;
        char name[32];

        (void)state;
        open_named(&n);
        for (uint32_t i = 0; i < PW_STORE_CLAIMS_OF_ONE_MAX; i++) {
                snprintf(name, sizeof name, "%u", i);
                assert_int_equal(i % 64 ? pw_store_lease(n.f.store, n.object, PW_STORE_CLAIMS_OF_ONE_MAX - i, NULL)
                                        : fixture_name(&n.f, "ann", name, n.object, NULL), PW_OK);
        }
        assert_int_equal(pw_store_lease(n.f.store, n.object, 5, &err), PW_LIMIT);
        assert_int_equal(fixture_name(&n.f, "ann", "more", n.object, &err), PW_LIMIT);
        assert_string_equal(err.text, "the object has 1024 of the 1024 names and leases that it may: remove some");
        /* Those that end at once go in parts. */
        pw_store_tick(n.f.store, PW_STORE_CLAIMS_OF_ONE_MAX);
        assert_true(pw_store_next_us(n.f.store) <= PW_STORE_CLAIMS_OF_ONE_MAX);
        for (uint32_t i = 0; i < 3; i++)
                pw_store_tick(n.f.store, PW_STORE_CLAIMS_OF_ONE_MAX);
        assert_true(pw_store_next_us(n.f.store) == UINT64_MAX);
        assert_int_equal(n.object->claims, 16);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 5, &err), PW_OK);
        assert_int_equal(pw_store_free_object(n.f.store, n.object, true, 0, NULL), PW_OK);
        assert_int_equal(n.object->claims, 16); /* until metadata knows */
        fixture_settle(&n.f);
        assert_int_equal(n.object->claims, 0);
        assert_gone(&n);
        fixture_close(&n.f);
}

/* Each tenant has names of its own. */
static void test_tenants(void **state)
{
        struct named n;
        struct place theirs;

        (void)state;
        open_named(&n);
        theirs = fixture_put(n.bo, fixture_grant(&n.f, n.bo, 4096, 4).first_slot);
        assert_int_equal(fixture_name(&n.f, "ann", "x", n.object, NULL), PW_OK);
        assert_null(pw_store_name_find(n.f.store, "bo", "x"));
        assert_int_equal(fixture_name(&n.f, "bo", "x", fixture_known(&n.f, theirs), NULL), PW_OK);
        assert_ptr_equal(named_found(&n, "x"), n.object);
        assert_int_equal(fixture_unname(&n.f, "ann", "x", NULL), PW_OK);
        assert_ptr_equal(pw_store_name_find(n.f.store, "bo", "x"), fixture_known(&n.f, theirs));
        fixture_close(&n.f);
}

/* An operator sees objects of every tenant; it names its own, so no name outlives its reference. */
static void test_other_tenants_object(void **state)
{
        struct named n;
        struct pw_error err;

        (void)state;
        open_named(&n);
        assert_int_equal(fixture_name(&n.f, "root", "weights", n.object, &err), PW_DENIED);
        assert_string_equal(err.text, "name weights: the object is of tenant ann, names of tenant root are for its own objects");
        assert_int_equal(n.object->refs, 1);
        fixture_drop(&n.f, n.ann, n.place);
        assert_gone(&n);
        assert_null(pw_store_name_find(n.f.store, "root", "weights"));
        assert_int_equal(fixture_unname(&n.f, "root", "weights", NULL), PW_NOT_FOUND);
        fixture_close(&n.f);
}

/* A name outlives who made it; the segment goes with the name. */
static void test_outlives_its_session(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        assert_int_equal(fixture_name(&n.f, "ann", "weights", n.object, NULL), PW_OK);
        pw_store_session_end(n.f.store, n.ann->session, true, 0);
        assert_there(&n);
        assert_int_equal(fixture_count(&n.f, PW_STORE_SEGMENT_IDLE), 0);
        assert_ptr_equal(named_found(&n, "weights"), n.object);
        assert_int_equal(fixture_unname(&n.f, "ann", "weights", NULL), PW_OK);
        assert_gone(&n);
        fixture_remove(&n.f, fixture_only(&n.f, PW_STORE_SEGMENT_IDLE)->segment);
        fixture_close(&n.f);
}

static void test_segment_goes_with_names(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        assert_int_equal(fixture_name(&n.f, "ann", "weights", n.object, NULL), PW_OK);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 5, NULL), PW_OK);
        assert_int_equal(pw_store_hold(n.f.store, n.object, (struct pw_owner){ PW_OWNER_RUN, 3 }, NULL), PW_OK);
        fixture_ref(&n.f, n.ann, n.place);
        fixture_remove(&n.f, n.ann->segment); /* by force */
        assert_null(named_found(&n, "weights"));
        assert_true(pw_store_next_us(n.f.store) == UINT64_MAX);
        pw_store_tick(n.f.store, 10);
        fixture_close(&n.f);
}

/* Without force only names and leases go, with it sessions' references too; runs keep theirs. */
static void test_free_object(void **state)
{
        struct named n;
        struct pw_error err;

        (void)state;
        open_named(&n);
        assert_int_equal(pw_store_free_object(n.f.store, n.object, false, 0, &err), PW_NOT_FOUND);
        assert_non_null(strstr(err.text, "neither name nor lease"));
        assert_int_equal(n.object->refs, 1);
        assert_int_equal(fixture_name(&n.f, "ann", "a", n.object, NULL), PW_OK);
        assert_int_equal(fixture_name(&n.f, "ann", "b", n.object, NULL), PW_OK);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 1000, NULL), PW_OK);
        assert_int_equal(pw_store_free_object(n.f.store, n.object, false, 0, NULL), PW_OK);
        assert_null(named_found(&n, "b"));
        assert_there(&n);
        assert_int_equal(pw_store_hold(n.f.store, n.object, (struct pw_owner){ PW_OWNER_RUN, 3 }, NULL), PW_OK);
        fixture_ref(&n.f, n.ann, n.place);
        assert_int_equal(pw_store_free_object(n.f.store, n.object, true, 0, NULL), PW_OK);
        assert_there(&n);
        assert_int_equal(n.object->refs, 1);
        fixture_drop(&n.f, n.ann, n.place); /* it has none any more */
        assert_there(&n);
        pw_store_release(n.f.store, n.object, (struct pw_owner){ PW_OWNER_RUN, 3 }, 0);
        assert_gone(&n);
        fixture_close(&n.f);
}

/* --- metadata ----------------------------------------------------------------------------------------------------------------- */

/* What is told when the next question, which is of this kind, is answered so. */
static struct pw_name_told answer_with(struct named *n, enum pw_name_outcome outcome, enum pw_name_ask_kind kind)
{
        struct pw_name_told told = { .status = PW_OK };
        struct pw_name_ask ask;

        assert_true(pw_store_name_next(n->f.store, &ask));
        assert_int_equal(ask.kind, kind);
        assert_false(pw_store_name_told(n->f.store, &told));
        pw_store_name_asked(n->f.store, ask.token);
        pw_store_name_answered(n->f.store, &(struct pw_name_answer){ ask.token, outcome, { 9, 9, 9 }, 1, { 0, 0 } }, 0);
        /* once more: nobody asks any more */
        pw_store_name_answered(n->f.store, &(struct pw_name_answer){ ask.token, PW_NAMED_OK, ask.id, 1, { 0, 0 } }, 0);
        (void)pw_store_name_told(n->f.store, &told);
        return told;
}

/* Metadata answers when the test does. */
static void open_late(struct named *n)
{
        open_named(n);
        n->f.is_metadata = true;
}

static struct pw_name_request ann_asks(const struct named *n, uint64_t request)
{
        return (struct pw_name_request){ n->ann->session, request, "ann", "weights", 0, false };
}

/* Metadata is back, and knows of no binding. */
static void close_unbound(struct named *n, enum pw_name_ask_kind kind)
{
        pw_store_names_back(n->f.store);
        (void)answer_with(n, PW_NAMED_NOT_FOUND, kind);
        assert_gone(n);
        fixture_close(&n->f);
}

static void ask_bind(struct named *n, uint64_t until_us)
{
        struct pw_name_request request = ann_asks(n, 7);

        assert_int_equal(pw_store_name_bind(n->f.store, &request, n->object, until_us, NULL), PW_OK);
        assert_null(named_found(n, "weights"));
}

static void count_wait(void *context, const struct pw_name_wait_row *row)
{
        *(uint32_t *)context += row->asks && !strcmp(row->name, "weights");
}

/* Who waits for metadata is shown, until it has answered. */
static void test_who_asks_is_shown(void **state)
{
        struct named n;
        struct pw_name_ask ask;

        (void)state;
        open_late(&n);
        ask_bind(&n, 0);
        for (uint32_t turn = 0; turn < 3; turn++) {
                uint32_t mine = 0, others = 0, all = 0;

                pw_store_each_name_wait(n.f.store, n.ann->session, count_wait, &mine);
                pw_store_each_name_wait(n.f.store, n.bo->session, count_wait, &others);
                pw_store_each_name_wait(n.f.store, 0, count_wait, &all);
                assert_int_equal(mine, turn < 2);
                assert_int_equal(all, turn < 2);
                assert_int_equal(others, 0);
                if (turn == 0 && pw_store_name_next(n.f.store, &ask))
                        pw_store_name_asked(n.f.store, ask.token);
                if (turn == 1)
                        pw_store_name_answered(n.f.store, &(struct pw_name_answer){ .token = ask.token, .outcome = PW_NAMED_OK,
                                                                                    .id = ask.id, .version = 1 }, 0);
        }
        fixture_close(&n.f);
}

/* A name that was refused leaves nothing: no claim, no lease. */
static void test_refused(void **state)
{
        static const struct { enum pw_name_outcome outcome; enum pw_status status; const char *text; } cases[] = {
                { PW_NAMED_TAKEN, PW_EXISTS, "name weights: another host bound it to h0.9/0.9.9" },
                { PW_NAMED_AWAY, PW_NOT_READY, "name weights: metadata is away, and it is not bound: try again when it is back" },
        };
        struct named n;

        (void)state;
        open_late(&n);
        for (uint32_t i = 0; i < 2; i++) {
                struct pw_name_told told;

                ask_bind(&n, 1000);
                assert_int_equal(n.object->claims, 2);
                told = answer_with(&n, cases[i].outcome, PW_NAME_BIND);
                assert_int_equal(told.status, cases[i].status);
                assert_string_equal(told.text, cases[i].text);
                assert_int_equal(told.request, 7);
                assert_int_equal(n.object->claims, 0);
                assert_true(pw_store_next_us(n.f.store) == UINT64_MAX);
        }
        fixture_close(&n.f);
}

/* What is not known is held until it is read back, and who asked is not kept waiting for that. */
static void test_unknown(void **state)
{
        struct named n;
        struct pw_name_ask ask;

        (void)state;
        open_late(&n);
        ask_bind(&n, 0);
        (void)answer_with(&n, PW_NAMED_UNKNOWN, PW_NAME_BIND);
        assert_int_equal(answer_with(&n, PW_NAMED_AWAY, PW_NAME_RESOLVE).status, PW_NOT_READY);
        fixture_drop(&n.f, n.ann, n.place);
        assert_there(&n);
        assert_false(pw_store_name_next(n.f.store, &ask));
        close_unbound(&n, PW_NAME_RESOLVE);
}

/* What another host hands on, and metadata may have said is this one's or not: it is told that it is not, so that the other one
 * asks again, unless that does not keep it any more. */
static void test_taken_over(void **state)
{
        static const struct pw_name_keeper from = { 5, 6 }, other = { 8, 6 };
        static const struct { struct pw_name_keeper keeper; enum pw_status status; } cases[] = {
                { { 5, 6 }, PW_NOT_READY }, { { 5, 7 }, PW_EXISTS }, { { 7, 6 }, PW_EXISTS }, { { 0, 0 }, PW_OK },
        };
        struct pw_name_told told;
        struct pw_name_ask ask;
        struct named n;

        (void)state;
        open_late(&n);
        for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct pw_name_request request = ann_asks(&n, 7);

                assert_int_equal(pw_store_name_take(n.f.store, &request, n.object, &from, 0, NULL), PW_OK);
                assert_true(pw_store_name_next(n.f.store, &ask));
                assert_int_equal(ask.from.host, 5);
                assert_int_equal(ask.from.epoch, 6);
                assert_int_equal(pw_store_name_take(n.f.store, &request, n.object, &other, 0, NULL), PW_BUSY);
                (void)answer_with(&n, PW_NAMED_UNKNOWN, PW_NAME_TAKE);
                assert_true(pw_store_name_next(n.f.store, &ask));
                assert_int_equal(ask.kind, PW_NAME_RESOLVE);
                pw_store_name_answered(n.f.store, &(struct pw_name_answer){ .token = ask.token, .outcome = PW_NAMED_OK,
                                                                            .id = ask.id, .version = 1,
                                                                            .keeper = cases[i].keeper }, 0);
                assert_true(pw_store_name_told(n.f.store, &told));
                assert_int_equal(told.status, cases[i].status);
                assert_true(!named_found(&n, "weights") == (cases[i].status != PW_OK));
        }
        fixture_close(&n.f);
}

static void see_claim(void *context, const struct pw_claim_row *row)
{
        struct pw_claim_row *rows = context;

        rows[rows[0].name || rows[0].until_us] = *row;
}

/* What names and leases hold is seen, and ends one by one. */
static void test_claims(void **state)
{
        struct pw_claim_row rows[2] = { { .number = 0 } }, row;
        struct pw_claim_stamp before, after;
        struct named n;

        (void)state;
        open_named(&n);
        before = pw_store_claim_stamp(n.f.store);
        assert_int_equal(plain_bind(n.f.store, "ann", "weights", n.object, 100, 0, NULL), PW_OK);
        assert_int_equal(pw_store_lease(n.f.store, n.object, 5000, NULL), PW_OK);
        after = pw_store_claim_stamp(n.f.store);
        assert_memory_not_equal(&before, &after, sizeof before);
        pw_store_each_claim(n.f.store, see_claim, rows);
        assert_string_equal(rows[0].name, "weights");
        assert_true(rows[0].is_settled && rows[0].until_us == 100 && rows[0].object == n.object);
        assert_true(!rows[1].name && rows[1].until_us == 5000 && rows[1].number != rows[0].number);
        assert_true(pw_store_claim_see(n.f.store, n.object, rows[1].number, &row) && row.until_us == 5000);
        pw_store_claim_end(n.f.store, n.object, rows[1].number, 0);
        assert_false(pw_store_claim_see(n.f.store, n.object, rows[1].number, &row));
        pw_store_claim_end(n.f.store, n.object, rows[0].number, 0);
        assert_null(named_found(&n, "weights"));
        fixture_close(&n.f);
}

/* A name that is removed before metadata has answered: both are told, and the object is held until metadata has ended it. */
static void test_removed_before_bound(void **state)
{
        struct pw_name_request request;
        struct pw_name_told told;
        struct named n;

        (void)state;
        open_late(&n);
        request = ann_asks(&n, 8);
        ask_bind(&n, 0);
        assert_int_equal(pw_store_name_remove(n.f.store, &request, NULL), PW_OK);
        assert_true(pw_store_name_told(n.f.store, &told));
        assert_int_equal(told.status, PW_CANCELLED);
        assert_int_equal(told.request, 7);
        fixture_drop(&n.f, n.ann, n.place);
        told = answer_with(&n, PW_NAMED_AWAY, PW_NAME_UNBIND);
        assert_int_equal(told.status, PW_NOT_READY);
        assert_int_equal(told.request, 8);
        assert_there(&n);
        close_unbound(&n, PW_NAME_UNBIND);
}

/* Who waits has it once metadata has said so, and holds it. */
static void test_wait_until_bound(void **state)
{
        struct pw_name_request wait;
        struct pw_name_told told;
        struct named n;

        (void)state;
        open_late(&n);
        wait = ann_asks(&n, 3);
        assert_int_equal(pw_store_name_wait(n.f.store, &wait, 500, NULL), PW_OK);
        pw_store_tick(n.f.store, 500);
        assert_true(pw_store_name_told(n.f.store, &told));
        assert_int_equal(told.status, PW_DEADLINE);
        assert_int_equal(pw_store_name_wait(n.f.store, &wait, UINT64_MAX, NULL), PW_OK);
        ask_bind(&n, 0);
        assert_false(pw_store_name_told(n.f.store, &told));
        n.f.is_metadata = false;
        fixture_settle(&n.f);
        assert_true(pw_store_name_told(n.f.store, &told));
        assert_int_equal(told.request, 7);
        assert_true(pw_store_name_told(n.f.store, &told));
        assert_true(told.found && told.status == PW_OK && told.request == 3);
        assert_int_equal(n.object->refs, 3);
        fixture_close(&n.f);
}

/* --- a scan ------------------------------------------------------------------------------------------------------------------- */

/* An object that is closing comes back when it is named in the scan. */
static void test_named_in_the_scan(void **state)
{
        struct named n;

        (void)state;
        open_named(&n);
        fixture_drop(&n.f, n.ann, n.place);
        assert_true(pw_store_reclaim_begin(n.f.store));
        assert_int_equal(fixture_name(&n.f, "ann", "late", n.object, NULL), PW_OK);
        pw_store_reclaim_finish(n.f.store, 0);
        assert_there(&n);
        assert_int_equal(pw_store_free_object(n.f.store, n.object, false, 0, NULL), PW_OK);
        assert_gone(&n);
        fixture_close(&n.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bind_and_remove),
                cmocka_unit_test(test_tenants),
                cmocka_unit_test(test_other_tenants_object),
                cmocka_unit_test(test_outlives_its_session),
                cmocka_unit_test(test_names_that_meet),
                cmocka_unit_test(test_bound),
                cmocka_unit_test(test_segment_goes_with_names),
                cmocka_unit_test(test_free_object),
                cmocka_unit_test(test_who_asks_is_shown),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_taken_over),
                cmocka_unit_test(test_claims),
                cmocka_unit_test(test_removed_before_bound),
                cmocka_unit_test(test_wait_until_bound),
                cmocka_unit_test(test_named_in_the_scan),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
