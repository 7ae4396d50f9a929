/* Sizes, durations and size classes. */
#include "base/memory.h"
#include "base/size.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct reading {
        const char *text;
        uint64_t value;
};

static void test_size_parse(void **state)
{
        static const struct reading good[] = {
                { "0", 0 },           { "512", 512 },          { "64 KiB", 65536 },       { "64k", 65536 },
                { "256M", 256 << 20 }, { "1.5GiB", 3ull << 29 }, { "1 gb", 1 << 30 },     { "3B", 3 },
                { "0.5K", 512 },      { "15EiB", 15ull << 60 }, { "18446744073709551615", UINT64_MAX },
                { "1.0000000000000000000001KiB", 1024 },
        };
        static const char *const bad[] = { "",     "K",     "1Q",   "-1",   "1.",   ".5", "1 K iB", "16EiB", "18446744073709551616",
                                           "0x10", "1e3", " 1", "1KiBs", "1..2" };

        (void)state;
        for (size_t i = 0; i < pw_array_count(good); i++) {
                uint64_t bytes = 99;
                assert_int_equal(pw_size_parse(good[i].text, &bytes, NULL), PW_OK);
                assert_true(bytes == good[i].value);
        }
        for (size_t i = 0; i < pw_array_count(bad); i++) {
                uint64_t bytes = 99;
                assert_int_equal(pw_size_parse(bad[i], &bytes, NULL), PW_INVALID);
                assert_int_equal(bytes, 99);
        }
}

static void test_two_sizes(void **state)
{
        char a[24], b[24];

        (void)state;
        pw_size_format_two(15 * PW_MIB, 1200 * PW_MIB, a, b);
        assert_string_equal(a, "15 MiB");
        assert_string_equal(b, "1.2 GiB");
        pw_size_format_two(15 * PW_MIB + 64, 15 * PW_MIB, a, b);
        assert_string_equal(a, "15728704 B");
        assert_string_equal(b, "15728640 B");
        pw_size_format_two(15 * PW_MIB, 15 * PW_MIB, a, b);
        assert_string_equal(a, b);
        pw_size_format_two(UINT64_MAX, UINT64_MAX - 1, a, b);
        assert_string_equal(a, "18446744073709551615 B");
}

static void test_size_format(void **state)
{
        static const struct reading expected[] = {
                { "0 B", 0 },           { "1023 B", 1023 },        { "1 KiB", 1024 },         { "1.5 KiB", 1536 },
                { "64 KiB", 65536 },    { "983 KiB", 983 * 1024 + 41 }, { "1 MiB", (1 << 20) - 1 }, { "256 MiB", 256 << 20 },
                { "1023.9 KiB", 1048474 }, { "16 EiB", UINT64_MAX }, { "1 EiB", (1ull << 60) - 1 },
        };
        char text[16];

        (void)state;
        for (size_t i = 0; i < pw_array_count(expected); i++) {
                assert_string_equal(pw_size_format(expected[i].value, text), expected[i].text);
                assert_true(strlen(text) <= 10);
        }
}

static void test_durations(void **state)
{
        static const struct reading good[] = {
                { "250ms", 250000 }, { "3s", 3000000 },  { "2min", 120000000 }, { "10us", 10 },
                { "1.5h", 5400000000 }, { "2", 2000000 }, { "2d", 172800000000 }, { "0.5", 500000 },
        };
        static const struct reading formatted[] = {
                { "10 us", 10 },          { "3.2 s", 3200000 }, { "12 ms", 12000 }, { "4 min", 240000000 },
                { "1 s", 999999 },        { "1.5 h", 5400000000 }, { "forever", INT64_MAX }, { "0 us", 0 },
        };
        static const char *const bad[] = { "", "3m", "s", "-1s", "99999999999999d", "3 S" };
        char text[16];
        uint64_t us;

        (void)state;
        for (size_t i = 0; i < pw_array_count(good); i++) {
                assert_int_equal(pw_duration_parse(good[i].text, &us, NULL), PW_OK);
                assert_true(us == good[i].value);
        }
        for (size_t i = 0; i < pw_array_count(formatted); i++)
                assert_string_equal(pw_duration_format(formatted[i].value, text), formatted[i].text);
        for (size_t i = 0; i < pw_array_count(bad); i++)
                assert_int_equal(pw_duration_parse(bad[i], &us, NULL), PW_INVALID);
}

/* Each class is the smallest for what it holds, and no room is more than an eighth larger than needed, or than its step. */
static void test_classes(void **state)
{
        uint64_t before = 0;

        (void)state;
        for (uint32_t size_class = 0; size_class < PW_CLASS_COUNT; size_class++) {
                uint64_t bytes = pw_class_bytes(size_class);
                uint64_t unit = bytes < 32768 ? 64 : 4096;
                assert_true(bytes > before);
                assert_int_equal(bytes % unit, 0);
                assert_true(bytes - before <= pw_max_u64(before / 8, 64));
                assert_int_equal(pw_size_class(bytes), size_class);
                assert_int_equal(pw_size_class(before + 1), size_class);
                before = bytes;
        }
        assert_true(before >= UINT64_C(1) << 60);
        assert_int_equal(pw_size_class(before + 1), PW_CLASS_COUNT);
        assert_int_equal(pw_size_class(UINT64_MAX), PW_CLASS_COUNT);
        assert_int_equal(pw_class_bytes(0), 64);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_size_parse),
                cmocka_unit_test(test_size_format),
                cmocka_unit_test(test_two_sizes),
                cmocka_unit_test(test_durations),
                cmocka_unit_test(test_classes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
