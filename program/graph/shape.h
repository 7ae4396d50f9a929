/* Answers about the shapes of one call while they come in, and how arguments arrive.
 */
#ifndef PW_PROGRAM_GRAPH_SHAPE_H
#define PW_PROGRAM_GRAPH_SHAPE_H

#include "program/graph/graph.h"

/* The classes of places of a call's mesh: places of one class have the same shard dims of every argument. */
struct pw_call_shapes;
void pw_call_shapes_free(struct pw_call_shapes *shapes); /* accepts NULL */

/* How an argument of this sharding arrives at a call: partial axes are completed to broadcast. */
static inline struct pw_sharding pw_sharding_completed(struct pw_sharding sharding)
{
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (sharding.axis[i].layout == PW_LAYOUT_PARTIAL)
                        sharding.axis[i] = (struct pw_axis_sharding)PW_AXIS_BROADCAST;
        return sharding;
}

#endif
