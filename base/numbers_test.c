/* Numbers that count up, beside a plain list: some go soon, some stay and have their place asked for again. */
#include "base/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NUMBERS (5u * PW_NUMBERS_PLACES)

static char values[NUMBERS + 1];
static bool there[NUMBERS + 1];
static struct pw_numbers numbers;

static uint32_t random_below(uint32_t limit)
{
        static uint64_t seed = 1;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(seed >> 33) % limit;
}

static void agrees(void)
{
        static bool seen[NUMBERS + 1];
        uint32_t count = 0, keys = 0;
        uint64_t number;
        char *value;

        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i <= NUMBERS; i++) {
                count += there[i];
                assert_ptr_equal(pw_numbers_get(&numbers, i), there[i] ? &values[i] : NULL);
        }
        assert_int_equal(pw_numbers_count(&numbers), count);
        for (uint32_t i = 0; (value = pw_numbers_next(&numbers, &i));) {
                assert_true(there[value - values] && !seen[value - values]);
                seen[value - values] = true;
                count--;
        }
        assert_int_equal(count, 0);
        for (uint32_t i = 0; pw_numbers_next_key(&numbers, &i, &number); keys++)
                assert_true(there[number]);
        assert_int_equal(keys, pw_numbers_count(&numbers));
}

static void test_like_a_list(void **state)
{
        (void)state;
        for (uint32_t number = 1; number <= NUMBERS; number++) {
                assert_true(pw_numbers_put(&numbers, number, &values[number]));
                there[number] = true;
                for (uint32_t n = 0; n < 2; n++) {
                        uint32_t old = 1 + random_below(number);
                        if (!there[old] || !(old % 8)) /* some stay */
                                continue;
                        pw_numbers_remove(&numbers, old);
                        there[old] = false;
                }
                if (number % 97 == 0)
                        agrees();
        }
        assert_true(numbers.others.count && numbers.placed);
        for (uint32_t number = 0; number <= NUMBERS; number++) {
                pw_numbers_remove(&numbers, number); /* one that is not there changes nothing */
                there[number] = false;
        }
        agrees();
        pw_numbers_done(&numbers);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_like_a_list) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
