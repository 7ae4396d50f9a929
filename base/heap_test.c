/* A heap against a plain search: adds and removes in random order, many of one key. */
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ITEMS 500u

static uint64_t next_random(uint64_t *seed)
{
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *seed >> 33;
}

static uint64_t least(const struct pw_heap_item *items, uint32_t *ret_count)
{
        uint64_t key = UINT64_MAX;

        *ret_count = 0;
        for (uint32_t i = 0; i < ITEMS; i++) {
                if (!items[i].place)
                        continue;
                ++*ret_count;
                if (items[i].key < key)
                        key = items[i].key;
        }
        return key;
}

static void agrees(const struct pw_heap *heap, const struct pw_heap_item *items)
{
        uint32_t count;
        uint64_t key = least(items, &count);

        assert_int_equal(heap->count, count);
        assert_int_equal(pw_heap_first_key(heap), key);
        for (uint32_t i = 0; i < ITEMS; i++)
                if (items[i].place)
                        assert_ptr_equal(heap->items[items[i].place - 1], &items[i]);
        for (uint32_t place = 2; place <= heap->count; place++)
                assert_true(heap->items[place / 2 - 1]->key <= heap->items[place - 1]->key);
}

static void test_random(void **state)
{
        struct pw_heap_item items[ITEMS] = { { 0 } };
        struct pw_heap heap = { 0 };
        uint64_t seed = 1;

        (void)state;
        for (uint32_t i = 0; i < 20000; i++) {
                /* It grows for a while, then shrinks. */
                struct pw_heap_item *item = &items[next_random(&seed) % ITEMS];
                bool add = next_random(&seed) % 4 < (i % 4000 < 2000 ? 3u : 1u);

                if (add && !item->place)
                        assert_true(pw_heap_add(&heap, item, next_random(&seed) % 100));
                else if (!add)
                        pw_heap_remove(&heap, item);
                item = &items[next_random(&seed) % ITEMS];
                if (item->place)
                        pw_heap_move(&heap, item, next_random(&seed) % 100);
                if (i % 16 == 0)
                        agrees(&heap, items);
        }
        agrees(&heap, items);
        pw_heap_done(&heap);
        assert_null(pw_heap_first(&heap));
        assert_int_equal(pw_heap_first_key(&heap), UINT64_MAX);
}

static void test_in_order(void **state)
{
        struct pw_heap_item items[ITEMS] = { { 0 } }, *first;
        struct pw_heap heap = { 0 };

        (void)state;
        for (uint32_t i = 0; i < ITEMS; i++) /* 7 and 500 have no common factor: each key once */
                assert_true(pw_heap_add(&heap, &items[i], i * 7 % ITEMS));
        for (uint32_t i = 0; i < ITEMS; i++) {
                first = pw_heap_first(&heap);
                assert_int_equal(first->key, i);
                pw_heap_remove(&heap, first);
                assert_int_equal(first->place, 0);
                pw_heap_remove(&heap, first);
        }
        assert_true(heap.capacity <= 128); /* places went back */
        pw_heap_done(&heap);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_random), cmocka_unit_test(test_in_order) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
