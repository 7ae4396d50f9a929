/* A host and its place in a cluster: its number, whom it waits for, what it keeps without Redis, who may not have it. */
#include "tests/integration/cluster/cluster.h"

#include "tests/integration/folder.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void start_two(struct cluster *cluster)
{
        cluster_start(cluster, 0, true);
        cluster_start(cluster, 1, false);
}

static void two_hosts_have_two_numbers(void **state)
{
        struct cluster *cluster = *state;
        char text[PW_ID_TEXT_BYTES], row[200];
        struct pw_future *future;

        start_two(cluster);
        assert_int_equal(it_listed(cluster->hosts[0].session, "status", "host"), 1);
        assert_int_equal(it_listed(cluster->hosts[1].session, "status", "host"), 2);
        cluster_until(cluster, 1, "metadata", "redis");
        cluster_until(cluster, 1, "cluster", "ants");
        cluster_until(cluster, 1, "host_name", "bert");
        cluster_until(cluster, 1, "metadata_note", NULL);
        it_ok(pw_put(cluster->hosts[1].session, "bytes of bert's host", 21, NULL, &future, IT_ERR));
        assert_int_equal(strncmp(pw_id_format(pw_future_id(future), text), "h2.", 3), 0);
        pw_unref(future);
        server_ask(&cluster->server, text, sizeof text, "HGET pathways:{ants} incarnation");
        server_ask(&cluster->server, row, sizeof row, "HGET pathways:{ants}:%s:hosts 2", text);
        assert_non_null(strstr(row, " bert -"));
}

static void a_new_host_waits_for_redis(void **state)
{
        struct cluster *cluster = *state;

        server_kill(&cluster->server);
        cluster_launch(cluster, 0, NULL, true);
        cluster_until_refused(cluster, 0, PW_NOT_READY, "host anna waits for its number in cluster ants|Redis at|called again");
        server_start(&cluster->server, NULL);
        cluster_await(cluster, 0);
        assert_int_equal(it_listed(cluster->hosts[0].session, "status", "host"), 1);
}

static void a_new_host_waits_for_its_cluster(void **state)
{
        struct cluster *cluster = *state;

        cluster_launch(cluster, 1, NULL, false);
        cluster_until_refused(cluster, 1, PW_NOT_FOUND, "host bert waits|no cluster of this name|--new-cluster");
        assert_int_equal(kill(cluster->hosts[1].pid, SIGHUP), 0); /* nothing to read anew, and nothing breaks */
        cluster_start(cluster, 0, true);
        cluster_await(cluster, 1);
        assert_int_equal(it_listed(cluster->hosts[1].session, "status", "host"), 2);
}

static void who_waits_can_be_stopped(void **state)
{
        struct cluster *cluster = *state;

        cluster_launch(cluster, 1, NULL, false);
        cluster_until_refused(cluster, 1, PW_NOT_FOUND, "host bert waits");
        assert_int_equal(it_host_end(&cluster->hosts[1], SIGTERM), 0);
        assert_int_equal(access(cluster->hosts[1].socket, F_OK), -1);
        close(cluster->ready[1]);
}

static void a_host_starts_without_redis(void **state)
{
        struct cluster *cluster = *state;
        int64_t epoch;

        start_two(cluster);
        epoch = it_listed(cluster->hosts[1].session, "status", "epoch");
        cluster_end(cluster, 1);
        server_kill(&cluster->server);
        cluster_start(cluster, 1, false);
        assert_int_equal(it_listed(cluster->hosts[1].session, "status", "host"), 2);
        assert_true(it_listed(cluster->hosts[1].session, "status", "epoch") > epoch);
        cluster_until(cluster, 1, "metadata_note", "Redis at");
        cluster_until(cluster, 1, "metadata_note", "no name is bound");
        it_put_and_get(&cluster->hosts[1], 10);
        server_start(&cluster->server, NULL);
        cluster_until(cluster, 1, "metadata_note", NULL);
        cluster_until(cluster, 0, "metadata_note", NULL);
}

/* What was there is put back by those who know it, whoever of them lives. */
static void redis_forgets_everything(void **state)
{
        struct cluster *cluster = *state;
        char before[64], after[64], row[200];
        int64_t limit_us = it_now_us() + IT_LONG;

        start_two(cluster);
        server_ask(&cluster->server, before, sizeof before, "HGET pathways:{ants} incarnation");
        cluster_end(cluster, 0);
        server_ask(&cluster->server, after, sizeof after, "FLUSHALL");
        do {
                server_ask(&cluster->server, row, sizeof row, "HGET pathways:{ants}:%s:hosts 1", before);
                assert_true(it_now_us() < limit_us);
        } while (!strstr(row, " anna -"));
        server_ask(&cluster->server, after, sizeof after, "HGET pathways:{ants} incarnation");
        assert_string_equal(after, before);
        cluster_until(cluster, 1, "metadata_note", NULL);
        cluster_start(cluster, 0, false);
        assert_int_equal(it_listed(cluster->hosts[0].session, "status", "host"), 1);
}

static void a_second_daemon_of_one_name(void **state)
{
        struct cluster *cluster = *state;

        start_two(cluster);
        cluster_launch(cluster, 2, "bert", false);
        cluster_until_refused(cluster, 2, PW_EXISTS, "host bert waits|another daemon has this host's name|--host-name");
        assert_int_equal(it_host_end(&cluster->hosts[2], SIGTERM), 0);
        close(cluster->ready[2]);
        it_put_and_get(&cluster->hosts[1], 10);
        cluster_until(cluster, 1, "metadata_note", NULL);
}

static void copy_state(const struct it_host *from, const struct it_host *to)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        char path[160], text[4096];
        size_t bytes;
        FILE *file;

        snprintf(path, sizeof path, "%s/state/cluster", from->folder);
        while (!(file = fopen(path, "re"))) /* it is written beside the loop */
                assert_true(it_now_us() < limit_us);
        bytes = fread(text, 1, sizeof text - 1, file);
        text[bytes] = 0;
        fclose(file);
        snprintf(path, sizeof path, "%s/state", to->folder);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/state/cluster", to->folder);
        it_write_file(path, text);
}

/* The later one has the number; who had it makes no ids any more. */
static void a_state_dir_is_copied(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *first = &cluster->hosts[1];
        char said[600];

        start_two(cluster);
        copy_state(first, &cluster->hosts[2]);
        cluster_launch(cluster, 2, "bert", false);
        cluster_await(cluster, 2);
        assert_int_equal(it_listed(cluster->hosts[2].session, "status", "host"), 2);
        pw_close(first->session);
        first->session = NULL;
        assert_int_equal(it_host_end(first, 0), 1);
        it_said_last(first, said);
        assert_non_null(strstr(said, "stopped"));
        it_put_and_get(&cluster->hosts[2], 10);
}

static void a_redis_that_wants_a_password(void **state)
{
        struct cluster *cluster = *state;
        char path[96];

        snprintf(path, sizeof path, "%s/password", cluster->hosts[0].folder);
        it_write_file(path, "sesame\n");
        assert_int_equal(chmod(path, 0600), 0);
        server_kill(&cluster->server);
        server_start(&cluster->server, IT_ARGS("--requirepass", "sesame"));
        cluster_launch(cluster, 1, NULL, true);
        cluster_until_refused(cluster, 1, PW_DENIED, "user and password");
        assert_int_equal(it_host_end(&cluster->hosts[1], SIGTERM), 0);
        close(cluster->ready[1]);
        cluster->password_file = path;
        cluster_start(cluster, 0, true);
        assert_int_equal(it_listed(cluster->hosts[0].session, "status", "host"), 1);
        cluster_end(cluster, 0);
}

static void options_that_do_not_go_together(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[0];
        const char *address = cluster->server.address;
        char path[96];

        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--metadata", "zookeeper"), "--metadata|no such kind");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--metadata", address), "--metadata|--cluster");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--cluster", "ants"), "--cluster|embedded");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--cluster", "a b", "--metadata", address), "--cluster a b|letters");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--cluster", "ants", "--metadata", "redis://192.0.2.1:6379"),
                            "192.0.2.1|--redis-plaintext");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--cluster", "ants", "--metadata", address, "--lease", "50ms"), "--lease");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--link-reserve", "33MiB"), "--link-reserve: from 1 MiB to 32 MiB");
        snprintf(path, sizeof path, "%s/password", host->folder);
        it_write_file(path, "sesame\n");
        assert_int_equal(chmod(path, 0644), 0);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--cluster", "ants", "--metadata", address, "--redis-password-file", path),
                            "password|others may read it");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(two_hosts_have_two_numbers),    CLUSTER_TEST(a_new_host_waits_for_redis),
                CLUSTER_TEST(a_new_host_waits_for_its_cluster), CLUSTER_TEST(who_waits_can_be_stopped),
                CLUSTER_TEST(a_host_starts_without_redis),   CLUSTER_TEST(redis_forgets_everything),
                CLUSTER_TEST(a_second_daemon_of_one_name),   CLUSTER_TEST(a_state_dir_is_copied),
                CLUSTER_TEST(a_redis_that_wants_a_password), CLUSTER_TEST(options_that_do_not_go_together),
        };

        return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
