/* For the .cu files of modules: what kernels of GPUs share. Host code has no use for it.
 *
 *         extern "C" __global__ void twice(float *to, const float *from, uint64_t count)
 *         {
 *                 for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())
 *                         to[i] = 2 * from[i];
 *         }
 *         PW_KERNEL(twice)
 *
 * PW_KERNEL(name) is nothing. It stands behind a kernel so that what compiles a .cu for a processor, to test it without a GPU,
 * knows of it; that gives threads one after another, so such a kernel has no shared memory and no barrier, and takes memory by
 * parameters that are pointers.
 */
#ifndef PATHWAYS_CUDA_H
#define PATHWAYS_CUDA_H

#include <stdint.h>

#if defined(__CUDACC__)
#define PW_KERNEL(name)
#endif

#if defined(PW_KERNEL)

/* This thread among all of the launch, along the first axis, and how many there are: where a loop begins, and its step. */
static __device__ __forceinline__ uint64_t pw_thread(void) { return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ __forceinline__ uint64_t pw_thread_count(void) { return (uint64_t)gridDim.x * blockDim.x; }

/* The call fails with sentence `number`, from 1 on, of the function's `faults`, but for one before; `fault` is that of the task. */
static __device__ __forceinline__ void pw_fault(uint32_t *fault, uint32_t number) { atomicCAS(fault, 0u, number); }

/* Nanoseconds since some time, of a clock that is the same for all threads. */
static __device__ __forceinline__ uint64_t pw_nanoseconds(void)
{
#if defined(__CUDACC__)
        uint64_t now;

        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
#else
        return cuda_shim_nanoseconds();
#endif
}

#endif
#endif
