/* Names in shared memory: put, found, removed, crowded; and read by others while they change. */
#include "plane/name.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LONGEST "a-name-of-forty-eight-letters-and-not-one-more--"
#define ROUNDS 200000

static struct pw_name_cell *cells;

static int setup(void **state)
{
        (void)state;
        cells = aligned_alloc(64, PW_NAME_CELLS * sizeof *cells);
        memset(cells, 0, PW_NAME_CELLS * sizeof *cells);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        free(cells);
        return 0;
}

static void assert_found(const char *name, struct pw_cell object)
{
        struct pw_cell found;

        assert_true(pw_names_find(cells, name, &found));
        assert_int_equal(pw_cell_segment(found), pw_cell_segment(object));
        assert_int_equal(pw_cell_slot(found), pw_cell_slot(object));
        assert_int_equal(pw_cell_generation(found), pw_cell_generation(object));
}

static void test_put_and_removed(void **state)
{
        struct pw_cell one = pw_cell_object(0, 0xffffff, 0xabcdef, UINT32_MAX), other = pw_cell_object(0, 3, 4, 5), none;

        (void)state;
        assert_false(pw_names_find(cells, "weights", &none));
        assert_true(pw_names_put(cells, "weights", one));
        assert_true(pw_names_put(cells, LONGEST, other));
        assert_found("weights", one);
        assert_found(LONGEST, other);
        assert_false(pw_names_find(cells, "weight", &none));
        assert_false(pw_names_find(cells, "weights2", &none));
        pw_names_remove(cells, "weight");
        assert_found("weights", one);
        pw_names_remove(cells, "weights");
        assert_false(pw_names_find(cells, "weights", &none));
        assert_true(pw_names_put(cells, "weights", other));
        assert_found("weights", other);
}

static void test_too_long(void **state)
{
        struct pw_cell none;

        (void)state;
        assert_int_equal(strlen(LONGEST), PW_NAME_CELL_LETTERS);
        assert_false(pw_names_put(cells, LONGEST "x", pw_cell_object(0, 1, 2, 3)));
        assert_false(pw_names_find(cells, LONGEST "x", &none));
        assert_false(pw_names_put(cells, "", pw_cell_object(0, 1, 2, 3)));
        pw_names_remove(cells, LONGEST "x");
}

/* Names without end: each is found or was refused, and what goes makes place for others. */
static void test_crowded(void **state)
{
        static bool placed[2 * PW_NAME_CELLS];
        uint32_t count = 0, again = 0;
        char name[32];

        (void)state;
        for (uint32_t i = 0; i < 2 * PW_NAME_CELLS; i++) {
                snprintf(name, sizeof name, "step/%u", i);
                placed[i] = pw_names_put(cells, name, pw_cell_object(0, 1, i, i));
                count += placed[i];
        }
        assert_in_range(count, PW_NAME_CELLS * 9 / 10, PW_NAME_CELLS);
        for (uint32_t i = 0; i < 2 * PW_NAME_CELLS; i++) {
                struct pw_cell found;

                snprintf(name, sizeof name, "step/%u", i);
                if (placed[i])
                        assert_found(name, pw_cell_object(0, 1, i, i));
                else
                        assert_false(pw_names_find(cells, name, &found));
                pw_names_remove(cells, name);
        }
        for (uint32_t i = 0; i < PW_NAME_CELLS / 2; i++) {
                snprintf(name, sizeof name, "again/%u", i);
                again += pw_names_put(cells, name, pw_cell_object(0, 1, i, i));
        }
        assert_in_range(again, PW_NAME_CELLS / 2 * 99 / 100, PW_NAME_CELLS / 2);
}

static _Atomic bool over;

/* What is found has the three numbers of one binding. */
static void *read_names(void *context)
{
        const char *const *names = context;
        struct pw_cell found;
        uintptr_t reads = 0;

        for (uint32_t i = 0; !atomic_load(&over) || !reads; i++) {
                if (!pw_names_find(cells, names[i % 2], &found))
                        continue;
                reads++;
                if (pw_cell_segment(found) != i % 2 + 1 || pw_cell_slot(found) != (pw_cell_generation(found) & 0xffffff))
                        return NULL;
        }
        return (void *)reads;
}

/* Two names of one place, in turn. */
static void test_read_while_they_change(void **state)
{
        static char texts[2][24];
        const char *names[2] = { texts[0], texts[1] };
        struct pw_cell found;
        pthread_t readers[2];

        (void)state;
        snprintf(texts[0], sizeof texts[0], "first");
        for (uint32_t i = 0; i < PW_NAME_WAYS; i++)
                assert_true(pw_names_put(cells, texts[0], pw_cell_object(0, 9, 9, 9)));
        for (uint32_t i = 0;; i++) { /* one that stands where the first does, so there is no place for it */
                snprintf(texts[1], sizeof texts[1], "other%u", i);
                if (!pw_names_put(cells, texts[1], pw_cell_object(0, 9, 9, 9)))
                        break;
        }
        memset(cells, 0, PW_NAME_CELLS * sizeof *cells);
        atomic_store(&over, false);
        for (int i = 0; i < 2; i++)
                assert_int_equal(pthread_create(&readers[i], NULL, read_names, names), 0);
        for (uint32_t i = 1; i < ROUNDS; i++) {
                uint32_t which = i % 2;

                assert_true(pw_names_put(cells, names[which], pw_cell_object(0, which + 1, i, i)));
                pw_names_remove(cells, names[which]);
        }
        assert_true(pw_names_put(cells, names[0], pw_cell_object(0, 1, 7, 7)));
        assert_true(pw_names_find(cells, names[0], &found));
        atomic_store(&over, true);
        for (int i = 0; i < 2; i++) {
                void *reads;

                assert_int_equal(pthread_join(readers[i], &reads), 0);
                assert_non_null(reads);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_put_and_removed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_too_long, setup, teardown),
                cmocka_unit_test_setup_teardown(test_crowded, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_while_they_change, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
