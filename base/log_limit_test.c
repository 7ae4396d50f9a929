/* Lines of the log that others cause are bounded, and none goes uncounted. */
#include "base/log_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW_US 5000000u
#define OVER_US (NOW_US + PW_LOG_INTERVAL_US)

static uint32_t passed_of(struct pw_log_limits *limits, uint32_t who, uint32_t lines, uint64_t now_us)
{
        uint32_t passed = 0;

        for (uint32_t i = 0; i < lines; i++)
                passed += pw_log_limits_pass(limits, who, now_us);
        return passed;
}

static void test_burst(void **state)
{
        struct pw_log_limits limits;
        uint32_t who = 0;

        (void)state;
        pw_log_limits_init(&limits);
        assert_int_equal(passed_of(&limits, 1000, PW_LOG_BURST, NOW_US), PW_LOG_BURST);
        assert_true(limits.next_us == UINT64_MAX);
        assert_int_equal(passed_of(&limits, 1000, 7, NOW_US + 9), 0);
        assert_true(limits.next_us == OVER_US);
        assert_int_equal(passed_of(&limits, 1001, 1, NOW_US + 9), 1); /* another one's */
        assert_int_equal(pw_log_limits_over(&limits, OVER_US - 1, &who), 0);
        assert_int_equal(passed_of(&limits, 1000, 1, OVER_US), 0); /* not before the others were told of */
        assert_int_equal(pw_log_limits_over(&limits, OVER_US, &who), 8);
        assert_int_equal(who, 1000);
        assert_int_equal(pw_log_limits_over(&limits, OVER_US, &who), 0);
        assert_true(limits.next_us == UINT64_MAX);
        assert_int_equal(passed_of(&limits, 1000, PW_LOG_BURST + 1, OVER_US), PW_LOG_BURST);
        assert_true(limits.next_us == OVER_US + PW_LOG_INTERVAL_US);
}

/* An interval in which nothing was held back ends by itself. */
static void test_quiet(void **state)
{
        struct pw_log_limits limits;

        (void)state;
        pw_log_limits_init(&limits);
        for (uint64_t now_us = NOW_US; now_us < 10 * OVER_US; now_us += PW_LOG_INTERVAL_US)
                assert_int_equal(passed_of(&limits, 1000, PW_LOG_BURST, now_us), PW_LOG_BURST);
        assert_true(limits.next_us == UINT64_MAX);
}

/* More users than there are places write a bounded number of lines, and all of what they did not is counted. */
static void test_many(void **state)
{
        enum { USERS = 100, LINES = 50 };
        struct pw_log_limits limits;
        uint32_t passed = 0, held_back = 0, more, who, others = 0;

        (void)state;
        pw_log_limits_init(&limits);
        for (uint32_t user = 0; user < USERS; user++)
                passed += passed_of(&limits, 1000 + user, LINES, NOW_US + user);
        assert_int_equal(passed, (PW_LOG_PLACES + 1) * PW_LOG_BURST);
        assert_true(limits.next_us == OVER_US);
        for (uint64_t now_us = OVER_US; limits.next_us != UINT64_MAX; now_us++)
                while ((more = pw_log_limits_over(&limits, now_us, &who))) {
                        held_back += more;
                        others += who == PW_LOG_OTHERS ? more : 0;
                }
        assert_int_equal(passed + held_back, USERS * LINES);
        assert_int_equal(others, (USERS - PW_LOG_PLACES) * LINES - PW_LOG_BURST);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_burst),
                cmocka_unit_test(test_quiet),
                cmocka_unit_test(test_many),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
