/* Yields that took long are paid for by time without. */
#include "base/yield.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* Yields whenever that may be, else lets a tenth of a ms go by. Returns how many thousandths of the time went by in yields. */
static uint64_t share(uint64_t begun_ns, uint64_t until_ns, uint64_t took_ns)
{
        struct pw_yield yield = { 0 };
        uint64_t now_ns = begun_ns, spent_ns = 0;

        while (now_ns < until_ns) {
                if (!pw_yield_may(&yield, now_ns)) {
                        now_ns += 100 * US;
                        continue;
                }
                pw_yield_took(&yield, now_ns, now_ns + took_ns);
                now_ns += took_ns;
                spent_ns += took_ns;
        }
        return spent_ns * 1000 / (until_ns - begun_ns);
}

static void test_short_ones_cost_nothing(void **state)
{
        (void)state;
        assert_int_equal(share(0, 1000 * MS, 100 * US), 1000);
        assert_int_equal(share(UINT64_C(1) << 50, (UINT64_C(1) << 50) + 1000 * MS, PW_YIELD_LONG_NS), 1000);
}

static void test_long_ones_have_a_share(void **state)
{
        uint64_t most = 1000 / PW_YIELD_SHARE;

        (void)state;
        for (uint64_t took_ms = 2; took_ms < 40; took_ms += 3) {
                uint64_t spent = share(12345, 100000 * MS, took_ms * MS);

                assert_in_range(spent, most - 3, most + 3);
        }
}

/* A burst is what may go by at once, and comes again with time. */
static void test_now_and_then_one_is_long(void **state)
{
        struct pw_yield yield = { 0 };
        uint64_t now_ns = 7 * MS;

        (void)state;
        for (int i = 0; i < 1000; i++, now_ns += 2 * MS * PW_YIELD_SHARE) {
                assert_true(pw_yield_may(&yield, now_ns));
                pw_yield_took(&yield, now_ns, now_ns + 2 * MS);
        }
        while (pw_yield_may(&yield, now_ns)) {
                pw_yield_took(&yield, now_ns, now_ns + 2 * MS);
                now_ns += 2 * MS;
        }
        assert_true(pw_yield_may(&yield, now_ns + 2 * MS * PW_YIELD_SHARE));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_short_ones_cost_nothing),
                cmocka_unit_test(test_long_ones_have_a_share),
                cmocka_unit_test(test_now_and_then_one_is_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
