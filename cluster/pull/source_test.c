/* What is sent, and who has the room meanwhile. */
#include "cluster/pull/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct pw_id id = { .place = 5, .epoch = 6, .generation = 7 };
static struct pw_pull_source *source;
static uint64_t number;
static uint64_t asks;
static int place;

static void begin(bool is_whole, bool is_staged)
{
        asks = 0;
        assert_int_equal(pw_pull_source_new(&(struct pw_pull_source_params){ .sends = 1, .slots = 1, .first_number = 100 }, &source,
                                            NULL), PW_OK);
        assert_int_equal(pw_pull_source_offer(source, &(struct pw_offer_params){ .id = id, .bytes = 3 * PW_PULL_CHUNK_BYTES,
                                                                                 .is_whole = is_whole, .is_staged = is_staged,
                                                                                 .place = &place }, &number, NULL), PW_OK);
        assert_int_equal(number, 101);
}

static void ask(uint32_t host, uint32_t stream, uint32_t chunk)
{
        struct pw_pull_message message = { .kind = PW_PULL_MSG_ASK, .source_number = number, .ask = ++asks, .stream = stream,
                                           .chunk = chunk, .id = id };

        assert_int_equal(pw_pull_source_receive(source, host, &message, NULL), PW_OK);
}

/* The next action, in words; its send. */
static uint64_t done(const char *text)
{
        static const char *const words[] = { "", "say", "stage", "send", "stop", "let go" };
        struct pw_pull_source_action action;
        char line[100] = "nothing";

        if (!pw_pull_source_next(source, &action))
                action.send = 0;
        else if (action.kind == PW_PULL_SOURCE_SAY)
                snprintf(line, sizeof line, "%u: %s of %lu", action.host,
                         action.message.kind == PW_PULL_MSG_WAIT ? "wait" : pw_status_name(action.message.status),
                         (unsigned long)action.message.ask);
        else
                snprintf(line, sizeof line, "%u: %s %u%s", action.host, words[action.kind], action.chunk,
                         action.is_staged ? " of a slot" : "");
        assert_string_equal(line, text);
        return action.send;
}

static void end(void)
{
        pw_pull_source_withdraw(source, number, PW_GONE);
        pw_pull_source_free(source);
}

/* One at a time of each stream; what waits for its chunk keeps nothing else waiting. */
static void test_streams(void **state)
{
        uint64_t send;

        (void)state;
        begin(false, false);
        pw_pull_source_have(source, number, 1);
        ask(1, 0, 0);
        ask(1, 0, 1);
        ask(1, 0, 1);
        ask(1, 1, 1);
        done("1: wait of 1");
        send = done("1: send 1");
        done("1: send 1"); /* over the other stream */
        done("nothing");
        pw_pull_source_sent(source, send, PW_OK);
        send = done("1: send 1");
        pw_pull_source_have(source, number, 0);
        done("nothing");
        pw_pull_source_sent(source, send, PW_OK);
        done("1: send 0");
        end();
}

/* Who reads a room keeps it; who asks for it once it is withdrawn is refused, and so is who waited. */
static void test_reader(void **state)
{
        uint64_t send;

        (void)state;
        begin(true, false);
        ask(1, 0, 0);
        send = done("1: send 0");
        ask(1, 0, 1);
        pw_pull_source_withdraw(source, number, PW_DEVICE_LOST);
        done("1: stop 0");
        done("1: PW_DEVICE_LOST of 2");
        done("nothing");
        ask(2, 0, 1);
        done("2: PW_GONE of 3");
        done("nothing");
        pw_pull_source_sent(source, send, PW_CANCELLED);
        done("1: PW_GONE of 1");
        done("0: let go 0");
        done("nothing");
        ask(1, 0, 0);
        done("1: PW_GONE of 4");
        end();
}

/* Staged by the one place there is: once the executor is done nobody has the room, and the place is free when the thread is. */
static void test_staged(void **state)
{
        uint64_t send;

        (void)state;
        begin(true, true);
        ask(1, 0, 0);
        ask(1, 1, 1);
        ask(2, 0, 2); /* whose link has a reserve of its own */
        send = done("1: stage 0 of a slot");
        pw_pull_source_staged(source, done("2: stage 2 of a slot"), PW_DEVICE_LOST);
        done("2: PW_DEVICE_LOST of 3");
        done("nothing");
        pw_pull_source_staged(source, send, PW_OK);
        assert_int_equal(done("1: send 0 of a slot"), send);
        pw_pull_source_withdraw(source, number, PW_GONE);
        done("1: PW_GONE of 2");
        done("0: let go 0");
        done("nothing");
        pw_pull_source_sent(source, send, PW_OK);
        done("nothing");
        end();
}

/* What an ended term asked for is not wanted, but threads have what they have. */
static void test_ended(void **state)
{
        uint64_t send;

        (void)state;
        begin(true, false);
        ask(1, 0, 0);
        ask(1, 0, 1);
        send = done("1: send 0");
        pw_pull_source_ended(source, 1);
        assert_int_equal(pw_pull_source_count(source).waiting, 0);
        assert_int_equal(done("1: stop 0"), send);
        ask(1, 0, 2);
        done("nothing"); /* the stream is the other's yet */
        pw_pull_source_sent(source, send, PW_SYSTEM);
        done("1: send 2");
        end();
}

static void test_refused(void **state)
{
        struct pw_pull_message message = { .kind = PW_PULL_MSG_ASK, .source_number = number, .ask = 5, .chunk = 3, .id = id };

        (void)state;
        begin(true, false);
        message.source_number = number;
        assert_int_equal(pw_pull_source_receive(source, 1, &message, NULL), PW_PROTOCOL); /* a chunk that it does not have */
        message.chunk = 2;
        assert_int_equal(pw_pull_source_receive(source, 1, &message, NULL), PW_OK);
        assert_int_equal(pw_pull_source_receive(source, 1, &message, NULL), PW_PROTOCOL); /* a number for the second time */
        message.kind = PW_PULL_MSG_NAMED;
        assert_int_equal(pw_pull_source_receive(source, 1, &message, NULL), PW_PROTOCOL);
        message = (struct pw_pull_message){ .kind = PW_PULL_MSG_ASK, .source_number = number - 1, .ask = 6, .id = id };
        assert_int_equal(pw_pull_source_receive(source, 1, &message, NULL), PW_OK);
        done("1: send 2");
        message = (struct pw_pull_message){ .kind = PW_PULL_MSG_ASK, .source_number = number, .ask = 7, .id = { 5, 6, 8 } };
        assert_int_equal(pw_pull_source_receive(source, 1, &message, NULL), PW_OK);
        done("1: PW_GONE of 6"); /* what an offer before this one had */
        done("1: PW_GONE of 7"); /* another object */
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_streams), cmocka_unit_test(test_reader), cmocka_unit_test(test_staged),
                cmocka_unit_test(test_ended), cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
