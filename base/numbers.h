/* Values by numbers that count up, as those of runs do: one that came lately is found at its number modulo the places there are,
 * without hashing; who finds its place taken lies in a table. One owner; no locks.
 */
#ifndef PW_BASE_NUMBERS_H
#define PW_BASE_NUMBERS_H

#include "base/table.h"

#define PW_NUMBERS_PLACES 1024u

struct pw_numbers {
        struct pw_table_cell places[PW_NUMBERS_PLACES]; /* value NULL: empty */
        uint32_t placed;       /* of them are not */
        struct pw_table others;
};

/* Zeroed: empty. */
void pw_numbers_done(struct pw_numbers *numbers); /* not the values */
static inline uint32_t pw_numbers_count(const struct pw_numbers *numbers) { return numbers->placed + numbers->others.count; }
static inline void *pw_numbers_get(const struct pw_numbers *numbers, uint64_t number) /* NULL: not there */
{
        const struct pw_table_cell *place = &numbers->places[number % PW_NUMBERS_PLACES];

        if (place->value && place->key == number)
                return place->value;
        return numbers->others.count ? pw_table_get(&numbers->others, number) : (void *)0;
}
/* One that is not there yet; `value` is not NULL. False when out of memory. */
bool pw_numbers_put(struct pw_numbers *numbers, uint64_t number, void *value);
void pw_numbers_remove(struct pw_numbers *numbers, uint64_t number);
/* for (uint32_t i = 0; (v = pw_numbers_next(n, &i));) : each once if they do not change meanwhile, in no order. */
void *pw_numbers_next(const struct pw_numbers *numbers, uint32_t *cursor);
/* The numbers alone. False: there are no more. */
bool pw_numbers_next_key(const struct pw_numbers *numbers, uint32_t *cursor, uint64_t *ret_number);

#endif
