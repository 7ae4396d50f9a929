/* Connections with other hosts: those that came, and those that this host called. Each has a number; the port of
 * cluster/link/peer.h is filled here.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_CALL_H
#define PW_DAEMON_PEER_CALL_H

#include "daemon/peer/peers_private.h"

extern const struct pw_peer_port pw_calls_port; /* its context is the peers */
extern const struct pw_listener_events pw_calls_events; /* likewise */

/* Write what there is for this peer, as far as its connection takes it. */
void pw_calls_write(struct pw_peers *peers, struct pw_peer *peer);
/* Tell of those that failed at once, free those that are over. True: there were some. */
bool pw_calls_turn(struct pw_peers *peers);
/* Hang up on those that came, and have not said who they are for a lease. When the next is due; UINT64_MAX: none. */
void pw_calls_tick(struct pw_peers *peers, uint64_t now_us);
uint64_t pw_calls_next_us(const struct pw_peers *peers);
/* Bytes over the connections that there are with this peer. */
void pw_calls_count(const struct pw_peers *peers, const struct pw_peer *peer, uint64_t *ret_out, uint64_t *ret_in);
/* Hang up on all. */
void pw_calls_done(struct pw_peers *peers);

#endif
