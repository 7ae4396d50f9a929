/* A process that may connect to a daemon's --listen, and says there what no host says: it is hung up on with a line in the log, and
 * the hosts that deal with each other notice nothing. */
#include "daemon/peer/codec.h"
#include "daemon/transport/greeting.h"
#include "libclient/session.h"
#include "tests/integration/cluster/cluster.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int call(struct cluster *cluster)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%.60s/anna.peer", cluster->server.folder);
        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
        return fd;
}

static void say(int fd, const void *bytes, size_t count)
{
        (void)!send(fd, bytes, count, MSG_NOSIGNAL); /* it may have hung up already */
}

static void greet(int fd, enum pw_greeting_use use, const void *ticket, uint32_t ticket_bytes)
{
        struct pw_greeting greeting = { .use = use, .name = "bert", .ticket_bytes = ticket_bytes };
        uint8_t bytes[PW_GREETING_MAX];

        memcpy(greeting.ticket, ticket ? ticket : "", ticket_bytes);
        say(fd, bytes, pw_greeting_encode(&greeting, bytes));
}

static void say_frame(int fd, const void *bytes, uint32_t count)
{
        uint8_t head[4] = { (uint8_t)count, (uint8_t)(count >> 8), (uint8_t)(count >> 16), (uint8_t)(count >> 24) };

        say(fd, head, sizeof head);
        say(fd, bytes, count);
}

static void until_hung_up(int fd)
{
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
        uint8_t bytes[4096];

        do
                assert_int_equal(poll(&poll_fd, 1, IT_LONG / 1000), 1);
        while (read(fd, bytes, sizeof bytes) > 0);
        close(fd);
}

static bool log_has(const struct cluster *cluster, const char *text)
{
        FILE *log = fopen(cluster->hosts[0].log, "re");
        char line[600];
        bool has = false;

        while (log && !has && fgets(line, sizeof line, log))
                has = strstr(line, text) != NULL;
        if (log)
                fclose(log);
        return has;
}

static void until_log_has(const struct cluster *cluster, const char *text)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (!log_has(cluster, text)) {
                if (it_now_us() > limit_us)
                        fail_msg("the log does not say: %s", text);
                sched_yield();
        }
}

/* The links are as they were, and a value crosses. */
static void all_is_well(struct cluster *cluster, int64_t term)
{
        struct pw_future *future, *opened;
        struct pw_listing *hosts;
        struct pw_view view;

        it_ok(pw_put(cluster->hosts[0].session, "well", 4, NULL, &future, IT_ERR));
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(future), &opened, IT_ERR));
        it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
        assert_memory_equal(view.data, "well", 4);
        pw_view_done(&view);
        pw_unref(opened);
        it_ok(pw_session_fence(cluster->hosts[1].session, IT_ERR)); /* the DROP is read */
        pw_unref(future);
        hosts = it_list(cluster->hosts[0].session, "hosts", NULL);
        assert_int_equal(it_number(hosts, it_find(hosts, "name", "bert"), "term"), term);
        pw_listing_free(hosts);
}

static int64_t start(struct cluster *cluster)
{
        struct pw_listing *hosts;
        int64_t term;

        cluster->linked = true;
        for (int i = 0; i < 2; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
        hosts = it_list(cluster->hosts[0].session, "hosts", NULL);
        term = it_number(hosts, it_find(hosts, "name", "bert"), "term");
        pw_listing_free(hosts);
        return term;
}

static void garbage(void **state)
{
        static const char noise[300] = "GET / HTTP/1.1\r\n\r\n";
        struct cluster *cluster = *state;
        int64_t term = start(cluster);
        int fd = call(cluster);

        say(fd, noise, sizeof noise);
        until_hung_up(fd);
        until_log_has(cluster, "connection refused");
        fd = call(cluster);
        greet(fd, PW_USE_CONTROL, NULL, 0);
        say_frame(fd, noise, sizeof noise);
        until_hung_up(fd);
        until_log_has(cluster, "host breaks the protocol");
        fd = call(cluster);
        greet(fd, PW_USE_CONTROL, NULL, 0);
        say(fd, "\xff\xff\xff\xff", 4); /* a frame of 4 GiB */
        until_hung_up(fd);
        all_is_well(cluster, term);
}

/* Who begins and goes on with nothing costs a place, and no host its link; many of them too. */
static void half_of_it(void **state)
{
        enum { MANY = 100 };
        struct cluster *cluster = *state;
        int64_t term = start(cluster);
        int fds[MANY], fd = call(cluster);

        greet(fd, PW_USE_CONTROL, NULL, 0);
        until_hung_up(fd);
        until_log_has(cluster, "has not said who it is");
        for (int i = 0; i < MANY; i++) {
                fds[i] = call(cluster);
                if (i % 3 == 0)
                        say(fds[i], "pwT", 3);
                if (i % 3 == 1) {
                        greet(fds[i], PW_USE_CONTROL, NULL, 0);
                        say(fds[i], "\x40\0\0\0half", 8);
                }
        }
        all_is_well(cluster, term);
        for (int i = 0; i < MANY; i++)
                until_hung_up(fds[i]);
        all_is_well(cluster, term);
}

static struct pw_hello hello_of(struct cluster *cluster)
{
        static char incarnation[64];
        struct pw_listing *hosts = it_list(cluster->hosts[0].session, "hosts", NULL);
        struct pw_hello hello = { .version = 1, .cluster = "ants", .name = "bert", .host = 2 };

        server_ask(&cluster->server, incarnation, sizeof incarnation, "HGET pathways:{ants} incarnation");
        hello.incarnation = strtoull(incarnation, NULL, 16);
        hello.peer.epoch = (uint32_t)it_number(hosts, it_find(hosts, "name", "bert"), "epoch");
        pw_listing_free(hosts);
        return hello;
}

static void say_hello(struct cluster *cluster, const struct pw_hello *hello)
{
        int fd = call(cluster);
        uint8_t *bytes;
        uint32_t count;

        assert_int_equal(pw_peer_pack_hello(hello, &bytes, &count), PW_OK);
        greet(fd, PW_USE_CONTROL, NULL, 0);
        say_frame(fd, bytes, count);
        free(bytes);
        until_hung_up(fd);
}

static void hellos_of_others(void **state)
{
        struct cluster *cluster = *state;
        int64_t term = start(cluster);
        struct pw_hello good = hello_of(cluster), hello;

        hello = good, hello.version = 7, say_hello(cluster, &hello);
        until_log_has(cluster, "version");
        hello = good, hello.cluster = "bees", say_hello(cluster, &hello);
        until_log_has(cluster, "bees");
        hello = good, hello.incarnation++, say_hello(cluster, &hello);
        hello = good, hello.host = 1, say_hello(cluster, &hello);
        hello = good, hello.host = 0, say_hello(cluster, &hello);
        hello = good, hello.host = 70000, say_hello(cluster, &hello);
        hello = good, hello.peer.epoch--, say_hello(cluster, &hello);
        hello = good, hello.peer.instance = 4, say_hello(cluster, &hello); /* its epoch, and not its process: a cloned machine */
        until_log_has(cluster, "host refused");
        all_is_well(cluster, term);
}

static void tickets_that_are_wrong(void **state)
{
        static const uint8_t ticket[24] = { 2 };
        struct cluster *cluster = *state;
        int64_t term = start(cluster);

        for (uint32_t bytes = 0; bytes <= sizeof ticket; bytes += 8) {
                int fd = call(cluster);

                greet(fd, PW_USE_BULK, ticket, bytes);
                until_hung_up(fd);
        }
        all_is_well(cluster, term);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(garbage), CLUSTER_TEST(half_of_it), CLUSTER_TEST(hellos_of_others),
                                            CLUSTER_TEST(tickets_that_are_wrong) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
