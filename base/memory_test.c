/* Checked sums, arrays that grow, lists. */
#include "base/list.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_checked_arithmetic(void **state)
{
        uint64_t result = 7;

        (void)state;
        assert_false(pw_add_ok(UINT64_MAX, 1, &result));
        assert_false(pw_mul_ok(UINT64_MAX / 2 + 1, 2, &result));
        assert_int_equal(result, 7);
        assert_true(pw_add_ok(UINT64_MAX - 1, 1, &result));
        assert_true(result == UINT64_MAX);
        assert_true(pw_mul_ok(0, UINT64_MAX, &result));
        assert_int_equal(result, 0);
        assert_int_equal(pw_round_up(65, 64), 128);
        assert_int_equal(pw_round_up(128, 64), 128);
}

static void test_grow(void **state)
{
        uint32_t *items = NULL, capacity = 0;

        (void)state;
        assert_true(pw_grow((void **)&items, &capacity, 3, sizeof *items));
        assert_true(capacity >= 3);
        for (uint32_t i = 0; i < capacity; i++)
                items[i] = i + 1;
        uint32_t before = capacity;
        assert_true(pw_grow((void **)&items, &capacity, before + 1, sizeof *items));
        assert_true(capacity > before);
        for (uint32_t i = 0; i < capacity; i++)
                assert_int_equal(items[i], i < before ? i + 1 : 0);
        before = capacity;
        assert_true(pw_grow((void **)&items, &capacity, before, sizeof *items));
        assert_int_equal(capacity, before);
        free(items);
}

static void test_grow_without_memory(void **state)
{
        void *items = NULL;
        uint32_t capacity = 0;

        (void)state;
        assert_false(pw_grow(&items, &capacity, UINT32_MAX, SIZE_MAX / 2));
        assert_null(items);
        assert_int_equal(capacity, 0);
}

struct item {
        int number;
        struct pw_list link;
};

static void test_list(void **state)
{
        struct item items[4] = { { .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 } };
        struct pw_list head;
        struct item *item;
        int sum = 0;

        (void)state;
        pw_list_init(&head);
        assert_true(pw_list_empty(&head));
        for (size_t i = 0; i < pw_array_count(items); i++)
                pw_list_append(&head, &items[i].link);
        assert_ptr_equal(pw_list_first(&head, struct item, link), &items[0]);
        pw_list_each(&head, item, struct item, link) {
                if (item->number % 2)
                        pw_list_remove(&item->link);
                else
                        sum += 10 + item->number;
        }
        assert_int_equal(sum, 22);
        pw_list_remove(&items[1].link);
        pw_list_remove(&items[0].link);
        pw_list_remove(&items[2].link);
        assert_true(pw_list_empty(&head));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_checked_arithmetic),
                cmocka_unit_test(test_grow),
                cmocka_unit_test(test_grow_without_memory),
                cmocka_unit_test(test_list),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
