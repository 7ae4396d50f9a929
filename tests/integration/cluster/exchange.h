/* A running exchange: six clients on three hosts (trader.h), to which a test does something in between.
 */
#ifndef PW_TESTS_INTEGRATION_EXCHANGE_H
#define PW_TESTS_INTEGRATION_EXCHANGE_H

#include "tests/integration/cluster/cluster.h"
#include "tests/integration/cluster/trader.h"

#define EXCHANGE_LEASE_US 400000 /* as cluster_launch() says */

struct exchange {
        struct cluster *cluster;
        struct trade_board *board;
        struct trader traders[TRADERS];
        struct it_child children[TRADERS];
        int inboxes[TRADERS][2];
        uint64_t seed;
        int fault;          /* which of them it is at: for what is said of a failure */
        int64_t longest_us; /* until all came forward */
};

/* Of a cluster whose hosts have met. */
void exchange_begin(struct exchange *exchange);
void exchange_start_trader(struct exchange *exchange, int i);
/* All take so many steps, of which the last began after this call; who does not within IT_LONG hangs, and fails the test.
 * `except`: those of this host need not; -1: none. */
void exchange_come_forward(struct exchange *exchange, uint64_t steps, int except);
/* The same again and again, for so long. */
void exchange_go_on(struct exchange *exchange, int64_t for_us, int except);
/* For so long it may stand still. */
void exchange_let_be(struct exchange *exchange, int64_t for_us);
/* `check` finds nothing on any host, and `memory` adds up. */
void exchange_is_sound(struct exchange *exchange);
/* Who trades ends with 0, and then nothing is left. */
void exchange_end(struct exchange *exchange);

#endif
