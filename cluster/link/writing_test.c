/* When a link writes: what waits for company, when it acknowledges, and what that says of a round trip. */
#include "cluster/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>

#define SECOND 1000000u
#define LEASE_US (3 * SECOND)
#define BEAT_US (SECOND / 2)
#define WINDOW 8u
#define START_US (10 * SECOND)

static void wrote(struct pw_link *link, const struct pw_link_frame *frame, uint64_t now_us)
{
        const struct pw_link_head head = pw_link_head(link, frame, now_us);

        pw_link_wrote(link, frame, &head, now_us);
}

/* A link that has met, and has said its window. */
static struct pw_link *begin(void)
{
        const struct pw_link_params params = { .own = 4, .host = 5, .own_epoch = 9, .lease_us = LEASE_US, .beat_us = BEAT_US,
                                               .window = WINDOW, .kept_bytes_max = 1000 };
        const struct pw_link_peer peer = { .epoch = 7, .instance = 8, .stand = { .term = 1 } };
        struct pw_link_met met;
        struct pw_link *link;

        assert_int_equal(pw_link_new(&params, &link, NULL), PW_OK);
        assert_int_equal(pw_link_meet(link, &peer, START_US, &met, NULL), PW_OK);
        assert_int_equal(pw_link_next_us(link), START_US);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_BEAT);
        wrote(link, NULL, START_US);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_NOTHING);
        assert_int_equal(pw_link_next_us(link), START_US + BEAT_US);
        return link;
}

static void send(struct pw_link *link, bool may_wait, uint64_t now_us)
{
        struct pw_link_frame *frame = pw_link_frame_new("x", 1, false);

        assert_non_null(frame);
        frame->may_wait = may_wait;
        assert_int_equal(pw_link_send(link, frame, now_us, NULL), PW_OK);
}

/* So many frames are written now. */
static void expect_written(struct pw_link *link, uint32_t count, uint64_t now_us)
{
        const struct pw_link_frame *frame;

        for (uint32_t i = 0; i < count; i++) {
                frame = pw_link_next(link);
                assert_non_null(frame);
                wrote(link, frame, now_us);
        }
        assert_null(pw_link_next(link));
}

static void receive(struct pw_link *link, struct pw_link_head head, uint64_t now_us)
{
        assert_int_equal(pw_link_receive(link, link->connection, &head, now_us, NULL), PW_OK);
}

static void test_some_wait_for_company(void **state)
{
        struct pw_link *link = begin();

        (void)state;
        send(link, true, START_US);
        send(link, true, START_US + 10);
        assert_null(pw_link_next(link));
        assert_int_equal(pw_link_next_us(link), START_US + PW_LINK_COMPANY_US); /* of the first one */
        send(link, false, START_US + 20);
        expect_written(link, 3, START_US + 20);
        assert_int_equal(pw_link_next_us(link), START_US + 20 + BEAT_US);
        send(link, true, START_US + 30); /* what was written for others presses this one no more */
        assert_null(pw_link_next(link));
        assert_int_equal(pw_link_turn(link, START_US + 29 + PW_LINK_COMPANY_US, NULL), PW_LINK_NOTHING);
        assert_null(pw_link_next(link));
        assert_int_equal(pw_link_turn(link, START_US + 30 + PW_LINK_COMPANY_US, NULL), PW_LINK_NOTHING); /* it needs no beat */
        expect_written(link, 1, START_US + 30 + PW_LINK_COMPANY_US);
        pw_link_free(link);
}

/* Who has met anew writes all that was not there, whatever it is. */
static void test_none_waits_after_a_break(void **state)
{
        const struct pw_link_peer peer = { .epoch = 7, .instance = 8, .stand = { .term = 1, .met = 9 } };
        struct pw_link *link = begin();
        struct pw_link_met met;

        (void)state;
        send(link, true, START_US);
        pw_link_break(link, link->connection, START_US);
        assert_int_equal(pw_link_meet(link, &peer, START_US + 10, &met, NULL), PW_OK);
        expect_written(link, 1, START_US + 10);
        pw_link_free(link);
}

static void test_acknowledged_with_what_is_written(void **state)
{
        struct pw_link *link = begin();
        struct pw_link_head head;

        (void)state;
        receive(link, (struct pw_link_head){ 1, 0, 0, false, { 0, 0, 0 }, 0 }, START_US);
        receive(link, (struct pw_link_head){ 2, 0, 0, false, { 0, 0, 0 }, 0 }, START_US + 100);
        assert_int_equal(pw_link_next_us(link), START_US + PW_LINK_ACK_US); /* of the first one */
        assert_int_equal(pw_link_turn(link, START_US + PW_LINK_ACK_US - 1, NULL), PW_LINK_NOTHING);
        send(link, false, START_US + 150);
        head = pw_link_head(link, pw_link_next(link), START_US + 150);
        assert_int_equal(head.received, 2);
        assert_int_equal(head.held_us, 50); /* the last one */
        expect_written(link, 1, START_US + 150);
        assert_int_equal(pw_link_next_us(link), START_US + 150 + BEAT_US);
        receive(link, (struct pw_link_head){ 3, 0, 0, false, { 0, 0, 0 }, 0 }, START_US + 200);
        assert_int_equal(pw_link_turn(link, START_US + 200 + PW_LINK_ACK_US, NULL), PW_LINK_BEAT);
        pw_link_free(link);
}

/* Who is sent much says soon what is there; and at once what had come before, as the other side does not know it. */
static void test_acknowledged_at_once(void **state)
{
        const struct pw_link_head again = { .number = 1 };
        struct pw_link *link = begin();
        uint64_t number = 1;

        (void)state;
        for (; number < PW_LINK_ACK_FRAMES; number++)
                receive(link, (struct pw_link_head){ number, 0, 0, false, { 0, 0, 0 }, 0 }, START_US);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_NOTHING);
        receive(link, (struct pw_link_head){ number, 0, 0, false, { 0, 0, 0 }, 0 }, START_US);
        assert_int_equal(pw_link_next_us(link), START_US);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_BEAT);
        wrote(link, NULL, START_US);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_NOTHING);
        assert_int_equal(pw_link_receive(link, link->connection, &again, START_US, NULL), PW_EXISTS);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_BEAT);
        pw_link_free(link);
}

/* Half a window of works that are done is said at once, even if nothing else is to be. */
static void test_window_is_told(void **state)
{
        struct pw_link *link = begin();

        (void)state;
        for (uint64_t number = 1; number <= WINDOW; number++)
                receive(link, (struct pw_link_head){ number, 0, 0, true, { 0, 0, 0 }, 0 }, START_US);
        for (uint32_t i = 1; i < WINDOW / 2; i++)
                pw_link_work_done(link);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_NOTHING);
        pw_link_work_done(link);
        assert_int_equal(pw_link_turn(link, START_US, NULL), PW_LINK_BEAT);
        assert_int_equal(pw_link_head(link, NULL, START_US).granted, WINDOW + WINDOW / 2);
        pw_link_free(link);
}

/* Works that waited for credits are written when there are some. */
static void test_works_are_written_when_they_may_be(void **state)
{
        struct pw_link_frame *work = pw_link_frame_new("x", 1, true);
        struct pw_link *link = begin();

        (void)state;
        assert_int_equal(pw_link_send(link, work, START_US, NULL), PW_OK);
        assert_null(pw_link_next(link));
        wrote(link, NULL, START_US);
        receive(link, (struct pw_link_head){ 0, 0, 1, false, { 0, 0, 0 }, 0 }, START_US);
        expect_written(link, 1, START_US);
        pw_link_free(link);
}

/* What the other side held before it said that it is there is not the way's; that of a later frame is only a bound. */
static void test_round_trip_without_what_was_held(void **state)
{
        struct pw_link *link = begin();

        (void)state;
        send(link, false, START_US);
        expect_written(link, 1, START_US);
        receive(link, (struct pw_link_head){ 0, 1, 0, false, { 0, 0, 0 }, 20000 }, START_US + 20080);
        assert_int_equal(link->round_us, 80);
        for (uint32_t i = 0; i < 2; i++)
                send(link, false, START_US + SECOND);
        expect_written(link, 2, START_US + SECOND);
        receive(link, (struct pw_link_head){ 0, 3, 0, false, { 0, 0, 0 }, 0 }, START_US + SECOND + 9000);
        assert_int_equal(link->round_us, 80);
        for (uint32_t i = 0; i < 2; i++)
                send(link, false, START_US + SECOND);
        expect_written(link, 2, START_US + SECOND);
        receive(link, (struct pw_link_head){ 0, 5, 0, false, { 0, 0, 0 }, 0 }, START_US + SECOND + 40);
        assert_int_equal(link->round_us, 75);
        pw_link_free(link);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_some_wait_for_company), cmocka_unit_test(test_none_waits_after_a_break),
                cmocka_unit_test(test_acknowledged_with_what_is_written), cmocka_unit_test(test_acknowledged_at_once),
                cmocka_unit_test(test_window_is_told), cmocka_unit_test(test_works_are_written_when_they_may_be),
                cmocka_unit_test(test_round_trip_without_what_was_held),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
