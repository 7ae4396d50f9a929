/* The kernel that guards outputs, held against executor/device/guard.h. */
#include "executor/device/cuda/guard_rooms.h"
#include "executor/device/guard.h"
#include "tests/kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BEFORE 3u /* bytes of the output, so that its end is nowhere round */

static const struct pw_guard_key key = { { 3, 4 } };

static struct pw_guard_words words[PW_GUARD_RING];
static uint64_t ends[PW_GUARD_RING];

/* Of calls from `number` on, which end or begin. */
static struct pw_guard_turn ended(uint64_t number, uint32_t count)
{
        return (struct pw_guard_turn){ .words = (uintptr_t)words, .ends = (uintptr_t)ends, .ended_number = number,
                                       .ended_count = count, .is_last = true };
}
static struct pw_guard_turn begins(uint64_t number, uint32_t count)
{
        return (struct pw_guard_turn){ .words = (uintptr_t)words, .ends = (uintptr_t)ends, .begins_number = number,
                                       .begins_count = count };
}

static void launch(const struct pw_guard_turn *turn)
{
        kernels_launch("pw_guard_turn", (const void *const[]){ turn }, 1, 32);
}

static struct pw_guard_room room_of(const struct pw_guard *guard, const uint8_t *end, uint64_t rest)
{
        return (struct pw_guard_room){ (uintptr_t)end, rest, { guard->words[0], guard->words[1] } };
}

static void set(const struct pw_guard *guard, const uint8_t *end, uint64_t rest)
{
        struct pw_guard_turn turn = begins(5, 1);

        turn.begins[0] = room_of(guard, end, rest);
        launch(&turn);
}

static uint32_t check(const struct pw_guard *guard, const uint8_t *end, uint64_t rest)
{
        struct pw_guard_turn turn = ended(5, 1);

        ends[5] = 0;
        words[5] = (struct pw_guard_words){ 0, 0 };
        turn.ended[0] = room_of(guard, end, rest);
        launch(&turn);
        assert_true(pw_guard_end_is(ends[5], 5));
        assert_int_equal(pw_guard_end_room(ends[5]), 0);
        return pw_guard_end_state(ends[5]);
}

/* What is written is what the processor would write, and each byte that is touched is seen as by it. */
static void test_each_byte(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9);
        (void)state;

        for (uint64_t rest = PW_ROOM_GUARD; rest < 5 * PW_ROOM_GUARD; rest++) {
                uint8_t want[128], room[128], *end = room + BEFORE;
                memset(want, 0xaa, sizeof want);
                memset(room, 0xaa, sizeof room);
                pw_guard_set(&guard, want + BEFORE, rest);
                set(&guard, end, rest);
                assert_memory_equal(room, want, sizeof room);
                assert_int_equal(check(&guard, end, rest), PW_GUARD_WHOLE);
                for (uint64_t at = 0; at < rest; at++) {
                        end[at] ^= 1;
                        assert_int_equal(check(&guard, end, rest), pw_guard_check(&guard, end, rest));
                        end[at] ^= 1;
                }
                memset(end, 0, rest);
                assert_int_equal(check(&guard, end, rest), PW_GUARD_PASSED);
        }
}

/* The end says all of it: the number, the fault, the worst room of all launches, and of two alike the first. */
static void test_the_end(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9);
        const uint64_t number = (UINT64_C(1) << 41) + 6;
        struct pw_guard_turn turn = ended(number, 1);
        uint8_t rooms[PW_GUARD_ROOMS][64];
        uint64_t *word = &ends[6];
        (void)state;

        words[6] = (struct pw_guard_words){ 7, 0 };
        *word = 3;
        for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++) {
                pw_guard_set(&guard, rooms[i], sizeof rooms[i]);
                turn.ended[i] = room_of(&guard, rooms[i], sizeof rooms[i]);
                turn.indexes[i] = 4 + i;
        }
        rooms[0][60] ^= 1;
        rooms[1][0] ^= 1;
        rooms[2][60] ^= 1;
        turn.is_last = false;
        launch(&turn);
        assert_int_equal(*word, 3);
        for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++)
                turn.indexes[i] = 4 + PW_GUARD_ROOMS + i;
        turn.is_last = true;
        pw_guard_set(&guard, rooms[0], sizeof rooms[0]);
        launch(&turn);
        assert_true(pw_guard_end_is(*word, number));
        assert_false(pw_guard_end_is(*word, 7));
        assert_int_equal(pw_guard_end_state(*word), PW_GUARD_PASSED);
        assert_int_equal(pw_guard_end_room(*word), 4);
        assert_int_equal(pw_guard_end_fault(*word), 7);
        words[6] = (struct pw_guard_words){ UINT32_MAX, 0 };
        launch(&turn);
        assert_int_equal(pw_guard_end_room(*word), 6 + PW_GUARD_ROOMS);
        assert_int_equal(pw_guard_end_fault(*word), PW_GUARD_FAULT_MAX);
        rooms[2][60] ^= 1;
        launch(&turn);
        assert_int_equal(pw_guard_end_state(*word), PW_GUARD_TOUCHED);
        assert_int_equal(pw_guard_end_room(*word), 5 + PW_GUARD_ROOMS);
}

/* Calls that end together: each has a word of its own, over the ring's end too, with its own fault and the worst room of all; what
 * is said of others is left alone. Those that begin have said nothing. */
static void test_together(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9), other = pw_guard_make(&key, 10);
        const uint64_t number = 2 * PW_GUARD_RING - 3;
        struct pw_guard_turn turn = ended(number, 5);
        uint8_t rooms[2][64];
        (void)state;

        pw_guard_set(&guard, rooms[0], sizeof rooms[0]);
        pw_guard_set(&other, rooms[1], sizeof rooms[1]);
        turn.ended[0] = room_of(&guard, rooms[0], sizeof rooms[0]);
        turn.ended[3] = room_of(&other, rooms[1], sizeof rooms[1]);
        turn.indexes[3] = 2;
        turn.begins_number = number + 5;
        turn.begins_count = 2;
        for (uint32_t touched = 0; touched < 2; touched++) {
                rooms[1][3] ^= touched;
                for (uint32_t i = 0; i < PW_GUARD_RING; i++) {
                        words[i] = (struct pw_guard_words){ i, i == (number + 1) % PW_GUARD_RING };
                        ends[i] = 1;
                }
                words[number % PW_GUARD_RING].worst = 0;
                launch(&turn);
                for (uint32_t i = 0; i < PW_GUARD_RING; i++) {
                        uint64_t at = number + i, end = ends[at % PW_GUARD_RING];
                        const struct pw_guard_words *said = &words[at % PW_GUARD_RING];
                        assert_int_equal(said->fault, i == 5 || i == 6 ? 0 : at % PW_GUARD_RING);
                        if (i >= 5) {
                                assert_int_equal(end, 1);
                                continue;
                        }
                        assert_true(pw_guard_end_is(end, at));
                        assert_int_equal(pw_guard_end_fault(end), at % PW_GUARD_RING);
                        assert_int_equal(pw_guard_end_state(end), touched ? PW_GUARD_TOUCHED : PW_GUARD_WHOLE);
                        assert_int_equal(pw_guard_end_room(end), touched ? 2 : 0);
                }
        }
}

/* Some of as many as there may be; where the rest is 0 there is none, whatever its address. */
static void test_some(void **state)
{
        static const uint64_t rests[PW_GUARD_ROOMS] = { 16, 40, 64, 33, 17, 32, 31, 63 };
        const struct pw_guard guard = pw_guard_make(&key, 10);
        (void)state;

        for (uint32_t there = 0; there < 1u << PW_GUARD_ROOMS; there++) {
                uint8_t rooms[PW_GUARD_ROOMS][64], want[PW_GUARD_ROOMS][64];
                struct pw_guard_turn sets = begins(1, 1), looks = ended(1, 1);
                memset(rooms, 0xaa, sizeof rooms);
                memset(want, 0xaa, sizeof want);
                for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++) {
                        looks.indexes[i] = i;
                        if (!(there >> i & 1))
                                continue;
                        pw_guard_set(&guard, want[i], rests[i]);
                        sets.begins[i] = looks.ended[i] = room_of(&guard, rooms[i], rests[i]);
                }
                launch(&sets);
                assert_memory_equal(rooms, want, sizeof rooms);
                rooms[1][5] ^= 1;
                rooms[2][63] ^= 1;
                launch(&looks);
                assert_int_equal(pw_guard_end_state(ends[1]), there & 4   ? PW_GUARD_PASSED
                                                              : there & 2 ? PW_GUARD_TOUCHED
                                                                          : PW_GUARD_WHOLE);
                assert_int_equal(pw_guard_end_room(ends[1]), there & 4 ? 2 : there & 2 ? 1 : 0);
        }
}

/* A room that the next gang writes, too: what was there is looked at before it is set. */
static void test_the_same_room(void **state)
{
        const struct pw_guard first = pw_guard_make(&key, 12), second = pw_guard_make(&key, 13);
        struct pw_guard_turn turn = ended(1, 1);
        uint8_t room[64];
        (void)state;

        words[1] = (struct pw_guard_words){ 0, 0 };
        turn.ended[2] = room_of(&first, room, sizeof room);
        turn.begins[0] = room_of(&second, room, sizeof room);
        for (uint32_t touched = 0; touched < 2; touched++) {
                pw_guard_set(&first, room, sizeof room);
                room[3] ^= touched;
                launch(&turn);
                assert_int_equal(pw_guard_end_state(ends[1]), touched ? PW_GUARD_TOUCHED : PW_GUARD_WHOLE);
                assert_int_equal(pw_guard_check(&second, room, sizeof room), PW_GUARD_WHOLE);
        }
}

static uint8_t memory[64];
static void *memory_at(unsigned long long address)
{
        return address - 0x7000 < sizeof memory ? memory + (address - 0x7000) : (void *)(uintptr_t)address;
}

/* A device's address is no place of this process, as it is not with a real one. */
static void test_addresses(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 11);
        uint64_t rest = sizeof memory - BEFORE;
        (void)state;

        kernels_addresses(memory_at);
        set(&guard, (uint8_t *)(uintptr_t)(0x7000 + BEFORE), rest);
        kernels_addresses(NULL);
        assert_int_equal(pw_guard_check(&guard, memory + BEFORE, rest), PW_GUARD_WHOLE);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_byte), cmocka_unit_test(test_the_end),
                                            cmocka_unit_test(test_together), cmocka_unit_test(test_some),
                                            cmocka_unit_test(test_the_same_room),
                                            cmocka_unit_test(test_addresses) };

        kernels_open("libpw_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
