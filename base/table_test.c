/* The hash table against a plain array, under many keys that collide; dense handles. */
#include "base/memory.h"
#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEYS 512u
#define STEPS 200000u

/* xorshift64 */
static uint64_t next_random(uint64_t *seed)
{
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return *seed;
}

static void test_empty(void **state)
{
        struct pw_table table = { 0 };
        uint32_t cursor = 0;

        (void)state;
        assert_null(pw_table_get(&table, 0));
        assert_null(pw_table_remove(&table, 0));
        assert_null(pw_table_next(&table, &cursor));
        pw_table_done(&table);
}

static void check_all(const struct pw_table *table, void *const *expected, uint32_t count)
{
        uint32_t cursor = 0, seen = 0;

        assert_int_equal(table->count, count);
        assert_true(table->count <= table->capacity / 4 * 3 || !table->capacity);
        for (uint32_t key = 0; key < KEYS; key++)
                assert_ptr_equal(pw_table_get(table, key), expected[key]);
        while (pw_table_next(table, &cursor))
                seen++;
        assert_int_equal(seen, count);
}

/* Puts and removals at random; the range of keys widens, so that the table is dense at times. */
static void test_against_array(void **state)
{
        struct pw_table table = { 0 };
        void *expected[KEYS] = { 0 };
        char values[KEYS];
        uint64_t seed = 4711;
        uint32_t count = 0;

        (void)state;
        for (uint32_t step = 0; step < STEPS; step++) {
                uint64_t random = next_random(&seed);
                uint32_t key = (uint32_t)(random >> 8) % (1 + step * KEYS / STEPS);
                if (random & 1) {
                        assert_true(pw_table_put(&table, key, &values[random >> 40 & (KEYS - 1)]));
                        count += !expected[key];
                        expected[key] = &values[random >> 40 & (KEYS - 1)];
                } else {
                        assert_ptr_equal(pw_table_remove(&table, key), expected[key]);
                        count -= expected[key] != NULL;
                        expected[key] = NULL;
                }
                if (step % 1000 == 0)
                        check_all(&table, expected, count);
        }
        check_all(&table, expected, count);
        pw_table_done(&table);
}

static void test_text_key(void **state)
{
        (void)state;
        assert_true(pw_text_key("") == UINT64_C(0xcbf29ce484222325));
        assert_true(pw_text_key("a") == UINT64_C(0xaf63dc4c8601ec8c));
        assert_true(pw_text_key("ab") != pw_text_key("ba"));
}

/* A table that many entries passed through is as small as if they had never come. */
static void test_shrinks(void **state)
{
        struct pw_table table = { 0 };
        int value;

        (void)state;
        for (uint64_t key = 1; key <= 10000; key++)
                assert_true(pw_table_put(&table, key, &value));
        for (uint64_t key = 1; key <= 9999; key++)
                assert_ptr_equal(pw_table_remove(&table, key), &value);
        assert_true(table.capacity <= 64);
        assert_ptr_equal(pw_table_get(&table, 10000), &value);
        pw_table_done(&table);
}

#define LARGE 60000u

/* Values are told apart by their address, of one among so many. */
static void change_large(struct pw_table *table, char *values, uint8_t *expected, uint64_t random, bool grow)
{
        uint32_t key = (uint32_t)(random >> 8) % LARGE, moved = table->moved, now = (uint8_t)(random >> 40) % 255 + 1;
        const struct pw_table_cell *old = table->old;

        if (grow == ((random & 3) != 0)) { /* three in four: what makes it grow, or shrink */
                assert_true(pw_table_put(table, key, values + now));
                expected[key] = (uint8_t)now;
        } else {
                assert_ptr_equal(pw_table_remove(table, key), expected[key] ? values + expected[key] : NULL);
                expected[key] = 0;
        }
        assert_true(!old || old != table->old || table->moved - moved <= 16);
        key = (uint32_t)(random >> 20) % LARGE;
        assert_ptr_equal(pw_table_get(table, key), expected[key] ? values + expected[key] : NULL);
}

/* A large one grows and shrinks on its way: what is in it is found meanwhile, replaced, removed, and told of once. */
static void test_changes_in_parts(void **state)
{
        static uint8_t expected[LARGE];
        struct pw_table table = { 0 };
        uint32_t count = 0, seen = 0, told = 0, cursor = 0, on_its_way = 0;
        uint64_t seed = 4711, key;
        char values[256];

        (void)state;
        for (uint32_t step = 0; step < 10 * LARGE; step++) {
                change_large(&table, values, expected, next_random(&seed), step / (2 * LARGE) % 2 == 0);
                on_its_way += table.old && table.moved && table.moved < table.old_capacity;
                if (step % 6007)
                        continue;
                for (count = seen = cursor = 0; pw_table_next(&table, &cursor);)
                        seen++;
                for (told = cursor = 0; pw_table_next_key(&table, &cursor, &key); told++)
                        assert_int_not_equal(expected[key], 0);
                assert_int_equal(told, seen);
                for (uint32_t i = 0; i < LARGE; i++)
                        count += expected[i] != 0;
                assert_int_equal(seen, count);
                assert_int_equal(table.count, count);
        }
        assert_true(on_its_way > 1000);
        for (uint32_t i = 0; i < LARGE; i++)
                pw_table_remove(&table, i);
        assert_int_equal(table.count, 0);
        assert_null(pw_table_next(&table, &(uint32_t){ 0 }));
        pw_table_done(&table);
}

#define MANY 300000u
#define LOOKS 100u
#define RUN_MAX 256u /* cells without a gap, where a table is at most 3/4 full of keys that lie anywhere */

static void fill(struct pw_table *table, uint64_t from, uint64_t step, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                assert_true(pw_table_put(table, from + i * step, table));
}

/* What a key may have to be compared with. */
static uint32_t longest_run(const struct pw_table *table)
{
        uint32_t longest = 0, run = 0;

        for (uint32_t i = 0; i < table->capacity; i++) {
                run = table->cells[i].value ? run + 1 : 0;
                longest = run > longest ? run : longest;
        }
        return longest;
}

static void check_runs(const struct pw_table *table, uint32_t changes)
{
        if (changes % (MANY / LOOKS) == 0)
                assert_in_range(longest_run(table), 0, RUN_MAX);
}

/* In the order of a table of as many keys, or of half of them: the others were there before, or are left. */
static void fill_and_empty_in_order_of(const struct pw_table *order, uint64_t others)
{
        struct pw_table table = { 0 };
        uint32_t changes = 0;
        uint64_t key;

        fill(&table, 2, 2, (uint32_t)others);
        for (uint32_t i = 0; pw_table_next_key(order, &i, &key);) {
                assert_true(pw_table_put(&table, key, &table));
                check_runs(&table, changes++);
        }
        for (uint32_t i = 0; pw_table_next_key(order, &i, &key);) {
                assert_ptr_equal(pw_table_remove(&table, key), &table);
                check_runs(&table, changes++);
        }
        assert_int_equal(table.count, others);
        pw_table_done(&table);
}

static void test_order_of_another(void **state)
{
        (void)state;
        for (uint32_t count = MANY; count >= MANY / 8; count = count / 3 * 2) { /* nearly full, and hardly half */
                struct pw_table order = { 0 };
                fill(&order, 1, 2, count);
                fill_and_empty_in_order_of(&order, 0);
                fill_and_empty_in_order_of(&order, count);
                pw_table_done(&order);
        }
}

/* The one that a cursor comes to goes, time and again: the cell may hold another one then. */
static void test_order_of_its_own(void **state)
{
        struct pw_table table = { 0 };
        uint32_t cursor = 0, changes = 0;
        uint64_t key;

        (void)state;
        fill(&table, 1, 1, MANY);
        while (table.count) {
                if (!pw_table_next_key(&table, &cursor, &key)) {
                        cursor = 0;
                        continue;
                }
                cursor--;
                assert_ptr_equal(pw_table_remove(&table, key), &table);
                check_runs(&table, changes++);
        }
        pw_table_done(&table);
}

static void test_handles(void **state)
{
        struct pw_handles handles = { 0 };
        int items[100];

        (void)state;
        assert_null(pw_handles_get(&handles, 0));
        assert_null(pw_handles_get(&handles, 1));
        for (uint32_t i = 0; i < pw_array_count(items); i++)
                assert_int_equal(pw_handles_add(&handles, &items[i]), i + 1);
        for (uint32_t i = 0; i < pw_array_count(items); i++)
                assert_ptr_equal(pw_handles_get(&handles, i + 1), &items[i]);
        pw_handles_remove(&handles, 7);
        pw_handles_remove(&handles, 9);
        pw_handles_remove(&handles, 9);
        assert_null(pw_handles_get(&handles, 9));
        assert_int_equal(pw_handles_add(&handles, &items[0]), 9);
        assert_int_equal(pw_handles_add(&handles, &items[1]), 7);
        assert_int_equal(pw_handles_add(&handles, &items[2]), 101);
        pw_handles_remove(&handles, 5000);
        pw_handles_done(&handles);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_against_array),
                cmocka_unit_test(test_text_key),
                cmocka_unit_test(test_shrinks),
                cmocka_unit_test(test_changes_in_parts),
                cmocka_unit_test(test_order_of_another),
                cmocka_unit_test(test_order_of_its_own),
                cmocka_unit_test(test_handles),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
