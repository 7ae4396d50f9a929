/* Where the shards of a value lie in it: boxes of a sharding over a mesh, and moving boxes between row-major arrays.
 *
 * A split of size n over k devices gives the first n % k devices one row more. Pure arithmetic; everyone uses it: lowering,
 * executors, a client that gathers.
 */
#ifndef PW_BASE_LAYOUT_H
#define PW_BASE_LAYOUT_H

#include "base/error.h"

/* A device of any host. */
struct pw_device_id { uint16_t host, device; };
static inline bool pw_same_device(struct pw_device_id a, struct pw_device_id b)
{
        return a.device == b.device && a.host == b.host;
}

/* The device at one place of a mesh, and the island of that host which it is in. An island is {host, island}. */
struct pw_slice_place { uint16_t host, island, device; };
static inline bool pw_same_island(const struct pw_slice_place *a, const struct pw_slice_place *b)
{
        return a->island == b->island && a->host == b->host;
}

struct pw_box {
        uint32_t rank;
        uint64_t start[PW_RANK_MAX]; /* in the whole value */
        uint64_t size[PW_RANK_MAX];
};

/* Coordinates in the mesh of place i, row-major. An axis of size 0 or 1 has coordinate 0. */
void pw_mesh_coords(const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place, uint32_t ret_coords[PW_MESH_AXES_MAX]);
uint32_t pw_mesh_place(const uint32_t mesh[PW_MESH_AXES_MAX], const uint32_t coords[PW_MESH_AXES_MAX]);
/* UINT32_MAX: as many, or more. */
uint32_t pw_mesh_count(const uint32_t mesh[PW_MESH_AXES_MAX]);

/* Does `sharding` make sense for `dims` over `mesh`? Splits of one dim over several axes are nested, first axis outermost.
 * Errors: PW_SHAPE, naming the axis: a split of a dim that is not there, a layout or op that is none, an axis behind the first laid
 * out where the mesh has none (its size is 0), axes partial by different operators (what comes first would change the value). */
PW_MUST_CHECK enum pw_status pw_sharding_check(const struct pw_sharding *sharding, const struct pw_dims *dims,
                                               const uint32_t mesh[PW_MESH_AXES_MAX], struct pw_error *ret_err);
/* The part of a value of `dims` that place `place` of the mesh holds. Partial and broadcast axes hold the whole. */
void pw_shard_box(const struct pw_dims *dims, const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX],
                  uint32_t place, struct pw_box *ret_box);
/* A place that holds the same as `place` and is not in `lost` (base/bits.h): itself if it can be, else one that differs along
 * broadcast axes alone. UINT32_MAX: none is left. */
uint32_t pw_living_replica(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place,
                           const _Atomic uint64_t *lost);
/* The lowest of those places: the same for all that hold the same. */
uint32_t pw_first_replica(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place,
                          const _Atomic uint64_t *lost);
struct pw_dims pw_box_dims(const struct pw_box *box);
uint64_t pw_box_elements(const struct pw_box *box);
/* The common part; false if it is empty. */
bool pw_box_meet(const struct pw_box *a, const struct pw_box *b, struct pw_box *ret_common);
bool pw_box_equal(const struct pw_box *a, const struct pw_box *b);
bool pw_sharding_equal(const struct pw_sharding *a, const struct pw_sharding *b, const uint32_t mesh[PW_MESH_AXES_MAX]);
bool pw_sharding_has_partial(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX]);

/* Copy the box `part` from the row-major array of box `from_box` into that of `to_box`; `part` lies in both.
 * Runs of whole rows are one memcpy. */
void pw_box_copy(void *to, const struct pw_box *to_box, const void *from, const struct pw_box *from_box,
                 const struct pw_box *part, size_t element_bytes);
/* Is there a reduction by `op`? Opaque values have none, bools PW_MAX ("or") and PW_MIN ("and"), all others every op. */
bool pw_dtype_reduces(enum pw_dtype dtype, enum pw_op op);
/* to = op(to, from) over the part, element by element in row-major order: whole numbers in their own type, so that sums and
 * products wrap around; f16 and bf16 by way of float. Errors: PW_UNSUPPORTED (there is no such reduction). */
PW_MUST_CHECK enum pw_status pw_box_reduce(void *to, const struct pw_box *to_box, const void *from, const struct pw_box *from_box,
                                           const struct pw_box *part, enum pw_dtype dtype, enum pw_op op);
/* Does no axis come behind one that is not there (its size is 0)? */
bool pw_mesh_possible(const uint32_t mesh[PW_MESH_AXES_MAX]);
/* "2 x 3": two axes at least; returns `text`. */
char *pw_mesh_format(const uint32_t mesh[PW_MESH_AXES_MAX], char *text, size_t text_bytes);
/* "split(0) x partial(sum)"; returns `text`. */
char *pw_sharding_format(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], char *text, size_t text_bytes);

#endif
