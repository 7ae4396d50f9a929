/* A hash table from 64-bit keys to pointers. */
#include "base/table.h"

#include "base/memory.h"

/* 2^64 divided by the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). */
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)
#define CAPACITY_MIN 8u
#define CAPACITY_KEPT 64u /* a smaller table does not shrink */
#define CAPACITY_MAX (1u << 31)

/* The cell where `key` would lie if nothing else did: the highest bits of the product. */
static uint32_t home(const struct pw_table *table, uint64_t key)
{
        return (uint32_t)(key * MULTIPLIER >> (__builtin_clzll(table->capacity) + 1));
}

static uint32_t after(const struct pw_table *table, uint32_t i)
{
        return (i + 1) & (table->capacity - 1);
}

/* The cell that holds `key`, or the empty one where it would go. The table has cells, and one of them is empty. */
static struct pw_table_cell *find(const struct pw_table *table, uint64_t key)
{
        uint32_t i = home(table, key);

        while (table->cells[i].value && table->cells[i].key != key)
                i = after(table, i);
        return &table->cells[i];
}

static bool set_capacity(struct pw_table *table, uint32_t capacity)
{
        struct pw_table other = { .capacity = capacity, .count = table->count };

        other.cells = calloc(capacity, sizeof *other.cells);
        if (!other.cells)
                return false;
        for (uint32_t i = 0; i < table->capacity; i++)
                if (table->cells[i].value)
                        *find(&other, table->cells[i].key) = table->cells[i];
        free(table->cells);
        *table = other;
        return true;
}

static bool double_capacity(struct pw_table *table)
{
        return table->capacity < CAPACITY_MAX && set_capacity(table, table->capacity ? table->capacity * 2 : CAPACITY_MIN);
}

void pw_table_done(struct pw_table *table)
{
        free(table->cells);
        *table = (struct pw_table){ 0 };
}

void *pw_table_get(const struct pw_table *table, uint64_t key)
{
        return table->count ? find(table, key)->value : NULL;
}

bool pw_table_prepare(struct pw_table *table)
{
        return table->capacity || double_capacity(table);
}

bool pw_table_put(struct pw_table *table, uint64_t key, void *value)
{
        struct pw_table_cell *cell = table->capacity ? find(table, key) : NULL;

        if (cell && cell->value) {
                cell->value = value;
                return true;
        }
        if (table->count + 1 > table->capacity / 4 * 3) {
                /* Slower, but right, while one cell stays empty. */
                if (!double_capacity(table) && table->count + 2 > table->capacity)
                        return false;
                cell = find(table, key);
        }
        *cell = (struct pw_table_cell){ key, value };
        table->count++;
        return true;
}

void *pw_table_remove(struct pw_table *table, uint64_t key)
{
        struct pw_table_cell *cell = table->count ? find(table, key) : NULL;

        if (!cell || !cell->value)
                return NULL;
        void *value = cell->value;
        uint32_t mask = table->capacity - 1;
        uint32_t hole = (uint32_t)(cell - table->cells);
        /* Whoever lies behind the hole without a gap, and is as far from home as the hole is or farther, moves into it. */
        for (uint32_t i = after(table, hole); table->cells[i].value; i = after(table, i)) {
                uint32_t distance = (i - home(table, table->cells[i].key)) & mask;
                if (distance < ((i - hole) & mask))
                        continue;
                table->cells[hole] = table->cells[i];
                hole = i;
        }
        table->cells[hole] = (struct pw_table_cell){ 0 };
        table->count--;
        if (table->capacity > CAPACITY_KEPT && table->count < table->capacity / 8)
                (void)!set_capacity(table, table->capacity / 2); /* where there is no memory it stays as large */
        return value;
}

void *pw_table_next(const struct pw_table *table, uint32_t *cursor)
{
        while (*cursor < table->capacity) {
                void *value = table->cells[(*cursor)++].value;
                if (value)
                        return value;
        }
        return NULL;
}

uint64_t pw_text_key(const char *text)
{
        uint64_t key = UINT64_C(0xcbf29ce484222325);

        for (; *text; text++)
                key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
        return key;
}
