/* Between two functions on a GPU: the guards of the one that has ended are looked at and those of the next one are set, as
 * executor/device/guard.h says. Or between two rows of functions.
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

/* Of an address that no parameter is. */
static __device__ __forceinline__ void *memory_at(uint64_t address)
{
#if defined(__CUDACC__)
        return (void *)address;
#else
        return cuda_shim_at(address);
#endif
}

/* Where the byte of a room is that is this thread's; 0: none is. */
static __device__ __forceinline__ uint64_t own_byte(const struct pw_guard_room &room)
{
        const uint64_t place = guard_place(pw_thread(), room.rest);

        return room.rest < GUARD || place == UINT64_MAX ? 0 : room.end + place;
}

static __device__ __forceinline__ void set(const struct pw_guard_room &room)
{
        if (own_byte(room))
                *(uint8_t *)memory_at(own_byte(room)) = guard_byte(pw_thread(), room.words);
}

/* Without a branch, so that all rooms' are on their way before one is waited for: where none is, of what can be read. */
static __device__ __forceinline__ uint8_t read(const struct pw_guard_room &room, uint64_t otherwise)
{
        const uint64_t at = own_byte(room);

        return *(const uint8_t *)memory_at(at ? at : otherwise);
}

/* 0: it is whole; else its state, and behind that which one of its call: the larger the earlier. */
static __device__ __forceinline__ uint32_t check(const struct pw_guard_room &room, uint8_t seen, uint32_t index)
{
        if (!own_byte(room) || seen == guard_byte(pw_thread(), room.words))
                return 0;
        return (pw_thread() >= GUARD ? 2u : 1u) << 8 | (255 - index);
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

static __device__ __forceinline__ struct pw_guard_words *words_of(const struct pw_guard_turn &turn, uint64_t number)
{
        return (struct pw_guard_words *)memory_at(turn.words + number % PW_GUARD_RING * sizeof(struct pw_guard_words));
}
static __device__ __forceinline__ uint64_t *end_of(const struct pw_guard_turn &turn, uint64_t number)
{
        return (uint64_t *)memory_at(turn.ends + number % PW_GUARD_RING * sizeof(uint64_t));
}

/* A thread sets a byte behind its own look at it, so one room may be on both sides, where it is the same to the byte. One block of
 * 32 threads. All calls that have ended share the worst room: each of them may have written there. */
extern "C" __global__ void pw_guard_turn(const __grid_constant__ struct pw_guard_turn turn)
{
        const bool is_last = pw_thread() == pw_thread_count() - 1;
        uint32_t faults[PW_GUARD_CALLS], worst = 0;
        uint8_t seen[PW_GUARD_ROOMS];

        for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++)
                seen[i] = read(turn.ended[i], turn.words);
        for (uint32_t i = 0; i < PW_GUARD_CALLS; i++)
                faults[i] = words_of(turn, turn.ended_number + i)->fault;
        const uint32_t before = words_of(turn, turn.ended_number)->worst;
        for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++)
                worst = larger(worst, check(turn.ended[i], seen[i], turn.indexes[i]));
        worst = larger(worst_of_all(worst), before);
        if (is_last && turn.ended_count && !turn.is_last)
                words_of(turn, turn.ended_number)->worst = worst;
        for (uint32_t i = 0; i < PW_GUARD_CALLS; i++)
                if (is_last && turn.is_last && i < turn.ended_count)
                        publish(end_of(turn, turn.ended_number + i),
                                pw_guard_end(turn.ended_number + i, faults[i], worst ? 255 - (worst & 255) : 0, worst >> 8));
        for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++)
                set(turn.begins[i]);
        for (uint32_t i = 0; is_last && i < turn.begins_count; i++)
                *words_of(turn, turn.begins_number + i) = (struct pw_guard_words){ 0, 0 };
}
PW_KERNEL(pw_guard_turn)
