/* Walking through the part that two row-major arrays have in common, one run of neighbouring elements after another.
 *
 * For base/box*.c, executor/device/cuda/peer.c and executor/gang/gang_load.c. A row is as long as both arrays have its elements
 * side by side; rows come in row-major order.
 *         for (pw_box_rows_init(&rows, to_box, from_box, part); rows.left; pw_box_rows_step(&rows)) ...
 */
#ifndef PW_BASE_BOX_ROWS_H
#define PW_BASE_BOX_ROWS_H

#include "base/layout.h"

struct pw_box_rows {
        uint64_t to, from;   /* where the current row begins, in elements */
        uint64_t elements;   /* of each row */
        uint64_t left;       /* rows, the current one included */
        uint32_t rank;       /* dims that rows are counted over; the others are in the row */
        uint64_t size[PW_RANK_MAX], at[PW_RANK_MAX];
        uint64_t to_step[PW_RANK_MAX], from_step[PW_RANK_MAX]; /* elements between neighbours along a dim */
};

void pw_box_rows_init(struct pw_box_rows *rows, const struct pw_box *to_box, const struct pw_box *from_box,
                      const struct pw_box *part);
void pw_box_rows_step(struct pw_box_rows *rows);

#endif
