/* Lowering: from a shaped graph to the image that executors run. Pure, once per program and mapping of its slices.
 *
 * Steps, a file each: nodes in program order (lower.c), the transfers between them (convert.c; their names: transfer.c,
 * the table; whom they read: reach.c), lifetimes and rooms (lifetime.c), waits (wait.c), the flat image (image.c).
 * Texts and blobs of an image are shared and aligned as plane/board/image.h says; the name of a function is "gradient", of its
 * module "digits", of its node "digits/gradient".
 */
#ifndef PW_PROGRAM_LOWER_LOWER_H
#define PW_PROGRAM_LOWER_LOWER_H

#include "plane/board/image.h"
#include "program/graph/graph.h"

/* Shards up to PW_MARK_BYTES travel in the marks. From this size on an all-reduce goes in parts (PW_PHASE_PARTS), but where the
 * processor does not read the memory of the slice. */
#define PW_PARTS_BYTES (32u << 10)

/* The kind of the transfer from one sharding to another: same slice or not, over islands or not: a table. */
enum pw_transfer_kind pw_transfer_between(const struct pw_sharding *from, const uint32_t from_mesh[PW_MESH_AXES_MAX],
                                          const struct pw_sharding *to, const uint32_t to_mesh[PW_MESH_AXES_MAX],
                                          bool same_slice);
const char *pw_transfer_text(enum pw_transfer_kind kind);

/* Own: *ret_image is one malloc'ed block of (*ret_image)->bytes, the caller's. Errors: PW_BAD_PROGRAM, PW_SHAPE (a
 * reduction of opaque values), PW_UNSUPPORTED (to devices that do not read where it lies), PW_TOO_LARGE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_lower(const struct pw_graph *graph, struct pw_image **ret_image,
                                      struct pw_error *ret_err);

#endif
