/* Values by numbers that count up. */
#include "base/numbers.h"

#include <stddef.h>

void pw_numbers_done(struct pw_numbers *numbers)
{
        pw_table_done(&numbers->others);
        *numbers = (struct pw_numbers){ 0 };
}

bool pw_numbers_put(struct pw_numbers *numbers, uint64_t number, void *value)
{
        struct pw_table_cell *place = &numbers->places[number % PW_NUMBERS_PLACES];

        if (place->value)
                return pw_table_put(&numbers->others, number, value);
        *place = (struct pw_table_cell){ number, value };
        numbers->placed++;
        return true;
}

void pw_numbers_remove(struct pw_numbers *numbers, uint64_t number)
{
        struct pw_table_cell *place = &numbers->places[number % PW_NUMBERS_PLACES];

        if (!place->value || place->key != number) {
                pw_table_remove(&numbers->others, number);
                return;
        }
        place->value = NULL;
        numbers->placed--;
}

/* NULL: there are no more in places; the cursor goes on behind them. */
static const struct pw_table_cell *next_placed(const struct pw_numbers *numbers, uint32_t *cursor)
{
        while (*cursor < PW_NUMBERS_PLACES) {
                const struct pw_table_cell *place = &numbers->places[(*cursor)++];

                if (place->value)
                        return place;
        }
        return NULL;
}

void *pw_numbers_next(const struct pw_numbers *numbers, uint32_t *cursor)
{
        const struct pw_table_cell *place = next_placed(numbers, cursor);
        uint32_t at = *cursor - PW_NUMBERS_PLACES;
        void *value;

        if (place)
                return place->value;
        value = pw_table_next(&numbers->others, &at);
        *cursor = PW_NUMBERS_PLACES + at;
        return value;
}

bool pw_numbers_next_key(const struct pw_numbers *numbers, uint32_t *cursor, uint64_t *ret_number)
{
        const struct pw_table_cell *place = next_placed(numbers, cursor);
        uint32_t at = *cursor - PW_NUMBERS_PLACES;
        bool any;

        if (place) {
                *ret_number = place->key;
                return true;
        }
        any = pw_table_next_key(&numbers->others, &at, ret_number);
        *cursor = PW_NUMBERS_PLACES + at;
        return any;
}
