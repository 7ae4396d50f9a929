/* A change of state as a line. */
#include "base/transition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const states[] = { "none", "shut", "open" }, *const events[] = { "knock", "ring" };

static void assert_line(const struct pw_transition *transition, const char *line)
{
        char text[PW_TRANSITION_TEXT_BYTES];

        assert_ptr_equal(pw_transition_format(transition, text), text);
        assert_string_equal(text, line);
}

static void test_line(void **state)
{
        const struct pw_transition_kind door = { "door", 1, false, states, events }, gate = { "gate", 3, true, states, events };
        (void)state;

        assert_line(&(struct pw_transition){ &door, { 12, 3, 4 }, 1, 2, 0 }, "door=12 from=shut to=open cause=knock");
        assert_line(&(struct pw_transition){ &gate, { 12, 3, UINT32_MAX }, 2, 0, 1 },
                    "gate=c.3.ffffffff from=open to=none cause=ring");
}

/* What is longer than a line is cut. */
static void test_long(void **state)
{
        char name[2 * PW_TRANSITION_TEXT_BYTES], text[PW_TRANSITION_TEXT_BYTES];
        struct pw_transition_kind kind = { name, 3, false, states, events };
        (void)state;

        for (size_t length = PW_TRANSITION_TEXT_BYTES - 40; length < sizeof name; length += 7) {
                memset(name, 'x', length);
                name[length] = 0;
                pw_transition_format(&(struct pw_transition){ &kind, { UINT64_MAX, UINT64_MAX, UINT64_MAX }, 1, 2, 0 }, text);
                assert_true(strlen(text) == sizeof text - 1 && text[PW_TRANSITION_TEXT_BYTES - 45] == 'x');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_line), cmocka_unit_test(test_long) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
