/* All-reduces in parts of which a member has no value, or dies: everybody comes to the end of it, and says why.
 *
 * Of three members the one in the middle is played by the test, so that each of the others stands where it is wanted. */
#include "executor/gang/failure.h"

#define ELEMENTS 24u /* three lines: a part each */
#define PLAYED 1u
#define VICTIM 2u    /* whose part the first member takes last */
#define SEQ 3u       /* of the all-reduce */

/* load -> `function`, told to go wrong on `shard` -> all-reduce in parts -> scale by 2: results of the all-reduce and both calls */
static struct build *build_parts(const char *function, uint64_t shard)
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, 3, 0), values[4];

        for (uint32_t i = 0; i < 4; i++)
                values[i] = build_value(build, slice, PW_F64, PW_DIMS(ELEMENTS), i == 1 ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        build_input(build, values[0]);
        build_call(build, &(struct build_call){ .function = function, .params = &shard, .params_bytes = 8, .inputs = { values[0] },
                                                .input_count = 1, .output = values[1] });
        build_transfer(build, &(struct build_transfer){ .from = values[1], .to = values[2], .phase = PW_PHASE_PARTS });
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { values[2] }, .input_count = 1, .output = values[3] });
        build_result(build, values[2]);
        build_result(build, values[1]);
        build_result(build, values[3]);
        return build;
}

struct scene { struct trial trial; struct input input; };

static void scene_init(struct scene *scene, const char *function, uint64_t shard)
{
        *scene = (struct scene){ .input = { .bytes = ELEMENTS * sizeof(double) } };
        trial_init(&scene->trial, 3, 1, build_parts(function, shard));
        double *host = input_in_host(&scene->input, &scene->trial.world);
        for (uint32_t i = 0; i < ELEMENTS; i++)
                host[i] = i;
        run_init(&scene->trial.run, &scene->trial.program, &scene->input);
}

static void expect(const struct run *run, uint32_t device, enum pw_status status, uint32_t cause)
{
        assert_int_equal(run_head(run, 0, device)->status, status);
        for (uint32_t i = 0; i < ELEMENTS && status == PW_OK; i++)
                assert_true(((const double *)run_data(run, 0, device))[i] == 3.0 * i);
        if (status != PW_OK)
                assert_int_equal(run_head(run, 0, device)->cause_device.device, cause);
}

/* --- no value ------------------------------------------------------------------------------------------------------------- */

/* The run behind it has its values: nobody is left where he should not be. */
static void expect_next(struct scene *scene)
{
        struct run next;

        run_init(&next, &scene->trial.program, &scene->input);
        run_order_all(&next);
        run_wait(&next);
        for (uint32_t d = 0; d < 3; d++)
                expect(&next, d, PW_OK, 0);
        trial_done(&scene->trial);
}

static void test_failed_function(void **state)
{
        (void)state;
        for (uint32_t d = 0; d < 3; d++) {
                struct scene scene;
                scene_init(&scene, "broken/fail", d);
                world_start_all(&scene.trial.world);
                run_order_all(&scene.trial.run);
                run_wait(&scene.trial.run);
                for (uint32_t k = 0; k < 3; k++)
                        expect(&scene.trial.run, k, PW_FAILED, d);
                trial_done(&scene.trial);
        }
}

static void test_cancelled(void **state)
{
        struct scene scene;
        (void)state;

        scene_init(&scene, "broken/fail", 99);
        world_start_all(&scene.trial.world);
        run_record(&scene.trial.run, 0)->cancelled_at = 2;
        run_order_all(&scene.trial.run);
        run_wait(&scene.trial.run);
        for (uint32_t d = 0; d < 3; d++)
                assert_int_equal(run_head(&scene.trial.run, 0, d)->status, PW_CANCELLED);
        expect_next(&scene);
}

/* The room of one member does not hold its value: it runs nothing, and the others are told. */
static void test_refused(void **state)
{
        struct scene scene;
        struct pw_run_record *record;
        struct pw_run_room *rooms;
        (void)state;

        scene_init(&scene, "broken/fail", 99);
        record = run_record(&scene.trial.run, 0);
        rooms = PW_RUN_AT(record, struct pw_run_room, PW_RUN_AT(record, uint32_t, record->results)[0]);
        rooms[PLAYED].bytes = 64;
        world_start_all(&scene.trial.world);
        run_order_all(&scene.trial.run);
        run_wait(&scene.trial.run);
        for (uint32_t d = 0; d < 3; d++)
                if (d != PLAYED)
                        expect(&scene.trial.run, d, PW_PROTOCOL, PLAYED);
        expect_next(&scene);
}

static enum pw_status assemble_one(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err)
{
        if (assembly->source_count > 1)
                return pw_error_set(ret_err, PW_SYSTEM, "no sum is made here");
        return pw_collective_kind("host")->assemble(assembly, ret_moved, ret_err);
}

/* The reduction of one member fails, and another's is there. */
static void test_part_that_fails(void **state)
{
        struct pw_collective_kind loads = *pw_collective_kind("host");
        struct scene scene;
        (void)state;

        loads.assemble = assemble_one;
        scene_init(&scene, "broken/fail", 99);
        for (uint32_t d = 0; d < 3; d++) {
                scene.trial.world.collective = d == VICTIM ? &loads : pw_collective_kind("host");
                world_start(&scene.trial.world, d);
        }
        run_order_all(&scene.trial.run);
        run_wait(&scene.trial.run);
        for (uint32_t d = 0; d < 3; d++)
                expect(&scene.trial.run, d, PW_SYSTEM, VICTIM);
        trial_done(&scene.trial);
}

/* --- a member that is played ------------------------------------------------------------------------------------------------ */

static struct pw_device_board *board_of(const struct scene *scene, uint32_t device) { return scene->trial.world.boards[device]; }

static void wake(struct scene *scene)
{
        pw_bells_ring(scene->trial.world.bells, &scene->trial.world.bells->sleepers[PLAYED].bits, UINT64_MAX);
}

static void publish(struct scene *scene, struct pw_mark *mark, enum pw_status status)
{
        mark->status = status;
        if (status == PW_OK) {
                mark->at_ns = 0;
        } else {
                mark->cause_node = 2;
                mark->cause_device = (struct pw_device_id){ WORLD_HOST, PLAYED };
        }
        atomic_store(&mark->seq, SEQ);
        wake(scene);
}

static void play_arrival(struct scene *scene)
{
        double *term = (void *)(uintptr_t)run_data(&scene->trial.run, 1, PLAYED);

        for (uint32_t i = 0; i < ELEMENTS; i++)
                term[i] = i;
        publish(scene, &board_of(scene, PLAYED)->marks[SEQ], PW_OK);
}

static void play_made(struct scene *scene, enum pw_status status)
{
        double *sum = (void *)(uintptr_t)run_data(&scene->trial.run, 0, PLAYED);

        for (uint32_t i = 8; i < 16; i++)
                sum[i] = 3.0 * i;
        publish(scene, &board_of(scene, PLAYED)->parts.made, status);
}

static void play_taken(struct scene *scene)
{
        atomic_store(&board_of(scene, PLAYED)->parts.taken, SEQ);
        wake(scene);
}

/* The others run up to where they wait for the played one. */
static void scene_start(struct scene *scene)
{
        scene_init(scene, "broken/fail", 99);
        world_start(&scene->trial.world, 0);
        world_start(&scene->trial.world, VICTIM);
        for (uint32_t node = 0; node < 3; node++)
                run_order(&scene->trial.run, node);
}

/* What the daemon does where a process ends in the gang. */
static void kill_victim(struct scene *scene)
{
        struct pw_device_board *board = board_of(scene, VICTIM);
        struct pw_mark *mark = &board->marks[SEQ];

        world_kill(&scene->trial.world, VICTIM);
        assert_int_equal(atomic_load(&board->running), SEQ);
        atomic_store(&scene->trial.world.islands[0]->lost_before[VICTIM], SEQ);
        mark->status = PW_CRASHED;
        mark->cause_node = 2;
        mark->cause_device = (struct pw_device_id){ WORLD_HOST, VICTIM };
        atomic_store(&mark->seq, SEQ);
        atomic_store(&board->failed.status, PW_CRASHED);
        atomic_store(&board->failed.seq, SEQ);
        pw_bells_ring(scene->trial.world.bells, &scene->trial.world.bells->sleepers[VICTIM].bits, UINT64_MAX);
}

/* The first member ends, whether or not there is a next process of the victim. Where one comes it ends, too. */
static void scene_end(struct scene *scene, enum pw_status first, uint32_t cause)
{
        world_wait(&scene->trial.world, 0, SEQ);
        if (!scene->trial.world.pids[VICTIM])
                world_start(&scene->trial.world, VICTIM);
        world_wait(&scene->trial.world, VICTIM, SEQ);
        expect(&scene->trial.run, 0, first, cause);
        trial_done(&scene->trial);
}

static void test_dies_before_it_made_its_part(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        WORLD_UNTIL(atomic_load(&board_of(&scene, VICTIM)->marks[SEQ].seq) == SEQ);
        kill_victim(&scene);
        play_arrival(&scene);
        play_made(&scene, PW_OK);
        play_taken(&scene);
        scene_end(&scene, PW_CRASHED, VICTIM);
}

static void test_dies_before_it_took_all_parts(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        play_arrival(&scene);
        WORLD_UNTIL(atomic_load(&board_of(&scene, VICTIM)->parts.made.seq) == SEQ);
        WORLD_UNTIL(atomic_load(&board_of(&scene, 0)->parts.made.seq) == SEQ);
        kill_victim(&scene);
        play_made(&scene, PW_OK);
        play_taken(&scene);
        scene_end(&scene, PW_CRASHED, VICTIM);
}

/* And nobody is done before the played one has taken what it needs of his room. */
static void test_dies_before_others_took_its_part(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        play_arrival(&scene);
        play_made(&scene, PW_OK);
        WORLD_UNTIL(atomic_load(&board_of(&scene, VICTIM)->parts.taken) == SEQ);
        WORLD_UNTIL(atomic_load(&board_of(&scene, 0)->parts.taken) == SEQ);
        kill_victim(&scene);
        WORLD_UNTIL(atomic_load(&scene.trial.world.bells->sleepers[PLAYED].bits) & 1); /* the first sleeps until that is so */
        assert_int_equal(atomic_load(&board_of(&scene, 0)->done.seq), SEQ - 1);
        play_taken(&scene);
        scene_end(&scene, PW_OK, 0);
}

static void test_made_in_error(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        play_arrival(&scene);
        play_made(&scene, PW_FAILED);
        play_taken(&scene);
        world_wait(&scene.trial.world, VICTIM, SEQ);
        expect(&scene.trial.run, VICTIM, PW_FAILED, PLAYED);
        scene_end(&scene, PW_FAILED, PLAYED);
}

/* Nor does who makes none: what it published there may be written over by its next gang. */
static void test_waits_without_a_part(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        publish(&scene, &board_of(&scene, PLAYED)->marks[SEQ], PW_FAILED);
        WORLD_UNTIL(atomic_load(&board_of(&scene, 0)->parts.taken) == SEQ);
        WORLD_UNTIL(atomic_load(&scene.trial.world.bells->sleepers[PLAYED].bits) & 1);
        assert_int_equal(atomic_load(&board_of(&scene, 0)->done.seq), SEQ - 1);
        play_taken(&scene);
        scene_end(&scene, PW_FAILED, PLAYED);
}

/* A function writes past its room while a part is taken from there. */
static void test_spoilt_while_taken(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        play_arrival(&scene);
        WORLD_UNTIL(atomic_load(&board_of(&scene, 0)->parts.made.seq) == SEQ);
        atomic_store(&board_of(&scene, PLAYED)->spoilt_before, SEQ + 1);
        play_made(&scene, PW_OK);
        play_taken(&scene);
        scene_end(&scene, PW_DEVICE_LOST, PLAYED);
}

/* Its board was written over: it says that it is done, and no part of it is to be seen. */
static void test_part_is_gone(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        play_arrival(&scene);
        WORLD_UNTIL(atomic_load(&board_of(&scene, 0)->parts.made.seq) == SEQ);
        atomic_store(&board_of(&scene, PLAYED)->done.seq, SEQ);
        wake(&scene);
        scene_end(&scene, PW_DEVICE_LOST, PLAYED);
}

/* The next process has come to a later gang already, where it made a part: that is none of this one. */
static void test_part_of_another_gang(void **state)
{
        struct scene scene;
        (void)state;

        scene_start(&scene);
        play_arrival(&scene);
        WORLD_UNTIL(atomic_load(&board_of(&scene, 0)->parts.made.seq) == SEQ);
        publish(&scene, &board_of(&scene, PLAYED)->marks[SEQ], PW_CRASHED);
        atomic_store(&board_of(&scene, PLAYED)->failed.seq, SEQ);
        play_made(&scene, PW_OK);
        atomic_store(&board_of(&scene, PLAYED)->parts.made.seq, SEQ + 7);
        scene_end(&scene, PW_CRASHED, PLAYED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_failed_function), cmocka_unit_test(test_cancelled), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_part_that_fails), cmocka_unit_test(test_dies_before_it_made_its_part),
                cmocka_unit_test(test_dies_before_it_took_all_parts), cmocka_unit_test(test_dies_before_others_took_its_part),
                cmocka_unit_test(test_made_in_error), cmocka_unit_test(test_waits_without_a_part),
                cmocka_unit_test(test_spoilt_while_taken), cmocka_unit_test(test_part_is_gone),
                cmocka_unit_test(test_part_of_another_gang),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
