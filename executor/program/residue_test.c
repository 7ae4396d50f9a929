/* Whose bytes lie where, held against an array of all bytes under operations at random; and what a full table forgets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/program/residue.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES 200u
#define OWNERS 3u
#define STEPS 20000u

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t draw(uint32_t below)
{
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(state >> 33) % below;
}

/* Each range is another's than the one before, and they ascend. */
static void expect_sound(const struct pw_residue *residue)
{
        assert_in_range(residue->count, 1, PW_RESIDUE_RANGES);
        assert_int_equal(residue->ranges[0].from, 0);
        for (uint32_t i = 1; i < residue->count; i++) {
                assert_true(residue->ranges[i].from > residue->ranges[i - 1].from);
                assert_int_not_equal(residue->ranges[i].owner, residue->ranges[i - 1].owner);
        }
}

static bool are(const uint32_t *owners, uint32_t from, uint32_t bytes, uint32_t owner)
{
        for (uint32_t i = from; i < from + bytes; i++)
                if (owners[i] != owner)
                        return false;
        return true;
}

static void expect_same(const struct pw_residue *residue, const uint32_t *owners)
{
        expect_sound(residue);
        for (uint32_t i = 0; i < BYTES; i++)
                for (uint32_t owner = 0; owner <= OWNERS; owner++) {
                        uint32_t who = owner < OWNERS ? owner : PW_RESIDUE_UNKNOWN;
                        assert_int_equal(pw_residue_is(residue, i, 1, who), owners[i] == who);
                }
        for (uint32_t i = 0; i < 20; i++) {
                uint32_t from = draw(BYTES), bytes = draw(BYTES - from + 1), owner = draw(OWNERS);
                assert_int_equal(pw_residue_is(residue, from, bytes, owner), are(owners, from, bytes, owner));
        }
}

static void it_is_as_an_array(void **context)
{
        struct pw_residue *residue = malloc(sizeof *residue);
        uint32_t owners[BYTES];

        (void)context;
        assert_non_null(residue);
        pw_residue_begin(residue, 0);
        for (uint32_t i = 0; i < BYTES; i++)
                owners[i] = 0;
        for (uint32_t step = 0; step < STEPS; step++) {
                uint32_t from = draw(BYTES), bytes = draw(draw(4) ? 9 : BYTES), owner = draw(OWNERS), kind = draw(8);
                bytes = bytes < BYTES - from ? bytes : BYTES - from;
                if (kind == 7)
                        pw_residue_set(residue, from, bytes, PW_RESIDUE_UNKNOWN);
                else
                        (kind < 5 ? pw_residue_set : pw_residue_touch)(residue, from, bytes, owner);
                for (uint32_t i = from; i < from + bytes; i++)
                        if (kind == 7 || kind < 5 || owners[i] != owner)
                                owners[i] = kind < 5 ? owner : PW_RESIDUE_UNKNOWN;
                if (step % 10 == 0)
                        expect_same(residue, owners);
        }
        free(residue);
}

/* More ranges than there is place for: what it says is an owner's is, and what was written last is known. */
static void a_full_one_forgets(void **context)
{
        struct pw_residue *residue = malloc(sizeof *residue);
        uint32_t bytes = 3 * PW_RESIDUE_RANGES, forgotten = 0;
        uint32_t *owners = calloc(bytes, sizeof *owners);

        (void)context;
        assert_non_null(residue);
        assert_non_null(owners);
        pw_residue_begin(residue, 0);
        for (uint32_t step = 0; step < 2 * bytes; step++) {
                uint32_t at = draw(bytes), owner = 1 + draw(OWNERS), before = residue->count;
                pw_residue_set(residue, at, 1, owner);
                owners[at] = owner;
                assert_true(pw_residue_is(residue, at, 1, owner));
                if (residue->count + 2 >= before) /* it joins two at most to itself */
                        continue;
                assert_true(pw_residue_is(residue, 0, at, PW_RESIDUE_UNKNOWN));
                forgotten++;
        }
        expect_sound(residue);
        assert_true(forgotten > 0);
        for (uint32_t i = 0; i < bytes; i++)
                for (uint32_t owner = 0; owner <= OWNERS; owner++)
                        assert_true(!pw_residue_is(residue, i, 1, owner) || owners[i] == owner);
        free(owners);
        free(residue);
}

/* Where memory lies, and of no bytes. */
static void it_holds_addresses(void **context)
{
        struct pw_residue *residue = malloc(sizeof *residue);
        uint64_t high = UINT64_C(0x7fff) << 32;

        (void)context;
        assert_non_null(residue);
        pw_residue_begin(residue, PW_RESIDUE_UNKNOWN);
        assert_true(pw_residue_is(residue, high, 0, 1));
        assert_false(pw_residue_is(residue, high, 1, 1));
        pw_residue_set(residue, high, 0, 1);
        pw_residue_touch(residue, high, 0, 1);
        assert_int_equal(residue->count, 1);
        pw_residue_set(residue, high, high, 1);
        assert_true(pw_residue_is(residue, high, high, 1));
        assert_false(pw_residue_is(residue, high, high + 1, 1));
        assert_false(pw_residue_is(residue, high - 1, high, 1));
        free(residue);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_is_as_an_array), cmocka_unit_test(a_full_one_forgets), cmocka_unit_test(it_holds_addresses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
