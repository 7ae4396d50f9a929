/* Memory of a scope, checked sizes and the small macros that everyone uses.
 */
#ifndef PW_BASE_MEMORY_H
#define PW_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PW_LINE_BYTES 64u
#define pw_array_count(a) (sizeof(a) / sizeof((a)[0]))
#define pw_container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static inline void pw_free_ptr(void *p) { free(*(void **)p); }
static inline void pw_close_fd(int *fd) { if (*fd >= 0) close(*fd); }
#define pw_auto_free __attribute__((cleanup(pw_free_ptr)))
#define pw_auto_close __attribute__((cleanup(pw_close_fd)))

/* False on overflow; *ret_result is written only on success. */
static inline bool pw_add_ok(uint64_t a, uint64_t b, uint64_t *ret_result)
{
        uint64_t sum;
        if (__builtin_add_overflow(a, b, &sum))
                return false;
        *ret_result = sum;
        return true;
}
static inline bool pw_mul_ok(uint64_t a, uint64_t b, uint64_t *ret_result)
{
        uint64_t product;
        if (__builtin_mul_overflow(a, b, &product))
                return false;
        *ret_result = product;
        return true;
}
/* `align` is a power of two; the caller knows that value + align does not overflow. */
static inline uint64_t pw_round_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }
static inline uint64_t pw_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t pw_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Zeroed array of `count` items that grows in `*items`; false when out of memory, *items then unchanged. New items are
 * zeroed. *capacity is in items. */
bool pw_grow(void **items, uint32_t *capacity, uint32_t need, size_t item_bytes);
/* Place for one item behind `count`, for queues that must not fail: grows while half is still free, so that a refused
 * allocation does no harm and is tried again at the next item. False: full, and out of memory. */
bool pw_grow_ahead(void **items, uint32_t *capacity, uint32_t count, size_t item_bytes);

#endif
