/* Two hosts in one process, alpha that pulls and beta that sends, with the bulk streams between them, and nothing else of a daemon.
 *
 * What alpha opens comes to beta's bulk, or to the test, which plays beta by hand.
 */
#ifndef PW_TESTS_CONFORMANCE_TRANSPORT_PAIR_H
#define PW_TESTS_CONFORMANCE_TRANSPORT_PAIR_H

#include "cluster/pull/pull_message.h"
#include "daemon/daemon.h"
#include "daemon/peer/pull/bulk_private.h"
#include "tests/conformance/transport/place.h"

enum { ALPHA = 1, BETA = 2, NUMBERS = 16 };
#define VALUE_BYTES (3u * PW_PULL_CHUNK_BYTES + PW_PULL_CHUNK_BYTES / 2)

/* A host, and what it was told of its jobs, by number. */
struct side {
        struct pw_peers peers;
        struct pw_daemon daemon;
        struct pw_link *link;     /* with the other one */
        struct pw_bulk *bulk;
        uint32_t told[NUMBERS];
        enum pw_status status[NUMBERS];
        struct pw_traffic traffic; /* of values, with the other one */
};
struct pair {
        struct place place;
        struct side *alpha, *beta;
        bool patient;             /* a time that is due does not come */
        bool by_hand;             /* what comes to beta is the scene's, not its bulk's */
        struct pw_pipe *came;
        uint32_t came_count;
        uint8_t *from, *to;
};

void pair_make(struct pair *pair);
void pair_remove(struct pair *pair);
/* At its address: beta does from the beginning on. */
void pair_listen(struct pair *pair);
/* They are in that term. */
void pair_meet(struct pair *pair, uint64_t term);

/* A turn of the loop, which waits for something to happen. */
void pair_turn(struct pair *pair);
/* What became of a job, which was told once. */
enum pw_status pair_await(struct pair *pair, struct side *side, uint64_t number);
/* All streams are gone, at both. */
void pair_await_over(struct pair *pair);
/* Alpha's thread is at that job. */
void pair_await_begun(struct pair *pair, uint64_t ask);
/* By hand: the next stream that alpha opens. */
struct pw_pipe *pair_await_came(struct pair *pair);

/* So many bytes over stream 0, to alpha's room, and from beta's. */
void pair_receive(struct pair *pair, uint64_t ask, uint32_t bytes);
void pair_give(struct pair *pair, uint64_t ask, uint32_t bytes);

#endif
