/* Arrays that grow. */
#include "base/memory.h"

bool pw_grow_ahead(void **items, uint32_t *capacity, uint32_t count, size_t item_bytes)
{
        if (count < *capacity / 2)
                return true;
        (void)!pw_grow(items, capacity, *capacity + 1, item_bytes);
        return count < *capacity;
}

bool pw_grow(void **items, uint32_t *capacity, uint32_t need, size_t item_bytes)
{
        uint64_t grown = pw_min_u64(pw_max_u64(pw_max_u64((uint64_t)*capacity * 2, need), 8), UINT32_MAX);
        uint64_t bytes;

        if (need <= *capacity)
                return true;
        char *moved = pw_mul_ok(grown, item_bytes, &bytes) ? realloc(*items, bytes) : NULL;
        if (!moved)
                return false;
        memset(moved + *capacity * item_bytes, 0, (grown - *capacity) * item_bytes);
        *items = moved;
        *capacity = (uint32_t)grown;
        return true;
}
