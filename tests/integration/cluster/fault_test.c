/* A running exchange over three hosts, of which clients, daemons and Redis are killed, and daemons stopped, at random, from a seed:
 * whatever waits ends with its value, by its deadline or with its cause, nobody reads a byte that was not put, nothing is left.
 *
 * PW_EXCHANGE is how often something is done to it, PW_SEED the seed of another round.
 */
#include "tests/integration/cluster/exchange.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

/* --- faults ------------------------------------------------------------------------------------------------------------------- */

static void kill_trader(struct exchange *exchange, int victim)
{
        assert_int_equal(it_reap(&exchange->children[victim], SIGKILL), 128 + SIGKILL);
        exchange_start_trader(exchange, victim);
}

static void kill_daemon(struct exchange *exchange, int victim)
{
        cluster_kill(exchange->cluster, victim);
        if (it_random(&exchange->seed) % 2) /* its clients wait for it */
                exchange_come_forward(exchange, 2, victim);
        cluster_start(exchange->cluster, victim, false);
}

static void kill_redis(struct exchange *exchange)
{
        server_kill(&exchange->cluster->server);
        exchange_come_forward(exchange, 2, -1);
        server_start(&exchange->cluster->server, NULL);
}

/* For two leases after it was given up; the others go on. */
static void stop_daemon(struct exchange *exchange, int victim)
{
        assert_int_equal(kill(exchange->cluster->hosts[victim].pid, SIGSTOP), 0);
        cluster_until_link(exchange->cluster, (victim + 1) % CLUSTER_HOSTS, victim, "away");
        exchange_go_on(exchange, 2 * EXCHANGE_LEASE_US, victim);
        assert_int_equal(kill(exchange->cluster->hosts[victim].pid, SIGCONT), 0);
}

static void do_harm(struct exchange *exchange)
{
        uint64_t kind = it_random(&exchange->seed) % 8, whom = it_random(&exchange->seed);

        exchange_come_forward(exchange, 1 + it_random(&exchange->seed) % 50, -1);
        if (getenv("PW_EXCHANGE_TELLS"))
                print_message("fault %d: kind %d of %d\n", exchange->fault, (int)kind, (int)(whom % TRADERS));
        switch (kind) {
        case 0:
        case 1:
        case 2: kill_trader(exchange, (int)(whom % TRADERS)); break;
        case 3:
        case 4: kill_daemon(exchange, (int)(whom % CLUSTER_HOSTS)); break;
        case 5: kill_redis(exchange); break;
        default: stop_daemon(exchange, (int)(whom % CLUSTER_HOSTS));
        }
        exchange_come_forward(exchange, 2, -1);
}

static void an_exchange_with_faults(void **state)
{
        int faults = (int)it_environment("PW_EXCHANGE", 10);
        struct exchange exchange = { .cluster = *state, .seed = it_environment("PW_SEED", 1) };

        print_message("PW_SEED=%" PRIu64 " PW_EXCHANGE=%d\n", exchange.seed, faults);
        cluster_start_all(exchange.cluster);
        exchange_begin(&exchange);
        for (; exchange.fault < faults; exchange.fault++) {
                do_harm(&exchange);
                exchange_is_sound(&exchange);
        }
        exchange_end(&exchange);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(an_exchange_with_faults) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
