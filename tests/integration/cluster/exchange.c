/* A running exchange. */
#include "tests/integration/cluster/exchange.h"

#include "plane/hint.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct it_host *host_of(struct exchange *exchange, int trader)
{
        return &exchange->cluster->hosts[trader % CLUSTER_HOSTS];
}

void exchange_start_trader(struct exchange *exchange, int i)
{
        char byte;

        exchange->traders[i] = (struct trader){ .host = host_of(exchange, i), .board = exchange->board, .number = i,
                                                .seed = it_random(&exchange->seed), .inboxes = exchange->inboxes };
        exchange->children[i] = it_fork(trader_main, &exchange->traders[i]);
        it_read(&exchange->children[i], &byte, 1);
}

void exchange_begin(struct exchange *exchange)
{
        exchange->board = mmap(NULL, sizeof *exchange->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(exchange->board != MAP_FAILED);
        for (int i = 0; i < TRADERS; i++)
                assert_int_equal(pipe2(exchange->inboxes[i], O_CLOEXEC | O_NONBLOCK), 0);
        for (int i = 0; i < TRADERS; i++)
                exchange_start_trader(exchange, i);
}

/* --- coming forward ----------------------------------------------------------------------------------------------------------- */

static void show(struct exchange *exchange, int host, const char *what, const char *filter)
{
        struct pw_listing *listing = it_list(exchange->cluster->hosts[host].session, what, filter);

        print_error("host %d: %s\n", host, what);
        it_print(listing);
        pw_listing_free(listing);
}

static void hangs(struct exchange *exchange, int trader)
{
        char pid[24];

        print_error("fault %d: trader %d hangs in '%c'\n", exchange->fault, trader, exchange->board->doing[trader]);
        cluster_print_logs(exchange->cluster);
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
                        cluster_print_logs(exchange->cluster);
                        fail_msg("fault %d: trader %d ended with %x", exchange->fault, trader, code);
                }
                hangs(exchange, trader);
        }
}

/* By steps of which the last began after this call. `except`: those of this host need not. */
void exchange_come_forward(struct exchange *exchange, uint64_t steps, int except)
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

void exchange_go_on(struct exchange *exchange, int64_t for_us, int except)
{
        int64_t until_us = it_now_us() + for_us;

        while (it_now_us() < until_us)
                exchange_come_forward(exchange, 1, except);
}

void exchange_let_be(struct exchange *exchange, int64_t for_us)
{
        int64_t until_us = it_now_us() + for_us;

        while (it_now_us() < until_us)
                (void)pw_futex_wait(&exchange->board->turns, atomic_load(&exchange->board->turns), until_us * 1000);
}

void exchange_is_sound(struct exchange *exchange)
{
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct pw_session *session = exchange->cluster->hosts[i].session;
                struct pw_listing *check = it_list(session, "check", NULL), *memory = it_list(session, "memory", NULL);

                if (it_rows(check)) {
                        it_print(check);
                        cluster_print_logs(exchange->cluster);
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

/* Each trader has let go of all that it had, and its session goes on. */
static void let_go(struct exchange *exchange)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        uint32_t resting;

        atomic_store(&exchange->board->stop, true);
        while ((resting = atomic_load(&exchange->board->resting)) < TRADERS) {
                assert_true(it_now_us() < limit_us);
                (void)pw_futex_wait(&exchange->board->resting, resting, limit_us * 1000);
        }
}

void exchange_end(struct exchange *exchange)
{
        cluster_meet(exchange->cluster);
        let_go(exchange);
        end_names(exchange);
        for (int i = 0; i < CLUSTER_HOSTS; i++) /* nor is a session held to anything that its client has let go of */
                it_until(exchange->cluster->hosts[i].session, "objects", has_no_objects, NULL);
        atomic_store(&exchange->board->over, 1);
        pw_futex_wake(&exchange->board->over, TRADERS);
        for (int i = 0; i < TRADERS; i++) {
                assert_int_equal(it_reap(&exchange->children[i], 0), 0);
                close(exchange->inboxes[i][0]);
                close(exchange->inboxes[i][1]);
        }
        exchange_is_sound(exchange);
        print_message("%" PRIu64 " opened, %" PRIu64 " MiB read, %" PRIu64 " failed typed; all came forward after at most %d ms\n",
                      atomic_load(&exchange->board->opened), atomic_load(&exchange->board->read_bytes) >> 20,
                      atomic_load(&exchange->board->lost), (int)(exchange->longest_us / 1000));
        munmap(exchange->board, sizeof *exchange->board);
}
