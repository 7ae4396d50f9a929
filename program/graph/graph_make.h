/* Graphs for tests: built in a line each, shaped by functions that are known here.
 */
#ifndef PW_PROGRAM_GRAPH_GRAPH_MAKE_H
#define PW_PROGRAM_GRAPH_GRAPH_MAKE_H

#include "program/graph/graph.h"

#define PW_MAKE_DEVICES 4096u

/* The places of one slice; lives as long as the graph. */
struct pw_make_slice { struct pw_slice_place places[PW_MAKE_DEVICES]; };

/* A slice over a mesh, devices from `first` on, 64 to a host, spread evenly over `island_count` islands from `first_island` on. */
struct pw_make_slice_params { uint32_t mesh[PW_MESH_AXES_MAX], first, first_island, island_count; };
void pw_make_slice(struct pw_graph *graph, struct pw_make_slice *slice, const struct pw_make_slice_params *params);
/* Each returns the index of the (first) new value. */
uint32_t pw_make_input(struct pw_graph *graph, uint32_t slice, struct pw_dims dims, struct pw_sharding sharding,
                       uint32_t flags);
uint32_t pw_make_as(struct pw_graph *graph, uint32_t source, uint32_t slice, struct pw_sharding sharding);
struct pw_make_call { uint32_t slice; const char *function; const uint32_t *args; uint32_t arg_count;
                      const struct pw_sharding *shardings; uint32_t output_count; };
uint32_t pw_make_call(struct pw_graph *graph, const struct pw_make_call *call);
/* A call with one output. */
#define PW_MAKE_CALL(graph, slice, function, sharding, ...)                                                            \
        pw_make_call((graph), &(struct pw_make_call){ (slice), (function), (const uint32_t[]){ __VA_ARGS__ },          \
                                                      sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t),    \
                                                      (const struct pw_sharding[]){ sharding }, 1 })

/* Answer every question about shapes. By the name behind the slash: "like2...": as input 2; "place1...": as input 1,
 * which output 0 updates in place; "vec8...": i32 [8]; "update...": as input 0, in place; anything else: as input 0. One
 * that ends in "+scratch4096" needs so many bytes of scratch memory. */
PW_MUST_CHECK enum pw_status pw_make_shapes(struct pw_graph *graph, struct pw_error *ret_err);

#endif
