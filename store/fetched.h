/* Results in memory of devices that the processor does not read, and copies of them in host memory.
 *
 *   READY, MOVING  it is a value, and where its shards lie stands in its list; nobody can read them there
 *   READY          it holds a copy, an object of this host in the same tenant, and its list says where its shards lie in that;
 *                  of which devices they are it says still. pw_store_fetched()
 *
 * The rooms on the devices stay its own, and runs that take it read those. The copy goes with it, or when it is moved.
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_STORE_FETCHED_H
#define PW_STORE_FETCHED_H

#include "store/store.h"

/* It is a value, and nobody can read its bytes. */
bool pw_store_is_apart(struct pw_store *store, const struct pw_object *object);
/* Its bytes are in `copy`, which is READY: shard i of its list from `offsets[i]` of the copy's room on. It holds the copy from now
 * on. Errors: PW_GONE (it is not, or no longer, apart), PW_SHAPE (they do not lie in the copy), PW_NO_MEMORY; nothing has changed
 * then. */
PW_MUST_CHECK enum pw_status pw_store_fetched(struct pw_store *store, struct pw_object *object, struct pw_object *copy,
                                              const uint64_t *offsets, uint64_t now_us, struct pw_error *ret_err);

#endif
