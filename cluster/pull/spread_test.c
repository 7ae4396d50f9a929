/* Who is sent to whom, one thing after the other. */
#include "cluster/pull/spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOME 9u

static const struct pw_id id = { .place = 5, .epoch = 6, .generation = 7 };
static struct pw_pull_spread *spread;

static void begin(bool is_offered)
{
        assert_int_equal(pw_pull_spread_new(&(struct pw_pull_spread_params){ .own = HOME, .askers = 1 }, &spread, NULL), PW_OK);
        if (is_offered)
                assert_int_equal(pw_pull_spread_offer(spread, id, 90, NULL), PW_OK);
}

/* Each host pulls by its number times ten. */
static void hear(uint32_t host, enum pw_pull_kind kind, uint64_t round, enum pw_status status)
{
        struct pw_pull_message message = { .kind = kind, .number = host * 10, .round = round, .status = status };

        if (kind == PW_PULL_MSG_WANT || kind == PW_PULL_MSG_HAVE)
                message.id = id;
        assert_int_equal(pw_pull_spread_receive(spread, host, &message, NULL), PW_OK);
}

/* The next thing that is said: "host: source" or "host: status". */
static void said(const char *text)
{
        struct pw_pull_spread_action action;
        char line[100];

        assert_true(pw_pull_spread_next(spread, &action));
        if (action.message.status == PW_OK)
                snprintf(line, sizeof line, "%u: %u by %lu", action.host, action.message.source,
                         (unsigned long)action.message.source_number);
        else
                snprintf(line, sizeof line, "%u: %s", action.host, pw_status_name(action.message.status));
        assert_string_equal(line, text);
}

static void said_all(void)
{
        struct pw_pull_spread_action action;

        assert_false(pw_pull_spread_next(spread, &action));
}

static void end(void)
{
        pw_pull_spread_withdraw(spread, id, PW_DEVICE_LOST);
        for (uint32_t host = 1; host < HOME; host++)
                pw_pull_spread_ended(spread, host);
        assert_int_equal(pw_pull_spread_objects(spread), 0);
        pw_pull_spread_free(spread);
}

/* The first is sent home, the second to the first; when that is whole the home has a place again. */
static void test_chain(void **state)
{
        (void)state;
        begin(true);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        said("1: 9 by 90");
        hear(2, PW_PULL_MSG_WANT, 0, PW_OK);
        said("2: 1 by 10");
        hear(1, PW_PULL_MSG_WHOLE, 0, PW_OK);
        hear(3, PW_PULL_MSG_WANT, 0, PW_OK);
        said("3: 9 by 90");
        said_all();
        end();
}

/* Who came first may not wait for who came later, though that has a place: it waits for one of those before it. */
static void test_no_circle(void **state)
{
        (void)state;
        begin(true);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        hear(2, PW_PULL_MSG_WANT, 0, PW_OK);
        hear(3, PW_PULL_MSG_WANT, 0, PW_OK);
        said("1: 9 by 90");
        said("2: 1 by 10");
        said("3: 2 by 20");
        hear(2, PW_PULL_MSG_REPORT, 1, PW_DEADLINE); /* 1 is out; 9 has its asker, 3 came later */
        said_all();
        hear(1, PW_PULL_MSG_LEAVE, 0, PW_OK);
        said("2: 9 by 90");
        said_all();
        end();
}

/* A report of what is not its source any more changes nothing; one of a source that was never named is a lie. */
static void test_round(void **state)
{
        struct pw_pull_message message = { .kind = PW_PULL_MSG_REPORT, .number = 20, .round = 3, .status = PW_DEADLINE };

        (void)state;
        begin(true);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        hear(2, PW_PULL_MSG_WANT, 0, PW_OK);
        said("1: 9 by 90");
        said("2: 1 by 10");
        hear(1, PW_PULL_MSG_LEAVE, 0, PW_OK);
        said("2: 9 by 90");
        hear(2, PW_PULL_MSG_REPORT, 1, PW_GONE);
        said_all();
        assert_int_equal(pw_pull_spread_receive(spread, 2, &message, NULL), PW_PROTOCOL);
        end();
}

/* What somebody reported is not named to it again, but to others; who has nothing left is told why, and leaves. */
static void test_barred(void **state)
{
        (void)state;
        begin(true);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        said("1: 9 by 90");
        hear(1, PW_PULL_MSG_REPORT, 1, PW_PROTOCOL);
        said("1: PW_PROTOCOL");
        hear(1, PW_PULL_MSG_LEAVE, 0, PW_OK);
        hear(2, PW_PULL_MSG_WANT, 0, PW_OK);
        said("2: 9 by 90");
        said_all();
        end();
}

/* It waits where all have their askers; where there is none, and none to come, it is refused. */
static void test_waits(void **state)
{
        (void)state;
        begin(false);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        said("1: PW_GONE");
        assert_int_equal(pw_pull_spread_objects(spread), 0);
        assert_int_equal(pw_pull_spread_offer(spread, id, 90, NULL), PW_OK);
        for (uint32_t host = 2; host < 4; host++)
                hear(host, PW_PULL_MSG_WANT, 0, PW_OK);
        said("2: 9 by 90");
        said("3: 2 by 20");
        hear(3, PW_PULL_MSG_REPORT, 1, PW_HOST_LOST); /* 2 is out for all */
        said_all();
        hear(4, PW_PULL_MSG_WANT, 0, PW_OK);
        said("4: 3 by 30"); /* which waits itself, and came before it */
        hear(2, PW_PULL_MSG_WHOLE, 0, PW_OK);
        said("3: 9 by 90");
        hear(5, PW_PULL_MSG_WANT, 0, PW_OK);
        said("5: 2 by 20"); /* it is whole, and good again */
        said_all();
        end();
}

/* Who has it whole since an earlier term is a source; of what is not offered here it is none. */
static void test_have(void **state)
{
        struct pw_pull_message message = { .kind = PW_PULL_MSG_HAVE, .number = 10, .id = id };

        (void)state;
        begin(false);
        hear(1, PW_PULL_MSG_HAVE, 0, PW_OK);
        assert_int_equal(pw_pull_spread_objects(spread), 0);
        assert_int_equal(pw_pull_spread_offer(spread, id, 90, NULL), PW_OK);
        hear(2, PW_PULL_MSG_WANT, 0, PW_OK);
        said("2: 9 by 90");
        hear(1, PW_PULL_MSG_HAVE, 0, PW_OK); /* by a number that is lower than others of its */
        hear(3, PW_PULL_MSG_WANT, 0, PW_OK);
        said("3: 1 by 10");
        assert_int_equal(pw_pull_spread_receive(spread, 1, &message, NULL), PW_PROTOCOL);
        hear(1, PW_PULL_MSG_LEAVE, 0, PW_OK);
        said("3: 2 by 20");
        said_all();
        end();
}

/* What is offered anew takes the place of what was; what is withdrawn is told with its reason. */
static void test_offered_anew(void **state)
{
        (void)state;
        begin(true);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        said("1: 9 by 90");
        hear(1, PW_PULL_MSG_REPORT, 1, PW_GONE);
        said("1: PW_GONE");
        hear(2, PW_PULL_MSG_WANT, 0, PW_OK);
        said("2: 9 by 90");
        assert_int_equal(pw_pull_spread_offer(spread, id, 91, NULL), PW_OK);
        said("2: 9 by 91");
        hear(3, PW_PULL_MSG_WANT, 0, PW_OK);
        said("3: 2 by 20");
        hear(3, PW_PULL_MSG_REPORT, 1, PW_HOST_LOST);
        said_all();
        pw_pull_spread_withdraw(spread, id, PW_DEVICE_LOST);
        said("2: PW_DEVICE_LOST");
        said("3: PW_DEVICE_LOST"); /* not what it lost on its way */
        said_all();
        end();
}

/* A number is used once. */
static void test_numbers(void **state)
{
        struct pw_pull_message message = { .kind = PW_PULL_MSG_WANT, .number = 10, .id = id };

        (void)state;
        begin(true);
        hear(1, PW_PULL_MSG_WANT, 0, PW_OK);
        assert_int_equal(pw_pull_spread_receive(spread, 1, &message, NULL), PW_PROTOCOL);
        message.kind = PW_PULL_MSG_ASK;
        assert_int_equal(pw_pull_spread_receive(spread, 1, &message, NULL), PW_PROTOCOL);
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_chain), cmocka_unit_test(test_no_circle), cmocka_unit_test(test_round),
                cmocka_unit_test(test_barred), cmocka_unit_test(test_waits), cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_have), cmocka_unit_test(test_offered_anew),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
