/* Ranges against a map of bytes, from a seed: never two at once, never outside, all one again at the end. */
#include "base/range.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define UNITS 4096u
#define HELD_MAX 256u

struct held { uint64_t offset, size; };
struct map {
        struct pw_range *range;
        uint64_t align, used, seed;
        uint8_t taken[UNITS];
        struct held held[HELD_MAX];
        uint32_t count;
};

static uint32_t dice(struct map *map, uint32_t sides)
{
        map->seed ^= map->seed << 13;
        map->seed ^= map->seed >> 7;
        map->seed ^= map->seed << 17;
        return (uint32_t)(map->seed >> 20) % sides;
}

/* Free units from `from` on, and the largest run of them in the map. */
static uint32_t run_at(const struct map *map, uint32_t from)
{
        uint32_t end = from;

        while (end < UNITS && !map->taken[end])
                end++;
        return end - from;
}

static uint32_t largest(const struct map *map)
{
        uint32_t most = 0;

        for (uint32_t i = 0; i < UNITS; i++) {
                uint32_t run = run_at(map, i);

                most = run > most ? run : most;
                i += run;
        }
        return most;
}

static void take(struct map *map)
{
        /* Some sizes are common, as rooms of a class are. */
        uint64_t units = dice(map, 2) ? 1u << dice(map, 6) : 1 + dice(map, dice(map, 8) ? 40 : UNITS), offset;
        uint64_t size = units * map->align - dice(map, (uint32_t)map->align);

        if (map->count == HELD_MAX)
                return;
        if (!pw_range_take(map->range, size, &offset)) {
                assert_true(largest(map) < units);
                return;
        }
        assert_int_equal(offset % map->align, 0);
        assert_true(offset / map->align + units <= UNITS);
        for (uint64_t i = 0; i < units; i++) {
                assert_int_equal(map->taken[offset / map->align + i], 0);
                map->taken[offset / map->align + i] = 1;
        }
        map->held[map->count++] = (struct held){ offset, size };
        map->used += units;
}

static void give(struct map *map)
{
        uint32_t i = map->count ? dice(map, map->count) : 0;
        struct held held = map->held[i];
        uint64_t units = (held.size + map->align - 1) / map->align;

        if (!map->count)
                return;
        map->held[i] = map->held[--map->count];
        pw_range_give(map->range, held.offset, held.size);
        pw_range_give(map->range, held.offset, held.size); /* twice: nothing happens */
        memset(map->taken + held.offset / map->align, 0, units);
        map->used -= units;
}

static void play(uint64_t seed)
{
        struct map map = { .align = seed % 2 ? 64 : 1, .seed = seed * UINT64_C(0x9e3779b97f4a7c15) };
        uint64_t offset;

        /* A tail shorter than the alignment is never handed out. */
        map.range = pw_range_new(UNITS * map.align + map.align / 2, map.align);
        assert_non_null(map.range);
        for (uint32_t i = 0; i < 20000; i++) {
                if (dice(&map, 100) < (i / 1000 % 2 ? 40u : 60u))
                        take(&map);
                else
                        give(&map);
                assert_true(pw_range_used(map.range) == map.used * map.align);
        }
        while (map.count)
                give(&map);
        assert_int_equal(pw_range_used(map.range), 0);
        assert_true(pw_range_take(map.range, UNITS * map.align, &offset)); /* all one again */
        assert_int_equal(offset, 0);
        assert_false(pw_range_take(map.range, 1, &offset));
        pw_range_free(map.range);
}

static void test_random(void **state)
{
        const char *given = getenv("PW_TEST_SEED");
        uint64_t first = given ? strtoull(given, NULL, 0) : 1, count = given ? 1 : 20;

        (void)state;
        for (uint64_t seed = first; seed < first + count; seed++) {
                print_message("PW_TEST_SEED=%llu\n", (unsigned long long)seed);
                play(seed);
        }
}

static void test_edges(void **state)
{
        struct pw_range *range = pw_range_new(100, 1);
        uint64_t offset = 7, other;

        (void)state;
        assert_true(pw_range_take(range, 0, &offset)); /* an empty range lies anywhere, and is none */
        pw_range_give(range, offset, 0);
        assert_false(pw_range_take(range, 101, &offset));
        assert_false(pw_range_take(range, UINT64_MAX, &offset));
        assert_true(pw_range_take(range, 100, &offset));
        assert_false(pw_range_take(range, 1, &other));
        pw_range_give(range, 50, 1); /* nobody took that */
        assert_int_equal(pw_range_used(range), 100);
        pw_range_give(range, offset, 100);
        assert_int_equal(pw_range_used(range), 0);
        pw_range_free(range);
        pw_range_free(NULL);
        range = pw_range_new(0, 64);
        assert_false(pw_range_take(range, 1, &offset));
        pw_range_free(range);
}

/* What was given back last is had again at once, and joins its neighbours when something larger is wanted. */
static void test_kept(void **state)
{
        struct pw_range *range = pw_range_new(1000, 1);
        uint64_t offsets[10], again, large;

        (void)state;
        for (uint32_t i = 0; i < 10; i++)
                assert_true(pw_range_take(range, 100, &offsets[i]));
        pw_range_give(range, offsets[4], 100);
        pw_range_give(range, offsets[5], 100);
        pw_range_give(range, offsets[6], 100);
        assert_true(pw_range_take(range, 100, &again));
        assert_int_equal(again, offsets[6]);
        assert_false(pw_range_take(range, 201, &large));
        assert_true(pw_range_take(range, 200, &large));
        assert_int_equal(large, offsets[4]);
        pw_range_free(range);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_edges),
                cmocka_unit_test(test_kept),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
