/* Ids: parts, text and back. */
#include "base/id.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_parts(void **state)
{
        struct pw_id id = pw_id_make(65535, 5, PW_SEGMENT_MAX, 7, UINT32_MAX);

        (void)state;
        assert_int_equal(pw_id_host(id), 65535);
        assert_int_equal(pw_id_segment(id), PW_SEGMENT_MAX);
        assert_int_equal(pw_id_slot(id), 7);
        assert_int_equal(id.epoch, 5);
        assert_true(id.generation == UINT32_MAX);
}

static void test_text_and_back(void **state)
{
        const struct pw_id ids[] = {
                pw_id_make(0, 3, 0x3f2a, 7, 0x12),
                pw_id_make(0, 0, 0, 0, 0),
                pw_id_make(65535, UINT32_MAX, PW_SEGMENT_MAX, PW_SLOT_MAX, UINT32_MAX),
        };
        char text[PW_ID_TEXT_BYTES];

        (void)state;
        assert_string_equal(pw_id_format(ids[0], text), "h0.3/3f2a.7.12");
        assert_string_equal(pw_id_format(ids[2], text), "h65535.ffffffff/ffffff.ffffff.ffffffff");
        for (size_t i = 0; i < pw_array_count(ids); i++) {
                struct pw_id back;
                assert_int_equal(pw_id_parse(pw_id_format(ids[i], text), &back, NULL), PW_OK);
                assert_true(pw_id_equal(ids[i], back));
        }
}

static void test_bad_text(void **state)
{
        static const char *const bad[] = {
                "",        "h",          "h0",          "0.3/3f2a.7.12",   "h0.3/3f2a.7",       "h0.3/3f2a.7.12 ",
                "h0.3/3f2a.7.12.1",
                "h.3/1.1.1", "h65536.3/1.1.1", "ha.3/1.1.1", "h0.100000000/1.1.1", "h0.1/1000000.1.1", "h0.1/1.1000000.1",
                "h0.1/1.1.100000000", "h0.-1/1.1.1", "h0.0x1/1.1.1", "h 0.1/1.1.1", "h0.1.1.1.1",
                "h99999999999999999999999.1/1.1.1",
        };

        (void)state;
        for (size_t i = 0; i < pw_array_count(bad); i++) {
                struct pw_id id = pw_id_make(1, 2, 3, 4, 5);
                struct pw_error err;
                assert_int_equal(pw_id_parse(bad[i], &id, &err), PW_INVALID);
                assert_int_equal(err.status, PW_INVALID);
                assert_true(pw_id_equal(id, pw_id_make(1, 2, 3, 4, 5)));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parts),
                cmocka_unit_test(test_text_and_back),
                cmocka_unit_test(test_bad_text),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
