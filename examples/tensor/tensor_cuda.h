/* The forms of the module's functions for GPUs (tensor_cuda.c), for its table (tensor.c).
 */
#ifndef TENSOR_CUDA_H
#define TENSOR_CUDA_H

#include "pathways_module.h"

extern const struct pw_code tensor_codes[1];
extern const char *const tensor_faults[1];
enum pw_status tensor_hidden_cuda(struct pw_task *task);
enum pw_status tensor_scores_cuda(struct pw_task *task);
enum pw_status tensor_loss_cuda(struct pw_task *task);
enum pw_status tensor_back_cuda(struct pw_task *task);
enum pw_status tensor_gradient_cuda(struct pw_task *task);
enum pw_status tensor_update_cuda(struct pw_task *task);

#endif
