/* The hash against values of its authors, and of pairs. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Appendix A and the reference code: the key is 00 01 .. 0f, the data 00 01 02 and so on. */
static void test_reference(void **state)
{
        static const struct { size_t bytes; uint64_t hash; } known[] = {
                { 0, UINT64_C(0x726fdb47dd0e0e31) },
                { 1, UINT64_C(0x74f839c593dc67fd) },
                { 8, UINT64_C(0x93f5f5799a932462) },
                { 15, UINT64_C(0xa129ca6149be45e5) },
        };
        const struct pw_hash_secret secret = { { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) } };
        uint8_t data[16];

        (void)state;
        for (uint8_t i = 0; i < sizeof data; i++)
                data[i] = i;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                assert_int_equal(pw_hash(&secret, data, known[i].bytes), known[i].hash);
}

static void test_pairs(void **state)
{
        const struct pw_hash_secret one = { { 1, 2 } }, other = { { 1, 3 } };

        (void)state;
        assert_true(pw_hash_pair(&one, "ab", "c") == pw_hash_pair(&one, "ab", "c"));
        assert_true(pw_hash_pair(&one, "ab", "c") != pw_hash_pair(&one, "a", "bc"));
        assert_true(pw_hash_pair(&one, "", "abc") != pw_hash_pair(&one, "abc", ""));
        assert_true(pw_hash_pair(&one, "ab", "c") != pw_hash_pair(&other, "ab", "c"));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_reference), cmocka_unit_test(test_pairs) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
