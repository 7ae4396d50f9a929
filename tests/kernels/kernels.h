/* Kernels as functions of this process, from the libraries that the shim makes of .cu files, and services that launch them: what a
 * module's forms for GPUs do is seen without one.
 */
#ifndef PW_TESTS_KERNELS_H
#define PW_TESTS_KERNELS_H

#include "pathways_module.h"

/* All that follows is of tests/kernels/`name` of the build tree. Ends the program with 77, and says why, where there is none. */
void kernels_open(const char *name);
/* `grid` and `block` are along the first axis. */
void kernels_launch(const char *name, const void *const *args, uint32_t grid, uint32_t block);

/* Pointers that kernels take are addresses from now on: `at` says where each is. NULL: they are what they are, again. */
void kernels_addresses(void *(*at)(unsigned long long address));

extern const struct pw_task_services kernel_services;

/* Function `name` of the module that lies in `path` of the build tree. */
const struct pw_function *kernels_function(const char *path, const char *name);

/* The next of a row of numbers that `state` begins. */
static inline uint64_t kernels_random(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

#endif
