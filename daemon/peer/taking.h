/* What this host takes over from one that drains: objects that others ask it to lend and that it has not, opened at whoever has
 * them and pulled; then they are lent.
 *
 * Threads: loop thread only.   Blocks: never, but for the system's table of users.
 */
#ifndef PW_DAEMON_PEER_TAKING_H
#define PW_DAEMON_PEER_TAKING_H

#include "daemon/peer/peers_private.h"

struct pw_borrowed;
struct pw_taking;

/* False: it is not to be taken, or cannot be: answer HOLD as it is. Else pw_lending_answer(), later. */
bool pw_taking_begin(struct pw_peers *peers, const struct pw_lend_action *action);
const char *pw_taking_tenant(const struct pw_taking *taking);
/* The open of it is answered: by a slot, or, NULL, not. */
void pw_taking_opened(struct pw_taking *taking, struct pw_borrowed *borrowed);
/* Its bytes are here, or it was decided otherwise, or they cannot be had now. */
void pw_taking_fetched(struct pw_taking *taking);
void pw_taking_done(struct pw_peers *peers);

#endif
