/* Sets of small numbers, a bit each, in words that others may read meanwhile: bits are only added, until all are cleared.
 */
#ifndef PW_BASE_BITS_H
#define PW_BASE_BITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PW_BITS_WORDS(count) (((count) + 63u) / 64u)

static inline bool pw_bits_has(const _Atomic uint64_t *bits, uint32_t i)
{
        uint64_t word = atomic_load((_Atomic uint64_t *)(uintptr_t)&bits[i / 64]);

        return word >> i % 64 & 1;
}
static inline void pw_bits_add(_Atomic uint64_t *bits, uint32_t i) { atomic_fetch_or(&bits[i / 64], UINT64_C(1) << i % 64); }
/* All that are in `more`, of numbers below `count`. */
static inline void pw_bits_join(_Atomic uint64_t *bits, const _Atomic uint64_t *more, uint32_t count)
{
        for (uint32_t i = 0; i < PW_BITS_WORDS(count); i++) {
                uint64_t word = atomic_load((_Atomic uint64_t *)(uintptr_t)&more[i]);
                atomic_fetch_or(&bits[i], word);
        }
}
static inline void pw_bits_clear(_Atomic uint64_t *bits, uint32_t count)
{
        for (uint32_t i = 0; i < PW_BITS_WORDS(count); i++)
                atomic_store_explicit(&bits[i], 0, memory_order_relaxed);
}

#endif
