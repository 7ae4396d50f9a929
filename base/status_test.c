/* Every row of the tables of statuses and dtypes can be read back as text. */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_status_texts(void **state)
{
        (void)state;
        assert_string_equal(pw_status_text(PW_NO_SPACE), "no space");
        assert_string_equal(pw_status_name(PW_NO_SPACE), "PW_NO_SPACE");
        assert_string_equal(pw_status_name(PW_OK), "PW_OK");
        assert_string_equal(pw_status_text((enum pw_status)9999), "unknown status");
        assert_string_equal(pw_status_name((enum pw_status)9999), "PW_UNKNOWN");
}

static void test_status_numbers(void **state)
{
        (void)state;
        assert_true(pw_status_known(PW_OK));
        assert_true(pw_status_known(84));
        assert_false(pw_status_known(4));
        assert_false(pw_status_known(UINT32_MAX));
}

static void test_dtypes(void **state)
{
        (void)state;
        assert_int_equal(pw_dtype_bytes(PW_OPAQUE), 1);
        assert_int_equal(pw_dtype_bytes(PW_BF16), 2);
        assert_int_equal(pw_dtype_bytes(PW_F64), 8);
        assert_int_equal(pw_dtype_bytes(PW_BOOL), 1);
        assert_int_equal(pw_dtype_bytes(PW_U16), 2);
        assert_int_equal(pw_dtype_bytes(PW_U32), 4);
        assert_int_equal(pw_dtype_bytes(PW_U64), 8);
        assert_int_equal(pw_dtype_bytes((enum pw_dtype)(PW_U64 + 1)), 0);
        assert_string_equal(pw_dtype_text(PW_BOOL), "bool");
        assert_int_equal(pw_dtype_bytes((enum pw_dtype)77), 0);
        assert_string_equal(pw_dtype_text(PW_F32), "f32");
        assert_string_equal(pw_dtype_text((enum pw_dtype)77), "unknown");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_status_texts),
                cmocka_unit_test(test_status_numbers),
                cmocka_unit_test(test_dtypes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
