/* What this host borrows of others: cluster/borrow/borrow.h decides, the store has a proxy for each (store/proxy.h).
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_BORROWING_H
#define PW_DAEMON_PEER_BORROWING_H

#include "daemon/peer/peers_private.h"
#include "daemon/session/foreign.h"

struct pw_object;

/* What clients ask: the registry's table, once this host has its number. */
extern const struct pw_foreign pw_borrowing_foreign;

/* Errors: as pw_borrow_receive(): give the host up. */
PW_MUST_CHECK enum pw_status pw_borrowing_hear(struct pw_peers *peers, uint32_t host, const struct pw_talk_message *message,
                                               struct pw_error *ret_err);
/* The two have met. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_borrowing_met(struct pw_peers *peers, uint32_t host, uint32_t epoch, struct pw_error *ret_err);
/* The term with `host` has ended. */
void pw_borrowing_ended(struct pw_peers *peers, uint32_t host);
/* Some more of what ended, what is due. True: there is more. */
bool pw_borrowing_turn(struct pw_peers *peers);
uint64_t pw_borrowing_next_us(const struct pw_peers *peers); /* CLOCK_BOOTTIME */
void pw_borrowing_done(struct pw_peers *peers);

/* The proxy that stands for it here, of the tenant, or, NULL, of any; NULL: none. */
struct pw_object *pw_borrowing_find(struct pw_daemon *daemon, const char *tenant, struct pw_id id);
/* The same, if all of it is here, to lend it. */
struct pw_object *pw_borrowing_whole(struct pw_peers *peers, struct pw_id id, struct pw_talk_bytes tenant);

#endif
