/* Ranges of memory and their owners, in one sorted array. */
#include "executor/program/residue.h"

#include <string.h>

void pw_residue_begin(struct pw_residue *residue, uint32_t owner)
{
        residue->count = 1;
        residue->ranges[0] = (struct pw_residue_range){ 0, owner };
}

/* The range that `at` lies in. */
static uint32_t find(const struct pw_residue *residue, uint64_t at)
{
        uint32_t first = 0, end = residue->count;

        while (end - first > 1) {
                uint32_t middle = first + (end - first) / 2;
                if (residue->ranges[middle].from <= at)
                        first = middle;
                else
                        end = middle;
        }
        return first;
}

static uint64_t end_of(const struct pw_residue *residue, uint32_t range)
{
        return range + 1 < residue->count ? residue->ranges[range + 1].from : UINT64_MAX;
}

bool pw_residue_is(const struct pw_residue *residue, uint64_t from, uint64_t bytes, uint32_t owner)
{
        uint32_t range = find(residue, from); /* the next one is another's */

        return !bytes || (residue->ranges[range].owner == owner && bytes <= end_of(residue, range) - from);
}

/* `fresh` take the place of ranges `first` to before `end`. Without place for them nothing is known any more. False: so it is. */
static bool replace(struct pw_residue *residue, uint32_t first, uint32_t end, const struct pw_residue_range *fresh, uint32_t count)
{
        uint32_t rest = residue->count - end;

        if (first + count + rest > PW_RESIDUE_RANGES) {
                pw_residue_begin(residue, PW_RESIDUE_UNKNOWN);
                return false;
        }
        memmove(&residue->ranges[first + count], &residue->ranges[end], rest * sizeof *fresh);
        memcpy(&residue->ranges[first], fresh, count * sizeof *fresh);
        residue->count = first + count + rest;
        return true;
}

void pw_residue_set(struct pw_residue *residue, uint64_t from, uint64_t bytes, uint32_t owner)
{
        uint64_t to = from + bytes;
        struct pw_residue_range fresh[2];
        uint32_t first, end, last, count = 0;

        if (pw_residue_is(residue, from, bytes, owner))
                return;
        first = find(residue, from);
        last = find(residue, to - 1);
        end = last + 1;
        first += residue->ranges[first].from < from; /* what lies before it stays */
        if (!first || residue->ranges[first - 1].owner != owner)
                fresh[count++] = (struct pw_residue_range){ from, owner };
        if (to < end_of(residue, last)) {
                if (residue->ranges[last].owner != owner)
                        fresh[count++] = (struct pw_residue_range){ to, residue->ranges[last].owner };
        } else if (end < residue->count && residue->ranges[end].owner == owner) {
                end++;
        }
        if (!replace(residue, first, end, fresh, count))
                pw_residue_set(residue, from, bytes, owner); /* of which there are few now */
}

void pw_residue_touch(struct pw_residue *residue, uint64_t from, uint64_t bytes, uint32_t owner)
{
        uint64_t to = from + bytes, end;

        for (uint64_t at = from; at < to; at = end) {
                uint32_t range = find(residue, at);
                end = end_of(residue, range) < to ? end_of(residue, range) : to;
                if (residue->ranges[range].owner != owner)
                        pw_residue_set(residue, at, end - at, PW_RESIDUE_UNKNOWN);
        }
}
