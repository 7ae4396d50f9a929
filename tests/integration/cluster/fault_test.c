/* A running exchange over three hosts, of which clients, daemons and Redis are killed, and daemons stopped, at random, from a seed:
 * whatever waits ends with its value, by its deadline or with its cause, nobody reads a byte that was not put, nothing is left.
 *
 * PW_EXCHANGE is how often something is done to it, PW_SEED the seed of another round.
 */
#include "plane/hint.h"
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/cluster/trader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEASE_US 400000 /* as cluster_launch() says */

struct exchange {
        struct cluster *cluster;
        struct trade_board *board;
        struct trader traders[TRADERS];
        struct it_child children[TRADERS];
        int inboxes[TRADERS][2];
        uint64_t seed;
        int fault;
        int64_t longest_us; /* until all came forward */
};

static const struct it_host *host_of(struct exchange *exchange, int trader)
{
        return &exchange->cluster->hosts[trader % CLUSTER_HOSTS];
}

static void start_trader(struct exchange *exchange, int i)
{
        char byte;

        exchange->traders[i] = (struct trader){ .host = host_of(exchange, i), .board = exchange->board, .number = i,
                                                .seed = it_random(&exchange->seed), .inboxes = exchange->inboxes };
        exchange->children[i] = it_fork(trader_main, &exchange->traders[i]);
        it_read(&exchange->children[i], &byte, 1);
}

static void begin(struct exchange *exchange)
{
        exchange->board = mmap(NULL, sizeof *exchange->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(exchange->board != MAP_FAILED);
        exchange->cluster->linked = true;
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_start(exchange->cluster, i, i == 0);
        cluster_meet(exchange->cluster);
        for (int i = 0; i < TRADERS; i++)
                assert_int_equal(pipe2(exchange->inboxes[i], O_CLOEXEC | O_NONBLOCK), 0);
        for (int i = 0; i < TRADERS; i++)
                start_trader(exchange, i);
}

/* --- coming forward ----------------------------------------------------------------------------------------------------------- */

static void show(struct exchange *exchange, int host, const char *what, const char *filter)
{
        struct pw_listing *listing = it_list(exchange->cluster->hosts[host].session, what, filter);

        print_error("host %d: %s\n", host, what);
        it_print(listing);
        pw_listing_free(listing);
}

static void print_logs(struct exchange *exchange)
{
        char line[600];

        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                FILE *log = fopen(exchange->cluster->hosts[i].log, "re");

                print_error("log of host %d\n", i);
                while (log && fgets(line, sizeof line, log))
                        print_error("  %s", line);
                if (log)
                        fclose(log);
        }
}

static void hangs(struct exchange *exchange, int trader)
{
        char pid[24];

        print_error("fault %d: trader %d hangs in '%c'\n", exchange->fault, trader, exchange->board->doing[trader]);
        print_logs(exchange);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                show(exchange, i, "hosts", NULL);
        snprintf(pid, sizeof pid, "pid %d", (int)exchange->children[trader].pid);
        show(exchange, trader % CLUSTER_HOSTS, "why", pid);
        fail_msg("fault %d: trader %d hangs", exchange->fault, trader);
}

static void comes_to(struct exchange *exchange, int trader, uint64_t steps, int64_t limit_us)
{
        for (;;) {
                uint32_t turns = atomic_load(&exchange->board->turns);
                int code;

                if (atomic_load(&exchange->board->steps[trader]) >= steps)
                        return;
                if (kill(exchange->children[trader].pid, 0) == 0 && it_now_us() < limit_us) {
                        (void)pw_futex_wait(&exchange->board->turns, turns, (it_now_us() + 100000) * 1000);
                        if (waitpid(exchange->children[trader].pid, &code, WNOHANG) == 0)
                                continue;
                        it_forget(&exchange->children[trader]);
                        print_logs(exchange);
                        fail_msg("fault %d: trader %d ended with %x", exchange->fault, trader, code);
                }
                hangs(exchange, trader);
        }
}

/* By steps of which the last began after this call. `except`: those of this host need not. */
static void all_come_forward(struct exchange *exchange, uint64_t steps, int except)
{
        int64_t start_us = it_now_us();
        uint64_t before[TRADERS];

        for (int i = 0; i < TRADERS; i++)
                before[i] = atomic_load(&exchange->board->steps[i]);
        for (int i = 0; i < TRADERS; i++)
                if (i % CLUSTER_HOSTS != except)
                        comes_to(exchange, i, before[i] + steps, start_us + IT_LONG);
        if (it_now_us() - start_us > exchange->longest_us)
                exchange->longest_us = it_now_us() - start_us;
}

/* --- faults ------------------------------------------------------------------------------------------------------------------- */

static void kill_trader(struct exchange *exchange, int victim)
{
        assert_int_equal(it_reap(&exchange->children[victim], SIGKILL), 128 + SIGKILL);
        start_trader(exchange, victim);
}

static void kill_daemon(struct exchange *exchange, int victim)
{
        cluster_kill(exchange->cluster, victim);
        if (it_random(&exchange->seed) % 2) /* its clients wait for it */
                all_come_forward(exchange, 2, victim);
        cluster_start(exchange->cluster, victim, false);
}

static void kill_redis(struct exchange *exchange)
{
        server_kill(&exchange->cluster->server);
        all_come_forward(exchange, 2, -1);
        server_start(&exchange->cluster->server, NULL);
}

/* For two leases, in which the others go on, and give it up. */
static void stop_daemon(struct exchange *exchange, int victim)
{
        int64_t start_us = it_now_us();

        assert_int_equal(kill(exchange->cluster->hosts[victim].pid, SIGSTOP), 0);
        cluster_until_link(exchange->cluster, (victim + 1) % CLUSTER_HOSTS, victim, "away");
        while (it_now_us() < start_us + 2 * LEASE_US)
                all_come_forward(exchange, 1, victim);
        assert_int_equal(kill(exchange->cluster->hosts[victim].pid, SIGCONT), 0);
}

static void do_harm(struct exchange *exchange)
{
        uint64_t kind = it_random(&exchange->seed) % 8, whom = it_random(&exchange->seed);

        all_come_forward(exchange, 1 + it_random(&exchange->seed) % 50, -1);
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
        all_come_forward(exchange, 2, -1);
}

static void nothing_wrong(struct exchange *exchange)
{
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct pw_session *session = exchange->cluster->hosts[i].session;
                struct pw_listing *check = it_list(session, "check", NULL), *memory = it_list(session, "memory", NULL);

                if (it_rows(check)) {
                        it_print(check);
                        print_logs(exchange);
                        fail_msg("fault %d: check of host %d finds %d problems", exchange->fault, i, (int)it_rows(check));
                }
                for (size_t row = 0; row < it_rows(memory); row++)
                        if (!strcmp(it_text(memory, row, "term"), "unaccounted") && it_number(memory, row, "bytes"))
                                fail_msg("fault %d: %d bytes of host %d are unaccounted for", exchange->fault,
                                         (int)it_number(memory, row, "bytes"), i);
                pw_listing_free(check);
                pw_listing_free(memory);
        }
}

/* --- the end ------------------------------------------------------------------------------------------------------------------ */

static bool has_no_objects(const struct pw_listing *listing, void *context)
{
        (void)context;
        return it_rows(listing) == 0;
}

/* A name outlives who bound it. */
static void end_names(struct exchange *exchange)
{
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_until(exchange->cluster, i, "metadata_note", NULL);
        for (int n = 0; n < TRADER_NAMES; n++)
                for (int i = 0; i < CLUSTER_HOSTS; i++)
                        (void)!pw_unname(exchange->cluster->hosts[i].session, trader_name(n), NULL);
}

static void end(struct exchange *exchange)
{
        cluster_meet(exchange->cluster);
        atomic_store(&exchange->board->stop, true);
        for (int i = 0; i < TRADERS; i++) {
                assert_int_equal(it_reap(&exchange->children[i], 0), 0);
                close(exchange->inboxes[i][0]);
                close(exchange->inboxes[i][1]);
        }
        end_names(exchange);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                it_until(exchange->cluster->hosts[i].session, "objects", has_no_objects, NULL);
        nothing_wrong(exchange);
        print_message("%" PRIu64 " opened, %" PRIu64 " MiB read, %" PRIu64 " failed typed; all came forward after at most %d ms\n",
                      atomic_load(&exchange->board->opened), atomic_load(&exchange->board->read_bytes) >> 20,
                      atomic_load(&exchange->board->lost), (int)(exchange->longest_us / 1000));
        munmap(exchange->board, sizeof *exchange->board);
}

static void an_exchange_with_faults(void **state)
{
        int faults = (int)it_environment("PW_EXCHANGE", 10);
        struct exchange exchange = { .cluster = *state, .seed = it_environment("PW_SEED", 1) };

        print_message("PW_SEED=%" PRIu64 " PW_EXCHANGE=%d\n", exchange.seed, faults);
        begin(&exchange);
        for (; exchange.fault < faults; exchange.fault++) {
                do_harm(&exchange);
                nothing_wrong(&exchange);
        }
        end(&exchange);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(an_exchange_with_faults) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
