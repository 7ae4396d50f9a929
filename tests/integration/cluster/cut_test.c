/* A running exchange over three hosts, and what networks do to the links between them, at random, from a seed: cut in one direction
 * or in both, slow, silent for longer than a lease, hung up on, a reader that stalls in the middle of values. Whatever waits ends
 * with its value or with its cause, nobody reads a byte that was not put, the hosts meet again, nothing is left.
 *
 * PW_CUTS is how often something is done, PW_SEED the seed of another round, PW_CUT_US how long the longest silence is.
 */
#include "tests/integration/cluster/exchange.h"
#include "tests/integration/cluster/relay.h"

#include "plane/hint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { ONE_WAY, BOTH_WAYS, ALONE, VALUES_STALL, SLOW, HUNG_UP, REFUSED, SILENT, KINDS };

static const char *const kinds[KINDS] = { "one way", "both ways", "alone", "values stall", "slow", "hung up", "refused", "silent" };

struct cutting {
        struct exchange exchange;
        struct relay relay;
        int a, b; /* whose link it is */
};

static void set(struct cutting *cutting, enum relay_use use, enum relay_weather there, enum relay_weather back)
{
        relay_set(&cutting->relay, cutting->a, cutting->b, use, there);
        relay_set(&cutting->relay, cutting->b, cutting->a, use, back);
}

static void set_all(struct cutting *cutting, enum relay_weather there, enum relay_weather back)
{
        set(cutting, RELAY_CONTROL, there, back);
        set(cutting, RELAY_BULK, there, back);
}

/* From a fifth of a lease to three of them: given up, or not. */
static int64_t some_time(struct cutting *cutting)
{
        return EXCHANGE_LEASE_US / 5 + (int64_t)(it_random(&cutting->exchange.seed) % (3 * EXCHANGE_LEASE_US));
}

static void isolate(struct cutting *cutting, enum relay_weather weather)
{
        for (int use = 0; use < RELAY_USES; use++) {
                relay_set(&cutting->relay, cutting->a, -1, (enum relay_use)use, weather);
                relay_set(&cutting->relay, -1, cutting->a, (enum relay_use)use, weather);
        }
}

static void be_silent(struct cutting *cutting)
{
        isolate(cutting, RELAY_HELD);
        cluster_until_link(cutting->exchange.cluster, cutting->a, cutting->b, "away");
        exchange_go_on(&cutting->exchange, (int64_t)it_environment("PW_CUT_US", 3 * EXCHANGE_LEASE_US), -1);
        isolate(cutting, RELAY_CLEAR);
}

static void do_harm(struct cutting *cutting, enum kind kind)
{
        switch (kind) {
        case ONE_WAY: set_all(cutting, RELAY_HELD, RELAY_CLEAR); break;
        case BOTH_WAYS: set_all(cutting, RELAY_HELD, RELAY_HELD); break;
        case ALONE: isolate(cutting, RELAY_HELD); break;
        case VALUES_STALL: set(cutting, RELAY_BULK, RELAY_HELD, RELAY_CLEAR); break;
        case SLOW: set_all(cutting, RELAY_SLOW, RELAY_SLOW); break;
        case HUNG_UP: break;
        default: set_all(cutting, RELAY_BROKEN, RELAY_BROKEN);
        }
        if (kind == VALUES_STALL) /* who waits for one waits on: the host that has it is heard */
                exchange_let_be(&cutting->exchange, some_time(cutting));
        else
                exchange_go_on(&cutting->exchange, some_time(cutting), -1);
        isolate(cutting, RELAY_CLEAR);
        set_all(cutting, RELAY_CLEAR, RELAY_CLEAR);
}

static void hang_up(struct cutting *cutting)
{
        set_all(cutting, RELAY_BROKEN, RELAY_BROKEN);
        set_all(cutting, RELAY_CLEAR, RELAY_CLEAR);
}

/* The kinds take turns, from one on that the seed says. */
static void cut(struct cutting *cutting)
{
        struct exchange *exchange = &cutting->exchange;
        enum kind kind = (enum kind)(((uint64_t)exchange->fault + exchange->traders[0].seed) % KINDS);

        exchange_come_forward(exchange, 1 + it_random(&exchange->seed) % 50, -1);
        cutting->a = (int)(it_random(&exchange->seed) % CLUSTER_HOSTS);
        cutting->b = (cutting->a + 1 + (int)(it_random(&exchange->seed) % 2)) % CLUSTER_HOSTS;
        if (getenv("PW_EXCHANGE_TELLS"))
                print_message("fault %d: %s, %d and %d\n", exchange->fault, kinds[kind], cutting->a, cutting->b);
        switch (kind) {
        case SILENT: be_silent(cutting); break;
        case HUNG_UP: hang_up(cutting); break;
        default: do_harm(cutting, kind);
        }
        exchange_come_forward(exchange, 2, -1);
        cluster_meet(exchange->cluster);
}

static void an_exchange_over_bad_links(void **state)
{
        struct cutting cutting = { .exchange = { .cluster = *state, .seed = it_environment("PW_SEED", 1) } };
        struct exchange *exchange = &cutting.exchange;
        int cuts = (int)it_environment("PW_CUTS", 2 * KINDS);

        print_message("PW_SEED=%" PRIu64 " PW_CUTS=%d\n", exchange->seed, cuts);
        relay_begin(&cutting.relay, exchange->cluster);
        exchange_begin(exchange);
        for (; exchange->fault < cuts; exchange->fault++) {
                cut(&cutting);
                exchange_is_sound(exchange);
        }
        exchange_end(exchange);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                assert_true(atomic_load(&cutting.relay.board->bytes[i][(i + 1) % CLUSTER_HOSTS][RELAY_BULK]) > 0);
        relay_end(&cutting.relay);
}

/* Nobody has anything for the others, and Redis is away: when the network is whole again they meet all the same. */
static void idle_hosts_meet_again(void **state)
{
        struct cluster *cluster = *state;
        struct relay relay;

        relay_begin(&relay, cluster);
        server_kill(&cluster->server);
        for (int use = 0; use < RELAY_USES; use++)
                relay_set(&relay, -1, -1, (enum relay_use)use, RELAY_HELD);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_until_link(cluster, i, (i + 1) % CLUSTER_HOSTS, "away");
        for (int use = 0; use < RELAY_USES; use++)
                relay_set(&relay, -1, -1, (enum relay_use)use, RELAY_CLEAR);
        cluster_meet(cluster);
        relay_end(&relay);
}

/* --- cuts that are shorter than a lease --------------------------------------------------------------------------------------- */

#define VALUES 4
#define VALUE_WORDS (300u << 10)
#define CUT_US 900000

struct reading {
        const struct it_host *host;
        struct pw_id ids[VALUES];
        _Atomic uint32_t reads; /* a futex: so many went well */
        _Atomic bool stop;
};

/* Each value again and again, from the other host each time. */
static int read_on(void *context, int pipe)
{
        struct reading *reading = context;
        struct pw_session *session;
        struct pw_error err = { PW_OK, "" };

        if (pw_connect(reading->host->socket, &session, &err) != PW_OK || write(pipe, "r", 1) != 1)
                return 1;
        for (uint32_t i = 0; !atomic_load(&reading->stop); i++) {
                struct pw_future *future;
                struct pw_view view;

                if (pw_open(session, reading->ids[i % VALUES], &future, &err) != PW_OK ||
                    pw_get(future, IT_LONG, &view, &err) != PW_OK) {
                        print_error("%s\n", err.text);
                        return 2;
                }
                for (uint32_t at = 0; at < VALUE_WORDS; at++)
                        if (((const uint32_t *)view.data)[at] != at * (i % VALUES + 1))
                                return 3;
                pw_view_done(&view);
                pw_unref(future);
                atomic_fetch_add(&reading->reads, 1);
                pw_futex_wake(&reading->reads, 1);
        }
        pw_close(session);
        return 0;
}

/* Until so many reads more, or until then. */
static void watch(struct reading *reading, uint32_t more, int64_t until_us)
{
        uint32_t begun = atomic_load(&reading->reads), reads;

        while ((reads = atomic_load(&reading->reads)) - begun < more && it_now_us() < until_us)
                (void)pw_futex_wait(&reading->reads, reads, until_us * 1000);
}

/* All that the two hosts have, or the streams of values alone, is refused for less than a lease: who reads waits. */
static void a_short_cut_fails_no_read(void **state)
{
        struct cluster *cluster = *state;
        struct reading *reading = mmap(NULL, sizeof *reading, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        struct pw_future *futures[VALUES];
        struct cutting cutting = { .a = 0, .b = 1 };
        struct it_child child;
        char byte;

        assert_true(reading != MAP_FAILED);
        cluster->lease = "3s";
        relay_begin(&cutting.relay, cluster);
        reading->host = &cluster->hosts[1];
        for (uint32_t i = 0; i < VALUES; i++) {
                void *data;

                it_ok(pw_create(cluster->hosts[0].session, VALUE_WORDS * sizeof(uint32_t), NULL, &futures[i], &data, IT_ERR));
                for (uint32_t at = 0; at < VALUE_WORDS; at++)
                        ((uint32_t *)data)[at] = at * (i + 1);
                it_ok(pw_seal(futures[i], IT_ERR));
                reading->ids[i] = pw_future_id(futures[i]);
        }
        child = it_fork(read_on, reading);
        it_read(&child, &byte, 1);
        for (int i = 0; i < 4; i++) {
                watch(reading, 5, it_now_us() + IT_LONG);
                set(&cutting, RELAY_BULK, RELAY_BROKEN, RELAY_BROKEN);
                if (i % 2)
                        set(&cutting, RELAY_CONTROL, RELAY_BROKEN, RELAY_BROKEN);
                watch(reading, UINT32_MAX, it_now_us() + CUT_US);
                set_all(&cutting, RELAY_CLEAR, RELAY_CLEAR);
        }
        watch(reading, 5, it_now_us() + IT_LONG);
        atomic_store(&reading->stop, true);
        assert_int_equal(it_reap(&child, 0), 0);
        for (uint32_t i = 0; i < VALUES; i++)
                pw_unref(futures[i]);
        relay_end(&cutting.relay);
        munmap(reading, sizeof *reading);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(an_exchange_over_bad_links), CLUSTER_TEST(idle_hosts_meet_again),
                                             CLUSTER_TEST(a_short_cut_fails_no_read) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
