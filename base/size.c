/* Sizes and durations as people write them: a number and a unit. */
#include "base/size.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

struct unit {
        const char *name;
        uint64_t scale;
};

/* From the smallest up; the first names are the ones written. */
static const struct unit size_units[] = {
        { "B", 1 },         { "KiB", PW_KIB },       { "MiB", PW_MIB },       { "GiB", PW_GIB },
        { "TiB", PW_GIB << 10 }, { "PiB", PW_GIB << 20 }, { "EiB", PW_GIB << 30 },
};
static const struct unit duration_units[] = {
        { "us", 1 },
        { "ms", 1000 },
        { "s", 1000000 },
        { "min", UINT64_C(60) * 1000000 },
        { "h", UINT64_C(3600) * 1000000 },
        { "d", UINT64_C(86400) * 1000000 },
};
#define DURATION_SHOWN_MAX_US (UINT64_C(99999) * 86400 * 1000000)
#define FRACTION_DIGITS_MAX 9u

struct number {
        uint64_t whole;
        uint64_t fraction, fraction_scale; /* fraction / fraction_scale */
};

/* Digits, perhaps with a fraction. Digits behind the ninth of a fraction are dropped. */
static bool take_number(const char **text, struct number *ret_number)
{
        struct number number = { 0, 0, 1 };
        const char *c = *text;

        for (; *c >= '0' && *c <= '9'; c++)
                if (!pw_mul_ok(number.whole, 10, &number.whole) ||
                    !pw_add_ok(number.whole, (uint64_t)(*c - '0'), &number.whole))
                        return false;
        if (c == *text)
                return false;
        if (*c == '.') {
                const char *point = c++;
                for (; *c >= '0' && *c <= '9'; c++) {
                        if (c - point > (ptrdiff_t)FRACTION_DIGITS_MAX)
                                continue;
                        number.fraction = number.fraction * 10 + (uint64_t)(*c - '0');
                        number.fraction_scale *= 10;
                }
                if (c == point + 1)
                        return false;
        }
        *text = c;
        *ret_number = number;
        return true;
}

static bool scale_number(const struct number *number, uint64_t scale, uint64_t *ret_value)
{
        uint64_t part = (uint64_t)((unsigned __int128)number->fraction * scale / number->fraction_scale);

        return pw_mul_ok(number->whole, scale, ret_value) && pw_add_ok(*ret_value, part, ret_value);
}

/* "K", "KB" and "KiB" are the same, in either case. */
static bool is_size_unit(const char *text, const char *name)
{
        char letter[2] = { name[0], 0 };
        char pair[3] = { name[0], 'B', 0 };

        return !strcasecmp(text, name) || !strcasecmp(text, letter) || !strcasecmp(text, pair);
}

enum pw_status pw_size_parse(const char *text, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        struct number number;
        const char *rest = text;
        uint64_t scale = 0, bytes;

        if (!take_number(&rest, &number))
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is not a size: write one like 64KiB or 1.5GiB", text);
        while (*rest == ' ')
                rest++;
        if (!*rest)
                scale = 1;
        for (size_t i = 0; i < pw_array_count(size_units); i++)
                if (is_size_unit(rest, size_units[i].name))
                        scale = size_units[i].scale;
        if (!scale)
                return pw_error_set(ret_err, PW_INVALID,
                                    "\"%.80s\" is not a size: the units are B, KiB, MiB, GiB, TiB, PiB and EiB", text);
        if (!scale_number(&number, scale, &bytes))
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is not a size: 64 bits are too few for it", text);
        *ret_bytes = bytes;
        return PW_OK;
}

enum pw_status pw_duration_parse(const char *text, uint64_t *ret_us, struct pw_error *ret_err)
{
        struct number number;
        const char *rest = text;
        uint64_t scale = 0, us;

        if (!take_number(&rest, &number))
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is not a duration: write one like 250ms or 3s", text);
        while (*rest == ' ')
                rest++;
        if (!*rest)
                scale = 1000000;
        for (size_t i = 0; i < pw_array_count(duration_units); i++)
                if (!strcmp(rest, duration_units[i].name))
                        scale = duration_units[i].scale;
        if (!scale)
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is not a duration: the units are us, ms, s, min, h and d",
                                    text);
        if (!scale_number(&number, scale, &us))
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is not a duration: 64 bits are too few for it", text);
        *ret_us = us;
        return PW_OK;
}

static uint64_t tenths_of(uint64_t value, uint64_t scale)
{
        return value / scale * 10 + (value % scale * 10 + scale / 2) / scale;
}

/* In the largest unit of which the rounded value has at least one; a tenth where it is not 0. */
static void format_in_units(uint64_t value, const struct unit *units, size_t count, char text[16])
{
        size_t i = 0;

        while (i + 1 < count && value >= units[i + 1].scale)
                i++;
        if (i + 1 < count && tenths_of(value, units[i].scale) * units[i].scale >= units[i + 1].scale * 10)
                i++;
        uint32_t tenths = (uint32_t)tenths_of(value, units[i].scale);
        if (tenths % 10)
                snprintf(text, 16, "%" PRIu32 ".%" PRIu32 " %s", tenths / 10, tenths % 10, units[i].name);
        else
                snprintf(text, 16, "%" PRIu32 " %s", tenths / 10, units[i].name);
}

char *pw_size_format(uint64_t bytes, char text[16])
{
        format_in_units(bytes, size_units, pw_array_count(size_units), text);
        return text;
}

void pw_size_format_two(uint64_t a, uint64_t b, char a_text[24], char b_text[24])
{
        pw_size_format(a, a_text);
        pw_size_format(b, b_text);
        if (a == b || strcmp(a_text, b_text) != 0)
                return;
        snprintf(a_text, 24, "%" PRIu64 " B", a);
        snprintf(b_text, 24, "%" PRIu64 " B", b);
}

char *pw_duration_format(uint64_t us, char text[16])
{
        if (us > DURATION_SHOWN_MAX_US)
                snprintf(text, 16, "forever");
        else
                format_in_units(us, duration_units, pw_array_count(duration_units), text);
        return text;
}
