/* Scenes of a peer: who it is, which connection is theirs, and who is not believed. */
#include "cluster/link/link_ends_test.h"

/* What end 0 is told by one that says that it is host 5. */
static struct pw_hello theirs(void)
{
        struct pw_hello hello = scene->ends[1].own;

        hello.peer.stand = pw_link_stand(scene->ends[1].link);
        return hello;
}

/* Of a connection that end 1 has begun, by a number that nobody else has. */
static uint64_t come(void)
{
        struct connection *connection = &scene->connections[++scene->numbers % CONNECTIONS];

        *connection = (struct connection){ .number = scene->numbers, .open = { true, true } };
        return connection->number;
}

static bool is_open(uint64_t number) { return scene->connections[number % CONNECTIONS].open[0]; }

static void refused(const struct pw_hello *hello, const char *proven, enum pw_status wanted, const char *says)
{
        uint64_t number = come();
        struct pw_error err = { 0 };

        assert_int_equal(pw_peer_hello(scene->ends[0].peer, number, hello, proven, scene->now_us, &err), wanted);
        assert_string_equal(err.text, says);
        assert_false(is_open(number));
        assert_int_equal(scene->ends[0].link->state, PW_LINK_IDLE);
}

static void test_who_is_refused(void **state)
{
        struct pw_hello hello;

        (void)state;
        ends_begin(1);
        scene->calm = true;
        hello = theirs(), hello.version = 2;
        refused(&hello, NULL, PW_UNSUPPORTED,
                "host h5 speaks version 2 of what daemons say to each other, this one 1: install one release on both");
        hello = theirs();
        refused(&hello, "h6", PW_DENIED,
                "who says that it is host h5 has the certificate of h6: give each host a certificate of its own name, or see "
                "--host-name");
        hello = theirs(), hello.cluster = "d";
        refused(&hello, "h5", PW_DENIED, "host h5 is of cluster d, this one of c: see --cluster");
        hello = theirs(), hello.incarnation = 10;
        refused(&hello, NULL, PW_EXISTS,
                "host h5 is of another cluster that is called c too, founded apart (000000000000000a, this one "
                "0000000000000009): one of the two has to be given up, with the state dirs of its hosts");
        hello = theirs(), hello.host = 4;
        refused(&hello, NULL, PW_EXISTS,
                "host h5 says that it has number 4, which is this host's, h4: a state dir that was copied; give each host one of "
                "its own");
        hello = theirs(), hello.host = 6;
        refused(&hello, NULL, PW_EXISTS, "host h5 says that it has number 6; who was called is host 5, h5");
        hello = theirs(), hello.name = "h7";
        refused(&hello, NULL, PW_EXISTS,
                "host 5 is h5 here, and says that it is h7: a state dir that was copied; give each host one of its own");
        hello = theirs(), hello.met = true;
        refused(&hello, NULL, PW_PROTOCOL, "host h5 has met before it was told whom");
        ends_done();
}

/* Both call at the same moment: one connection is left, the same for both. */
static void test_both_call(void **state)
{
        uint32_t open = 0;

        (void)state;
        for (uint32_t later_us = 0; later_us < 2000; later_us += 100, open = 0) {
                ends_begin(1);
                scene->calm = true;
                ends_say(0, false);
                ends_go_on(later_us);
                ends_say(1, false);
                ends_go_on(100000);
                for (uint32_t i = 0; i < CONNECTIONS; i++) {
                        assert_int_equal(scene->connections[i].open[0], scene->connections[i].open[1]);
                        open += scene->connections[i].open[0];
                }
                assert_int_equal(open, 1);
                assert_true(scene->ends[0].link->connection <= 3 && scene->numbers <= 3);
                assert_int_equal(scene->ends[0].arrived, 1);
                assert_int_equal(scene->ends[1].arrived, 1);
                ends_done();
        }
}

/* Nobody was there: called again after a pause, with nobody given up. */
static void test_call_again(void **state)
{
        (void)state;
        ends_begin(1);
        scene->calm = true;
        ends_say(0, false);
        for (uint32_t i = 1; i < 4; i++) {
                for (uint32_t ms = 0; scene->numbers < i && ms < 200; ms++)
                        ends_go_on(1000);
                assert_int_equal(scene->numbers, i);
                ends_shut(&scene->connections[i], 1);
                ends_shut(&scene->connections[i], 0);
                assert_int_equal(scene->ends[0].link->state, PW_LINK_CALLING);
        }
        ends_go_on(SECOND);
        assert_int_equal(scene->ends[0].link->state, PW_LINK_UP);
        assert_int_equal(scene->ends[0].given_up, 0);
        ends_done();
}

/* End 0 calls until that call comes; its number. */
static uint64_t await_call(void)
{
        uint64_t before = scene->numbers;

        for (uint32_t ms = 0; scene->numbers == before && ms < 200; ms++)
                ends_go_on(1000);
        assert_int_equal(scene->numbers, before + 1);
        return scene->numbers;
}

static void refuse_call(uint32_t addresses)
{
        uint64_t number = await_call();

        scene->connections[number % CONNECTIONS].open[0] = scene->connections[number % CONNECTIONS].open[1] = false;
        scene->ends[0].heard_of_end = true;
        pw_peer_refused(scene->ends[0].peer, number, addresses, scene->now_us);
        assert_true(pw_peer_next_us(scene->ends[0].peer) > scene->now_us); /* nothing of that call is left */
}

/* Who has ended is given up as soon as all its addresses have said so, one after the other; who was never met is called on. */
static void test_ended(void **state)
{
        const struct pw_link *link;
        uint64_t cut_us;

        (void)state;
        ends_begin(1);
        scene->calm = true;
        link = scene->ends[0].link;
        scene->ends[1].stopped_until_us = UINT64_MAX;
        ends_say(0, false);
        refuse_call(1);
        refuse_call(1);
        assert_int_equal(link->state, PW_LINK_CALLING);
        scene->ends[1].stopped_until_us = 0;
        ends_go_on(SECOND);
        assert_int_equal(link->state, PW_LINK_UP);
        scene->ends[1].stopped_until_us = UINT64_MAX;
        cut_us = scene->now_us;
        for (uint32_t i = 0; i < CONNECTIONS; i++)
                ends_shut(&scene->connections[i], 0), ends_shut(&scene->connections[i], 1);
        refuse_call(2);
        ends_shut(&scene->connections[await_call() % CONNECTIONS], 0); /* that one was not refused */
        refuse_call(2);
        assert_int_equal(link->state, PW_LINK_CUT);
        assert_int_equal(scene->ends[0].given_up, 0);
        refuse_call(2);
        assert_int_equal(link->state, PW_LINK_AWAY);
        assert_int_equal(link->term, 2);
        assert_int_equal(scene->ends[0].given_up, 1);
        assert_true(scene->now_us < cut_us + LEASE_US / 10);
        ends_done();
}

static void test_out_of_turn(void **state)
{
        struct pw_peer *peer;
        struct pw_hello hello;
        struct pw_error err;
        uint64_t met, other;

        (void)state;
        ends_begin(1);
        scene->calm = true;
        peer = scene->ends[0].peer;
        hello = theirs();
        met = come();
        assert_int_equal(pw_peer_hello(peer, met, &hello, "h5", scene->now_us, &err), PW_OK);
        assert_int_equal(scene->ends[0].link->state, PW_LINK_UP);
        /* another one, of the same process: the one before is shut */
        other = come();
        assert_int_equal(pw_peer_hello(peer, other, &hello, "h5", scene->now_us, &err), PW_OK);
        assert_true(is_open(other) && !is_open(met));
        assert_int_equal(pw_peer_head(peer, met, &(struct pw_link_head){ 0 }, scene->now_us, &err), PW_GONE);
        assert_int_equal(pw_peer_hello(peer, other, &hello, "h5", scene->now_us, &err), PW_PROTOCOL);
        assert_string_equal(err.text, "host h5 says twice who it is");
        assert_false(is_open(other));
        assert_int_equal(scene->ends[0].link->state, PW_LINK_CUT);
        ends_done();
}

/* End 1 does not decide: it waits to be told that they have met, and believes no frame before. */
static void test_frame_before_met(void **state)
{
        struct pw_peer *peer;
        struct pw_hello hello;
        struct pw_error err;
        uint64_t number;

        (void)state;
        ends_begin(1);
        scene->calm = true;
        peer = scene->ends[1].peer;
        hello = scene->ends[0].own;
        hello.peer.stand = pw_link_stand(scene->ends[0].link);
        number = come();
        assert_int_equal(pw_peer_hello(peer, number, &hello, NULL, scene->now_us, &err), PW_OK);
        assert_int_equal(scene->ends[1].link->state, PW_LINK_IDLE);
        assert_int_equal(pw_peer_head(peer, number, &(struct pw_link_head){ .number = 1 }, scene->now_us, &err), PW_PROTOCOL);
        assert_string_equal(err.text, "host h4 sends before it has met");
        assert_false(scene->connections[number % CONNECTIONS].open[1]);
        ends_done();
}

/* Calls that say nothing more: the oldest makes room for another, and each is shut after a lease. */
static void test_silent_calls(void **state)
{
        uint64_t numbers[PW_PEER_CALLS + 1];
        struct pw_peer *peer;
        struct pw_hello hello;
        struct pw_error err;

        (void)state;
        ends_begin(1);
        scene->calm = true;
        peer = scene->ends[1].peer;
        hello = scene->ends[0].own;
        hello.peer.stand = pw_link_stand(scene->ends[0].link);
        for (uint32_t i = 0; i <= PW_PEER_CALLS; i++) {
                numbers[i] = come();
                assert_int_equal(pw_peer_hello(peer, numbers[i], &hello, NULL, scene->now_us++, &err), PW_OK);
        }
        assert_false(scene->connections[numbers[0] % CONNECTIONS].open[1]);
        assert_true(scene->connections[numbers[1] % CONNECTIONS].open[1]);
        assert_true(pw_peer_next_us(peer) <= scene->now_us + LEASE_US);
        pw_peer_turn(peer, scene->now_us + LEASE_US);
        for (uint32_t i = 1; i <= PW_PEER_CALLS; i++)
                assert_false(scene->connections[numbers[i] % CONNECTIONS].open[1]);
        assert_int_equal(pw_peer_next_us(peer), UINT64_MAX);
        ends_done();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who_is_refused), cmocka_unit_test(test_both_call), cmocka_unit_test(test_call_again),
                cmocka_unit_test(test_ended), cmocka_unit_test(test_out_of_turn), cmocka_unit_test(test_frame_before_met),
                cmocka_unit_test(test_silent_calls),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
