/* Works of one memfd are done in the order in which they were asked, however many steps each takes; memfds take turns. */
#include "base/memory.h"
#include "base/size.h"
#include "daemon/audit.h"
#include "daemon/backing.h"
#include "daemon/frozen.h"
#include "daemon/limits.h"
#include "daemon/overhead.h"
#include "daemon/worker.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_BYTES (UINT64_C(1) << 40) /* thousands of steps, of which each finds nothing */
#define ROOM (64 * PW_KIB)

/* --- what the worker calls ----------------------------------------------------------------------------------------------------- */

static uint64_t told[8]; /* tokens, as their works were done */
static uint32_t told_count;

uint64_t pw_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
void pw_backing_keep(struct pw_backing *backing) { (void)backing; }
void pw_backing_unkeep(struct pw_backing *backing) { (void)backing; }
void pw_backing_work(struct pw_backing *backing) { backing->works++; }
void pw_backing_worked(struct pw_backing *backing) { backing->works--; }
void pw_measure_do(struct pw_measure *measure, int fd) { (void)measure, (void)fd; }
void pw_measure_done(struct pw_measure *measure, enum pw_status status) { (void)measure, (void)status; }
void pw_measure_free(struct pw_measure *measure) { (void)measure; }
void pw_frozen_copied(struct pw_daemon *daemon, uint64_t token, enum pw_status status) { (void)daemon, (void)token, (void)status; }
void pw_overhead_refresh(struct pw_daemon *daemon) { (void)daemon; }
void pw_overhead_reserved(struct pw_backing *backing) { (void)backing; }
enum pw_status pw_limits_allow(const char *root, uint64_t bytes, struct pw_error *ret_err)
{
        (void)root, (void)bytes, (void)ret_err;
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

/* --- the tests ----------------------------------------------------------------------------------------------------------------- */

struct place { struct pw_daemon daemon; struct pw_worker *worker; struct pw_backing backings[2]; };

static void init_backing(struct pw_backing *backing)
{
        *backing = (struct pw_backing){ .fd = memfd_create("worker", MFD_CLOEXEC) };
        assert_true(backing->fd >= 0);
        assert_int_equal(ftruncate(backing->fd, (off_t)LONG_BYTES), 0);
        pw_list_init(&backing->todo);
        pw_list_init(&backing->of_worker);
}

static int begin(void **state)
{
        struct place *place = calloc(1, sizeof *place);

        assert_non_null(place);
        told_count = 0;
        place->daemon.log.fd = -1;
        place->daemon.base = event_base_new();
        assert_int_equal(pw_worker_new(&place->daemon, &place->worker, NULL), PW_OK);
        for (int i = 0; i < 2; i++)
                init_backing(&place->backings[i]);
        *state = place;
        return 0;
}

static int end(void **state)
{
        struct place *place = *state;

        pw_worker_free(place->worker);
        event_base_free(place->daemon.base);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(place->backings[i].works, 0);
                close(place->backings[i].fd);
        }
        free(place);
        return 0;
}

static void await_all(const struct place *place)
{
        while (place->backings[0].works || place->backings[1].works)
                assert_int_equal(event_base_loop(place->daemon.base, EVLOOP_ONCE), 0);
}

static void ask(struct place *place, int backing, uint64_t offset, uint64_t token)
{
        pw_worker_ask(place->worker, &(struct pw_work){ .backing = &place->backings[backing], .offset = offset, .bytes = ROOM, .token = token });
}

static void ask_punch(struct place *place, int backing)
{
        pw_worker_ask(place->worker, &(struct pw_work){ .punch = true, .backing = &place->backings[backing], .bytes = LONG_BYTES });
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
        ask_punch(place, 0);
        ask(place, 0, LONG_BYTES - ROOM, 2);
        ask(place, 0, LONG_BYTES / 2, 3);
        await_all(place);
        assert_int_equal(has(place, 0), 2 * ROOM); /* that of the first has gone */
        assert_int_equal(told_count, 3);
        for (uint32_t i = 0; i < told_count; i++)
                assert_int_equal(told[i], i + 1);
}

/* Another memfd does not wait until all of a long work is done. */
static void test_memfds_take_turns(void **state)
{
        struct place *place = *state;

        ask_punch(place, 0);
        ask(place, 0, 0, 1);
        ask_punch(place, 1);
        ask(place, 1, LONG_BYTES - ROOM, 2);
        await_all(place);
        assert_int_equal(told_count, 2);
        assert_int_equal(has(place, 0), ROOM);
        assert_int_equal(has(place, 1), ROOM);
        assert_true(place->backings[0].steps > 1000 && place->backings[1].steps > 1000);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_in_order, begin, end),
                                            cmocka_unit_test_setup_teardown(test_memfds_take_turns, begin, end) };

        return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
