/* Listings over the hosts of a cluster: asked at one of them, in the rows of all; and which did not answer. */
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/operator/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKS_MAX 256u /* of a link, under way: WINDOW in daemon/peer/peers.c */
#define ASKS_MAX 1024u /* of a session: PW_ASKS_OF_SESSION in daemon/peer/asks.h */

#define MANY 600        /* objects: more than a page of another host has */
#define OTHER_USER 1    /* of Debian: daemon */
#define NAMELESS 23456  /* a user that no host knows by name */

static void start(struct cluster *cluster, const char *lease)
{
        cluster->linked = true;
        cluster->lease = lease;
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_start(cluster, i, !i);
        cluster_meet(cluster);
}

static struct pw_listing *everywhere(struct it_host *host, const char *of, const char *what)
{
        const struct pw_list_params params = { .host = of, .what = what };
        struct pw_listing *listing = NULL;

        it_ok(pw_list_everywhere(host->session, &params, &listing, IT_ERR));
        return listing;
}

static struct pw_future *put(struct it_host *host, const char *name)
{
        struct pw_future *future;

        it_ok(pw_put(host->session, name, strlen(name), NULL, &future, IT_ERR));
        it_ok(pw_name(future, name, IT_ERR));
        return future;
}

/* The host of the row in which `key` is `text`. */
static const char *host_of(const struct pw_listing *listing, const char *key, const char *text)
{
        return it_text(listing, it_find(listing, key, text), "host");
}

static void rows_of_all_hosts(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *held[CLUSTER_HOSTS];
        struct pw_listing *listing;
        char name[] = "object-0";

        start(cluster, "10s");
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                name[7] = (char)('0' + i);
                held[i] = put(&cluster->hosts[i], name);
        }
        listing = everywhere(&cluster->hosts[1], NULL, "objects");
        assert_int_equal(it_rows(listing), CLUSTER_HOSTS);
        assert_int_equal(pw_listing_silent(listing), 0);
        assert_string_equal(it_text(listing, 0, "host"), "h1");
        assert_string_equal(host_of(listing, "names", "object-0"), "h1");
        assert_string_equal(host_of(listing, "names", "object-1"), "h2");
        assert_string_equal(host_of(listing, "names", "object-2"), "h3");
        pw_listing_free(listing);
        listing = everywhere(&cluster->hosts[0], "cleo", "objects");
        assert_int_equal(it_rows(listing), 1);
        assert_string_equal(it_text(listing, 0, "names"), "object-2");
        pw_listing_free(listing);
        listing = everywhere(&cluster->hosts[0], "h2", "devices");
        assert_string_equal(host_of(listing, "device", "h2:0"), "h2");
        pw_listing_free(listing);
        listing = everywhere(&cluster->hosts[2], NULL, "memory");
        assert_string_equal(host_of(listing, "memory", "h1"), "h1");
        assert_string_equal(host_of(listing, "memory", "h3"), "h3");
        pw_listing_free(listing);
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                name[7] = (char)('0' + i);
                it_ok(pw_unname(cluster->hosts[i].session, name, IT_ERR));
                pw_unref(held[i]);
        }
}

/* Every subcommand that spreads, as people see it; and what is not to be had. */
static void as_a_command(void **state)
{
        static const char *const spread[] = { "devices", "islands", "objects", "memory", "owners", "programs", "runs", "gangs" };
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[0];
        struct pw_future *held;

        start(cluster, "10s");
        held = put(&cluster->hosts[2], "weights");
        for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
                it_command_expect(host, 0, "", IT_ARGS(spread[i]));
                it_command_expect(host, 0, "[", IT_ARGS(spread[i], "--json", "--host", "bert"));
        }
        it_command_expect(host, 0, "host|\nh1 |\nh2 |\nh3 ", IT_ARGS("devices"));
        it_command_expect(host, 0, "h3|weights", IT_ARGS("objects"));
        it_command_expect(host, 0, "\"host\": \"h3\"|\"names\": \"weights\"", IT_ARGS("objects", "--json"));
        it_command_expect(host, 0, "h1\n|h2\n|h3\n|unaccounted 0", IT_ARGS("memory"));
        it_command_expect(host, 0, "cleo", IT_ARGS("status", "--host", "h3"));
        it_command_expect(host, 0, "h3|cleo|here", IT_ARGS("hosts", "--host", "cleo"));
        it_command_expect(host, 0, "device", IT_ARGS("gangs", "h3:0", "--host", "cleo"));
        it_command_expect(host, 5, "no host \"dora\"|pathways hosts", IT_ARGS("objects", "--host", "dora"));
        it_ok(pw_unname(cluster->hosts[2].session, "weights", IT_ERR));
        pw_unref(held);
}

/* Of a page that another host sends only so many have room: they come one after the other. */
static void pages_of_another_host(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[2];
        static struct pw_future *held[MANY];
        const struct pw_list_params some = { .host = "h3", .what = "objects", .limit = 10 };
        struct pw_listing *listing;

        start(cluster, "10s");
        for (int i = 0; i < MANY; i++)
                it_ok(pw_put(host->session, &i, sizeof i, NULL, &held[i], IT_ERR));
        listing = everywhere(&cluster->hosts[0], NULL, "objects");
        assert_int_equal(it_rows(listing), MANY);
        assert_false(pw_listing_rows(listing)->truncated);
        for (int i = 1; i < MANY; i++) /* each once */
                assert_string_not_equal(it_text(listing, (size_t)i, "id"), it_text(listing, (size_t)i - 1, "id"));
        pw_listing_free(listing);
        it_ok(pw_list_everywhere(cluster->hosts[0].session, &some, &listing, IT_ERR));
        assert_int_equal(it_rows(listing), 10);
        assert_true(pw_listing_rows(listing)->truncated);
        pw_listing_free(listing);
        for (int i = 0; i < MANY; i++)
                pw_unref(held[i]);
}

static void who_does_not_answer(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[0];
        const struct pw_list_params of_cleo = { .host = "cleo", .what = "objects" };
        struct pw_listing *listing;
        int64_t since_us;

        start(cluster, "1s");
        assert_int_equal(kill(cluster->hosts[2].pid, SIGSTOP), 0);
        since_us = it_now_us();
        listing = everywhere(host, NULL, "devices"); /* it waits for who says nothing, and then goes on */
        it_within("a listing of a cluster of which one host is stopped", since_us, 1500000);
        assert_int_equal(pw_listing_silent(listing), 1);
        assert_string_equal(it_text(listing, it_rows(listing) - 1, "host"), "h3");
        assert_non_null(strstr(it_text(listing, it_rows(listing) - 1, "unanswered"), "host cleo (h3) was given up"));
        assert_string_equal(host_of(listing, "device", "h2:0"), "h2");
        pw_listing_free(listing);
        it_fails(pw_list_everywhere(host->session, &of_cleo, &listing, IT_ERR), PW_HOST_LOST, "cleo (h3)|given up");
        cluster_kill(cluster, 1);
        listing = everywhere(host, NULL, "devices");
        assert_int_equal(pw_listing_silent(listing), 2);
        pw_listing_free(listing);
        it_command_expect(host, 0, "h1 |h2 did not answer: host bert (h2) was given up|h3 did not answer: host cleo (h3)",
                          IT_ARGS("devices"));
        it_command_expect(host, 0, "\"host\": \"h2\", \"unanswered\": \"host bert (h2) was given up", IT_ARGS("runs", "--json"));
        it_command_expect(host, 0, "h2 did not answer|unaccounted 0", IT_ARGS("memory"));
        it_command_expect(host, 1, "cleo (h3) was given up", IT_ARGS("objects", "--host", "cleo"));
        assert_int_equal(kill(cluster->hosts[2].pid, SIGCONT), 0);
        cluster_until_link(cluster, 0, 2, "up");
        listing = everywhere(host, "h3", "devices");
        assert_string_equal(host_of(listing, "device", "h3:0"), "h3");
        pw_listing_free(listing);
}

/* One that is given up while many pages of it are wanted, and who wanted them goes. */
static int list_again(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        const struct pw_list_params params = { .host = "h2", .what = "objects" };
        struct pw_listing *listing;

        (void)!write(pipe, "c", 1);
        while (pw_list_of(session, &params, &listing, NULL) == PW_OK)
                pw_listing_free(listing);
        return 0;
}

static void askers_that_go(void **state)
{
        struct cluster *cluster = *state;
        struct it_child children[12];

        start(cluster, "1s");
        for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
                char byte;

                children[i] = it_fork(list_again, &cluster->hosts[0]);
                it_read(&children[i], &byte, 1);
        }
        assert_int_equal(kill(cluster->hosts[1].pid, SIGSTOP), 0);
        for (size_t i = 0; i < sizeof children / sizeof *children / 2; i++)
                it_reap(&children[i], SIGKILL);
        for (size_t i = sizeof children / sizeof *children / 2; i < sizeof children / sizeof *children; i++)
                assert_int_equal(it_reap(&children[i], 0), 0);
        assert_int_equal(kill(cluster->hosts[1].pid, SIGCONT), 0);
        cluster_meet(cluster);
        pw_listing_free(everywhere(&cluster->hosts[0], "h2", "objects"));
}

/* Users see on other hosts what is theirs, by name; who has no name there sees nothing. */
static void whose_rows(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *held;
        char *text = NULL;

        if (geteuid()) {
                it_skip("only root starts processes of other users");
                return;
        }
        start(cluster, "10s");
        held = put(&cluster->hosts[1], "secret");
        it_command_as(OTHER_USER);
        it_command_expect(&cluster->hosts[1], 0, "h2.", IT_ARGS("put", "/dev/null", "--name", "own"));
        it_command_as(0);
        it_command_expect(&cluster->hosts[0], 0, "own|secret", IT_ARGS("objects"));
        it_command_as(OTHER_USER);
        assert_int_equal(it_command(&cluster->hosts[0], &text, NULL, "objects"), 0);
        assert_non_null(strstr(text, "own"));
        assert_null(strstr(text, "secret"));
        free(text);
        it_command_expect(&cluster->hosts[1], 0, "", IT_ARGS("free", "own"));
        it_command_as(NAMELESS);
        it_command_expect(&cluster->hosts[0], 0, "h2 did not answer: tenant uid-23456 has no name", IT_ARGS("objects"));
        it_command_as(0);
        it_ok(pw_unname(cluster->hosts[1].session, "secret", IT_ERR));
        pw_unref(held);
}

/* What was asked and is answered holds nothing up: a page gives back the work that a link counts, an open what its session and
 * tenant may have under way. */
static void asked_again_and_again(void **state)
{
        struct cluster *cluster = *state;
        const struct pw_list_params params = { .host = "h2", .what = "status" };
        struct pw_session *session;
        struct pw_listing *listing;
        struct pw_future *future, *opened;

        start(cluster, "10s");
        session = cluster->hosts[0].session;
        for (uint32_t i = 0; i < WORKS_MAX + 10; i++) {
                it_ok(pw_list_of(session, &params, &listing, IT_ERR));
                pw_listing_free(listing);
        }
        it_ok(pw_put(cluster->hosts[1].session, "often", 5, NULL, &future, IT_ERR));
        for (uint32_t i = 0; i < ASKS_MAX + 10; i++) {
                it_ok(pw_open(session, pw_future_id(future), &opened, IT_ERR));
                pw_unref(opened);
        }
        pw_unref(future);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(rows_of_all_hosts),   CLUSTER_TEST(as_a_command),   CLUSTER_TEST(pages_of_another_host),
                CLUSTER_TEST(who_does_not_answer), CLUSTER_TEST(askers_that_go), CLUSTER_TEST(whose_rows),
                CLUSTER_TEST(asked_again_and_again),
        };

        return cmocka_run_group_tests_name("listings", tests, NULL, NULL);
}
