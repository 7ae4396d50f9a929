/* The 16-bit floats, f16 (IEEE 754 binary16) and bf16, to and from float.
 *
 * To 16 bits they round to nearest, ties to even; what is too large becomes infinite, a NaN stays one.
 */
#ifndef PW_BASE_HALF_H
#define PW_BASE_HALF_H

#include "base/anywhere.h"

#include <stdint.h>
#include <string.h>

PW_ANYWHERE uint32_t pw_float_bits(float value)
{
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
}
PW_ANYWHERE float pw_float_from_bits(uint32_t bits)
{
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
}

PW_ANYWHERE float pw_bf16_to_float(uint16_t half) { return pw_float_from_bits((uint32_t)half << 16); }
PW_ANYWHERE uint16_t pw_bf16_from_float(float value)
{
        uint32_t bits = pw_float_bits(value);

        if ((bits & 0x7fffffffu) > 0x7f800000u)
                return (uint16_t)(bits >> 16 | 0x40); /* a quiet NaN */
        return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

PW_ANYWHERE float pw_f16_to_float(uint16_t half)
{
        uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;

        if (rest >= 0x7c00u) /* infinite or NaN */
                return pw_float_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
        /* Shifted into place the exponent is 112 too small, for subnormal numbers too: a product mends both. */
        return pw_float_from_bits(sign | pw_float_bits(pw_float_from_bits(rest << 13) * 0x1p112f));
}

PW_ANYWHERE uint16_t pw_f16_from_float(float value)
{
        uint32_t bits = pw_float_bits(value);
        uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;

        if (rest > 0x7f800000u)
                return (uint16_t)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
        if (rest >= 0x47800000u) /* 65536 and more */
                return (uint16_t)(sign | 0x7c00u);
        if (rest < 0x38800000u) /* below 2^-14: adding 1/2 leaves the rounded subnormal in the lowest bits */
                return (uint16_t)(sign | (pw_float_bits(pw_float_from_bits(rest) + 0.5f) - 0x3f000000u));
        rest += 0xc8000fffu + (rest >> 13 & 1); /* exponent less 112, and half a unit */
        return (uint16_t)(sign | rest >> 13);
}

#endif
