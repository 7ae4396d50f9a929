/* Scenes of a link: meeting, giving up, breaks, credits, and what is not believed. */
#include "cluster/link/link_ends_test.h"

static void test_meet_and_give_up(void **state)
{
        (void)state;
        ends_begin(1);
        scene->calm = true;
        ends_say(0, false);
        ends_go_on(100000);
        ends_expect("link=5.1 from=idle to=calling cause=want\n" "link=5.1 from=calling to=up cause=meet\n"
               "link=4.1 from=idle to=up cause=meet\n");
        assert_int_equal(scene->ends[1].arrived, 1);
        assert_true(pw_list_empty(&scene->ends[0].link->kept)); /* acknowledged */
        scene->ends[1].stopped_until_us = scene->now_us + 5 * SECOND;
        ends_say(0, false);
        ends_go_on(4 * SECOND);
        ends_expect("link=5.1 from=up to=away cause=give_up\n");
        assert_int_equal(scene->ends[0].given_up, 1);
        ends_go_on(2 * SECOND); /* the other side wakes, and has lost its connection */
        ends_say(1, false);
        ends_go_on(SECOND);
        assert_int_equal(scene->ends[1].link->term, 2);
        assert_int_equal(scene->ends[0].link->term, 2);
        assert_int_equal(scene->ends[0].link->state, PW_LINK_UP);
        assert_int_equal(scene->ends[1].link->state, PW_LINK_UP);
        ends_done();
}

/* It is called again, and given up again; returns after how many leases the next try is. */
static uint64_t next_try(struct pw_link *link, struct pw_error *ret_why)
{
        uint64_t again_us = pw_link_next_us(link);

        assert_int_equal(pw_link_turn(link, again_us - 1, ret_why), PW_LINK_NOTHING);
        assert_int_equal(pw_link_turn(link, again_us, ret_why), PW_LINK_CALL);
        assert_int_equal(link->state, PW_LINK_CALLING);
        assert_int_equal(pw_link_seen(link), PW_LINK_AWAY); /* nobody wants it */
        assert_int_equal(pw_link_turn(link, again_us + LEASE_US - 1, ret_why), PW_LINK_NOTHING);
        assert_int_equal(pw_link_turn(link, again_us + LEASE_US, ret_why), PW_LINK_GAVE_UP);
        return (pw_link_next_us(link) - again_us - LEASE_US) / LEASE_US;
}

/* Who is away is called now and then, though nobody has anything for it: when the network is whole again, the two meet. */
static void test_away_is_called_again(void **state)
{
        const struct pw_link_params params = { .own = 4, .host = 5, .own_epoch = 9, .lease_us = LEASE_US, .beat_us = BEAT_US,
                                               .window = WINDOW, .kept_bytes_max = 1000 };
        const struct pw_link_peer peer = { .epoch = 7, .instance = 8, .stand = { .term = 90 } };
        static const uint64_t pauses[] = { 2, 4, 8, 16, 32, 32, 32 };
        struct pw_link_met met;
        struct pw_link *link;
        struct pw_error err;
        uint64_t since_us;

        (void)state;
        assert_int_equal(pw_link_new(&params, &link, &err), PW_OK);
        assert_int_equal(pw_link_next_us(link), UINT64_MAX); /* nobody wants it */
        pw_link_want(link, SECOND);
        assert_int_equal(pw_link_turn(link, SECOND, &err), PW_LINK_CALL);
        assert_int_equal(pw_link_turn(link, SECOND + LEASE_US, &err), PW_LINK_GAVE_UP);
        since_us = link->since_us;
        assert_int_equal(pw_link_next_us(link), SECOND + 2 * LEASE_US);
        for (uint32_t i = 0; i < sizeof pauses / sizeof *pauses; i++)
                assert_int_equal(next_try(link, &err), pauses[i]);
        assert_int_equal(link->since_us, since_us); /* it was away all the time */
        assert_int_equal(pw_link_meet(link, &peer, 1000 * SECOND, &met, &err), PW_OK);
        assert_int_equal(link->since_us, 1000 * SECOND);
        assert_true(pw_link_give_up(link, 1001 * SECOND));
        assert_int_equal(pw_link_next_us(link), 1001 * SECOND + LEASE_US);
        pw_link_free(link);
}

/* Since when a link is as it is, and how long a round trip takes: known as soon as something was said and is known to be there. */
static void test_since_and_round_trip(void **state)
{
        const struct pw_link *link;
        uint64_t since_us, gone_us;

        (void)state;
        ends_begin(6);
        scene->calm = true;
        link = scene->ends[0].link;
        assert_int_equal(link->since_us, 0);
        assert_int_equal(link->round_us, 0);
        ends_say(0, false);
        since_us = scene->now_us;
        assert_int_equal(link->since_us, since_us); /* it calls */
        ends_go_on(SECOND);
        assert_true(link->since_us > since_us && link->since_us < scene->now_us);
        assert_true(link->round_us > 0 && link->round_us < 100000);
        assert_int_equal(link->timed, 0);
        since_us = link->since_us;
        for (uint32_t i = 0; i < 20; i++) {
                ends_say(0, false);
                ends_go_on(SECOND);
                assert_true(link->round_us > 0 && link->round_us < 100000);
        }
        assert_int_equal(link->since_us, since_us);
        gone_us = scene->now_us;
        scene->ends[1].stopped_until_us = gone_us + 10 * SECOND;
        ends_say(0, false);
        ends_go_on(4 * SECOND);
        assert_int_equal(link->state, PW_LINK_AWAY);
        assert_true(link->since_us > gone_us && link->since_us <= gone_us + 3 * SECOND + BEAT_US);
        assert_int_equal(link->timed, 0); /* what was under way says nothing of the next term */
        ends_done();
}

/* A connection that breaks costs nothing. */
static void test_breaks(void **state)
{
        (void)state;
        ends_begin(2);
        scene->calm = true;
        for (uint32_t i = 0; i < 50; i++) {
                ends_say(0, false);
                ends_say(1, false);
                ends_go_on(ends_below(3000));
                for (uint32_t c = 0; c < CONNECTIONS; c++) {
                        ends_shut(&scene->connections[c], 0);
                        ends_shut(&scene->connections[c], 1);
                }
        }
        ends_go_on(SECOND);
        assert_int_equal(scene->ends[0].arrived, 50);
        assert_int_equal(scene->ends[1].arrived, 50);
        assert_int_equal(scene->ends[0].link->term, 1);
        ends_done();
}

static void test_credits(void **state)
{
        struct pw_link *link;

        (void)state;
        ends_begin(3);
        scene->calm = true;
        link = scene->ends[0].link;
        for (uint32_t i = 0; i < 3 * WINDOW; i++)
                ends_say(0, true);
        assert_int_equal(link->works_sent, 0); /* nobody has said how many */
        ends_go_on(SECOND);
        assert_int_equal(scene->ends[1].arrived, 3 * WINDOW);
        assert_true(pw_list_empty(&link->waiting));
        ends_done();
}

/* Work that waits for credits may be more than a side may leave untaken: it is not what the other one does not take. */
static void test_waiting_is_not_choked(void **state)
{
        struct pw_link *link;

        (void)state;
        ends_begin(7);
        scene->calm = true;
        link = scene->ends[0].link;
        link->params.kept_bytes_max = 100 * WINDOW;
        ends_say(0, false);
        ends_go_on(SECOND);
        scene->ends[1].stopped_until_us = scene->now_us + SECOND;
        for (uint32_t i = 0; i < 100 * WINDOW; i++)
                ends_say(0, true);
        ends_go_on(5 * SECOND);
        assert_int_equal(scene->ends[0].given_up, 0);
        assert_int_equal(scene->ends[1].arrived, 1 + 100 * WINDOW);
        assert_int_equal(link->kept_bytes, 0);
        ends_done();
}

static enum pw_status try(const struct pw_link_head *head, char text[500])
{
        struct pw_link *link = scene->ends[0].link;
        struct pw_error err = { 0 };
        enum pw_status status = pw_link_receive(link, link->connection, head, scene->now_us, &err);

        snprintf(text, 500, "%s", err.text);
        return status;
}

/* What cannot be is not believed, and changes nothing. */
static void test_wrong_heads(void **state)
{
        static const struct { struct pw_link_head head; const char *says; } wrong[] = {
                { { 1, 2, 0, false, { 0, 0, 0 }, 0 }, "host 5 has a frame that was never sent, 2" },
                { { 3, 1, 0, false, { 0, 0, 0 }, 0 }, "host 5 left frames out before 3" },
                { { 0, 0, UINT64_MAX, false, { 0, 0, 0 }, 0 }, "host 5 has a window of 18446744073709551615" },
        };
        struct pw_link_head work = { 2, 1, WINDOW, true, { 0, 0, 0 }, 0 };
        struct pw_link *link;
        char text[500];

        (void)state;
        ends_begin(4);
        scene->calm = true;
        ends_say(0, false);
        ends_say(1, false);
        ends_go_on(SECOND);
        link = scene->ends[0].link;
        for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                assert_int_equal(try(&wrong[i].head, text), PW_PROTOCOL);
                assert_string_equal(text, wrong[i].says);
        }
        assert_int_equal(link->received, 1);
        for (; work.number < 2 + WINDOW; work.number++)
                assert_int_equal(try(&work, text), PW_OK);
        assert_int_equal(try(&work, text), PW_PROTOCOL);
        assert_string_equal(text, "host 5 has no credit for the work in frame 10");
        assert_int_equal(pw_link_receive(link, link->connection - 1, &work, scene->now_us, NULL), PW_GONE);
        ends_done();
}

static void test_wrong_peers(void **state)
{
        struct pw_link_peer known, peer;
        struct pw_link_met met;
        struct pw_error err;
        struct pw_link *link;

        (void)state;
        ends_begin(5);
        scene->calm = true;
        ends_say(0, false);
        ends_go_on(SECOND);
        link = scene->ends[0].link;
        known = ends_hello(1);
        peer = known, peer.epoch--;
        assert_int_equal(pw_link_meet(link, &peer, scene->now_us, &met, &err), PW_PROTOCOL);
        assert_string_equal(err.text, "host 5 says epoch 100, and had 101 before: an earlier pathwaysd");
        peer = known, peer.instance++;
        assert_int_equal(pw_link_meet(link, &peer, scene->now_us, &met, &err), PW_EXISTS);
        assert_non_null(strstr(err.text, "a machine that was cloned"));
        peer = known, peer.stand.received = 2;
        assert_int_equal(pw_link_meet(link, &peer, scene->now_us, &met, &err), PW_PROTOCOL);
        peer = known, peer.stand.term = 0;
        assert_int_equal(pw_link_meet(link, &peer, scene->now_us, &met, &err), PW_PROTOCOL);
        link->term = 2;
        assert_int_equal(pw_link_meet(link, &known, scene->now_us, &met, &err), PW_BUSY);
        assert_string_equal(err.text, "host 5 said where it stands in term 1 before the two met in term 2: call again");
        assert_int_equal(link->state, PW_LINK_UP);
        ends_done();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_meet_and_give_up), cmocka_unit_test(test_since_and_round_trip),
                                            cmocka_unit_test(test_away_is_called_again),
                                            cmocka_unit_test(test_breaks),           cmocka_unit_test(test_credits),
                                            cmocka_unit_test(test_waiting_is_not_choked),
                                            cmocka_unit_test(test_wrong_heads),      cmocka_unit_test(test_wrong_peers) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
