/* What an operator's terminal shows: `top`, `--watch`, colour and width.
 */
#include "tests/integration/operator/command.h"
#include "tests/integration/trace.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a command behind a terminal of its own ------------------------------------------------------------------------------- */

struct screen { pid_t pid; int fd; char text[1 << 16]; size_t used; };

static struct screen open_screen(struct it_host *host, const char *term, struct winsize size, const char *const *args)
{
        struct screen screen = { .used = 0 };
        char program[600];
        const char *all[8] = { "pathways" };
        size_t count = 1;

        while (*args && count < 5)
                all[count++] = *args++;
        all[count++] = "--socket";
        all[count++] = host->socket;
        it_built("cli/pathways", program);
        screen.pid = forkpty(&screen.fd, NULL, NULL, &size);
        if (screen.pid == 0) {
                setenv("TERM", term, 1);
                unsetenv("LINES");
                unsetenv("COLUMNS");
                it_hear_signals();
                execv(program, (char *const *)all);
                _exit(127);
        }
        assert_true(screen.pid > 0);
        return screen;
}

/* False: the command has closed the terminal. */
static bool read_some(struct screen *screen)
{
        struct pollfd ready = { .fd = screen->fd, .events = POLLIN };
        ssize_t got;

        if (poll(&ready, 1, IT_LONG / 1000) != 1)
                fail_msg("the terminal is silent for %d s; it shows\n%s", (int)(IT_LONG / IT_SECOND), screen->text);
        if (screen->used > sizeof screen->text / 2) {
                memmove(screen->text, screen->text + screen->used / 2, screen->used - screen->used / 2);
                screen->used -= screen->used / 2;
        }
        got = read(screen->fd, screen->text + screen->used, sizeof screen->text - screen->used - 1);
        if (got <= 0)
                return false;
        screen->used += (size_t)got;
        screen->text[screen->used] = 0;
        return true;
}

static void until(struct screen *screen, const char *text)
{
        while (!strstr(screen->text, text))
                if (!read_some(screen))
                        fail_msg("it ended without \"%s\"; it showed\n%s", text, screen->text);
}

static void forget(struct screen *screen)
{
        screen->used = 0;
        screen->text[0] = 0;
}

static void press(struct screen *screen, const char *keys)
{
        assert_int_equal(write(screen->fd, keys, strlen(keys)), strlen(keys));
}

static int close_screen(struct screen *screen, int signal)
{
        int status;

        if (signal)
                kill(screen->pid, signal);
        while (read_some(screen))
                ;
        close(screen->fd);
        while (waitpid(screen->pid, &status, 0) < 0)
                assert_int_equal(errno, EINTR);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define SIZE(lines, columns) ((struct winsize){ .ws_row = (lines), .ws_col = (columns) })

/* --- top ------------------------------------------------------------------------------------------------------------------ */

static void top_shows_devices_owners_and_waits(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *pending, *result;
        struct screen screen;
        void *data;

        it_ok(pw_create(host->session, 8, &(struct pw_put_params){ .dtype = PW_F64 }, &pending, &data, IT_ERR));
        result = it_run_1(program, pending);
        screen = open_screen(host, "xterm", SIZE(40, 100), IT_ARGS("top", "--interval", "100ms"));
        until(&screen, "h0:7");
        until(&screen, "screen_test");
        until(&screen, "test/one");
        until(&screen, "not ready");
        press(&screen, "p");
        until(&screen, "paused");
        forget(&screen);
        assert_int_equal(ioctl(screen.fd, TIOCSWINSZ, &SIZE(12, 80)), 0);
        until(&screen, "h0:0");
        press(&screen, "q");
        assert_int_equal(close_screen(&screen, 0), 0);
        *(double *)data = 1;
        it_ok(pw_seal(pending, IT_ERR));
        pw_unref(pending);
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void top_refuses_what_is_no_terminal(void **state)
{
        struct it_host *host = *state;
        struct screen screen = open_screen(host, "dumb", SIZE(24, 80), IT_ARGS("top"));
        char *err;

        until(&screen, "TERM is dumb");
        assert_int_equal(close_screen(&screen, 0), 1);
        assert_int_equal(it_command(host, NULL, &err, "top"), 1);
        assert_non_null(strstr(err, "needs a terminal"));
        free(err);
        assert_int_equal(it_command(host, NULL, NULL, "top", "--json"), 2);
        assert_int_equal(it_command(host, NULL, &err, "top", "--interval", "1ms"), 2);
        assert_non_null(strstr(err, "from 100ms to 1min"));
        free(err);
}

static void an_interrupt_quits_top(void **state)
{
        struct it_host *host = *state;
        struct screen screen = open_screen(host, "xterm", SIZE(24, 80), IT_ARGS("top"));

        until(&screen, "q quit");
        press(&screen, "\003");
        assert_int_equal(close_screen(&screen, 0), 0);
}

static void watching_appends_on_a_plain_terminal(void **state)
{
        struct it_host *host = *state;
        struct screen screen = open_screen(host, "dumb", SIZE(24, 80), IT_ARGS("islands", "--watch=20ms"));

        until(&screen, "\r\n\r\nisland");
        assert_null(strchr(screen.text, '\033'));
        assert_int_equal(close_screen(&screen, SIGINT), 128 + SIGINT);
}

/* --- --watch -------------------------------------------------------------------------------------------------------------- */

static size_t count_in(const char *path, const char *text)
{
        FILE *file = fopen(path, "re");
        char line[4096];
        size_t count = 0;

        while (file && fgets(line, sizeof line, file))
                count += strstr(line, text) != NULL;
        if (file)
                fclose(file);
        return count;
}

static void watch_until(struct it_host *host, const char *const *args, const char *text)
{
        struct it_command command = it_command_start(host, args);
        int64_t end_us = it_now_us() + IT_LONG;

        while (count_in(command.out, text) < 3)
                if (it_now_us() > end_us)
                        fail_msg("%s does not come thrice", text);
        assert_int_equal(it_command_end(&command, SIGINT), 128 + SIGINT);
}

static void watching_appends_where_there_is_no_terminal(void **state)
{
        struct it_host *host = *state;

        watch_until(host, IT_ARGS("status", "--watch=20ms"), "version");
        watch_until(host, IT_ARGS("islands", "--json", "--watch=20ms"), "}]");
        assert_int_equal(it_command(host, NULL, NULL, "devices", "--watch=never"), 2);
}

static void watching_redraws_a_terminal(void **state)
{
        struct it_host *host = *state;
        struct screen screen = open_screen(host, "xterm", SIZE(10, 80), IT_ARGS("devices", "--watch=50ms"));

        until(&screen, "every 50 ms: pathways devices");
        until(&screen, " ..."); /* nine rows do not fit */
        forget(&screen);
        until(&screen, "\033[H");
        assert_null(strstr(screen.text, "h0:7"));
        assert_int_equal(close_screen(&screen, SIGINT), 128 + SIGINT);
}

/* --- tables --------------------------------------------------------------------------------------------------------------- */

static void colour_is_for_terminals(void **state)
{
        struct it_host *host = *state;
        struct screen screen = open_screen(host, "xterm", SIZE(40, 80), IT_ARGS("devices"));
        char *out;

        until(&screen, "h0:7");
        assert_non_null(strstr(screen.text, "\033[32mready"));
        assert_int_equal(close_screen(&screen, 0), 0);
        assert_int_equal(it_command(host, &out, NULL, "devices"), 0);
        assert_null(strchr(out, '\033'));
        free(out);
        setenv("NO_COLOR", "1", 1);
        screen = open_screen(host, "xterm", SIZE(40, 80), IT_ARGS("devices"));
        unsetenv("NO_COLOR");
        until(&screen, "h0:7");
        assert_null(strchr(screen.text, '\033'));
        assert_int_equal(close_screen(&screen, 0), 0);
}

#define LONG "a/rather/long/name-of-something/that-nobody-would-type-twice/but-somebody-generates/0123456789"

static void tables_fit_80_columns(void **state)
{
        static const char *const listings[][3] = { { "status" },        { "devices" }, { "islands" },      { "objects" },
                                                   { "memory" },        { "owners" },  { "programs" },     { "runs" },
                                                   { "programs", "1" }, { "gangs" },   { "object", LONG }, { "why", LONG },
                                                   { "wait", LONG },    { "check" } };
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 8, 2);
        struct pw_program *program = pw_program_new(host->session, LONG);
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(64, 4096), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64, 4096), 0), *result;
        size_t wide = 0, whole = 0;

        pw_result(program, it_grow(program, slice, PW_AS(value, PW_BROADCAST), PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        it_ok(pw_name(result, LONG, IT_ERR));
        assert_int_equal(it_command(host, NULL, NULL, "programs", "--limit", "1"), 0);
        for (size_t i = 0; i < sizeof listings / sizeof *listings; i++) {
                struct screen screen = open_screen(host, "dumb", SIZE(24, 80), listings[i]);
                char *out, *rest = screen.text, *line;
                assert_int_equal(close_screen(&screen, 0), 0);
                while ((line = strsep(&rest, "\r\n")))
                        if (strlen(line) > 80) {
                                print_error("%s: %d columns: %s\n", listings[i][0], (int)strlen(line), line);
                                wide++;
                        }
                assert_int_equal(it_command_run(host, listings[i], &out, NULL), 0);
                whole += strstr(out, LONG) != NULL; /* into a pipe a row is one line: grep finds what it looks for */
                free(out);
        }
        it_ok(pw_unname(host->session, LONG, IT_ERR));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        assert_int_equal(wide, 0);
        assert_true(whole >= 4);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(top_shows_devices_owners_and_waits),
                IT_TEST(top_refuses_what_is_no_terminal), IT_TEST(an_interrupt_quits_top),
                IT_TEST(watching_appends_on_a_plain_terminal), IT_TEST(watching_appends_where_there_is_no_terminal),
                IT_TEST(watching_redraws_a_terminal),
                IT_TEST(colour_is_for_terminals),
                IT_TEST(tables_fit_80_columns),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
