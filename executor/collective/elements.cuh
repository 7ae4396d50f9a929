/* Elements of every dtype, as kernels add, multiply and order them: the bits that this host's processor gives.
 *
 * Whole numbers wrap around. Floats are added and multiplied without joining the two (-fmad=false), 16-bit ones by way of float.
 * A GPU has one NaN for all; a processor of x86-64 keeps that of an operand, the first before the second, and makes a negative one
 * of what has no value.
 */
#ifndef PW_EXECUTOR_ELEMENTS_CUH
#define PW_EXECUTOR_ELEMENTS_CUH

#include "base/half.h"

static __device__ __forceinline__ bool pw_is_nan(float a) { return a != a; }
static __device__ __forceinline__ bool pw_is_nan(double a) { return a != a; }

/* By their bits: what a GPU's own operations make of a NaN is not said. */
static __device__ __forceinline__ double pw_double_from_bits(uint64_t bits)
{
        double value;

        memcpy(&value, &bits, sizeof value);
        return value;
}
static __device__ __forceinline__ float pw_quiet(float a) { return pw_float_from_bits(pw_float_bits(a) | 0x400000u); }
static __device__ __forceinline__ double pw_quiet(double a)
{
        uint64_t bits;

        memcpy(&bits, &a, sizeof bits);
        return pw_double_from_bits(bits | UINT64_C(0x8000000000000));
}
static __device__ __forceinline__ float pw_no_value(float) { return pw_float_from_bits(0xffc00000u); }
static __device__ __forceinline__ double pw_no_value(double) { return pw_double_from_bits(UINT64_C(0xfff8000000000000)); }

/* What was computed of a and b. */
template <typename T> static __device__ __forceinline__ T pw_settled(T value, T a, T b)
{
        if (!pw_is_nan(value))
                return value;
        if (pw_is_nan(a))
                return pw_quiet(a);
        return pw_is_nan(b) ? pw_quiet(b) : pw_no_value(b);
}

/* In at least 32 bits, unsigned: what is narrower would become an int, which does not wrap around. */
#define PW_WHOLE(T)                                                                                                    \
        static __device__ __forceinline__ T pw_added(T a, T b) { return (T)(0u + a + b); }                             \
        static __device__ __forceinline__ T pw_multiplied(T a, T b) { return (T)(1u * a * b); }
PW_WHOLE(uint8_t)
PW_WHOLE(uint16_t)
PW_WHOLE(uint32_t)
PW_WHOLE(uint64_t)
#undef PW_WHOLE

#define PW_BROKEN(T)                                                                                                   \
        static __device__ __forceinline__ T pw_added(T a, T b) { return pw_settled(a + b, a, b); }                     \
        static __device__ __forceinline__ T pw_multiplied(T a, T b) { return pw_settled(a * b, a, b); }
PW_BROKEN(float)
PW_BROKEN(double)
#undef PW_BROKEN

/* A NaN on either side stays. */
template <typename T> static __device__ __forceinline__ T pw_larger(T a, T b) { return a != a || a > b ? a : b; }
template <typename T> static __device__ __forceinline__ T pw_smaller(T a, T b) { return a != a || a < b ? a : b; }

#endif
