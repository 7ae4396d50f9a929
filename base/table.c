/* A hash table from 64-bit keys to pointers. */
#include "base/table.h"

#include "base/memory.h"

/* 2^64 divided by the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). */
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)
#define CAPACITY_MIN 8u
#define CAPACITY_KEPT 64u     /* a smaller table does not shrink */
#define CAPACITY_AT_ONCE 4096u /* as long as a few changes of a large one */
#define MOVED_AT_ONCE 16u     /* cells, with each change */
#define CAPACITY_MAX (1u << 31)
#define PASSED_AT_ONCE 64u    /* cells that lie beside each other, in the order of iteration */

/* The cell of `capacity` where `key` would lie if nothing else did: the highest bits of the product. */
static uint32_t home(uint32_t capacity, uint64_t key)
{
        return (uint32_t)(key * MULTIPLIER >> (__builtin_clzll(capacity) + 1));
}

/* The cell that holds `key`, or the empty one where it would go. There are cells, and one of them is empty. */
static struct pw_table_cell *find(struct pw_table_cell *cells, uint32_t capacity, uint64_t key)
{
        uint32_t i = home(capacity, key);

        while (cells[i].value && cells[i].key != key)
                i = (i + 1) & (capacity - 1);
        return &cells[i];
}

/* Its bits from the last to the first. */
static uint32_t reverse(uint32_t i)
{
        i = (i >> 1 & 0x55555555) | (i & 0x55555555) << 1;
        i = (i >> 2 & 0x33333333) | (i & 0x33333333) << 2;
        i = (i >> 4 & 0x0f0f0f0f) | (i & 0x0f0f0f0f) << 4;
        return __builtin_bswap32(i);
}

/* The cell that is passed as number `i`. Those before it, and those behind it, are spread evenly over a large table (van der
 * Corput's sequence). From cell to cell, what is left of another table that is emptied in this order would lie in a part of it that
 * is too small for that where it shrinks, and so would what comes first into one that grows. */
static uint32_t passed(uint32_t capacity, uint32_t i)
{
        uint32_t groups = capacity / PASSED_AT_ONCE;

        if (capacity <= CAPACITY_KEPT)
                return i;
        return (reverse(i / PASSED_AT_ONCE) >> (__builtin_clz(groups) + 1)) * PASSED_AT_ONCE + i % PASSED_AT_ONCE;
}

/* The same where number `i` - 1 is the cell `before`. */
static uint32_t passed_next(uint32_t capacity, uint32_t i, uint32_t before)
{
        return i % PASSED_AT_ONCE ? before + 1 : passed(capacity, i);
}

/* --- growing and shrinking: a cell of `old` whose value has moved, or was removed, says `old` in its place ------------------- */

static bool is_there(const struct pw_table *table, const struct pw_table_cell *old)
{
        return old->value && old->value != table->old;
}

static void *find_old(const struct pw_table *table, uint64_t key, struct pw_table_cell **ret_cell)
{
        struct pw_table_cell *cell = table->old ? find(table->old, table->old_capacity, key) : NULL;

        *ret_cell = cell;
        return cell && is_there(table, cell) ? cell->value : NULL;
}

static void move_some(struct pw_table *table, uint32_t cells)
{
        uint32_t at = passed(table->old_capacity, table->moved);

        for (; table->old && cells && table->moved < table->old_capacity; cells--) {
                struct pw_table_cell *cell = &table->old[at];

                at = passed_next(table->old_capacity, ++table->moved, at);
                if (!is_there(table, cell))
                        continue;
                *find(table->cells, table->capacity, cell->key) = *cell;
                cell->value = table->old;
        }
        if (!table->old || table->moved < table->old_capacity)
                return;
        free(table->old);
        table->old = NULL;
}

/* A small table changes at once; a large one is through long before it changes again. */
static bool set_capacity(struct pw_table *table, uint32_t capacity)
{
        struct pw_table_cell *cells = calloc(capacity, sizeof *cells);

        if (!cells)
                return false;
        move_some(table, UINT32_MAX);
        table->old = table->cells;
        table->old_capacity = table->capacity;
        table->moved = 0;
        table->cells = cells;
        table->capacity = capacity;
        move_some(table, table->old_capacity <= CAPACITY_AT_ONCE ? UINT32_MAX : 0);
        return true;
}

static bool double_capacity(struct pw_table *table)
{
        return table->capacity < CAPACITY_MAX && set_capacity(table, table->capacity ? table->capacity * 2 : CAPACITY_MIN);
}

/* --- what callers ask --------------------------------------------------------------------------------------------------------- */

void pw_table_done(struct pw_table *table)
{
        free(table->cells);
        free(table->old);
        *table = (struct pw_table){ 0 };
}

void *pw_table_get(const struct pw_table *table, uint64_t key)
{
        void *value = table->count ? find(table->cells, table->capacity, key)->value : NULL;
        struct pw_table_cell *old;

        return value || !table->old ? value : find_old(table, key, &old);
}

bool pw_table_prepare(struct pw_table *table)
{
        return table->capacity || double_capacity(table);
}

bool pw_table_put(struct pw_table *table, uint64_t key, void *value)
{
        struct pw_table_cell *cell = table->capacity ? find(table->cells, table->capacity, key) : NULL, *old;

        if (cell && !cell->value && find_old(table, key, &old))
                cell = old;
        if (cell && cell->value) {
                cell->value = value;
                return true;
        }
        if (table->count + 1 > table->capacity / 4 * 3) {
                /* Slower, but right, while one cell stays empty. */
                if (!double_capacity(table) && table->count + 2 > table->capacity)
                        return false;
                cell = find(table->cells, table->capacity, key);
        }
        *cell = (struct pw_table_cell){ key, value };
        table->count++;
        if (table->old)
                move_some(table, MOVED_AT_ONCE);
        return true;
}

/* Whoever lies behind the hole without a gap, and is as far from home as the hole is or farther, moves into it. */
static void close_hole(struct pw_table *table, uint32_t hole)
{
        uint32_t mask = table->capacity - 1;

        for (uint32_t i = (hole + 1) & mask; table->cells[i].value; i = (i + 1) & mask) {
                uint32_t distance = (i - home(table->capacity, table->cells[i].key)) & mask;
                if (distance < ((i - hole) & mask))
                        continue;
                table->cells[hole] = table->cells[i];
                hole = i;
        }
        table->cells[hole] = (struct pw_table_cell){ 0 };
}

void *pw_table_remove(struct pw_table *table, uint64_t key)
{
        struct pw_table_cell *cell = table->count ? find(table->cells, table->capacity, key) : NULL, *old;
        void *value = cell ? cell->value : NULL;

        if (value)
                close_hole(table, (uint32_t)(cell - table->cells));
        else if ((value = find_old(table, key, &old)))
                old->value = table->old;
        else
                return NULL;
        table->count--;
        if (table->old)
                move_some(table, MOVED_AT_ONCE);
        if (!table->old && table->capacity > CAPACITY_KEPT && table->count < table->capacity / 8)
                (void)!set_capacity(table, table->capacity / 2); /* where there is no memory it stays as large */
        return value;
}

static const struct pw_table_cell *next_cell(const struct pw_table *table, uint32_t *cursor)
{
        uint32_t i = *cursor, all = table->capacity + (table->old ? table->old_capacity : 0), at;

        for (at = passed(table->capacity, i); i < table->capacity; at = passed_next(table->capacity, i, at)) {
                const struct pw_table_cell *cell = &table->cells[at];
                *cursor = ++i;
                if (cell->value)
                        return cell;
        }
        for (at = passed(table->old_capacity, i - table->capacity); i < all;
             at = passed_next(table->old_capacity, i - table->capacity, at)) {
                const struct pw_table_cell *cell = &table->old[at];
                *cursor = ++i;
                if (is_there(table, cell))
                        return cell;
        }
        return NULL;
}

void *pw_table_next(const struct pw_table *table, uint32_t *cursor)
{
        const struct pw_table_cell *cell = next_cell(table, cursor);

        return cell ? cell->value : NULL;
}

bool pw_table_next_key(const struct pw_table *table, uint32_t *cursor, uint64_t *ret_key)
{
        const struct pw_table_cell *cell = next_cell(table, cursor);

        if (cell)
                *ret_key = cell->key;
        return cell;
}

uint64_t pw_text_key(const char *text)
{
        uint64_t key = UINT64_C(0xcbf29ce484222325);

        for (; *text; text++)
                key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
        return key;
}
