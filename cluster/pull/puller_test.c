/* What a puller does about what its source, its home and its threads say. */
#include "cluster/pull/pull.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOME 9u
#define SECOND UINT64_C(1000000)

static const struct pw_id id = { .place = 5, .epoch = 6, .generation = 7 };
static struct pw_pulls *pulls;
static struct pw_pull *pull;
static uint64_t now_us, rounds;
static int place;

static void begin(void)
{
        now_us = SECOND;
        rounds = 0;
        assert_int_equal(pw_pulls_new(&(struct pw_pulls_params){ .ahead = 2, .streams = 2, .stall_us = 10 * SECOND,
                                                                 .deadline_us = 30 * SECOND }, &pulls, NULL), PW_OK);
        assert_int_equal(pw_pull_begin(pulls, &(struct pw_pull_request){ .id = id, .home = HOME, .number = 77, .place = &place,
                                                                         .bytes = 3 * PW_PULL_CHUNK_BYTES, .now_us = now_us },
                                       &pull, NULL), PW_OK);
}

/* All that is to be done, in words. */
static void done(const char *text)
{
        static const char *const words[] = { "", "", "receive", "stop", "here", "ready", "failed", "let go" };
        static const char *const kinds[] = { [PW_PULL_MSG_WANT] = "want", "named", "report", "whole", "have", "leave", "ask",
                                             "cease" };
        struct pw_pulls_action action;
        char line[500] = "";
        size_t length = 0;

        while (pw_pulls_next(pulls, &action)) {
                const struct pw_pull_message *message = &action.message;

                if (action.kind != PW_PULLS_SAY)
                        length += (size_t)snprintf(line + length, sizeof line - length, "%s %u; ", words[action.kind],
                                                   action.kind == PW_PULLS_FAILED ? action.host : action.chunk);
                else if (message->kind == PW_PULL_MSG_ASK || message->kind == PW_PULL_MSG_STOP)
                        length += (size_t)snprintf(line + length, sizeof line - length, "%s %lu; ", kinds[message->kind],
                                                   (unsigned long)message->ask);
                else
                        length += (size_t)snprintf(line + length, sizeof line - length, "%s; ", kinds[message->kind]);
        }
        assert_string_equal(line, text);
}

static void hear(uint32_t host, struct pw_pull_message message)
{
        assert_int_equal(pw_pulls_receive(pulls, host, &message, now_us, NULL), PW_OK);
}

static void named(uint32_t source)
{
        hear(HOME, (struct pw_pull_message){ .kind = PW_PULL_MSG_NAMED, .number = 77, .round = ++rounds, .source = source,
                                             .source_number = 5 });
}

static void reported(uint64_t ask, enum pw_status status) { pw_pulls_reported(pulls, ask, status, now_us); }

/* A range is asked for again, of whomever, only once its thread has reported; what it got in time counts. */
static void test_range(void **state)
{
        (void)state;
        begin();
        done("want; ");
        named(1);
        done("receive 0; ask 1; receive 1; ask 2; ");
        named(2);
        done("cease 1; stop 0; cease 2; stop 1; receive 2; ask 3; ");
        rounds = 0;
        named(1); /* nothing new */
        done("");
        reported(1, PW_CANCELLED);
        done("receive 0; ask 4; ");
        reported(2, PW_OK);
        done("here 1; ");
        reported(3, PW_OK);
        reported(4, PW_OK);
        done("here 2; here 0; whole; ready 0; ");
        pw_pull_cancel(pulls, pull);
        done("leave; let go 0; ");
        pw_pulls_free(pulls);
}

static void test_refused(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        hear(2, (struct pw_pull_message){ .kind = PW_PULL_MSG_REFUSE, .ask = 1, .status = PW_GONE });
        done(""); /* it was not asked */
        hear(1, (struct pw_pull_message){ .kind = PW_PULL_MSG_REFUSE, .ask = 1, .status = PW_GONE });
        done("cease 1; stop 0; cease 2; stop 1; report; ");
        pw_pulls_free(pulls);
}

/* Chunks that are wrong are asked for again, three in a row are the source's fault; streams that break, too. */
static void test_faults(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        reported(1, PW_PROTOCOL);
        done("receive 0; ask 3; ");
        reported(2, PW_SYSTEM);
        done("cease 2; receive 1; ask 4; ");
        reported(3, PW_OK);
        done("here 0; receive 2; ask 5; ");
        reported(4, PW_PROTOCOL);
        reported(5, PW_PROTOCOL);
        done("receive 1; ask 6; receive 2; ask 7; ");
        reported(6, PW_PROTOCOL);
        done("cease 7; stop 2; report; ");
        pw_pulls_free(pulls);
}

/* There is no way to the source. */
static void test_no_way(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        reported(1, PW_DEADLINE);
        done("cease 1; cease 2; stop 1; report; ");
        pw_pulls_free(pulls);
}

/* A connection that breaks takes its streams with it, and what they had asked waits till it is back: no fault of the source. */
static void test_met_anew(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        reported(1, PW_SYSTEM);
        done("cease 1; receive 0; ask 3; ");
        reported(3, PW_SYSTEM);
        now_us += 9 * SECOND;
        pw_pulls_met(pulls, 1, now_us);
        done("cease 3; receive 0; ask 4; ");
        now_us += 9 * SECOND;
        pw_pulls_turn(pulls, now_us);
        reported(4, PW_SYSTEM); /* the third, and the first since */
        done("cease 4; receive 0; ask 5; ");
        now_us += 9 * SECOND;
        pw_pulls_turn(pulls, now_us);
        done(""); /* it was asked as long ago */
        now_us += SECOND;
        pw_pulls_turn(pulls, now_us);
        done("cease 5; stop 0; cease 2; stop 1; report; ");
        pw_pulls_free(pulls);
}

/* A stream that breaks under all that was asked over it is one failure; the third without a chunk between is the source's. */
static void test_broken_streams(void **state)
{
        uint64_t ask = 0;

        (void)state;
        now_us = SECOND;
        rounds = 0;
        assert_int_equal(pw_pulls_new(&(struct pw_pulls_params){ .ahead = 4, .streams = 2, .stall_us = 10 * SECOND,
                                                                 .deadline_us = 30 * SECOND }, &pulls, NULL), PW_OK);
        assert_int_equal(pw_pull_begin(pulls, &(struct pw_pull_request){ .id = id, .home = HOME, .number = 77, .place = &place,
                                                                         .bytes = 4 * PW_PULL_CHUNK_BYTES, .now_us = now_us },
                                       &pull, NULL), PW_OK);
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; receive 2; ask 3; receive 3; ask 4; ");
        while (ask < 4)
                reported(++ask, PW_SYSTEM);
        done("cease 1; cease 2; cease 3; cease 4; receive 0; ask 5; receive 1; ask 6; receive 2; ask 7; receive 3; ask 8; ");
        while (ask < 8)
                reported(++ask, PW_SYSTEM);
        done("cease 5; cease 6; cease 7; cease 8; receive 0; ask 9; receive 1; ask 10; receive 2; ask 11; receive 3; ask 12; ");
        reported(9, PW_SYSTEM);
        done("cease 9; cease 10; stop 1; cease 11; stop 2; cease 12; stop 3; report; ");
        pw_pulls_free(pulls);
}

/* Whose source says nothing reports it; whose source waits itself does not, till the deadline. */
static void test_time(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        assert_int_equal(pw_pulls_next_us(pulls), 11 * SECOND);
        for (uint64_t ask = 1; ask < 3; ask++)
                hear(1, (struct pw_pull_message){ .kind = PW_PULL_MSG_WAIT, .ask = ask });
        pw_pulls_turn(pulls, now_us = 12 * SECOND);
        done("");
        named(2);
        done("cease 1; stop 0; cease 2; stop 1; receive 2; ask 3; ");
        pw_pulls_turn(pulls, now_us = 21 * SECOND);
        done("");
        pw_pulls_turn(pulls, now_us = 22 * SECOND);
        done("cease 3; stop 2; report; ");
        assert_int_equal(pw_pulls_next_us(pulls), 31 * SECOND);
        pw_pulls_turn(pulls, now_us = 31 * SECOND);
        done("leave; failed 9; ");
        for (uint64_t ask = 1; ask < 4; ask++)
                reported(ask, PW_CANCELLED);
        done("let go 0; ");
        assert_int_equal(pw_pulls_next_us(pulls), UINT64_MAX);
        pw_pulls_free(pulls);
}

/* Who leaves before the home has answered is not heard before its WANT; its room is free at once. */
static void test_leaves_early(void **state)
{
        (void)state;
        begin();
        done("want; ");
        pw_pull_cancel(pulls, pull);
        done("let go 0; ");
        assert_null(pw_pull_find(pulls, id));
        named(1);
        done("leave; ");
        pw_pulls_free(pulls);
}

/* Whose home has no source for it any more, and which got the last chunk all the same, says that it has it. */
static void test_whole_all_the_same(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        reported(1, PW_OK);
        reported(2, PW_OK);
        done("here 0; here 1; receive 2; ask 3; ");
        hear(1, (struct pw_pull_message){ .kind = PW_PULL_MSG_REFUSE, .ask = 3, .status = PW_GONE });
        done("cease 3; stop 2; report; ");
        reported(3, PW_OK);
        done("here 2; whole; ready 0; ");
        hear(HOME, (struct pw_pull_message){ .kind = PW_PULL_MSG_NAMED, .number = 77, .round = 2, .status = PW_GONE });
        done("have; ");
        pw_pulls_free(pulls);
}

/* A lost home ends what is under way; what is whole stays, and tells nobody that it goes. */
static void test_home_lost(void **state)
{
        (void)state;
        begin();
        named(1);
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        reported(1, PW_OK);
        done("here 0; receive 2; ask 3; ");
        reported(2, PW_OK);
        reported(3, PW_OK);
        done("here 1; here 2; whole; ready 0; ");
        pw_pulls_ended(pulls, HOME);
        done("");
        assert_ptr_equal(pw_pull_find(pulls, id), pull);
        pw_pull_renewed(pulls, pull, HOME);
        done("have; ");
        pw_pull_renewed(pulls, pull, HOME);
        done("");
        pw_pulls_ended(pulls, HOME);
        pw_pull_renewed(pulls, pull, 3); /* who has it from now on */
        done("have; ");
        pw_pull_cancel(pulls, pull);
        done("leave; let go 0; ");
        pw_pulls_free(pulls);
        begin();
        named(HOME); /* which is told nothing more */
        done("want; receive 0; ask 1; receive 1; ask 2; ");
        pw_pulls_ended(pulls, HOME);
        done("stop 0; stop 1; failed 9; ");
        reported(1, PW_CANCELLED);
        done("");
        reported(2, PW_OK);
        done("here 1; let go 0; ");
        pw_pulls_free(pulls);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_range), cmocka_unit_test(test_refused), cmocka_unit_test(test_faults),
                cmocka_unit_test(test_no_way), cmocka_unit_test(test_met_anew), cmocka_unit_test(test_broken_streams),
                cmocka_unit_test(test_time), cmocka_unit_test(test_leaves_early), cmocka_unit_test(test_home_lost),
                cmocka_unit_test(test_whole_all_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
