/* The text of an id. */
#include "base/id.h"

#include <inttypes.h>
#include <stdio.h>

char *pw_id_format(struct pw_id id, char text[PW_ID_TEXT_BYTES])
{
        snprintf(text, PW_ID_TEXT_BYTES, "h%" PRIu32 ".%" PRIx32 "/%" PRIx32 ".%" PRIx32 ".%" PRIx32, pw_id_host(id), id.epoch,
                 pw_id_segment(id), pw_id_slot(id), id.generation);
        return text;
}

static int digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* One number of at least one digit, at most `max`, and the character `end` behind it. False where the text is not so. */
static bool take_number(const char **text, int base, uint32_t max, char end, uint32_t *ret_number)
{
        const char *c = *text;
        uint64_t number = 0;

        for (; digit(*c) < base; c++) {
                number = number * (unsigned)base + (unsigned)digit(*c);
                if (number > max)
                        return false;
        }
        if (c == *text || *c != end)
                return false;
        *text = c + (end != 0);
        *ret_number = (uint32_t)number;
        return true;
}

enum pw_status pw_id_parse(const char *text, struct pw_id *ret_id, struct pw_error *ret_err)
{
        const char *rest = text ? text + 1 : NULL;
        uint32_t host, epoch, segment, slot, generation;

        if (!text || !ret_id)
                return pw_error_set(ret_err, PW_INVALID, "%s is NULL", text ? "ret_id" : "the text of an id");
        if (*text != 'h' || !take_number(&rest, 10, UINT16_MAX, '.', &host) ||
            !take_number(&rest, 16, UINT32_MAX, '/', &epoch) || !take_number(&rest, 16, PW_SEGMENT_MAX, '.', &segment) ||
            !take_number(&rest, 16, PW_SLOT_MAX, '.', &slot) || !take_number(&rest, 16, UINT32_MAX, 0, &generation))
                return pw_error_set(ret_err, PW_INVALID,
                                    "\"%.80s\" is not an id: it has to look like h0.3/3f2a.7.12, "
                                    "host.epoch/segment.slot.generation", text);
        *ret_id = pw_id_make(host, epoch, segment, slot, generation);
        return PW_OK;
}
