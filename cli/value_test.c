/* Values on the command line. */
#include "cli/print/output.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static enum pw_status numbers(const char *text, uint64_t items[3], uint32_t *ret_count)
{
        return pw_numbers_parse("--dims", text, items, 3, ret_count, NULL);
}

static void lists_of_numbers(void **state)
{
        static const char *const wrong[] = { "4,", ",4", "4,,4", "-4", "four", "4x", "1,2,3,4", "99999999999999999999" };
        uint64_t items[3];
        uint32_t count;

        (void)state;
        assert_int_equal(numbers("96,65", items, &count), PW_OK);
        assert_int_equal(count, 2);
        assert_int_equal(items[0], 96);
        assert_int_equal(items[1], 65);
        assert_int_equal(numbers("", items, &count), PW_OK);
        assert_int_equal(count, 0);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                if (numbers(wrong[i], items, &count) != PW_INVALID)
                        fail_msg("\"%s\" passed", wrong[i]);
}

static void types(void **state)
{
        struct pw_command_settings settings = { .dtype = "bf16", .dims = "4,4" };
        enum pw_dtype dtype;
        struct pw_dims dims;
        struct pw_error error;

        (void)state;
        assert_int_equal(pw_type_parse(&settings, &dtype, &dims, &error), PW_OK);
        assert_int_equal(dtype, PW_BF16);
        assert_int_equal(dims.rank, 2);
        settings.dtype = "bool";
        assert_int_equal(pw_type_parse(&settings, &dtype, &dims, &error), PW_OK);
        assert_int_equal(dtype, PW_BOOL);
        settings.dtype = "u64";
        assert_int_equal(pw_type_parse(&settings, &dtype, &dims, &error), PW_OK);
        assert_int_equal(dtype, PW_U64);
        settings.dtype = "float";
        assert_int_equal(pw_type_parse(&settings, &dtype, &dims, &error), PW_INVALID);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(lists_of_numbers), cmocka_unit_test(types) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
