/* What the kernels of peer.cu take besides addresses: the part of one array that is moved into another. For the kernels too, so it
 * knows no header of ours.
 */
#ifndef PW_EXECUTOR_PEER_PART_H
#define PW_EXECUTOR_PEER_PART_H

#include <stdint.h>

#define PW_PEER_RANK 8 /* PW_RANK_MAX */

/* By value the third argument of a kernel, behind `to` and `from`, where the two arrays begin. Counts and steps are of elements. */
struct pw_peer_part {
        uint64_t to, from;           /* the part's first element in each array */
        uint64_t rows, row_elements; /* a row lies side by side in both */
        uint32_t rank;               /* dims that rows are counted over, row-major */
        uint32_t grain;              /* 1, 2, 4, 8 or 16: divides row_elements and all steps */
        uint64_t size[PW_PEER_RANK], to_step[PW_PEER_RANK], from_step[PW_PEER_RANK];
};

#endif
