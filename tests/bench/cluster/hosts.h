/* Private daemons of one cluster on this machine, and the Redis of its own that they meet by. They deal with each other over TCP on
 * loopback.
 */
#ifndef PW_TESTS_BENCH_CLUSTER_HOSTS_H
#define PW_TESTS_BENCH_CLUSTER_HOSTS_H

#include "tests/bench/bench.h"
#include "tests/bench/daemon.h"

#define PW_BENCH_HOSTS_MAX 5u

struct pw_bench_cluster {
        char folder[64]; /* of Redis, and of what proves the hosts */
        pid_t redis;     /* 0: none */
        uint32_t count;  /* hosts that were started */
        struct pw_bench_daemon hosts[PW_BENCH_HOSTS_MAX];
};

struct pw_bench_cluster_params {
        uint32_t hosts;          /* that are started; more may come, up to PW_BENCH_HOSTS_MAX */
        bool tls;                /* by certificates; else a secret proves them */
        const char *host_memory; /* of each; NULL: 1GiB */
        const char *lease;       /* NULL: 3s */
};

/* False: there is no redis-server on this machine, and the rows of `context` say so. */
bool pw_bench_cluster_possible(struct pw_bench_context *context);
/* Redis and the hosts, each linked with each. Own: the caller ends it with pw_bench_cluster_stop(), also after a failure.
 * Errors: PW_SYSTEM, PW_FAILED, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_bench_cluster_start(const struct pw_bench_cluster_params *params,
                                                    struct pw_bench_cluster *ret_cluster, struct pw_error *ret_err);
/* One more host. Errors: likewise. */
PW_MUST_CHECK enum pw_status pw_bench_cluster_add(const struct pw_bench_cluster_params *params, struct pw_bench_cluster *cluster,
                                                  struct pw_error *ret_err);
void pw_bench_cluster_stop(struct pw_bench_cluster *cluster);
/* A session with host `i`. */
PW_MUST_CHECK enum pw_status pw_bench_cluster_connect(const struct pw_bench_cluster *cluster, uint32_t i,
                                                      struct pw_session **ret_session, struct pw_error *ret_err);
/* Processor time that host `i` has used; its executor's is not in it. */
double pw_bench_host_cpu_seconds(const struct pw_bench_cluster *cluster, uint32_t i);

/* proof.c: a secret, and a certificate that every host of a cluster shows and believes: secret, cert.pem, key.pem in the folder.
 * Errors: PW_SYSTEM, PW_FAILED. */
PW_MUST_CHECK enum pw_status pw_bench_proof_make(const char *folder, struct pw_error *ret_err);

/* redis.c: as Redis is asked by a client of its own. Own: close(2). Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_bench_redis_open(const struct pw_bench_cluster *cluster, int *ret_fd, struct pw_error *ret_err);
/* Mean time of a PING. Errors: PW_SYSTEM, PW_PROTOCOL. */
PW_MUST_CHECK enum pw_status pw_bench_redis_trip(const struct pw_bench_cluster *cluster, uint32_t count, double *ret_us,
                                                 struct pw_error *ret_err);
/* Commands that Redis has done since it was started, as INFO commandstats counts them, those in scripts too, and without INFO. */
PW_MUST_CHECK enum pw_status pw_bench_redis_commands(const struct pw_bench_cluster *cluster, uint64_t *ret_count,
                                                     struct pw_error *ret_err);

#endif
