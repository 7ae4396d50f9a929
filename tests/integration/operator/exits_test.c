/* How `pathways` ends: each exit status, of each command that has it, with one line on standard error; and arguments that make no
 * sense.
 */
#include "tests/integration/operator/command.h"
#include "tests/integration/scene.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPECT(code, texts, ...) it_command_expect(host, code, texts, IT_ARGS(__VA_ARGS__))

enum { DONE = 0, FAILED = 1, USAGE = 2, DEADLINE = 4, NOT_FOUND = 5, DENIED = 6 };

static void bind_number(struct it_host *host, const char *name)
{
        struct pw_future *value = it_put_scalar(host->session, 1);

        it_ok(pw_name(value, name, IT_ERR));
        pw_unref(value);
}

static void what_is_done(void **state)
{
        struct it_host *host = *state;
        static const char *const commands[] = { "status", "hosts", "devices", "islands", "objects", "memory", "owners", "programs",
                                                "runs", "gangs", "check" };

        bind_number(host, "here");
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
                assert_int_equal(it_command(host, NULL, NULL, commands[i]), DONE);
        EXPECT(DONE, "here", "object", "here");
        EXPECT(DONE, "ready", "wait", "here", "--timeout", "0");
        EXPECT(DONE, "held by name here", "why", "here");
        EXPECT(DONE, "1 run of pw/nop", "run", "pw/nop");
        EXPECT(DONE, "", "free", "here");
}

static void what_is_not_there(void **state)
{
        struct it_host *host = *state;

        EXPECT(NOT_FOUND, "pathways: name nope: not bound", "get", "nope");
        EXPECT(NOT_FOUND, "name nope: not bound", "wait", "nope");
        EXPECT(NOT_FOUND, "name nope: not bound", "free", "nope");
        EXPECT(NOT_FOUND, "name nope: not bound", "move", "nope");
        EXPECT(NOT_FOUND, "name nope: not bound", "transfer", "nope", "pid", "1");
        EXPECT(NOT_FOUND, "nope: neither an id", "object", "nope");
        EXPECT(NOT_FOUND, "nope: neither an id", "why", "nope");
        EXPECT(NOT_FOUND, "run 99: there was no run yet", "why", "run", "99");
        EXPECT(NOT_FOUND, "no such process is attached", "why", "pid", "1");
        EXPECT(NOT_FOUND, "this host is h0", "why", "h9");
        EXPECT(NOT_FOUND, "run 99", "cancel", "run", "99");
        EXPECT(NOT_FOUND, "program 99: there is none", "programs", "99");
        EXPECT(NOT_FOUND, "device h0:99: this host has", "gangs", "h0:99");
}

static void what_cannot_be_asked(void **state)
{
        struct it_host *host = *state;

        EXPECT(USAGE, "there is no command", "nosuch");
        EXPECT(USAGE, "get needs ID|NAME", "get");
        EXPECT(USAGE, "status: \"x\" is too much", "status", "x");
        EXPECT(USAGE, "there is no option --nosuch", "status", "--nosuch");
        EXPECT(USAGE, "programs: \"x\" is no number of a program", "programs", "x");
        EXPECT(USAGE, "why: \"x\" is no number of a run", "why", "run", "x");
        EXPECT(USAGE, "why: \"1x\" is no number of a process", "why", "pid", "1x");
        EXPECT(USAGE, "x is not the number of a run", "cancel", "run", "x");
        EXPECT(USAGE, "--ttl 0: at least 1us", "put", "/dev/null", "--ttl", "0");
        EXPECT(USAGE, "--ttl 0: at least 1us", "put", "/dev/null", "--name", "n", "--ttl", "0s");
        EXPECT(USAGE, "\"-1\" is not a duration", "put", "/dev/null", "--ttl=-1");
        EXPECT(USAGE, "64 bits are too few", "put", "/dev/null", "--ttl", "99999999999999d");
        EXPECT(USAGE, "--watch: at least 10ms", "status", "--watch=0");
        EXPECT(USAGE, "--watch: at least 10ms", "objects", "--watch=1us");
        EXPECT(USAGE, "--seconds 0: at least 1us", "trace", "--seconds", "0");
        EXPECT(USAGE, "--interval is from 100ms to 1min", "top", "--interval", "0");
        EXPECT(USAGE, "\"-1\" is not a whole number", "runs", "--limit=-1");
        EXPECT(USAGE, "99999999999 is above 4294967295", "runs", "--limit", "99999999999");
        EXPECT(USAGE, "a slice has at least one device", "run", "pw/nop", "--devices", "0");
        EXPECT(USAGE, "--repeat and --ahead are at least 1", "run", "pw/nop", "--ahead", "0");
        EXPECT(USAGE, "at most 8 numbers", "run", "pw/nop", "--dims", "1,2,3,4,5,6,7,8,9");
        assert_int_equal(it_listed(host->session, "status", "objects"), 0);
}

static void what_fails_or_is_late(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future;
        void *data;

        it_ok(pw_create(host->session, 8, NULL, &future, &data, IT_ERR));
        it_ok(pw_name(future, "late", IT_ERR));
        EXPECT(DEADLINE, "not ready until the deadline", "get", "late", "--timeout", "1ms");
        EXPECT(DEADLINE, "wait: the deadline passed", "wait", "late", "--timeout", "1ms");
        EXPECT(DEADLINE, "nobody bound it", "get", "later", "--wait", "--timeout", "1ms");
        it_ok(pw_abort(future, IT_ERR));
        EXPECT(FAILED, "wait: 1 of 1 is in error", "wait", "late");
        EXPECT(FAILED, "slice of 9 devices", "run", "pw/nop", "--devices", "9");
        EXPECT(FAILED, "/nosuch", "put", "/nosuch");
        it_ok(pw_unname(host->session, "late", IT_ERR));
        pw_unref(future);
}

static void who_may_not(void **state)
{
        struct it_host *host = *state;

        if (geteuid() != 0)
                it_skip("needs root, to be another user");
        assert_int_equal(chmod(host->socket, 0600), 0);
        it_command_as(65534);
        EXPECT(DENIED, host->socket, "status");
        it_command_as(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(what_is_done), IT_TEST(what_is_not_there), IT_TEST(what_cannot_be_asked),
                                            IT_TEST(what_fails_or_is_late), IT_TEST(who_may_not) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
