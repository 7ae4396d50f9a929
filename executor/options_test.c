/* The options of a device. */
#include "executor/attach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_all_keys(void **state)
{
        struct pw_device_options options;
        struct pw_error err;
        (void)state;

        assert_int_equal(
                pw_device_options_parse("capacity=268435456\nkind=emulated\nlaunch_delay_us=12\nlater=1\nlibrary=/a b/c\n"
                                        "copy_bandwidth=1000000",
                                        &options, &err),
                PW_OK);
        assert_string_equal(options.kind, "emulated");
        assert_int_equal(options.params.capacity_bytes, 268435456);
        assert_string_equal(options.params.library, "/a b/c");
        assert_int_equal(options.params.launch_delay_us, 12);
        assert_int_equal(options.params.copy_bandwidth, 1000000);
}

static void test_what_cannot_be(void **state)
{
        static const char *const texts[] = { "", "capacity=1", "kind=cpu\ncapacity=", "kind=cpu\ncapacity=1x",
                                             "kind=cpu\nlaunch_delay_us=x" };
        struct pw_device_options options;
        struct pw_error err;
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(texts); i++)
                assert_int_equal(pw_device_options_parse(texts[i], &options, &err), PW_PROTOCOL);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_keys), cmocka_unit_test(test_what_cannot_be) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
