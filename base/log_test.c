/* A line of the log is one line, whatever is in it. */
#include "base/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
        struct pw_log log = { .fd = fds[1], .level = PW_LOG_INFO, .who = "pathwaysd" };

        pw_log(&log, PW_LOG_INFO, "executor started device=%u pid=%d", 2u, 4711);
        read_line(fds[0], text, sizeof text);
        assert_int_equal(text[10], 'T');
        assert_string_equal(strchr(text, 'Z'), "Z info pathwaysd: executor started device=2 pid=4711\n");

        pw_log(&log, PW_LOG_DEBUG, "not at this level");
        assert_int_equal(read_line(fds[0], text, sizeof text), 0);

        pw_log(&log, PW_LOG_ERROR, "name=%s", "a\nb\x1b[31m");
        read_line(fds[0], text, sizeof text);
        assert_string_equal(strchr(text, 'Z'), "Z error pathwaysd: name=a?b?[31m\n");

        memset(value, 'x', sizeof value - 1);
        value[sizeof value - 1] = 0;
        pw_log(&log, PW_LOG_WARNING, "name=%s", value);
        size_t length = read_line(fds[0], text, sizeof text);
        assert_true(length <= 1024);
        assert_string_equal(text + length - 5, "x...\n");
        close(fds[0]);
        close(fds[1]);
}

/* journald takes the level from the beginning of the line. */
static void test_journal(void **state)
{
        struct pw_log log = { .level = PW_LOG_DEBUG, .who = "pathwaysd", .journal = true };
        char text[200];
        int fds[2];

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        log.fd = fds[1];
        pw_log(&log, PW_LOG_WARNING, "careful");
        read_line(fds[0], text, sizeof text);
        assert_memory_equal(text, "<4>20", 5);
        assert_string_equal(strchr(text, 'Z'), "Z warning pathwaysd: careful\n");
        close(fds[0]);
        close(fds[1]);
}

/* A full disk, and readers that are stopped or gone: the caller goes on, and what is lost is counted. */
static void test_lost_lines(void **state)
{
        _Atomic uint64_t lost = 0;
        struct pw_log log = { .level = PW_LOG_INFO, .who = "pathwaysd", .lost = &lost };
        int full = open("/dev/full", O_WRONLY), fds[2];

        (void)state;
        log.fd = pw_log_unblocked(full);
        assert_true(full >= 0 && log.fd >= 0);
        pw_log(&log, PW_LOG_INFO, "no room");
        assert_int_equal(lost, 1);
        close(log.fd);
        close(full);
        assert_int_equal(pipe(fds), 0);
        log.fd = pw_log_unblocked(fds[1]);
        assert_true(log.fd >= 0);
        for (int i = 0; i < 100000 && lost == 1; i++)
                pw_log(&log, PW_LOG_INFO, "nobody reads line=%d", i);
        assert_int_equal(lost, 2);
        close(log.fd);
        close(fds[0]);
        close(fds[1]);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        log.fd = fds[1];
        for (int i = 0; i < 100000 && lost == 2; i++)
                pw_log(&log, PW_LOG_INFO, "nobody reads line=%d", i);
        assert_int_equal(lost, 3);
        close(fds[0]);
        pw_log(&log, PW_LOG_INFO, "gone");
        assert_int_equal(lost, 4);
        close(fds[1]);
}

/* A child that has the descriptor of a plain file writes behind what the log said meanwhile. */
static void test_shared_file(void **state)
{
        char folder[] = "/tmp/pathways-log-XXXXXX", text[200];
        struct pw_log log = { .level = PW_LOG_INFO, .who = "pathwaysd" };
        int fd = mkstemp(folder);

        (void)state;
        assert_true(fd >= 0);
        unlink(folder);
        log.fd = pw_log_unblocked(fd);
        assert_true(log.fd >= 0);
        pw_log(&log, PW_LOG_INFO, "first");
        assert_int_equal(write(fd, "child\n", 6), 6);
        pw_log(&log, PW_LOG_INFO, "second");
        ssize_t got = pread(fd, text, sizeof text - 1, 0);
        assert_true(got > 0);
        text[got] = 0;
        assert_non_null(strstr(text, "pathwaysd: first\nchild\n20"));
        assert_non_null(strstr(text, "pathwaysd: second\n"));
        close(log.fd);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_journal),
                cmocka_unit_test(test_lost_lines),
                cmocka_unit_test(test_shared_file),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
