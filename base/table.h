/* A hash table from 64-bit keys to pointers, and dense handles.
 *
 * Open addressing, linear probing, backward-shift deletion, at most 3/4 full, and a large one at least 1/8; keys are mixed with a
 * fixed odd multiplier (Fibonacci hashing). A large one that grows or shrinks moves some cells with each change, so no call takes
 * longer than another by more than that. Iteration is in no order, but in one in which another table may be filled or emptied. One
 * owner; no locks.
 */
#ifndef PW_BASE_TABLE_H
#define PW_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct pw_table_cell { uint64_t key; void *value; };
struct pw_table {
        struct pw_table_cell *cells; /* value NULL: empty */
        uint32_t capacity;           /* 0 or a power of two */
        uint32_t count;
        uint32_t moved, old_capacity;
        struct pw_table_cell *old;   /* cells on their way into `cells`, `moved` of them are there; NULL: none */
};

/* A zeroed struct is an empty table. */
void pw_table_done(struct pw_table *table); /* frees the cells, not the values */
void *pw_table_get(const struct pw_table *table, uint64_t key); /* NULL: not there */
/* Add or replace; `value` is not NULL. False when out of memory, the table is then unchanged. */
bool pw_table_put(struct pw_table *table, uint64_t key, void *value);
/* Cells for a few values, ahead of the first one. False: out of memory. */
bool pw_table_prepare(struct pw_table *table);
void *pw_table_remove(struct pw_table *table, uint64_t key); /* what was there, or NULL */
/* for (uint32_t i = 0; (v = pw_table_next(t, &i));) : each once if the table does not change meanwhile. */
void *pw_table_next(const struct pw_table *table, uint32_t *cursor);
/* The same of keys, whose values are not looked at. False: there are no more. */
bool pw_table_next_key(const struct pw_table *table, uint32_t *cursor, uint64_t *ret_key);

/* A key for a text (FNV-1a, 64 bit); equal texts give equal keys, the caller compares the texts. */
uint64_t pw_text_key(const char *text);

/* Dense handles: small numbers, never 0, that name pointers; a freed number is reused last in, first out. */
struct pw_handles {
        void **items; /* [0] unused */
        uint32_t *free_list;
        uint32_t capacity, free_capacity, free_count, top;
};
void pw_handles_done(struct pw_handles *handles);
uint32_t pw_handles_add(struct pw_handles *handles, void *item); /* 0 when out of memory */
static inline void *pw_handles_get(const struct pw_handles *handles, uint32_t handle)
{
        return handle && handle <= handles->top ? handles->items[handle] : 0;
}
void pw_handles_remove(struct pw_handles *handles, uint32_t handle);

#endif
