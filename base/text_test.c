/* Plain text. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_plain(void **state)
{
        static const char *const plain[] = { "", "digits/step", "größe", "日本", "😀", "a b~!", "\u00a0", "\u2010", "\u2070" };

        (void)state;
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
                char copy[40];

                assert_int_equal(pw_text_plain_length(plain[i]), strlen(plain[i]));
                snprintf(copy, sizeof copy, "%s", plain[i]);
                assert_string_equal(pw_text_make_plain(copy), plain[i]);
        }
}

static void test_not_plain(void **state)
{
        static const struct { const char *text, *made; size_t at; } texts[] = {
                { "a\033]0;x\007b", "a?]0;x?b", 1 },
                { "a\r\nb\t", "a??b?", 1 },
                { "\x7f", "?", 0 },
                { "ab\xc2\x9b" "31m", "ab??31m", 2 },        /* CSI as a character of C1 */
                { "a\x9b" "31m", "a?31m", 1 },               /* and as a byte */
                { "\xc0\x9b", "??", 0 },                     /* overlong ESC */
                { "\xe0\x80\x9b", "???", 0 },
                { "\xed\xa0\x80", "???", 0 },                /* half a surrogate */
                { "\xf4\x90\x80\x80", "????", 0 },           /* beyond Unicode */
                { "x\xe2\x80\xae" "txt", "x???txt", 1 },     /* right to left */
                { "x\xe2\x81\xa6", "x???", 1 },
                { "x\xd8\x9c", "x??", 1 },                   /* of Arabic */
                { "x\xe2\x80\xa8y", "x???y", 1 },            /* a separator of lines */
                { "end\xe2\x80", "end??", 3 },               /* cut off */
                { "\xf8\x88\x80\x80\x80", "?????", 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                char copy[40];

                assert_int_equal(pw_text_plain_length(texts[i].text), texts[i].at);
                snprintf(copy, sizeof copy, "%s", texts[i].text);
                assert_string_equal(pw_text_make_plain(copy), texts[i].made);
        }
}

static void test_format(void **state)
{
        static const struct { const char *text, *made; } texts[] = {
                { "end it, or wait", "end it, or wait" },   /* fits: 15 bytes and the 0 */
                { "end it, or waits", "end it, or..." },
                { "end it, or wait for it", "end it, or..." },
                { "end it; 4411 others", "end it; 4411..." },
                { "end them; otherwise", "end them..." },
                { "otherwiseeverybody", "otherwiseeve..." },
                { "otherwisee\u00f6\u00f6\u00f6x", "otherwisee\u00f6..." },
                { "otherwiseev\u00f6\u00f6\u00f6", "otherwiseev..." },
        };
        char text[16];

        (void)state;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                assert_int_equal(pw_text_format(text, sizeof text, "%s", texts[i].text), strlen(texts[i].made));
                assert_string_equal(text, texts[i].made);
        }
        assert_int_equal(pw_text_format(text, 3, "%s", "abcdef"), 2);
        assert_string_equal(text, "ab");
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain), cmocka_unit_test(test_not_plain),
                                            cmocka_unit_test(test_format) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
