/* The kernels of peer.cu: a GPU moves a part of one array into another as pw_box_copy() and pw_box_reduce() do it in this process,
 * with the same bits. Their arguments: to, from (addresses of the GPU, where the arrays begin), struct pw_peer_part by value.
 *
 * A launch is along the first axis, of any number of threads.
 */
#ifndef PW_EXECUTOR_PEER_H
#define PW_EXECUTOR_PEER_H

#include "base/layout.h"
#include "executor/device/cuda/peer_part.h"
#include "pathways_module.h"

#define PW_PEER_BLOCK 256u /* threads of a block */

extern const struct pw_code pw_peer_code;

/* `part` lies in both boxes; it is not empty. */
void pw_peer_part_init(struct pw_peer_part *part, const struct pw_box *to_box, const struct pw_box *from_box,
                       const struct pw_box *box);
/* How many blocks can be of use. */
uint32_t pw_peer_blocks(const struct pw_peer_part *part, size_t element_bytes);
/* Names of kernels. NULL: there is none, because no element has so many bytes, or no such reduction is there. */
const char *pw_peer_copy(size_t element_bytes);
const char *pw_peer_reduce(enum pw_dtype dtype, enum pw_op op);

#endif
