/* The numbers that the module pw computes with, for its functions and for its kernels.
 */
#ifndef PW_EXECUTOR_NUMBERS_H
#define PW_EXECUTOR_NUMBERS_H

#include "base/half.h"

#include <stdbool.h>

#define SAME(x) (x)
/* X(dtype, name, type in memory, unsigned type of the same size, smallest, largest, what is just beyond) */
#define WHOLE_MAP(X)                                                                                                   \
        X(PW_U8, u8, uint8_t, uint8_t, 0, UINT8_MAX, 0x1p8)                                                            \
        X(PW_U16, u16, uint16_t, uint16_t, 0, UINT16_MAX, 0x1p16)                                                      \
        X(PW_U32, u32, uint32_t, uint32_t, 0, UINT32_MAX, 0x1p32)                                                      \
        X(PW_U64, u64, uint64_t, uint64_t, 0, UINT64_MAX, 0x1p64)                                                      \
        X(PW_I8, i8, int8_t, uint8_t, INT8_MIN, INT8_MAX, 0x1p7)                                                       \
        X(PW_I32, i32, int32_t, uint32_t, INT32_MIN, INT32_MAX, 0x1p31)                                                \
        X(PW_I64, i64, int64_t, uint64_t, INT64_MIN, INT64_MAX, 0x1p63)
/* X(dtype, name, type in memory, type to compute in, from memory, to memory) */
#define FLOAT_MAP(X)                                                                                                   \
        X(PW_F16, f16, uint16_t, float, pw_f16_to_float, pw_f16_from_float)                                            \
        X(PW_BF16, bf16, uint16_t, float, pw_bf16_to_float, pw_bf16_from_float)                                        \
        X(PW_F32, f32, float, float, SAME, SAME)                                                                       \
        X(PW_F64, f64, double, double, SAME, SAME)

/* To whole numbers: what follows the point is cut off, what is beyond the range becomes the end of it, what is no number 0. */
#define DEFINE_WHOLE(number, name, type, bits, smallest, largest, beyond)                                              \
        PW_ANYWHERE type pw_whole_##name(double value)                                                                 \
        {                                                                                                              \
                if (value >= (beyond))                                                                                 \
                        return (largest);                                                                              \
                if (value <= (double)(smallest))                                                                       \
                        return (smallest);                                                                             \
                return value == value ? (type)value : 0;                                                               \
        }
WHOLE_MAP(DEFINE_WHOLE)

/* Whole numbers times a whole number wrap around, as sums do, and lose no digit of 64 bits; times a broken one they are
 * computed in f64. */
#define DEFINE_SCALED(number, name, type, bits, smallest, largest, beyond)                                             \
        PW_ANYWHERE type pw_scaled_##name(type value, double factor)                                                   \
        {                                                                                                              \
                bool is_whole = factor >= -0x1p63 && factor < 0x1p63 && factor == (double)(int64_t)factor;             \
                return is_whole ? (type)(bits)((uint64_t)value * (uint64_t)(int64_t)factor)                            \
                                : pw_whole_##name((double)value * factor);                                             \
        }
WHOLE_MAP(DEFINE_SCALED)
#undef DEFINE_SCALED
#undef DEFINE_WHOLE

#endif
