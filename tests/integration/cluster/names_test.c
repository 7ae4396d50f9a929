/* Names between hosts: bound on one, looked up on another, while Redis is there, away, or has forgotten. */
#include "tests/integration/cluster/cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKS_MAX 256 /* of a link, under way: WINDOW in daemon/peer/peers.c */

/* An object of host `i`, which has the name. */
static struct pw_future *bind_new(struct cluster *cluster, int i, const char *name)
{
        struct pw_future *future;

        it_ok(pw_put(cluster->hosts[i].session, "value", 5, NULL, &future, IT_ERR));
        it_ok(pw_name(future, name, IT_ERR));
        return future;
}

static void start_two(struct cluster *cluster)
{
        cluster_start(cluster, 0, true);
        cluster_start(cluster, 1, false);
}

/* Host `i` knows where it is bound: `id`. */
static void sees(struct cluster *cluster, int i, const char *name, const char *id)
{
        struct pw_future *found;

        it_fails(pw_lookup(cluster->hosts[i].session, name, 0, &found, IT_ERR), PW_UNSUPPORTED, id);
}

static void until_looked_up(struct cluster *cluster, int i, const char *name, enum pw_status status)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        struct pw_future *found = NULL;
        enum pw_status got;

        while ((got = pw_lookup(cluster->hosts[i].session, name, 0, &found, NULL)) != status) {
                if (got == PW_OK)
                        pw_unref(found);
                if (it_now_us() > limit_us)
                        fail_msg("host %d finds %s with %d, not %d", i, name, (int)got, (int)status);
        }
        if (got == PW_OK)
                pw_unref(found);
}

static void bound_here_and_seen_there(void **state)
{
        struct cluster *cluster = *state;
        char id[PW_ID_TEXT_BYTES];
        struct pw_future *future, *other, *found;

        start_two(cluster);
        future = bind_new(cluster, 0, "weights");
        pw_id_format(pw_future_id(future), id);
        sees(cluster, 1, "weights", id);
        sees(cluster, 1, "weights", "host h1");
        it_ok(pw_lookup(cluster->hosts[0].session, "weights", 0, &found, IT_ERR));
        pw_unref(found);
        it_fails(pw_lookup(cluster->hosts[1].session, "biases", 0, &found, IT_ERR), PW_NOT_FOUND, "biases|not bound");
        it_ok(pw_put(cluster->hosts[1].session, "other", 5, NULL, &other, IT_ERR));
        it_fails(pw_name(other, "weights", IT_ERR), PW_EXISTS, id);
        it_ok(pw_unname(cluster->hosts[0].session, "weights", IT_ERR));
        it_fails(pw_lookup(cluster->hosts[1].session, "weights", 0, &found, IT_ERR), PW_NOT_FOUND, "weights");
        it_ok(pw_name(other, "weights", IT_ERR));
        pw_id_format(pw_future_id(other), id);
        sees(cluster, 0, "weights", id);
        it_ok(pw_unname(cluster->hosts[1].session, "weights", IT_ERR));
        pw_unref(other);
        pw_unref(future);
}

/* In a child: waits for the name `late`. */
static int wait_for_late(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_future *found;
        struct pw_error err = { PW_OK, "" };
        enum pw_status status;

        (void)pipe;
        status = pw_lookup(session, "late", IT_LONG, &found, &err);
        fprintf(stderr, "%d: %s\n", (int)status, err.text);
        return status == PW_UNSUPPORTED && strstr(err.text, "host h1") ? 0 : 1;
}

/* Until the child's lookup is known of as one that waits for somebody to bind the name. */
static void until_it_waits(struct cluster *cluster, pid_t pid)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        struct pw_listing *listing;
        bool waits = false;
        char filter[24];

        snprintf(filter, sizeof filter, "pid %d", (int)pid);
        while (!waits) {
                assert_true(it_now_us() < limit_us);
                if (pw_list(cluster->hosts[1].session, "why", filter, 0, &listing, NULL) != PW_OK)
                        continue;
                for (size_t row = 0; row < it_rows(listing); row++)
                        waits |= strstr(it_text(listing, row, "waits_for"), "name late") != NULL;
                pw_listing_free(listing);
        }
}

static void waited_for_there(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *future;
        struct it_child child;

        start_two(cluster);
        child = it_fork(wait_for_late, &cluster->hosts[1]);
        until_it_waits(cluster, child.pid);
        future = bind_new(cluster, 0, "late");
        assert_int_equal(it_reap(&child, 0), 0);
        it_ok(pw_unname(cluster->hosts[0].session, "late", IT_ERR));
        pw_unref(future);
}

/* What is known stays good; what would have to be decided is refused, typed; and all is as before when Redis is back, empty. */
static void redis_is_away(void **state)
{
        struct cluster *cluster = *state;
        char id[PW_ID_TEXT_BYTES];
        struct pw_future *future, *other, *found;

        start_two(cluster);
        future = bind_new(cluster, 0, "weights");
        pw_id_format(pw_future_id(future), id);
        server_kill(&cluster->server);
        cluster_until(cluster, 0, "metadata_note", "Redis at");
        cluster_until(cluster, 1, "metadata_note", "Redis at");
        it_ok(pw_lookup(cluster->hosts[0].session, "weights", 0, &found, IT_ERR));
        pw_unref(found);
        it_fails(pw_lookup(cluster->hosts[1].session, "weights", 0, &found, IT_ERR), PW_NOT_READY, "weights|metadata is away");
        it_ok(pw_put(cluster->hosts[1].session, "other", 5, NULL, &other, IT_ERR));
        it_fails(pw_name(other, "biases", IT_ERR), PW_NOT_READY, "biases|metadata is away");
        server_start(&cluster->server, NULL);
        cluster_until(cluster, 0, "metadata_note", NULL);
        cluster_until(cluster, 1, "metadata_note", NULL);
        sees(cluster, 1, "weights", id);
        it_ok(pw_name(other, "biases", IT_ERR));
        it_ok(pw_unname(cluster->hosts[0].session, "weights", IT_ERR));
        it_ok(pw_unname(cluster->hosts[1].session, "biases", IT_ERR));
        pw_unref(other);
        pw_unref(future);
}

static void redis_forgets_names(void **state)
{
        struct cluster *cluster = *state;
        char id[PW_ID_TEXT_BYTES], answer[64];
        struct pw_future *future;

        start_two(cluster);
        future = bind_new(cluster, 0, "weights");
        pw_id_format(pw_future_id(future), id);
        server_ask(&cluster->server, answer, sizeof answer, "FLUSHALL");
        until_looked_up(cluster, 1, "weights", PW_UNSUPPORTED);
        sees(cluster, 1, "weights", id);
        cluster_until(cluster, 0, "metadata_note", NULL);
        it_ok(pw_unname(cluster->hosts[0].session, "weights", IT_ERR));
        until_looked_up(cluster, 1, "weights", PW_NOT_FOUND);
        pw_unref(future);
}

/* Two hosts bound it while Redis had forgotten the first: the older binding stays, and the other host lets its object go. */
static void the_older_binding_stays(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *older, *other, *younger;
        char id[PW_ID_TEXT_BYTES];

        start_two(cluster);
        older = bind_new(cluster, 0, "weights");
        pw_id_format(pw_future_id(older), id);
        other = bind_new(cluster, 1, "other"); /* so that it knows of a later version */
        assert_int_equal(kill(cluster->hosts[0].pid, SIGSTOP), 0);
        server_kill(&cluster->server);
        server_start(&cluster->server, NULL);
        until_looked_up(cluster, 1, "weights", PW_NOT_FOUND);
        younger = bind_new(cluster, 1, "weights");
        until_looked_up(cluster, 1, "weights", PW_OK);
        assert_int_equal(kill(cluster->hosts[0].pid, SIGCONT), 0);
        until_looked_up(cluster, 1, "weights", PW_UNSUPPORTED);
        sees(cluster, 1, "weights", id);
        cluster_until(cluster, 0, "metadata_note", NULL);
        cluster_until(cluster, 1, "metadata_note", NULL);
        it_ok(pw_unname(cluster->hosts[0].session, "weights", IT_ERR));
        it_ok(pw_unname(cluster->hosts[1].session, "other", IT_ERR));
        pw_unref(younger);
        pw_unref(other);
        pw_unref(older);
}

/* Any host names an object and removes a name; the home of the object does it. */
static void bound_and_removed_from_elsewhere(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *opened, *other, *found;
        char id[PW_ID_TEXT_BYTES];

        cluster->linked = true;
        for (int i = 0; i < 3; i++)
                cluster_start(cluster, i, !i);
        cluster_meet(cluster);
        it_ok(pw_put(cluster->hosts[0].session, "value", 5, NULL, &made, IT_ERR));
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(made), &opened, IT_ERR));
        pw_id_format(pw_future_id(made), id);
        it_ok(pw_name(opened, "weights", IT_ERR));
        it_ok(pw_name(opened, "weights", IT_ERR));
        pw_unref(opened);
        pw_unref(made); /* the name holds it, at its home */
        it_ok(pw_put(cluster->hosts[1].session, "other", 5, NULL, &other, IT_ERR));
        it_fails(pw_name(other, "weights", IT_ERR), PW_EXISTS, id);
        for (int i = 0; i < 3; i++) {
                it_ok(pw_lookup(cluster->hosts[i].session, "weights", IT_LONG, &found, IT_ERR));
                assert_string_equal(pw_id_format(pw_future_id(found), (char[PW_ID_TEXT_BYTES]){ 0 }), id);
                pw_unref(found);
        }
        it_ok(pw_unname(cluster->hosts[2].session, "weights", IT_ERR));
        for (int i = 0; i < 3; i++) {
                it_fails(pw_lookup(cluster->hosts[i].session, "weights", 0, &found, IT_ERR), PW_NOT_FOUND, "weights");
                it_fails(pw_unname(cluster->hosts[i].session, "weights", IT_ERR), PW_NOT_FOUND, "weights");
        }
        it_ok(pw_open(cluster->hosts[0].session, pw_future_id(other), &opened, IT_ERR));
        for (int i = 0; i <= WORKS_MAX; i++) { /* it is free again; and each answer leaves room for another question */
                it_ok(pw_name(opened, "weights", IT_ERR));
                it_ok(pw_unname(cluster->hosts[0].session, "weights", IT_ERR));
        }
        it_ok(pw_name(opened, "weights", IT_ERR));
        pw_unref(opened);
        it_ok(pw_unname(cluster->hosts[1].session, "weights", IT_ERR));
        pw_unref(other);
}

/* In a child: waits for the name `late`, bound anywhere. */
static int find_late(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *found;

        (void)pipe;
        it_ok(pw_lookup(session, "late", IT_LONG, &found, IT_ERR));
        pw_unref(found);
        pw_close(session);
        return 0;
}

/* Hosts find each other, and a name that is waited for is found, long before they would look at Redis anyway; again and again. */
static void found_at_once(void **state)
{
        struct cluster *cluster = *state;
        int64_t began_us = it_now_us();
        struct pw_future *future;
        struct it_child child;

        cluster->linked = true;
        cluster->lease = "10min"; /* 6 min between beats */
        start_two(cluster);
        cluster_meet(cluster);
        for (int i = 0; i < 20; i++) {
                child = it_fork(find_late, &cluster->hosts[1]);
                until_it_waits(cluster, child.pid);
                future = bind_new(cluster, 0, "late");
                assert_int_equal(it_reap(&child, 0), 0);
                it_ok(pw_unname(cluster->hosts[0].session, "late", IT_ERR));
                pw_unref(future);
        }
        assert_true(it_now_us() < began_us + 60 * (int64_t)IT_SECOND);
}

/* In a child of host 1: names an object of host 0, which does not answer any more. */
static int name_it(void *context, int pipe)
{
        struct cluster *cluster = context;
        struct pw_session *session = it_connect(&cluster->hosts[1]);
        struct pw_error err = { PW_OK, "" };
        struct pw_future *found;
        enum pw_status status;

        (void)pipe;
        it_ok(pw_lookup(session, "kept", IT_LONG, &found, IT_ERR));
        assert_int_equal(kill(cluster->hosts[0].pid, SIGSTOP), 0);
        status = pw_name(found, "again", &err);
        fprintf(stderr, "%d: %s\n", (int)status, err.text);
        return status == PW_HOST_LOST && strstr(err.text, "anna (h1) was given up") ? 0 : 1;
}

static void its_home_is_lost_meanwhile(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *kept, *found;
        struct it_child child;

        cluster->linked = true;
        start_two(cluster);
        cluster_meet(cluster);
        kept = bind_new(cluster, 0, "kept");
        child = it_fork(name_it, cluster);
        assert_int_equal(it_reap(&child, 0), 0);
        assert_int_equal(kill(cluster->hosts[0].pid, SIGCONT), 0);
        cluster_meet(cluster);
        it_ok(pw_lookup(cluster->hosts[1].session, "kept", IT_LONG, &found, IT_ERR));
        it_ok(pw_name(found, "again", IT_ERR)); /* whether it was bound or not */
        pw_unref(found);
        for (int i = 0; i < 2; i++)
                it_ok(pw_unname(cluster->hosts[1].session, i ? "again" : "kept", IT_ERR));
        pw_unref(kept);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(bound_here_and_seen_there), CLUSTER_TEST(waited_for_there),     CLUSTER_TEST(redis_is_away),
                CLUSTER_TEST(redis_forgets_names),       CLUSTER_TEST(the_older_binding_stays),
                CLUSTER_TEST(bound_and_removed_from_elsewhere), CLUSTER_TEST(its_home_is_lost_meanwhile),
                CLUSTER_TEST(found_at_once),
        };

        return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
