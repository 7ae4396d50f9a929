/* Event loops: a descriptor that is readable when a future that was asked for is ready, or the session has ended. */
#include "tests/integration/harness.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FUTURES 500u

static bool readable(int fd, int timeout_ms)
{
        struct pollfd on = { .fd = fd, .events = POLLIN };

        return poll(&on, 1, timeout_ms) == 1 && (on.revents & POLLIN);
}

/* What has been handed out, until nothing is left. */
static uint32_t take_all(struct pw_session *session)
{
        struct pw_future *future;
        uint32_t count = 0;

        for (; pw_notified(session, &future, NULL) == PW_OK; count++) {
                assert_int_not_equal(pw_poll(future), PW_NOT_READY);
                pw_unref(future);
        }
        return count;
}

static void tells_each_future_once(void **state)
{
        static struct pw_future *futures[FUTURES];
        struct it_host *host = *state;
        struct pw_future *none;
        uint32_t told = 0;
        void *data;
        int fd;

        it_ok(pw_session_fd(host->session, &fd, IT_ERR));
        it_fails(pw_notified(host->session, &none, IT_ERR), PW_NOT_READY, "");
        assert_false(readable(fd, 0));
        for (uint32_t i = 0; i < FUTURES; i++) {
                it_ok(pw_create(host->session, 8, NULL, &futures[i], &data, IT_ERR));
                it_ok(pw_notify(futures[i], IT_ERR));
        }
        assert_false(readable(fd, 0));
        for (uint32_t i = 0; i < FUTURES; i++) {
                if (i % 2)
                        it_ok(pw_abort(futures[i], IT_ERR)); /* ready with an error, and told so */
                else
                        it_ok(pw_seal(futures[i], IT_ERR));
                if (i % 100 == 0) {
                        assert_true(readable(fd, (int)(IT_LONG / 1000)));
                        told += take_all(host->session);
                }
                pw_unref(futures[i]);
        }
        while (told < FUTURES) {
                assert_true(readable(fd, (int)(IT_LONG / 1000)));
                told += take_all(host->session);
        }
        assert_int_equal(told, FUTURES);
        assert_false(readable(fd, 0));
        it_ok(pw_put(host->session, "x", 1, NULL, &futures[0], IT_ERR)); /* ready before it is asked for */
        it_ok(pw_notify(futures[0], IT_ERR));
        pw_unref(futures[0]);
        assert_true(readable(fd, (int)(IT_LONG / 1000)));
        assert_int_equal(take_all(host->session), 1);
}

/* Who takes one each time the descriptor is readable is told all of them. */
static void tells_one_at_a_time(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future;
        int fd;

        it_ok(pw_session_fd(host->session, &fd, IT_ERR));
        for (uint32_t i = 0; i < FUTURES; i++) {
                it_ok(pw_put(host->session, "x", 1, NULL, &future, IT_ERR));
                it_ok(pw_notify(future, IT_ERR));
                pw_unref(future);
        }
        for (uint32_t i = 0; i < FUTURES; i++) {
                assert_true(readable(fd, (int)(IT_LONG / 1000)));
                it_ok(pw_notified(host->session, &future, IT_ERR));
                pw_unref(future);
        }
        assert_false(readable(fd, 0));
}

/* Of a thread of this process: its name, and the signals that it does not take. */
static uint64_t blocked_by(const char *thread, char name[32])
{
        char path[300], line[200];
        uint64_t blocked = 0;

        snprintf(path, sizeof path, "/proc/self/task/%.200s/status", thread);
        FILE *file = fopen(path, "re");
        while (file && fgets(line, sizeof line, file)) {
                (void)!sscanf(line, "Name: %31[^\n]", name);
                (void)!sscanf(line, "SigBlk: %lx", &blocked);
        }
        if (file)
                fclose(file);
        return blocked;
}

/* Signals are the program's: no thread of the library takes one. */
static void its_threads_take_no_signal(void **state)
{
        const int signals[] = { SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGCHLD, SIGCONT, SIGTSTP, SIGPROF,
                                SIGRTMIN, SIGRTMAX };
        struct it_host *host = *state;
        struct pw_future *future;
        uint32_t seen = 0;

        it_ok(pw_put(host->session, "x", 1, NULL, &future, IT_ERR));
        it_ok(pw_notify(future, IT_ERR));
        DIR *threads = opendir("/proc/self/task");
        assert_non_null(threads);
        for (struct dirent *entry; (entry = readdir(threads));) {
                char name[32] = "";
                uint64_t blocked = *entry->d_name == '.' ? 0 : blocked_by(entry->d_name, name);

                if (strncmp(name, "pathways", 8))
                        continue;
                seen++;
                for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                        if (!(blocked >> (signals[i] - 1) & 1))
                                fail_msg("thread %s takes signal %d", name, signals[i]);
        }
        closedir(threads);
        assert_int_equal(seen, 2); /* it watches the session; it tells */
        pw_unref(future);
}

static void closes_with_futures_left(void **state)
{
        struct it_host *host = *state;
        struct pw_session *session = it_connect(host);
        struct pw_future *ready, *pending;
        void *data;
        int fd;

        it_ok(pw_session_fd(session, &fd, IT_ERR));
        it_ok(pw_put(session, "x", 1, NULL, &ready, IT_ERR));
        it_ok(pw_create(session, 8, NULL, &pending, &data, IT_ERR));
        it_ok(pw_notify(pending, IT_ERR));
        it_ok(pw_notify(ready, IT_ERR));
        assert_true(readable(fd, (int)(IT_LONG / 1000)));
        pw_close(session);
        pw_unref(ready);
        pw_unref(pending);
}

static void tells_the_end(void **state)
{
        struct it_host *host = *state;
        struct pw_future *pending, *none;
        enum pw_status status;
        char said[600];
        void *data;
        int fd, code;

        it_ok(pw_session_fd(host->session, &fd, IT_ERR));
        it_ok(pw_create(host->session, 8, NULL, &pending, &data, IT_ERR));
        it_ok(pw_notify(pending, IT_ERR));
        assert_int_equal(it_host_end(host, SIGKILL), 128 + SIGKILL);
        do {
                assert_true(readable(fd, (int)(IT_LONG / 1000)));
                status = pw_notified(host->session, &none, NULL);
                if (status == PW_OK)
                        pw_unref(none);
        } while (status == PW_OK || status == PW_NOT_READY);
        assert_int_equal(status, PW_DAEMON_GONE);
        assert_true(readable(fd, 0));
        pw_unref(pending);
        pw_close(host->session);
        host->session = NULL;
        assert_true(it_host_start(host, IT_ARGS("--host-memory", "64MiB", "--device-memory", "4MiB"), &code, said));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(tells_each_future_once), IT_TEST(tells_one_at_a_time),
                IT_TEST(its_threads_take_no_signal), IT_TEST(closes_with_futures_left),
                IT_TEST(tells_the_end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
