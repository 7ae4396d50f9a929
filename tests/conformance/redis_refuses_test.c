/* Metadata in a Redis that serves, and then takes something away: permissions, the user, its memory, its disk. A sentence says
 * what, where and what to do, nothing is bound twice, and all is as before once it is given back.
 */
#include "base/memory.h"
#include "tests/conformance/members.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* What pathways-metadata(7) asks for, and no more. */
#define USER \
        "ACL SETUSER host on >sesame resetkeys ~pathways:{ants}* -@all +auth +info +script|load +eval +evalsha +time +get +getex " \
        "+set +del +exists +pttl +pexpire +hget +hset +hmget +hdel +hkeys +hincrby +zadd +zrangebyscore"

static void tell(const struct scene *scene, const char *command)
{
        char answer[200];

        server_ask(&scene->server, answer, sizeof answer, "%s", command);
        assert_string_equal(answer, "OK");
}

static void begin(struct scene *scene, const char *const *args)
{
        if (!server_is_there())
                skip();
        server_begin(&scene->server, args);
        tell(scene, USER);
        scene->user = "host";
        scene->password = "sesame";
        for (uint32_t i = 0; i < 2; i++) {
                members_open(scene, i, i == 0);
                until(scene, scene->hosts[i].is.epoch);
        }
}

/* All that a host does. */
static void use(struct scene *scene)
{
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];

        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_TAKEN);
        assert_int_equal(members_resolve(scene, 1, "weights"), PW_NAMED_OK);
        assert_int_equal(members_ask(scene, 0, PW_NAME_UNBIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
}

/* It says so, whatever it said before; and then all is as it was. */
static void comes_back(struct scene *scene, enum pw_status status, const char *words, const char *remedy)
{
        struct host *anna = &scene->hosts[0];
        uint32_t backs = anna->counts[PW_META_BACK];

        until(scene, strstr(anna->text[PW_META_AWAY], words));
        members_expect(anna, PW_META_AWAY, status, "Redis at redis+unix:");
        anna->text[PW_META_AWAY][0] = 0;
        tell(scene, remedy);
        until(scene, anna->counts[PW_META_BACK] > backs);
        until(scene, members_resolve(scene, 1, "weights") == PW_NAMED_NOT_FOUND);
        use(scene);
}

static void test_least_permission(void **state)
{
        struct scene *scene = *state;

        begin(scene, NULL);
        use(scene);
        members_close(scene, 0);
        members_open(scene, 0, false);
        until(scene, scene->hosts[0].is.epoch);
        use(scene);
        for (uint32_t i = 0; i < 2; i++)
                assert_int_equal(scene->hosts[i].counts[PW_META_AWAY] + scene->hosts[i].counts[PW_META_TROUBLE], 0);
}

static void test_permission_is_taken_away(void **state)
{
        static const char *const lost[][2] = { { "-evalsha", "+evalsha" }, { "-getex", "+getex" },
                                               { "resetkeys", "~pathways:{ants}*" } };
        struct scene *scene = *state;
        char take[64], give[64];

        begin(scene, NULL);
        for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
                snprintf(take, sizeof take, "ACL SETUSER host %s", lost[i][0]);
                snprintf(give, sizeof give, "ACL SETUSER host %s", lost[i][1]);
                tell(scene, take);
                comes_back(scene, PW_DENIED, "lacks a permission; pathways-metadata(7)", give);
        }
}

/* What is asked for is not done, and is said not to be. */
static void test_permission_to_write(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];

        begin(scene, NULL);
        tell(scene, "ACL SETUSER host -set");
        assert_int_not_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        comes_back(scene, PW_DENIED, "lacks a permission; pathways-metadata(7)", "ACL SETUSER host +set");
}

static void test_user_is_removed(void **state)
{
        struct scene *scene = *state;
        char answer[64];

        begin(scene, NULL);
        server_ask(&scene->server, answer, sizeof answer, "ACL DELUSER host");
        comes_back(scene, PW_DENIED, "does not take this user and password", USER);
}

/* All keys are thrown away, and then there is no room for more. */
static void test_everything_is_evicted(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        char answer[64];

        begin(scene, NULL);
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "kept", members_object(berta, 7)), PW_NAMED_OK);
        tell(scene, "CONFIG SET maxmemory-policy allkeys-random");
        tell(scene, "CONFIG SET maxmemory 1");
        until(scene, anna->counts[PW_META_AWAY]);
        do
                server_ask(&scene->server, answer, sizeof answer, "DBSIZE");
        while (strcmp(answer, "0"));
        comes_back(scene, PW_NO_SPACE, "raise its maxmemory", "CONFIG SET maxmemory 0");
        assert_int_equal(members_resolve(scene, 0, "kept"), PW_NAMED_OK);
        assert_true(pw_id_equal(anna->answer.id, members_object(berta, 7)));
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "kept", members_object(anna, 8)), PW_NAMED_TAKEN);
}

/* A server that cannot save takes nothing. */
static void test_disk(void **state)
{
        char folder[100], answer[64];
        struct scene *scene = *state;
        const char *args[] = { "--dir", folder, "--save", "3600 1", NULL };

        snprintf(folder, sizeof folder, "%s/disk", scene->folder);
        assert_int_equal(mkdir(folder, 0700), 0);
        begin(scene, args);
        assert_int_equal(rmdir(folder), 0);
        server_ask(&scene->server, answer, sizeof answer, "BGSAVE");
        comes_back(scene, PW_SYSTEM, "cannot write to its disk", "CONFIG SET stop-writes-on-bgsave-error no");
}

static int listen_here(struct scene *scene)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t bytes = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
        snprintf(scene->address, sizeof scene->address, "redis://127.0.0.1:%u", ntohs(at.sin_port));
        return fd;
}

static void test_says_nothing(void **state)
{
        struct scene *scene = *state;
        int fd = listen_here(scene);

        members_open(scene, 0, true);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_DEADLINE, "see whether it is stopped");
        close(fd);
}

static void test_says_half(void **state)
{
        struct scene *scene = *state;
        int fd = listen_here(scene), peer;

        members_open(scene, 0, true);
        members_turn(scene);
        peer = accept(fd, NULL, NULL);
        assert_int_equal(write(peer, "$900\r\nrun", 9), 9);
        until(scene, scene->hosts[0].counts[PW_META_WAITS]);
        members_expect(&scene->hosts[0], PW_META_WAITS, PW_DEADLINE, "see whether it is stopped");
        close(peer);
        close(fd);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, members_set_up, members_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_least_permission), TEST(test_permission_is_taken_away), TEST(test_permission_to_write),
                TEST(test_user_is_removed),  TEST(test_everything_is_evicted),    TEST(test_disk),
                TEST(test_says_nothing),     TEST(test_says_half),
        };

        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
