/* Scenes of draining: what others hold of a host that is to end, and where it is afterwards. */
#include "tests/world/cluster/hosts.h"

static struct { uint32_t count; struct object *object; struct pw_error err; } last; /* answer */

static void answered(uint32_t host, uint64_t opener, struct object *object, const struct pw_error *err)
{
        (void)host;
        (void)opener;
        last.count++;
        last.object = object;
        last.err = *err;
}

static void begin(uint32_t count)
{
        hosts_begin(1, count);
        world->calm = true;
        world->answered = answered;
        memset(&last, 0, sizeof last);
}

static uint64_t openers;

/* NULL: not had. */
static struct object *open_at(uint32_t host, const struct thing *thing)
{
        struct object *object;
        uint32_t before = last.count;
        enum pw_status status = store_open(host, thing, ++openers, world->now_us + 30 * SECOND, &object);

        if (status != PW_NOT_READY)
                last.err.status = status;
        for (uint64_t until_us = world->now_us + 31 * SECOND; status == PW_NOT_READY && last.count == before;) {
                assert_true(world->now_us < until_us);
                hosts_step(world->now_us + SECOND);
        }
        return status == PW_NOT_READY ? last.object : object;
}

/* All are called, so that each knows who is there. */
static void meet(void)
{
        struct object *object;

        for (uint32_t other = 1; other <= world->count; other++) {
                struct object *here = store_put(other, 64, true);

                for (uint32_t own = 1; own <= world->count; own++)
                        if (own != other && (object = open_at(own, here->thing)))
                                store_drop(own, object);
                store_drop(other, here);
        }
        hosts_go_on(SECOND);
        world->trace[0] = 0;
}

static enum pw_drain_state state_of(uint32_t host) { return pw_drain_state(world->hosts[host].drain); }

/* 3 holds what 1 has, and has not read it: 2 takes over, 3 moves there, and 1 ends without anybody noticing. A fourth one opens it
 * by its id before and afterwards. */
static void test_moves_to_the_successor(void **state)
{
        struct object *here, *there, *late;

        (void)state;
        begin(4);
        meet();
        here = store_put(1, LARGE_BYTES, true);
        there = open_at(3, here->thing);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        store_drop(1, here);
        hosts_go_on(SECOND);
        hosts_expect("3 proxy=1000003000002.65.1 from=none to=opening cause=ask\n"
                     "1 loan=2.4 from=none to=asked cause=open\n1 loan=2.4 from=asked to=ready cause=value\n"
                     "3 proxy=1000003000002.65.1 from=opening to=elsewhere cause=ready\n");
        hosts_drain(1, 0);
        hosts_go_on(SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        assert_int_equal(world->hosts[1].drained, 1);
        assert_int_equal(pw_borrow_successor(world->hosts[4].borrow, 1), 2);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        hosts_expect("1 drain=2 from=none to=drains cause=name\n"
                     "3 proxy=1000003000002.65.1 from=elsewhere to=moving cause=move\n"
                     "2 loan=2.5 from=none to=asked cause=open\n"
                     "2 proxy=1000003000002.65.1 from=none to=opening cause=ask\n"
                     "1 loan=1.4 from=none to=asked cause=open\n1 loan=1.4 from=asked to=ready cause=value\n"
                     "2 proxy=1000003000002.65.1 from=opening to=elsewhere cause=ready\n"
                     "2 proxy=1000003000002.65.1 from=elsewhere to=whole cause=have\n"
                     "2 proxy=1000003000002.65.1 from=whole to=alone cause=term\n"
                     "1 loan=1.4 from=ready to=none cause=release\n"
                     "2 loan=2.5 from=asked to=ready cause=value\n"
                     "3 proxy=1000003000002.65.1 from=moving to=elsewhere cause=ready\n"
                     "1 loan=2.4 from=ready to=none cause=release\n"
                     "1 drain=2 from=drains to=drained cause=empty\n");
        late = open_at(4, there->thing);
        assert_non_null(late);
        store_drop(4, late);
        hosts_go_on(SECOND);
        hosts_kill(1);
        hosts_go_on(10 * SECOND);
        late = open_at(4, there->thing);
        assert_non_null(late);
        store_read(3, there);
        hosts_go_on(SECOND);
        assert_int_equal(there->state, OBJECT_READY);
        store_drop(3, there);
        store_drop(4, late);
        hosts_go_on(SECOND);
        for (uint32_t host = 2; host <= 4; host++)
                assert_true(pw_list_empty(&world->hosts[host].objects));
        hosts_done();
}

/* What is whole is given back; what is not ready is waited for. */
static void test_waits_for_what_is_not_ready(void **state)
{
        struct object *small, *pending, *a, *b;

        (void)state;
        begin(3);
        meet();
        small = store_put(1, 64, true);
        pending = store_put(1, LARGE_BYTES, false);
        a = open_at(3, small->thing);
        b = open_at(3, pending->thing);
        hosts_drain(1, 3);
        hosts_go_on(SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINS);
        assert_int_equal(small->loans, 0);
        assert_int_equal(pending->loans, 1);
        store_decide(1, pending, OBJECT_READY);
        hosts_go_on(SECOND);
        assert_int_equal(b->state, OBJECT_READY); /* it takes over, so it has pulled it */
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        hosts_kill(1);
        hosts_go_on(10 * SECOND);
        assert_int_equal(a->state, OBJECT_READY);
        assert_int_equal(b->state, OBJECT_READY);
        hosts_done();
}

/* Who takes over hears of it last, and has refused by then: it is asked once more. */
static void test_successor_hears_late(void **state)
{
        struct object *here, *there;

        (void)state;
        begin(3);
        meet();
        here = store_put(1, LARGE_BYTES, true);
        there = open_at(3, here->thing);
        world->blocked_until_us[1][2] = world->now_us + SECOND;
        hosts_drain(1, 2);
        hosts_go_on(SECOND / 2);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINS);
        hosts_go_on(2 * SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        hosts_done();
}

static uint32_t count_in_trace(const char *what)
{
        uint32_t count = 0;

        for (const char *at = world->trace; (at = strstr(at, what)); at++)
                count++;
        return count;
}

/* It is dropped while who takes over is asked for it, and opened again: that is asked once. */
static void test_dropped_while_it_moves(void **state)
{
        struct object *here, *there;
        const struct thing *thing;

        (void)state;
        begin(3);
        meet();
        here = store_put(1, LARGE_BYTES, true);
        thing = here->thing;
        there = open_at(3, thing);
        world->hosts[2].stopped_until_us = world->now_us + SECOND;
        world->trace[0] = 0;
        hosts_drain(1, 2);
        hosts_go_on(SECOND / 4);
        assert_int_equal(count_in_trace("3 proxy=1000003000002.65.1 from=elsewhere to=moving cause=move\n"), 1);
        store_drop(3, there);
        hosts_go_on(SECOND / 4);
        there = open_at(3, thing);
        assert_non_null(there);
        assert_int_equal(count_in_trace("to=asked cause=open\n"), 2); /* of 2 by 3, and of 1 by 2 */
        store_drop(1, here);
        hosts_go_on(SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        hosts_done();
}

/* The successor is lost before it has taken over: the next one does. */
static void test_successor_is_lost(void **state)
{
        struct object *here, *there;

        (void)state;
        begin(4);
        meet();
        here = store_put(1, LARGE_BYTES, true);
        there = open_at(4, here->thing);
        world->hosts[2].stopped_until_us = world->now_us + 60 * SECOND;
        hosts_drain(1, 2);
        hosts_go_on(SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINS);
        hosts_go_on(10 * SECOND);
        assert_int_equal(pw_drain_successor(world->hosts[1].drain), 3);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        hosts_kill(1);
        hosts_go_on(10 * SECOND);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        store_read(4, there);
        hosts_go_on(SECOND);
        assert_int_equal(there->state, OBJECT_READY);
        hosts_done();
}

/* 3 has what 1 holds, which drains; 2 takes over, and was asked for it. What `from` says to `to` does not arrive. */
static struct object *ask_in_vain(uint32_t from, uint32_t to)
{
        struct object *there;

        begin(4);
        meet();
        there = open_at(3, store_put(1, LARGE_BYTES, true)->thing);
        world->blocked_until_us[from][to] = world->now_us + 60 * SECOND;
        hosts_drain(1, 2);
        hosts_go_on(SECOND / 10);
        world->trace[0] = 0;
        return there;
}

/* Who drains is killed before it has drained, and who takes over, which knows nothing of what it is asked, drains too, and ends
 * well. What is lost is lost with the first one: the other has never held it. */
static void test_asked_is_not_held(void **state)
{
        struct object *there;

        (void)state;
        there = ask_in_vain(3, 2);
        hosts_kill(1);
        hosts_drain(2, 4);
        hosts_go_on(2 * SECOND);
        assert_int_equal(state_of(2), PW_DRAIN_DRAINED);
        assert_true(hosts_in_one_term(2, 3));
        hosts_kill(2);
        hosts_go_on(10 * SECOND);
        hosts_expect("2 drain=4 from=none to=drains cause=name\n2 drain=4 from=drains to=drained cause=empty\n"
                     "3 proxy=1000003000002.65.1 from=moving to=following cause=term\n"
                     "3 proxy=1000003000002.65.1 from=following to=lost cause=term\n");
        assert_int_equal(there->state, OBJECT_LOST);
        assert_int_equal(there->left.host, 1);
        hosts_done();
}

/* Likewise, and who takes over is there, did not get it either, and says so. */
static void test_asked_has_it_not(void **state)
{
        struct object *there;

        (void)state;
        there = ask_in_vain(2, 1);
        world->blocked_until_us[1][3] = world->now_us + 60 * SECOND;
        hosts_go_on(SECOND);
        hosts_kill(1);
        hosts_go_on(10 * SECOND);
        hosts_expect("3 proxy=1000003000002.65.1 from=moving to=following cause=term\n"
                     "2 proxy=1000003000002.65.1 from=opening to=searching cause=search\n"
                     "2 proxy=1000003000002.65.1 from=searching to=none cause=refuse\n"
                     "2 loan=2.5 from=asked to=none cause=refuse\n"
                     "3 proxy=1000003000002.65.1 from=following to=lost cause=term\n");
        assert_int_equal(there->state, OBJECT_LOST);
        assert_int_equal(there->left.host, 1);
        assert_true(hosts_in_one_term(2, 3));
        hosts_done();
}

/* Likewise, and who drains is not killed but given up: what was held there ends with that term. When they meet again it has
 * drained, and ends well. That takes nothing along, though only afterwards it is known that nobody else has it. */
static void test_given_up_and_ends_well(void **state)
{
        struct object *there;

        (void)state;
        there = ask_in_vain(3, 2);
        world->blocked_until_us[1][3] = world->blocked_until_us[3][1] = world->now_us + 3200000;
        hosts_go_on(3200000);
        assert_non_null(open_at(1, store_put(3, 64, true)->thing));
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        assert_true(hosts_in_one_term(1, 3));
        hosts_kill(1);
        assert_int_equal(count_in_trace("1 loan=2.4 from=ready to=none cause=end\n"), 1);
        assert_int_equal(count_in_trace("3 proxy=1000003000002.65.1 from=moving to=following cause=term\n"), 1);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        hosts_go_on(10 * SECOND);
        assert_int_equal(there->state, OBJECT_LOST);
        assert_int_equal(there->left.host, 1);
        hosts_done();
}

/* Nobody is there to take over; then somebody is. Who drains is not chosen. */
static void test_last_host(void **state)
{
        struct pw_error err;

        (void)state;
        begin(2);
        assert_int_equal(pw_drain_begin(world->hosts[1].drain, &(struct pw_drain_request){ 1, 0, 0, 0 }, &err), PW_NOT_FOUND);
        assert_string_equal(err.text, "no other host is there that could take over: start one, or end this one, and what it has is "
                                      "lost");
        meet();
        assert_int_equal(pw_drain_begin(world->hosts[1].drain, &(struct pw_drain_request){ 1, 1, 0, 0 }, &err), PW_INVALID);
        assert_int_equal(pw_drain_begin(world->hosts[1].drain, &(struct pw_drain_request){ 1, 7, 0, 0 }, &err), PW_NOT_FOUND);
        hosts_drain(1, 0);
        hosts_go_on(SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        assert_int_equal(pw_drain_begin(world->hosts[2].drain, &(struct pw_drain_request){ 1, 1, 0, 0 }, &err), PW_BUSY);
        assert_int_equal(pw_drain_begin(world->hosts[2].drain, &(struct pw_drain_request){ 1, 0, 0, 0 }, &err), PW_NOT_FOUND);
        hosts_kill(2);
        hosts_go_on(10 * SECOND);
        assert_int_equal(state_of(1), PW_DRAIN_STRANDED);
        hosts_start(2);
        meet();
        assert_int_equal(state_of(1), PW_DRAIN_DRAINED);
        hosts_done();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_moves_to_the_successor),
                cmocka_unit_test(test_waits_for_what_is_not_ready),
                cmocka_unit_test(test_successor_hears_late),
                cmocka_unit_test(test_dropped_while_it_moves),
                cmocka_unit_test(test_successor_is_lost),
                cmocka_unit_test(test_asked_is_not_held),
                cmocka_unit_test(test_asked_has_it_not),
                cmocka_unit_test(test_given_up_and_ends_well),
                cmocka_unit_test(test_last_host),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
