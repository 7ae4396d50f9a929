/* Values: put, get, create, seal, wait, through a real daemon. */
#include "tests/integration/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static uint8_t *pattern(uint64_t bytes, uint64_t seed)
{
        uint8_t *data = malloc(bytes + 8);

        assert_non_null(data);
        for (uint64_t i = 0; i < bytes; i += 8) {
                uint64_t word = it_random(&seed);
                memcpy(data + i, &word, 8);
        }
        return data;
}

static void puts_all_sizes(void **state)
{
        static const uint64_t sizes[] = { 0, 1, 23, 24, 25, 63, 64, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1, 64 * MIB };
        struct it_host *host = *state;

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                uint8_t *data = pattern(sizes[i], i);
                struct pw_future *future;
                struct pw_info info;
                struct pw_view view;

                it_ok(pw_put(host->session, data, sizes[i], NULL, &future, IT_ERR));
                assert_int_equal(pw_poll(future), PW_OK);
                it_ok(pw_get(future, PW_FOREVER, &view, IT_ERR));
                assert_int_equal(view.bytes, sizes[i]);
                assert_int_equal(view.dtype, PW_OPAQUE);
                assert_int_equal(view.dims.rank, 1);
                assert_int_equal(view.dims.dim[0], sizes[i]);
                assert_memory_equal(sizes[i] ? view.data : data, data, sizes[i]);
                pw_view_done(&view);
                it_ok(pw_future_info(future, &info, IT_ERR));
                assert_int_equal(info.bytes, sizes[i]);
                assert_int_equal(info.shard_count, 1);
                assert_int_equal(info.status, PW_OK);
                pw_unref(future);
                free(data);
        }
}

static void keeps_dtypes_and_dims(void **state)
{
        struct it_host *host = *state;
        uint8_t *data = pattern(4096, 1);

        for (int dtype = PW_U8; dtype <= PW_U64; dtype++) {
                struct pw_put_params params = { .dtype = (enum pw_dtype)dtype };

                for (uint64_t elements = 1; params.dims.rank <= PW_RANK_MAX; elements *= 2) {
                        uint64_t bytes = elements * pw_dtype_bytes(params.dtype);
                        struct pw_future *future;
                        struct pw_view view;

                        it_ok(pw_put(host->session, data, bytes, &params, &future, IT_ERR));
                        it_ok(pw_get(future, 0, &view, IT_ERR));
                        assert_int_equal(view.dtype, dtype);
                        assert_int_equal(view.dims.rank, params.dims.rank);
                        assert_memory_equal(view.dims.dim, params.dims.dim, params.dims.rank * sizeof(uint64_t));
                        assert_memory_equal(view.data, data, bytes);
                        pw_view_done(&view);
                        pw_unref(future);
                        if (params.dims.rank < PW_RANK_MAX)
                                params.dims.dim[params.dims.rank] = 2;
                        params.dims.rank++;
                }
        }
        free(data);
}

static void refuses_wrong_shapes(void **state)
{
        struct it_host *host = *state;
        struct pw_put_params nine = { .dtype = PW_F32, .dims = { .rank = 9 } };
        struct pw_put_params unknown = { .dtype = (enum pw_dtype)77, .dims = PW_DIMS(4) };
        struct pw_put_params mismatch = { .dtype = PW_F32, .dims = PW_DIMS(3, 2) };
        struct pw_put_params empty = { .dtype = PW_F32, .dims = PW_DIMS(3, 0) };
        struct pw_future *future;
        char data[64] = "";

        it_fails(pw_put(host->session, data, 4, &nine, &future, IT_ERR), PW_SHAPE, "rank 9");
        it_fails(pw_put(host->session, data, 4, &unknown, &future, IT_ERR), PW_SHAPE, "77");
        it_fails(pw_put(host->session, data, 25, &mismatch, &future, IT_ERR), PW_SHAPE, "24|25");
        it_fails(pw_put(host->session, NULL, 4, NULL, &future, IT_ERR), PW_INVALID, "NULL");
        it_ok(pw_put(host->session, NULL, 0, &empty, &future, IT_ERR));
        pw_unref(future);
}

static void refuses_what_can_never_fit(void **state)
{
        struct it_host *host = *state;
        struct pw_put_params overflow = { .dtype = PW_F64, .dims = PW_DIMS(UINT64_C(1) << 32, UINT64_C(1) << 32) };
        struct pw_future *future;
        void *data;

        it_fails(pw_create(host->session, UINT64_MAX, NULL, &future, &data, IT_ERR), PW_TOO_LARGE, "h0|536870912");
        it_fails(pw_create(host->session, UINT64_MAX - 63, NULL, &future, &data, IT_ERR), PW_TOO_LARGE, "h0|536870912");
        it_fails(pw_create(host->session, UINT64_C(1) << 40, NULL, &future, &data, IT_ERR), PW_TOO_LARGE, "h0|536870912");
        it_fails(pw_create(host->session, 600 * MIB, NULL, &future, &data, IT_ERR), PW_TOO_LARGE, "h0");
        it_fails(pw_create(host->session, 500 * MIB, NULL, &future, &data, IT_ERR), PW_TOO_LARGE, "384 MiB|h0");
        it_fails(pw_create(host->session, 8, &overflow, &future, &data, IT_ERR), PW_TOO_LARGE, "64 bits");
}

static void creates_seals_and_aborts(void **state)
{
        struct it_host *host = *state;
        static const uint64_t sizes[] = { 0, 8, 100, 3 * MIB };

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct pw_future *sealed, *aborted;
                struct pw_view view;
                void *data;

                it_ok(pw_create(host->session, sizes[i], NULL, &sealed, &data, IT_ERR));
                assert_int_equal(pw_poll(sealed), PW_NOT_READY);
                it_fails(pw_get(sealed, 0, &view, IT_ERR), PW_NOT_READY, "");
                assert_int_equal((uintptr_t)data % 64, 0);
                memset(data, 7, sizes[i]);
                it_ok(pw_seal(sealed, IT_ERR));
                it_fails(pw_seal(sealed, IT_ERR), PW_INVALID, "");
                it_fails(pw_abort(sealed, IT_ERR), PW_INVALID, "");
                it_ok(pw_get(sealed, 0, &view, IT_ERR));
                assert_int_equal(view.bytes, sizes[i]);
                for (uint64_t b = 0; b < sizes[i]; b++)
                        assert_int_equal(((const uint8_t *)view.data)[b], 7);
                pw_view_done(&view);
                pw_unref(sealed);

                it_ok(pw_create(host->session, sizes[i], NULL, &aborted, &data, IT_ERR));
                it_ok(pw_abort(aborted, IT_ERR));
                it_fails(pw_get(aborted, PW_FOREVER, &view, IT_ERR), PW_CANCELLED, "");
                it_fails(pw_seal(aborted, IT_ERR), PW_INVALID, "");
                pw_unref(aborted);
        }
}

static void waits_for_all_any_and_some(void **state)
{
        struct it_host *host = *state;
        struct pw_future *futures[5];
        size_t ready = 99;
        void *data;

        for (int i = 0; i < 5; i++)
                it_ok(pw_create(host->session, 100, NULL, &futures[i], &data, IT_ERR));
        it_fails(pw_wait(futures, 5, 1, 0, &ready, IT_ERR), PW_DEADLINE, "");
        assert_int_equal(ready, 0);
        it_ok(pw_wait(futures, 5, 0, 0, &ready, IT_ERR));
        it_ok(pw_seal(futures[3], IT_ERR));
        it_ok(pw_wait(futures, 5, 1, PW_FOREVER, &ready, IT_ERR));
        assert_int_equal(ready, 1);
        it_ok(pw_abort(futures[1], IT_ERR));
        it_ok(pw_wait(futures, 5, 2, PW_FOREVER, &ready, IT_ERR));
        it_fails(pw_wait(futures, 5, 3, 1000, &ready, IT_ERR), PW_DEADLINE, "2");
        assert_int_equal(ready, 2);
        it_fails(pw_wait(futures, 5, 6, 0, &ready, IT_ERR), PW_INVALID, "need 6 of 5");
        for (int i = 0; i < 5; i += 2)
                it_ok(pw_seal(futures[i], IT_ERR));
        it_ok(pw_wait(futures, 5, 5, PW_FOREVER, &ready, IT_ERR));
        assert_int_equal(ready, 5);
        for (int i = 0; i < 5; i++)
                pw_unref(futures[i]);
}

/* One wait is of one session, also where all are ready, or need not be. */
static void waits_for_one_session(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_future *futures[3] = { NULL };
        size_t ready;

        for (int i = 0; i < 3; i++)
                it_ok(pw_put(i == 1 ? other : host->session, "x", 1, NULL, &futures[i], IT_ERR));
        for (size_t need = 0; need <= 3; need++)
                it_fails(pw_wait(futures, 3, need, IT_LONG, &ready, IT_ERR), PW_INVALID,
                         "future 1 is of another session than future 0");
        pw_unref(futures[1]);
        futures[1] = NULL;
        it_fails(pw_wait(futures, 3, 1, IT_LONG, &ready, IT_ERR), PW_INVALID, "future 1 is NULL");
        it_ok(pw_wait(futures, 1, 1, IT_LONG, &ready, IT_ERR));
        pw_unref(futures[0]);
        pw_unref(futures[2]);
        pw_close(other);
}

/* The bytes under a view stay as they were however much is put into the room that the last reference gave back. */
static void views_outlive_their_reference(void **state)
{
        struct it_host *host = *state;
        uint8_t *data = pattern(2 * MIB, 5), *other = pattern(2 * MIB, 6);
        static const uint64_t sizes[] = { 8, 1000, 2 * MIB };
        struct pw_view views[3];
        struct pw_future *future;

        for (int i = 0; i < 3; i++) {
                it_ok(pw_put(host->session, data, sizes[i], NULL, &future, IT_ERR));
                it_ok(pw_get(future, 0, &views[i], IT_ERR));
                pw_unref(future);
        }
        for (int i = 0; i < 3000; i++) {
                it_ok(pw_put(host->session, other, sizes[i % (i < 100 ? 3 : 2)], NULL, &future, IT_ERR));
                pw_unref(future);
        }
        for (int i = 0; i < 3; i++) {
                assert_int_equal(views[i].bytes, sizes[i]);
                assert_memory_equal(views[i].data, data, sizes[i]);
                pw_view_done(&views[i]);
        }
        free(data);
        free(other);
}

/* How many pieces of shared memory the process has mapped. */
static uint32_t count_maps(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        uint32_t count = 0;
        char line[600];

        assert_non_null(maps);
        while (fgets(line, sizeof line, maps))
                count += strstr(line, "memfd:pathways") != NULL;
        fclose(maps);
        return count;
}

/* With the last of them all that was mapped for it goes, whichever that is: of a view, of an object that was never sealed. */
static void handles_outlive_their_session(void **state)
{
        struct it_host *host = *state;
        uint32_t before = count_maps();
        struct pw_session *session = it_connect(host);
        struct pw_future *small, *large, *pending;
        struct pw_view view, late;
        char bytes[100] = "abc";
        void *data;

        it_ok(pw_put(session, bytes, 3, NULL, &small, IT_ERR));
        it_ok(pw_put(session, bytes, 100, NULL, &large, IT_ERR));
        it_ok(pw_create(session, 100, NULL, &pending, &data, IT_ERR));
        it_ok(pw_get(large, 0, &view, IT_ERR));
        pw_close(session);
        it_fails(pw_get(pending, PW_FOREVER, &late, IT_ERR), PW_DAEMON_GONE, "");
        it_fails(pw_seal(pending, IT_ERR), PW_DAEMON_GONE, "");
        assert_memory_equal(view.data, bytes, 100);
        assert_in_range(count_maps(), before + 1, UINT32_MAX);
        pw_unref(small);
        pw_unref(large);
        pw_unref(pending);
        assert_memory_equal(view.data, bytes, 100);
        pw_view_done(&view);
        assert_int_equal(count_maps(), before);
}

static int use_parents_session(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_future *future;
        struct pw_error err;

        (void)pipe;
        return pw_put(host->session, "x", 1, NULL, &future, &err) == PW_FORKED ? 0 : 1;
}

static void a_fork_is_told_so(void **state)
{
        struct it_child child = it_fork(use_parents_session, *state);

        assert_int_equal(it_reap(&child, 0), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(puts_all_sizes),
                IT_TEST(keeps_dtypes_and_dims),
                IT_TEST(refuses_wrong_shapes),
                IT_TEST(refuses_what_can_never_fit),
                IT_TEST(creates_seals_and_aborts),
                IT_TEST(waits_for_all_any_and_some), IT_TEST(waits_for_one_session),
                IT_TEST(views_outlive_their_reference),
                IT_TEST(handles_outlive_their_session),
                IT_TEST(a_fork_is_told_so),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
