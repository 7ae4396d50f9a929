/* Reductions of the 16-bit floats: the bits that converting one by one gives, whatever the processor can do. */
#include "base/half.h"
#include "base/layout.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT 0x10003u /* every half, and some that fill no vector */

static float reduced(enum pw_op op, float a, float b)
{
        switch (op) {
        case PW_SUM: return a + b;
        case PW_PROD: return a * b;
        case PW_MAX: return isnan(a) || a > b ? a : b;
        default: return isnan(a) || a < b ? a : b;
        }
}

static void reduce_all(enum pw_dtype dtype, enum pw_op op, uint16_t partner)
{
        static uint16_t to[COUNT], from[COUNT];
        const struct pw_box box = { .rank = 1, .size = { COUNT } };

        for (uint32_t i = 0; i < COUNT; i++) {
                to[i] = (uint16_t)i;
                from[i] = (uint16_t)(partner + 7 * i);
        }
        assert_int_equal(pw_box_reduce(to, &box, from, &box, &box, dtype, op), PW_OK);
        for (uint32_t i = 0; i < COUNT; i++) {
                bool is_f16 = dtype == PW_F16;
                float a = is_f16 ? pw_f16_to_float((uint16_t)i) : pw_bf16_to_float((uint16_t)i);
                float b = is_f16 ? pw_f16_to_float(from[i]) : pw_bf16_to_float(from[i]);
                float want = reduced(op, a, b);
                uint16_t bits = is_f16 ? pw_f16_from_float(want) : pw_bf16_from_float(want);

                if (isnan(want) && isnan(is_f16 ? pw_f16_to_float(to[i]) : pw_bf16_to_float(to[i])))
                        continue;
                if (to[i] != bits)
                        fail_msg("%s of %04x and %04x is %04x, not %04x", is_f16 ? "f16" : "bf16", i & 0xffff, from[i], to[i],
                                 bits);
        }
}

static void test_halves(void **state)
{
        static const uint16_t partners[] = { 0, 0x3c00, 0x0001, 0x7bff, 0x8000, 0xfc00, 0x1234 };

        (void)state;
        for (uint32_t p = 0; p < sizeof partners / sizeof partners[0]; p++)
                for (int op = PW_SUM; op <= PW_PROD; op++) {
                        reduce_all(PW_F16, (enum pw_op)op, partners[p]);
                        reduce_all(PW_BF16, (enum pw_op)op, partners[p]);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_halves) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
