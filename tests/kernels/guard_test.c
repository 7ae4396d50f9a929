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

/* Up to four rooms of each of two gangs. */
struct turn {
        uint8_t *ends[2 * PW_GUARD_ROOMS];
        struct pw_guard_words *said, *says;
        uint64_t *end;
        struct pw_guard_turn rooms;
};

static void launch(struct turn *turn, uint32_t threads)
{
        const void *args[2 * PW_GUARD_ROOMS + 4];

        for (uint32_t i = 0; i < 2 * PW_GUARD_ROOMS; i++)
                args[i] = &turn->ends[i];
        args[8] = &turn->said;
        args[9] = &turn->says;
        args[10] = &turn->end;
        args[11] = &turn->rooms;
        kernels_launch("pw_guard_turn", args, 1, threads);
}

static void room_add(struct turn *turn, uint32_t at, const struct pw_guard *guard, uint8_t *end, uint64_t rest)
{
        struct pw_guard_rooms *rooms = at < PW_GUARD_ROOMS ? &turn->rooms.ended : &turn->rooms.begins;

        memcpy(rooms->words, guard, sizeof *guard);
        turn->ends[at] = end;
        rooms->rests[at % PW_GUARD_ROOMS] = rest;
}

static void set(const struct pw_guard *guard, uint8_t *end, uint64_t rest, uint32_t threads)
{
        struct turn turn = { .said = NULL };

        room_add(&turn, PW_GUARD_ROOMS, guard, end, rest);
        launch(&turn, threads);
}

static uint32_t check(const struct pw_guard *guard, uint8_t *end, uint64_t rest, uint32_t threads)
{
        struct pw_guard_words said = { 0, 0 };
        uint64_t word = 0;
        struct turn turn = { .said = &said, .end = &word, .rooms = { .number = 5, .has_ended = true } };

        room_add(&turn, 0, guard, end, rest);
        launch(&turn, threads);
        assert_true(pw_guard_end_is(word, 5));
        assert_int_equal(pw_guard_end_room(word), 0);
        return pw_guard_end_state(word);
}

/* What is written is what the processor would write, and each byte that is touched is seen as by it. */
static void test_each_byte(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9);
        (void)state;

        for (uint64_t rest = PW_ROOM_GUARD; rest < 5 * PW_ROOM_GUARD; rest++) {
                uint8_t want[128], room[128], *end = room + BEFORE;
                uint32_t threads = 1 + (uint32_t)rest % 32;
                memset(want, 0xaa, sizeof want);
                memset(room, 0xaa, sizeof room);
                pw_guard_set(&guard, want + BEFORE, rest);
                set(&guard, end, rest, threads);
                assert_memory_equal(room, want, sizeof room);
                assert_int_equal(check(&guard, end, rest, threads), PW_GUARD_WHOLE);
                for (uint64_t at = 0; at < rest; at++) {
                        end[at] ^= 1;
                        assert_int_equal(check(&guard, end, rest, threads), pw_guard_check(&guard, end, rest));
                        end[at] ^= 1;
                }
                memset(end, 0, rest);
                assert_int_equal(check(&guard, end, rest, threads), PW_GUARD_PASSED);
        }
}

/* The end says all of it: the number, the fault, the worst room of all launches, and of two alike the first. */
static void test_the_end(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9);
        struct pw_guard_words said = { 7, 0 }, says = { 1, 2 };
        uint8_t rooms[PW_GUARD_ROOMS][64];
        uint64_t word = 3;
        struct turn turn = { .said = &said, .end = &word, .rooms = { .first = 4, .has_ended = true } };
        (void)state;

        for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++) {
                pw_guard_set(&guard, rooms[i], sizeof rooms[i]);
                room_add(&turn, i, &guard, rooms[i], sizeof rooms[i]);
        }
        rooms[0][60] ^= 1;
        rooms[1][0] ^= 1;
        rooms[2][60] ^= 1;
        launch(&turn, 32);
        assert_int_equal(word, 3);
        turn.rooms.first = 8;
        turn.rooms.number = (UINT64_C(1) << 41) + 6;
        turn.says = &says;
        turn.rooms.is_first = true;
        pw_guard_set(&guard, rooms[0], sizeof rooms[0]);
        launch(&turn, 32);
        assert_true(pw_guard_end_is(word, turn.rooms.number));
        assert_false(pw_guard_end_is(word, 7));
        assert_int_equal(pw_guard_end_state(word), PW_GUARD_PASSED);
        assert_int_equal(pw_guard_end_room(word), 4);
        assert_int_equal(pw_guard_end_fault(word), 7);
        assert_int_equal(says.fault | says.worst, 0);
        said = (struct pw_guard_words){ UINT32_MAX, 0 };
        launch(&turn, 32);
        assert_int_equal(pw_guard_end_room(word), 10);
        assert_int_equal(pw_guard_end_fault(word), PW_GUARD_FAULT_MAX);
        rooms[2][60] ^= 1;
        launch(&turn, 32);
        assert_int_equal(pw_guard_end_state(word), PW_GUARD_TOUCHED);
        assert_int_equal(pw_guard_end_room(word), 9);
}

/* Up to four at once; where the rest is 0 there is none, whatever its address. */
static void test_four(void **state)
{
        static const uint64_t rests[PW_GUARD_ROOMS] = { 16, 40, 64, 33 };
        const struct pw_guard guard = pw_guard_make(&key, 10);
        (void)state;

        for (uint32_t there = 0; there < 16; there++) {
                uint8_t rooms[PW_GUARD_ROOMS][64], want[PW_GUARD_ROOMS][64];
                struct pw_guard_words said = { 0, 0 };
                uint64_t word = 0;
                struct pw_guard_turn ended = { .number = 1, .has_ended = true };
                struct turn sets = { .said = NULL }, looks = { .said = &said, .end = &word, .rooms = ended };
                memset(rooms, 0xaa, sizeof rooms);
                memset(want, 0xaa, sizeof want);
                for (uint32_t i = 0; i < PW_GUARD_ROOMS; i++) {
                        if (!(there >> i & 1))
                                continue;
                        pw_guard_set(&guard, want[i], rests[i]);
                        room_add(&sets, PW_GUARD_ROOMS + i, &guard, rooms[i], rests[i]);
                        room_add(&looks, i, &guard, rooms[i], rests[i]);
                }
                launch(&sets, 32);
                assert_memory_equal(rooms, want, sizeof rooms);
                rooms[1][5] ^= 1;
                rooms[2][63] ^= 1;
                launch(&looks, 32);
                assert_int_equal(pw_guard_end_state(word), there & 4   ? PW_GUARD_PASSED
                                                           : there & 2 ? PW_GUARD_TOUCHED
                                                                       : PW_GUARD_WHOLE);
                assert_int_equal(pw_guard_end_room(word), there & 4 ? 2 : there & 2 ? 1 : 0);
        }
}

/* A room that the next gang writes, too: what was there is looked at before it is set. */
static void test_the_same_room(void **state)
{
        const struct pw_guard first = pw_guard_make(&key, 12), second = pw_guard_make(&key, 13);
        struct pw_guard_words said = { 0, 0 };
        uint8_t room[64];
        uint64_t word;
        (void)state;

        for (uint32_t touched = 0; touched < 2; touched++)
                for (uint32_t threads = 1; threads <= 32; threads++) {
                        struct turn turn = { .said = &said, .end = &word, .rooms = { .number = 1, .has_ended = true } };
                        word = 0;
                        pw_guard_set(&first, room, sizeof room);
                        room[3] ^= touched;
                        room_add(&turn, 2, &first, room, sizeof room);
                        room_add(&turn, PW_GUARD_ROOMS, &second, room, sizeof room);
                        launch(&turn, threads);
                        assert_int_equal(pw_guard_end_state(word), touched ? PW_GUARD_TOUCHED : PW_GUARD_WHOLE);
                        assert_int_equal(pw_guard_check(&second, room, sizeof room), PW_GUARD_WHOLE);
                }
}

static uint8_t memory[64];
static void *memory_at(unsigned long long address) { return memory + (address - 0x7000); }

/* A device's address is no place of this process, as it is not with a real one. */
static void test_addresses(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 11);
        uint64_t rest = sizeof memory - BEFORE;
        (void)state;

        kernels_addresses(memory_at);
        set(&guard, (uint8_t *)(uintptr_t)(0x7000 + BEFORE), rest, 32);
        kernels_addresses(NULL);
        assert_int_equal(pw_guard_check(&guard, memory + BEFORE, rest), PW_GUARD_WHOLE);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_byte), cmocka_unit_test(test_the_end),
                                            cmocka_unit_test(test_four), cmocka_unit_test(test_the_same_room),
                                            cmocka_unit_test(test_addresses) };

        kernels_open("libpw_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
