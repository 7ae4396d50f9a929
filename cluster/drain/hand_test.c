/* Names and leases that are handed on: who is asked, and what becomes of answers. */
#include "cluster/drain/hand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WINDOW 3u
#define PAUSE_US 500u

static struct pw_hand *hand;

static struct pw_id id_of(uint64_t number) { return (struct pw_id){ number * 7, 1, 2 }; }

static void begin(void) { assert_int_equal(pw_hand_new(&(struct pw_hand_params){ WINDOW, PAUSE_US }, &hand, NULL), PW_OK); }

static void see(uint64_t number, bool is_ready)
{
        assert_int_equal(pw_hand_see(hand, number, id_of(number), is_ready, NULL), PW_OK);
}

static void see_to(uint64_t last)
{
        pw_hand_look(hand);
        for (uint64_t number = 1; number <= last; number++)
                see(number, true);
        pw_hand_looked(hand);
}

static void expect(uint64_t now_us, enum pw_hand_action_kind kind, uint32_t host, uint64_t number)
{
        struct pw_hand_action action;

        assert_true(pw_hand_next(hand, now_us, &action));
        assert_int_equal(action.kind, kind);
        assert_int_equal(action.host, host);
        assert_int_equal(action.number, number);
        assert_true(pw_id_equal(action.id, id_of(number)));
}

static void expect_none(uint64_t now_us)
{
        struct pw_hand_action action;

        assert_false(pw_hand_next(hand, now_us, &action));
}

static void test_one_after_the_other(void **state)
{
        (void)state;
        begin();
        see_to(5);
        expect_none(0); /* nobody takes over */
        pw_hand_to(hand, 4);
        for (uint64_t number = 1; number <= WINDOW; number++)
                expect(0, PW_HAND_ASK, 4, number);
        expect_none(0);
        pw_hand_answered(hand, 4, 2, PW_OK, 0);
        expect(0, PW_HAND_LET_GO, 4, 2);
        expect(0, PW_HAND_ASK, 4, 4);
        pw_hand_answered(hand, 4, 1, PW_EXISTS, 0); /* it is somebody else's by now */
        expect(0, PW_HAND_LET_GO, 4, 1);
        expect(0, PW_HAND_ASK, 4, 5);
        assert_int_equal(pw_hand_count(hand), 3);
        pw_hand_answered(hand, 4, 2, PW_OK, 0); /* nobody asks any more */
        pw_hand_answered(hand, 9, 3, PW_OK, 0); /* who was not asked */
        expect_none(0);
        assert_int_equal(pw_hand_count(hand), 3);
        pw_hand_free(hand);
}

static void test_refused(void **state)
{
        (void)state;
        begin();
        see_to(1);
        pw_hand_to(hand, 4);
        expect(10, PW_HAND_ASK, 4, 1);
        assert_int_equal(pw_hand_next_us(hand), UINT64_MAX);
        pw_hand_answered(hand, 4, 1, PW_NOT_READY, 10);
        expect_none(10 + PAUSE_US - 1);
        assert_int_equal(pw_hand_next_us(hand), 10 + PAUSE_US);
        expect(10 + PAUSE_US, PW_HAND_ASK, 4, 1);
        pw_hand_answered(hand, 4, 1, PW_NO_SPACE, 1000);
        pw_hand_to(hand, 5); /* another one may have room */
        expect(1000, PW_HAND_ASK, 5, 1);
        pw_hand_free(hand);
}

static void test_who_takes_over_is_lost(void **state)
{
        (void)state;
        begin();
        see_to(2);
        pw_hand_to(hand, 4);
        expect(0, PW_HAND_ASK, 4, 1);
        expect(0, PW_HAND_ASK, 4, 2);
        pw_hand_ended(hand, 9);
        expect_none(0);
        pw_hand_ended(hand, 4);
        pw_hand_to(hand, 5);
        pw_hand_answered(hand, 4, 1, PW_OK, 0); /* of the term that has ended */
        expect(0, PW_HAND_ASK, 5, 1);
        expect(0, PW_HAND_ASK, 5, 2);
        pw_hand_free(hand);
}

static void test_what_is_not_there_or_not_ready(void **state)
{
        (void)state;
        begin();
        pw_hand_to(hand, 4);
        pw_hand_look(hand);
        see(1, false);
        see(2, true);
        see(3, true);
        pw_hand_looked(hand);
        expect(0, PW_HAND_ASK, 4, 2);
        expect(0, PW_HAND_ASK, 4, 3);
        expect_none(0);
        assert_int_equal(pw_hand_count(hand), 3);
        pw_hand_look(hand);
        see(1, true);
        see(3, true);
        pw_hand_looked(hand);
        expect(0, PW_HAND_ASK, 4, 1);
        pw_hand_answered(hand, 4, 2, PW_OK, 0); /* it was removed meanwhile */
        expect_none(0);
        assert_int_equal(pw_hand_count(hand), 2);
        pw_hand_free(hand);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_after_the_other), cmocka_unit_test(test_refused),
                                            cmocka_unit_test(test_who_takes_over_is_lost),
                                            cmocka_unit_test(test_what_is_not_there_or_not_ready) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
