/* Hosts and their links: who finds whom, who is given up, who comes back. */
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/folder.h"
#include "tests/integration/operator/command.h"
#include "tests/integration/operator/exposition.h"
#include "tests/integration/operator/http.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void start(struct cluster *cluster, int count)
{
        cluster->linked = true;
        for (int i = 0; i < count; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
}

static int64_t of_host(struct cluster *cluster, int i, const char *name, const char *key)
{
        struct pw_listing *listing = it_list(cluster->hosts[i].session, "hosts", NULL);
        int64_t number = it_number(listing, it_find(listing, "name", name), key);

        pw_listing_free(listing);
        return number;
}

/* The first host counts a chunk when its thread has reported it, which may be after it was there. */
static void until_sent(struct cluster *cluster, int64_t bytes)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (of_host(cluster, 0, "bert", "bulk_out") != bytes) {
                assert_true(it_now_us() < limit_us);
                sched_yield();
        }
}

static void three_hosts_find_each_other(void **state)
{
        struct cluster *cluster = *state;
        struct pw_listing *listing;
        char *text = NULL;

        start(cluster, 3);
        listing = it_list(cluster->hosts[0].session, "hosts", NULL);
        assert_int_equal(it_rows(listing), 3);
        assert_string_equal(it_text(listing, it_find(listing, "name", "anna"), "link"), "here");
        assert_string_equal(it_text(listing, it_find(listing, "name", "cleo"), "host"), "h3");
        pw_listing_free(listing);
        assert_int_equal(it_command(&cluster->hosts[2], &text, NULL, "hosts"), 0);
        assert_non_null(strstr(text, "anna"));
        free(text);
}

/* Those of the link with host anna, over which values of so many bytes came. */
static void expect_metrics(struct it_host *host, double bytes)
{
        static char text[HTTP_ANSWER_BYTES];
        char address[120];

        http_address(host, address);
        assert_int_equal(http_ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", text), 200);
        assert_null(exposition_check(text));
        assert_true(exposition_value(text, "pathways_link_up{host=\"h1\",name=\"anna\"}") == 1);
        assert_true(exposition_value(text, "pathways_link_term{host=\"h1\",name=\"anna\"}") == 1);
        assert_true(exposition_value(text, "pathways_link_round_seconds{host=\"h1\",name=\"anna\"}") > 0);
        assert_true(exposition_value(text, "pathways_link_bytes_total{host=\"h1\",name=\"anna\",stream=\"bulk\",way=\"in\"}") ==
                    bytes);
}

/* What an operator asks of a link: since when it is as it is, how far the other host is, what went over it. */
static void links_are_measured(void **state)
{
        enum { COUNT = 3 << 20 };
        struct cluster *cluster = *state;
        uint8_t *bytes = calloc(1, COUNT);
        struct pw_future *future, *opened;
        struct pw_view view;

        cluster->serves = true;
        start(cluster, 2);
        assert_non_null(bytes);
        it_ok(pw_put(cluster->hosts[0].session, bytes, COUNT, NULL, &future, IT_ERR));
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(future), &opened, IT_ERR));
        it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
        assert_int_equal(of_host(cluster, 1, "anna", "bulk_in"), COUNT);
        assert_int_equal(of_host(cluster, 1, "anna", "bulk_out"), 0);
        until_sent(cluster, COUNT);
        assert_true(of_host(cluster, 1, "anna", "bytes_out") > 0);
        assert_true(of_host(cluster, 1, "anna", "round_us") > 0);
        assert_true(of_host(cluster, 1, "anna", "round_us") < IT_LONG);
        assert_true(of_host(cluster, 1, "anna", "since_us") > 0);
        expect_metrics(&cluster->hosts[1], COUNT);
        pw_unref(opened);
        pw_unref(future);
        free(bytes);
}

/* Here all hosts have one clock: what each says of another's must allow for that. */
static void clocks_are_compared(void **state)
{
        struct cluster *cluster = *state;
        int64_t limit_us = it_now_us() + IT_LONG, bound_us = 0;

        start(cluster, 2);
        while (!bound_us || bound_us > 100000) {
                struct pw_listing *listing = it_list(cluster->hosts[0].session, "hosts", NULL);
                const Pathways__Wire__Row *row = pw_listing_rows(listing)->rows[it_find(listing, "name", "bert")];

                assert_true(it_now_us() < limit_us);
                for (size_t i = 0; i < row->n_cells; i++) {
                        if (strcmp(row->cells[i]->key, "clock_us"))
                                continue;
                        bound_us = it_number(listing, it_find(listing, "name", "bert"), "clock_bound_us");
                        assert_true(row->cells[i]->real >= (double)-bound_us && row->cells[i]->real <= (double)bound_us);
                }
                pw_listing_free(listing);
        }
}

/* What is killed is given up at once, by both, as nobody listens there any more; it comes back with another epoch, in another
 * term. */
static void who_is_killed_is_given_up_and_comes_back(void **state)
{
        struct cluster *cluster = *state;
        int64_t epoch, term;
        int64_t killed_us;

        cluster->lease = "4s";
        start(cluster, 3);
        epoch = of_host(cluster, 0, "bert", "epoch");
        term = of_host(cluster, 0, "bert", "term");
        killed_us = it_now_us();
        cluster_kill(cluster, 1);
        cluster_until_link(cluster, 0, 1, "away");
        cluster_until_link(cluster, 2, 1, "away");
        assert_true(it_now_us() < killed_us + 3 * (int64_t)IT_SECOND); /* no lease is over */
        cluster_until_link(cluster, 0, 2, "up");
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        assert_true(of_host(cluster, 0, "bert", "epoch") > epoch);
        assert_true(of_host(cluster, 0, "bert", "term") > term);
}

/* Who was stopped for longer than a lease has lost its links, and finds the others again by itself. */
static void who_was_stopped_is_met_again(void **state)
{
        struct cluster *cluster = *state;
        int64_t term;

        start(cluster, 2);
        term = of_host(cluster, 0, "bert", "term");
        assert_int_equal(kill(cluster->hosts[1].pid, SIGSTOP), 0);
        cluster_until_link(cluster, 0, 1, "away");
        assert_int_equal(kill(cluster->hosts[1].pid, SIGCONT), 0);
        cluster_meet(cluster);
        assert_true(of_host(cluster, 0, "bert", "term") > term);
}

/* Hosts that listen at any TCP port have one. `secret` is its path, for as long as the cluster is there. */
static void share_secret(struct cluster *cluster, char secret[100])
{
        snprintf(secret, 100, "%s/secret", cluster->hosts[0].folder);
        it_write_file(secret, "sesame and barley, and a few more\n");
        assert_int_equal(chmod(secret, 0600), 0);
        cluster->secret_file = secret;
}

/* Two hosts that have met start again while Redis is away. */
static void meet_again_without_redis(struct cluster *cluster)
{
        start(cluster, 2);
        server_kill(&cluster->server);
        for (int i = 0; i < 2; i++)
                cluster_end(cluster, i);
        for (int i = 0; i < 2; i++)
                cluster_start(cluster, i, false);
        cluster_meet(cluster);
}

/* Links need no Redis once hosts know each other, even after both were started again. */
static void hosts_find_each_other_without_redis(void **state)
{
        struct cluster *cluster = *state;

        meet_again_without_redis(cluster);
}

/* At any port: each asks for the one that it had. */
static void hosts_at_any_port_find_each_other_without_redis(void **state)
{
        struct cluster *cluster = *state;
        char secret[100];

        share_secret(cluster, secret);
        meet_again_without_redis(cluster);
}

/* It is called at another port than before, which nobody is told of but by itself: what it puts is pulled all the same. */
static void who_starts_without_redis_lends(void **state)
{
        enum { COUNT = 3 << 20 };
        struct cluster *cluster = *state;
        uint8_t *bytes = calloc(1, COUNT);
        char secret[100], port[100];

        share_secret(cluster, secret);
        assert_non_null(bytes);
        start(cluster, 3);
        server_kill(&cluster->server);
        cluster_end(cluster, 1);
        snprintf(port, sizeof port, "%s/state/listen", cluster->hosts[1].folder);
        assert_int_equal(unlink(port), 0); /* it does not know at which it was */
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        for (int to = 0; to < 3; to++) {
                struct pw_future *future, *opened;
                struct pw_view view;

                bytes[COUNT - 1] = (uint8_t)(7 + to);
                it_ok(pw_put(cluster->hosts[to == 1 ? 0 : 1].session, bytes, COUNT, NULL, &future, IT_ERR));
                it_ok(pw_open(cluster->hosts[to].session, pw_future_id(future), &opened, IT_ERR));
                it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
                assert_int_equal(((const uint8_t *)view.data)[COUNT - 1], 7 + to);
                pw_view_done(&view);
                pw_unref(opened);
                pw_unref(future);
        }
        free(bytes);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(three_hosts_find_each_other),
                CLUSTER_TEST(links_are_measured),
                CLUSTER_TEST(clocks_are_compared),
                CLUSTER_TEST(who_is_killed_is_given_up_and_comes_back),
                CLUSTER_TEST(who_was_stopped_is_met_again),
                CLUSTER_TEST(hosts_find_each_other_without_redis),
                CLUSTER_TEST(hosts_at_any_port_find_each_other_without_redis),
                CLUSTER_TEST(who_starts_without_redis_lends),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
