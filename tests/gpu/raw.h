/* A GPU by its driver alone: what floors are measured with, and what questions are asked of.
 */
#ifndef PW_TESTS_GPU_RAW_H
#define PW_TESTS_GPU_RAW_H

#include "executor/device/cuda/cuda_driver.h"

#define GPU_MEMORY_BYTES (UINT64_C(4) << 20) /* a multiple of any granularity */

struct gpu_raw {
        struct pw_cuda_driver *driver;
        int device, count; /* count: how many GPUs there are */
        struct CUctx_st *context;
        struct CUstream_st *stream;
        struct CUmod_st *module; /* kernels.cu */
};

/* Whatever does not succeed ends the process, with a sentence that begins with `what`. */
void gpu_must(const struct gpu_raw *raw, enum pw_cuda_result result, const char *what);
/* The driver, started. False: *ret_err says why there is none, or no GPU. */
bool gpu_raw_start(struct gpu_raw *raw, const char *driver, struct pw_error *ret_err);
/* And GPU `ordinal` of it, ready. Its context is the primary one. */
void gpu_raw_open(struct gpu_raw *raw, const char *driver, int ordinal);

struct CUfunc_st *gpu_raw_kernel(const struct gpu_raw *raw, const char *name);
void gpu_raw_launch(const struct gpu_raw *raw, struct CUfunc_st *function, void **args);

/* Memory that goes by a descriptor, and the same where it is imported: written and read by `raw`. */
int gpu_raw_make(const struct gpu_raw *raw, uint64_t bytes);
unsigned long long gpu_raw_map(const struct gpu_raw *raw, int fd, uint64_t bytes);

/* The name of a result, as the driver has it. */
const char *gpu_raw_name(const struct gpu_raw *raw, enum pw_cuda_result result);

#endif
