/* How the examples launch their kernels on GPUs: a thread for each element of what they compute.
 */
#ifndef EXAMPLE_LAUNCH_H
#define EXAMPLE_LAUNCH_H

#include "pathways_module.h"

/* Small blocks, since each thread has long work and there are few: they are spread over more of the GPU. */
#define LAUNCH_BLOCK 32u
#define LAUNCH_BLOCKS 65536u

/* `kernel` without its grid and block. */
static inline enum pw_status launch_each(struct pw_task *task, struct pw_kernel kernel, uint64_t count)
{
        uint64_t blocks = (count + LAUNCH_BLOCK - 1) / LAUNCH_BLOCK;

        kernel.block[0] = LAUNCH_BLOCK;
        kernel.grid[0] = blocks < LAUNCH_BLOCKS ? (uint32_t)blocks : LAUNCH_BLOCKS;
        return count ? task->services->launch(task, &kernel) : PW_OK;
}

/* Fields of a kernel: where its arguments are. */
#define LAUNCH_ARGS(...)                                                                                               \
        .arg_count = sizeof((const void *[]){ __VA_ARGS__ }) / sizeof(void *), .args = (const void *[]){ __VA_ARGS__ }

#endif
