/* Whom the receivers of a transfer read: the rule of base/sources.h, seen from above and for all of them at once.
 *
 * Along each axis of the source's mesh it follows from the two shardings what they read: their own coordinate, or more. Where that
 * depends on the sizes of the value (a dim that is cut anew), they count as reading everything: then a transfer may be made as one
 * between islands that is none. */
#include "program/lower/transfer.h"

/* The axes over which a sharding splits `dim`, outermost first. Returns how many. */
static uint32_t split_axes(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t dim,
                           uint32_t ret_axes[PW_MESH_AXES_MAX])
{
        uint32_t count = 0;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                if (mesh[a] > 1 && sharding->axis[a].layout == PW_LAYOUT_SPLIT && sharding->axis[a].dim == dim)
                        ret_axes[count++] = a;
        return count;
}

/* Splits of a dim are nested: what both shardings split alike, from the outermost axis on, is read at the own coordinate. */
static bool reads_own_part(const struct pw_transfer_ends *ends, uint32_t axis)
{
        const uint32_t *mesh = ends->from_slice->mesh;
        uint32_t from[PW_MESH_AXES_MAX], to[PW_MESH_AXES_MAX], dim = ends->from->axis[axis].dim;
        uint32_t from_count = split_axes(ends->from, mesh, dim, from), to_count = split_axes(ends->to, mesh, dim, to);

        for (uint32_t i = 0; i < from_count && i < to_count && from[i] == to[i]; i++)
                if (from[i] == axis)
                        return true;
        return false;
}

/* What there is to know of a transfer before islands are looked at. */
struct reading {
        struct pw_spread_way spread;
        bool aligned; /* each receiver has a place in the source's mesh: its own, or one in its island */
        bool cuts, chooses, reduces, keeps; /* some axis: EACH; ANY; partial, reduced here; partial, and stays so */
};

static void read_axis(const struct pw_transfer_ends *ends, uint32_t axis, struct reading *way)
{
        enum pw_spread_axis *how = &way->spread.axis[axis];

        *how = PW_SPREAD_OWN;
        if (ends->from_slice->mesh[axis] < 2)
                return;
        switch (ends->from->axis[axis].layout) {
        case PW_LAYOUT_SPLIT:
                if (!way->aligned || !reads_own_part(ends, axis))
                        *how = PW_SPREAD_EACH;
                way->cuts = way->cuts || *how == PW_SPREAD_EACH;
                break;
        case PW_LAYOUT_PARTIAL:
                *how = PW_SPREAD_ALL;
                way->reduces = way->reduces || pw_transfer_reduces(ends, axis);
                way->keeps = way->keeps || !pw_transfer_reduces(ends, axis);
                break;
        default:
                *how = PW_SPREAD_ANY;
                way->chooses = true;
                break;
        }
}

static void read_axes(const struct pw_transfer_ends *ends, struct reading *way)
{
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                read_axis(ends, a, way);
        if (!ends->same_slice || way->reduces || way->chooses)
                return;
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++) /* terms that stay what they are: each reads its own */
                if (way->spread.axis[a] == PW_SPREAD_ALL)
                        way->spread.axis[a] = PW_SPREAD_OWN;
}

static bool is_empty(const struct pw_dims *dims)
{
        for (uint32_t i = 0; i < dims->rank; i++)
                if (!dims->dim[i])
                        return true;
        return false;
}

/* Each receiver reads what it has itself: but where terms of other islands make its own replica as good as any, it may choose one
 * of another device in its island. */
static enum pw_status reach_of_own(struct pw_spreads *spreads, const struct reading *way, struct pw_reach *ret_reach,
                                   struct pw_error *ret_err)
{
        struct pw_spread_way all = way->spread;
        bool islands = false;
        enum pw_status status = PW_OK;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                all.axis[a] = PW_SPREAD_ALL;
        if (way->keeps && way->chooses)
                status = pw_spread_crosses(spreads, &all, &islands, ret_err);
        *ret_reach = (struct pw_reach){ .other_device = islands };
        return status;
}

enum pw_status pw_transfer_reach(const struct pw_transfer_ends *ends, struct pw_spreads *spreads, struct pw_reach *ret_reach,
                                 struct pw_error *ret_err)
{
        struct reading way = { .spread = { .from = ends->from_slice }, .aligned = ends->same_slice };
        enum pw_status status = PW_OK;

        if (!ends->same_slice)
                status = pw_spread_alike(spreads, ends->from_slice, ends->to_slice, &way.aligned, ret_err);
        if (status != PW_OK)
                return status;
        read_axes(ends, &way);
        if (is_empty(ends->dims)) {
                *ret_reach = (struct pw_reach){ false, false };
                return PW_OK;
        }
        if (ends->same_slice && !ends->in_island && !way.cuts && !way.reduces)
                return reach_of_own(spreads, &way, ret_reach, ret_err);
        *ret_reach = (struct pw_reach){ .other_device = true };
        if (ends->in_island)
                return PW_OK;
        if (!way.aligned)
                way.spread.to = ends->to_slice;
        return pw_spread_crosses(spreads, &way.spread, &ret_reach->other_island, ret_err);
}

enum pw_status pw_transfer_in_steps(const struct pw_transfer_ends *ends, struct pw_spreads *spreads, bool *ret_steps,
                                    struct pw_error *ret_err)
{
        uint32_t reduced = 0;

        *ret_steps = false;
        if (pw_sharding_has_partial(ends->to, ends->to_slice->mesh))
                return PW_OK;
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                reduced |= (uint32_t)pw_transfer_reduces(ends, a) << a;
        return pw_spread_in_each_island(spreads, ends->from_slice, reduced, ret_steps, ret_err);
}
