/* What is ordered when: windows, sequential runs, donations, a device that lags, turns of tenants; and how many messages and looks
 * that takes. */
#include "tests/world/order.h"
#include "tests/world/client/store.h"

static uint64_t ordered(uint32_t island) { return atomic_load(&world.boards[island]->head); }

/* The device's next `gangs` gangs are done: launched ahead of that, where it is late. */
static void do_gangs(uint32_t device, uint32_t gangs)
{
        for (uint64_t end = atomic_load(&world.executors[device].board->done.count) + gangs;
             atomic_load(&world.executors[device].board->done.count) < end;)
                assert_true(world_step(&world, device));
}

/* W gangs are ordered ahead, more when half of them are done: that is when the daemon wants to be rung. */
static void test_window(void **state)
{
        struct world_program *program = &world.programs[0];

        (void)state;
        begin(1, 1, 8);
        world_make_chain(&world, program, "chain", 100, 64);
        run_on(program, world_put(&world, program, 0, true), false);
        world_daemon(&world);
        assert_int_equal(ordered(0), 8);
        assert_int_equal(pw_scheduler_ring_at(world.scheduler, 0), 4);
        do_gangs(0, 3);
        world_daemon(&world);
        assert_int_equal(ordered(0), 8);
        assert_false(pw_boards_sleep(world.host, world.scheduler, world.now_us));
        assert_int_equal(atomic_load(&world.boards[0]->daemon_asleep), 1);
        assert_int_equal(atomic_load(&world.boards[0]->ring_at[0]), 4);
        do_gangs(0, 1);
        assert_true(pw_boards_sleep(world.host, world.scheduler, world.now_us));
        world_daemon(&world);
        assert_int_equal(ordered(0), 12);
        world_settle(&world);
        assert_int_equal(ordered(0), 101);
        assert_int_equal(world.good, 1);
        assert_int_equal(pw_scheduler_ring_at(world.scheduler, 0), UINT64_MAX);
        world_done(&world);
}

static void test_sequential(void **state)
{
        struct world_program *program = &world.programs[0];

        (void)state;
        begin(2, 2, 8);
        world_make_all_reduce(&world, program, 4, 2);
        run_on(program, world_put(&world, program, 0, true), true);
        while (world.runs_open) {
                uint64_t before = ordered(0) + ordered(1);
                uint32_t moved = 0;
                world_daemon(&world);
                assert_true(ordered(0) + ordered(1) <= before + 2); /* one node: a gang in each island */
                for (uint32_t i = 0; i < world.device_count; i++)
                        while (world_step(&world, i))
                                moved++;
                assert_true(moved || !world.runs_open);
        }
        assert_int_equal(world.good, 1);
        world_done(&world);
}

/* Device 1 has not read the shard of device 0 yet: the run that updates it in place is held back, and only that. */
static void test_donation_waits_for_readers(void **state)
{
        struct world_program *makes = &world.programs[0], *updates = &world.programs[1];
        struct world_object *inputs[1], *made;
        struct world_run *run;

        (void)state;
        begin(1, 2, 8);
        world_make_readers(&world, makes, updates);
        inputs[0] = world_put(&world, makes, 0, true);
        run = world_submit(&world, makes, inputs, false);
        made = run->results[0];
        run_on(updates, made, false);
        world_daemon(&world);
        assert_true(made->result->donated);
        assert_int_equal(ordered(0), 3);
        while (world_step(&world, 0))
                ;
        for (uint32_t i = 0; i < 6; i++) /* up to its mark */
                assert_true(world_step(&world, 1));
        while (world_step(&world, 0))
                ;
        world_daemon(&world);
        while (world_step(&world, 0))
                ;
        world_settle(&world);
        world_expect(&world, WORLD_ASKS("1") WORLD_STARTS("1")
                             WORLD_ASKS("2") WORLD_STARTS("2")
                             "object=2.0.1 from=pending to=ready cause=decide\n"
                             WORLD_ENDS("1")
                             "object=2.1.1 from=pending to=ready cause=decide\n"
                             WORLD_ENDS("2")
                             "object=2.2.1 from=pending to=ready cause=decide\n"
                             "object=2.0.1 from=ready to=closing cause=close\n"
                             "object=2.0.1 from=closing to=free cause=free\n");
        assert_int_equal(world.good, 3);
        world_done(&world);
}

/* Each run updates the value of the last one in place: one room, and all of them are ordered at once. */
static void test_donated_chain(void **state)
{
        struct world_program *program = &world.programs[0];
        struct world_object *object;

        (void)state;
        begin(1, 1, 64);
        world_make_chain(&world, program, "step", 1, 64);
        object = world_put(&world, program, 0, true);
        for (uint32_t i = 0; i < 20; i++)
                object = run_on(program, object, false);
        world_daemon(&world);
        assert_int_equal(ordered(0), 21); /* one load */
        world_settle(&world);
        assert_int_equal(world.good, 20);
        assert_int_equal(world.executors[0].gangs, 21);
        world_check(&world);
        world_done(&world);
}

/* What the store was told of the records of runs. */
static uint64_t kept(void)
{
        world_act(&world);
        return pw_store_use(world.store, "tenant").kept[PW_KEPT_RUNS];
}

/* Runs of a program that are under way together, and then gone with it. Returns what the store was told of their records at
 * most. */
static uint64_t run_and_free(struct world_program *program, uint32_t runs)
{
        struct world_object *held[256];
        uint64_t most;

        for (uint32_t i = 0; i < runs; i++)
                held[i] = run_on(program, world_put(&world, program, 0, true), false);
        most = kept();
        for (uint32_t i = 0; i < runs; i++) {
                world_settle(&world);
                world_drop(&world, held[i]);
        }
        world_settle(&world);
        pw_scheduler_program_free(world.scheduler, program->handle);
        program->handle = 0;
        world_settle(&world);
        return most;
}

/* What is told of the records of runs is about what they are; with the last of them it is nothing, however few there were. */
static void test_records_are_told(void **state)
{
        struct world_object *held;

        (void)state;
        begin(1, 1, 8);
        for (uint32_t i = 0; i < 3; i++)
                world_make_chain(&world, &world.programs[i], "chain", 2, 64);
        held = run_on(&world.programs[2], world_put(&world, &world.programs[2], 0, true), false);
        world_settle(&world);
        assert_in_range(run_and_free(&world.programs[0], 200), 200 * 512, 200 * 8192);
        assert_in_range(kept(), 0, 64 << 10);
        run_and_free(&world.programs[1], 1);
        world_drop(&world, held);
        pw_scheduler_program_free(world.scheduler, world.programs[2].handle);
        world.programs[2].handle = 0;
        world_settle(&world);
        assert_int_equal(kept(), 0);
        world_done(&world);
}

struct listed { uint64_t last; uint32_t done, failed, cancelled, under_way; };

static void list_run(void *context, const struct pw_run_row *row)
{
        struct listed *listed = context;

        assert_true(row->number > listed->last);
        listed->last = row->number;
        assert_string_equal(row->program, "chain");
        assert_string_equal(row->tenant, "tenant");
        listed->under_way += row->state != PW_RUN_ENDED;
        if (row->state != PW_RUN_ENDED)
                return;
        assert_int_equal(row->ended_us - row->submitted_us, 5);
        assert_int_equal(row->nodes_ordered, row->nodes);
        listed->done += row->outcome == PW_OK;
        listed->cancelled += row->outcome == PW_CANCELLED;
        listed->failed += row->outcome == PW_FAILED;
}

/* The last runs that ended are listed among those that are under way, in the order of their numbers, also once their program is
 * gone. */
static void test_ended_runs(void **state)
{
        struct world_program *program = &world.programs[0];
        struct listed listed = { 0 };
        struct pw_run_row row;
        uint64_t *numbers, last;
        uint32_t count;

        (void)state;
        begin(1, 1, 64);
        world.options.donations = -1;
        world_make_chain(&world, program, "chain", 2, 64);
        world_submit(&world, program, (struct world_object *[]){ world_put(&world, program, 0, false) }, false); /* waits for it */
        for (uint32_t i = 0; i < 70; i++) {
                struct world_run *run = world_submit(&world, program,
                                                     (struct world_object *[]){ world_put(&world, program, 0, true) }, false);
                run->failing = i >= 60 && i < 63 ? 2 : 0;
                world_evaluate(&world, run);
                world_daemon(&world);
                world.now_us += 5;
                if (i >= 68)
                        world_cancel(&world, run);
                world_settle(&world);
        }
        pw_scheduler_program_free(world.scheduler, program->handle);
        assert_int_equal(pw_scheduler_run_numbers(world.scheduler, &(struct pw_runs_of){ .most = UINT32_MAX }, &numbers, &count),
                         PW_OK);
        for (uint32_t i = 0; i < count; i++)
                if (pw_scheduler_run_row(world.scheduler, numbers[i], &row, &last))
                        list_run(&listed, &row);
        free(numbers);
        assert_int_equal(listed.under_way, 1);
        assert_int_equal(listed.done, 64 - 5);
        assert_int_equal(listed.failed, 3);
        assert_int_equal(listed.cancelled, 2);
        assert_int_equal(listed.last, 71);
        world_done(&world);
}

struct messages { uint64_t prepares, batches, notices, image_bytes; };

static struct messages count_messages(uint32_t devices)
{
        struct world_program *program = &world.programs[0];
        struct messages messages;
        const struct pw_actions *actions;

        begin(2, 32, 64);
        world_make_all_reduce(&world, program, devices, 2);
        run_on(program, world_put(&world, program, 0, true), false);
        world_settle(&world);
        assert_int_equal(world.good, 1);
        actions = pw_scheduler_actions(world.scheduler);
        messages = (struct messages){ actions->prepares, actions->order_batches, actions->notices, program->row->image->bytes };
        world_done(&world);
        return messages;
}

static void test_messages(void **state)
{
        struct messages few = count_messages(4), more;

        (void)state;
        assert_int_equal(few.prepares, 1);
        assert_true(few.notices);
        for (uint32_t devices = 8; devices <= 64; devices *= 2) {
                more = count_messages(devices);
                assert_memory_equal(&more, &few, sizeof few);
        }
}

/* A device that is never a member falls behind by more than the log, and comes back. */
static void test_lag(void **state)
{
        struct world_program *program = &world.programs[0];

        (void)state;
        begin(1, 2, 64);
        world_make_chain(&world, program, "chain", 9000, 64);
        world_make_chain(&world, &world.programs[1], "other", 3, 64);
        run_on(program, world_put(&world, program, 0, true), false);
        while (world.runs_open) {
                world_daemon(&world);
                while (world_step(&world, 0))
                        ;
        }
        assert_int_equal(world.executors[1].next, 1);
        run_on(&world.programs[1], world_put(&world, &world.programs[1], 0, true), false);
        world_settle(&world);
        assert_int_equal(world.good, 2);
        assert_int_equal(world.executors[1].gangs, 4);
        assert_true(world.passed_over);
        world_done(&world);
}

/* One device does nothing: the others of its island stop before the log laps its gang. */
static void test_reach(void **state)
{
        struct world_program *program = &world.programs[0];

        (void)state;
        begin(1, 2, 64);
        world_make_chain(&world, program, "chain", 9000, 64);
        world_make_chain(&world, &world.programs[1], "other", 3, 64);
        run_on(&world.programs[1], world_put(&world, &world.programs[1], 0, true), false);
        world_daemon(&world);
        run_on(program, world_put(&world, program, 0, true), false);
        for (uint32_t i = 0; i < 1000; i++) {
                world_daemon(&world);
                while (world_step(&world, 0))
                        ;
        }
        assert_int_equal(ordered(0), PW_ORDER_REACH);
        assert_int_equal(pw_scheduler_ring_at(world.scheduler, 1), 1);
        world_settle(&world);
        assert_int_equal(world.good, 2);
        world_done(&world);
}

/* A run over two islands comes to each by message, one on an island of its own does not: it is not overtaken for that. */
static void test_first_come(void **state)
{
        struct world_program *both = &world.programs[0], *one = &world.programs[1];
        struct world_run *runs[2];
        struct pw_gang_row first;

        (void)state;
        begin(2, 1, 8);
        world_make_all_reduce(&world, both, 2, 2);
        world_make_chain(&world, one, "one", 1, 64);
        runs[0] = world_submit(&world, both, (struct world_object *[]){ world_put(&world, both, 0, true) }, false);
        runs[1] = world_submit(&world, one, (struct world_object *[]){ world_put(&world, one, 0, true) }, false);
        world_daemon(&world);
        assert_true(pw_boards_next_gang(world.host, 0, &first));
        assert_int_equal(first.run, runs[0]->number);
        world_settle(&world);
        assert_int_equal(world.good, 2);
        world_done(&world);
}

/* `count` runs of one tenant wait, then another tenant submits one. What is ordered until that one's gangs are is counted, by
 * island. */
struct crowd { uint32_t devices, islands, count; };

static void begin_crowd(const struct crowd *crowd)
{
        world_init(&world, 1, &(struct world_options){ .islands = crowd->islands,
                                                       .devices_per_island = crowd->devices / crowd->islands, .ahead = 8,
                                                       .tenants = 2, .capacity = 64 << 20, .donations = -1 });
        world.check_every = UINT32_MAX; /* that looks at all of them each time */
        for (uint32_t t = 0; t < 2; t++) {
                world.tenant = world_tenants[t];
                if (crowd->devices > 1)
                        world_make_all_reduce(&world, &world.programs[t], crowd->devices, crowd->islands);
                else
                        world_make_chain(&world, &world.programs[t], "chain", 3, 64);
        }
}

static void assert_passes(const struct crowd *crowd)
{
        struct world_object *input, *result;
        const struct pw_host_result *there;
        uint64_t before[2], gangs = 0, ahead = 0;

        begin_crowd(crowd);
        input = world_put(&world, &world.programs[0], 0, true);
        for (uint32_t i = 0; i < crowd->count; i++)
                run_on(&world.programs[0], input, false);
        world_daemon(&world);
        for (uint32_t i = 0; i < crowd->islands; i++)
                before[i] = ordered(i);
        result = run_on(&world.programs[1], world_put(&world, &world.programs[1], 0, true), false);
        for (uint32_t c = 0; c < crowd->islands; c++)
                gangs += pw_host_find(world.scheduler, result->maker->number)->fragments[c].plan->gang_count;
        there = pw_host_find(world.scheduler, result->maker->number)->results[0];
        while (!result->decided) {
                for (uint32_t i = 0; i < world.device_count; i++)
                        while (world_step(&world, i))
                                ;
                world_daemon(&world);
        }
        assert_int_equal(result->status, PW_OK);
        for (uint32_t i = 0; i < result->result->room_count; i++) {
                const struct pw_room *room = &result->result->rooms[i];
                uint32_t island = world.executors[room->device].island;
                assert_true(there->seqs[i] > before[island]);
                ahead = there->seqs[i] - before[island] > ahead ? there->seqs[i] - before[island] : ahead;
        }
        printf("%u devices, %u islands: %lu gangs are ordered up to the last of %lu of another tenant's run\n", crowd->devices,
               crowd->islands, (unsigned long)ahead, (unsigned long)gangs);
        assert_true(ahead <= gangs + crowd->islands * (gangs + world.options.ahead));
        assert_int_equal(pw_scheduler_check(world.scheduler, NULL, NULL), 0);
        world_done(&world);
}

/* However many gangs of one tenant wait, one of another's is ordered after one of them: the more so over several devices, where a
 * gang that waits holds all of its devices, and islands, where each of the two has its turns. */
static void test_turns(void **state)
{
        (void)state;
        assert_passes(&(struct crowd){ .devices = 1, .islands = 1, .count = 1250 });
        assert_passes(&(struct crowd){ .devices = 4, .islands = 1, .count = 1250 });
        assert_passes(&(struct crowd){ .devices = 4, .islands = 2, .count = 1250 });
}

/* What boards keep at a run's slot goes with its program, and is nobody else's before: the slot stays with the run's record,
 * however many there are. */
static void test_places_stay_with_records(void **state)
{
        enum { MANY = 4200 };
        struct world_program *chain = &world.programs[0];
        struct pw_error err;
        uint32_t found = 0;

        (void)state;
        begin(1, 1, 8);
        world_make_chain(&world, chain, "chain", 1, 64);
        world_submit(&world, chain, (struct world_object *[]){ world_put(&world, chain, 0, true) }, false)->any = true;
        assert_int_equal(pw_scheduler_quota(world.scheduler, chain->tenant,
                                            pw_scheduler_quota_used(world.scheduler, chain->tenant), &err), PW_OK);
        for (uint32_t round = 0; round < 2; round++) {
                static struct pw_run *runs[MANY];
                struct pw_host_run *run;

                for (uint32_t i = 0; i < MANY; i++) {
                        runs[i] = pw_scheduler_run_new(world.scheduler, world.programs[0].handle);
                        assert_non_null(runs[i]);
                        runs[i]->inputs[0] = (struct pw_input_place){ .source = PW_INPUT_HOST,
                                                                          .host = { .dtype = PW_OPAQUE, .bytes = 256 } };
                        pw_scheduler_submit(world.scheduler, runs[i], 0);
                        run = pw_host_find(world.scheduler, runs[i]->number);
                        assert_int_equal(run->state, PW_HOST_RUN_QUEUED);
                        found += run->prepared;
                        run->prepared = true;
                }
                for (uint32_t i = 0; i < MANY; i++)
                        pw_scheduler_cancel(world.scheduler, runs[i]->number, "test", 0);
                pw_actions_clear(pw_scheduler_actions(world.scheduler));
        }
        assert_int_equal(found, MANY);
        assert_int_equal(world.scheduler->slot_end, MANY + 1);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_window), cmocka_unit_test(test_sequential),
                cmocka_unit_test(test_donation_waits_for_readers), cmocka_unit_test(test_donated_chain),
                cmocka_unit_test(test_records_are_told), cmocka_unit_test(test_messages), cmocka_unit_test(test_lag),
                cmocka_unit_test(test_reach), cmocka_unit_test(test_ended_runs), cmocka_unit_test(test_first_come),
                cmocka_unit_test(test_places_stay_with_records), cmocka_unit_test(test_turns),
        };

        return WORLD_RUN_TESTS(tests);
}
