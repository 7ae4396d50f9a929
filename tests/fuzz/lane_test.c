/* Records that name a result which nobody makes: other lanes are looked at for it once, not once for each record; what they do make
 * is found all the same. */
#include "daemon/client/lane.h"
#include "tests/fuzz/stand_in/host.h"

#include <time.h>

#define FULL_LANES 8u
#define RECORDS 4000u

static uint64_t cpu_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What it takes to read so many references to `place` in a lane, while there is one in each other lane. */
static uint64_t time_of(struct fuzz_host *host, struct place place)
{
        struct fuzz_client *client = &host->clients[0];
        const struct pw_cell ref = pw_cell_object(PW_RING_REF, place.segment, place.slot, place.generation);
        uint64_t since_ns;
        uint32_t records = 0;

        for (uint32_t i = 0; i < PW_LANES_MAX - 1; i++)
                for (uint32_t j = 0; j < (i ? 1 : RECORDS); j++)
                        fuzz_host_cell(client, i, ref);
        since_ns = cpu_ns();
        while (records < RECORDS + PW_LANES_MAX - 2) /* in parts */
                records += pw_lanes_drain(&client->session);
        return cpu_ns() - since_ns;
}

static void test_nobody_makes_it(void **state)
{
        static struct fuzz_host host;
        struct fuzz_client *client = &host.clients[0];
        uint64_t made_ns, unmade_ns;

        (void)state;
        fuzz_host_open(&host);
        fuzz_host_turn(&host);
        atomic_store(&client->session.control->lane_count, PW_LANES_MAX - 1);
        made_ns = time_of(&host, host.result);
        unmade_ns = time_of(&host, fixture_future(&host.fixture, client->futures.first_slot));
        if (unmade_ns > 20 * made_ns)
                fail_msg("%llu us where nobody makes it, %llu us where it is made", (unsigned long long)unmade_ns / 1000,
                         (unsigned long long)made_ns / 1000);
        fuzz_host_close(&host);
}

/* In one round: a name of nobody's first, then one that another lane makes; of the session, then of another. */
static void test_others_are_found(void **state)
{
        static struct fuzz_host host;
        struct fuzz_client *client = &host.clients[0];
        struct pw_cell unmade, made[4], input;
        struct place none;

        (void)state;
        fuzz_host_open(&host);
        fuzz_host_turn(&host);
        none = fixture_future(&host.fixture, client->futures.first_slot);
        unmade = pw_cell_object(PW_RING_REF, none.segment, none.slot, none.generation);
        for (uint32_t i = 0; i < 4; i++)
                made[i] = fuzz_host_operand(fixture_future(&host.fixture, client->futures.first_slot + 1 + i));
        input = fuzz_host_operand(host.kept);
        fuzz_host_cell(client, 0, unmade);
        fuzz_host_run(client, 0, &(struct fuzz_run){ host.programs[0], &made[2], 1, &made[3], 1 }); /* 2 -> 3 */
        fuzz_host_run(client, 2, &(struct fuzz_run){ host.programs[0], &made[0], 1, &made[1], 1 }); /* 0 -> 1 */
        fuzz_host_run(client, 2, &(struct fuzz_run){ host.programs[0], &made[1], 1, &made[2], 1 }); /* 1 -> 2 */
        fuzz_host_run(client, 1, &(struct fuzz_run){ host.programs[0], &input, 1, &made[0], 1 });
        pw_lanes_drain(&client->session);
        for (uint32_t i = 0; i < 8; i++) {
                fuzz_host_turn(&host);
                fuzz_host_work(&host, 0);
        }
        assert_int_equal(fixture_state(none), PW_ENTRY_PENDING);
        for (uint32_t i = 1; i <= 4; i++)
                assert_int_equal(pw_word_state(pw_entry_load(pw_map_entry(&host.fixture.futures, client->futures.first_slot + i))),
                                 PW_ENTRY_READY);
        fuzz_host_close(&host);
}

static void fill(struct fuzz_client *client, struct pw_cell ref)
{
        for (uint32_t i = 0; i < FULL_LANES; i++)
                while (pw_ring_has_room(&client->lanes[i], 1))
                        fuzz_host_cell(client, i, ref);
}

/* A session that fills its rings again as they are read: all is read that they had when that was asked for, a part in each round,
 * and nobody else's is kept from being read at once. */
static void test_full_rings(void **state)
{
        static struct fuzz_host host;
        struct fuzz_client *client = &host.clients[0], *other = &host.clients[1];
        struct pw_cell ref, one;
        uint32_t rounds = 1;
        uint64_t pass;

        (void)state;
        fuzz_host_open(&host);
        fuzz_host_turn(&host);
        atomic_store(&client->session.control->lane_count, FULL_LANES);
        ref = pw_cell_object(PW_RING_REF, host.result.segment, host.result.slot, host.result.generation);
        one = pw_cell_object(PW_RING_REF, host.kept.segment, host.kept.slot, host.kept.generation);
        fill(client, ref);
        pass = pw_lanes_pass(&client->session);
        for (; !pw_lanes_read(&client->session, pass); rounds++) {
                fill(client, ref);
                fuzz_host_cell(other, 0, one);
                assert_true(pw_lanes_read(&other->session, pw_lanes_pass(&other->session)));
                assert_true(rounds < FULL_LANES);
        }
        assert_true(rounds > 1);
        assert_false(pw_lanes_read(&client->session, pw_lanes_pass(&client->session))); /* what came since */
        fuzz_host_close(&host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_nobody_makes_it), cmocka_unit_test(test_others_are_found),
                                            cmocka_unit_test(test_full_rings) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
