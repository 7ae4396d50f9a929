/* Host forms of the kernels of these tests, one function for each entry of their PTX. */
#include "tests/fake_cuda/kernels.h"

#include <sched.h>

/* to[i] = from[i] * factor.x + factor.y, by one thread for each i. */
void scale__fake(void *const *args, const unsigned grid[3], const unsigned block[3])
{
        const uint32_t count = *(const uint32_t *)args[2];
        const struct pair *factor = args[3];

        for (uint32_t i = 0; i < grid[0] * block[0] && i < count; i++) {
                const uint32_t *from = fake_cuda_at(*(unsigned long long *)args[1] + i * sizeof *from);
                uint32_t *to = fake_cuda_at(*(unsigned long long *)args[0] + i * sizeof *to);

                *to = *from * factor->x + factor->y;
        }
}

/* Until the word at that address is not 0. */
void gate__fake(void *const *args, const unsigned grid[3], const unsigned block[3])
{
        const uint32_t *word = fake_cuda_at(*(unsigned long long *)args[0]);

        (void)grid, (void)block;
        while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
                sched_yield();
}
