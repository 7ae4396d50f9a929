/* Cells of a mesh: a sorted list of cuts per axis. */
#include "program/graph/cells.h"

#include "base/memory.h"

static uint32_t size_of(const struct pw_cells *cells, uint32_t axis) { return cells->mesh[axis] ? cells->mesh[axis] : 1; }

/* A cell begins at coordinate `start`. */
static bool cut(struct pw_cells_axis *axis, uint32_t start)
{
        uint32_t at = axis->count;

        while (at && axis->starts[at - 1] >= start)
                at--;
        if (at < axis->count && axis->starts[at] == start)
                return true;
        if (!pw_grow((void **)&axis->starts, &axis->capacity, axis->count + 1, sizeof *axis->starts))
                return false;
        memmove(axis->starts + at + 1, axis->starts + at, (axis->count - at) * sizeof *axis->starts);
        axis->starts[at] = start;
        axis->count++;
        return true;
}

bool pw_cells_init(struct pw_cells *cells, const uint32_t mesh[PW_MESH_AXES_MAX])
{
        *cells = (struct pw_cells){ 0 };
        memcpy(cells->mesh, mesh, sizeof cells->mesh);
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                if (!cut(&cells->axis[a], 0))
                        return false;
        return true;
}

bool pw_cells_copy(struct pw_cells *cells, const struct pw_cells *from)
{
        if (!pw_cells_init(cells, from->mesh))
                return false;
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                for (uint32_t i = 1; i < from->axis[a].count; i++)
                        if (!cut(&cells->axis[a], from->axis[a].starts[i]))
                                return false;
        return true;
}

void pw_cells_done(struct pw_cells *cells)
{
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                free(cells->axis[a].starts);
}

bool pw_cells_cut(struct pw_cells *cells, const struct pw_dims *dims, const struct pw_sharding *sharding)
{
        struct pw_dims least = *dims, most = *dims; /* sizes of parts, as far as axes were looked at: one more at most */

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++) {
                uint32_t dim = sharding->axis[a].dim, parts = size_of(cells, a);
                uint64_t *low, *high;
                if (sharding->axis[a].layout != PW_LAYOUT_SPLIT)
                        continue;
                low = &least.dim[dim];
                high = &most.dim[dim];
                if (!cut(&cells->axis[a], (uint32_t)(*low % parts)) || !cut(&cells->axis[a], (uint32_t)(*high % parts)))
                        return false;
                *high = *high / parts + (*high % parts > 0);
                *low /= parts;
        }
        return true;
}

uint32_t pw_cells_count(const struct pw_cells *cells)
{
        uint32_t count = 1;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                count *= cells->axis[a].count;
        return count;
}

uint32_t pw_cells_span(const struct pw_cells *cells, uint32_t cell, uint32_t axis, uint32_t *ret_start)
{
        const struct pw_cells_axis *cut = &cells->axis[axis];

        for (uint32_t a = PW_MESH_AXES_MAX; --a > axis;)
                cell /= cells->axis[a].count;
        cell %= cut->count;
        *ret_start = cut->starts[cell];
        return (cell + 1 < cut->count ? cut->starts[cell + 1] : size_of(cells, axis)) - *ret_start;
}

uint32_t pw_cells_first(const struct pw_cells *cells, uint32_t cell)
{
        uint32_t coords[PW_MESH_AXES_MAX];

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                (void)pw_cells_span(cells, cell, a, &coords[a]);
        return pw_mesh_place(cells->mesh, coords);
}

uint32_t pw_cells_of(const struct pw_cells *cells, uint32_t place)
{
        uint32_t coords[PW_MESH_AXES_MAX], cell = 0;

        pw_mesh_coords(cells->mesh, place, coords);
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++) {
                uint32_t at = cells->axis[a].count;
                while (cells->axis[a].starts[at - 1] > coords[a])
                        at--;
                cell = cell * cells->axis[a].count + at - 1;
        }
        return cell;
}
