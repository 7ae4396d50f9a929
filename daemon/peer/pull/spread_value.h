/* A value that is spread over devices of this host, read by threads: its list of shards, copied, and the memory that they lie in,
 * mapped.
 */
#ifndef PW_DAEMON_PEER_PULL_SPREAD_VALUE_H
#define PW_DAEMON_PEER_PULL_SPREAD_VALUE_H

#include "daemon/daemon.h"
#include "store/object.h"

struct pw_spread_value;

/* Of a READY object with a list of shards, that somebody holds for as long. Own: pw_spread_value_free(). *ret_bytes: of all of it.
 * Errors: PW_SHAPE (its list cannot be), PW_NO_MEMORY.   Threads: loop. */
PW_MUST_CHECK enum pw_status pw_spread_value_new(struct pw_daemon *daemon, const struct pw_object *object,
                                                 struct pw_spread_value **ret_value, uint64_t *ret_bytes, struct pw_error *ret_err);
void pw_spread_value_free(struct pw_spread_value *value); /* accepts NULL */
/* Errors: PW_DEVICE_LOST (no device has a part of it any more), PW_UNSUPPORTED (a partial value that has no reduction).
 * Threads: any. */
PW_MUST_CHECK enum pw_status pw_spread_value_read(const struct pw_spread_value *value, uint64_t first, uint32_t bytes, uint8_t *to);

#endif
