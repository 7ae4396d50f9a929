/* Scenes of pulls, each message told. */
#include "tests/world/cluster/pulls.h"

static void begin(uint32_t hosts)
{
        pulls_begin(1, hosts);
        world->calm = true;
        world->trace_bytes = 1 << 20;
        world->trace = calloc(1, world->trace_bytes);
        assert_non_null(world->trace);
}

static void expect(const char *trace)
{
        assert_string_equal(world->trace, trace);
        world->trace[0] = 0;
}

static void test_three_chunks(void **state)
{
        uint32_t object;

        (void)state;
        begin(2);
        object = pulls_put(0, 3 * PW_PULL_CHUNK_BYTES, false);
        pulls_want(1, object);
        pulls_go_on(SECOND);
        expect("1 to 0: want\n"
               "0 to 1: named 0\n"
               "1 to 0: ask 0 by stream 1\n"
               "1 to 0: ask 1 by stream 0\n"
               "1 to 0: ask 2 by stream 1\n"
               "1 to 0: whole\n"
               "1: ready\n");
        assert_int_equal(world->sends_of[0], 3);
        pulls_drop(pulls_room(1, object));
        pulls_go_on(SECOND);
        expect("1 to 0: leave\n");
        assert_true(pulls_is_quiet());
        pulls_done();
}

/* Who comes while another pulls, and the home has enough of them, gets it from there, chunk by chunk. */
static void test_later_asker(void **state)
{
        uint32_t object;

        (void)state;
        begin(4);
        object = pulls_put(0, PW_PULL_CHUNK_BYTES, false);
        pulls_want(1, object);
        pulls_want(2, object);
        pulls_go_on(TICK_US * 2);
        pulls_want(3, object);
        pulls_go_on(SECOND);
        assert_non_null(strstr(world->trace, "0 to 3: named 1\n3 to 1: ask 0 by stream 1\n"));
        assert_non_null(strstr(world->trace, "1 to 3: wait\n"));
        assert_int_equal(world->sends_of[1], 1);
        for (uint32_t host = 1; host < 4; host++)
                assert_true(pulls_room(host, object)->is_ready);
        pulls_done();
}

/* Who is given up by its home takes nobody along: those who pulled from it get another source. */
static void test_source_lost(void **state)
{
        uint32_t object;

        (void)state;
        begin(4);
        object = pulls_put(0, 8 * PW_PULL_CHUNK_BYTES, false);
        for (uint32_t host = 1; host < 4; host++) {
                pulls_want(host, object);
                pulls_go_on(TICK_US);
        }
        pulls_go_on(TICK_US);
        pulls_kill_host(1);
        pulls_go_on(10 * SECOND);
        assert_non_null(strstr(world->trace, "0 to 3: named 1\n"));
        assert_true(strstr(world->trace, "0 to 3: named 0\n") || strstr(world->trace, "0 to 3: named 2\n"));
        assert_true(pulls_room(2, object)->is_ready && pulls_room(3, object)->is_ready);
        pulls_start_host(1);
        pulls_done();
}

/* A source that cannot be reached by one of its askers alone, which says so to the home; and one whose value is lost. */
static void test_source_fails(void **state)
{
        uint32_t object;

        (void)state;
        begin(4);
        object = pulls_put(0, 8 * PW_PULL_CHUNK_BYTES, false);
        for (uint32_t host = 1; host < 4; host++) {
                pulls_want(host, object);
                pulls_go_on(TICK_US);
        }
        pulls_pair(1, 3)->ways[0].blocked_until_us = pulls_pair(1, 3)->ways[1].blocked_until_us = 100 * SECOND;
        pulls_go_on(5 * SECOND);
        assert_non_null(strstr(world->trace, "3 to 0: report PW_HOST_LOST\n0 to 3: named "));
        assert_true(pulls_room(3, object)->is_ready);
        pulls_drop(pulls_room(3, object));
        pulls_go_on(SECOND);
        pulls_want(3, object);
        pulls_go_on(4 * TICK_US);
        pulls_lose(object);
        pulls_go_on(SECOND);
        assert_true(pulls_room(3, object)->is_ready);
        pulls_done();
}

/* A replica outlives its home, and is handed on as its home did; who gets it from there is known there. */
static void test_home_lost(void **state)
{
        uint32_t object;

        (void)state;
        begin(5);
        object = pulls_put(0, 2 * PW_PULL_CHUNK_BYTES, false);
        pulls_want(1, object);
        pulls_go_on(SECOND);
        pulls_kill_host(0);
        pulls_go_on(5 * SECOND);
        assert_true(pulls_room(1, object)->is_ready);
        world->trace[0] = 0;
        for (uint32_t host = 2; host < 5; host++) {
                pulls_want_of(host, object, 1);
                pulls_go_on(TICK_US);
        }
        pulls_go_on(SECOND);
        assert_non_null(strstr(world->trace, "1 to 2: named 1\n"));
        assert_non_null(strstr(world->trace, "1 to 3: named 1\n"));
        assert_non_null(strstr(world->trace, "1 to 4: named 2\n"));
        for (uint32_t host = 2; host < 5; host++)
                assert_true(pulls_room(host, object)->is_ready);
        assert_int_equal(world->sends_of[1], 4);
        pulls_start_host(0);
        pulls_done();
}

/* Who was away for longer than a lease says that it has it, when its home holds it for it again; it is a source then. */
static void test_known_again(void **state)
{
        uint32_t object;

        (void)state;
        begin(3);
        object = pulls_put(0, PW_PULL_CHUNK_BYTES, false);
        pulls_want(1, object);
        pulls_go_on(SECOND);
        pulls_pair(0, 1)->ways[0].blocked_until_us = pulls_pair(0, 1)->ways[1].blocked_until_us = world->now_us + 5 * SECOND;
        pulls_go_on(5 * SECOND);
        assert_null(strstr(world->trace, "have"));
        pulls_go_on(5 * SECOND); /* it is called again by itself, a lease after it was given up */
        assert_non_null(strstr(world->trace, "1 to 0: have\n"));
        pulls_check_known();
        pulls_done();
}

/* The room of who goes in the middle is let go of when its threads have reported. */
static void test_holder_goes(void **state)
{
        uint32_t object;

        (void)state;
        begin(2);
        object = pulls_put(0, 8 * PW_PULL_CHUNK_BYTES, true);
        pulls_want(1, object);
        pulls_go_on(TICK_US * 5);
        assert_false(pulls_room(1, object)->is_ready);
        pulls_drop(pulls_room(1, object));
        assert_non_null(strstr(world->trace, "1 to 0: stop\n"));
        assert_false(pulls_is_quiet());
        pulls_go_on(SECOND);
        assert_true(pulls_is_quiet());
        pulls_done();
}

struct tree { uint32_t depth, members, askers; };

static void see(void *context, const struct pw_pull_spread_row *row)
{
        struct tree *tree = context;

        tree->members++;
        tree->depth = row->depth > tree->depth ? row->depth : tree->depth;
        tree->askers = row->askers > tree->askers ? row->askers : tree->askers;
}

/* 1 object to 64 hosts: no source sends it more often than it has askers, all together as often as there are hosts. */
static void test_tree(void **state)
{
        const uint32_t hosts = 65, chunks = 8;
        struct tree tree = { 0 };
        uint64_t most = 0;
        uint32_t object;

        (void)state;
        begin(hosts);
        object = pulls_put(0, chunks * PW_PULL_CHUNK_BYTES, false);
        for (uint32_t host = 1; host < hosts; host++)
                pulls_want(host, object);
        pulls_go_on(TICK_US * 4);
        pw_pull_spread_each(world->hosts[0].spread, see, &tree);
        assert_int_equal(tree.members, hosts - 1);
        pulls_go_on(10 * SECOND);
        for (uint32_t host = 0; host < hosts; host++) {
                most = pw_max_u64(most, world->sends_of[host]);
                assert_true(!host || pulls_room(host, object)->is_ready);
        }
        print_message("1 object to %u hosts: depth %u, at most %u askers and %lu chunks sent by one source, %lu of %u by all\n",
                      hosts - 1, tree.depth, tree.askers, (unsigned long)most, (unsigned long)world->sends, (hosts - 1) * chunks);
        assert_int_equal(tree.depth, 6); /* 2 + 4 + 8 + 16 + 32, and 2 below them */
        assert_true(tree.askers <= ASKERS);
        assert_true(most <= ASKERS * chunks);
        assert_int_equal(world->sends, (hosts - 1) * chunks);
        pulls_done();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_three_chunks), cmocka_unit_test(test_later_asker), cmocka_unit_test(test_source_lost),
                cmocka_unit_test(test_source_fails), cmocka_unit_test(test_holder_goes), cmocka_unit_test(test_tree),
                cmocka_unit_test(test_home_lost), cmocka_unit_test(test_known_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
