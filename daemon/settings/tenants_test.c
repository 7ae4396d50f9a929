/* What tenants are called: lines of --tenant, and what they say. */
#include "daemon/settings/tenants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_lines(void **state)
{
        char *items[] = { (char[]){ "robert=bo" }, (char[]){ "uid-1007=ann" } };
        struct pw_text_list lines = { items, 2 };
        size_t bytes;

        (void)state;
        assert_int_equal(pw_tenants_check(&lines, NULL), PW_OK);
        assert_string_equal(pw_tenants_name(&lines, "robert"), "bo");
        assert_string_equal(pw_tenants_name(&lines, "uid-1007"), "ann");
        assert_null(pw_tenants_name(&lines, "rob"));
        assert_null(pw_tenants_name(&lines, "bo"));
        assert_memory_equal(pw_tenants_user(&lines, "ann", &bytes), "uid-1007", 8);
        assert_int_equal(bytes, 8);
        assert_null(pw_tenants_user(&lines, "robert", &bytes));
}

static void test_wrong(void **state)
{
        static const struct { const char *first, *second, *says; } wrong[] = {
                { "robert", "a=b", "for example robert=bo" },         { "=bo", "a=b", "for example robert=bo" },
                { "robert=", "a=b", "for example robert=bo" },        { "robert=b o", "a=b", "for example robert=bo" },
                { "robert=uid-7", "a=b", "is called uid-..." },       { "robert=bo", "robert=ann", "has a tenant already" },
                { "robert=bo", "roberta=bo", "another user has" },
        };
        struct pw_error err;

        (void)state;
        for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                char *items[] = { strdup(wrong[i].first), strdup(wrong[i].second) };

                assert_int_equal(pw_tenants_check(&(struct pw_text_list){ items, 2 }, &err), PW_INVALID);
                assert_non_null(strstr(err.text, wrong[i].says));
                free(items[0]);
                free(items[1]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines), cmocka_unit_test(test_wrong) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
