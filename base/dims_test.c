/* Dims: bytes with every way to overflow, equality, text. */
#include "base/memory.h"
#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_bytes(void **state)
{
        uint64_t bytes;

        (void)state;
        assert_int_equal(pw_dims_bytes(PW_F32, &PW_DIMS(96, 65), &bytes, NULL), PW_OK);
        assert_int_equal(bytes, 96 * 65 * 4);
        assert_int_equal(pw_dims_bytes(PW_F64, &PW_SCALAR, &bytes, NULL), PW_OK);
        assert_int_equal(bytes, 8);
        assert_int_equal(pw_dims_bytes(PW_F64, &PW_DIMS(UINT64_MAX, UINT64_MAX, 0), &bytes, NULL), PW_OK);
        assert_int_equal(bytes, 0);
}

static void test_refusals(void **state)
{
        struct pw_dims deep = { .rank = PW_RANK_MAX + 1 };
        struct pw_error err;
        uint64_t bytes = 7;

        (void)state;
        assert_int_equal(pw_dims_bytes(PW_F32, &PW_DIMS(UINT64_C(1) << 62), &bytes, &err), PW_TOO_LARGE);
        assert_string_equal(err.text, "a value of f32 [4611686018427387904] has more bytes than 64 bits can count");
        assert_int_equal(pw_dims_bytes(PW_U8, &PW_DIMS(1 << 22, 1 << 21, 1 << 21), &bytes, &err), PW_TOO_LARGE);
        assert_int_equal(pw_dims_bytes(PW_F32, &PW_DIMS(UINT64_C(1) << 62, 3), &bytes, &err), PW_TOO_LARGE);
        assert_int_equal(pw_dims_bytes(PW_F32, &deep, &bytes, &err), PW_SHAPE);
        assert_int_equal(pw_dims_bytes((enum pw_dtype)99, &PW_SCALAR, &bytes, &err), PW_SHAPE);
        assert_int_equal(bytes, 7);
}

static void test_equal(void **state)
{
        (void)state;
        assert_true(pw_dims_equal(&PW_DIMS(1, 2), &PW_DIMS(1, 2)));
        assert_false(pw_dims_equal(&PW_DIMS(1, 2), &PW_DIMS(1, 3)));
        assert_false(pw_dims_equal(&PW_DIMS(1), &PW_DIMS(1, 0)));
        assert_true(pw_dims_equal(&PW_SCALAR, &PW_SCALAR));
}

static void test_text(void **state)
{
        uint64_t most = UINT64_MAX;
        char text[200], small[6];

        (void)state;
        assert_string_equal(pw_dims_format(&PW_DIMS(96, 65), text, sizeof text), "[96, 65]");
        assert_string_equal(pw_dims_format(&PW_SCALAR, text, sizeof text), "[]");
        assert_string_equal(pw_dims_format(&PW_DIMS(96, 65), small, sizeof small), "[96, ");
        pw_dims_format(&PW_DIMS(most, most, most, most, most, most, most, most), text, sizeof text);
        assert_int_equal(strlen(text), 8 * 20 + 7 * 2 + 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_equal),
                cmocka_unit_test(test_text),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
