/* Copies that go around the cache: every byte, none beside them, wherever they lie. */
#include "executor/collective/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIDE 80u
#define BYTES_MAX 400u

static void test_wherever_they_lie(void **state)
{
        static uint8_t from[BYTES_MAX + 2 * SIDE], to[BYTES_MAX + 2 * SIDE], expected[sizeof to];
        (void)state;

        for (size_t i = 0; i < sizeof from; i++)
                from[i] = (uint8_t)(i * 7 + 1);
        for (size_t bytes = 0; bytes <= BYTES_MAX; bytes += bytes < 140 ? 1 : 65)
                for (size_t at = 0; at < 65; at++) {
                        memset(to, 0xee, sizeof to);
                        memset(expected, 0xee, sizeof expected);
                        memcpy(expected + at, from + at % 17, bytes);
                        assert_ptr_equal(pw_stream_copy(to + at, from + at % 17, bytes), to + at);
                        assert_memory_equal(to, expected, sizeof to);
                }
}

static void test_large(void **state)
{
        size_t bytes = 2 * PW_STREAM_BYTES + 12345;
        uint8_t *from = malloc(bytes), *to = calloc(1, bytes);
        (void)state;

        assert_true(from && to);
        for (size_t i = 0; i < bytes; i++)
                from[i] = (uint8_t)(i >> 8 ^ i);
        pw_stream_copy(to, from, bytes);
        assert_true(!memcmp(to, from, bytes));
        free(from);
        free(to);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_wherever_they_lie), cmocka_unit_test(test_large) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
