/* Objects through a session: put, get, create, wait, names, references by id, and how each ends when the daemon goes away. */
#include "libclient/fake/fake_daemon.h"
#include "libclient/session.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

struct world { struct fake_daemon *fake; struct pw_session *session; };

static int start(void **state, const struct fake_params *params)
{
        struct world *world = calloc(1, sizeof *world);
        world->fake = fake_start(params);
        struct pw_session_params session = { .fd = fake_client_fd(world->fake) };
        *state = world;
        return pw_session_open(&session, &world->session, NULL) == PW_OK ? 0 : -1;
}
static int setup(void **state) { return start(state, &(struct fake_params){ .room_bytes = 0 }); }
static int setup_small(void **state) { return start(state, &(struct fake_params){ .room_bytes = 64 * 1024 }); }
static int teardown(void **state)
{
        struct world *world = *state;
        pw_close(world->session);
        fake_stop(world->fake);
        free(world);
        return 0;
}

static struct pw_future *put_text(struct world *world, const char *text)
{
        struct pw_future *future;
        assert_int_equal(pw_put(world->session, text, strlen(text), NULL, &future, NULL), PW_OK);
        return future;
}

static void test_put_get(void **state)
{
        struct world *world = *state;
        static const uint64_t sizes[] = { 0, 1, 24, 25, 1024, 4097, 3000000 };
        for (size_t i = 0; i < pw_array_count(sizes); i++) {
                uint8_t *bytes = malloc(sizes[i] + 1);
                for (uint64_t at = 0; at < sizes[i]; at++)
                        bytes[at] = (uint8_t)(at * 7 + i);
                struct pw_future *future;
                struct pw_view view;
                assert_int_equal(pw_put(world->session, sizes[i] ? bytes : NULL, sizes[i], NULL, &future, NULL), PW_OK);
                assert_int_equal(pw_poll(future), PW_OK);
                assert_int_equal(pw_get(future, 0, &view, NULL), PW_OK);
                pw_unref(future); /* the view holds it */
                assert_int_equal(view.bytes, sizes[i]);
                assert_int_equal(view.dtype, PW_OPAQUE);
                if (sizes[i])
                        assert_memory_equal(view.data, bytes, sizes[i]);
                fake_settle(world->fake);
                assert_int_equal(fake_counts(world->fake)->drops, i);
                pw_view_done(&view);
                fake_settle(world->fake);
                assert_int_equal(fake_counts(world->fake)->drops, i + 1);
                free(bytes);
        }
}

static void test_typed(void **state)
{
        struct world *world = *state;
        float values[24] = { 1, 2, 3 };
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_DIMS(2, 3, 2, 2) };
        struct pw_future *future;
        struct pw_view view;
        struct pw_info info;
        struct pw_error err;
        assert_int_equal(pw_put(world->session, values, sizeof values, &params, &future, NULL), PW_OK);
        assert_int_equal(pw_get_shard(future, 0, 0, &view, NULL), PW_OK);
        assert_int_equal(view.dtype, PW_F32);
        assert_int_equal(view.dims.rank, 4);
        assert_int_equal(view.dims.dim[1], 3);
        assert_memory_equal(view.data, values, sizeof values);
        assert_int_equal(pw_future_info(future, &info, NULL), PW_OK);
        assert_int_equal(info.bytes, sizeof values);
        assert_int_equal(info.shard_count, 1);
        pw_view_done(&view);
        assert_int_equal(pw_get_shard(future, 1, 0, &view, &err), PW_INVALID);
        pw_unref(future);
        params.dims = PW_DIMS(2, 2);
        assert_int_equal(pw_put(world->session, values, sizeof values, &params, &future, &err), PW_SHAPE);
        params.dims = PW_DIMS(UINT64_MAX, UINT64_MAX);
        assert_int_equal(pw_put(world->session, values, sizeof values, &params, &future, &err), PW_TOO_LARGE);
        assert_int_equal(pw_put(world->session, values, UINT64_MAX - 3, NULL, &future, &err), PW_TOO_LARGE);
        assert_int_equal(pw_put(world->session, NULL, 8, NULL, &future, &err), PW_INVALID);
        assert_int_equal(pw_put(NULL, values, 8, NULL, &future, &err), PW_INVALID);
}

static void test_create(void **state)
{
        struct world *world = *state;
        struct pw_future *future;
        struct pw_view view;
        void *data;
        assert_int_equal(pw_create(world->session, 5, NULL, &future, &data, NULL), PW_OK);
        assert_int_equal((uintptr_t)data % 64, 0);
        assert_int_equal(pw_poll(future), PW_NOT_READY);
        assert_int_equal(pw_get(future, 0, &view, NULL), PW_NOT_READY);
        assert_int_equal(pw_get(future, 1000, &view, NULL), PW_DEADLINE);
        memcpy(data, "hello", 5);
        assert_int_equal(pw_seal(future, NULL), PW_OK);
        assert_int_equal(pw_get(future, 0, &view, NULL), PW_OK);
        assert_memory_equal(view.data, "hello", 5);
        pw_view_done(&view);
        assert_int_equal(pw_seal(future, NULL), PW_INVALID);
        assert_int_equal(pw_abort(future, NULL), PW_INVALID);
        pw_unref(future);
        struct pw_error err;
        char id[PW_ID_TEXT_BYTES];
        assert_int_equal(pw_create(world->session, 5000, NULL, &future, &data, NULL), PW_OK);
        assert_int_equal(pw_abort(future, NULL), PW_OK);
        assert_int_equal(pw_get(future, 0, &view, &err), PW_CANCELLED);
        assert_non_null(strstr(err.text, pw_id_format(pw_future_id(future), id)));
        pw_unref(future);
        assert_int_equal(pw_create(world->session, 5000, NULL, &future, &data, NULL), PW_OK);
        struct pw_future *other;
        assert_int_equal(pw_open(world->session, pw_future_id(future), &other, NULL), PW_OK);
        pw_unref(future); /* never sealed: who waits hears of it */
        assert_int_equal(pw_get(other, PW_FOREVER, &view, NULL), PW_CANCELLED);
        pw_unref(other);
}

struct sealer { struct pw_future *future; _Atomic uint64_t *note; };

/* Seal once the waiter has noted that it sleeps, so that the wait is not over before it began. */
static void *seal_under_sleep(void *argument)
{
        struct sealer *sealer = argument;
        while (pw_note_state(atomic_load(sealer->note)) != PW_NOTE_COUNTED)
                sched_yield();
        return (void *)(uintptr_t)pw_seal(sealer->future, NULL);
}

static void test_wait(void **state)
{
        struct world *world = *state;
        struct pw_future *futures[200];
        void *data;
        size_t ready = 99;
        for (size_t i = 0; i < pw_array_count(futures); i++)
                assert_int_equal(pw_create(world->session, 8, NULL, &futures[i], &data, NULL), PW_OK);
        assert_int_equal(pw_wait(futures, 200, 1, 0, &ready, NULL), PW_DEADLINE);
        assert_int_equal(ready, 0);
        struct pw_client_lane *lane;
        assert_int_equal(pw_lane_get(world->session, &lane, NULL), PW_OK);
        struct sealer sealer = { futures[199], &lane->shared->notes[0] }; /* beyond what one sleep can watch */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, seal_under_sleep, &sealer), 0);
        int64_t start_ns = pw_now_ns();
        assert_int_equal(pw_wait(futures, 200, 1, 10 * 1000 * 1000, &ready, NULL), PW_OK);
        assert_true(pw_now_ns() - start_ns < INT64_C(5) * 1000 * 1000 * 1000); /* by its bell, not by the deadline */
        pthread_join(thread, NULL);
        assert_int_equal(ready, 1);
        assert_int_equal(pw_wait(futures, 200, 2, 1000, NULL, NULL), PW_DEADLINE);
        for (size_t i = 0; i < 199; i++)
                assert_int_equal(i % 2 ? pw_seal(futures[i], NULL) : pw_abort(futures[i], NULL), PW_OK);
        assert_int_equal(pw_wait(futures, 200, 200, PW_FOREVER, &ready, NULL), PW_OK);
        assert_int_equal(ready, 200);
        assert_int_equal(pw_wait(futures, 2, 3, 0, NULL, NULL), PW_INVALID);
        assert_int_equal(pw_wait(NULL, 0, 0, 0, NULL, NULL), PW_OK);
        for (size_t i = 0; i < 200; i++)
                pw_unref(futures[i]);
}

static void test_open(void **state)
{
        struct world *world = *state;
        struct pw_future *future = put_text(world, "an object of some bytes that need a room"), *other, *third;
        struct pw_id id = pw_future_id(future), parsed;
        char text[PW_ID_TEXT_BYTES];
        assert_int_equal(pw_id_parse(pw_id_format(id, text), &parsed, NULL), PW_OK);
        assert_int_equal(pw_open(world->session, parsed, &other, NULL), PW_OK);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->refs, 1);
        pw_unref(future);
        fake_settle(world->fake);
        assert_int_equal(pw_poll(other), PW_OK);
        pw_unref(other);
        fake_settle(world->fake);
        assert_int_equal(pw_open(world->session, id, &third, NULL), PW_GONE);
        id.epoch++;
        assert_int_equal(pw_open(world->session, id, &third, NULL), PW_GONE);
        assert_int_equal(pw_open(world->session, pw_id_make(9, 3, 7, 0, 1), &third, NULL), PW_NOT_FOUND);
        assert_int_equal(pw_open(world->session, pw_id_make(0, 3, 99, 0, 1), &third, NULL), PW_NOT_FOUND);
        assert_int_equal(pw_open(world->session, pw_id_make(0, 3, 7, PW_SLOT_MAX, 1), &third, NULL), PW_NOT_FOUND);
}

static void test_names(void **state)
{
        struct world *world = *state;
        struct pw_future *future = put_text(world, "weights"), *found;
        assert_int_equal(pw_name(future, "", NULL), PW_INVALID);
        assert_int_equal(pw_name(future, "two words", NULL), PW_INVALID);
        assert_int_equal(pw_name(future, "weights", NULL), PW_OK);
        assert_int_equal(pw_lookup(world->session, "biases", 0, &found, NULL), PW_NOT_FOUND);
        assert_int_equal(pw_lookup(world->session, "weights", 0, &found, NULL), PW_OK);
        assert_int_equal(pw_future_id(found).place, pw_future_id(future).place);
        assert_int_equal(pw_lease(future, 0, NULL), PW_INVALID);
        pw_unref(found);
        pw_unref(future);
}

/* Room is short: a put waits for what is given back, or until its deadline. */
static void test_room_wait(void **state)
{
        struct world *world = *state;
        static uint8_t bytes[16 * 1024];
        struct pw_future *held[5];
        struct pw_error err;
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(pw_put(world->session, bytes, sizeof bytes, NULL, &held[i], NULL), PW_OK);
        struct pw_put_params params = { .timeout_us = 2000 };
        assert_int_equal(pw_put(world->session, bytes, sizeof bytes, &params, &held[4], &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "held by"));
        assert_int_equal(pw_put(world->session, bytes, 65 * 1024, &params, &held[4], &err), PW_TOO_LARGE);
        pw_unref(held[2]);
        assert_int_equal(pw_put(world->session, bytes, sizeof bytes, NULL, &held[2], &err), PW_OK);
        for (int round = 0; round < 1000; round++) {
                pw_unref(held[round % 4]);
                assert_int_equal(pw_put(world->session, bytes, sizeof bytes, NULL, &held[round % 4], NULL), PW_OK);
        }
        for (size_t i = 0; i < 4; i++)
                pw_unref(held[i]);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->dropped_unknown, 0);
}

static void *get_forever(void *argument)
{
        struct pw_view view;
        return (void *)(uintptr_t)pw_get(argument, PW_FOREVER, &view, NULL);
}

static void test_daemon_gone(void **state)
{
        struct world *world = *state;
        struct pw_future *future, *other;
        void *data, *status;
        struct pw_error err;
        assert_int_equal(pw_create(world->session, 100, NULL, &future, &data, NULL), PW_OK);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, get_forever, future), 0);
        fake_die(world->fake);
        pthread_join(thread, &status);
        assert_int_equal((uintptr_t)status, PW_DAEMON_GONE);
        assert_int_equal(pw_put(world->session, "x", 1, NULL, &other, &err), PW_DAEMON_GONE);
        assert_int_equal(pw_name(future, "name", &err), PW_DAEMON_GONE);
        assert_int_equal(pw_seal(future, &err), PW_DAEMON_GONE);
        pw_unref(future);
}

/* Whichever call finds out first: no later one goes on as if nothing were. */
static void test_daemon_gone_is_gone_for_all(void **state)
{
        for (int round = 0; round < 10; round++) {
                struct world *world = *state;
                struct pw_future *future;
                assert_int_equal(pw_put(world->session, "a", 1, NULL, &future, NULL), PW_OK); /* there is room for more */
                pw_unref(future);
                fake_die(world->fake);
                assert_int_equal(pw_unname(world->session, "name", NULL), PW_DAEMON_GONE);
                assert_int_equal(pw_put(world->session, "b", 1, NULL, &future, NULL), PW_DAEMON_GONE);
                teardown(state);
                setup(state);
        }
}

/* A session that is closed while a thread waits and handles live: the wait ends, the handles may still be given back. */
static void test_close_with_handles(void **state)
{
        struct world *world = *state;
        struct pw_future *future = put_text(world, "a text of more than some bytes"), *pending;
        struct pw_view view, late;
        void *data, *status;
        assert_int_equal(pw_get(future, 0, &view, NULL), PW_OK);
        assert_int_equal(pw_create(world->session, 100, NULL, &pending, &data, NULL), PW_OK);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, get_forever, pending), 0);
        pw_close(world->session);
        world->session = NULL;
        pthread_join(thread, &status);
        assert_int_equal((uintptr_t)status, PW_DAEMON_GONE);
        assert_int_equal(pw_get(future, 0, &late, NULL), PW_DAEMON_GONE);
        assert_memory_equal(view.data, "a text", 6);
        pw_unref(pending);
        pw_unref(future);
        pw_view_done(&view);
}

static void test_fork(void **state)
{
        struct world *world = *state;
        struct pw_future *future = put_text(world, "parent's"), *other;
        struct pw_view view;
        pid_t child = fork();
        if (child == 0) {
                bool fine = pw_put(world->session, "x", 1, NULL, &other, NULL) == PW_FORKED &&
                            pw_get(future, PW_FOREVER, &view, NULL) == PW_FORKED && pw_poll(future) == PW_FORKED &&
                            pw_open(world->session, pw_future_id(future), &other, NULL) == PW_FORKED;
                pw_unref(future);
                pw_close(world->session);
                _exit(fine ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        fake_settle(world->fake);
        assert_int_equal(fake_counts(world->fake)->drops, 0);
        assert_int_equal(pw_get(future, 0, &view, NULL), PW_OK);
        pw_view_done(&view);
        pw_unref(future);
}

static int lowest_fd(void)
{
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(fd);
        return fd;
}

static void test_nobody_there(void **state)
{
        (void)state;
        struct pw_session *session;
        struct pw_error err;
        int before = lowest_fd();
        assert_int_equal(pw_connect("/nonexistent/pathwaysd.sock", &session, &err), PW_DAEMON_GONE);
        assert_non_null(strstr(err.text, "/nonexistent/pathwaysd.sock"));
        char path[300];
        memset(path, 'x', sizeof path - 1);
        path[sizeof path - 1] = 0;
        assert_int_equal(pw_connect(path, &session, &err), PW_INVALID);
        assert_int_equal(lowest_fd(), before);
        pw_close(NULL);
        pw_unref(NULL);
        pw_slice_close(NULL);
        pw_program_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_put_get), TEST(test_typed), TEST(test_create), TEST(test_wait), TEST(test_open), TEST(test_names),
                cmocka_unit_test_setup_teardown(test_room_wait, setup_small, teardown),
                TEST(test_daemon_gone), TEST(test_daemon_gone_is_gone_for_all), TEST(test_close_with_handles), TEST(test_fork),
                cmocka_unit_test(test_nobody_there),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
