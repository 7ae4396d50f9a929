/* The tests of a program: watched, and skipped only with a reason. */
#include "tests/integration/group.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WATCHDOG_S 300
#define EXIT_SKIP 77

static struct {
        const struct CMUnitTest *tests;
        size_t next, skipped;
        bool has_reason;
        timer_t timer;
        char hangs[200]; /* what is said if the test does not end */
} group;

/* --- the watchdog ----------------------------------------------------------------------------------------------------- */

static void on_hang(int signal)
{
        (void)signal;
        (void)!write(STDERR_FILENO, group.hangs, strlen(group.hangs));
        _exit(1); /* children and the daemon go with their parent */
}

static void watch(int64_t seconds)
{
        struct itimerspec at = { .it_value.tv_sec = seconds };

        timer_settime(group.timer, 0, &at, NULL);
}

static int begin(void **state)
{
        const struct CMUnitTest *test = &group.tests[group.next++];
        int64_t seconds = (int64_t)it_environment("PW_WATCHDOG", WATCHDOG_S);

        group.has_reason = false;
        snprintf(group.hangs, sizeof group.hangs, "[  ERROR   ] --- %.100s hangs: it is not over after %d s\n", test->name,
                 (int)seconds);
        watch(seconds);
        it_others_begin();
        return test->setup_func ? test->setup_func(state) : 0;
}

static int end(void **state)
{
        const struct CMUnitTest *test = &group.tests[group.next - 1];
        int status = test->teardown_func ? test->teardown_func(state) : 0;

        watch(0);
        return status;
}

/* --- skipping --------------------------------------------------------------------------------------------------------- */

void it_because(const char *format, ...)
{
        char reason[300];
        va_list args;

        va_start(args, format);
        vsnprintf(reason, sizeof reason, format, args);
        va_end(args);
        print_message("[ BECAUSE  ] %s\n", reason);
        group.has_reason = true;
}

void it_skip_at(const char *file, int line)
{
        if (!group.has_reason) {
                print_error("a test is skipped and does not say why\n");
                _fail(file, line);
        }
        group.skipped++;
        _skip(file, line);
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

int it_run_group(const char *name, const struct CMUnitTest *tests, size_t count)
{
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM };
        struct CMUnitTest *watched = malloc((count + 1) * sizeof *watched);

        if (!watched || signal(SIGVTALRM, on_hang) == SIG_ERR || timer_create(CLOCK_MONOTONIC, &event, &group.timer)) {
                fprintf(stderr, "no watchdog for the tests\n");
                free(watched);
                return 1;
        }
        memcpy(watched, tests, count * sizeof *tests);
        for (size_t i = 0; i < count; i++) {
                watched[i].setup_func = begin;
                watched[i].teardown_func = end;
        }
        group.tests = tests;
        group.next = group.skipped = 0;
        int failed = _cmocka_run_group_tests(name, watched, count, NULL, NULL);
        timer_delete(group.timer);
        free(watched);
        return failed == 0 && count > 0 && group.skipped == count ? EXIT_SKIP : failed;
}
