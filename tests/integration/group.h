/* The tests of a program: each has a watchdog, so that one that hangs is a failure with a name; one that is skipped says why; and a
 * program that has skipped them all ends with 77. It takes the place of what cmocka has for it.
 */
#ifndef PW_TESTS_INTEGRATION_GROUP_H
#define PW_TESTS_INTEGRATION_GROUP_H

#include "tests/integration/harness.h"

/* As cmocka_run_group_tests(), without what is for all tests together. PW_WATCHDOG: seconds that each of them may take. */
int it_run_group(const char *name, const struct CMUnitTest *tests, size_t count);
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown) it_run_group(#tests, tests, sizeof(tests) / sizeof *(tests))

/* The share of the processors that others took since the test began, 0 to 1; 1 where it is not known. */
void it_others_begin(void);
double it_others(void);

/* Why this test is about to be skipped: a line that tests/skipped.sh finds again. */
void it_because(const char *format, ...) __attribute__((format(printf, 1, 2)));
void it_skip_at(const char *file, int line);
#undef skip
#define skip() it_skip_at(__FILE__, __LINE__)
#define it_skip(...) (it_because(__VA_ARGS__), skip())

#endif
