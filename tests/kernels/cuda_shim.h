/* Compiles a .cu for the processor: `c++ -x c++ -include tests/kernels/cuda_shim.h`.
 *
 * A kernel becomes a function, its launch a loop over blocks and threads, one after another: without shared memory and barriers.
 * PW_KERNEL(name) makes the loop, with C linkage, as
 *         void name__fake(void *const *args, const unsigned grid[3], const unsigned block[3]);
 * where args[i] is where argument i is. What is a pointer there is an address of a fake device: fake_cuda_at() of the library that
 * plays the driver says where that is in this process. One that was loaded in a scope of its own is not found by that name: it sets
 * fake_cuda_at_hook of this library. Where there is neither, addresses are used as they are. What is no parameter a kernel of the
 * executor asks cuda_shim_at() for.
 */
#ifndef PW_TESTS_CUDA_SHIM_H
#define PW_TESTS_CUDA_SHIM_H

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <math.h>
#include <tuple>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __grid_constant__
#define __forceinline__ inline

struct cuda_shim_place { unsigned x, y, z; };
static thread_local cuda_shim_place gridDim, blockDim, blockIdx, threadIdx;

/* --- what kernels call ------------------------------------------------------------------------------------------------------ */

/* Launches of two streams may be two threads here. */
template <typename T> static inline T atomicCAS(T *at, T expected, T value)
{
        __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return expected;
}

template <typename T, typename F> static inline T cuda_shim_change(T *at, F change)
{
        T seen, value;

        __atomic_load(at, &seen, __ATOMIC_SEQ_CST);
        do
                value = change(seen);
        while (!__atomic_compare_exchange(at, &seen, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        return seen;
}
template <typename T> static inline T atomicAdd(T *at, T value)
{
        return cuda_shim_change(at, [value](T seen) { return static_cast<T>(seen + value); });
}
template <typename T> static inline T atomicMax(T *at, T value)
{
        return cuda_shim_change(at, [value](T seen) { return seen < value ? value : seen; });
}

static inline uint64_t cuda_shim_nanoseconds()
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

/* --- launches --------------------------------------------------------------------------------------------------------------- */

extern "C" {
__attribute__((weak)) void *fake_cuda_at(unsigned long long address);
extern void *(*fake_cuda_at_hook)(unsigned long long address);
__attribute__((weak)) void *(*fake_cuda_at_hook)(unsigned long long address);
}

static inline void *cuda_shim_at(uintptr_t address)
{
        if (fake_cuda_at_hook)
                return fake_cuda_at_hook(address);
        return fake_cuda_at ? fake_cuda_at(address) : reinterpret_cast<void *>(address);
}

template <typename T> static T cuda_shim_argument(const void *at)
{
        T value;

        memcpy(&value, at, sizeof value);
        if constexpr (std::is_pointer_v<T>)
                value = static_cast<T>(cuda_shim_at(reinterpret_cast<uintptr_t>(value)));
        return value;
}

/* Calls `body` for each place of `size`, which is left at that place. */
template <typename F> static void cuda_shim_places(const cuda_shim_place &size, cuda_shim_place &place, F body)
{
        for (place.z = 0; place.z < size.z; place.z++)
                for (place.y = 0; place.y < size.y; place.y++)
                        for (place.x = 0; place.x < size.x; place.x++)
                                body();
}

template <typename... Args, std::size_t... I>
static void cuda_shim_launch(void (*kernel)(Args...), void *const *args, const unsigned grid[3], const unsigned block[3],
                             std::index_sequence<I...>)
{
        std::tuple<Args...> values(cuda_shim_argument<Args>(args[I])...);

        gridDim = { grid[0], grid[1], grid[2] };
        blockDim = { block[0], block[1], block[2] };
        cuda_shim_places(gridDim, blockIdx, [&] {
                cuda_shim_places(blockDim, threadIdx, [&] { kernel(std::get<I>(values)...); });
        });
}
template <typename... Args>
static void cuda_shim_run(void (*kernel)(Args...), void *const *args, const unsigned grid[3], const unsigned block[3])
{
        cuda_shim_launch(kernel, args, grid, block, std::index_sequence_for<Args...>());
}

#define PW_KERNEL(name)                                                                                                \
        extern "C" __attribute__((visibility("default"))) void name##__fake(                                           \
                void *const *args, const unsigned grid[3], const unsigned block[3])                                    \
        {                                                                                                              \
                cuda_shim_run(name, args, grid, block);                                                                \
        }

#endif
#endif
