/* Daemons of one cluster, each with folders of its own, and the Redis of a test's own.
 */
#ifndef PW_TESTS_INTEGRATION_CLUSTER_H
#define PW_TESTS_INTEGRATION_CLUSTER_H

#include "tests/conformance/server.h"
#include "tests/integration/harness.h"

#define CLUSTER_HOSTS 3

struct cluster {
        struct server server;
        struct it_host hosts[CLUSTER_HOSTS];
        int ready[CLUSTER_HOSTS];      /* of those that were launched; -1 */
        const char *password_file;     /* NULL: none */
        const char *tenants[CLUSTER_HOSTS]; /* a line of --tenant; NULL: none */
        const char *lease;             /* NULL: 400ms */
        bool serves;                   /* /metrics */
        bool apart;                    /* the processor does not read the memory of their devices */
        bool linked;                   /* they deal with each other, over sockets in the server's folder; */
        const char *secret_file;       /* or at any port of loopback, with this; */
        const char *certificates;      /* or with TLS, by those of this folder, which certificates.sh made */
};

/* For cmocka: *state is a cluster with a Redis, no daemon yet; the test is skipped where there is no Redis. */
int cluster_set_up(void **state);
/* What lives ends by SIGTERM, with exit 0, and nothing left. */
int cluster_tear_down(void **state);
#define CLUSTER_TEST(test) cmocka_unit_test_setup_teardown(test, cluster_set_up, cluster_tear_down)

/* The name that host `i` has if it is given no other. */
const char *cluster_name(int i);
/* Start host `i` under a name of its own, or under `name`, and connect; launch: it may have to wait, and nobody waits for it.
 * `founds`: with --new-cluster. */
void cluster_start(struct cluster *cluster, int i, bool founds);
void cluster_launch(struct cluster *cluster, int i, const char *name, bool founds);
void cluster_start_all(struct cluster *cluster); /* linked, and until they have met */
void cluster_await(struct cluster *cluster, int i); /* until it is ready; and connect */
/* Whoever connects to it is told so, sooner or later: the texts, separated by '|', are in one sentence. */
void cluster_until_refused(struct cluster *cluster, int i, enum pw_status status, const char *texts);
/* All that are started have links to each other that are up. */
void cluster_meet(struct cluster *cluster);
/* In the hosts of `i`, host `other`'s link is `link`. */
void cluster_until_link(struct cluster *cluster, int i, int other, const char *link);
void cluster_end(struct cluster *cluster, int i); /* clean, by SIGTERM */
void cluster_print_logs(const struct cluster *cluster); /* of all hosts, as errors */
void cluster_kill(struct cluster *cluster, int i); /* by SIGKILL; its session ends, futures of it may still be given back */
/* `text` is in cell `key` of its status, or there is no such cell: NULL. */
void cluster_until(struct cluster *cluster, int i, const char *key, const char *text);

#endif
