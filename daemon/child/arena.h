/* The arena of a device whose memory is apart: made by its first executor, kept here by its descriptor, handed to those that follow
 * and to those of other devices, who map it. What it names is the kind's own affair: it is never read here.
 *
 * It comes by a socket of its own, the mailbox, which each executor gets with its Welcome: nowhere else does the daemon take
 * descriptors. Loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_CHILD_ARENA_H
#define PW_DAEMON_CHILD_ARENA_H

#include "daemon/child/child.h"

/* A mailbox for an executor that is about to start. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_child_arena_begin(struct pw_child_arena *arena, struct pw_error *ret_err);
/* Its end of the mailbox, and the arena if there is one: behind what else its Welcome hands over. Returns how many. */
uint32_t pw_child_arena_descriptors(const struct pw_child_arena *arena, int *fds);
/* The executor says that it has sent one. Errors: PW_PROTOCOL (there is one, or none came). */
PW_MUST_CHECK enum pw_status pw_child_arena_take(struct pw_child_arena *arena, struct pw_error *ret_err);
void pw_child_arena_done(struct pw_child_arena *arena);

#endif
