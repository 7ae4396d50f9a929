/* Complaints: lines of the log, and how many more there were. */
#include "daemon/session/complaint.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

static uint64_t now_us = 1000;

uint64_t pw_now_us(void) { return now_us; }

/* Lines of what was logged since the last call; `text`: all of it. */
static uint32_t read_lines(int fd, char *text, size_t bytes)
{
        ssize_t got = read(fd, text, bytes - 1);
        uint32_t lines = 0;

        text[got > 0 ? got : 0] = 0;
        for (const char *c = text; *c; c++)
                lines += *c == '\n';
        return lines;
}

static void complaints_are_counted(void **state)
{
        static struct pw_daemon daemon;
        char text[8192];
        int fds[2];

        (void)state;
        assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
        daemon.log = (struct pw_log){ .fd = fds[1], .level = PW_LOG_WARNING, .who = "pathwaysd" };
        pw_log_limits_init(&daemon.complaints);
        assert_true(pw_complaints_next_us(&daemon) == UINT64_MAX);
        for (int i = 0; i < 50; i++)
                pw_complain(&daemon, 1000, "session ended session=%d", i);
        pw_complain(&daemon, 1001, "session ended session=%d", 50);
        assert_int_equal(read_lines(fds[0], text, sizeof text), PW_LOG_BURST + 1);
        assert_non_null(strstr(text, "Z warning pathwaysd: session ended session=0\n"));
        assert_non_null(strstr(text, "session=19\n"));
        assert_null(strstr(text, "session=20\n"));
        assert_non_null(strstr(text, "session=50\n"));
        for (int i = 0; i < 22; i++)
                pw_complain(&daemon, PW_LOG_OTHERS, "connection refused reason=%d", i);
        assert_int_equal(read_lines(fds[0], text, sizeof text), PW_LOG_BURST);
        assert_true(pw_complaints_next_us(&daemon) == now_us + PW_LOG_INTERVAL_US);
        now_us += PW_LOG_INTERVAL_US;
        pw_complaints_tick(&daemon, now_us);
        assert_int_equal(read_lines(fds[0], text, sizeof text), 2);
        assert_non_null(strstr(text, "Z warning pathwaysd: 30 more like this uid=1000\n"));
        assert_non_null(strstr(text, "Z warning pathwaysd: 2 more like this uid=others\n"));
        assert_true(pw_complaints_next_us(&daemon) == UINT64_MAX);
        pw_complaints_tick(&daemon, now_us);
        assert_int_equal(read_lines(fds[0], text, sizeof text), 0);
        close(fds[0]);
        close(fds[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(complaints_are_counted) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
