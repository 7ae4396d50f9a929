/* Reductions of rows of f16 and bf16, eight elements at a time where the processor can, for box_reduce.c: the same bits as without.
 */
#ifndef PW_BASE_BOX_REDUCE_HALF_H
#define PW_BASE_BOX_REDUCE_HALF_H

#include "pathways_types.h"

/* How many elements, from the first on, were reduced: 0 where the processor cannot. */
uint64_t pw_f16_reduce(enum pw_op op, uint16_t *to, const uint16_t *from, uint64_t count);
uint64_t pw_bf16_reduce(enum pw_op op, uint16_t *to, const uint16_t *from, uint64_t count);

#endif
