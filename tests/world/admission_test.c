/* Who gets memory when there is not enough: order of arrival, deferred runs, deadlines, what can never fit. */
#include "tests/world/admission.h"

#define PROGRAMS 100u

/* What a session holds is not waited for by others: the run that needs it is deferred, and runs when it is given back. */
static void test_deferred(void **state)
{
        struct world_object *held, *deferred, *small;

        (void)state;
        begin(6 << 10);
        held = submit(large);
        world_settle(&world);
        deferred = submit(large);
        small = submit(step);
        world_settle(&world);
        assert_int_equal(held->status, PW_OK);
        assert_int_equal(state_of(deferred), PW_RUN_QUEUED);
        assert_true(small->decided);
        world_drop(&world, held);
        world_settle(&world);
        assert_true(deferred->decided);
        assert_int_equal(deferred->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

/* Programs whose runs are deferred: room that comes back, for two of three, goes to who came first, of whichever program. */
static void test_deferred_in_turn(void **state)
{
        struct world_program *other = &world.programs[3];
        struct world_object *held[2], *results[3];

        (void)state;
        begin(11 << 10);
        world_make_chain(&world, other, "other", 1, 1004);
        for (uint32_t i = 0; i < 2; i++) {
                held[i] = submit(large);
                world_settle(&world);
                assert_true(held[i]->decided && held[i]->status == PW_OK);
        }
        for (uint32_t i = 0; i < 3; i++)
                results[i] = submit(i == 1 ? other : large);
        world_settle(&world);
        for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(state_of(results[i]), PW_RUN_QUEUED);
        for (uint32_t i = 0; i < 2; i++)
                world_drop(&world, held[i]);
        world_settle(&world);
        for (uint32_t i = 0; i < 2; i++)
                assert_true(results[i]->decided && results[i]->status == PW_OK);
        assert_int_equal(state_of(results[2]), PW_RUN_QUEUED);
        world_check(&world);
        world_done(&world);
}

/* Runs of one program: who brings the room of its result passes those that lack it. */
static void test_brings_its_room(void **state)
{
        struct world_object *given, *deferred, *result;

        (void)state;
        begin(6 << 10);
        world.options.donations = 1;
        given = submit(large);
        world_settle(&world);
        assert_true(given->decided && given->status == PW_OK);
        world.options.donations = -1;
        deferred = submit(large);
        world_settle(&world);
        assert_int_equal(state_of(deferred), PW_RUN_QUEUED);
        world.options.donations = 1;
        result = world_submit(&world, large, &given, false)->results[0];
        world_settle(&world);
        assert_true(result->decided && result->status == PW_OK);
        assert_int_equal(state_of(deferred), PW_RUN_QUEUED);
        world_drop(&world, result);
        world_settle(&world);
        assert_true(deferred->decided && deferred->status == PW_OK);
        world_check(&world);
        world_done(&world);
}

/* The linker has all of the product's calls come here. */
static bool no_memory;

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
        return no_memory && bytes > malloc_usable_size(memory) ? NULL : __real_realloc(memory, bytes);
}

/* Runs of more programs are deferred than a small heap has places for: that there is no memory for a larger one keeps none of them
 * out of a scan. */
static void test_deferred_without_memory(void **state)
{
        static struct world_program programs[PROGRAMS];
        struct world_object *held[5], *deferred[PROGRAMS], *small;

        (void)state;
        begin(8 << 10);
        for (uint32_t i = 0; i < PROGRAMS; i++)
                world_make_chain(&world, &programs[i], "many", 1, 1004);
        for (uint32_t i = 0; i < 5; i++)
                held[i] = submit(i ? step : large);
        world_settle(&world);
        assert_int_equal(world.scheduler->devices[0]->free, 0);
        for (uint32_t i = 0; i < PROGRAMS; i++)
                deferred[i] = submit(&programs[i]);
        small = submit(step);
        world_settle(&world);
        assert_int_equal(state_of(small), PW_RUN_QUEUED);
        no_memory = true;
        world_cancel(&world, deferred[0]->maker); /* a scan that finds nothing */
        world_daemon(&world);
        world_drop(&world, held[1]);
        world_daemon(&world);
        no_memory = false;
        assert_int_equal(state_of(small), PW_RUN_ADMITTED);
        world_drop(&world, held[0]);
        for (uint32_t i = 0; i < PROGRAMS; i++) {
                world_settle(&world);
                assert_int_equal(deferred[i]->status, i ? PW_OK : PW_CANCELLED);
                assert_true(!i || i + 1 == PROGRAMS || state_of(deferred[i + 1]) == PW_RUN_QUEUED);
                world_drop(&world, deferred[i]);
        }
        world_check(&world);
        world_done(&world);
}

/* The rooms that runs gave back last lie where they are in the way of a run that needs all there is: it has it all the same. */
static void test_all_there_is(void **state)
{
        struct world_program *wide = &world.programs[3];
        struct world_object *small, *middle, *all;

        (void)state;
        begin(12 << 10);
        world_make_chain(&world, wide, "wide", 1, 2028); /* a room as large as the block of the last */
        small = submit(step);
        middle = submit(wide);
        world_settle(&world);
        world_drop(&world, small);
        world_drop(&world, middle);
        world_settle(&world);
        all = submit(block);
        world_settle(&world);
        assert_true(all->decided);
        assert_int_equal(all->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

/* Room that an admitted run gives back is waited for, and nobody passes. */
static void test_head_holds(void **state)
{
        struct world_object *first, *head, *small;

        (void)state;
        begin(16 << 10);
        world_make_chain(&world, &world.programs[3], "other", 3, 1004);
        first = submit(block);
        head = submit(&world.programs[3]);
        small = submit(step);
        world_daemon(&world);
        assert_int_equal(state_of(first), PW_RUN_ADMITTED);
        assert_int_equal(state_of(head), PW_RUN_QUEUED);
        assert_int_equal(state_of(small), PW_RUN_QUEUED);
        while (!first->decided) {
                world_step(&world, 0);
                world_daemon(&world);
        }
        world_drop(&world, first);
        world_settle(&world);
        assert_true(head->decided && small->decided);
        world_check(&world);
        world_done(&world);
}

/* Who waits for room and leaves, at its deadline, was in the way of those behind it: they are looked at then, though nobody has
 * given anything back. */
static void test_head_leaves(void **state)
{
        struct world_object *first, *head, *small;

        (void)state;
        begin(16 << 10);
        world_make_chain(&world, &world.programs[3], "other", 3, 1004);
        first = submit(block);
        world.deadline_us = 1000;
        head = submit(&world.programs[3]);
        small = submit(step);
        world_daemon(&world);
        assert_int_equal(state_of(first), PW_RUN_ADMITTED);
        assert_int_equal(state_of(small), PW_RUN_QUEUED);
        world.now_us = 1000;
        world_daemon(&world);
        assert_int_equal(head->status, PW_NO_SPACE);
        assert_int_equal(state_of(small), PW_RUN_ADMITTED);
        assert_false(first->decided);
        world_drop(&world, first);
        world_settle(&world);
        assert_true(small->decided);
        world_check(&world);
        world_done(&world);
}

/* The block of a run serves those after it while there is no other: in the room of one, more of them are under way. The last gives
 * it back. A run of another program that needs the room comes before those that were submitted after it. */
static void test_takes_over(void **state)
{
        struct world_object *results[4], *other;

        (void)state;
        begin(20 << 10); /* a block of 8 KiB, and three results */
        world_make_chain(&world, &world.programs[3], "other", 3, 1004);
        for (uint32_t i = 0; i < 2; i++)
                results[i] = submit(block);
        other = submit(&world.programs[3]);
        for (uint32_t i = 2; i < 4; i++)
                results[i] = submit(block);
        world_daemon(&world);
        assert_int_equal(state_of(results[0]), PW_RUN_ADMITTED);
        assert_int_equal(state_of(results[1]), PW_RUN_ADMITTED);
        assert_int_equal(world.scheduler->devices[0]->used[PW_USE_BLOCK], 2 * (64 + 4032));
        assert_int_equal(atomic_load(&world.boards[0]->head), 8);
        assert_int_equal(state_of(other), PW_RUN_QUEUED);
        assert_int_equal(state_of(results[2]), PW_RUN_QUEUED);
        world_check(&world);
        for (uint32_t i = 0; i < 2; i++) {
                world_drop(&world, results[i]);
                world_settle(&world);
        }
        assert_int_equal(other->status, PW_OK);
        world_drop(&world, other);
        world_settle(&world);
        for (uint32_t i = 2; i < 4; i++)
                assert_int_equal(results[i]->status, PW_OK);
        assert_int_equal(world.scheduler->devices[0]->used[PW_USE_BLOCK], 0);
        world_check(&world);
        world_done(&world);
}

/* However many runs of a tenant lack room, one of another's comes after one of them; it holds back theirs, too, until it is
 * admitted. */
static void test_turns(void **state)
{
        struct world_program *others = &world.programs[3];
        struct world_object *first, *crowd[20], *other;
        uint32_t before = 0;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 1, .ahead = 8, .capacity = 16 << 10,
                                                       .tenants = 2 });
        block = &world.programs[2];
        world_make_chain(&world, block, "block", 3, 1004);
        world_make_chain(&world, &world.programs[4], "second", 3, 1004);
        world.tenant = world_tenants[1];
        world_make_chain(&world, others, "others", 3, 1004);
        first = submit(block);
        for (uint32_t i = 0; i < 20; i++)
                crowd[i] = submit(&world.programs[4]);
        other = submit(others);
        world_daemon(&world);
        assert_int_equal(state_of(first), PW_RUN_ADMITTED);
        assert_int_equal(state_of(other), PW_RUN_QUEUED);
        while (state_of(other) == PW_RUN_QUEUED) {
                world_step(&world, 0);
                world_daemon(&world);
                if (first && first->decided) {
                        world_drop(&world, first);
                        first = NULL;
                }
                for (uint32_t i = 0; i < 20; i++)
                        if (crowd[i] && crowd[i]->decided) {
                                world_drop(&world, crowd[i]);
                                crowd[i] = NULL;
                                before++;
                        }
        }
        printf("%u of another tenant's runs came before it\n", before);
        assert_true(before <= 2);
        for (uint32_t i = 0; i < 20; i++) {
                world_settle(&world);
                if (other && other->decided) {
                        world_drop(&world, other);
                        other = NULL;
                }
                if (crowd[i])
                        world_drop(&world, crowd[i]);
        }
        assert_int_equal(world.runs_open, 0);
        world_check(&world);
        world_done(&world);
}

/* Who lacks room keeps its turn until it has that, though runs of its tenant that want memory of other devices are admitted
 * meanwhile. */
static void test_keeps_its_turn(void **state)
{
        struct world_program *mine = &world.programs[3], *theirs = &world.programs[4], *apart = &world.programs[5];
        struct world_object *first, *head, *behind, *small;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 8, .capacity = 16 << 10,
                                                       .tenants = 2 });
        block = &world.programs[2];
        world_make_chain(&world, mine, "mine", 3, 1004);
        world_make_chain(&world, apart, "apart", 1, 236); /* on the other device */
        world.tenant = world_tenants[1];
        world_make_chain(&world, block, "block", 3, 1004);
        world_make_chain(&world, &world.programs[0], "step", 1, 236); /* on the other one, so that the next is here */
        world_make_chain(&world, theirs, "theirs", 3, 1004);
        first = submit(block);
        world_daemon(&world);
        head = submit(mine);
        world_daemon(&world);
        behind = submit(theirs);
        for (uint32_t i = 0; i < 3; i++) {
                small = submit(apart);
                world_daemon(&world);
                assert_true(state_of(small) != PW_RUN_QUEUED);
        }
        assert_int_equal(state_of(first), PW_RUN_ADMITTED);
        while (state_of(head) == PW_RUN_QUEUED) {
                assert_int_equal(state_of(behind), PW_RUN_QUEUED);
                world_step(&world, 0);
                world_daemon(&world);
        }
        world_settle(&world);
        assert_int_equal(head->status, PW_OK);
        world_drop(&world, first);
        world_drop(&world, head);
        world_settle(&world);
        assert_int_equal(behind->status, PW_OK);
        world_check(&world);
        world_done(&world);
}

/* What waits for runs of its own tenant holds back nobody else: there is room for others beside. */
static void test_waits_for_its_own(void **state)
{
        struct world_program *others = &world.programs[3];
        struct world_object *head, *small, *other;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 1, .ahead = 8, .capacity = 16 << 10,
                                                       .tenants = 2 });
        block = &world.programs[2];
        step = &world.programs[0];
        world_make_chain(&world, block, "block", 3, 1004);
        world_make_chain(&world, step, "step", 1, 236);
        world_make_chain(&world, &world.programs[4], "second", 3, 1004);
        world.tenant = world_tenants[1];
        world_make_chain(&world, others, "others", 1, 236);
        submit(block);
        head = submit(&world.programs[4]);
        small = submit(step);
        other = submit(others);
        world_daemon(&world);
        assert_int_equal(state_of(head), PW_RUN_QUEUED);
        assert_int_equal(state_of(small), PW_RUN_QUEUED);
        assert_int_equal(state_of(other), PW_RUN_ADMITTED);
        world_check(&world);
        world_done(&world);
}

/* Until the run has ended: now one device moves, now the other, some steps at a time. */
static void move_until_ended(const struct world_run *run)
{
        while (!run->ended) {
                uint32_t device = world_random(&world, 2);

                for (uint32_t steps = world_random(&world, 12); steps; steps--)
                        world_step(&world, device);
                world_daemon(&world);
        }
}

/* Each run's input is a result of the last, and stays in place: its load has nothing to do but to wait, as where the block has a
 * room for it the other device still reads what the run ahead wrote there. */
static void test_takes_over_behind_readers(void **state)
{
        struct world_program *relay = &world.programs[0];
        struct world_run *run, *before = NULL;
        struct world_object *input;
        uint32_t over = 0;

        (void)state;
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = 2, .ahead = 16, .capacity = 40 << 10 });
        world_make_relay(&world, relay, 2000); /* a block of 8 KiB, results of 12 */
        input = world_put(&world, relay, 0, true);
        for (uint32_t i = 0; i < 200; i++, before = run) {
                run = world_submit(&world, relay, &input, false);
                world_drop(&world, input);
                input = run->results[0];
                world_daemon(&world);
                assert_int_equal(run->run->state, PW_RUN_ADMITTED);
                over += pw_host_find(world.scheduler, run->number)->ahead_count;
                if (!before)
                        continue;
                move_until_ended(before);
                world_drop(&world, before->results[1]);
        }
        assert_true(over > 100);
        world_settle(&world);
        assert_int_equal(world.good, 400);
        world_check(&world);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_deferred), cmocka_unit_test(test_all_there_is),
                cmocka_unit_test(test_deferred_without_memory),
                cmocka_unit_test(test_head_holds), cmocka_unit_test(test_head_leaves), cmocka_unit_test(test_turns),
                cmocka_unit_test(test_keeps_its_turn),
                cmocka_unit_test(test_waits_for_its_own), cmocka_unit_test(test_takes_over),
                cmocka_unit_test(test_deferred_in_turn), cmocka_unit_test(test_brings_its_room),
                cmocka_unit_test(test_takes_over_behind_readers),
        };

        return WORLD_RUN_TESTS(tests);
}
