/* Puts with flags: frozen ones.
 */
#ifndef PW_LIBCLIENT_OBJECT_FROZEN_H
#define PW_LIBCLIENT_OBJECT_FROZEN_H

#include "libclient/session.h"

#define PW_PUT_TIMEOUT_US (INT64_C(30) * 1000 * 1000) /* where params do not say how long */

struct pw_bytes { const void *data; uint64_t bytes; };
/* pw_put() with params->flags. */
PW_MUST_CHECK enum pw_status pw_put_flagged(struct pw_session *session, const struct pw_bytes *value,
                                            const struct pw_put_params *params, struct pw_future **ret_future,
                                            struct pw_error *ret_err);

#endif
