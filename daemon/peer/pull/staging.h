/* Chunks of values that are spread over devices, gathered before they are sent: into a few places for each host, never in the queue
 * for memory: --link-reserve, which is counted as overhead of the host.
 *
 * Threads: loop thread only, but for pw_offered's gather().   Blocks: never, but pw_staging_free().
 */
#ifndef PW_DAEMON_PEER_PULL_STAGING_H
#define PW_DAEMON_PEER_PULL_STAGING_H

#include "daemon/peer/pull/offering.h"

struct pw_staging;

/* `staged`: called once for each chunk, later. Errors: PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_staging_new(struct pw_peers *peers,
                                            void (*staged)(struct pw_peers *peers, uint64_t send, enum pw_status status),
                                            struct pw_staging **ret_staging, struct pw_error *ret_err);
/* What is under way comes to its end, and is told to nobody. Accepts NULL. */
void pw_staging_free(struct pw_staging *staging);

uint32_t pw_staging_slots(const struct pw_peers *peers); /* of each host, of a chunk each */

struct pw_staging_chunk { uint32_t host, slot, chunk; uint64_t send; };
/* Gather it into that place. Errors: PW_NO_MEMORY, PW_SYSTEM: `staged` is not called. */
PW_MUST_CHECK enum pw_status pw_staging_fill(struct pw_staging *staging, struct pw_offered *offered,
                                             const struct pw_staging_chunk *chunk, struct pw_error *ret_err);
uint8_t *pw_staging_place(const struct pw_staging *staging, uint32_t host, uint32_t slot); /* one that was filled */

#endif
