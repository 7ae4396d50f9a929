/* Which names hosts can have. */
#include "base/host_name.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names(void **state)
{
        char longest[PW_HOST_NAME_MAX + 2];

        (void)state;
        assert_true(pw_host_name_ok("a") && pw_host_name_ok("Node-7.rack_2.example"));
        assert_false(pw_host_name_ok(""));
        for (const char *c = " /:{}\"\n\x80"; *c; c++) {
                char name[] = { 'a', *c, 'b', 0 };
                assert_false(pw_host_name_ok(name));
        }
        memset(longest, 'x', sizeof longest);
        longest[PW_HOST_NAME_MAX] = 0;
        assert_true(pw_host_name_ok(longest));
        longest[PW_HOST_NAME_MAX] = 'x';
        longest[PW_HOST_NAME_MAX + 1] = 0;
        assert_false(pw_host_name_ok(longest));
}

static void equal(void **state)
{
        (void)state;
        assert_true(pw_host_name_equal("Node-7", "node-7"));
        assert_false(pw_host_name_equal("node-7", "node-70"));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(names), cmocka_unit_test(equal) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
