/* Which devices a slice gets. */
#include "scheduler/scheduler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pw_scheduler *scheduler;

/* Three islands: 0..3, 4..7 (emulated), 8..9 (cpu). */
static int make(void **state)
{
        struct pw_error err;

        (void)state;
        scheduler = pw_scheduler_new(&(struct pw_scheduler_params){ .policy = "fifo" }, &err);
        for (uint32_t d = 0; scheduler && d < 10; d++) {
                struct pw_device_add add = { d, d / 4, d < 8 ? "emulated" : "cpu", d == 3 ? 1000 : 4000, false, false };
                if (pw_scheduler_device_add(scheduler, &add, &err) != PW_OK)
                        return -1;
        }
        return scheduler ? 0 : -1;
}

static int drop(void **state)
{
        (void)state;
        pw_scheduler_free(scheduler);
        return 0;
}

static uint32_t open_devices(struct pw_slice_ask ask, const uint16_t *devices)
{
        const struct pw_slice_map *map = NULL;
        struct pw_error err;

        ask.tenant = "tenant";
        if (pw_scheduler_slice_open(scheduler, &ask, &map, &err) != PW_OK)
                fail_msg("%s", err.text);
        assert_int_equal(map->device_count, ask.device_count);
        for (uint32_t i = 0; i < ask.device_count; i++) {
                assert_int_equal(map->places[i].device, devices[i]);
                assert_int_equal(map->places[i].island, devices[i] / 4);
        }
        return map->id;
}
#define DEVICES(...) ((const uint16_t[]){ __VA_ARGS__ })

static void refuse(struct pw_slice_ask ask, enum pw_status status, const char *text)
{
        const struct pw_slice_map *map = NULL;
        struct pw_error err;

        assert_int_equal(pw_scheduler_slice_open(scheduler, &ask, &map, &err), status);
        assert_string_equal(err.text, text);
}

static void test_least_loaded(void **state)
{
        (void)state;
        uint32_t first = open_devices((struct pw_slice_ask){ .device_count = 2 }, DEVICES(0, 1));
        open_devices((struct pw_slice_ask){ .device_count = 2 }, DEVICES(2, 3));
        open_devices((struct pw_slice_ask){ .device_count = 4 }, DEVICES(4, 5, 6, 7));
        pw_scheduler_slice_close(scheduler, first);
        assert_null(pw_scheduler_slice(scheduler, first));
        open_devices((struct pw_slice_ask){ .device_count = 1 }, DEVICES(0));
        open_devices((struct pw_slice_ask){ .device_count = 3 }, DEVICES(0, 1, 2));
}

static void test_islands(void **state)
{
        (void)state;
        open_devices((struct pw_slice_ask){ .device_count = 6 }, DEVICES(0, 1, 2, 3, 4, 5)); /* as few as possible */
        open_devices((struct pw_slice_ask){ .device_count = 2, .island_count = 2 }, DEVICES(0, 6));
        open_devices((struct pw_slice_ask){ .device_count = 3, .island = 2 }, DEVICES(4, 5, 7));
        open_devices((struct pw_slice_ask){ .device_count = 2, .kind = "cpu" }, DEVICES(8, 9));
        open_devices((struct pw_slice_ask){ .device_count = 3, .memory_bytes = 2000, .island = 1 }, DEVICES(0, 1, 2));
}

/* What is being started again is taken last. */
static void test_down(void **state)
{
        (void)state;
        pw_scheduler_device_down(scheduler, 4, 0, PW_CRASHED, "it ended", 1);
        open_devices((struct pw_slice_ask){ .device_count = 1, .island = 2 }, DEVICES(5));
        open_devices((struct pw_slice_ask){ .device_count = 3, .island = 2 }, DEVICES(5, 6, 7));
        open_devices((struct pw_slice_ask){ .device_count = 3 }, DEVICES(0, 1, 2));
        open_devices((struct pw_slice_ask){ .device_count = 4, .island = 2 }, DEVICES(4, 5, 6, 7));
}

static void test_refusals(void **state)
{
        (void)state;
        refuse((struct pw_slice_ask){ .device_count = 9 }, PW_TOO_LARGE,
               "slice of 9 devices: there are 8 of one kind, which a slice is of");
        refuse((struct pw_slice_ask){ .device_count = 3, .kind = "cpu" }, PW_TOO_LARGE,
               "slice of 3 devices: there are 2 of kind cpu");
        refuse((struct pw_slice_ask){ .device_count = 1, .kind = "cuda" }, PW_TOO_LARGE,
               "slice of 1 devices: there are 0 of kind cuda");
        refuse((struct pw_slice_ask){ .device_count = 5, .island = 1 }, PW_TOO_LARGE,
               "slice of 5 devices: there are 4 in that island of one kind, which a slice is of");
        refuse((struct pw_slice_ask){ .device_count = 3, .island_count = 3 }, PW_TOO_LARGE,
               "slice of 3 devices over 3 islands: fewer islands have 1 devices each");
        refuse((struct pw_slice_ask){ .device_count = 3, .island_count = 2 }, PW_INVALID,
               "3 devices cannot be spread evenly over 2 islands");
        refuse((struct pw_slice_ask){ .device_count = 4, .mesh = { 3, 2 } }, PW_INVALID, "a mesh of 6 devices for a slice of 4");
        refuse((struct pw_slice_ask){ .device_count = 0 }, PW_INVALID, "a slice of 0 devices");
        refuse((struct pw_slice_ask){ .device_count = 8, .memory_bytes = 2000 }, PW_TOO_LARGE,
               "slice of 8 devices: there are 7 with that much memory of one kind, which a slice is of");
}

static void test_params(void **state)
{
        struct pw_error err;

        (void)state;
        assert_null(pw_scheduler_new(&(struct pw_scheduler_params){ .policy = "lottery" }, &err));
        assert_string_equal(err.text, "--policy \"lottery\": there are only fifo, share");
        assert_int_equal(pw_scheduler_device_add(scheduler, &(struct pw_device_add){ 3, 0, "cpu", 1, false, false }, &err),
                         PW_EXISTS);
        assert_int_equal(pw_scheduler_device_add(scheduler, &(struct pw_device_add){ 64, 0, "cpu", 1, false, false }, &err),
                         PW_LIMIT);
}

/* Those of one tenant end, on all devices, and may be made again. */
static void test_segments_end(void **state)
{
        struct pw_error err;

        (void)state;
        for (uint32_t d = 0; d < 10; d++) {
                assert_int_equal(pw_scheduler_segment(scheduler, d, "ann", 10 + d, 4096, &err), PW_OK);
                assert_int_equal(pw_scheduler_segment(scheduler, d, "bo", 30 + d, 4096, &err), PW_OK);
                assert_int_equal(pw_scheduler_segment(scheduler, d, "cy", 50 + d, 4096, &err), PW_OK);
        }
        assert_true(pw_scheduler_segments_end(scheduler, "ann"));
        assert_true(pw_scheduler_segments_end(scheduler, "ann"));
        for (uint32_t d = 0; d < 10; d++) {
                assert_false(pw_scheduler_has_segment(scheduler, d, "ann"));
                assert_true(pw_scheduler_has_segment(scheduler, d, "bo") && pw_scheduler_has_segment(scheduler, d, "cy"));
                assert_int_equal(pw_scheduler_segment(scheduler, d, "ann", 70 + d, 4096, &err), PW_OK);
                assert_int_equal(pw_scheduler_segment(scheduler, d, "bo", 90 + d, 4096, &err), PW_EXISTS);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_least_loaded, make, drop),
                cmocka_unit_test_setup_teardown(test_islands, make, drop),
                cmocka_unit_test_setup_teardown(test_down, make, drop),
                cmocka_unit_test_setup_teardown(test_refusals, make, drop),
                cmocka_unit_test_setup_teardown(test_params, make, drop),
                cmocka_unit_test_setup_teardown(test_segments_end, make, drop),
        };

        return cmocka_run_group_tests_name("resource", tests, NULL, NULL);
}
