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

/* What functions return, and what others write where we read, may be any number. */
static void test_status_told(void **state)
{
        uint32_t of_values = 0, of_calls = 0;

        (void)state;
        for (uint32_t number = 0; number < 300; number++) {
                enum pw_status told = pw_status_told(number), call = pw_status_of_call(number);

                assert_true(told == number || told == PW_FAILED);
                assert_true(call == number || call == PW_SHAPE);
                of_values += told == number;
                of_calls += call == number;
                assert_true(pw_status_of_value(number) == (told == number));
        }
#define COUNT(name, number, text, remedy) +1
        assert_int_equal(of_values, PW_STATUS_MAP(COUNT) - 4);
#undef COUNT
        assert_int_equal(of_calls, PW_BUSY - PW_INVALID + 1);
        assert_int_equal(pw_status_told(PW_OK), PW_FAILED);
        assert_int_equal(pw_status_told(PW_NOT_READY), PW_FAILED);
        assert_int_equal(pw_status_told(PW_DAEMON_GONE), PW_FAILED);
        assert_int_equal(pw_status_told(PW_FORKED), PW_FAILED);
        assert_int_equal(pw_status_of_call(PW_DAEMON_GONE), PW_SHAPE);
        assert_int_equal(pw_status_of_call(PW_NO_SPACE), PW_SHAPE);
        assert_int_equal(pw_status_of_call(PW_FAILED), PW_SHAPE);
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
                cmocka_unit_test(test_status_told),
                cmocka_unit_test(test_dtypes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
