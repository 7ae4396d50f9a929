/* Between two functions on a GPU: the guards of the one that has ended are looked at and those of the next one are set, as
 * executor/device/guard.h says.
 */
#include "pathways_cuda.h"

#include "executor/device/cuda/guard_rooms.h"

/* A guard is 16 bytes right behind an output and 16 at the end of its room, `rest` bytes behind it; where they overlap, the latter
 * is whole. Place i of 32 is a byte of it: UINT64_MAX where that is the latter's. */
#define GUARD 16u
static __device__ __forceinline__ uint64_t guard_place(uint64_t i, uint64_t rest)
{
        if (i >= GUARD)
                return rest - 2 * GUARD + i;
        return i < rest - GUARD ? i : UINT64_MAX;
}
static __device__ __forceinline__ uint8_t guard_byte(uint64_t i, const uint64_t words[2])
{
        return (uint8_t)(words[i >> 3 & 1] >> 8 * (i & 7));
}

static __device__ __forceinline__ void set(uint8_t *end, uint64_t rest, const uint64_t words[2])
{
        for (uint64_t i = pw_thread(); i < 2 * GUARD && rest >= GUARD; i += pw_thread_count())
                if (guard_place(i, rest) != UINT64_MAX)
                        end[guard_place(i, rest)] = guard_byte(i, words);
}

/* enum pw_guard_state: 0 whole, 1 touched, 2 passed. */
static __device__ __forceinline__ void check(const uint8_t *end, uint64_t rest, const uint64_t words[2], uint32_t *state)
{
        for (uint64_t i = pw_thread(); i < 2 * GUARD && rest >= GUARD; i += pw_thread_count()) {
                if (guard_place(i, rest) == UINT64_MAX || end[guard_place(i, rest)] == guard_byte(i, words))
                        continue;
                atomicMax(state, i >= GUARD ? 2u : 1u);
                __threadfence_system();
        }
}

/* To memory of the host, behind what all threads have written there. */
static __device__ __forceinline__ void publish(uint64_t *progress, uint64_t number)
{
        __threadfence_system();
#if defined(__CUDACC__)
        *(volatile uint64_t *)progress = number;
#else
        __atomic_store_n(progress, number, __ATOMIC_RELEASE);
#endif
}

/* A thread sets a byte behind its own look at it, so one room may be on both sides, where it is the same to the byte. One block of
 * 32 threads at most. When all have looked, `number` is what *progress is. */
extern "C" __global__ void pw_guard_turn(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, uint8_t *e,
                                         uint8_t *f, uint8_t *g, uint8_t *h, uint32_t *states, uint64_t *progress,
                                         uint64_t number, const __grid_constant__ struct pw_guard_turn turn)
{
        check(a, turn.ended.rests[0], turn.ended.words, states);
        check(b, turn.ended.rests[1], turn.ended.words, states + 1);
        check(c, turn.ended.rests[2], turn.ended.words, states + 2);
        check(d, turn.ended.rests[3], turn.ended.words, states + 3);
        __syncwarp();
        if (number && pw_thread() == pw_thread_count() - 1)
                publish(progress, number);
        set(e, turn.begins.rests[0], turn.begins.words);
        set(f, turn.begins.rests[1], turn.begins.words);
        set(g, turn.begins.rests[2], turn.begins.words);
        set(h, turn.begins.rests[3], turn.begins.words);
}
PW_KERNEL(pw_guard_turn)
