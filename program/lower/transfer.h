/* A transfer between two layouts of one value: what it is called, whether there is one, and which shards each receiver
 * reads.
 */
#ifndef PW_PROGRAM_LOWER_TRANSFER_H
#define PW_PROGRAM_LOWER_TRANSFER_H

#include "program/lower/lower.h"
#include "program/lower/spread.h"

/* island_partial of a node */
#define PW_REDUCED_IN_ISLANDS 1u /* the source is the same on every device of an island that reduced it */
#define PW_REDUCE_IN_ISLAND 2u   /* each receiver reduces what its own island holds */

struct pw_transfer_ends {
        const struct pw_sharding *from;
        const struct pw_slice_map *from_slice;
        const struct pw_sharding *to;
        const struct pw_slice_map *to_slice;
        const struct pw_dims *dims; /* of the whole value; of no use to pw_transfer_check() */
        bool same_slice;
        bool in_island; /* each receiver reduces what its own island holds, all that is partial */
};

/* Can it be done? An axis that is partial at the end must have been so at the start, alike.
 * Errors: PW_SHAPE. */
PW_MUST_CHECK enum pw_status pw_transfer_check(const struct pw_transfer_ends *ends, struct pw_error *ret_err);
/* Is axis `axis` of the source reduced on the way? */
bool pw_transfer_reduces(const struct pw_transfer_ends *ends, uint32_t axis);

/* What the receivers of a transfer read, all together. */
struct pw_reach {
        bool other_device; /* some receiver reads a shard of another device ... */
        bool other_island; /* ... even of another island */
};
/* What is true here may not be, where a dim is cut anew; what is false is so. Errors: as in spread.h. */
PW_MUST_CHECK enum pw_status pw_transfer_reach(const struct pw_transfer_ends *ends, struct pw_spreads *spreads,
                                               struct pw_reach *ret_reach, struct pw_error *ret_err);

/* Does a reduction over islands begin inside them? Yes if each group of shards that are reduced together has members in
 * each island of the source, some group more than one in some island, and nothing stays partial. */
PW_MUST_CHECK enum pw_status pw_transfer_in_steps(const struct pw_transfer_ends *ends, struct pw_spreads *spreads,
                                                  bool *ret_steps, struct pw_error *ret_err);

#endif
