/* Plain text. */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The character at `text`, and how many bytes it has; 0: no character of UTF-8. Overlong forms and surrogates are none. */
static size_t decode(const unsigned char *text, uint32_t *ret_character)
{
        static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
        size_t bytes = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
        uint32_t character = bytes <= 1 ? text[0] : text[0] & (0x7fu >> bytes);

        for (size_t i = 1; i < bytes; i++) {
                if (text[i] >> 6 != 2) /* the end, too */
                        return 0;
                character = character << 6 | (text[i] & 0x3f);
        }
        *ret_character = character;
        return bytes && character >= lowest[bytes] && character <= 0x10ffff && character >> 11 != 0x1b ? bytes : 0;
}

static bool is_plain(uint32_t character)
{
        if (character < ' ' || (character >= 0x7f && character < 0xa0))
                return false;
        if (character == 0x61c)
                return false;
        if (character < 0x200e || character > 0x2069)
                return true;
        return !(character <= 0x200f || (character >= 0x2028 && character <= 0x202e) || character >= 0x2066);
}

size_t pw_text_plain_length(const char *text)
{
        const unsigned char *at = (const unsigned char *)text;
        uint32_t character;
        size_t bytes;

        for (; *at; at += bytes) {
                bytes = decode(at, &character);
                if (!bytes || !is_plain(character))
                        break;
        }
        return (size_t)(at - (const unsigned char *)text);
}

char *pw_text_make_plain(char *text)
{
        for (char *at = text; *(at += pw_text_plain_length(at)); at++)
                *at = '?';
        return text;
}

/* Where the last word begins that may have lost its end; one that takes more than half of the text: where its last character
 * does. */
static size_t whole_words(const char *text, size_t length)
{
        size_t end = length;

        while (end > length / 2 && text[end] != ' ')
                end--;
        if (text[end] != ' ')
                for (end = length; end && ((unsigned char)text[end] & 0xc0) == 0x80;)
                        end--;
        while (end && (text[end - 1] == ' ' || text[end - 1] == ',' || text[end - 1] == ';' || text[end - 1] == ':'))
                end--;
        return end;
}

size_t pw_text_formatv(char *text, size_t text_bytes, const char *format, va_list args)
{
        static const char more[] = "...";
        int wanted = vsnprintf(text, text_bytes, format, args);
        size_t end;

        if (wanted < 0 || (size_t)wanted < text_bytes)
                return wanted < 0 ? 0 : (size_t)wanted;
        if (text_bytes <= sizeof more)
                return strlen(text);
        end = whole_words(text, text_bytes - sizeof more);
        memcpy(text + end, more, sizeof more);
        return end + sizeof more - 1;
}

size_t pw_text_format(char *text, size_t text_bytes, const char *format, ...)
{
        va_list args;
        size_t length;

        va_start(args, format);
        length = pw_text_formatv(text, text_bytes, format, args);
        va_end(args);
        return length;
}
