/* Size classes of rooms: in steps of a line, eight of them, then eight per doubling. From 32 KiB on these are whole pages. */
#include "base/size.h"

#include "base/memory.h"

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
        uint32_t size_class = bytes ? step_of((bytes - 1) / PW_LINE_BYTES) : 0;

        return size_class < PW_CLASS_COUNT ? size_class : PW_CLASS_COUNT;
}

uint64_t pw_class_bytes(uint32_t size_class)
{
        return units_of(size_class) * PW_LINE_BYTES;
}
