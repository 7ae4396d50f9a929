/* A client of an exchange: it puts values, hands their ids to clients on other hosts, opens and reads what these hand to it, names
 * and looks up, and lets go, until it is told to stop. Each byte that it reads is judged; whatever fails must fail typed, with
 * a sentence, and for a cause that there is.
 */
#ifndef PW_TESTS_INTEGRATION_TRADER_H
#define PW_TESTS_INTEGRATION_TRADER_H

#include "tests/integration/harness.h"

#include <stdatomic.h>

#define TRADERS 6
#define TRADER_NAMES 4

/* Shared by all. */
struct trade_board {
        _Atomic bool stop;                         /* they let go of everything; */
        _Atomic uint32_t resting;                  /* a futex: so many have, and wait for */
        _Atomic uint32_t over;                     /* likewise */
        _Atomic uint32_t turns;                    /* a futex: somebody took a step */
        _Atomic uint64_t steps[TRADERS];
        _Atomic int doing[TRADERS];             /* a letter: what it is in */
        _Atomic uint64_t read_bytes, opened, lost; /* lost: what failed typed; */
        _Atomic uint64_t hosts_lost;               /* by PW_HOST_LOST */
};

struct trader {
        const struct it_host *host;
        struct trade_board *board;
        int number;
        uint64_t seed;
        int (*inboxes)[2];                     /* a pipe for each trader, that does not block */
};

/* For it_fork(), `context` a trader: writes a byte when it is attached; ends with 0, or with 1 after having said why. */
int trader_main(void *context, int pipe);
/* The name number `i`, of TRADER_NAMES. */
const char *trader_name(int i);

#endif
