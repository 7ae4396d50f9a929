/* Metadata in Redis while Redis is away, forgets, lies, refuses or stands still: each a typed answer or event, and no turn waits. */
#include "base/memory.h"
#include "daemon/loop.h"
#include "daemon/meta/meta.h"
#include "tests/conformance/server.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#define LEASE_US 400000u
#define HOSTS 3u

/* A host, and what it was told. */
struct host {
        struct pw_meta *meta;
        struct pw_meta_host is;
        uint32_t counts[PW_META_TROUBLE + 1]; /* events of each kind */
        char text[PW_META_TROUBLE + 1][512];  /* the last of each */
        enum pw_status status[PW_META_TROUBLE + 1];
        struct pw_host_row row;
        struct pw_id changed;
        struct pw_name_answer answer;
        uint32_t answers;
        uint64_t slowest_us; /* of its turns */
};

struct scene {
        struct server server;
        struct event_base *loop;
        struct host hosts[HOSTS];
        char folder[64];
        const char *user, *password;
        char address[96];
};

static void note_answer(void *context, const struct pw_name_answer *answer)
{
        struct host *host = context;

        host->answer = *answer;
        host->answers++;
}

static void note_event(void *context, const struct pw_meta_event *event)
{
        struct host *host = context;

        host->counts[event->kind]++;
        host->status[event->kind] = event->status;
        snprintf(host->text[event->kind], sizeof host->text[0], "%s", event->text ? event->text : "");
        if (event->kind == PW_META_JOINED)
                host->is = event->host;
        if (event->kind == PW_META_HOST)
                host->row = *event->row;
        if (event->kind == PW_META_CHANGED)
                host->changed = event->id;
}

static const struct pw_meta_listener listener = { note_answer, note_event };

static int set_up(void **state)
{
        struct scene *scene = calloc(1, sizeof *scene);

        *state = scene;
        scene->loop = event_base_new();
        snprintf(scene->folder, sizeof scene->folder, "/tmp/pw-members-XXXXXX");
        return mkdtemp(scene->folder) && scene->loop ? 0 : -1;
}

static void remove_state(const struct scene *scene, uint32_t i)
{
        static const char *const files[] = { "cluster", "cluster.lock", "cluster.new", "" };
        char path[128];

        for (uint32_t j = 0; j < pw_array_count(files); j++) {
                snprintf(path, sizeof path, "%s/%u/%s", scene->folder, i, files[j]);
                if (unlink(path) < 0)
                        rmdir(path);
        }
}

static int tear_down(void **state)
{
        struct scene *scene = *state;

        for (uint32_t i = 0; i < HOSTS; i++) {
                pw_meta_close(scene->hosts[i].meta);
                remove_state(scene, i);
        }
        if (*scene->server.folder)
                server_end(&scene->server);
        event_base_free(scene->loop);
        rmdir(scene->folder);
        free(scene);
        return 0;
}

static void open_host(struct scene *scene, uint32_t i, bool new_cluster)
{
        static const char *const names[HOSTS] = { "anna", "berta", "clara" };
        static uint64_t instance = 100;
        struct host *host = &scene->hosts[i];
        struct pw_meta_cluster cluster = { .loop = scene->loop, .address = *scene->address ? scene->address : scene->server.address,
                                           .user = scene->user, .password = scene->password, .name = "ants", .host_name = names[i],
                                           .machine = "m1", .own_address = "127.0.0.1:1", .instance = ++instance, .lease_us = LEASE_US,
                                           .new_cluster = new_cluster };
        char state_dir[96];
        struct pw_meta_params params = { .state_dir = state_dir, .now_s = 1000, .listener = &listener, .context = host,
                                         .cluster = &cluster };
        struct pw_error err = { .text = "" };

        snprintf(state_dir, sizeof state_dir, "%s/%u", scene->folder, i);
        *host = (struct host){ .answers = 0 };
        if (pw_meta_kind("redis")->open(&params, &host->meta, &host->is, &err) != PW_OK)
                fail_msg("%s", err.text);
}

static void close_host(struct scene *scene, uint32_t i)
{
        pw_meta_close(scene->hosts[i].meta);
        scene->hosts[i].meta = NULL;
}

/* A turn of each host, and a sleep until there is something to do; never longer than 20 ms. */
static void turn(struct scene *scene)
{
        struct timeval pause = { 0, 20000 };

        for (uint32_t i = 0; i < HOSTS; i++) {
                struct host *host = &scene->hosts[i];
                uint64_t from_us = pw_now_us();

                if (!host->meta)
                        continue;
                pw_meta_turn(host->meta);
                host->slowest_us = pw_max_u64(host->slowest_us, pw_now_us() - from_us);
                if (pw_meta_next_us(host->meta) <= pw_now_us())
                        pause = (struct timeval){ 0, 0 };
        }
        event_base_loopexit(scene->loop, &pause);
        event_base_loop(scene->loop, EVLOOP_ONCE);
}

#define until(scene, condition)                                                                                        \
        for (uint64_t end_us = pw_now_us() + 20000000; !(condition); turn(scene))                                     \
                if (pw_now_us() > end_us)                                                                              \
                        fail_msg("line %d: not within 20 s: %s", __LINE__, #condition)

static void begin(struct scene *scene, uint32_t count)
{
        if (!server_is_there())
                skip();
        server_begin(&scene->server, NULL);
        for (uint32_t i = 0; i < count; i++) {
                open_host(scene, i, i == 0);
                until(scene, scene->hosts[i].is.epoch);
        }
}

static struct pw_id object_of(const struct host *host, uint32_t number)
{
        return pw_id_make(host->is.host, host->is.epoch, 7, number, 1);
}

static void submit(struct scene *scene, uint32_t i, enum pw_name_ask_kind kind, const char *name, struct pw_id id)
{
        struct host *host = &scene->hosts[i];

        host->answers = 0;
        assert_int_equal(pw_meta_submit(host->meta, &(struct pw_name_ask){ 1, kind, "ada", name, id }), PW_OK);
}

static enum pw_name_outcome ask(struct scene *scene, uint32_t i, enum pw_name_ask_kind kind, const char *name, struct pw_id id)
{
        struct host *host = &scene->hosts[i];

        submit(scene, i, kind, name, id);
        until(scene, host->answers);
        return host->answer.outcome;
}

static enum pw_name_outcome resolve(struct scene *scene, uint32_t i, const char *name)
{
        return ask(scene, i, PW_NAME_RESOLVE, name, (struct pw_id){ 0 });
}

static void expect(const struct host *host, enum pw_meta_event_kind kind, enum pw_status status, const char *words)
{
        assert_true(host->counts[kind] > 0);
        if (host->status[kind] != status || !strstr(host->text[kind], words))
                fail_msg("status %d, \"%s\", and not %d, \"%s\"", host->status[kind], host->text[kind], status, words);
}

/* --- what works ------------------------------------------------------------------------------------------------------------------- */

/* Numbers are given by name, hosts learn of each other, and a name is bound once in the cluster. */
static void test_two_hosts(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];

        begin(scene, 2);
        assert_true(anna->is.host != berta->is.host && anna->is.host && berta->is.host);
        assert_true(anna->is.incarnation && anna->is.incarnation == berta->is.incarnation);
        until(scene, anna->row.number == berta->is.host && berta->row.number == anna->is.host);
        assert_string_equal(anna->row.name, "berta");
        assert_string_equal(anna->row.address, "127.0.0.1:1");
        assert_int_equal(anna->row.epoch, berta->is.epoch);
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_OK);
        assert_int_equal(ask(scene, 1, PW_NAME_BIND, "weights", object_of(berta, 1)), PW_NAMED_TAKEN);
        assert_true(pw_id_equal(berta->answer.id, object_of(anna, 1)));
        assert_int_equal(resolve(scene, 1, "weights"), PW_NAMED_OK);
        close_host(scene, 0);
        open_host(scene, 0, false);
        assert_int_equal(anna->is.host, berta->row.number);
        until(scene, berta->row.epoch == anna->is.epoch);
        assert_int_equal(resolve(scene, 1, "weights"), PW_NAMED_NOT_FOUND); /* of an epoch that is over */
        assert_int_equal(ask(scene, 1, PW_NAME_BIND, "weights", object_of(berta, 1)), PW_NAMED_OK);
}

/* A host that was in the cluster has its number and its peers without a server. */
static void test_start_without_server(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        uint32_t number, epoch;

        begin(scene, 2);
        until(scene, anna->row.number);
        number = anna->is.host;
        epoch = anna->is.epoch;
        close_host(scene, 0);
        server_kill(&scene->server);
        open_host(scene, 0, false);
        assert_int_equal(anna->is.host, number);
        assert_true(anna->is.epoch > epoch);
        submit(scene, 0, PW_NAME_RESOLVE, "weights", (struct pw_id){ 0 });
        until(scene, anna->answers && anna->row.number);
        assert_int_equal(anna->answer.outcome, PW_NAMED_AWAY);
        assert_string_equal(anna->row.name, "berta");
        expect(anna, PW_META_AWAY, PW_NOT_READY, "see that it runs there");
}

/* --- what is lost ----------------------------------------------------------------------------------------------------------------- */

/* Another run of the server counts as an empty one: what was known is put back, the older of two bindings wins, and then all is well. */
static void test_away_and_back(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        uint64_t from_us;

        begin(scene, 2);
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_OK);
        assert_int_equal(ask(scene, 1, PW_NAME_BIND, "bias", object_of(berta, 1)), PW_NAMED_OK);
        server_kill(&scene->server);
        until(scene, anna->counts[PW_META_AWAY] && berta->counts[PW_META_AWAY]);
        assert_int_equal(resolve(scene, 0, "bias"), PW_NAMED_AWAY);
        from_us = pw_now_us();
        server_start(&scene->server, NULL);
        until(scene, anna->counts[PW_META_BACK] && berta->counts[PW_META_BACK]);
        assert_true(pw_now_us() - from_us >= 2 * LEASE_US - 100000);
        assert_int_equal(resolve(scene, 0, "bias"), PW_NAMED_OK);
        assert_int_equal(resolve(scene, 1, "weights"), PW_NAMED_OK);
        assert_int_equal(ask(scene, 1, PW_NAME_BIND, "weights", object_of(berta, 2)), PW_NAMED_TAKEN);
        assert_int_equal(anna->counts[PW_META_CHANGED] + berta->counts[PW_META_CHANGED], 0);
}

static void test_flushed(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        char answer[64];

        begin(scene, 2);
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_OK);
        server_ask(&scene->server, answer, sizeof answer, "FLUSHALL");
        assert_int_equal(ask(scene, 1, PW_NAME_BIND, "weights", object_of(berta, 1)), PW_NAMED_AWAY);
        until(scene, anna->counts[PW_META_BACK] && berta->counts[PW_META_BACK]);
        assert_int_equal(ask(scene, 1, PW_NAME_BIND, "weights", object_of(berta, 1)), PW_NAMED_TAKEN);
        open_host(scene, 2, false); /* a new one gets a number that nobody has */
        until(scene, scene->hosts[2].is.epoch);
        assert_true(scene->hosts[2].is.host != anna->is.host && scene->hosts[2].is.host != berta->is.host);
        assert_true(scene->hosts[2].is.incarnation == anna->is.incarnation);
}

static void test_scripts_flushed(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        begin(scene, 1);
        for (uint32_t i = 1; i < 4; i++) {
                server_ask(&scene->server, answer, sizeof answer, "SCRIPT FLUSH");
                assert_int_equal(ask(scene, 0, i % 2 ? PW_NAME_BIND : PW_NAME_UNBIND, "weights", object_of(anna, 1)), PW_NAMED_OK);
        }
        assert_int_equal(anna->counts[PW_META_AWAY], 0);
}

/* The server stands still: nobody waits for it longer than a lease, no turn at all; and what it reads late does nothing. */
static void test_stalled(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        uint64_t from_us;

        begin(scene, 2);
        kill(scene->server.pid, SIGSTOP);
        from_us = pw_now_us();
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_UNKNOWN);
        assert_true(pw_now_us() - from_us < 3 * LEASE_US);
        expect(anna, PW_META_AWAY, PW_DEADLINE, "see whether it is stopped");
        assert_int_equal(resolve(scene, 0, "weights"), PW_NAMED_AWAY);
        kill(scene->server.pid, SIGCONT);
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(ask(scene, 0, PW_NAME_UNBIND, "weights", object_of(anna, 1)) == PW_NAMED_TAKEN, 0);
        until(scene, !berta->counts[PW_META_AWAY] || berta->counts[PW_META_BACK]);
        assert_int_equal(resolve(scene, 1, "weights"), PW_NAMED_NOT_FOUND);
        assert_true(anna->slowest_us < 200000);
}

/* --- what refuses ----------------------------------------------------------------------------------------------------------------- */

static void test_no_server(void **state)
{
        struct scene *scene = *state;

        snprintf(scene->address, sizeof scene->address, "redis+unix:%s/nobody.sock", scene->folder);
        open_host(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        expect(&scene->hosts[0], PW_META_WAITS, PW_NOT_READY, "see that it runs there");
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
        open_host(scene, 0, true);
        turn(scene);
        peer = accept(fd, NULL, NULL);
        assert_int_equal(write(peer, "HTTP/1.0 400 Bad Request\r\n\r\n", 28), 28);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        expect(&scene->hosts[0], PW_META_WAITS, PW_NOT_READY, "Protocol error");
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
        open_host(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        expect(&scene->hosts[0], PW_META_WAITS, PW_DENIED, "user and password");
        close_host(scene, 0);
        scene->password = "barley";
        open_host(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        expect(&scene->hosts[0], PW_META_WAITS, PW_DENIED, "user and password");
        close_host(scene, 0);
        scene->user = "default";
        scene->password = "sesame";
        open_host(scene, 0, true);
        until(scene, scene->hosts[0].is.epoch);
}

static void test_permission(void **state)
{
        struct scene *scene = *state;
        char answer[128];

        begin(scene, 0);
        server_ask(&scene->server, answer, sizeof answer, "ACL SETUSER default -evalsha -eval");
        open_host(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        expect(&scene->hosts[0], PW_META_WAITS, PW_DENIED, "lacks a permission");
        server_ask(&scene->server, answer, sizeof answer, "ACL SETUSER default +eval +evalsha");
        until(scene, scene->hosts[0].is.epoch);
}

static void test_replica(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "REPLICAOF 127.0.0.1 1");
        until(scene, anna->counts[PW_META_AWAY]);
        until(scene, ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)) == PW_NAMED_AWAY);
        expect(anna, PW_META_AWAY, PW_UNSUPPORTED, "it is a replica");
        server_ask(&scene->server, answer, sizeof answer, "REPLICAOF NO ONE");
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_OK);
}

static void test_out_of_memory(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory 1");
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_AWAY);
        expect(anna, PW_META_AWAY, PW_NO_SPACE, "raise its maxmemory");
        server_ask(&scene->server, answer, sizeof answer, "CONFIG SET maxmemory 0");
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(ask(scene, 0, PW_NAME_BIND, "weights", object_of(anna, 1)), PW_NAMED_OK);
}

static void test_evicts(void **state)
{
        struct scene *scene = *state;
        static const char *const args[] = { "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", NULL };

        if (!server_is_there())
                skip();
        server_begin(&scene->server, args);
        open_host(scene, 0, true);
        until(scene, scene->hosts[0].is.epoch);
        expect(&scene->hosts[0], PW_META_TROUBLE, PW_NO_SPACE, "noeviction");
}

/* --- who is in ---------------------------------------------------------------------------------------------------------------------- */

/* A cluster is founded only by who was told to, only where none lives, and two of one name stay apart. */
static void test_incarnations(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        char answer[64];

        begin(scene, 0);
        open_host(scene, 1, false);
        until(scene, berta->counts[PW_META_WAITS]);
        expect(berta, PW_META_WAITS, PW_NOT_FOUND, "--new-cluster");
        open_host(scene, 0, true);
        until(scene, anna->is.epoch && berta->is.epoch);
        open_host(scene, 2, true);
        until(scene, scene->hosts[2].counts[PW_META_REFUSED]);
        expect(&scene->hosts[2], PW_META_REFUSED, PW_EXISTS, "without --new-cluster");
        close_host(scene, 2);
        close_host(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "HSET pathways:{ants} incarnation 0000000000000001");
        until(scene, anna->counts[PW_META_AWAY]);
        expect(anna, PW_META_AWAY, PW_EXISTS, "another cluster of this name");
}

/* A living host's name is not given to another daemon; one with a copy of the state dir, which says it started later, ends it. */
static void test_one_of_a_name(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[256];

        begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "SET pathways:{ants}:%016llx:lease:1 5000\\x20ab\\x201",
                   (unsigned long long)anna->is.incarnation);
        server_ask(&scene->server, answer, sizeof answer, "HSET pathways:{ants}:%016llx:hosts 1 x",
                   (unsigned long long)anna->is.incarnation);
        until(scene, anna->counts[PW_META_AWAY]);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_two_hosts),      TEST(test_start_without_server), TEST(test_away_and_back), TEST(test_flushed),
                TEST(test_scripts_flushed), TEST(test_stalled),             TEST(test_no_server),     TEST(test_no_redis),
                TEST(test_password),       TEST(test_permission),           TEST(test_replica),       TEST(test_out_of_memory),
                TEST(test_evicts),         TEST(test_incarnations),         TEST(test_one_of_a_name),
        };

        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
