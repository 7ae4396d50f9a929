/* Messages between cores: what is encoded is decoded, and nothing else is. */
#include "scheduler/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct pw_core_message sent = { .kind = PW_CORE_PREPARED, .status = PW_NO_SPACE, .island = 3, .from = 65535,
                                             .node = 1u << 31,
                                             .run = { 4095, 0xfffffffe, UINT64_C(1) << 63 }, .device = { 2, 0x101 } };

static enum pw_status decode(const uint8_t *bytes, size_t length, struct pw_error *ret_err)
{
        struct pw_core_message message;
        struct pw_error text;

        return pw_core_decode(bytes, length, &message, &text, ret_err);
}

static void test_there_and_back(void **state)
{
        uint8_t bytes[PW_CORE_BYTES_MAX];
        struct pw_core_message message;
        struct pw_error text, err;
        size_t length = pw_core_encode(&sent, "no room", bytes);

        (void)state;
        assert_int_equal(length, 47);
        assert_int_equal(pw_core_decode(bytes, length, &message, &text, &err), PW_OK);
        assert_memory_equal(&message, &sent, sizeof sent);
        assert_int_equal(text.status, PW_NO_SPACE);
        assert_string_equal(text.text, "no room");
        length = pw_core_encode(&sent, NULL, bytes);
        assert_int_equal(pw_core_decode(bytes, length, &message, &text, &err), PW_OK);
        assert_string_equal(text.text, "");
}

/* The same bytes on every host. */
static void test_bytes(void **state)
{
        static const uint8_t want[] = { 1, 0, 2, 0, PW_NO_SPACE, 0, 1, 0, 3, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0x80,
                                        0xff, 0x0f, 0, 0, 0xfe, 0xff, 0xff, 0xff, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0x80, 'x' };
        uint8_t bytes[PW_CORE_BYTES_MAX];

        (void)state;
        assert_int_equal(pw_core_encode(&sent, "x", bytes), sizeof want);
        assert_memory_equal(bytes, want, sizeof want);
}

static void test_long_sentence(void **state)
{
        char sentence[2 * PW_CORE_TEXT_MAX];
        uint8_t bytes[PW_CORE_BYTES_MAX];
        struct pw_core_message message;
        struct pw_error text, err;

        (void)state;
        memset(sentence, 'a', sizeof sentence);
        assert_int_equal(pw_core_encode(&sent, sentence, bytes), PW_CORE_BYTES_MAX);
        assert_int_equal(pw_core_decode(bytes, PW_CORE_BYTES_MAX, &message, &text, &err), PW_OK);
        assert_int_equal(strlen(text.text), PW_CORE_TEXT_MAX);
}

/* Changes one byte, or the length; each is refused with a sentence that says what is wrong. */
static void test_refused(void **state)
{
        static const struct { size_t at; uint8_t byte; const char *say; } wrong[] = {
                { 0, 2, "version 2" }, { 1, 1, "version 257" }, { 2, 0, "kind 0" },
                { 2, PW_CORE_KINDS + 1, "kind 12" }, { 3, 1, "kind 258" },
                { 5, 0xff, "status" }, { 6, 6, "6 bytes of text in 7" }, { 7, 1, "bytes of text" }, { 42, 0, "bytes of text" } };
        uint8_t bytes[PW_CORE_BYTES_MAX];
        size_t length = pw_core_encode(&sent, "no room", bytes);
        struct pw_error err;

        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                uint8_t was = bytes[wrong[i].at];
                bytes[wrong[i].at] = wrong[i].byte;
                assert_int_equal(decode(bytes, length, &err), PW_PROTOCOL);
                assert_non_null(strstr(err.text, wrong[i].say));
                bytes[wrong[i].at] = was;
        }
        for (size_t cut = 0; cut < length; cut++)
                assert_int_equal(decode(bytes, cut, &err), PW_PROTOCOL);
        assert_int_equal(decode(bytes, length + 1, &err), PW_PROTOCOL);
        assert_int_equal(decode(bytes, length, &err), PW_OK);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_bytes),
                                            cmocka_unit_test(test_long_sentence), cmocka_unit_test(test_refused) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
