/* Errors: the sentence, its prefix, what does not fit. */
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_set(void **state)
{
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_error_set(&err, PW_NOT_FOUND, "module %s", "digits"), PW_NOT_FOUND);
        assert_int_equal(err.status, PW_NOT_FOUND);
        assert_string_equal(err.text, "module digits");
        assert_int_equal(pw_error_set(NULL, PW_DENIED, "nobody listens"), PW_DENIED);
        assert_int_equal(pw_error_set(NULL, PW_OK, "no error at all"), PW_PROTOCOL);
}

static void test_errno(void **state)
{
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_error_errno(&err, ENOENT, "open %s", "/x"), PW_SYSTEM);
        assert_string_equal(err.text, "open /x: No such file or directory");
        assert_int_equal(pw_error_errno(NULL, ENOENT, "open"), PW_SYSTEM);
}

static void test_prefix(void **state)
{
        struct pw_error err;

        (void)state;
        pw_error_set(&err, PW_INVALID, "\"12Q\" is not a size");
        assert_int_equal(pw_error_prefix(&err, "--%s", "host-memory"), PW_INVALID);
        assert_string_equal(err.text, "--host-memory: \"12Q\" is not a size");
        assert_int_equal(pw_error_prefix(NULL, "x"), PW_SYSTEM);
}

static void test_long_text_is_cut(void **state)
{
        struct pw_error err;
        char text[2000];

        (void)state;
        memset(text, 'x', sizeof text - 1);
        text[sizeof text - 1] = 0;
        pw_error_set(&err, PW_INVALID, "%s", text);
        assert_int_equal(strlen(err.text), sizeof err.text - 1);
        pw_error_prefix(&err, "prefix");
        assert_int_equal(strlen(err.text), sizeof err.text - 1);
        assert_memory_equal(err.text, "prefix: xxx", 11);
}

static void test_argument_may_be_the_text(void **state)
{
        struct pw_error err;

        (void)state;
        pw_error_set(&err, PW_INVALID, "cause");
        pw_error_set(&err, PW_FAILED, "function f: %s", err.text);
        assert_string_equal(err.text, "function f: cause");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_set),
                cmocka_unit_test(test_errno),
                cmocka_unit_test(test_prefix),
                cmocka_unit_test(test_long_text_is_cut),
                cmocka_unit_test(test_argument_may_be_the_text),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
