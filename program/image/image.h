/* Images as people and tests look at them; their format is plane/board/image.h's, and lowering alone makes them. */
#ifndef PW_PROGRAM_IMAGE_IMAGE_H
#define PW_PROGRAM_IMAGE_IMAGE_H

#include "plane/board/image.h"
#include "program/graph/graph.h"

#include <stdio.h>

/* Peak of one run: block and results (an in-place result counts once), of the device that has most of them. Bytes.
 * Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_image_peak(const struct pw_image *image, const struct pw_slice_map *slices, uint64_t *ret_bytes,
                                           struct pw_error *ret_err);

/* Fill image->peak_bytes. Errors: PW_TOO_LARGE (no sum of rooms that a device could see may overflow), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_image_find_peak(struct pw_image *image, const struct pw_slice_map *slices,
                                                struct pw_error *ret_err);

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
