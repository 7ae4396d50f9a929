/* Meshes and shardings: which part of a value each place of a mesh holds. */
#include "base/layout.h"

#include "base/bits.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

static uint32_t axis_size(const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t axis)
{
        return mesh[axis] ? mesh[axis] : 1;
}

void pw_mesh_coords(const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place, uint32_t ret_coords[PW_MESH_AXES_MAX])
{
        for (uint32_t axis = PW_MESH_AXES_MAX; axis-- > 0;) {
                ret_coords[axis] = place % axis_size(mesh, axis);
                place /= axis_size(mesh, axis);
        }
}

uint32_t pw_mesh_place(const uint32_t mesh[PW_MESH_AXES_MAX], const uint32_t coords[PW_MESH_AXES_MAX])
{
        uint32_t place = 0;

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                place = place * axis_size(mesh, axis) + (axis_size(mesh, axis) > 1 ? coords[axis] : 0);
        return place;
}

uint32_t pw_mesh_count(const uint32_t mesh[PW_MESH_AXES_MAX])
{
        uint64_t count = 1;

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX && count < UINT32_MAX; axis++)
                count *= axis_size(mesh, axis);
        return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

bool pw_mesh_possible(const uint32_t mesh[PW_MESH_AXES_MAX])
{
        for (uint32_t i = 1; i < PW_MESH_AXES_MAX; i++)
                if (mesh[i] && !mesh[i - 1])
                        return false;
        return true;
}

char *pw_mesh_format(const uint32_t mesh[PW_MESH_AXES_MAX], char *text, size_t text_bytes)
{
        size_t used = 0;

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX && (i < 2 || mesh[i]) && used < text_bytes; i++)
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRIu32, i ? " x " : "", axis_size(mesh, i));
        return text;
}

enum pw_status pw_sharding_check(const struct pw_sharding *sharding, const struct pw_dims *dims,
                                 const uint32_t mesh[PW_MESH_AXES_MAX], struct pw_error *ret_err)
{
        const struct pw_axis_sharding *partial = NULL;

        if (dims->rank > PW_RANK_MAX)
                return pw_error_set(ret_err, PW_SHAPE, "rank %" PRIu32 " is above %u", dims->rank, PW_RANK_MAX);
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                const struct pw_axis_sharding *axis = &sharding->axis[i];
                if (axis->layout > PW_LAYOUT_PARTIAL)
                        return pw_error_set(ret_err, PW_SHAPE, "sharding over axis %" PRIu32 " of the mesh: there is no layout %u",
                                            i, axis->layout);
                if (i && !mesh[i] && axis->layout != PW_LAYOUT_BROADCAST)
                        return pw_error_set(ret_err, PW_SHAPE, "sharding over axis %" PRIu32 ": the mesh has no such axis", i);
                if (axis->layout == PW_LAYOUT_SPLIT && axis->dim >= dims->rank)
                        return pw_error_set(ret_err, PW_SHAPE,
                                            "sharding over axis %" PRIu32 " of the mesh: split(%u) of a value of rank %" PRIu32, i,
                                            axis->dim, dims->rank);
                if (axis->layout == PW_LAYOUT_PARTIAL && axis->op > PW_PROD)
                        return pw_error_set(ret_err, PW_SHAPE, "sharding over axis %" PRIu32 " of the mesh: there is no op %u", i,
                                            axis->op);
                if (axis->layout != PW_LAYOUT_PARTIAL || mesh[i] < 2)
                        continue;
                if (partial && partial->op != axis->op)
                        return pw_error_set(
                                ret_err, PW_SHAPE,
                                "sharding over axis %" PRIu32 " of the mesh: partial by another op than the axis before", i);
                partial = axis;
        }
        return PW_OK;
}

/* Cut the box down to part `i` of `count` along `dim`; the first size % count parts have one row more. */
static void split_box(struct pw_box *box, uint32_t dim, uint32_t i, uint32_t count)
{
        uint64_t rows = box->size[dim] / count, larger = box->size[dim] % count;

        box->start[dim] += i * rows + pw_min_u64(i, larger);
        box->size[dim] = rows + (i < larger);
}

void pw_shard_box(const struct pw_dims *dims, const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX],
                  uint32_t place, struct pw_box *ret_box)
{
        uint32_t coords[PW_MESH_AXES_MAX];
        struct pw_box box = { .rank = dims->rank };

        memcpy(box.size, dims->dim, dims->rank * sizeof dims->dim[0]);
        pw_mesh_coords(mesh, place, coords);
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (sharding->axis[i].layout == PW_LAYOUT_SPLIT)
                        split_box(&box, sharding->axis[i].dim, coords[i], axis_size(mesh, i));
        *ret_box = box;
}

static bool holds_the_same(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t a, uint32_t b)
{
        uint32_t left[PW_MESH_AXES_MAX], right[PW_MESH_AXES_MAX];

        pw_mesh_coords(mesh, a, left);
        pw_mesh_coords(mesh, b, right);
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                if (left[axis] != right[axis] && sharding->axis[axis].layout != PW_LAYOUT_BROADCAST)
                        return false;
        return true;
}

uint32_t pw_living_replica(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place,
                           const _Atomic uint64_t *lost)
{
        uint32_t count = pw_mesh_count(mesh);

        if (!pw_bits_has(lost, place))
                return place;
        for (uint32_t other = 0; other < count; other++)
                if (!pw_bits_has(lost, other) && holds_the_same(sharding, mesh, place, other))
                        return other;
        return UINT32_MAX;
}

uint32_t pw_first_replica(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place,
                          const _Atomic uint64_t *lost)
{
        uint32_t count = pw_mesh_count(mesh);

        for (uint32_t other = 0; other < count; other++)
                if (!pw_bits_has(lost, other) && holds_the_same(sharding, mesh, place, other))
                        return other;
        return UINT32_MAX;
}

static bool axis_equal(const struct pw_axis_sharding *a, const struct pw_axis_sharding *b)
{
        if (a->layout != b->layout)
                return false;
        if (a->layout == PW_LAYOUT_SPLIT)
                return a->dim == b->dim;
        return a->layout != PW_LAYOUT_PARTIAL || a->op == b->op;
}

bool pw_sharding_equal(const struct pw_sharding *a, const struct pw_sharding *b, const uint32_t mesh[PW_MESH_AXES_MAX])
{
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (mesh[i] > 1 && !axis_equal(&a->axis[i], &b->axis[i]))
                        return false;
        return true;
}

bool pw_sharding_has_partial(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX])
{
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (mesh[i] > 1 && sharding->axis[i].layout == PW_LAYOUT_PARTIAL)
                        return true;
        return false;
}

static void format_axis(const struct pw_axis_sharding *axis, char text[24])
{
        static const char *const ops[] = { "sum", "max", "min", "prod" };

        switch (axis->layout) {
        case PW_LAYOUT_BROADCAST: snprintf(text, 24, "broadcast"); break;
        case PW_LAYOUT_SPLIT: snprintf(text, 24, "split(%u)", axis->dim); break;
        case PW_LAYOUT_PARTIAL: snprintf(text, 24, "partial(%s)", axis->op < pw_array_count(ops) ? ops[axis->op] : "?"); break;
        default: snprintf(text, 24, "?"); break;
        }
}

char *pw_sharding_format(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], char *text, size_t text_bytes)
{
        char axis[24];
        size_t used = 0;
        uint32_t count = 1; /* up to the last one that says anything */

        for (uint32_t i = 1; i < PW_MESH_AXES_MAX; i++)
                if (mesh[i] > 1 || sharding->axis[i].layout != PW_LAYOUT_BROADCAST)
                        count = i + 1;
        for (uint32_t i = 0; i < count && used < text_bytes; i++) {
                format_axis(&sharding->axis[i], axis);
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i ? " x " : "", axis);
        }
        return text;
}
