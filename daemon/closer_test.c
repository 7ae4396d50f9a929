/* A close() that nothing ends holds one thread: what else came is closed all the same, up to a bound, and the end does not wait. */
#include "daemon/closer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_MS 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool holds[1024]; /* by descriptor */
static uint32_t closing; /* calls of close() */
static struct pw_daemon host;

uint64_t pw_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* What closer.c calls: as a file whose server does not answer, no signal ends it. */
int close(int fd)
{
        pthread_mutex_lock(&lock);
        closing++;
        pthread_cond_broadcast(&changed);
        while (fd >= 0 && holds[fd])
                pthread_cond_wait(&changed, &lock);
        closing--;
        pthread_mutex_unlock(&lock);
        return (int)syscall(SYS_close, fd);
}

static void until_closing(uint32_t count)
{
        pthread_mutex_lock(&lock);
        while (closing < count)
                pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
}

static void let_go(void)
{
        pthread_mutex_lock(&lock);
        memset(holds, 0, sizeof holds);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
}

static void is_closed(int reader)
{
        struct pollfd on = { .fd = reader, .events = POLLIN };

        assert_int_equal(poll(&on, 1, LONG_MS), 1);
        assert_true(on.revents & POLLHUP);
}

/* A pipe's end that the closer takes; returns the other one. */
static int take(bool held)
{
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pthread_mutex_lock(&lock);
        holds[ends[1]] = held;
        pthread_mutex_unlock(&lock);
        pw_closer_take(&host, &ends[1], 1);
        return ends[0];
}

static void test_one_is_held(void **state)
{
        int first = take(true), second, third;

        (void)state;
        until_closing(1);
        second = take(false);
        third = take(false);
        is_closed(second);
        is_closed(third);
        let_go();
        is_closed(first);
        pw_closer_free(host.closer);
        host.closer = NULL;
        close(first), close(second), close(third);
}

static void test_more_are_held_than_threads(void **state)
{
        int readers[PW_CLOSERS_MAX + 4];

        (void)state;
        for (uint32_t i = 0; i < PW_CLOSERS_MAX + 4; i++)
                readers[i] = take(true);
        until_closing(PW_CLOSERS_MAX);
        let_go();
        for (uint32_t i = 0; i < PW_CLOSERS_MAX + 4; i++) {
                is_closed(readers[i]);
                close(readers[i]);
        }
        pw_closer_free(host.closer);
        host.closer = NULL;
}

static void test_the_end(void **state)
{
        int held = take(true), other = take(false);
        uint64_t since_us = pw_now_us();

        (void)state;
        pw_closer_free(host.closer); /* which leaves it to the thread */
        assert_true(pw_now_us() - since_us < LONG_MS * UINT64_C(1000));
        is_closed(other);
        until_closing(1);
        let_go();
        is_closed(held);
        close(held), close(other);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_is_held), cmocka_unit_test(test_more_are_held_than_threads),
                        cmocka_unit_test(test_the_end),
        };

        host.log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
