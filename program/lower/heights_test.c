/* Heights, against a plain array. */
#include "program/lower/heights.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PLACES 100u

static uint32_t seed = 1;
static uint32_t random_below(uint32_t limit)
{
        seed = seed * 1664525 + 1013904223;
        return (seed >> 8) % limit;
}

static uint64_t highest(const uint64_t *plain, uint32_t first, uint32_t last)
{
        uint64_t height = 0;

        for (uint32_t i = first; i <= last; i++)
                height = pw_max_u64(height, plain[i]);
        return height;
}

static void test_spans(void **state)
{
        uint64_t plain[PLACES] = { 0 };
        struct pw_heights heights;

        (void)state;
        assert_true(pw_heights_init(&heights, PLACES));
        for (uint32_t turn = 0; turn < 5000; turn++) {
                uint32_t first = random_below(PLACES), last = first + random_below(PLACES - first);
                uint64_t height = random_below(1000);
                assert_int_equal(pw_heights_highest(&heights, first, last), highest(plain, first, last));
                if (turn % 16)
                        continue;
                pw_heights_raise(&heights, first, last, height);
                for (uint32_t i = first; i <= last; i++)
                        plain[i] = pw_max_u64(plain[i], height);
        }
        pw_heights_done(&heights);
}

static void test_next(void **state)
{
        uint64_t plain[PLACES] = { 0 };
        struct pw_heights heights;

        (void)state;
        assert_true(pw_heights_init(&heights, PLACES));
        for (uint32_t turn = 0; turn < 2000; turn++) {
                uint32_t place = random_below(PLACES), from = random_below(PLACES), expected;
                uint64_t height = 1 + random_below(1000);
                for (expected = from; expected < PLACES && plain[expected] < height; expected++)
                        ;
                if (expected < PLACES)
                        assert_int_equal(pw_heights_next(&heights, from, height), expected);
                else
                        assert_true(pw_heights_next(&heights, from, height) >= PLACES);
                plain[place] = pw_max_u64(plain[place], height / 2);
                pw_heights_raise(&heights, place, place, height / 2);
        }
        pw_heights_done(&heights);
}

static void test_one_place(void **state)
{
        struct pw_heights heights;

        (void)state;
        assert_true(pw_heights_init(&heights, 1));
        assert_int_equal(pw_heights_next(&heights, 0, 1), 1);
        pw_heights_raise(&heights, 0, 0, 7);
        assert_int_equal(pw_heights_highest(&heights, 0, 0), 7);
        assert_int_equal(pw_heights_next(&heights, 0, 7), 0);
        pw_heights_done(&heights);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_spans),
                cmocka_unit_test(test_next),
                cmocka_unit_test(test_one_place),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
