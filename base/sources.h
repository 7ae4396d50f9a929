/* Which shards of a value a receiver reads to assemble a box of it, and in which order they are reduced.
 *
 * A value over a mesh has, for each part that its split axes give, one replica per place along the broadcast axes, and each
 * replica one contribution per place along the partial axes. A receiver reads one replica of every part that meets the box it
 * wants: that of its own row of the mesh, else one that lies in its island, else the replica that its number gives, so that
 * receivers spread over replicas. Contributions of a replica are one group, in rank order: row-major over the mesh.
 * Pure arithmetic; lowering asks it too (which transfers cross islands, which shards read which).
 */
#ifndef PW_BASE_SOURCES_H
#define PW_BASE_SOURCES_H

#include "base/layout.h"

#define PW_PLACE_NONE UINT32_MAX

/* As `island_partial` of plane/board/image.h: a reduction over islands in two steps. */
enum pw_sources_flag {
        PW_SOURCES_REDUCED = 1u << 0,    /* contributions are reduced within each island already: one of each island counts */
        PW_SOURCES_OWN_ISLAND = 1u << 1, /* only contributions of the receiver's island: the result is partial over islands */
};

/* A value as it lies. */
struct pw_value_layout {
        struct pw_dims dims; /* of the whole value */
        struct pw_sharding sharding;
        uint32_t mesh[PW_MESH_AXES_MAX];
        const struct pw_slice_place *places; /* NULL: all in one island */
};

struct pw_receiver {
        struct pw_box wanted;
        uint32_t place;  /* of the receiver in the value's own mesh, or PW_PLACE_NONE */
        uint32_t number; /* its place in its own slice */
        struct pw_slice_place at; /* where it is: its island counts */
        uint32_t flags;  /* enum pw_sources_flag */
        /* Where the destination stays partial: index `part` of `part_count` devices that together hold the value; each reads
         * every part_count-th contribution (with PW_SOURCES_OWN_ISLAND: those of its island instead). Else 0 of 1. */
        uint32_t part, part_count;
};

/* The sources of `receiver`: *ret_places and *ret_groups have room for pw_mesh_count(mesh) items; groups count from 0 and are
 * consecutive. Returns how many. An empty box has none; neither has a part whose contributions all go to other receivers. */
uint32_t pw_sources(const struct pw_value_layout *layout, const struct pw_receiver *receiver, uint32_t *ret_places,
                    uint32_t *ret_groups);
/* `part` and `part_count` of place `place` of a destination of `sharding` over `mesh`. */
void pw_sources_part(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place, uint32_t *ret_part,
                     uint32_t *ret_part_count);

#endif
