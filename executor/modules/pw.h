/* What the two halves of the module pw share: pw.c, its functions where the processor reads a device's memory, and pw_cuda.c, their
 * forms for GPUs.
 */
#ifndef PW_EXECUTOR_PW_H
#define PW_EXECUTOR_PW_H

#include "pathways_module.h"

struct pw_fill_params {
        double value;
        uint64_t dtype, rank; /* from here on only without inputs */
        uint64_t dim[PW_RANK_MAX];
};
struct pw_scale_params { double factor; };
struct pw_duration_params { uint64_t us; }; /* sleep_us, spin_us */

static inline uint64_t pw_elements(const struct pw_task_value *value)
{
        uint64_t count = 1;

        for (uint32_t d = 0; d < value->dims.rank; d++)
                count *= value->dims.dim[d];
        return count;
}

/* Every element of `out` becomes `value`. */
void pw_fill_value(const struct pw_task_value *out, double value);

/* Forms for GPUs, and the code of their kernels. */
extern const struct pw_code pw_module_codes[1];
enum pw_status pw_nop_cuda(struct pw_task *task);
enum pw_status pw_fill_cuda(struct pw_task *task);
enum pw_status pw_add_cuda(struct pw_task *task);
enum pw_status pw_scale_cuda(struct pw_task *task);
enum pw_status pw_matmul_cuda(struct pw_task *task);
enum pw_status pw_duration_cuda(struct pw_task *task);

#endif
