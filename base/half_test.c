/* The 16-bit floats: every one of them there and back, and rounding between neighbours. */
#include "base/half.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static float f16_by_definition(uint16_t half)
{
        int exponent = half >> 10 & 31, mantissa = half & 1023;
        float size = exponent ? ldexpf((float)(1024 + mantissa), exponent - 25) : ldexpf((float)mantissa, -24);

        return half & 0x8000 ? -size : size;
}

static void test_f16_there_and_back(void **state)
{
        (void)state;
        for (uint32_t half = 0; half < 0x10000; half++) {
                float value = pw_f16_to_float((uint16_t)half);
                if ((half & 0x7fff) > 0x7c00) {
                        assert_true(isnan(value));
                        assert_true(isnan(pw_f16_to_float(pw_f16_from_float(value))));
                        continue;
                }
                if ((half & 0x7fff) == 0x7c00)
                        assert_true(isinf(value));
                else
                        assert_true(value == f16_by_definition((uint16_t)half));
                assert_int_equal(pw_f16_from_float(value), half);
        }
}

/* What lies between two neighbours goes to the nearer one, from the middle to the even one. */
static void test_f16_rounding(void **state)
{
        (void)state;
        for (uint16_t half = 0; half < 0x7bff; half++) {
                float low = f16_by_definition(half), high = f16_by_definition((uint16_t)(half + 1));
                float middle = (low + high) / 2;
                assert_int_equal(pw_f16_from_float(middle), half & 1 ? half + 1 : half);
                assert_int_equal(pw_f16_from_float(nextafterf(middle, low)), half);
                assert_int_equal(pw_f16_from_float(nextafterf(middle, high)), half + 1);
                assert_int_equal(pw_f16_from_float(-middle), 0x8000 | (half & 1 ? half + 1 : half));
        }
        assert_int_equal(pw_f16_from_float(65519.9f), 0x7bff);
        assert_int_equal(pw_f16_from_float(65520.0f), 0x7c00);
        assert_int_equal(pw_f16_from_float(1e30f), 0x7c00);
        assert_int_equal(pw_f16_from_float(-INFINITY), 0xfc00);
}

static void test_bf16(void **state)
{
        (void)state;
        for (uint32_t half = 0; half < 0x10000; half++) {
                float value = pw_bf16_to_float((uint16_t)half);
                if (isnan(value))
                        assert_true(isnan(pw_bf16_to_float(pw_bf16_from_float(value))));
                else
                        assert_int_equal(pw_bf16_from_float(value), half);
        }
        assert_int_equal(pw_bf16_from_float(pw_float_from_bits(0x3f808000)), 0x3f80);
        assert_int_equal(pw_bf16_from_float(pw_float_from_bits(0x3f818000)), 0x3f82);
        assert_int_equal(pw_bf16_from_float(pw_float_from_bits(0x3f808001)), 0x3f81);
        assert_int_equal(pw_bf16_from_float(pw_float_from_bits(0x7f7fffff)), 0x7f80);
        assert_true(isnan(pw_bf16_to_float(pw_bf16_from_float(pw_float_from_bits(0x7f800001)))));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_f16_there_and_back),
                cmocka_unit_test(test_f16_rounding),
                cmocka_unit_test(test_bf16),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
