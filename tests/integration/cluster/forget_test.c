/* A running exchange over three hosts, and a Redis that forgets or lies meanwhile: it is emptied, an old dump of it is loaded, a
 * replica that was cut off takes its place. Who trades does not notice; within two leases the host table and the names are whole,
 * and neither a name nor a number is there twice.
 *
 * PW_FORGETS is how often that happens, PW_SEED the seed of another round.
 */
#include "base/id.h"
#include "tests/integration/cluster/exchange.h"
#include "tests/integration/folder.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind { FLUSHED, OLD_DUMP, LATE_REPLICA, KINDS };

/* What Redis once had. */
struct past {
        enum kind kind;
        struct server *server, replica;
};

/* --- Redis -------------------------------------------------------------------------------------------------------------------- */

static void ask(const struct server *server, const char *command)
{
        char answer[200];

        server_ask(server, answer, sizeof answer, "%s", command);
        assert_string_equal(answer, "OK");
}

/* That nobody listens at; taken by somebody else meanwhile, redis-server does not start, and says so. */
static int free_port(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t bytes = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
        close(fd);
        return ntohs(at.sin_port);
}

static void until_says(const struct server *server, const char *command, const char *text)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        char answer[8192];

        do {
                server_ask(server, answer, sizeof answer, "%s", command);
                if (it_now_us() > limit_us)
                        fail_msg("%s does not say %s: %s", command, text, answer);
        } while (!strstr(answer, text));
}

static void keep_dump(const struct server *server, const char *from, const char *to)
{
        char old[100], new[100];

        snprintf(old, sizeof old, "%s/%s", server->folder, from);
        snprintf(new, sizeof new, "%s/%s", server->folder, to);
        assert_int_equal(rename(old, new), 0);
}

/* The replica has what the server has now, and then hears of no more. */
static void begin_replica(struct past *past)
{
        char command[64], port[16], answer[64];

        snprintf(port, sizeof port, "%d", free_port());
        snprintf(command, sizeof command, "CONFIG SET port %s", port);
        ask(past->server, command);
        server_begin(&past->replica, IT_ARGS("--replicaof", "127.0.0.1", port, "--dir", past->server->folder));
        until_says(&past->replica, "INFO replication", "master_link_status:up");
        server_ask(past->server, answer, sizeof answer, "WAIT 1 10000");
        assert_string_equal(answer, "1");
        ask(&past->replica, "REPLICAOF 127.0.0.1 1");
        ask(past->server, "CONFIG SET port 0");
}

static void begin_past(struct past *past)
{
        if (past->kind == OLD_DUMP) {
                ask(past->server, "SAVE");
                keep_dump(past->server, "dump.rdb", "kept.rdb");
        }
        if (past->kind == LATE_REPLICA)
                begin_replica(past);
}

/* The replica has the address of the server: its socket has. */
static void take_over(struct past *past)
{
        char old[100], new[100];

        server_kill(past->server);
        ask(&past->replica, "REPLICAOF NO ONE");
        snprintf(old, sizeof old, "%s/redis.sock", past->replica.folder);
        snprintf(new, sizeof new, "%s/redis.sock", past->server->folder);
        assert_int_equal(rename(old, new), 0);
        past->server->pid = past->replica.pid;
        past->replica.pid = 0;
        server_end(&past->replica); /* but for the process */
}

static void bring_back(struct past *past)
{
        switch (past->kind) {
        case FLUSHED: ask(past->server, "FLUSHALL"); break;
        case OLD_DUMP:
                server_kill(past->server);
                keep_dump(past->server, "kept.rdb", "dump.rdb");
                server_start(past->server, NULL);
                break;
        default: take_over(past);
        }
}

/* --- hosts -------------------------------------------------------------------------------------------------------------------- */

/* Redis has the row of host `i`, which lives, in its present epoch. */
static bool has_row(const struct cluster *cluster, const char *incarnation, int i)
{
        struct pw_session *session = cluster->hosts[i].session;
        char row[200], expected[200], number[16];

        server_ask(&cluster->server, row, sizeof row, "HGET pathways:{ants}:%s:hosts %d", incarnation,
                   (int)it_listed(session, "status", "host"));
        snprintf(expected, sizeof expected, "%" PRIi64 " %s ", it_listed(session, "status", "epoch"), cluster_name(i));
        if (strncmp(row, expected, strlen(expected)))
                return false;
        server_ask(&cluster->server, number, sizeof number, "HGET pathways:{ants}:%s:numbers %s", incarnation, cluster_name(i));
        return atoi(number) == it_listed(session, "status", "host");
}

static bool is_whole(const struct cluster *cluster, const char *incarnation, int count)
{
        char is[64], run[200], rows[16], info[8192], *id;

        server_ask(&cluster->server, is, sizeof is, "HGET pathways:{ants} incarnation");
        server_ask(&cluster->server, run, sizeof run, "HGET pathways:{ants} run");
        server_ask(&cluster->server, info, sizeof info, "INFO server");
        server_ask(&cluster->server, rows, sizeof rows, "HLEN pathways:{ants}:%s:hosts", incarnation);
        id = strstr(info, "run_id:") + 7;
        id[16] = 0; /* so much of it counts */
        if (strcmp(is, incarnation) || !strstr(run, id) || atoi(rows) != count)
                return false;
        for (int i = 0; i < count; i++)
                if (!has_row(cluster, incarnation, i))
                        return false;
        return true;
}

static void show(const struct cluster *cluster)
{
        char answer[8192];

        server_ask(&cluster->server, answer, sizeof answer, "HGETALL pathways:{ants}");
        print_error("%s", answer);
        server_ask(&cluster->server, answer, sizeof answer, "KEYS *");
        fail_msg("the host table is not whole; all keys:\n%s", answer);
}

static void until_whole(struct cluster *cluster, const char *incarnation, int count)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (!is_whole(cluster, incarnation, count)) {
                if (it_now_us() > limit_us)
                        show(cluster);
                sched_yield();
        }
        for (int i = 0; i < count; i++)
                cluster_until(cluster, i, "metadata_note", NULL);
}

static void incarnation_of(const struct cluster *cluster, char ret_incarnation[64])
{
        server_ask(&cluster->server, ret_incarnation, 64, "HGET pathways:{ants} incarnation");
}

/* --- names -------------------------------------------------------------------------------------------------------------------- */

static struct pw_future *bind_new(struct cluster *cluster, int i, const char *name)
{
        struct pw_future *future;

        it_ok(pw_put(cluster->hosts[i].session, name, strlen(name), NULL, &future, IT_ERR));
        it_ok(pw_name(future, name, IT_ERR));
        return future;
}

static void unbind(struct cluster *cluster, int i, const char *name, struct pw_future *future)
{
        it_ok(pw_unname(cluster->hosts[i].session, name, IT_ERR));
        pw_unref(future);
}

/* Every host finds it there, or that it is not bound: NULL. */
static void all_see(struct cluster *cluster, const char *name, const struct pw_future *future)
{
        struct pw_future *found;

        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct pw_session *session = cluster->hosts[i].session;

                if (!future) {
                        it_fails(pw_lookup(session, name, 0, &found, IT_ERR), PW_NOT_FOUND, name);
                        continue;
                }
                it_ok(pw_lookup(session, name, 0, &found, IT_ERR));
                assert_true(pw_id_equal(pw_future_id(found), pw_future_id(future)));
                pw_unref(found);
        }
}

/* --- the tests ---------------------------------------------------------------------------------------------------------------- */

static void some_steps(struct exchange *exchange) { exchange_come_forward(exchange, 1 + it_random(&exchange->seed) % 50, -1); }

static void forget(struct exchange *exchange, enum kind kind, const char *incarnation)
{
        struct cluster *cluster = exchange->cluster;
        struct past past = { .kind = kind, .server = &cluster->server };
        struct pw_future *kept = bind_new(cluster, 0, "kept"), *gone = bind_new(cluster, 2, "gone"),
                         *moved = bind_new(cluster, 0, "moved"), *late;
        int64_t since_us;

        if (getenv("PW_EXCHANGE_TELLS"))
                print_message("fault %d: kind %d\n", exchange->fault, (int)kind);
        some_steps(exchange);
        begin_past(&past);
        some_steps(exchange);
        late = bind_new(cluster, 1, "late");
        unbind(cluster, 2, "gone", gone);
        unbind(cluster, 0, "moved", moved);
        moved = bind_new(cluster, 1, "moved");
        some_steps(exchange);
        bring_back(&past);
        since_us = it_now_us();
        until_whole(cluster, incarnation, CLUSTER_HOSTS);
        it_within("hosts are whole", since_us, 3 * EXCHANGE_LEASE_US); /* two from when one has noticed */
        all_see(cluster, "kept", kept);
        all_see(cluster, "late", late);
        all_see(cluster, "moved", moved);
        all_see(cluster, "gone", NULL);
        unbind(cluster, 0, "kept", kept);
        unbind(cluster, 1, "late", late);
        unbind(cluster, 1, "moved", moved);
}

static void an_exchange_and_a_redis_that_forgets(void **state)
{
        int count = (int)it_environment("PW_FORGETS", 2 * KINDS);
        struct exchange exchange = { .cluster = *state, .seed = it_environment("PW_SEED", 1) };
        char incarnation[64];

        print_message("PW_SEED=%" PRIu64 " PW_FORGETS=%d\n", exchange.seed, count);
        cluster_start_all(exchange.cluster);
        incarnation_of(exchange.cluster, incarnation);
        exchange_begin(&exchange);
        for (; exchange.fault < count; exchange.fault++) {
                forget(&exchange, (enum kind)(exchange.fault % KINDS), incarnation);
                exchange_come_forward(&exchange, 2, -1);
                exchange_is_sound(&exchange);
        }
        assert_true(atomic_load(&exchange.board->hosts_lost) == 0);
        exchange_end(&exchange);
}

/* What it knows nothing of is not given to a new one, also where who has it is away. */
static void an_old_dump_gives_no_number_twice(void **state)
{
        struct cluster *cluster = *state;
        struct past past = { .kind = OLD_DUMP, .server = &cluster->server };
        char incarnation[64];

        cluster->linked = true;
        cluster_start(cluster, 0, true);
        incarnation_of(cluster, incarnation);
        begin_past(&past);
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        cluster_kill(cluster, 1);
        bring_back(&past);
        cluster_start(cluster, 2, false);
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        until_whole(cluster, incarnation, CLUSTER_HOSTS);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                assert_int_equal(it_listed(cluster->hosts[i].session, "status", "host"), 1 + i);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(an_exchange_and_a_redis_that_forgets),
                CLUSTER_TEST(an_old_dump_gives_no_number_twice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
