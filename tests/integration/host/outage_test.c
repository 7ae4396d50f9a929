/* The host runs out of something: disks, descriptors, processes; and its clock is wrong. The daemon says so, and goes on where it
 * can. */
#include "tests/integration/folder.h"
#include "tests/integration/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void ends_well(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* --- the log ------------------------------------------------------------------------------------------------------------ */

static void the_disk_of_the_log_is_full(void **state)
{
        struct it_host *host = *state;

        assert_int_equal(symlink("/dev/full", host->log), 0);
        it_start(host, IT_ARGS(IT_SMALL, "--log-level", "debug"));
        host->session = it_connect(host);
        it_put_and_get(host, 100);
        ends_well(host);
}

/* A pipe that nobody empties: lines are lost, and nothing waits for it. */
static void who_reads_the_log_is_stopped(void **state)
{
        struct it_host *host = *state;
        int reader, left;

        assert_int_equal(mkfifo(host->log, 0600), 0);
        reader = open(host->log, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        assert_true(reader >= 0);
        assert_true(fcntl(reader, F_SETPIPE_SZ, 4096) > 0);
        left = fcntl(reader, F_GETPIPE_SZ);
        it_start(host, IT_ARGS(IT_SMALL, "--log-level", "debug"));
        for (; left > -10000; left -= 50) /* each of its ends is a line */
                pw_close(it_connect(host));
        host->session = it_connect(host);
        it_put_and_get(host, 100);
        ends_well(host);
        close(reader);
}

/* --- folders ------------------------------------------------------------------------------------------------------------ */

static void folders_that_take_nothing(void **state)
{
        struct it_host *host = *state;
        char path[128];

        snprintf(path, sizeof path, "%s/state", host->folder);
        it_write_file(path, "no folder\n");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "state");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/state/epoch", host->folder);
        assert_int_equal(symlink("/dev/full", path), 0);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "is a link, which is not followed");
        assert_int_equal(unlink(path), 0);
        if (geteuid() != 0) { /* root may write everywhere */
                snprintf(path, sizeof path, "%s/state", host->folder);
                assert_int_equal(chmod(path, 0500), 0);
                it_refuses_to_start(host, IT_ARGS(IT_SMALL), "Permission denied");
                assert_int_equal(chmod(path, 0700), 0);
        }
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--state-dir", "/proc/pathways"), "/proc/pathways");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--run-dir", "/proc/pathways"), "/proc/pathways");
        snprintf(path, sizeof path, "%s/run/pathwaysd.lock", host->folder);
        unlink(path);
        assert_int_equal(symlink("/dev/full", path), 0);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "pathwaysd.lock");
        assert_int_equal(unlink(path), 0);
        it_start(host, IT_ARGS(IT_SMALL)); /* and with all of that mended */
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* --- the clock ---------------------------------------------------------------------------------------------------------- */

/* Epochs count up from the clock when it is ahead of the last one, and from the last one when it is not. */
static void the_clock_was_far_ahead(void **state)
{
        struct it_host *host = *state;
        char path[128];

        snprintf(path, sizeof path, "%s/state", host->folder);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/state/epoch", host->folder);
        it_write_file(path, "4294967293\n");
        for (int64_t epoch = 4294967294; epoch <= 4294967295; epoch++) {
                it_start(host, IT_ARGS(IT_SMALL));
                host->session = it_connect(host);
                assert_int_equal(it_listed(host->session, "status", "epoch"), epoch);
                it_put_and_get(host, 10);
                ends_well(host);
        }
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "epochs");
        it_write_file(path, "1\n");
        it_start(host, IT_ARGS(IT_SMALL));
        host->session = it_connect(host);
        assert_true(it_listed(host->session, "status", "epoch") > 1500000000);
        ends_well(host);
}

/* --- descriptors and processes ------------------------------------------------------------------------------------------ */

/* No descriptor from `count` on is given out any more; those that are open stay open. */
static void limit_descriptors(const struct it_host *host, rlim_t count, struct rlimit *ret_before)
{
        struct rlimit limit;

        assert_int_equal(prlimit(host->pid, RLIMIT_NOFILE, NULL, ret_before), 0);
        limit = *ret_before;
        limit.rlim_cur = count;
        assert_int_equal(prlimit(host->pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

/* Clients that come when no descriptor is left are told at once; those that are there go on; later ones are taken again. */
static void no_descriptor_is_left(void **state)
{
        enum { SILENT = 100 };
        struct it_host *host = *state;
        struct pw_session *session;
        struct rlimit before;
        int fds[SILENT];
        int64_t since_us;

        limit_descriptors(host, 80, &before);
        for (int i = 0; i < SILENT; i++) /* connections that never say anything take them all */
                fds[i] = raw_connect(host);
        since_us = it_now_us();
        for (int i = 0; i < 100; i++)
                it_fails(pw_connect(host->socket, &session, IT_ERR), PW_LIMIT, "descriptor|EMFILE");
        it_within("a hundred refusals", since_us, IT_SECOND);
        it_put_and_get(host, 100);
        for (int i = 0; i < SILENT; i++)
                close(fds[i]);
        /* Who comes before pathwaysd has seen that they left is still refused. */
        for (int64_t end_us = it_now_us() + IT_LONG; pw_connect(host->socket, &session, NULL) != PW_OK;)
                assert_true(it_now_us() < end_us);
        pw_close(session);
        for (int i = 0; i < 5; i++)
                pw_close(it_connect(host));
        assert_int_equal(prlimit(host->pid, RLIMIT_NOFILE, &before, NULL), 0);
}

static bool all_ready(const struct pw_listing *devices, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(devices); i++)
                if (strcmp(it_text(devices, i, "state"), "ready") != 0)
                        return false;
        return true;
}

static bool one_waits(const struct pw_listing *devices, void *context)
{
        (void)context;
        return !strcmp(it_text(devices, 0, "state"), "backoff") || !strcmp(it_text(devices, 0, "state"), "down");
}

/* An executor that cannot be started again is tried again, while everything else goes on. */
static void no_executor_can_be_started(void **state)
{
        struct it_host *host = *state;
        struct rlimit before;

        limit_descriptors(host, 4, &before);
        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        it_until(host->session, "devices", one_waits, NULL);
        it_put_and_get(host, 100);
        assert_int_equal(prlimit(host->pid, RLIMIT_NOFILE, &before, NULL), 0);
        it_until(host->session, "devices", all_ready, NULL);
}

#define FOLDER_TEST(test) cmocka_unit_test_setup_teardown(test, it_setup_folder, it_remove_folder)
#define DAEMON_TEST(test) cmocka_unit_test_setup_teardown(test, it_setup_small, it_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                FOLDER_TEST(the_disk_of_the_log_is_full), FOLDER_TEST(who_reads_the_log_is_stopped),
                FOLDER_TEST(folders_that_take_nothing),   FOLDER_TEST(the_clock_was_far_ahead),
                DAEMON_TEST(no_descriptor_is_left),       DAEMON_TEST(no_executor_can_be_started),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
