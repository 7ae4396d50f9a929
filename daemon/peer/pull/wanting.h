/* Values that other hosts want and that are on devices whose memory the processor does not read: each is fetched first, and what
 * its puller has said meanwhile is heard then.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_PULL_WANTING_H
#define PW_DAEMON_PEER_PULL_WANTING_H

#include "daemon/peer/peers_private.h"

struct pw_object;
struct pw_pull_message;

/* `message` of `host`, a WANT of that object, can be heard now, or never: `why` says what it failed by, PW_OK: it is there. */
typedef void pw_wanting_fn(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message, enum pw_status why);

/* Have the object fetched. PW_OK: `heard` is called once, later, unless the term with `host` ends before. Errors: PW_NO_MEMORY,
 * PW_SYSTEM, PW_DEVICE_LOST. */
PW_MUST_CHECK enum pw_status pw_wanting_begin(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message,
                                              struct pw_object *object, pw_wanting_fn *heard, struct pw_error *ret_err);
/* Does the WANT of this LEAVE wait here? Then both are heard when that is. */
bool pw_wanting_leaves(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message);
/* The term with `host` has ended. */
void pw_wanting_ended(struct pw_peers *peers, uint32_t host);
/* Nothing is fetched any more. */
void pw_wanting_done(struct pw_peers *peers);

#endif
