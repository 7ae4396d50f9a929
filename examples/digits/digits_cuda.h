/* What the module's functions (digits.c), their forms for GPUs (digits_cuda.c) and the kernels of these (digits.cu) agree on.
 */
#ifndef DIGITS_CUDA_H
#define DIGITS_CUDA_H

#include "pathways_module.h"

/* Of one call of a gradient; `hidden` only of a network with a hidden layer. */
struct digits_sizes { uint64_t rows, features, hidden, classes; };

extern const struct pw_code digits_codes[1];
extern const char *const digits_faults[1];
enum pw_status digits_gradient_cuda(struct pw_task *task);
enum pw_status digits_hidden_gradient_cuda(struct pw_task *task);
enum pw_status digits_update_cuda(struct pw_task *task);

#endif
