/* Kernels of the module pw: what its functions do to elements on a GPU, with the bits that pw.c gives; a NaN may be another one. */
#include "pathways_cuda.h"

#include "executor/collective/elements.cuh"
#include "executor/modules/numbers.h"

/* `pattern` is an element, as often as it is in 8 bytes; `to` is aligned to 8. */
extern "C" __global__ void pw_fill(uint64_t *to, uint64_t bytes, uint64_t pattern)
{
        uint64_t words = bytes / 8;

        for (uint64_t i = pw_thread(); i < words; i += pw_thread_count())
                to[i] = pattern;
        for (uint64_t i = words * 8 + pw_thread(); i < bytes; i += pw_thread_count())
                ((uint8_t *)to)[i] = (uint8_t)(pattern >> 8 * (i & 7));
}
PW_KERNEL(pw_fill)

/* to = a + b; `to` may be one of them. */
#define DEFINE_ADD(number, name, type, wide, read, write)                                                              \
        extern "C" __global__ void pw_add_##name(type *to, const type *a, const type *b, uint64_t count)               \
        {                                                                                                              \
                for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())                                      \
                        to[i] = (type)write(pw_added((wide)read(a[i]), (wide)read(b[i])));                             \
        }                                                                                                              \
        PW_KERNEL(pw_add_##name)
#define DEFINE_ADD_WHOLE(number, name, type, bits, smallest, largest, beyond) DEFINE_ADD(number, name, bits, bits, SAME, SAME)
WHOLE_MAP(DEFINE_ADD_WHOLE)
FLOAT_MAP(DEFINE_ADD)

#define DEFINE_SCALE(number, name, type, wide, read, write)                                                            \
        extern "C" __global__ void pw_scale_##name(type *to, const type *from, uint64_t count, wide factor)            \
        {                                                                                                              \
                for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())                                      \
                        to[i] = (type)write(pw_multiplied((wide)read(from[i]), factor));                               \
        }                                                                                                              \
        PW_KERNEL(pw_scale_##name)
#define DEFINE_SCALE_WHOLE(number, name, type, bits, smallest, largest, beyond)                                        \
        extern "C" __global__ void pw_scale_##name(type *to, const type *from, uint64_t count, double factor)          \
        {                                                                                                              \
                for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())                                      \
                        to[i] = pw_scaled_##name(from[i], factor);                                                     \
        }                                                                                                              \
        PW_KERNEL(pw_scale_##name)
WHOLE_MAP(DEFINE_SCALE_WHOLE)
FLOAT_MAP(DEFINE_SCALE)

/* A thread for each element of c (m, n): products are added in the order of k. */
#define DEFINE_MATMUL(name, type)                                                                                      \
        extern "C" __global__ void pw_matmul_##name(type *c, const type *a, const type *b, uint64_t m, uint64_t k, uint64_t n) \
        {                                                                                                              \
                for (uint64_t at = pw_thread(); at < m * n; at += pw_thread_count()) {                                 \
                        uint64_t row = at / n, column = at - row * n;                                                  \
                        type sum = 0;                                                                                  \
                        for (uint64_t i = 0; i < k; i++)                                                               \
                                sum += a[row * k + i] * b[i * n + column];                                             \
                        c[at] = sum;                                                                                   \
                }                                                                                                      \
        }                                                                                                              \
        PW_KERNEL(pw_matmul_##name)
DEFINE_MATMUL(f32, float)
DEFINE_MATMUL(f64, double)

/* Occupies the device for so long. */
extern "C" __global__ void pw_spin(uint64_t nanoseconds)
{
        uint64_t start = pw_nanoseconds();

        while (pw_nanoseconds() - start < nanoseconds)
                ;
}
PW_KERNEL(pw_spin)
