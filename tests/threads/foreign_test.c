/* Objects of another host, as clients of this one see them: opened, waited for, read, named, lost. The other host is played inside
 * the daemon; nothing of a network is here. */
#include "pathways.h"
#include "tests/threads/inside.h"
#include "tests/threads/other_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_US (20 * INT64_C(1000000))

static struct inside inside;
static struct pw_session *session;
static struct pw_error err;

static struct pw_future *must_open(uint32_t slot)
{
        struct pw_future *future;

        if (pw_open(session, other_id(slot), &future, &err) != PW_OK)
                fail_msg("open: %s", err.text);
        assert_true(pw_id_equal(pw_future_id(future), other_id(slot)));
        return future;
}

static void have(uint32_t what, uint32_t slot)
{
        struct pw_future *future;

        assert_int_equal(pw_open(session, other_id(what + slot), &future, &err), PW_NOT_FOUND);
}

static void check_bytes(struct pw_future *future, uint32_t slot, uint64_t bytes)
{
        struct pw_view view;

        if (pw_get(future, WAIT_US, &view, &err) != PW_OK)
                fail_msg("get: %s", err.text);
        assert_int_equal(view.bytes, bytes);
        for (uint64_t i = 0; i < bytes; i++)
                assert_int_equal(((const uint8_t *)view.data)[i], slot);
        pw_view_done(&view);
}

static void test_bytes(void **state)
{
        struct pw_future *future = must_open(OTHER_BYTES), *again = must_open(OTHER_BYTES);
        uint32_t fetched = atomic_load(&other_fetched);
        struct pw_info info;
        struct pw_view view;

        (void)state;
        assert_int_equal(pw_wait(&future, 1, 1, WAIT_US, NULL, &err), PW_OK);
        assert_int_equal(pw_poll(again), PW_OK);
        assert_int_equal(pw_future_info(future, &info, &err), PW_OK);
        assert_int_equal(info.bytes, OTHER_BYTES_COUNT);
        assert_int_equal(info.dtype, PW_OPAQUE);
        assert_true(pw_id_equal(info.id, other_id(OTHER_BYTES)));
        assert_int_equal(atomic_load(&other_fetched), fetched);
        check_bytes(future, OTHER_BYTES, OTHER_BYTES_COUNT);
        assert_int_equal(pw_get_shard(again, 0, WAIT_US, &view, &err), PW_OK);
        assert_int_equal(view.dtype, PW_OPAQUE);
        assert_int_equal(view.dims.rank, 1);
        assert_int_equal(view.dims.dim[0], OTHER_BYTES_COUNT);
        pw_unref(again);
        pw_unref(future);
        assert_int_equal(((const uint8_t *)view.data)[17], OTHER_BYTES); /* the view holds it */
        pw_view_done(&view);
        assert_int_equal(atomic_load(&other_fetched), fetched + 1);
}

static void test_matrix(void **state)
{
        struct pw_future *future = must_open(OTHER_MATRIX);
        struct pw_view view;

        (void)state;
        assert_int_equal(pw_get(future, WAIT_US, &view, &err), PW_OK);
        assert_int_equal(view.dtype, PW_F32);
        assert_int_equal(view.dims.rank, 2);
        assert_int_equal(view.dims.dim[1], 4);
        assert_int_equal(view.bytes, 48);
        pw_view_done(&view);
        pw_unref(future);
}

static void test_sizes(void **state)
{
        struct pw_future *empty = must_open(OTHER_EMPTY), *large = must_open(OTHER_LARGE);

        (void)state;
        check_bytes(empty, OTHER_EMPTY, 0);
        check_bytes(large, OTHER_LARGE, OTHER_LARGE_BYTES);
        pw_unref(empty);
        pw_unref(large);
}

static void test_errors(void **state)
{
        struct pw_future *future = must_open(OTHER_FAILED), *away = must_open(OTHER_AWAY), *none;
        struct pw_view view;

        (void)state;
        assert_int_equal(pw_get(future, WAIT_US, &view, &err), PW_FAILED);
        assert_string_equal(err.text, "h3.3f2a/7.3.1: function a/b failed on device h3:1");
        assert_int_equal(pw_get(away, WAIT_US, &view, &err), PW_HOST_LOST);
        assert_string_equal(err.text, "h3.3f2a/7.7.1: host h3 was lost");
        assert_int_equal(pw_open(session, other_id(OTHER_NONE), &none, &err), PW_NOT_FOUND);
        pw_unref(future);
        pw_unref(away);
}

/* What is decided later wakes who waits; what is lost before it is here says so. */
static void test_late(void **state)
{
        struct pw_future *future = must_open(OTHER_LATE);
        struct pw_view view;

        (void)state;
        assert_int_equal(pw_get(future, 0, &view, &err), PW_NOT_READY);
        assert_int_equal(pw_wait(&future, 1, 1, 1000, NULL, &err), PW_DEADLINE);
        assert_int_equal(pw_notify(future, &err), PW_OK);
        have(OTHER_DECIDE, OTHER_LATE);
        assert_int_equal(pw_wait(&future, 1, 1, WAIT_US, NULL, &err), PW_OK);
        have(OTHER_LOSE, OTHER_LATE);
        assert_int_equal(pw_get(future, WAIT_US, &view, &err), PW_HOST_LOST);
        pw_unref(future);
}

/* A lease holds it after its opener let go; its home, which says no to a name here, is asked for that; it is not moved. */
static void test_held(void **state)
{
        struct pw_future *future = must_open(OTHER_MATRIX), *found;
        uint32_t opened = atomic_load(&other_opened);

        (void)state;
        assert_int_equal(pw_lease(future, WAIT_US, &err), PW_OK);
        assert_int_equal(pw_name(future, "theirs", &err), PW_UNSUPPORTED);
        assert_int_equal(pw_lookup(session, "theirs", 0, &found, &err), PW_NOT_FOUND);
        pw_unref(future);
        found = must_open(OTHER_MATRIX);
        assert_int_equal(atomic_load(&other_opened), opened);
        assert_true(pw_id_equal(pw_future_id(found), other_id(OTHER_MATRIX)));
        assert_int_equal(pw_relocate(&found, NULL, &err), PW_OK); /* in host memory it is, from now on */
        check_bytes(found, OTHER_MATRIX, 48);
        pw_unref(found);
}

/* The slot goes with the last holder, and the next one opens it anew. */
static void test_freed(void **state)
{
        uint32_t opened = atomic_load(&other_opened), freed = atomic_load(&other_freed);
        struct pw_future *future = must_open(OTHER_BYTES);

        (void)state;
        assert_int_equal(atomic_load(&other_opened), opened + 1);
        check_bytes(future, OTHER_BYTES, OTHER_BYTES_COUNT);
        pw_unref(future);
        pw_close(session);
        assert_int_equal(pw_connect(inside.socket, &session, &err), PW_OK);
        while (atomic_load(&other_freed) == freed)
                have(OTHER_DECIDE, 0); /* its turns are what is waited for */
        future = must_open(OTHER_BYTES);
        assert_int_equal(atomic_load(&other_opened), opened + 2);
        pw_unref(future);
}

/* Twice what the future is, which has such dims. */
static struct pw_future *run_twice(struct pw_future *future, struct pw_dims dims)
{
        static const struct pw_sharding everywhere = PW_BROADCAST;
        struct pw_slice *slice;
        struct pw_program *program = pw_program_new(session, "twice");
        struct pw_future *result = NULL;
        struct pw_value *input;

        assert_int_equal(pw_slice_open(session, &(struct pw_slice_params){ .device_count = 2 }, &slice, &err), PW_OK);
        input = pw_input(program, slice, PW_F32, dims, everywhere, 0);
        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(input, input), everywhere));
        if (pw_compile(program, &err) != PW_OK || pw_run(program, PW_FUTURES(future), &result, &err) != PW_OK)
                fail_msg("run: %s", err.text);
        pw_program_free(program);
        pw_slice_close(slice);
        return result;
}

static void check_twice(struct pw_future *result, uint32_t slot, uint32_t count)
{
        struct pw_view view;
        float word;

        memset(&word, (int)slot, sizeof word);
        if (pw_get(result, WAIT_US, &view, &err) != PW_OK)
                fail_msg("get: %s", err.text);
        for (uint32_t i = 0; i < count; i++)
                assert_true(((const float *)view.data)[i] == 2 * word);
        pw_view_done(&view);
        pw_unref(result);
}

/* Runs have the bytes of their inputs brought here, also of what is decided later; where they cannot be had the run fails. */
static void test_runs(void **state)
{
        struct pw_future *matrix = must_open(OTHER_MATRIX), *late = must_open(OTHER_LATE), *away = must_open(OTHER_AWAY), *result;
        struct pw_view view;

        (void)state;
        check_twice(run_twice(matrix, PW_DIMS(3, 4)), OTHER_MATRIX, 12);
        check_twice(run_twice(matrix, PW_DIMS(3, 4)), OTHER_MATRIX, 12); /* its bytes are here */
        result = run_twice(late, PW_DIMS(OTHER_BYTES_COUNT / 4));
        assert_int_equal(pw_get(result, 1000, &view, &err), PW_DEADLINE);
        have(OTHER_DECIDE, OTHER_LATE);
        check_twice(result, OTHER_LATE, OTHER_BYTES_COUNT / 4);
        result = run_twice(away, PW_DIMS(OTHER_BYTES_COUNT / 4));
        assert_int_equal(pw_get(result, WAIT_US, &view, &err), PW_NO_SPACE);
        pw_unref(result);
        pw_unref(matrix);
        pw_unref(late);
        pw_unref(away);
}

/* Replicas wait for room where puts wait, and their readers till their deadlines. */
static void test_room(void **state)
{
        struct pw_future *huge = must_open(OTHER_HUGE), *large = must_open(OTHER_LARGE), *put[64];
        struct pw_put_params params = { .timeout_us = 1 };
        uint32_t count = 0;
        struct pw_view view;
        void *room;

        (void)state;
        assert_int_equal(pw_get(huge, WAIT_US, &view, &err), PW_TOO_LARGE);
        while (count < 64 && pw_create(session, OTHER_LARGE_BYTES / 2, &params, &put[count], &room, &err) == PW_OK)
                count++;
        assert_in_range(count, 1, 63);
        assert_int_equal(pw_get(large, 1000, &view, &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "held by"));
        while (count) {
                assert_int_equal(pw_abort(put[--count], &err), PW_OK);
                pw_unref(put[count]);
        }
        check_bytes(large, OTHER_LARGE, OTHER_LARGE_BYTES);
        pw_unref(large);
        pw_unref(huge);
}

/* Does a line that `pathways WHAT` prints have both? */
static bool says(const char *what, const char *first, const char *second)
{
        const char *build = getenv("PW_BUILD");
        char line[1000];
        bool found = false;
        FILE *output;

        snprintf(line, sizeof line, "%s/cli/pathways --socket %s %s", build ? build : ".", inside.socket, what);
        output = popen(line, "r");
        while (output && fgets(line, sizeof line, output))
                found |= strstr(line, first) && strstr(line, second);
        if (output)
                pclose(output);
        return found;
}

/* What the command says of it: the id that people know, and where it stands here. */
static void test_listed(void **state)
{
        struct pw_future *future = must_open(OTHER_LATE);

        (void)state;
        assert_true(says("object --json h3.3f2a/7.4.1", "\"id\": \"h3.3f2a/7.4.1\"", "\"local\": \"h0."));
        assert_true(says("objects", "h3.3f2a/7.4.1", "pending"));
        pw_unref(future);
}

static int open_all(void **state)
{
        (void)state;
        inside_start(&inside, other_host_prepare);
        return pw_connect(inside.socket, &session, &err) == PW_OK ? 0 : -1;
}

static int close_all(void **state)
{
        (void)state;
        pw_close(session);
        inside_stop(&inside);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes), cmocka_unit_test(test_matrix), cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_errors), cmocka_unit_test(test_late),  cmocka_unit_test(test_held),
                cmocka_unit_test(test_freed), cmocka_unit_test(test_runs), cmocka_unit_test(test_room),
                cmocka_unit_test(test_listed),
        };

        setenv("CMOCKA_TEST_ABORT", "1", 1);
        return cmocka_run_group_tests_name("foreign", tests, open_all, close_all);
}
