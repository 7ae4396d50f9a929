/* Requests for futures that would wait in vain: who is told so at once, and who may be helped. */
#include "store/room/host_test.h"

static struct pw_room_request futures_of(struct fixture *f, const struct client *client, bool alone)
{
        struct pw_room_request request = fixture_ask(f, client, 0, 1);

        request.inline_only = false;
        request.futures = true;
        request.alone = alone;
        return request;
}

/* Is the request told at once that it would wait in vain? It is not left waiting. */
static bool is_vain(struct host *h, const struct client *client, bool alone)
{
        struct pw_room_request request = futures_of(&h->f, client, alone);
        const char *text = "slots of its quota of 5 objects, all held by";
        bool vain;

        fixture_clear(&h->f);
        pw_store_room_request(h->f.store, &request);
        vain = fixture_count(&h->f, PW_STORE_REFUSE);
        if (vain)
                assert_non_null(strstr(refused(h, request.token, PW_NO_SPACE)->text, text));
        else
                pw_store_room_cancel(h->f.store, request.token);
        fixture_clear(&h->f);
        return vain;
}

/* Who holds all objects of its tenant, and is alone to let go of them, does not wait for more; who may be helped waits. */
static void test_for_objects(void **state)
{
        static const struct pw_quota five = { .host_bytes = UINT64_MAX, .device_bytes = UINT64_MAX, .objects = 5 };
        const struct pw_owner run = { PW_OWNER_RUN, 7 };
        struct host h;
        struct client *other;
        struct pw_store_grant grant;
        struct place places[5];
        struct pw_object *value;

        (void)state;
        open_host(&h, HOST);
        other = fixture_client(&h.f, "ann");
        assert_int_equal(pw_store_quota(h.f.store, "ann", &five, h.f.now_us, NULL), PW_OK);
        grant = fixture_grant(&h.f, h.ann, ROOM, 2);
        for (uint32_t i = 0; i < 2; i++)
                places[i] = fixture_put(h.ann, grant.first_slot + i);
        fixture_ref(&h.f, h.ann, places[0]);
        grant = fixture_grant_futures(&h.f, h.ann, 3);
        for (uint32_t i = 0; i < 3; i++)
                places[2 + i] = fixture_future(&h.f, grant.first_slot + i);
        assert_true(is_vain(&h, h.ann, true));
        assert_false(is_vain(&h, h.ann, false));
        assert_false(is_vain(&h, other, true));
        /* What a run alone holds comes back. */
        value = fixture_known(&h.f, places[0]);
        assert_int_equal(pw_store_hold(h.f.store, value, run, NULL), PW_OK);
        assert_true(is_vain(&h, h.ann, true));
        fixture_drop(&h.f, h.ann, places[0]);
        assert_true(is_vain(&h, h.ann, true));
        fixture_drop(&h.f, h.ann, places[0]);
        assert_false(is_vain(&h, h.ann, true));
        pw_store_release(h.f.store, value, run, h.f.now_us);
        fixture_close(&h.f);
}

/* No host memory is left for the slots of its results: somebody else's, or that of a run in flight, may come back. */
static void test_for_memory(void **state)
{
        const struct pw_decision done = { .status = PW_FAILED, .text = "" };
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct pw_room_request request;
        struct pw_object *results[2];

        (void)state;
        fixture_open(&f, HOST);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant_futures(&f, ann, 2);
        for (uint32_t i = 0; i < 2; i++) {
                struct pw_cell cell = fixture_cell(fixture_future(&f, grant.first_slot + i));

                assert_int_equal(pw_store_claim(f.store, ann->session, cell, 7 + i, NULL, &results[i], NULL), PW_OK);
        }
        fixture_grant(&f, ann, 0, 2); /* idle, and no memory */
        pw_store_overhead(f.store, 2 * HOST);
        request = futures_of(&f, ann, true);
        fixture_clear(&f);
        pw_store_room_request(f.store, &request);
        for (uint32_t i = 0; i < 2; i++) {
                assert_int_equal(fixture_count(&f, PW_STORE_REFUSE), 0);
                pw_store_decide(f.store, results[i], &done, f.now_us);
                assert_true(pw_store_reclaims(f.store));
                fixture_reclaim(&f);
        }
        assert_non_null(strstr(fixture_only(&f, PW_STORE_REFUSE)->text, "nothing is free, all held by this session"));
        assert_false(pw_store_waits_for_room(f.store, 0));
        fixture_clear(&f);
        fixture_client(&f, "bo");
        pw_store_room_request(f.store, &request);
        assert_int_equal(fixture_count(&f, PW_STORE_REFUSE), 0);
        pw_store_room_cancel(f.store, request.token);
        pw_store_overhead(f.store, -2 * (int64_t)HOST);
        fixture_close(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_for_objects), cmocka_unit_test(test_for_memory) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
