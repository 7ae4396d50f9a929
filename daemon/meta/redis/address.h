/* Where a Redis is, as the operator says it. Pure.
 */
#ifndef PW_DAEMON_META_REDIS_ADDRESS_H
#define PW_DAEMON_META_REDIS_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct pw_redis_address {
        char host[108]; /* numeric, or where `is_path` the path of a Unix socket */
        uint16_t port;  /* 0 of a path */
        bool is_path, is_loopback;
};

/* "redis://127.0.0.1:6379", "redis://[::1]:6379", without a port 6379; "redis+unix:/run/redis/redis.sock". Names are not looked up:
 * that would block. Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_redis_address_parse(const char *text, struct pw_redis_address *ret_address,
                                                    struct pw_error *ret_err);

#endif
