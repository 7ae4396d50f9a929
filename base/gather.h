/* Gathering: the elements of a value, in a row, from the shards that it lies in; partial ones are reduced, in the order of their
 * places. Pure arithmetic, as in layout.h.
 */
#ifndef PW_BASE_GATHER_H
#define PW_BASE_GATHER_H

#include "base/layout.h"

struct pw_gather {
        struct pw_dims dims;   /* of the whole value */
        struct pw_sharding sharding; /* pw_sharding_check() is PW_OK */
        uint32_t mesh[PW_MESH_AXES_MAX];
        enum pw_dtype dtype;
        size_t element_bytes;
        /* The bytes of the shard at `place`, which has that box; good until the next one is asked for. */
        enum pw_status (*shard)(void *context, uint32_t place, const struct pw_box *box, const uint8_t **ret_data,
                                struct pw_error *ret_err);
        void *context;
};

/* Write `count` elements from `first` on, in row-major order, to `to`. All of them are in the value.
 * Errors: those of shard(); PW_UNSUPPORTED (partial, of a type that has no reduction). */
PW_MUST_CHECK enum pw_status pw_gather_range(const struct pw_gather *gather, uint64_t first, uint64_t count, void *to,
                                             struct pw_error *ret_err);
/* Is each shard the whole value? */
bool pw_sharding_is_whole(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX]);

#endif
