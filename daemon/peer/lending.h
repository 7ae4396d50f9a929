/* What this host lends to others: cluster/borrow/lend.h decides, the store holds.
 *
 * To the store, who borrows is a session for each tenant whose objects it has; it is there while it holds some.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_LENDING_H
#define PW_DAEMON_PEER_LENDING_H

#include "daemon/peer/peers_private.h"

struct pw_object;

/* Errors: as pw_lend_receive(): give the host up. */
PW_MUST_CHECK enum pw_status pw_lending_hear(struct pw_peers *peers, uint32_t host, const struct pw_talk_message *message,
                                             struct pw_error *ret_err);
/* The term with `host` has ended. */
void pw_lending_ended(struct pw_peers *peers, uint32_t host);
/* A watched object was decided: who borrowed it is told. */
void pw_lending_decided(struct pw_peers *peers, struct pw_object *object);
/* HOLD is answered, once: by what is here now. */
void pw_lending_answer(struct pw_peers *peers, const struct pw_lend_action *action);
/* Some more of what ended goes. True: there is more. */
bool pw_lending_turn(struct pw_peers *peers);
void pw_lending_done(struct pw_peers *peers);

#endif
