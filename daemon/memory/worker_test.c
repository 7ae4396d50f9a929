/* Works of one memfd are done in the order in which they were asked, however many steps each takes; tenants take turns, and of each
 * its memfds, whether they give back or take. */
#include "base/memory.h"
#include "base/size.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/backing.h"
#include "daemon/memory/freezer/frozen.h"
#include "daemon/memory/limits.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/worker.h"

#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_BYTES (UINT64_C(1) << 40) /* a thousand steps of the longest, where pages may be anywhere */
#define MANY_BYTES (192 * PW_MIB)      /* more than a step gives back */
#define ROOM (64 * PW_KIB)

/* --- what the worker calls ---------------------------------------------------------------------------------------------------- */

static uint64_t told[32]; /* tokens, as their works were done */
static uint32_t told_count;
static _Atomic uint32_t punches;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* each populate begins by going through it */
static _Atomic uint64_t stopped_us; /* what time it is; 0: as the system says */

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
        punches += mode != 0;
        return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}


uint64_t pw_now_us(void)
{
        struct timespec now;

        if (stopped_us)
                return stopped_us;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
void pw_backing_keep(struct pw_backing *backing) { (void)backing; }
void pw_backing_unkeep(struct pw_backing *backing) { (void)backing; }
void pw_backing_work(struct pw_backing *backing) { backing->works++; }
void pw_backing_worked(struct pw_backing *backing) { backing->works--; }
enum pw_work_way pw_pinned_keep(struct pw_daemon *daemon, const struct pw_memory_work *work)
{
        (void)daemon, (void)work;
        return PW_WORK_NOW;
}
void pw_pinned_done(struct pw_daemon *daemon) { (void)daemon; }
void pw_measure_do(struct pw_measure *measure, int fd) { (void)measure, (void)fd; }
void pw_measure_done(struct pw_measure *measure, enum pw_status status) { (void)measure, (void)status; }
void pw_measure_free(struct pw_measure *measure) { (void)measure; }
void pw_frozen_copied(struct pw_daemon *daemon, uint64_t token, enum pw_status status) { (void)daemon, (void)token, (void)status; }
void pw_overhead_refresh(struct pw_daemon *daemon) { (void)daemon; }
void pw_overhead_returned(struct pw_backing *backing) { (void)backing; }
enum pw_status pw_limits_allow(const char *root, uint64_t bytes, struct pw_error *ret_err)
{
        (void)root, (void)bytes, (void)ret_err;
        pthread_mutex_lock(&gate);
        pthread_mutex_unlock(&gate);
        return PW_OK;
}
void pw_store_pages_gone(struct pw_store *store, struct pw_store_owner *owner, uint64_t bytes, uint64_t now_us)
{
        (void)store, (void)owner, (void)bytes, (void)now_us;
}
void pw_store_populated(struct pw_store *store, uint64_t token, enum pw_status status, uint64_t now_us)
{
        (void)store, (void)now_us;
        assert_int_equal(status, PW_OK);
        assert_true(told_count < pw_array_count(told));
        told[told_count++] = token;
}

/* --- the tests ---------------------------------------------------------------------------------------------------------------- */

#define BACKINGS 8

/* All but the last backing are of the first tenant. */
struct place {
        struct pw_daemon daemon;
        struct pw_worker *worker;
        struct pw_backing_line lines[2];
        struct pw_backing backings[BACKINGS];
};

static void init_backing(struct pw_backing *backing, struct pw_backing_line *line)
{
        *backing = (struct pw_backing){ .fd = memfd_create("worker", MFD_CLOEXEC), .line = line };
        assert_true(backing->fd >= 0);
        assert_int_equal(ftruncate(backing->fd, (off_t)LONG_BYTES), 0);
        pw_list_init(&backing->todo);
        pw_list_init(&backing->of_line);
}

static int begin(void **state)
{
        struct place *place = calloc(1, sizeof *place);

        assert_non_null(place);
        told_count = 0;
        punches = 0;
        stopped_us = 0;
        place->daemon.log.fd = -1;
        place->daemon.loop.base = event_base_new();
        assert_int_equal(pw_worker_new(&place->daemon, &place->worker, NULL), PW_OK);
        for (int i = 0; i < 2; i++) {
                pw_list_init(&place->lines[i].ready);
                pw_list_init(&place->lines[i].of_worker);
        }
        for (int i = 0; i < BACKINGS; i++)
                init_backing(&place->backings[i], &place->lines[i == BACKINGS - 1]);
        *state = place;
        return 0;
}

static int end(void **state)
{
        struct place *place = *state;

        pw_worker_free(place->worker);
        event_base_free(place->daemon.loop.base);
        for (int i = 0; i < BACKINGS; i++) {
                assert_int_equal(place->backings[i].works, 0);
                close(place->backings[i].fd);
        }
        free(place);
        return 0;
}

static bool is_busy(const struct place *place)
{
        uint32_t works = 0;

        for (int i = 0; i < BACKINGS; i++)
                works += place->backings[i].works;
        return works > 0;
}

static void await_all(const struct place *place)
{
        while (is_busy(place))
                assert_int_equal(event_base_loop(place->daemon.loop.base, EVLOOP_ONCE), 0);
}

static void ask(struct place *place, int backing, uint64_t offset, uint64_t token)
{
        pw_worker_ask(place->worker,
                      &(struct pw_memory_work){ .backing = &place->backings[backing], .offset = offset, .bytes = ROOM,
                                                .token = token });
}

static void ask_punch(struct place *place, int backing, uint64_t token)
{
        pw_worker_ask(place->worker, &(struct pw_memory_work){ .punch = true, .backing = &place->backings[backing],
                                                               .bytes = LONG_BYTES, .token = token });
}

static uint64_t has(const struct place *place, int backing)
{
        uint64_t bytes;

        assert_int_equal(pw_memfd_allocated(place->backings[backing].fd, &bytes, NULL), PW_OK);
        return bytes;
}

/* What makes pages where others are being given back comes behind that: it finds its pages, all of them. */
static void test_in_order(void **state)
{
        struct place *place = *state;

        ask(place, 0, 0, 1);
        ask_punch(place, 0, 0);
        ask(place, 0, LONG_BYTES - ROOM, 2);
        ask(place, 0, LONG_BYTES / 2, 3);
        await_all(place);
        assert_int_equal(has(place, 0), 2 * ROOM); /* that of the first has gone */
        assert_int_equal(told_count, 3);
        for (uint32_t i = 0; i < told_count; i++)
                assert_int_equal(told[i], i + 1);
}

/* The worker is at a work of the first memfd, and stays there; no time goes by. */
static void stop_it(struct place *place)
{
        stopped_us = pw_now_us();
        pthread_mutex_lock(&gate);
        ask(place, 0, 0, 1);
}

static void go_on(const struct place *place)
{
        pthread_mutex_unlock(&gate);
        await_all(place);
}

static uint32_t when_told(uint64_t token)
{
        for (uint32_t i = 0; i < told_count; i++)
                if (told[i] == token)
                        return i;
        fail_msg("%llu was not told", (unsigned long long)token);
        return 0;
}

/* Another memfd does not wait until all works of one are done, of whatever kind. */
static void test_memfds_take_turns(void **state)
{
        struct place *place = *state;

        stop_it(place);
        for (uint64_t i = 0; i < 6; i++)
                i % 2 ? ask_punch(place, 0, 10 + i) : ask(place, 0, i * ROOM, 10 + i);
        for (uint64_t i = 0; i < 6; i++)
                ask_punch(place, 1, 20 + i);
        ask(place, 2, 0, 2);
        go_on(place);
        assert_int_equal(told_count, 14);
        assert_in_range(when_told(2), 1, 3);
        assert_in_range(when_told(25), 6 + 5, 13);
}

/* Another tenant does not wait for more than one of all the memfds of one. */
static void test_tenants_take_turns(void **state)
{
        struct place *place = *state;

        stop_it(place);
        for (int i = 1; i < BACKINGS - 1; i++) {
                ask_punch(place, i, 0);
                ask(place, i, 0, 10 + (uint64_t)i);
        }
        ask(place, BACKINGS - 1, 0, 2);
        ask_punch(place, BACKINGS - 1, 3);
        ask(place, BACKINGS - 1, ROOM, 4);
        go_on(place);
        assert_int_equal(when_told(2), 1);
        assert_int_equal(when_told(3), 2);
        assert_int_equal(when_told(4), 3);
}

/* Giving back takes as many steps as there are pages, and few where there are none; those that nobody touched go, too. */
static void test_steps_have_pages(void **state)
{
        struct place *place = *state;

        ask_punch(place, 0, 0);
        await_all(place);
        assert_int_equal(punches, 1);
        for (uint64_t i = 1; i <= 3; i++)
                ask(place, 0, LONG_BYTES / i - ROOM, i);
        ask_punch(place, 0, 0);
        await_all(place);
        assert_int_equal(punches, 2);
        assert_int_equal(has(place, 0), 0);
        assert_int_equal(pw_memfd_populate(place->backings[0].fd, LONG_BYTES / 2, MANY_BYTES, NULL), PW_OK);
        ask_punch(place, 0, 0);
        await_all(place);
        assert_in_range(punches, 4, LONG_BYTES / PW_GIB);
        assert_int_equal(has(place, 0), 0);
}

static void test_held(void **state)
{
        struct place *place = *state;

        stop_it(place);
        assert_false(pw_worker_is_held(place->worker, &place->backings[0]));
        ask_punch(place, 1, 0);
        stopped_us += 1000000;
        assert_false(pw_worker_is_held(place->worker, &place->backings[1])); /* it waits, or is begun just now */
        while (!pw_worker_is_held(place->worker, &place->backings[0]))
                stopped_us += 1000; /* since it was begun, whenever that was */
        go_on(place);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_in_order, begin, end),
                                            cmocka_unit_test_setup_teardown(test_memfds_take_turns, begin, end),
                                            cmocka_unit_test_setup_teardown(test_tenants_take_turns, begin, end),
                                            cmocka_unit_test_setup_teardown(test_steps_have_pages, begin, end),
                                            cmocka_unit_test_setup_teardown(test_held, begin, end) };

        return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
