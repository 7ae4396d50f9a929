/* Params structs of callers that were built with another pathways.h than this library.
 *
 * Such a struct grows at its end alone, and 0 in a new field means what was before it. None has padding at its end: a field that
 * came there would not make it larger.
 */
#ifndef PW_LIBCLIENT_PARAMS_H
#define PW_LIBCLIENT_PARAMS_H

#include "base/error.h"

struct pw_params {
        const char *call; /* "pw_put()" */
        const void *given; /* of `bytes` bytes, as the caller knows it */
        size_t bytes;
        void *own; /* room for one of `own_bytes` bytes, as this library knows it */
        size_t own_bytes;
};

/* Fill `own`; what is missing is 0. Errors: PW_UNSUPPORTED (a byte that this library knows nothing of is not 0). */
PW_MUST_CHECK enum pw_status pw_params_convert(const struct pw_params *params, struct pw_error *ret_err);

/* Is it as this library knows it? */
#define PW_PARAMS_KNOWN(params, params_bytes) (!(params) || (params_bytes) == sizeof *(params))
/* Nothing comes behind the last field. */
#define PW_PARAMS_END(type, last)                                                                                      \
        _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((type *)0)->last), "padding at the end of " #type)

#endif
