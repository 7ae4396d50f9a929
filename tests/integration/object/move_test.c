/* Values that move between the memories of devices and of the host: what they are, what they take, who may read them meanwhile. */
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 1024
#define COUNT (ROWS * 4)
#define BYTES (COUNT * sizeof(double))

static const struct pw_relocate_params *const to_host = NULL;

static struct pw_relocate_params to_devices(struct pw_slice *slice, struct pw_sharding sharding)
{
        return (struct pw_relocate_params){ .slice = slice, .sharding = sharding, .timeout_us = IT_LONG };
}

/* start, start + 1, ... in rooms of the slice, as the result of a run. */
static struct pw_future *make(struct pw_session *session, struct pw_slice *slice, struct pw_dims dims, struct pw_sharding sharding,
                              double start)
{
        struct pw_program *program = pw_program_new(session, "test/make");
        struct pw_future *input = it_put_f64(session, dims, start), *result = NULL;

        pw_result(program, pw_input(program, slice, PW_F64, dims, sharding, 0));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        return result;
}

static void expect(struct pw_future *future, uint64_t count, double start)
{
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.dtype, PW_F64);
        assert_int_equal(view.bytes, count * sizeof(double));
        for (uint64_t i = 0; i < count; i++)
                assert_true(((const double *)view.data)[i] == start + (double)i);
        pw_view_done(&view);
}

static uint64_t device_bytes(const struct pw_listing *devices)
{
        uint64_t bytes = 0;

        for (size_t i = 0; i < it_rows(devices); i++)
                bytes += (uint64_t)it_number(devices, i, "used");
        return bytes;
}

static bool devices_have(const struct pw_listing *devices, void *context)
{
        return (device_bytes(devices) != 0) == *(bool *)context;
}

static void expect_on_devices(struct pw_session *session, bool there)
{
        it_until(session, "devices", devices_have, &there);
}

static void expect_where(struct pw_session *session, struct pw_future *future, const char *where)
{
        char id[PW_ID_TEXT_BYTES];
        struct pw_listing *object = it_list(session, "object", pw_id_format(pw_future_id(future), id));

        assert_non_null(strstr(it_text(object, it_find(object, "part", "object"), "where"), where));
        pw_listing_free(object);
}

/* What `object` says that it takes there, and what `owners` says of whom it is charged to, who has nothing else there. */
static void expect_host_bytes(struct pw_session *session, struct pw_future *future, uint64_t bytes)
{
        char id[PW_ID_TEXT_BYTES];
        struct pw_listing *object = it_list(session, "object", pw_id_format(pw_future_id(future), id));
        struct pw_listing *owners = it_list(session, "owners", NULL);
        size_t row = it_find(object, "part", "object");
        uint64_t room_bytes = (uint64_t)it_number(object, row, "host_bytes"), charged_bytes = 0;

        assert_true(room_bytes >= bytes && room_bytes <= 2 * bytes);
        for (size_t i = 0; i < it_rows(owners); i++)
                if (!strcmp(it_text(owners, i, "client"), it_text(object, row, "charged")))
                        charged_bytes += (uint64_t)it_number(owners, i, "host_bytes");
        assert_true(charged_bytes >= room_bytes);
        pw_listing_free(owners);
        pw_listing_free(object);
}

/* --- there and back ------------------------------------------------------------------------------------------------------- */

static void there_and_back(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *four = it_slice(host->session, 4, 1), *two = it_slice(host->session, 2, 1);
        struct pw_future *future = make(host->session, four, PW_DIMS(ROWS, 4), PW_SPLIT(0), 7);
        struct pw_relocate_params back = to_devices(two, PW_SPLIT(1));
        struct pw_id id = pw_future_id(future);
        struct pw_info info;

        expect_on_devices(host->session, true);
        for (int i = 0; i < 3; i++) {
                it_ok(pw_relocate(&future, to_host, IT_ERR));
                expect_on_devices(host->session, false);
                expect_where(host->session, future, "moved there");
                expect_host_bytes(host->session, future, BYTES);
                it_ok(pw_future_info(future, &info, IT_ERR));
                assert_int_equal(info.shard_count, 1);
                assert_int_equal(info.dims.dim[0], ROWS);
                expect(future, COUNT, 7);
                it_ok(pw_relocate(&future, to_host, IT_ERR)); /* it is there */
                it_ok(pw_relocate(&future, &back, IT_ERR));
                expect_on_devices(host->session, true);
                expect_host_bytes(host->session, future, 0);
                it_ok(pw_future_info(future, &info, IT_ERR));
                assert_int_equal(info.shard_count, 2);
                expect(future, COUNT, 7);
                assert_memory_equal(&info.id, &id, sizeof id);
        }
        back = to_devices(four, PW_BROADCAST); /* from devices to others */
        it_ok(pw_relocate(&future, &back, IT_ERR));
        expect(future, COUNT, 7);
        pw_unref(future);
        pw_slice_close(two);
        pw_slice_close(four);
}

static void sizes_and_shapes(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *two = it_slice(host->session, 2, 1);
        struct pw_relocate_params back = to_devices(two, PW_BROADCAST);
        const struct pw_dims dims[] = { PW_SCALAR, PW_DIMS(3), PW_DIMS(0), PW_DIMS(2, 1, 3, 1, 2, 1, 2, 1), PW_DIMS(1000, 1000) };
        const uint64_t counts[] = { 1, 3, 0, 24, 1000000 };

        for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
                struct pw_future *future = make(host->session, two, dims[i], PW_BROADCAST, 1);

                it_ok(pw_relocate(&future, to_host, IT_ERR));
                expect(future, counts[i], 1);
                it_ok(pw_relocate(&future, &back, IT_ERR));
                expect(future, counts[i], 1);
                it_ok(pw_relocate(&future, to_host, IT_ERR));
                pw_unref(future);
        }
        pw_slice_close(two);
}

/* What a run reads, and what a name holds, is the value wherever it lies. */
static void others_read_it_where_it_is(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_slice *two = it_slice(host->session, 2, 1);
        struct pw_future *future = make(host->session, two, PW_DIMS(ROWS, 4), PW_SPLIT(0), 3), *found, *sum;
        struct pw_program *program = pw_program_new(host->session, "test/grow");

        pw_result(program, it_grow(program, two, pw_input(program, two, PW_F64, PW_DIMS(ROWS, 4), PW_SPLIT(0), PW_DONATED),
                                   PW_SPLIT(0), 10));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_name(future, "value", IT_ERR));
        it_ok(pw_relocate(&future, to_host, IT_ERR));
        it_ok(pw_lookup(other, "value", 0, &found, IT_ERR));
        expect(found, COUNT, 3);
        it_ok(pw_run(program, PW_FUTURES(future), &sum, IT_ERR));
        expect(sum, COUNT, 13);
        pw_unref(sum);
        it_ok(pw_run(program, PW_FUTURES(pw_donate(&future)), &sum, IT_ERR));
        expect(sum, COUNT, 13);
        expect(found, COUNT, 3);
        pw_unref(sum);
        pw_unref(found);
        pw_close(other);
        it_ok(pw_unname(host->session, "value", IT_ERR));
        pw_program_free(program);
        pw_slice_close(two);
}

/* --- refused --------------------------------------------------------------------------------------------------------------- */

static void who_holds_it_is_named(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_slice *two = it_slice(host->session, 2, 1);
        struct pw_future *future = make(host->session, two, PW_DIMS(8), PW_BROADCAST, 1), *again, *slow, *never = NULL;
        struct pw_program *program = pw_program_new(host->session, "test/slow");
        struct pw_relocate_params wrong = { .timeout_us = -1 };
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        it_fails(pw_relocate(&future, to_host, IT_ERR), PW_BUSY, "view");
        pw_view_done(&view);
        it_ok(pw_open(other, pw_future_id(future), &again, IT_ERR));
        it_fails(pw_relocate(&future, to_host, IT_ERR), PW_BUSY, "move_test[");
        it_fails(pw_relocate(&again, to_host, IT_ERR), PW_BUSY, "move_test[");
        pw_close(other);
        pw_unref(again);
        it_ok(pw_open(host->session, pw_future_id(future), &again, IT_ERR));
        it_fails(pw_relocate(&future, to_host, IT_ERR), PW_BUSY, "2 handles");
        pw_unref(again);
        pw_result(program,
                  it_sleep(program, two, pw_input(program, two, PW_F64, PW_DIMS(8), PW_BROADCAST, 0), PW_BROADCAST, 300000));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(future), &slow, IT_ERR));
        it_fails(pw_relocate(&future, to_host, IT_ERR), PW_BUSY, "run ");
        it_ok(pw_wait(&slow, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(slow);
        it_fails(pw_relocate(&future, &wrong, IT_ERR), PW_INVALID, "-1");
        it_fails(pw_relocate(&never, to_host, IT_ERR), PW_INVALID, "NULL");
        it_fails(pw_relocate(NULL, to_host, IT_ERR), PW_INVALID, "NULL");
        expect(future, 8, 1);
        it_ok(pw_relocate(&future, to_host, IT_ERR));
        expect(future, 8, 1);
        pw_unref(future);
        pw_program_free(program);
        pw_slice_close(two);
}

static void what_is_not_there_yet_or_failed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *two = it_slice(host->session, 2, 1);
        struct pw_program *slow = pw_program_new(host->session, "test/slow"), *bad = pw_program_new(host->session, "test/bad");
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 1), *result, *failed;
        struct pw_relocate_params soon = { .timeout_us = 1000 };

        pw_result(slow, it_sleep(slow, two, pw_input(slow, two, PW_F64, PW_DIMS(8), PW_BROADCAST, 0), PW_BROADCAST, 200000));
        it_ok(pw_compile(slow, IT_ERR));
        pw_result(bad, it_break(bad, two, "broken/fail", pw_input(bad, two, PW_F64, PW_DIMS(8), PW_BROADCAST, 0), PW_BROADCAST, 1));
        it_ok(pw_compile(bad, IT_ERR));
        it_ok(pw_run(slow, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_run(bad, PW_FUTURES(input), &failed, IT_ERR));
        it_fails(pw_relocate(&result, &soon, IT_ERR), PW_DEADLINE, "");
        it_ok(pw_relocate(&result, to_host, IT_ERR)); /* waits for it */
        expect(result, 8, 1);
        it_fails(pw_relocate(&failed, to_host, IT_ERR), PW_FAILED, "broken/fail");
        pw_unref(failed);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(bad);
        pw_program_free(slow);
        pw_slice_close(two);
}

/* What a client put is named by where it lies. */
static void what_a_client_put_gets_another_id(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *two = it_slice(host->session, 2, 1);
        struct pw_future *future = it_put_f64(host->session, PW_DIMS(64), 5);
        struct pw_relocate_params there = to_devices(two, PW_SPLIT(0));
        struct pw_id id = pw_future_id(future), now;

        it_ok(pw_relocate(&future, to_host, IT_ERR));
        now = pw_future_id(future);
        assert_memory_equal(&now, &id, sizeof id);
        it_ok(pw_relocate(&future, &there, IT_ERR));
        now = pw_future_id(future);
        assert_memory_not_equal(&now, &id, sizeof id);
        expect(future, 64, 5);
        it_ok(pw_relocate(&future, to_host, IT_ERR));
        expect(future, 64, 5);
        pw_unref(future);
        pw_slice_close(two);
}

/* --- no room ---------------------------------------------------------------------------------------------------------------- */

/* Room is looked for once the request is there. One whose time was over before says so, and is made again with more. */
static enum pw_status relocate_in_time(struct pw_future **future, struct pw_relocate_params params, struct pw_error *ret_err)
{
        enum pw_status status;

        do {
                status = pw_relocate(future, &params, ret_err);
                params.timeout_us *= 2;
        } while (status == PW_DEADLINE && params.timeout_us < IT_LONG);
        return status;
}

static void without_room_it_stays(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *one = it_slice(host->session, 1, 1);
        struct pw_relocate_params soon = { .timeout_us = 100000 }, there = { .slice = one, .timeout_us = 100000 };
        struct pw_future *future = make(host->session, one, PW_DIMS(1 << 20), PW_BROADCAST, 1), *other, *full[64];
        size_t count = 0;
        void *data;

        while (count < 64 &&
               pw_create(host->session, 8 << 20, &(struct pw_put_params){ .timeout_us = 1000 }, &full[count], &data, NULL) == PW_OK)
                count++;
        it_fails(relocate_in_time(&future, soon, IT_ERR), PW_NO_SPACE, "MiB");
        if (!it_apart()) /* to be read it would be copied, too */
                expect(future, 1 << 20, 1);
        while (count)
                pw_unref(full[--count]);
        it_ok(pw_relocate(&future, to_host, IT_ERR));
        other = make(host->session, one, PW_DIMS(3 << 19), PW_BROADCAST, 2); /* 12 of 16 MiB */
        it_fails(relocate_in_time(&future, there, IT_ERR), PW_NO_SPACE, "MiB");
        expect(future, 1 << 20, 1);
        pw_unref(other);
        there.timeout_us = IT_LONG;
        it_ok(pw_relocate(&future, &there, IT_ERR));
        expect(future, 1 << 20, 1);
        pw_unref(future);
        pw_slice_close(one);
}

/* --- while others are about it ------------------------------------------------------------------------------------------------ */

struct mover { const struct it_host *host; uint32_t rounds; };

/* Makes the value, names it, moves it to and fro: says when the name is there. */
static int move_about(void *context, int pipe)
{
        const struct mover *mover = context;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_future *future;
        uint32_t moved = 0;

        if (pw_connect(mover->host->socket, &session, NULL) != PW_OK)
                return 2;
        slice = it_slice(session, 2, 1);
        future = make(session, slice, PW_DIMS(ROWS, 4), PW_SPLIT(0), 3);
        if (pw_name(future, "value", NULL) != PW_OK || write(pipe, "n", 1) != 1)
                return 3;
        for (uint32_t i = 0; i < mover->rounds || !moved; i++) {
                struct pw_relocate_params back = to_devices(slice, PW_SPLIT(0));
                struct pw_error err;
                enum pw_status status = pw_relocate(&future, i % 2 ? &back : to_host, &err);

                moved += status == PW_OK;
                if (status != PW_OK && status != PW_BUSY) {
                        fprintf(stderr, "%s\n", err.text);
                        return 4;
                }
        }
        pw_close(session);
        return 0;
}

static void readers_see_the_value_always(void **state)
{
        struct it_host *host = *state;
        struct mover mover = { host, 400 };
        struct it_child child = it_fork(move_about, &mover);
        struct pw_future *found;
        struct pw_id id;
        char byte;

        it_read(&child, &byte, 1);
        it_ok(pw_lookup(host->session, "value", 0, &found, IT_ERR));
        id = pw_future_id(found);
        for (int i = 0; i < 2000; i++) {
                if (i)
                        it_ok(pw_open(host->session, id, &found, IT_ERR));
                expect(found, COUNT, 3);
                pw_unref(found);
        }
        assert_int_equal(it_reap(&child, 0), 0);
        it_ok(pw_unname(host->session, "value", IT_ERR));
}

/* Who holds it keeps it where it is: each try to move it marks it for a moment, and no read fails for that. */
static void held_it_is_read_while_others_try(void **state)
{
        struct it_host *host = *state;
        struct mover mover = { host, UINT32_MAX };
        struct it_child child = it_fork(move_about, &mover);
        struct pw_future *found;
        char byte;

        it_read(&child, &byte, 1);
        it_ok(pw_lookup(host->session, "value", 0, &found, IT_ERR));
        for (int i = 0; i < 4000; i++)
                expect(found, COUNT, 3);
        it_reap(&child, SIGKILL);
        pw_unref(found);
        it_ok(pw_unname(host->session, "value", IT_ERR));
}

/* A client killed anywhere in a move leaves the value to the name, in one memory or the other, and nothing else. */
static void a_mover_that_is_killed(void **state)
{
        struct it_host *host = *state;
        struct mover mover = { host, UINT32_MAX };
        uint64_t seed = 11;

        for (int i = 0; i < 12; i++) {
                struct it_child child = it_fork(move_about, &mover);
                struct pw_future *found;
                char byte;

                it_read(&child, &byte, 1);
                for (uint64_t looks = it_random(&seed) % 12; looks; looks--)
                        assert_int_equal(it_listed(host->session, "status", "host"), 0);
                it_reap(&child, SIGKILL);
                it_ok(pw_lookup(host->session, "value", 0, &found, IT_ERR));
                expect(found, COUNT, 3);
                if (i % 2) { /* what the dead left can be moved on */
                        struct pw_relocate_params soon = { .timeout_us = IT_LONG };
                        enum pw_status status;

                        while ((status = pw_relocate(&found, &soon, NULL)) == PW_BUSY)
                                assert_int_equal(it_listed(host->session, "status", "host"), 0);
                        assert_int_equal(status, PW_OK);
                        expect(found, COUNT, 3);
                }
                pw_unref(found);
                it_ok(pw_unname(host->session, "value", IT_ERR));
        }
}

/* An executor that dies in a move ends at most what its memory alone held. */
static void an_executor_that_is_killed(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *two = it_slice(host->session, 2, 1);
        struct pw_relocate_params back = to_devices(two, PW_SPLIT(0));
        uint64_t seed = 5;
        uint32_t lost = 0;

        for (int i = 0; i < 10; i++) {
                struct pw_future *future = make(host->session, two, PW_DIMS(1 << 18), PW_SPLIT(0), 2);
                enum pw_status status = pw_relocate(&future, to_host, NULL);
                bool there = false;

                for (uint64_t j = 0; status == PW_OK && j < 6; j++) {
                        if (j == it_random(&seed) % 3)
                                it_signal_executor(host, "h0:0", SIGKILL);
                        there = !there;
                        status = pw_relocate(&future, there ? &back : to_host, NULL);
                        if (status != PW_OK && there && pw_poll(future) == PW_OK) { /* the copy was lost, not the value */
                                expect(future, 1 << 18, 2);
                                there = false;
                                status = PW_OK;
                        }
                }
                lost += status != PW_OK;
                if (status == PW_OK && pw_poll(future) == PW_OK && !there)
                        expect(future, 1 << 18, 2);
                else if (pw_poll(future) != PW_OK)
                        assert_true(pw_poll(future) == PW_DEVICE_LOST || pw_poll(future) == PW_CRASHED);
                pw_unref(future);
        }
        (void)lost;
        pw_slice_close(two);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(there_and_back),
                IT_TEST(sizes_and_shapes),
                IT_TEST(others_read_it_where_it_is),
                IT_TEST(who_holds_it_is_named),
                IT_TEST(what_is_not_there_yet_or_failed),
                IT_TEST(what_a_client_put_gets_another_id),
                IT_TEST(without_room_it_stays),
                IT_TEST(readers_see_the_value_always),
                IT_TEST(held_it_is_read_while_others_try),
                IT_TEST(a_mover_that_is_killed),
                IT_TEST(an_executor_that_is_killed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
