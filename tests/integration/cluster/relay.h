/* What stands between daemons that listen at Unix sockets: a process that takes the calls of each at the path that it told the
 * others, and carries the bytes on as a network does, also one that holds, slows or breaks what goes from one host to another.
 *
 * Who calls is known by the process that the kernel says it is, so no daemon may be started again while there is a relay.
 */
#ifndef PW_TESTS_INTEGRATION_RELAY_H
#define PW_TESTS_INTEGRATION_RELAY_H

#include "tests/integration/cluster/cluster.h"

#include <stdatomic.h>

enum relay_weather {
        RELAY_CLEAR = 0,
        RELAY_HELD,    /* nothing gets through, buffers fill, nobody is told */
        RELAY_SLOW,    /* pieces of 64 KiB, each 20 ms later: 3 MiB/s */
        RELAY_BROKEN   /* connections are hung up, and calls, as soon as they come */
};

enum relay_use { RELAY_CONTROL = 0, RELAY_BULK, RELAY_USES };

/* Shared with the process. */
struct relay_board {
        _Atomic int weather[CLUSTER_HOSTS][CLUSTER_HOSTS][RELAY_USES]; /* from, to */
        _Atomic uint64_t seen; /* how often it looked at what was set */
        _Atomic uint64_t bytes[CLUSTER_HOSTS][CLUSTER_HOSTS][RELAY_USES]; /* that were carried */
};

struct relay {
        struct cluster *cluster;
        struct relay_board *board;
        struct it_child child;
        int wake; /* an eventfd */
};

/* Start all hosts of a cluster that has none, each behind the relay before it may call another, and wait until they have met. */
void relay_begin(struct relay *relay, struct cluster *cluster);
/* Of what goes from one host to another; -1: from all, to all. It is so when this returns. */
void relay_set(struct relay *relay, int from, int to, enum relay_use use, enum relay_weather weather);
void relay_end(struct relay *relay);

#endif
