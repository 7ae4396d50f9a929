/* Size classes of rooms: eight per doubling, first in steps of a line, from a page up in steps of a page.
 *
 * Class 0 is a line, class 31 a page; the classes of pages 2, 3, ... follow.
 */
#include "base/size.h"

#include "base/memory.h"

#define PAGE_BYTES UINT64_C(4096)
#define PAGE_CLASS 31u

/* The step in which unit number `last` (from 0) lies: 0 to 7 one each, then eight per doubling. */
static uint32_t step_of(uint64_t last)
{
        if (last < 8)
                return (uint32_t)last;
        uint32_t doublings = 60u - (uint32_t)__builtin_clzll(last); /* beyond 8 */
        return doublings * 8 + (uint32_t)(last >> doublings);
}

/* How many units the steps up to and with `step` have. */
static uint64_t units_of(uint32_t step)
{
        if (step < 8)
                return step + 1;
        return (uint64_t)(step % 8 + 9) << (step / 8 - 1);
}

uint32_t pw_size_class(uint64_t bytes)
{
        if (!bytes)
                return 0;
        if (bytes <= PAGE_BYTES)
                return step_of((bytes - 1) / PW_LINE_BYTES);
        uint32_t size_class = PAGE_CLASS + step_of((bytes - 1) / PAGE_BYTES);
        return size_class < PW_CLASS_COUNT ? size_class : PW_CLASS_COUNT;
}

uint64_t pw_class_bytes(uint32_t size_class)
{
        if (size_class <= PAGE_CLASS)
                return units_of(size_class) * PW_LINE_BYTES;
        return units_of(size_class - PAGE_CLASS) * PAGE_BYTES;
}
