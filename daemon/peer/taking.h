/* What this host takes over from one that drains: objects that others ask it to lend and that it has not, or that it is to hold by
 * names and leases, opened at whoever has them and pulled.
 *
 * Threads: loop thread only.   Blocks: never, but for the system's table of users.
 */
#ifndef PW_DAEMON_PEER_TAKING_H
#define PW_DAEMON_PEER_TAKING_H

#include "daemon/peer/peers_private.h"

struct pw_borrowed;
struct pw_object;
struct pw_taking;

/* False: it is not to be taken, or cannot be: answer HOLD as it is. Else pw_lending_answer(), later. */
bool pw_taking_begin(struct pw_peers *peers, const struct pw_lend_action *action);
/* Get it here, whole. `done`, once, perhaps at once: `object` is its slot, held for the call; NULL: it is not to be had now.
 * Errors: PW_DENIED (this host has no such user), PW_NO_MEMORY: `done` is not called. */
typedef void (*pw_taking_done_fn)(struct pw_peers *peers, void *context, struct pw_object *object);
PW_MUST_CHECK enum pw_status pw_taking_get(struct pw_peers *peers, struct pw_id id, const char *tenant, pw_taking_done_fn done,
                                           void *context, struct pw_error *ret_err);
const char *pw_taking_tenant(const struct pw_taking *taking);
/* The open of it is answered: by a slot, or, NULL, not. */
void pw_taking_opened(struct pw_taking *taking, struct pw_borrowed *borrowed);
/* Its bytes are here, or it was decided otherwise, or they cannot be had now. */
void pw_taking_fetched(struct pw_taking *taking);
void pw_taking_done(struct pw_peers *peers);

#endif
