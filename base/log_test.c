/* A line of the log is one line, whatever is in it. */
#include "base/log.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What one call wrote; the pipe is drained. */
static size_t read_line(int fd, char *text, size_t bytes)
{
        ssize_t got = read(fd, text, bytes - 1);

        text[got > 0 ? got : 0] = 0;
        return got > 0 ? (size_t)got : 0;
}

static void test_lines(void **state)
{
        int fds[2];
        char text[4096], value[3000];

        (void)state;
        assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
        struct pw_log log = { fds[1], PW_LOG_INFO, "pathwaysd" };

        pw_log(&log, PW_LOG_INFO, "executor started device=%u pid=%d", 2u, 4711);
        read_line(fds[0], text, sizeof text);
        assert_int_equal(text[10], 'T');
        assert_string_equal(strchr(text, 'Z'), "Z info pathwaysd: executor started device=2 pid=4711\n");

        pw_log(&log, PW_LOG_DEBUG, "not at this level");
        assert_int_equal(read_line(fds[0], text, sizeof text), 0);

        pw_log(&log, PW_LOG_ERROR, "name=%s", "a\nb\x1b[31m");
        read_line(fds[0], text, sizeof text);
        assert_string_equal(strchr(text, 'Z'), "Z error pathwaysd: name=a b [31m\n");

        memset(value, 'x', sizeof value - 1);
        value[sizeof value - 1] = 0;
        pw_log(&log, PW_LOG_WARNING, "name=%s", value);
        size_t length = read_line(fds[0], text, sizeof text);
        assert_true(length <= 1024);
        assert_string_equal(text + length - 5, "x...\n");
        close(fds[0]);
        close(fds[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
