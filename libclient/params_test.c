/* Params structs of a caller with an older or a newer pathways.h: what is missing is 0, what is not known is refused. */
#include "libclient/program/program_fixture_test.h"

#include "base/memory.h"

#include <stdio.h>

static int setup(void **state) { return start(state, &(struct fake_params){ .room_bytes = 0 }); }

/* As a later release would declare them. */
struct newer_put { struct pw_put_params known; uint64_t later[2]; };
struct newer_slice { struct pw_slice_params known; uint64_t later[2]; };
struct newer_relocate { struct pw_relocate_params known; uint64_t later[2]; };
struct newer_call { struct pw_call_params known; uint64_t later[2]; };
struct newer_run { struct pw_run_params known; uint64_t later[2]; };

static void expect_unknown(enum pw_status status, const struct pw_error *err, const char *call, size_t known)
{
        char text[64];
        assert_int_equal(status, PW_UNSUPPORTED);
        if (!strstr(err->text, call))
                fail_msg("\"%s\" does not name %s", err->text, call);
        snprintf(text, sizeof text, "byte %zu is not 0", known + 8); /* on this machine the low byte is the first */
        if (!strstr(err->text, text))
                fail_msg("\"%s\" does not say \"%s\"", err->text, text);
}

/* Of a struct that ends before the last field, which holds what would be refused, or change the call. */
#define BEFORE(type, field) offsetof(struct type, field)

static void test_older(void **state)
{
        struct world *world = *state;
        struct pw_put_params put = { .dtype = PW_I64, .timeout_us = 5, .flags = PW_PUT_FROZEN };
        struct pw_slice_params slice = { .device_count = 4, .island = -1, .memory_bytes = UINT64_MAX };
        struct pw_relocate_params relocate = { .timeout_us = -1 };
        struct pw_call_params call = { .output_count = 1, .stage = pw_stage(world->other, "of another program", 1) };
        struct pw_run_params run = { .deadline_us = 0, .priority = 7 };
        struct pw_program *program = step(world, 0), *traced = pw_program_new(world->session, "traced");
        struct pw_future *future, *images = put_images(world), *result;
        struct pw_slice *opened;
        struct pw_value *value;
        void *room;
        int64_t number = 7;

        assert_int_equal(pw_put_sized(world->session, &number, 8, &put, BEFORE(pw_put_params, flags), &future, NULL), PW_OK);
        assert_int_equal(pw_run_sized(program, PW_FUTURES(future, images), &run, BEFORE(pw_run_params, priority), &result, NULL),
                         PW_OK);
        pw_unref(result);
        assert_int_equal(pw_relocate_sized(&future, &relocate, BEFORE(pw_relocate_params, timeout_us), NULL), PW_OK);
        pw_unref(future);
        assert_int_equal(pw_create_sized(world->session, 8, &put, BEFORE(pw_put_params, flags), &future, &room, NULL), PW_OK);
        assert_int_equal(pw_abort(future, NULL), PW_OK);
        pw_unref(future);
        assert_int_equal(pw_slice_open_sized(world->session, &slice, BEFORE(pw_slice_params, island), &opened, NULL), PW_OK);
        value = pw_input(traced, opened, PW_F32, PW_DIMS(4), PW_BROADCAST, 0);
        pw_result(traced, pw_call_sized(traced, opened, "m/f", PW_ARGS(value), PW_BROADCAST, &call, BEFORE(pw_call_params, stage)));
        assert_int_equal(pw_compile(traced, NULL), PW_OK);
        pw_program_free(program);
        pw_program_free(traced);
        pw_slice_close(opened);
        pw_unref(images);
}

/* With 0 in what is new the call is as before; else it is refused and does nothing. */
static void test_newer(void **state)
{
        struct world *world = *state;
        struct pw_program *program = step(world, PW_DONATED), *traced = pw_program_new(world->session, "traced");
        struct pw_future *weights = put_weights(world), *images = put_images(world), *future = NULL, *result = NULL;
        struct pw_slice *opened = NULL;
        struct pw_value *value = pw_input(traced, world->slice, PW_F32, PW_DIMS(4), PW_BROADCAST, 0);
        struct pw_error err;
        void *room;
        int64_t number = 7;

        for (uint64_t later = 0; later < 2; later++) {
                struct newer_put put = { { .dtype = PW_I64 }, { 0, later } };
                struct newer_slice slice = { { .device_count = 4 }, { 0, later } };
                struct newer_relocate relocate = { { .slice = NULL }, { 0, later } };
                struct newer_call call = { { .output_count = 1 }, { 0, later } };
                struct newer_run run = { { .deadline_us = 0 }, { 0, later } };
                enum pw_status status[6];

                status[0] = pw_put_sized(world->session, &number, 8, &put.known, sizeof put, &future, &err);
                if (later)
                        expect_unknown(status[0], &err, "pw_put()", sizeof put.known);
                status[1] = pw_relocate_sized(later ? &weights : &future, &relocate.known, sizeof relocate, &err);
                if (later)
                        expect_unknown(status[1], &err, "pw_relocate()", sizeof relocate.known);
                else
                        pw_unref(future);
                status[2] = pw_create_sized(world->session, 8, &put.known, sizeof put, &future, &room, &err);
                if (later)
                        expect_unknown(status[2], &err, "pw_create()", sizeof put.known);
                else
                        assert_int_equal(pw_abort(future, NULL), PW_OK);
                if (!later)
                        pw_unref(future);
                status[3] = pw_slice_open_sized(world->session, &slice.known, sizeof slice, &opened, &err);
                if (later)
                        expect_unknown(status[3], &err, "pw_slice_open()", sizeof slice.known);
                else
                        pw_slice_close(opened);
                status[4] = pw_run_sized(program, PW_FUTURES(pw_donate(&weights), images), &run.known, sizeof run, &result, &err);
                if (later)
                        expect_unknown(status[4], &err, "pw_run_with()", sizeof run.known);
                else
                        weights = result;
                assert_non_null(weights); /* refused: as before */
                pw_result(traced, pw_call_sized(traced, world->slice, "m/f", PW_ARGS(value), PW_BROADCAST, &call.known,
                                                sizeof call));
                status[5] = later ? pw_compile(traced, &err) : PW_OK;
                if (later)
                        expect_unknown(status[5], &err, "pw_call_with()", sizeof call.known);
                for (uint32_t i = 0; !later && i < pw_array_count(status); i++)
                        assert_int_equal(status[i], PW_OK);
        }
        pw_program_free(program);
        pw_program_free(traced);
        pw_unref(weights);
        pw_unref(images);
}

/* What the library fills in is as long as the caller's struct. */
static void test_info(void **state)
{
        struct world *world = *state;
        struct pw_future *images = put_images(world);
        struct { struct pw_info known; uint64_t later[2]; } newer;
        struct pw_info older;

        memset(&newer, 0xff, sizeof newer);
        assert_int_equal(pw_future_info_sized(images, &newer.known, sizeof newer, NULL), PW_OK);
        assert_int_equal(newer.known.bytes, 24);
        assert_int_equal(newer.known.shard_count, 1);
        assert_true(newer.later[0] == 0 && newer.later[1] == 0);
        memset(&older, 0xff, sizeof older);
        assert_int_equal(pw_future_info_sized(images, &older, offsetof(struct pw_info, shard_count), NULL), PW_OK);
        assert_int_equal(older.bytes, 24);
        assert_int_equal(older.shard_count, UINT32_MAX); /* it has no room for it */
        pw_unref(images);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = { TEST(test_older), TEST(test_newer), TEST(test_info) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
