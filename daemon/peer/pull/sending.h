/* What this host sends, value by value, for traces: from when a host's first chunk of it leaves until all of it was sent, or it is
 * asked for no more.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_PULL_SENDING_H
#define PW_DAEMON_PEER_PULL_SENDING_H

#include "daemon/peer/pull/offering.h"

/* A chunk leaves for `host`, by the number `send`. Without memory for it, it is not told of. */
void pw_sending_begin(struct pw_peers *peers, const struct pw_offered *offered, uint32_t host, uint64_t send);
/* It has left, or has not, at `done_us` of CLOCK_MONOTONIC. */
void pw_sending_sent(struct pw_peers *peers, uint64_t send, enum pw_status status, uint64_t done_us);
/* No thread has the room any more: what was sent of it was all. */
void pw_sending_let_go(struct pw_peers *peers, const struct pw_offered *offered);
/* The term with `host` has ended. */
void pw_sending_ended(struct pw_peers *peers, uint32_t host);
void pw_sending_done(struct pw_peers *peers);

#endif
