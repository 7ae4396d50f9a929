/* The table of names: put, removed, read. */
#include "plane/name.h"

#include "base/hash.h"

#include <string.h>

#define WORDS (PW_NAME_CELL_LETTERS / 8)

/* Which of the cells are a name's, and its letters as they stand there. */
struct key { uint32_t first; uint64_t letters[WORDS]; };

/* False: they are too many. Who may bind names may crowd some cells, and so slow its own tenant. */
static bool make_key(const char *name, struct key *ret_key)
{
        const struct pw_hash_secret no_secret = { { 0 } };
        size_t bytes = strnlen(name, PW_NAME_CELL_LETTERS + 1);

        if (!bytes || bytes > PW_NAME_CELL_LETTERS)
                return false;
        *ret_key = (struct key){ .first = pw_hash(&no_secret, name, bytes) % (PW_NAME_CELLS / PW_NAME_WAYS) * PW_NAME_WAYS };
        memcpy(ret_key->letters, name, bytes);
        return true;
}

static bool has(const struct pw_name_cell *cell, const uint64_t *letters)
{
        for (uint32_t i = 0; i < WORDS; i++)
                if (atomic_load(&cell->letters[i]) != letters[i])
                        return false;
        return true;
}

/* The first of a key's cells that has these letters; PW_NAME_CELLS: none has. */
static uint32_t find(const struct pw_name_cell *cells, const struct key *key, const uint64_t *letters)
{
        for (uint32_t i = key->first; i < key->first + PW_NAME_WAYS; i++)
                if (has(&cells[i], letters))
                        return i;
        return PW_NAME_CELLS;
}

static void change(struct pw_name_cell *cell, const uint64_t *letters, struct pw_cell object)
{
        uint64_t times = atomic_load(&cell->changed) >> 32;

        atomic_store(&cell->changed, (times + 1) << 32);
        for (uint32_t i = 0; i < WORDS; i++)
                atomic_store(&cell->letters[i], letters[i]);
        atomic_store(&cell->place, object.a);
        atomic_store(&cell->changed, (times + 2) << 32 | (uint32_t)object.b);
}

static const uint64_t none[WORDS];

bool pw_names_put(struct pw_name_cell *cells, const char *name, struct pw_cell object)
{
        struct key key;
        uint32_t at = make_key(name, &key) ? find(cells, &key, none) : PW_NAME_CELLS;

        if (at == PW_NAME_CELLS)
                return false;
        change(&cells[at], key.letters, object);
        return true;
}

void pw_names_remove(struct pw_name_cell *cells, const char *name)
{
        struct key key;
        uint32_t at = make_key(name, &key) ? find(cells, &key, key.letters) : PW_NAME_CELLS;

        if (at != PW_NAME_CELLS)
                change(&cells[at], none, (struct pw_cell){ 0 });
}

bool pw_names_find(const struct pw_name_cell *cells, const char *name, struct pw_cell *ret_object)
{
        struct key key;
        uint32_t at = make_key(name, &key) ? find(cells, &key, key.letters) : PW_NAME_CELLS;
        const struct pw_name_cell *cell = &cells[at];
        uint64_t changed;

        if (at == PW_NAME_CELLS)
                return false;
        changed = atomic_load(&cell->changed);
        *ret_object = (struct pw_cell){ atomic_load(&cell->place), (uint32_t)changed };
        return !(changed >> 32 & 1) && has(cell, key.letters) && atomic_load(&cell->changed) == changed;
}
