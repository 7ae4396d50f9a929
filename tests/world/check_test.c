/* What `pathways check` finds in the scheduler: each of its invariants, broken once in the middle of runs, is named, with the
 * device. */
#include "scheduler/island/device.h"
#include "scheduler/coordinator/live.h"
#include "scheduler/step.h"
#include "tests/world/world.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ROOM UINT64_C(512) /* of a value of the chain below: 64 i32 and a guard */

static struct world world;

/* Two runs of 100 calls on device 0, eight gangs ahead: each has a result and a block. */
static struct pw_device *begin(void)
{
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 1 << 20,
                                                       .donations = -1 });
        world_make_chain(&world, &world.programs[0], "chain", 100, 64);
        for (int i = 0; i < 2; i++)
                world_submit(&world, &world.programs[0],
                             (struct world_object *[]){ world_put(&world, &world.programs[0], 0, true) }, false);
        world_daemon(&world);
        assert_int_equal(world.scheduler->devices[0]->ordered, 8);
        return world.scheduler->devices[0];
}

struct found { const char *text; uint32_t count; };

static void find_run(void *context, const char *where, const char *problem)
{
        struct found *found = context;

        found->count += !strcmp(where, "run 2") && !strcmp(problem, found->text);
}

static void find(void *context, const char *where, const char *problem)
{
        struct found *found = context;

        if (!strcmp(where, "device h3:0") && !strcmp(problem, found->text))
                found->count++;
}

/* So many things do not hold, this one among them. */
static void assert_found(uint32_t count, const char *text)
{
        struct found found = { text, 0 };

        assert_int_equal(pw_scheduler_check(world.scheduler, find, &found), count);
        assert_int_equal(found.count, 1);
}

static void end(void)
{
        assert_int_equal(pw_scheduler_check(world.scheduler, NULL, NULL), 0);
        world_settle(&world);
        assert_int_equal(world.good, 2);
        world_done(&world);
}

/* A room that nobody has: of the device and of the quota it is taken, of no run. */
static void test_leak(void **state)
{
        struct pw_device *device = begin();
        struct pw_room room = { .segment = device->rooms[0]->segment, .bytes = 64 };
        (void)state;

        assert_true(pw_room_take(device, device->rooms[0], 64, PW_USE_RESULT, &room.offset));
        assert_found(1, "bytes of results: 1088, expected 1024");
        pw_room_change(device, &room, PW_USE_RESULT, PW_USE_BLOCK);
        assert_int_equal(pw_scheduler_check(world.scheduler, NULL, NULL), 1);
        pw_room_change(device, &room, PW_USE_BLOCK, PW_USE_LETTING_GO);
        assert_found(1, "bytes letting go: 64, expected 0");
        pw_room_give(device, &room, PW_USE_LETTING_GO);
        end();
}

static void test_sums(void **state)
{
        struct pw_device *device = begin();
        (void)state;

        device->free -= 64;
        assert_found(2, "memory adds up to: 1048512, expected 1048576");
        device->free += 64;
        device->rooms[0]->quota->used[PW_USE_BLOCK] += 64;
        assert_int_equal(pw_scheduler_check(world.scheduler, NULL, NULL), 1);
        device->rooms[0]->quota->used[PW_USE_BLOCK] -= 64;
        end();
}

static void test_rooms_overlap(void **state)
{
        struct pw_host_result *first, *second;
        uint64_t offset;
        (void)state;

        begin();
        first = pw_list_first(&world.scheduler->host_results, struct pw_host_result, link);
        second = pw_list_item(world.scheduler->host_results.prev, struct pw_host_result, link);
        assert_ptr_not_equal(first, second);
        assert_int_equal(first->rooms[0].bytes, ROOM);
        offset = second->rooms[0].offset;
        second->rooms[0].offset = first->rooms[0].offset + 64;
        assert_true(pw_scheduler_check(world.scheduler, NULL, NULL) > 0);
        second->rooms[0].offset = offset;
        end();
}

static void test_order(void **state)
{
        struct pw_device *device = begin();
        const struct pw_ordered *ordered = &world.scheduler->islands[0]->log[device->seqs[0] % PW_ORDER_LOG];
        uint64_t *members = &ordered->fragment->plan->gangs[ordered->gang].members, seq = device->seqs[1];
        (void)state;

        world.scheduler->ahead = 7;
        assert_found(1, "gangs ahead: 8, expected 7");
        world.scheduler->ahead = 8;
        device->seqs[1] = device->seqs[0];
        assert_found(1, "gang ordered out of turn: 1, expected 1");
        device->seqs[1] = seq;
        *members = 2;
        assert_true(pw_scheduler_check(world.scheduler, NULL, NULL) > 0);
        *members = 1;
        end();
}

static void test_markers(void **state)
{
        struct pw_device *device = begin();
        struct pw_marker *marker;
        uint64_t count;
        (void)state;

        while (device->marker_first == device->marker_end) { /* the first stands at the end of a run */
                while (world_step(&world, 0))
                        ;
                world_daemon(&world);
        }
        marker = &device->markers[device->marker_first & device->seq_mask];
        count = marker->count;
        marker->count = device->ordered + 1;
        assert_true(pw_scheduler_check(world.scheduler, NULL, NULL) > 0);
        marker->count = count;
        end();
}

/* A run that was cancelled leaves when its device has done what it was given by then. */
static void test_leaving(void **state)
{
        struct pw_device *device = begin();
        struct pw_stand *stand;
        (void)state;

        world_cancel(&world, world_find_run(&world, 1));
        assert_false(pw_list_empty(&device->leaving));
        stand = pw_list_first(&device->leaving, struct pw_stand, leaving);
        assert_int_equal(stand->leaves_at, device->ordered);
        stand->leaves_at = device->ordered + 1;
        assert_found(1, "a run leaves out of turn: 9, expected 0");
        stand->leaves_at = device->ordered;
        assert_int_equal(pw_scheduler_check(world.scheduler, NULL, NULL), 0);
        world_settle(&world);
        assert_true(pw_list_empty(&device->leaving));
        assert_int_equal(world.good, 1);
        world_done(&world);
}

/* A fragment that rests, and was not woken when what it waited for came. */
static void test_rest(void **state)
{
        struct found found = { "its gang in island 0 rests, and nothing keeps it", 0 };
        struct pw_host_run *run;
        (void)state;

        begin();
        run = pw_host_find(world.scheduler, 2);
        assert_non_null(run);
        assert_int_equal(run->fragments[0].wait, PW_WAIT_WINDOW);
        run->fragments[0].wait = PW_WAIT_INPUT;
        assert_int_equal(pw_scheduler_check(world.scheduler, find_run, &found), 1);
        assert_int_equal(found.count, 1);
        run->fragments[0].wait = PW_WAIT_WINDOW;
        end();
}

static void find_states(void *context, const char *where, const char *problem)
{
        struct found *found = context;

        found->count += !strcmp(where, "states") && !strcmp(problem, found->text);
}

/* What has no meaning in a state changes nothing, and is named. */
static void test_states(void **state)
{
        struct found found = { "3 events came in states in which they have no meaning", 0 };
        struct pw_scheduler *scheduler;
        struct pw_host_run *run;
        struct pw_live *live;
        (void)state;

        begin();
        scheduler = world.scheduler;
        run = pw_host_find(scheduler, 2);
        live = pw_live_find(scheduler, 2);
        pw_fragment_step(&run->fragments[0], PW_FRAGMENT_ANSWER);
        assert_int_equal(run->fragments[0].state, PW_FRAGMENT_STARTED);
        pw_host_run_step(run, PW_HOST_RUN_PLACE);
        assert_int_equal(run->state, PW_HOST_RUN_RESERVED);
        pw_live_step(live, PW_RUN_FAIL);
        assert_int_equal(live->run.state, PW_RUN_ADMITTED);
        assert_int_equal(scheduler->admitted_count, 2);
        assert_int_equal(pw_scheduler_check(scheduler, find_states, &found), 1);
        assert_int_equal(found.count, 1);
        scheduler->impossible = 0;
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_leak),  cmocka_unit_test(test_sums),    cmocka_unit_test(test_rooms_overlap),
                cmocka_unit_test(test_order), cmocka_unit_test(test_markers), cmocka_unit_test(test_leaving),
                cmocka_unit_test(test_rest),
                cmocka_unit_test(test_states),
        };

        return WORLD_RUN_TESTS(tests);
}
