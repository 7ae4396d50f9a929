/* Scenes of borrowing: what hosts hold of each other, and what becomes of it. */
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

/* `host` opens it, and is answered within 30 s. NULL: not had. */
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

/* B opens an object of A, drops it, A frees it. */
static void test_open_and_drop(void **state)
{
        struct object *here, *there;
        struct thing *thing;

        (void)state;
        begin(2);
        here = store_put(1, 1000, true);
        thing = here->thing;
        there = open_at(2, thing);
        assert_non_null(there);
        assert_int_equal(there->state, OBJECT_READY);
        store_drop(1, here);
        hosts_go_on(SECOND);
        assert_true(thing->is_there);
        hosts_expect("2 proxy=1000003000001.65.1 from=none to=opening cause=ask\n"
                     "1 loan=1.1 from=none to=asked cause=open\n1 loan=1.1 from=asked to=ready cause=value\n"
                     "2 proxy=1000003000001.65.1 from=opening to=whole cause=have\n");
        store_drop(2, there);
        hosts_go_on(SECOND);
        assert_false(thing->is_there);
        hosts_expect("2 proxy=1000003000001.65.1 from=whole to=none cause=free\n"
                     "1 loan=1.1 from=ready to=none cause=release\n");
        assert_null(open_at(2, thing));
        assert_int_equal(last.err.status, PW_GONE);
        assert_string_equal(last.err.text, "host 1 says: it is gone");
        hosts_done();
}

/* Who opens what is not decided waits for its value as he would at home; a second one needs no answer. */
static void test_pending(void **state)
{
        struct object *here, *there;

        (void)state;
        begin(2);
        here = store_put(1, LARGE_BYTES, false);
        there = open_at(2, here->thing);
        assert_int_equal(there->state, OBJECT_PENDING);
        assert_ptr_equal(open_at(2, here->thing), there);
        assert_int_equal(last.count, 1);
        store_decide(1, here, OBJECT_READY);
        hosts_go_on(SECOND);
        assert_int_equal(there->state, OBJECT_ELSEWHERE);
        store_read(2, there);
        hosts_go_on(SECOND);
        assert_int_equal(there->state, OBJECT_READY);
        store_decide(1, here, OBJECT_LOST); /* no matter: it is here */
        store_drop(2, there);
        hosts_go_on(SECOND);
        hosts_expect("2 proxy=1000003000001.65.1 from=none to=opening cause=ask\n"
                     "1 loan=1.1 from=none to=asked cause=open\n1 loan=1.1 from=asked to=pending cause=held\n"
                     "2 proxy=1000003000001.65.1 from=opening to=pending cause=hold\n"
                     "1 loan=1.1 from=pending to=ready cause=value\n"
                     "2 proxy=1000003000001.65.1 from=pending to=elsewhere cause=ready\n"
                     "2 proxy=1000003000001.65.1 from=elsewhere to=whole cause=have\n"
                     "1 loan=1.1 from=ready to=ended cause=error\n2 proxy=1000003000001.65.1 from=whole to=whole cause=end\n");
        store_drop(2, there);
        hosts_go_on(SECOND);
        hosts_expect("2 proxy=1000003000001.65.1 from=whole to=none cause=free\n"
                     "1 loan=1.1 from=ended to=none cause=release\n");
        hosts_done();
}

/* Nobody waits any more: the reference that was asked for is given back when the answer comes, not before. */
static void test_forgotten(void **state)
{
        struct object *here, *object;

        (void)state;
        begin(2);
        here = store_put(1, 64, true);
        assert_int_equal(store_open(2, here->thing, 7, UINT64_MAX, &object), PW_NOT_READY);
        pw_borrow_forget(world->hosts[2].borrow, 7);
        hosts_go_on(SECOND);
        assert_int_equal(last.count, 0);
        hosts_expect("2 proxy=1000003000001.65.1 from=none to=opening cause=ask\n"
                     "1 loan=1.1 from=none to=asked cause=open\n1 loan=1.1 from=asked to=ready cause=value\n"
                     "2 proxy=1000003000001.65.1 from=opening to=none cause=free\n"
                     "1 loan=1.1 from=ready to=none cause=release\n");
        hosts_done();
}

/* A was given up by B: what B has whole stays good, the rest is lost; a later open has nothing of that; when A is back its replicas
 * are opened again, and A keeps them though nobody there holds them. */
static void test_given_up(void **state)
{
        struct object *small, *large, *whole, *lost;
        struct thing *thing;

        (void)state;
        begin(2);
        small = store_put(1, 64, true);
        large = store_put(1, LARGE_BYTES, true);
        thing = small->thing;
        whole = open_at(2, thing);
        lost = open_at(2, large->thing);
        world->hosts[1].stopped_until_us = world->now_us + 10 * SECOND;
        hosts_go_on(4 * SECOND);
        assert_int_equal(whole->state, OBJECT_READY);
        assert_int_equal(lost->state, OBJECT_LOST);
        assert_int_equal(lost->status, PW_HOST_LOST);
        assert_ptr_equal(open_at(2, thing), whole);
        assert_null(open_at(2, large->thing));
        assert_int_equal(last.err.status, PW_HOST_LOST);
        assert_string_equal(last.err.text, "host 1 is lost in its epoch 101, and no other has a replica");
        hosts_go_on(4 * SECOND);
        assert_true(thing->is_there); /* it was stopped, and knows nothing of it */
        world->trace[0] = 0;
        hosts_go_on(4 * SECOND);
        hosts_expect("1 loan=1.1 from=ready to=none cause=end\n1 loan=1.2 from=ready to=none cause=end\n"
                     "2 proxy=1000003000001.65.1 from=alone to=renewing cause=ask\n"
                     "1 loan=2.3 from=none to=asked cause=open\n1 loan=2.3 from=asked to=ready cause=value\n"
                     "2 proxy=1000003000001.65.1 from=renewing to=whole cause=have\n");
        assert_int_equal(world->renewed, 1);
        store_drop(1, small);
        hosts_go_on(SECOND);
        assert_true(thing->is_there);
        assert_int_equal(open_at(2, large->thing)->state, OBJECT_ELSEWHERE); /* its id is as good as before */
        hosts_done();
}

/* Its home is dead: B hands its replica on to C as the home did. What nobody has is lost, and not searched for a lease. */
static void test_lost_home(void **state)
{
        struct object *here, *there, *third;
        struct thing *thing, *other;

        (void)state;
        begin(4);
        here = store_put(1, 64, true);
        thing = here->thing;
        other = store_put(1, 64, true)->thing;
        there = open_at(2, thing);
        assert_non_null(open_at(4, store_put(3, 64, true)->thing)); /* so that they have met */
        assert_non_null(open_at(3, store_put(2, 64, true)->thing));
        hosts_kill(1);
        world->trace[0] = 0;
        third = open_at(3, thing);
        assert_int_equal(third->state, OBJECT_READY);
        store_drop(2, there);
        hosts_go_on(SECOND);
        assert_int_equal(third->state, OBJECT_READY);
        hosts_expect("3 proxy=1000003000001.65.1 from=none to=opening cause=ask\n" /* nobody knows better, for a lease */
                     "2 proxy=1000003000001.65.1 from=whole to=alone cause=term\n"
                     "3 proxy=1000003000001.65.1 from=opening to=searching cause=search\n"
                     "3 proxy=1000003000001.65.1 from=searching to=opening cause=ask\n"
                     "2 loan=1.5 from=none to=asked cause=open\n2 loan=1.5 from=asked to=ready cause=value\n"
                     "3 proxy=1000003000001.65.1 from=opening to=whole cause=have\n");
        assert_null(open_at(3, other));
        assert_int_equal(last.err.status, PW_HOST_LOST);
        assert_int_equal(last.count, 5);
        assert_null(open_at(3, other));
        assert_int_equal(last.count, 5); /* at once */
        hosts_go_on(LEASE_US);
        assert_null(open_at(3, other));
        assert_int_equal(last.count, 6); /* asked for once more */
        hosts_done();
}

/* One search under way for a lost host: what is opened meanwhile waits for the next, of many ids. */
static void test_one_search(void **state)
{
        struct thing *things[600];
        struct object *object;
        uint64_t works;

        (void)state;
        begin(3);
        for (uint32_t i = 0; i < 600; i++)
                things[i] = store_put(1, 64, true)->thing;
        assert_non_null(open_at(2, things[0]));
        assert_non_null(open_at(3, store_put(2, 64, true)->thing));
        hosts_kill(1);
        assert_non_null(open_at(3, things[0])); /* gives it up */
        works = world->hosts[3].links[2]->works_sent;
        last.count = 0;
        for (uint32_t i = 1; i < 600; i++) {
                assert_int_equal(store_open(3, things[i], 1000 + i, UINT64_MAX, &object), PW_NOT_READY);
                if (i % 50 == 0)
                        hosts_step(world->now_us + 100);
        }
        hosts_go_on(SECOND);
        assert_int_equal(last.count, 599);
        works = world->hosts[3].links[2]->works_sent - works;
        assert_in_range(works, 3, 12); /* searches: three at least, and few */
        hosts_done();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_open_and_drop), cmocka_unit_test(test_pending),
                                            cmocka_unit_test(test_forgotten), cmocka_unit_test(test_given_up),
                                            cmocka_unit_test(test_lost_home), cmocka_unit_test(test_one_search) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
