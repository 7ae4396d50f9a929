/* What lies right behind a value and at the end of its room is guarded, and nothing else is written. */
#include "executor/device/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t rest_of(uint64_t bytes) { return pw_room_bytes(bytes) - bytes; }

static enum pw_guard_state state_of(uint64_t at, uint64_t rest)
{
        if (at >= rest - PW_ROOM_GUARD)
                return PW_GUARD_PASSED;
        return at < PW_ROOM_GUARD ? PW_GUARD_TOUCHED : PW_GUARD_WHOLE;
}

static void test_each_byte(void **state)
{
        const struct pw_guard_key key = { { 3, 4 } };
        const struct pw_guard guard = pw_guard_make(&key, 9);
        uint8_t room[512];
        (void)state;

        for (uint64_t bytes = 0; bytes < 130; bytes++) {
                uint64_t rest = rest_of(bytes);
                assert_in_range(rest, PW_ROOM_GUARD, PW_ROOM_GUARD + PW_ROOM_ALIGN - 1);
                for (uint64_t at = 0; at < rest; at++) {
                        memset(room, 0xaa, sizeof room);
                        pw_guard_set(&guard, room + bytes, rest);
                        assert_int_equal(pw_guard_check(&guard, room + bytes, rest), PW_GUARD_WHOLE);
                        room[bytes + at] ^= 1;
                        assert_int_equal(pw_guard_check(&guard, room + bytes, rest), state_of(at, rest));
                        assert_true(!bytes || room[bytes - 1] == 0xaa);
                        assert_int_equal(room[bytes + rest], 0xaa);
                }
        }
}

/* A shard that is smaller than the largest: its room goes on behind what is guarded in front. */
static void test_a_long_rest(void **state)
{
        const struct pw_guard_key key = { { 3, 4 } };
        const struct pw_guard guard = pw_guard_make(&key, 9);
        uint8_t room[512];
        (void)state;

        for (uint64_t rest = 80; rest <= 400; rest += 8) {
                memset(room, 0xaa, sizeof room);
                pw_guard_set(&guard, room, rest);
                assert_int_equal(pw_guard_check(&guard, room, rest), PW_GUARD_WHOLE);
                memset(room, 0, rest - PW_ROOM_GUARD);
                assert_int_equal(pw_guard_check(&guard, room, rest), PW_GUARD_TOUCHED);
                memset(room, 0, rest);
                assert_int_equal(pw_guard_check(&guard, room, rest), PW_GUARD_PASSED);
                assert_int_equal(room[rest], 0xaa);
        }
}

/* Each process and each gang has its own, and most bits differ. */
static void test_secret(void **state)
{
        const struct pw_guard_key keys[] = { { { 1, 2 } }, { { 1, 3 } }, { { 5, 2 } } };
        struct pw_guard guards[30];
        (void)state;

        for (uint32_t i = 0; i < 30; i++) {
                guards[i] = pw_guard_make(&keys[i / 10], i % 10);
                for (uint32_t k = 0; k < i; k++)
                        for (uint32_t word = 0; word < 2; word++)
                                assert_in_range(__builtin_popcountll(guards[i].words[word] ^ guards[k].words[word]), 12, 52);
        }
}

/* A 0 written past an end, wherever, is seen: it is in no guard. */
static void test_no_zero(void **state)
{
        const struct pw_guard_key key = { { 3, 4 } };
        (void)state;

        for (uint64_t seq = 0; seq < 1000; seq++) {
                const struct pw_guard guard = pw_guard_make(&key, seq);
                assert_null(memchr(&guard, 0, sizeof guard));
        }
}

/* No head of zeros, and none that something wrote over, is taken for one. */
static void test_seal(void **state)
{
        struct pw_room_head head = { .seq = 7, .run = 3 }, zero = { 0 };
        (void)state;

        head.seal = pw_room_seal(&head);
        assert_int_equal(head.seal, pw_room_seal(&head));
        assert_int_not_equal(zero.seal, pw_room_seal(&zero));
        head.seq++;
        assert_int_not_equal(head.seal, pw_room_seal(&head));
        head.seq--;
        head.status = PW_FAILED;
        assert_int_not_equal(head.seal, pw_room_seal(&head));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_byte), cmocka_unit_test(test_a_long_rest),
                                            cmocka_unit_test(test_secret), cmocka_unit_test(test_no_zero),
                                            cmocka_unit_test(test_seal) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
