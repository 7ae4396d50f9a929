/* Names and leases of a host that drains: it asks who takes over to hold by them what they hold (cluster/drain/hand.h decides), and
 * lets go once that is so; and the same of others here.
 *
 * An object keeps its id. The binding of a name goes on to who takes over: it asks metadata to be its keeper in place of the other
 * one, in one compare-and-set, so that a name that was removed meanwhile stays removed, and one that another host has stays there.
 *
 * Threads: loop thread only.   Blocks: never, but for the system's table of users.
 */
#ifndef PW_DAEMON_PEER_NAME_HANDING_H
#define PW_DAEMON_PEER_NAME_HANDING_H

#include "daemon/peer/name/name_codec.h"
#include "daemon/peer/peers_private.h"

#define PW_HANDING_NUMBERS (UINT64_C(1) << 63) /* in the number of a question: it is an item's that is handed on */

/* --- this host drains --------------------------------------------------------------------------------------------------------- */

/* Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_handing_open(struct pw_peers *peers, struct pw_error *ret_err);
/* What is held is looked at, if something has changed; what can be handed on is. */
void pw_handing_turn(struct pw_peers *peers);
/* So much is held by names and leases here that is not handed on. */
uint64_t pw_handing_count(struct pw_peers *peers);
uint64_t pw_handing_next_us(const struct pw_peers *peers); /* CLOCK_BOOTTIME */
/* `host` says of the item, by its number, what came of it. */
void pw_handing_answered(struct pw_peers *peers, uint32_t host, uint64_t number, enum pw_status status);
void pw_handing_decided(struct pw_peers *peers); /* something that was waited for is ready */

/* --- another one does --------------------------------------------------------------------------------------------------------- */

/* `host` asks this one to take over. Answered once. Errors: PW_NO_MEMORY: give it up. */
PW_MUST_CHECK enum pw_status pw_handing_take(struct pw_peers *peers, uint32_t host, const struct pw_peer_name *message,
                                             struct pw_error *ret_err);

void pw_handing_ended(struct pw_peers *peers, uint32_t host);
void pw_handing_done(struct pw_peers *peers);

#endif
