/* Quotas: what is granted within them, who waits for them, who does not, and what is told. */
#include "store/account/quota.h"
#include "store/fixture_test.h"

#define ROOM (64 * PW_KIB)

struct host { struct fixture f; struct client *ann, *ann2, *bo; };

static void open_host(struct host *h, const struct pw_quota *quota)
{
        fixture_open(&h->f, 64 * PW_MIB);
        h->ann = fixture_client(&h->f, "ann");
        h->ann2 = fixture_client(&h->f, "ann");
        h->bo = fixture_client(&h->f, "bo");
        assert_int_equal(pw_store_quota(h->f.store, "ann", quota, h->f.now_us, NULL), PW_OK);
}

#define SLOTS (8 * PW_KIB) /* of a session: entries and records, as few as there may be */
#define UNASKED (512 * PW_KIB) /* that nobody is refused slots for */
#define BYTES(bytes) (&(struct pw_quota){ (bytes) + 2 * SLOTS, PW_QUOTA_NONE, PW_QUOTA_NONE, PW_QUOTA_NONE })
#define OBJECTS(count) (&(struct pw_quota){ PW_QUOTA_NONE, PW_QUOTA_NONE, (count), PW_QUOTA_NONE })

static uint64_t ask(struct host *h, const struct client *client, uint64_t bytes, uint32_t count)
{
        struct pw_room_request request = fixture_ask(&h->f, client, bytes, count);

        pw_store_room_request(h->f.store, &request);
        return request.token;
}

static const char *refused(struct host *h, uint64_t token, enum pw_status status)
{
        const struct pw_store_action *action = fixture_only(&h->f, PW_STORE_REFUSE);

        assert_true(action->token == token);
        assert_int_equal(action->status, status);
        return action->text;
}

/* What comes with every slot is left out. */
static struct pw_use use(struct host *h)
{
        struct pw_use use = pw_store_use(h->f.store, "ann");

        use.host_bytes -= use.kept[PW_KEPT_SLOTS];
        use.kept_bytes -= use.kept[PW_KEPT_SLOTS];
        return use;
}

/* Nothing is answered: it waits. */
static void waits(struct host *h)
{
        assert_int_equal(fixture_count(&h->f, PW_STORE_GRANT), 0);
        assert_int_equal(fixture_count(&h->f, PW_STORE_POPULATE), 0);
        assert_int_equal(fixture_count(&h->f, PW_STORE_REFUSE), 0);
        fixture_clear(&h->f);
}

/* A grant is as large as the quota leaves, in whole pages; who is not of the tenant has all. */
static void test_within(void **state)
{
        struct host h;

        (void)state;
        open_host(&h, BYTES(4 * ROOM));
        assert_int_equal(fixture_grant(&h.f, h.ann, ROOM, 3).slot_count, 3);
        assert_int_equal(use(&h).host_bytes, 3 * ROOM);
        assert_int_equal(use(&h).objects, 3);
        assert_int_equal(fixture_grant(&h.f, h.ann2, ROOM, 3).slot_count, 1);
        assert_int_equal(fixture_grant(&h.f, h.bo, ROOM, 9).slot_count, 9);
        assert_int_equal(use(&h).host_bytes, 4 * ROOM);
        assert_int_equal(fixture_grant(&h.f, h.ann, 0, 16).slot_count, 16); /* takes no room */
        fixture_close(&h.f);
}

static void test_never(void **state)
{
        struct host h;

        (void)state;
        open_host(&h, BYTES(4 * ROOM));
        assert_non_null(strstr(refused(&h, ask(&h, h.ann, 5 * ROOM, 1), PW_TOO_LARGE), "quota of tenant ann, 272 KiB"));
        fixture_clear(&h.f);
        assert_int_equal(fixture_grant(&h.f, h.bo, 5 * ROOM, 1).slot_count, 1);
        fixture_close(&h.f);
}

/* Who waits for a quota holds up only its tenant, and slots are taken back only from that. */
static void test_waits_alone(void **state)
{
        struct host h;
        struct pw_store_grant held, other;
        struct pw_return_reader returns;
        struct place places[4];
        uint64_t token;

        (void)state;
        open_host(&h, BYTES(4 * ROOM));
        held = fixture_grant(&h.f, h.ann, ROOM, 4);
        for (uint32_t i = 0; i < 4; i++)
                places[i] = fixture_put(h.ann, held.first_slot + i);
        other = fixture_grant(&h.f, h.bo, ROOM, 1);
        token = ask(&h, h.ann2, ROOM, 1);
        waits(&h);
        ask(&h, h.ann2, ROOM / 2, 1); /* behind the first */
        waits(&h);
        assert_true(pw_store_waits_for_room(h.f.store, h.ann->session));
        assert_false(pw_store_waits_for_room(h.f.store, h.bo->session));
        fixture_drop(&h.f, h.bo, fixture_put(h.bo, other.first_slot));
        fixture_reclaim(&h.f);
        returns = fixture_returns(h.bo, &other);
        assert_int_equal(fixture_returned(&returns), other.first_slot); /* to its lane, not to who waits */
        assert_int_equal(fixture_grant(&h.f, h.bo, ROOM, 20).slot_count, 20);
        fixture_drop(&h.f, h.ann, places[2]);
        fixture_reclaim(&h.f);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == token);
        pw_store_populated(h.f.store, token, PW_OK, h.f.now_us);
        assert_int_equal(fixture_only(&h.f, PW_STORE_GRANT)->grant.slot_count, 1);
        assert_int_equal(use(&h).host_bytes, 4 * ROOM);
        fixture_close(&h.f);
}

/* Idle slots of the tenant's other lanes go first. */
static void test_takes_back_its_own(void **state)
{
        struct host h;

        (void)state;
        open_host(&h, BYTES(4 * ROOM));
        fixture_grant(&h.f, h.bo, ROOM, 1);
        fixture_grant(&h.f, h.ann, ROOM, 4);
        assert_int_equal(fixture_grant(&h.f, h.ann2, 2 * ROOM, 2).slot_count, 2);
        assert_int_equal(use(&h).host_bytes, 4 * ROOM);
        assert_int_equal(use(&h).objects, 2);
        assert_int_equal(pw_store_use(h.f.store, "bo").objects, 1);
        fixture_close(&h.f);
}

static void test_deadline(void **state)
{
        struct host h;
        struct pw_store_grant held;
        uint64_t token;
        const char *text;

        (void)state;
        open_host(&h, BYTES(4 * ROOM));
        held = fixture_grant(&h.f, h.ann, 4 * ROOM, 1);
        fixture_put(h.ann, held.first_slot);
        fixture_put(h.bo, fixture_grant(&h.f, h.bo, 8 * ROOM, 1).first_slot);
        token = ask(&h, h.ann2, ROOM, 1);
        waits(&h);
        assert_true(pw_store_next_us(h.f.store) == h.f.now_us + 1000000);
        pw_store_tick(h.f.store, h.f.now_us + 1000000);
        text = refused(&h, token, PW_NO_SPACE);
        assert_non_null(strstr(text, "waited 1 s for 64 KiB: tenant ann has 264 KiB of its quota of 272 KiB"));
        assert_non_null(strstr(text, "256 KiB held by tenant ann, digits[1], 1 s"));
        assert_null(strstr(text, "tenant bo"));
        assert_false(pw_store_waits_for_room(h.f.store, 0));
        fixture_close(&h.f);
}

static void test_objects(void **state)
{
        struct host h;
        struct place places[8];
        struct pw_store_grant grant;
        uint64_t token;

        (void)state;
        open_host(&h, OBJECTS(8));
        grant = fixture_grant(&h.f, h.ann, 0, 16);
        assert_int_equal(grant.slot_count, 8);
        for (uint32_t i = 0; i < 8; i++)
                places[i] = fixture_put(h.ann, grant.first_slot + i);
        token = ask(&h, h.ann2, ROOM, 1);
        waits(&h);
        fixture_drop(&h.f, h.ann, places[0]);
        fixture_reclaim(&h.f);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == token);
        pw_store_populated(h.f.store, token, PW_OK, h.f.now_us);
        fixture_put(h.ann2, fixture_only(&h.f, PW_STORE_GRANT)->grant.first_slot);
        fixture_clear(&h.f);
        token = ask(&h, h.ann, 0, 1);
        pw_store_tick(h.f.store, h.f.now_us + 1000000);
        assert_non_null(strstr(refused(&h, token, PW_NO_SPACE),
                               "for an object: tenant ann has 8 slots of its quota of 8 objects: 64 KiB held"));
        fixture_close(&h.f);
}

/* A larger quota is for who waits, too. */
static void test_raised(void **state)
{
        struct host h;
        uint64_t token;

        (void)state;
        open_host(&h, BYTES(ROOM));
        fixture_put(h.ann, fixture_grant(&h.f, h.ann, ROOM, 1).first_slot);
        token = ask(&h, h.ann2, ROOM, 1);
        waits(&h);
        assert_int_equal(pw_store_quota(h.f.store, "ann", BYTES(2 * ROOM), h.f.now_us, NULL), PW_OK);
        assert_true(fixture_only(&h.f, PW_STORE_POPULATE)->token == token);
        pw_store_populated(h.f.store, token, PW_SYSTEM, h.f.now_us); /* and its pages cannot be had */
        assert_int_equal(use(&h).host_bytes, 2 * ROOM); /* until they are given back */
        fixture_settle(&h.f);
        assert_int_equal(use(&h).host_bytes, ROOM);
        assert_int_equal(use(&h).objects, 1);
        fixture_close(&h.f);
}

/* What a living process of an ended session may still write into is charged until it is dead. */
static void test_ended_session(void **state)
{
        struct host h;
        struct pw_store_grant grant;

        (void)state;
        open_host(&h, BYTES(8 * ROOM));
        grant = fixture_grant(&h.f, h.ann, ROOM, 4);
        fixture_put(h.ann, grant.first_slot);
        pw_store_session_end(h.f.store, h.ann->session, false, h.f.now_us);
        fixture_reclaim(&h.f);
        fixture_check(&h.f);
        assert_int_equal(use(&h).host_bytes, 4 * ROOM);
        assert_int_equal(use(&h).objects, 0);
        pw_store_session_dead(h.f.store, h.ann->session, h.f.now_us);
        assert_int_equal(use(&h).host_bytes, 0);
        fixture_close(&h.f);
}

static void keep_fails(struct host *h, uint64_t bytes, const char *text)
{
        struct pw_error err;

        assert_int_equal(pw_store_may_keep(h->f.store, "ann", bytes, PW_KEPT_PROGRAMS, &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, text));
}

/* What is kept counts as rooms do, in both directions, and as overhead. */
static void test_kept(void **state)
{
        struct pw_memory_terms before, after;
        struct host h;

        (void)state;
        open_host(&h, BYTES(8 * ROOM));
        fixture_grant(&h.f, h.ann, ROOM, 4);
        keep_fails(&h, 4 * ROOM + SLOTS + 1, "quota of 528 KiB");
        keep_fails(&h, UINT64_MAX, "programs");
        assert_int_equal(pw_store_may_keep(h.f.store, "ann", 4 * ROOM, PW_KEPT_PROGRAMS, NULL), PW_OK);
        pw_store_terms(h.f.store, &before);
        pw_store_keep(h.f.store, "ann", PW_KEPT_PROGRAMS, 3 * ROOM);
        pw_store_terms(h.f.store, &after);
        assert_int_equal(after.overhead - before.overhead, 3 * ROOM);
        assert_int_equal(before.free - after.free, 3 * ROOM);
        assert_int_equal(after.unaccounted, 0);
        assert_int_equal(use(&h).host_bytes, 7 * ROOM);
        assert_int_equal(use(&h).kept_bytes, 3 * ROOM);
        assert_int_equal(use(&h).kept[PW_KEPT_PROGRAMS], 3 * ROOM);
        keep_fails(&h, 2 * ROOM,
                   "has 456 KiB of its quota of 528 KiB of host memory: 192 KiB held by tenant ann, programs; let go");
        assert_int_equal(fixture_grant(&h.f, h.ann, ROOM, 4).slot_count, 1);
        ask(&h, h.ann, ROOM, 1);
        waits(&h);
        fixture_check(&h.f);
        pw_store_keep(h.f.store, "ann", PW_KEPT_PROGRAMS, -3 * (int64_t)ROOM);
        fixture_reclaim(&h.f); /* who waits has it */
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 1);
        assert_int_equal(use(&h).kept_bytes, 0);
        fixture_close(&h.f);
}

/* Where the host has no more it is refused; what must not fail goes beyond. */
static void test_kept_at_the_end(void **state)
{
        struct host h;
        struct pw_error err;

        (void)state;
        open_host(&h, BYTES(PW_QUOTA_NONE - 2 * SLOTS));
        for (uint32_t i = 0; i < 10; i++)
                fixture_put(h.bo, fixture_grant(&h.f, h.bo, PW_MIB, 4).first_slot);
        fixture_put(h.ann, fixture_grant(&h.f, h.ann, PW_MIB, 1).first_slot);
        assert_int_equal(pw_store_may_keep(h.f.store, "ann", 30 * PW_MIB, PW_KEPT_TRACES, &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "30 MiB for traces: of host memory on h0"));
        assert_non_null(strstr(err.text, "10 MiB held by other tenants; 1 MiB held by tenant ann, digits[1], 0 us;"));
        assert_null(strstr(err.text, "bo"));
        pw_store_keep(h.f.store, "ann", PW_KEPT_TRACES, 30 * PW_MIB);
        fixture_check(&h.f);
        pw_store_keep(h.f.store, "ann", PW_KEPT_TRACES, -30 * (int64_t)PW_MIB);
        fixture_close(&h.f);
}

/* Who is beyond its quota, as what is kept of runs may bring it, gets no slots for the results of more, until it is within. */
static void test_beyond(void **state)
{
        struct host h;

        (void)state;
        open_host(&h, BYTES(4 * ROOM));
        pw_store_keep(h.f.store, "ann", PW_KEPT_RUNS, 4 * ROOM + SLOTS + UNASKED);
        assert_int_equal(fixture_grant(&h.f, h.ann, 0, 16).slot_count, 16);
        pw_store_keep(h.f.store, "ann", PW_KEPT_RUNS, 1);
        ask(&h, h.ann, 0, 16);
        waits(&h);
        assert_int_equal(fixture_grant(&h.f, h.bo, 0, 16).slot_count, 16);
        pw_store_keep(h.f.store, "ann", PW_KEPT_RUNS, -1 - (int64_t)(4 * ROOM + SLOTS + UNASKED));
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 1);
        fixture_close(&h.f);
}

/* What is kept of others may go: who needs its place waits. What is kept of oneself is one's own to let go, and said at once. */
static void test_kept_of_others(void **state)
{
        struct host h;

        (void)state;
        open_host(&h, BYTES(PW_QUOTA_NONE - 2 * SLOTS));
        pw_store_keep(h.f.store, "ann", PW_KEPT_PAGES, 40 * PW_MIB);
        ask(&h, h.bo, 32 * PW_MIB, 1);
        waits(&h);
        refused(&h, ask(&h, h.ann, 32 * PW_MIB, 1), PW_TOO_LARGE);
        fixture_clear(&h.f);
        pw_store_keep(h.f.store, "ann", PW_KEPT_PAGES, -40 * (int64_t)PW_MIB);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_count(&h.f, PW_STORE_POPULATE), 1);
        fixture_close(&h.f);
}

/* Whose time is over in the same tick is told no more than it may know: an operator of all, others of their own tenant. */
static void test_late_of_several(void **state)
{
        struct fixture f;
        uint64_t tokens[3];
        const struct pw_store_actions *actions;
        static const struct { const char *seen, *hidden; } told[] = {
                { "896 KiB held by tenant ann, digits[1], 1 s; 128 KiB held by tenant bo, digits[2], 1 s", "other tenants" },
                { "896 KiB held by other tenants; 128 KiB held by tenant bo, digits[2], 1 s", "ann" },
                { "1 MiB held by other tenants", "digits" },
        };

        (void)state;
        fixture_open(&f, 16 * ROOM + 4 * SLOTS);
        struct client *ann = fixture_client(&f, "ann"), *bo = fixture_client(&f, "bo");
        const struct client *others[] = { fixture_operator(&f, "root"), bo, fixture_client(&f, "cy") };
        struct pw_store_grant grants[] = { fixture_grant(&f, ann, ROOM, 14), fixture_grant(&f, bo, ROOM, 2) };
        for (uint32_t i = 0; i < 16; i++)
                fixture_put(i < 14 ? ann : bo, i < 14 ? grants[0].first_slot + i : grants[1].first_slot + i - 14);
        for (uint32_t i = 0; i < 3; i++) {
                struct pw_room_request request = fixture_ask(&f, others[i], 2 * ROOM, 1);
                pw_store_room_request(f.store, &request);
                tokens[i] = request.token;
        }
        fixture_clear(&f);
        pw_store_tick(f.store, f.now_us + 1000000);
        assert_int_equal(fixture_count(&f, PW_STORE_REFUSE), 3);
        actions = pw_store_actions(f.store);
        for (uint32_t i = 0, at = 0; i < 3; i++, at++) {
                while (actions->items[at].kind != PW_STORE_REFUSE)
                        at++;
                assert_true(actions->items[at].token == tokens[i]);
                assert_non_null(strstr(actions->items[at].text, told[i].seen));
                assert_null(strstr(actions->items[at].text, told[i].hidden));
        }
        fixture_close(&f);
}

/* Only those count that wait: not who was told that it is late, who went, and who went while its pages were on their way. */
static void test_requests_counted(void **state)
{
        struct host h;
        uint64_t token;

        (void)state;
        open_host(&h, BYTES(ROOM));
        fixture_put(h.ann2, fixture_grant(&h.f, h.ann2, ROOM, 1).first_slot);
        for (uint32_t i = 0; i <= PW_STORE_REQUESTS_MAX / 2; i++) {
                pw_store_room_cancel(h.f.store, ask(&h, h.ann, ROOM, 1));
                token = ask(&h, h.ann, ROOM, 1);
                h.f.now_us += 2000000;
                pw_store_tick(h.f.store, h.f.now_us);
                refused(&h, token, PW_NO_SPACE);
                fixture_clear(&h.f);
        }
        ask(&h, h.ann, ROOM, 1);
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        fixture_close(&h.f);
        open_host(&h, BYTES(ROOM));
        for (uint32_t i = 0; i <= PW_STORE_REQUESTS_MAX; i++) {
                token = ask(&h, h.ann, ROOM, 1);
                fixture_only(&h.f, PW_STORE_POPULATE);
                pw_store_room_cancel(h.f.store, token);
                pw_store_populated(h.f.store, token, PW_NO_SPACE, h.f.now_us);
                fixture_clear(&h.f);
        }
        ask(&h, h.ann, ROOM, 1);
        fixture_only(&h.f, PW_STORE_POPULATE);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_within),   cmocka_unit_test(test_never),   cmocka_unit_test(test_waits_alone),
                cmocka_unit_test(test_takes_back_its_own), cmocka_unit_test(test_deadline), cmocka_unit_test(test_objects),
                cmocka_unit_test(test_raised),   cmocka_unit_test(test_ended_session),
                cmocka_unit_test(test_kept),     cmocka_unit_test(test_kept_at_the_end),
                cmocka_unit_test(test_beyond),   cmocka_unit_test(test_kept_of_others),
                cmocka_unit_test(test_late_of_several), cmocka_unit_test(test_requests_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
