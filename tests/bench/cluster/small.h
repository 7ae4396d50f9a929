/* Small objects of other hosts: what the benches of them share.
 */
#ifndef PW_TESTS_BENCH_CLUSTER_SMALL_H
#define PW_TESTS_BENCH_CLUSTER_SMALL_H

#include "pathways.h"
#include "tests/bench/cluster/hosts.h"

#define PW_BENCH_SMALL_BYTES 1024u

/* Open, get and give back an object of that size whose first byte is 1. Errors: those of these calls; PW_FAILED (other bytes). */
PW_MUST_CHECK enum pw_status pw_bench_small_get(struct pw_session *session, struct pw_id id, struct pw_error *ret_err);

/* hand_on.c: a client of host 1 in a process of its own, that puts one object for each one whose id it is told. It is forked, so
 * before there is a session. Own: pw_bench_hand_stop(), also after a failure. Errors: PW_SYSTEM. */
struct pw_bench_hand { int fd; pid_t pid; };
PW_MUST_CHECK enum pw_status pw_bench_hand_start(const struct pw_bench_cluster *cluster, struct pw_bench_hand *ret_hand,
                                                 struct pw_error *ret_err);
void pw_bench_hand_stop(struct pw_bench_hand *hand);
/* Mean time of: put at `session`, which is with host 0, the id there by a socket, got there, put there, its id back, got here. */
PW_MUST_CHECK enum pw_status pw_bench_hand_on(const struct pw_bench_hand *hand, struct pw_session *session, uint32_t count,
                                              double *ret_us, struct pw_error *ret_err);

#endif
