/* Metadata in Redis while Redis is away, forgets, lies, refuses or stands still: each a typed answer or event, and no
 * turn waits. */
#include "base/memory.h"
#include "tests/conformance/members.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

/* --- what works -------------------------------------------------------------------------------------------------------------- */

/* Numbers are given by name, hosts learn of each other, and a name is bound once in the cluster. */
static void test_two_hosts(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];

        members_begin(scene, 2);
        assert_true(anna->is.host != berta->is.host && anna->is.host && berta->is.host);
        assert_true(anna->is.incarnation && anna->is.incarnation == berta->is.incarnation);
        until(scene, anna->row.number == berta->is.host && berta->row.number == anna->is.host);
        assert_string_equal(anna->row.name, "berta");
        assert_string_equal(anna->row.address, "127.0.0.1:1");
        assert_int_equal(anna->row.epoch, berta->is.epoch);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_TAKEN);
        assert_true(pw_id_equal(berta->answer.id, members_object(anna, 1)));
        assert_int_equal(members_resolve(scene, 1, "weights"), PW_NAMED_OK);
        members_close(scene, 0);
        members_open(scene, 0, false);
        assert_int_equal(anna->is.host, berta->row.number);
        until(scene, berta->row.epoch == anna->is.epoch);
        assert_int_equal(members_resolve(scene, 1, "weights"), PW_NAMED_NOT_FOUND); /* of an epoch that is over */
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_OK);
}

/* Host `i` is to keep what `from` keeps. */
static enum pw_name_outcome take(struct scene *scene, uint32_t i, struct pw_id id, const struct host *from)
{
        struct host *host = &scene->hosts[i];

        host->answers = 0;
        assert_int_equal(pw_meta_submit(host->meta, &(struct pw_name_ask){ 1, PW_NAME_TAKE, "ada", "weights", id,
                                                                           { from->is.host, from->is.epoch } }), PW_OK);
        until(scene, host->answers);
        return host->answer.outcome;
}

/* Who takes a binding over keeps it, by the id that it has, when the home of the object is gone and when it is back, and when the
 * server has lost all. A name that was removed stays removed, and one that another host keeps stays there. */
static void test_taken_over(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1], *clara = &scene->hosts[2], was;
        struct pw_id id;

        members_begin(scene, 3);
        id = members_object(anna, 1);
        was = *anna;
        assert_int_equal(take(scene, 1, id, anna), PW_NAMED_NOT_FOUND);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", id), PW_NAMED_OK);
        assert_int_equal(take(scene, 1, members_object(anna, 2), anna), PW_NAMED_TAKEN);
        assert_int_equal(take(scene, 1, id, clara), PW_NAMED_TAKEN);
        assert_int_equal(take(scene, 1, id, anna), PW_NAMED_OK);
        assert_int_equal(take(scene, 1, id, anna), PW_NAMED_OK); /* it was asked twice */
        assert_int_equal(take(scene, 2, id, anna), PW_NAMED_TAKEN);
        assert_int_equal(members_resolve(scene, 2, "weights"), PW_NAMED_OK);
        assert_true(pw_id_equal(clara->answer.id, id));
        assert_int_equal(clara->answer.keeper.host, berta->is.host);
        assert_int_equal(clara->answer.keeper.epoch, berta->is.epoch);
        assert_int_equal(members_ask(scene, 0, PW_NAME_UNBIND, "weights", id), PW_NAMED_TAKEN);
        members_close(scene, 0);
        members_open(scene, 0, false);
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_OK);
        server_kill(&scene->server);
        until(scene, anna->counts[PW_META_AWAY] && berta->counts[PW_META_AWAY] && clara->counts[PW_META_AWAY]);
        server_start(&scene->server, NULL);
        until(scene, anna->counts[PW_META_BACK] && berta->counts[PW_META_BACK] && clara->counts[PW_META_BACK]);
        until(scene, members_resolve(scene, 2, "weights") == PW_NAMED_OK);
        assert_int_equal(clara->answer.keeper.host, berta->is.host);
        assert_int_equal(take(scene, 2, id, &was), PW_NAMED_TAKEN);
        assert_int_equal(take(scene, 2, id, berta), PW_NAMED_OK);
        assert_int_equal(members_ask(scene, 2, PW_NAME_UNBIND, "weights", id), PW_NAMED_OK);
        assert_int_equal(members_resolve(scene, 1, "weights"), PW_NAMED_NOT_FOUND);
}

static uint64_t commands_of(const struct scene *scene)
{
        char answer[8192];
        const char *line;

        server_ask(&scene->server, answer, sizeof answer, "INFO stats");
        line = strstr(answer, "total_commands_processed:");
        assert_non_null(line);
        return strtoull(line + 25, NULL, 10);
}

/* A host with nothing to do: a script of two commands each three fifths of a lease, 1.7 a second with the lease of daemons. */
static void test_idle(void **state)
{
        struct scene *scene = *state;
        uint64_t from_us, before, commands;

        members_begin(scene, 1);
        from_us = pw_now_us();
        until(scene, pw_now_us() > from_us + LEASE_US);
        before = commands_of(scene);
        from_us = pw_now_us();
        until(scene, pw_now_us() > from_us + 6 * LEASE_US);
        commands = commands_of(scene) - before;
        assert_true(commands >= 3 * 7 && commands <= 3 * 11 + 1);
}

/* Somebody else has the lease by now, though this host does not know it yet: what it asks is not done. */
static void test_fence(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char incarnation[64], answer[200];

        members_begin(scene, 2);
        server_ask(&scene->server, incarnation, sizeof incarnation, "HGET pathways:{ants} incarnation");
        members_submit(scene, 0, PW_NAME_RESOLVE, "weights", (struct pw_id){ 0 });
        until(scene, anna->answers);
        server_ask(&scene->server, answer, sizeof answer, "SET pathways:{ants}:%s:lease:%u later PX 90000000", incarnation,
                   anna->is.host);
        assert_string_equal(answer, "OK");
        members_submit(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1));
        until(scene, anna->answers);
        assert_int_not_equal(anna->answer.outcome, PW_NAMED_OK);
        server_ask(&scene->server, answer, sizeof answer, "EXISTS pathways:{ants}:%s:name:ada/weights", incarnation);
        assert_string_equal(answer, "0");
}

/* The host goes on, and says that it would not be known after a new start. */
static void test_state_is_not_written(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char path[128];

        members_begin(scene, 0);
        snprintf(path, sizeof path, "%s/0", scene->folder);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/0/cluster.new", scene->folder);
        assert_int_equal(mkdir(path, 0700), 0);
        members_open(scene, 0, true);
        until(scene, anna->counts[PW_META_TROUBLE]);
        assert_non_null(strstr(anna->text[PW_META_TROUBLE], "cluster.new"));
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        assert_int_equal(rmdir(path), 0);
}

/* A host that was in the cluster has its number and its peers without a server. */
static void test_start_without_server(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        uint32_t number, epoch;

        members_begin(scene, 2);
        until(scene, anna->row.number);
        number = anna->is.host;
        epoch = anna->is.epoch;
        members_close(scene, 0);
        server_kill(&scene->server);
        members_open(scene, 0, false);
        assert_int_equal(anna->is.host, number);
        assert_true(anna->is.epoch > epoch);
        members_submit(scene, 0, PW_NAME_RESOLVE, "weights", (struct pw_id){ 0 });
        until(scene, anna->answers && anna->row.number);
        assert_int_equal(anna->answer.outcome, PW_NAMED_AWAY);
        assert_string_equal(anna->row.name, "berta");
        members_expect(anna, PW_META_AWAY, PW_NOT_READY, "see that it runs there");
}

/* --- what is lost ------------------------------------------------------------------------------------------------------------ */

/* Another run of the server counts as an empty one: what was known is put back, the older of two bindings wins, and then all is
 * well. */
static void test_away_and_back(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        uint64_t from_us;

        members_begin(scene, 2);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "bias", members_object(berta, 1)), PW_NAMED_OK);
        server_kill(&scene->server);
        until(scene, anna->counts[PW_META_AWAY] && berta->counts[PW_META_AWAY]);
        assert_int_equal(members_resolve(scene, 0, "bias"), PW_NAMED_AWAY);
        from_us = pw_now_us();
        server_start(&scene->server, NULL);
        until(scene, anna->counts[PW_META_BACK] && berta->counts[PW_META_BACK]);
        assert_true(pw_now_us() - from_us >= 2 * LEASE_US - 100000);
        assert_int_equal(members_resolve(scene, 0, "bias"), PW_NAMED_OK);
        assert_int_equal(members_resolve(scene, 1, "weights"), PW_NAMED_OK);
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 2)), PW_NAMED_TAKEN);
        assert_int_equal(anna->counts[PW_META_CHANGED] + berta->counts[PW_META_CHANGED], 0);
}

static void test_flushed(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        char answer[64];

        members_begin(scene, 2);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        server_ask(&scene->server, answer, sizeof answer, "FLUSHALL");
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_AWAY);
        until(scene, anna->counts[PW_META_BACK] && berta->counts[PW_META_BACK]);
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_TAKEN);
        members_open(scene, 2, false); /* a new one gets a number that nobody has */
        until(scene, scene->hosts[2].is.epoch);
        assert_true(scene->hosts[2].is.host != anna->is.host && scene->hosts[2].is.host != berta->is.host);
        assert_true(scene->hosts[2].is.incarnation == anna->is.incarnation);
}

static void test_scripts_flushed(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        members_begin(scene, 1);
        for (uint32_t i = 1; i < 4; i++) {
                server_ask(&scene->server, answer, sizeof answer, "SCRIPT FLUSH");
                assert_int_equal(members_ask(scene, 0, i % 2 ? PW_NAME_BIND : PW_NAME_UNBIND, "weights", members_object(anna, 1)),
                                 PW_NAMED_OK);
        }
        assert_int_equal(anna->counts[PW_META_AWAY], 0);
}

/* The server stands still: nobody waits for it longer than a lease, no turn at all; and what it reads late does nothing. */
static void test_stalled(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        uint64_t from_us;

        members_begin(scene, 2);
        kill(scene->server.pid, SIGSTOP);
        from_us = pw_now_us();
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_UNKNOWN);
        assert_true(pw_now_us() - from_us < 3 * LEASE_US);
        members_expect(anna, PW_META_AWAY, PW_DEADLINE, "see whether it is stopped");
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_AWAY);
        kill(scene->server.pid, SIGCONT);
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(members_ask(scene, 0, PW_NAME_UNBIND, "weights", members_object(anna, 1)) == PW_NAMED_TAKEN, 0);
        until(scene, !berta->counts[PW_META_AWAY] || berta->counts[PW_META_BACK]);
        assert_int_equal(members_resolve(scene, 1, "weights"), PW_NAMED_NOT_FOUND);
        assert_true(anna->slowest_us < 200000);
}

/* --- what refuses ------------------------------------------------------------------------------------------------------------ */

static void test_no_server(void **state)
{
        struct scene *scene = *state;

        snprintf(scene->address, sizeof scene->address, "redis+unix:%s/nobody.sock", scene->folder);
        members_open(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_NOT_READY, "see that it runs there");
        assert_int_equal(scene->hosts[0].is.epoch, 0);
        assert_int_equal(scene->hosts[0].counts[PW_META_AWAY], 0);
}

static void test_no_redis(void **state)
{
        struct scene *scene = *state;
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t bytes = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), peer = -1;

        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
        snprintf(scene->address, sizeof scene->address, "redis://127.0.0.1:%u", ntohs(at.sin_port));
        members_open(scene, 0, true);
        members_turn(scene);
        peer = accept(fd, NULL, NULL);
        assert_int_equal(write(peer, "HTTP/1.0 400 Bad Request\r\n\r\n", 28), 28);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_NOT_READY, "Protocol error");
        close(peer);
        close(fd);
}

static void test_password(void **state)
{
        struct scene *scene = *state;
        static const char *const args[] = { "--requirepass", "sesame", NULL };

        if (!server_is_there())
                skip();
        server_begin(&scene->server, args);
        members_open(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_DENIED, "user and password");
        members_close(scene, 0);
        scene->password = "barley";
        members_open(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_DENIED, "user and password");
        members_close(scene, 0);
        scene->user = "default";
        scene->password = "sesame";
        members_open(scene, 0, true);
        until(scene, scene->hosts[0].is.epoch);
}

static void test_permission(void **state)
{
        struct scene *scene = *state;
        char answer[128];

        members_begin(scene, 0);
        server_ask(&scene->server, answer, sizeof answer, "ACL SETUSER default -evalsha -eval");
        members_open(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_DENIED, "lacks a permission");
        server_ask(&scene->server, answer, sizeof answer, "ACL SETUSER default +eval +evalsha");
        until(scene, scene->hosts[0].is.epoch);
}

static void test_replica(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        members_begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "REPLICAOF 127.0.0.1 1");
        until(scene, anna->counts[PW_META_AWAY]);
        until(scene, members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)) == PW_NAMED_AWAY);
        members_expect(anna, PW_META_AWAY, PW_UNSUPPORTED, "it is a replica");
        server_ask(&scene->server, answer, sizeof answer, "REPLICAOF NO ONE");
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
}

static void test_out_of_memory(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        members_begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory 1");
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_AWAY);
        members_expect(anna, PW_META_AWAY, PW_NO_SPACE, "raise its maxmemory");
        server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory 0");
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
}

static void test_evicts(void **state)
{
        struct scene *scene = *state;
        static const char *const args[] = { "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", NULL };

        if (!server_is_there())
                skip();
        server_begin(&scene->server, args);
        members_open(scene, 0, true);
        until(scene, scene->hosts[0].is.epoch);
        members_expect(&scene->hosts[0], PW_META_TROUBLE, PW_NO_SPACE, "noeviction");
}

/* Somebody sets it while all goes on; each time is said once. */
static void test_evicts_later(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[256];

        members_begin(scene, 1);
        for (uint32_t i = 1; i <= 2; i++) {
                assert_int_equal(anna->counts[PW_META_TROUBLE], i - 1);
                server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory 100mb");
                server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory-policy allkeys-lru");
                until(scene, anna->counts[PW_META_TROUBLE] == i);
                members_expect(anna, PW_META_TROUBLE, PW_NO_SPACE, "noeviction");
                server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory-policy noeviction");
                for (uint64_t end_us = pw_now_us() + 12 * LEASE_US; i == 1 && pw_now_us() < end_us;)
                        members_turn(scene); /* it is looked at again: by then it was seen */
        }
}

/* --- who is in --------------------------------------------------------------------------------------------------------------- */

/* A cluster is founded only by who was told to, only where none lives, and two of one name stay apart. */
static void test_incarnations(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        char answer[64];

        members_begin(scene, 0);
        members_open(scene, 1, false);
        until(scene, berta->counts[PW_META_WAITS]);
        members_expect(berta, PW_META_WAITS, PW_NOT_FOUND, "--new-cluster");
        members_open(scene, 0, true);
        until(scene, anna->is.epoch && berta->is.epoch);
        members_open(scene, 2, true);
        until(scene, scene->hosts[2].counts[PW_META_REFUSED]);
        members_expect(&scene->hosts[2], PW_META_REFUSED, PW_EXISTS, "without --new-cluster");
        members_close(scene, 2);
        members_close(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "HSET pathways:{ants} incarnation 0000000000000001");
        until(scene, anna->counts[PW_META_AWAY]);
        members_expect(anna, PW_META_AWAY, PW_EXISTS, "another cluster of this name");
}

/* A living host's name is not given to another daemon; once its lease is over it is, with a higher epoch, and then the first one is
 * refused, as the state dir of one might be a copy of the other's. */
static void test_one_of_a_name(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *other = &scene->hosts[2];
        struct pw_meta_host was;

        members_begin(scene, 2);
        was = anna->is;
        scene->same_name = true;
        members_open(scene, 2, false);
        until(scene, other->counts[PW_META_WAITS]);
        members_expect(other, PW_META_WAITS, PW_EXISTS, "has this host's name");
        members_close(scene, 0);
        until(scene, other->is.epoch);
        assert_int_equal(other->is.host, was.host);
        assert_true(other->is.epoch > was.epoch);
        members_open(scene, 0, false);
        until(scene, anna->counts[PW_META_REFUSED]);
        members_expect(anna, PW_META_REFUSED, PW_EXISTS, "a copy of the other");
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_AWAY);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, members_set_up, members_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_two_hosts),      TEST(test_taken_over), TEST(test_idle),  TEST(test_fence),
                TEST(test_state_is_not_written),
                TEST(test_start_without_server), TEST(test_away_and_back), TEST(test_flushed),
                TEST(test_scripts_flushed), TEST(test_stalled),             TEST(test_no_server),     TEST(test_no_redis),
                TEST(test_password),       TEST(test_permission),           TEST(test_replica),       TEST(test_out_of_memory),
                TEST(test_evicts),         TEST(test_evicts_later), TEST(test_incarnations),         TEST(test_one_of_a_name),
        };

        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
