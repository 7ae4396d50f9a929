/* Arithmetic of all dtypes. Floats of 16 and 8 bits are rounded after each operation; whole numbers wrap; of a number and a NaN the
 * number is the larger, and the smaller. */
#include "tests/fake_nccl/fake.h"

#include "base/half.h"

/* Of 8 bits: without a sign, the largest number, and a NaN. An e5m2 is the upper half of an f16. */
#define E4M3_MAX 0x7eu
#define E5M2_MAX 0x7bu
#define F8_NAN 0x7fu

static float e4m3_to_float(uint8_t code)
{
        uint32_t exponent = code >> 3 & 0xfu, mantissa = code & 7u;
        float value = exponent ? (float)(8 + mantissa) * (float)(UINT32_C(1) << (exponent - 1)) : (float)mantissa;

        if ((code & 0x7fu) == F8_NAN)
                return pw_float_from_bits(0x7fc00000u);
        return (code & 0x80u ? -value : value) * 0x1p-9f;
}
static float e5m2_to_float(uint8_t code) { return pw_f16_to_float((uint16_t)(code << 8)); }

/* The nearest code, of two the even one; what is too large becomes the largest. Codes are in the order of what they stand for. */
static uint8_t nearest(float value, float (*decode)(uint8_t code), uint8_t largest)
{
        uint8_t sign = pw_float_bits(value) >> 31 ? 0x80 : 0, best = 0;
        float wanted = pw_float_from_bits(pw_float_bits(value) & 0x7fffffffu);

        if (wanted != wanted)
                return (uint8_t)(sign | F8_NAN);
        if (wanted >= decode(largest))
                return (uint8_t)(sign | largest);
        while (decode((uint8_t)(best + 1)) <= wanted)
                best++;
        if (decode((uint8_t)(best + 1)) - wanted < wanted - decode(best) ||
            (decode((uint8_t)(best + 1)) - wanted == wanted - decode(best) && best % 2))
                best++;
        return (uint8_t)(sign | best);
}
static uint8_t e4m3_from_float(float value) { return nearest(value, e4m3_to_float, E4M3_MAX); }
static uint8_t e5m2_from_float(float value) { return nearest(value, e5m2_to_float, E5M2_MAX); }

#define WHOLE(name, type)                                                                                              \
        static type name(enum pw_nccl_op op, type a, type b)                                                           \
        {                                                                                                              \
                switch (op) {                                                                                          \
                case PW_NCCL_SUM: return (type)((uint64_t)a + (uint64_t)b);                                            \
                case PW_NCCL_PROD: return (type)((uint64_t)a * (uint64_t)b);                                           \
                case PW_NCCL_MAX: return a > b ? a : b;                                                                \
                case PW_NCCL_MIN: return a < b ? a : b;                                                                \
                }                                                                                                      \
                return a;                                                                                              \
        }
#define REAL(name, type)                                                                                               \
        static type name(enum pw_nccl_op op, type a, type b)                                                           \
        {                                                                                                              \
                switch (op) {                                                                                          \
                case PW_NCCL_SUM: return a + b;                                                                        \
                case PW_NCCL_PROD: return a * b;                                                                       \
                case PW_NCCL_MAX: return a > b || b != b ? a : b;                                                      \
                case PW_NCCL_MIN: return a < b || b != b ? a : b;                                                      \
                }                                                                                                      \
                return a;                                                                                              \
        }
WHOLE(of_i64, int64_t)
WHOLE(of_u64, uint64_t)
REAL(of_f32, float)
REAL(of_f64, double)

#define SAME(value) (value)
#define FOLD(name, type, of, to_wide, from_wide)                                                                       \
        static void name(enum pw_nccl_op op, type *to, const type *from, uint64_t count)                               \
        {                                                                                                              \
                for (uint64_t i = 0; i < count; i++)                                                                   \
                        to[i] = (type)from_wide(of(op, to_wide(to[i]), to_wide(from[i])));                             \
        }
FOLD(fold_I8, int8_t, of_i64, SAME, SAME)
FOLD(fold_U8, uint8_t, of_u64, SAME, SAME)
FOLD(fold_I32, int32_t, of_i64, SAME, SAME)
FOLD(fold_U32, uint32_t, of_u64, SAME, SAME)
FOLD(fold_I64, int64_t, of_i64, SAME, SAME)
FOLD(fold_U64, uint64_t, of_u64, SAME, SAME)
FOLD(fold_F16, uint16_t, of_f32, pw_f16_to_float, pw_f16_from_float)
FOLD(fold_F32, float, of_f32, SAME, SAME)
FOLD(fold_F64, double, of_f64, SAME, SAME)
FOLD(fold_BF16, uint16_t, of_f32, pw_bf16_to_float, pw_bf16_from_float)
FOLD(fold_F8_E4M3, uint8_t, of_f32, e4m3_to_float, e4m3_from_float)
FOLD(fold_F8_E5M2, uint8_t, of_f32, e5m2_to_float, e5m2_from_float)

size_t fake_dtype_bytes(enum pw_nccl_dtype dtype)
{
        switch (dtype) {
#define BYTES(name, number, theirs, bytes) case PW_NCCL_##name: return bytes;
                PW_NCCL_DTYPE_MAP(BYTES)
#undef BYTES
        }
        return 0;
}

void fake_reduce(const struct fake_part *part, void *to, const void *from, uint64_t bytes)
{
        switch (part->dtype) {
#define CASE(name, number, theirs, size) case PW_NCCL_##name: fold_##name(part->op, to, from, bytes / size); break;
                PW_NCCL_DTYPE_MAP(CASE)
#undef CASE
        }
}
