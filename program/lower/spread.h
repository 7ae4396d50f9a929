/* How the islands of slices are spread over their meshes: may a receiver find all that it reads in its own island?
 *
 * Asked for every transfer, and answered from the coordinates of the mesh: the places of a slice are looked at once for each way
 * to read it, however many transfers read it so.
 */
#ifndef PW_PROGRAM_LOWER_SPREAD_H
#define PW_PROGRAM_LOWER_SPREAD_H

#include "base/table.h"
#include "program/graph/graph.h"

/* Places that are looked at for one program: seconds of processor time. */
#define PW_SPREAD_PROBES_MAX (UINT64_C(1) << 24)

/* What receivers read along an axis of the source's mesh. Axes of one coordinate are OWN. */
enum pw_spread_axis {
        PW_SPREAD_OWN,  /* their own coordinate */
        PW_SPREAD_EACH, /* every coordinate, from wherever it is to be had */
        PW_SPREAD_ANY,  /* one coordinate, as they choose: they hold the same */
        PW_SPREAD_ALL,  /* every coordinate of what was chosen: terms of a reduction */
};
struct pw_spread_way {
        const struct pw_slice_map *from;
        const struct pw_slice_map *to; /* where the receivers are; NULL: at the places of `from`. Else no axis is OWN */
        enum pw_spread_axis axis[PW_MESH_AXES_MAX];
};

struct pw_spreads {
        const struct pw_slice_map *slices; /* of the program: all that are asked about are of these; borrowed */
        struct pw_table known;             /* what was answered: 1 + a bool */
        uint64_t probes;                    /* at places so far */
};
void pw_spreads_done(struct pw_spreads *spreads);

/* Errors of all: PW_NO_MEMORY, PW_TOO_LARGE (PW_SPREAD_PROBES_MAX). */

/* Is there a receiver that has to read in another island? */
PW_MUST_CHECK enum pw_status pw_spread_crosses(struct pw_spreads *spreads, const struct pw_spread_way *way, bool *ret_crosses,
                                               struct pw_error *ret_err);
/* Are two slices alike: the same mesh, and place by place in the same islands? */
PW_MUST_CHECK enum pw_status pw_spread_alike(struct pw_spreads *spreads, const struct pw_slice_map *a, const struct pw_slice_map *b,
                                             bool *ret_alike, struct pw_error *ret_err);
/* Of the groups of places that differ only along the axes of `reduced`, a bit each: has each of them members in each island of the
 * slice, and some of them more than one there? */
PW_MUST_CHECK enum pw_status pw_spread_in_each_island(struct pw_spreads *spreads, const struct pw_slice_map *slice,
                                                      uint32_t reduced, bool *ret_so, struct pw_error *ret_err);

#endif
