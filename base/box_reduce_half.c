/* Rows of f16 and bf16, eight at a time: to float, reduced, rounded to nearest even; the same bits as base/half.h
 * gives one by one. */
#include "base/box_reduce_half.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>

#define AVX2_F16C __attribute__((target("avx2,f16c")))

static bool has_conversions(void)
{
        unsigned a, b, c = 0, d;

        return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

/* A NaN on either side stays, of equals the second: as in box_reduce.c. */
AVX2_F16C static inline __m256 first_if(__m256 a, __m256 b, __m256 beyond)
{
        return _mm256_blendv_ps(b, a, _mm256_or_ps(_mm256_cmp_ps(a, a, _CMP_UNORD_Q), beyond));
}

AVX2_F16C static inline __m256 reduce(enum pw_op op, __m256 a, __m256 b)
{
        switch (op) {
        case PW_SUM: return _mm256_add_ps(a, b);
        case PW_PROD: return _mm256_mul_ps(a, b);
        case PW_MAX: return first_if(a, b, _mm256_cmp_ps(a, b, _CMP_GT_OQ));
        default: return first_if(a, b, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
        }
}

AVX2_F16C static inline __m256 f16_read(__m128i halves) { return _mm256_cvtph_ps(halves); }
AVX2_F16C static inline __m128i f16_write(__m256 value)
{
        return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

AVX2_F16C static inline __m256 bf16_read(__m128i halves)
{
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

/* As pw_bf16_from_float(). */
AVX2_F16C static inline __m128i bf16_write(__m256 value)
{
        __m256i bits = _mm256_castps_si256(value), high = _mm256_srli_epi32(bits, 16);
        __m256i half = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), _mm256_and_si256(high, _mm256_set1_epi32(1)));
        __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16),
                quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
        __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
        __m256i out = _mm256_blendv_epi8(rounded, quiet, nan);

        return _mm_packus_epi32(_mm256_castsi256_si128(out), _mm256_extracti128_si256(out, 1));
}

#define DEFINE_ROWS(dtype, op)                                                                                         \
        AVX2_F16C static void dtype##_##op(uint16_t *to, const uint16_t *from, uint64_t count)                         \
        {                                                                                                              \
                for (uint64_t i = 0; i < count; i += 8) {                                                              \
                        __m256 a = dtype##_read(_mm_loadu_si128((const __m128i *)(const void *)(to + i)));             \
                        __m256 b = dtype##_read(_mm_loadu_si128((const __m128i *)(const void *)(from + i)));           \
                        _mm_storeu_si128((__m128i *)(void *)(to + i), dtype##_write(reduce(op, a, b)));                \
                }                                                                                                      \
        }

#define DEFINE_REDUCE(dtype)                                                                                           \
        DEFINE_ROWS(dtype, PW_SUM)                                                                                     \
        DEFINE_ROWS(dtype, PW_MAX)                                                                                     \
        DEFINE_ROWS(dtype, PW_MIN)                                                                                     \
        DEFINE_ROWS(dtype, PW_PROD)                                                                                    \
        uint64_t pw_##dtype##_reduce(enum pw_op op, uint16_t *to, const uint16_t *from, uint64_t count)                \
        {                                                                                                              \
                static void (*const rows[])(uint16_t *, const uint16_t *, uint64_t) = {                                \
                        [PW_SUM] = dtype##_PW_SUM, [PW_MAX] = dtype##_PW_MAX, [PW_MIN] = dtype##_PW_MIN,               \
                        [PW_PROD] = dtype##_PW_PROD,                                                                   \
                };                                                                                                     \
                uint64_t whole = count & ~UINT64_C(7);                                                                 \
                                                                                                                       \
                if (!whole || !has_conversions())                                                                      \
                        return 0;                                                                                      \
                rows[op](to, from, whole);                                                                             \
                return whole;                                                                                          \
        }
#else
#define DEFINE_REDUCE(dtype)                                                                                           \
        uint64_t pw_##dtype##_reduce(enum pw_op op, uint16_t *to, const uint16_t *from, uint64_t count)                \
        {                                                                                                              \
                (void)op;                                                                                              \
                (void)to;                                                                                              \
                (void)from;                                                                                            \
                (void)count;                                                                                           \
                return 0;                                                                                              \
        }
#endif

DEFINE_REDUCE(f16)
DEFINE_REDUCE(bf16)
