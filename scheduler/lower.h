/* Lowering: from a shaped graph to the image that executors run. Pure, once per program and mapping of its slices.
 *
 * Steps, a file each: nodes in program order (lower.c), the transfers between them (convert.c; their names: transfer.c,
 * the table; whom they read: reach.c), lifetimes and rooms (lifetime.c), waits (wait.c), the flat image (image.c).
 * Texts and blobs of an image are shared and aligned as plane/image.h says; the name of a function is "gradient", of its
 * module "digits", of its node "digits/gradient".
 */
#ifndef PW_SCHEDULER_LOWER_H
#define PW_SCHEDULER_LOWER_H

#include "plane/image.h"
#include "scheduler/graph.h"

#include <stdio.h>

/* Shards up to this many bytes (PW_MARK_BYTES) travel in the marks. From this size on an all-reduce is two nodes. */
#define PW_TWO_STEP_BYTES (32u << 10)

/* The kind of the transfer from one sharding to another: same slice or not, over islands or not: a table. */
enum pw_transfer_kind pw_transfer_between(const struct pw_sharding *from, const uint32_t from_mesh[PW_MESH_AXES_MAX],
                                          const struct pw_sharding *to, const uint32_t to_mesh[PW_MESH_AXES_MAX],
                                          bool same_slice);
const char *pw_transfer_text(enum pw_transfer_kind kind);

/* Own: *ret_image is one malloc'ed block of (*ret_image)->bytes, the caller's. Errors: PW_BAD_PROGRAM, PW_SHAPE (a
 * reduction of opaque values), PW_TOO_LARGE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_lower(const struct pw_graph *graph, struct pw_image **ret_image,
                                      struct pw_error *ret_err);

/* Peak of one run on each device of the slices: block and results (an in-place result counts once). Bytes. The largest
 * over devices is image->peak_bytes. */
uint64_t pw_image_device_peak(const struct pw_image *image, const struct pw_slice_map *slices, uint32_t device);

/* One node as people read it: a line of `pathways programs N`. */
struct pw_image_row {
        uint32_t node;
        const char *kind;         /* "call", "transfer", "load" */
        const char *name;         /* "digits/gradient", "all-reduce receive" */
        uint32_t slice;           /* of a transfer: the receivers' */
        uint32_t source_slice;    /* the senders' */
        char reads[160];          /* "1 4": values */
        char writes[160];         /* "5 f32 [65, 10] broadcast, block+128", "5 ..., result 0" */
        char waits[80];           /* "2 3": nodes */
        bool eager;
        uint64_t output_bytes;    /* of a shard of each output, together */
};
void pw_image_row(const struct pw_image *image, uint32_t node, struct pw_image_row *ret_row);
/* All of it, a line per node and a head: for tests and for reading. */
void pw_image_print(const struct pw_image *image, FILE *file);

/* Check a whole image for consistency (offsets inside, nodes topological, rooms that overlap in time and place: none
 * but with waits or on the same device in order): for tests. */
PW_MUST_CHECK enum pw_status pw_image_check(const struct pw_image *image, const struct pw_slice_map *slices, uint32_t slice_count,
                                            struct pw_error *ret_err);

#endif
