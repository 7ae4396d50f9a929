/* Metadata in a Redis that others write to as well: keys are removed, or are of another type. */
#include "tests/conformance/members.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* The key of the cluster's incarnation that ends so. */
static const char *key(struct scene *scene, const char *end)
{
        static char text[200];
        char incarnation[64];

        server_ask(&scene->server, incarnation, sizeof incarnation, "HGET pathways:{ants} incarnation");
        snprintf(text, sizeof text, "pathways:{ants}:%s:%s", incarnation, end);
        return text;
}

/* Without the host table no binding is known to be there: who notices puts the table back before anybody binds a name anew. */
static void test_host_table_is_removed(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *berta = &scene->hosts[1];
        char answer[200], number[12];
        uint64_t from_us;

        members_begin(scene, 2);
        until(scene, berta->row.number);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        server_ask(&scene->server, answer, sizeof answer, "DEL %s", key(scene, "hosts"));
        assert_string_equal(answer, "1");
        from_us = pw_now_us();
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_AWAY);
        members_expect(berta, PW_META_AWAY, PW_NOT_FOUND, "hosts put it back");
        until(scene, berta->counts[PW_META_BACK]);
        assert_true(pw_now_us() - from_us >= 2 * LEASE_US - 100000);
        snprintf(number, sizeof number, "%u", anna->is.host);
        server_ask(&scene->server, answer, sizeof answer, "HGET %s %s", key(scene, "hosts"), number);
        assert_non_null(strstr(answer, "anna"));
        assert_int_equal(members_ask(scene, 1, PW_NAME_BIND, "weights", members_object(berta, 1)), PW_NAMED_TAKEN);
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_OK);
}

/* A host that lives has its name and number, whatever else of them is gone. */
static void test_numbers_are_removed(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0], *other = &scene->hosts[2];
        uint32_t number;
        char answer[64];

        members_begin(scene, 2);
        number = anna->is.host;
        server_ask(&scene->server, answer, sizeof answer, "DEL %s", key(scene, "numbers"));
        assert_string_equal(answer, "1");
        server_ask(&scene->server, answer, sizeof answer, "CLIENT KILL TYPE normal");
        until(scene, anna->counts[PW_META_BACK]);
        server_ask(&scene->server, answer, sizeof answer, "HGET %s anna", key(scene, "numbers"));
        assert_int_equal(strtoul(answer, NULL, 10), number); /* it is put back */
        server_ask(&scene->server, answer, sizeof answer, "DEL %s", key(scene, "numbers"));
        scene->same_name = true;
        members_open(scene, 2, false);
        until(scene, other->counts[PW_META_WAITS]);
        members_expect(other, PW_META_WAITS, PW_EXISTS, "has this host's name");
        members_close(scene, 0);
        until(scene, other->is.epoch);
        assert_int_equal(other->is.host, number);
}

/* A name's key that is no text is no binding, and nothing else is held up by it. */
static void test_name_is_of_another_type(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        members_begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "LPUSH %s zork", key(scene, "name:ada/weights"));
        assert_string_equal(answer, "1");
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_NOT_FOUND);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_OK);
        assert_int_equal(anna->counts[PW_META_AWAY], 0);
}

/* What no host can do without: it says what is wrong, and goes on once that is mended. */
static void test_table_is_of_another_type(void **state)
{
        struct scene *scene = *state;
        struct host *anna = &scene->hosts[0];
        char answer[64];

        members_begin(scene, 1);
        server_ask(&scene->server, answer, sizeof answer, "DEL %s", key(scene, "hosts"));
        server_ask(&scene->server, answer, sizeof answer, "SET %s zork", key(scene, "hosts"));
        assert_int_equal(members_resolve(scene, 0, "weights"), PW_NAMED_AWAY);
        members_expect(anna, PW_META_AWAY, PW_PROTOCOL, "another type");
        members_expect(anna, PW_META_AWAY, PW_PROTOCOL, "with DEL");
        server_ask(&scene->server, answer, sizeof answer, "DEL %s", key(scene, "hosts"));
        until(scene, anna->counts[PW_META_BACK]);
        assert_int_equal(members_ask(scene, 0, PW_NAME_BIND, "weights", members_object(anna, 1)), PW_NAMED_OK);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, members_set_up, members_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_host_table_is_removed),
                TEST(test_numbers_are_removed),
                TEST(test_name_is_of_another_type),
                TEST(test_table_is_of_another_type),
        };

        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
