/* The kernels that guard outputs, held against executor/device/guard.h. */
#include "executor/device/cuda/peer.h"
#include "executor/device/guard.h"
#include "tests/kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BEFORE 3u /* bytes of the output, so that its end is nowhere round */

static const struct pw_guard_key key = { { 3, 4 } };

static uint32_t check(const struct pw_guard *guard, uint8_t *end, uint64_t rest, uint32_t threads)
{
        uint32_t word = 0, *state = &word;

        kernels_launch("pw_guard_check", (const void *[]){ &end, &rest, &guard->words[0], &guard->words[1], &state }, 1, threads);
        return word;
}

/* What is written is what the processor would write, and each byte that is touched is seen as by it. */
static void test_each_byte(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9);
        (void)state;

        for (uint64_t rest = PW_ROOM_GUARD; rest < 5 * PW_ROOM_GUARD; rest++) {
                uint8_t want[128], room[128], *end = room + BEFORE;
                uint32_t threads = 1 + (uint32_t)rest % 40;
                memset(want, 0xaa, sizeof want);
                memset(room, 0xaa, sizeof room);
                pw_guard_set(&guard, want + BEFORE, rest);
                kernels_launch("pw_guard_set", (const void *[]){ &end, &rest, &guard.words[0], &guard.words[1] }, 1, threads);
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

/* A word that says more already keeps it. */
static void test_the_larger_one_stays(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 9);
        uint8_t room[64], *end = room;
        uint64_t rest = sizeof room;
        uint32_t word = PW_GUARD_PASSED, *at = &word;
        (void)state;

        pw_guard_set(&guard, room, rest);
        room[0] ^= 1;
        kernels_launch("pw_guard_check", (const void *[]){ &end, &rest, &guard.words[0], &guard.words[1], &at }, 1, 32);
        assert_int_equal(word, PW_GUARD_PASSED);
}

/* Up to four at once; where the rest is 0 there is none, whatever its address. */
static void test_four(void **state)
{
        static const struct pw_peer_rests all = { { 16, 40, 64, 33 } };
        const struct pw_guard guard = pw_guard_make(&key, 10);
        (void)state;

        for (uint32_t there = 0; there < 16; there++) {
                uint8_t rooms[PW_PEER_GUARDED][64], want[PW_PEER_GUARDED][64], *ends[PW_PEER_GUARDED];
                uint32_t words[PW_PEER_GUARDED] = { 0 }, *states = words;
                struct pw_peer_rests rests = all;
                memset(rooms, 0xaa, sizeof rooms);
                memset(want, 0xaa, sizeof want);
                for (uint32_t i = 0; i < PW_PEER_GUARDED; i++) {
                        ends[i] = there >> i & 1 ? rooms[i] : NULL;
                        if (ends[i])
                                pw_guard_set(&guard, want[i], rests.bytes[i]);
                        else
                                rests.bytes[i] = 0;
                }
                const void *args[] = { &ends[0], &ends[1], &ends[2], &ends[3], &rests, &guard.words[0], &guard.words[1], &states };
                kernels_launch("pw_guard_set_4", args, 1, 32);
                assert_memory_equal(rooms, want, sizeof rooms);
                rooms[1][5] ^= 1;
                rooms[2][63] ^= 1;
                kernels_launch("pw_guard_check_4", args, 1, 32);
                assert_int_equal(words[0], PW_GUARD_WHOLE);
                assert_int_equal(words[1], there & 2 ? PW_GUARD_TOUCHED : PW_GUARD_WHOLE);
                assert_int_equal(words[2], there & 4 ? PW_GUARD_PASSED : PW_GUARD_WHOLE);
                assert_int_equal(words[3], PW_GUARD_WHOLE);
        }
}

static uint8_t memory[64];
static void *memory_at(unsigned long long address) { return memory + (address - 0x7000); }

/* A device's address is no place of this process, as it is not with a real one. */
static void test_addresses(void **state)
{
        const struct pw_guard guard = pw_guard_make(&key, 11);
        uint64_t end = 0x7000 + BEFORE, rest = sizeof memory - BEFORE;
        (void)state;

        kernels_addresses(memory_at);
        kernels_launch("pw_guard_set", (const void *[]){ &end, &rest, &guard.words[0], &guard.words[1] }, 1, 32);
        kernels_addresses(NULL);
        assert_int_equal(pw_guard_check(&guard, memory + BEFORE, rest), PW_GUARD_WHOLE);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_byte), cmocka_unit_test(test_the_larger_one_stays),
                                            cmocka_unit_test(test_four), cmocka_unit_test(test_addresses) };

        kernels_open("libpw_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
