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

/* 0: all is whole; else its state, and behind that the room: the larger the earlier. */
static __device__ __forceinline__ uint32_t check(const uint8_t *end, uint64_t rest, const uint64_t words[2], uint32_t room)
{
        uint32_t worst = 0;

        for (uint64_t i = pw_thread(); i < 2 * GUARD && rest >= GUARD; i += pw_thread_count())
                if (guard_place(i, rest) != UINT64_MAX && end[guard_place(i, rest)] != guard_byte(i, words))
                        worst = (i >= GUARD ? 2u : 1u) << 8 | (255 - room);
        return worst;
}

static __device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Of all threads, for the last one. */
static __device__ __forceinline__ uint32_t worst_of_all(uint32_t worst)
{
#if defined(__CUDACC__)
        for (int at = 16; at; at /= 2)
                worst = larger(worst, __shfl_xor_sync(~0u, worst, at));
        return worst;
#else
        static thread_local uint32_t so_far;

        so_far = pw_thread() ? larger(so_far, worst) : worst;
        return so_far;
#endif
}

/* For the host, which waits for it. All that it says is in the word, so nothing has to be there before it. */
static __device__ __forceinline__ void publish(uint64_t *at, uint64_t word)
{
#if defined(__CUDACC__)
        *(volatile uint64_t *)at = word;
#else
        __atomic_store_n(at, word, __ATOMIC_RELEASE);
#endif
}

/* A thread sets a byte behind its own look at it, so one room may be on both sides, where it is the same to the byte. One block of
 * 32 threads. `said` is of the gang that has ended, `says` of the one that begins. */
extern "C" __global__ void pw_guard_turn(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, uint8_t *e,
                                         uint8_t *f, uint8_t *g, uint8_t *h, struct pw_guard_words *said,
                                         struct pw_guard_words *says, uint64_t *end,
                                         const __grid_constant__ struct pw_guard_turn turn)
{
        const bool is_last = pw_thread() == pw_thread_count() - 1;
        struct pw_guard_words words = { 0, 0 };

        if (turn.has_ended && is_last)
                words = *said;
        uint32_t worst = larger(larger(check(a, turn.ended.rests[0], turn.ended.words, turn.first),
                                       check(b, turn.ended.rests[1], turn.ended.words, turn.first + 1)),
                                larger(check(c, turn.ended.rests[2], turn.ended.words, turn.first + 2),
                                       check(d, turn.ended.rests[3], turn.ended.words, turn.first + 3)));
        worst = larger(worst_of_all(worst), words.worst);
        if (turn.number && is_last)
                publish(end, pw_guard_end(turn.number, words.fault, worst ? 255 - (worst & 255) : 0, worst >> 8));
        else if (turn.has_ended && is_last)
                said->worst = worst;
        set(e, turn.begins.rests[0], turn.begins.words);
        set(f, turn.begins.rests[1], turn.begins.words);
        set(g, turn.begins.rests[2], turn.begins.words);
        set(h, turn.begins.rests[3], turn.begins.words);
        if (turn.is_first && is_last)
                *says = (struct pw_guard_words){ 0, 0 };
}
PW_KERNEL(pw_guard_turn)
