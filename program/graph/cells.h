/* The places of a mesh in cells: along each axis runs of coordinates, such that all shards of one cell are equally large.
 *
 * A split gives the first parts one row more, so it cuts an axis once, and twice where an outer axis left parts of two sizes: a few
 * cells for any number of places. They are numbered row-major, so the first places of cells ascend.
 */
#ifndef PW_PROGRAM_GRAPH_CELLS_H
#define PW_PROGRAM_GRAPH_CELLS_H

#include "base/layout.h"

struct pw_cells_axis { uint32_t *starts; uint32_t count, capacity; }; /* first coordinates, ascending from 0 */
struct pw_cells {
        uint32_t mesh[PW_MESH_AXES_MAX];
        struct pw_cells_axis axis[PW_MESH_AXES_MAX];
};

/* One cell. False: out of memory; done() takes what is there. */
PW_MUST_CHECK bool pw_cells_init(struct pw_cells *cells, const uint32_t mesh[PW_MESH_AXES_MAX]);
PW_MUST_CHECK bool pw_cells_copy(struct pw_cells *cells, const struct pw_cells *from);
void pw_cells_done(struct pw_cells *cells); /* also of a zeroed one */
/* Cut them so that the shards of a value of `dims` are equally large in each. False: out of memory. */
PW_MUST_CHECK bool pw_cells_cut(struct pw_cells *cells, const struct pw_dims *dims, const struct pw_sharding *sharding);

uint32_t pw_cells_count(const struct pw_cells *cells);
uint32_t pw_cells_first(const struct pw_cells *cells, uint32_t cell); /* its first place */
uint32_t pw_cells_of(const struct pw_cells *cells, uint32_t place);
/* Coordinates of the cell along `axis`: the first, and how many. */
uint32_t pw_cells_span(const struct pw_cells *cells, uint32_t cell, uint32_t axis, uint32_t *ret_start);

#endif
