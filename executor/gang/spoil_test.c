/* Functions that write past their outputs and rooms, and shards that are too short. */
#include "executor/gang/failure.h"

/* Where an input lies, less was granted than its shape needs: nothing is read behind that. */
static void test_short_shards(void **state)
{
        static const struct { uint64_t bytes; bool room; enum pw_status status; } cases[] = {
                { 8, false, PW_OK }, { 7, false, PW_PROTOCOL }, { 0, false, PW_PROTOCOL },
                { 7, true, PW_PROTOCOL }, { 0, true, PW_PROTOCOL },
        };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(cases); i++) {
                struct input input = { .bytes = 8, .mesh = { 1 }, .shard_count = 1 };
                uint32_t segment = cases[i].room ? DEVICE_SEGMENT(0) : HOST_SEGMENT;
                struct trial trial;

                trial_init(&trial, 1, 1, build_failing(1, "broken/fail", 99, true));
                input.shards[0] = (struct pw_run_shard){ .segment = segment, .device = cases[i].room ? 0 : PW_SHARD_IN_HOST,
                                                         .offset = world_room(&trial.world, segment, 4096),
                                                         .bytes = cases[i].bytes };
                world_start_all(&trial.world);
                trial_run(&trial, &input);
                assert_int_equal(run_head(&trial.run, 1, 0)->status, cases[i].status);
                if (cases[i].status != PW_OK)
                        assert_non_null(strstr(world_report(&trial.world, 0).text, "where it lies, its shape needs"));
                trial_done(&trial);
        }
}

/* --- a function writes past its output -------------------------------------------------------------------------------------- */

/* Behind the room too: whoever copied of the device meanwhile has to know before the process is gone, and the daemon ever hears of
 * it. */
static void test_past_the_room(void **state)
{
        (void)state;

        for (uint32_t far = 0; far < 2; far++) {
                struct trial trial;
                int status;

                trial_start(&trial, 1, 1, build_failing(1, far ? "broken/far" : "broken/over", 0, true));
                run_init(&trial.run, &trial.program, &input_one);
                run_order_all(&trial.run);
                if (far) {
                        assert_int_equal(waitpid(trial.world.pids[0], &status, 0), trial.world.pids[0]);
                        trial.world.pids[0] = 0;
                        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == PW_EXIT_OVERRUN);
                        assert_true(atomic_load(&trial.world.boards[0]->spoilt_before) > 0);
                        assert_int_equal(atomic_load(&trial.world.boards[0]->spoilt_before),
                                         atomic_load(&trial.world.boards[0]->running));
                } else {
                        run_wait(&trial.run);
                        assert_int_equal(run_head(&trial.run, 1, 0)->status, PW_OVERRUN);
                        assert_int_equal(atomic_load(&trial.world.boards[0]->spoilt_before), 0);
                }
                trial_done(&trial);
        }
}

/* --- a function writes past its room while another device copies from there ---------------------------------------------- */

/* doorbells[1]: the gang of device 1 in which that comes out right after device 0 copied; 0: in none */
static struct world *spoilt;

static enum pw_status assemble_and_spoil(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err)
{
        enum pw_status status = pw_collective_kind("host")->assemble(assembly, ret_moved, ret_err);
        uint64_t seq = atomic_load(&spoilt->doorbells[1]);

        if (seq)
                atomic_store(&spoilt->boards[1]->spoilt_before, seq);
        return status;
}

static struct pw_collective_kind spoiling; /* as host, but for that */

static void spoil(struct world *world, uint64_t seq)
{
        atomic_store(&world->boards[1]->spoilt_before, 0);
        atomic_store(&world->doorbells[1], seq);
}

static void test_spoilt_while_copied(void **state)
{
        (void)state;

        for (uint32_t pair = 0; pair < 2; pair++) {
                struct program program;
                struct world world;
                struct run runs[3];
                world_init(&world, 2, 1);
                spoilt = &world;
                program_init(&program, &world, build_reduce(pair));
                world_start(&world, 1);
                spoiling = *pw_collective_kind("host");
                spoiling.assemble = assemble_and_spoil;
                world.collective = &spoiling;
                world_start(&world, 0);
                run_init(&runs[0], &program, &input_one); /* nothing is spoilt */
                run_order_all(&runs[0]);
                run_wait(&runs[0]);
                assert_true(*(const double *)run_data(&runs[0], 1, 0) == 8.0);
                run_init(&runs[1], &program, &input_one);
                run_order(&runs[1], 0);
                run_order(&runs[1], 1);
                run_wait(&runs[1]);
                spoil(&world, 100);
                for (uint32_t node = 2; node < 4 + pair; node++)
                        run_order(&runs[1], node);
                run_wait(&runs[1]);
                check_lost(&runs[1], 1, 0);
                assert_int_equal(run_head(&runs[1], 1, 1)->status, PW_OK); /* it read its own, and what device 0 holds */
                assert_int_equal(run_head(&runs[1], 0, 0)->status, PW_OK);
                struct input shard = { .bytes = 8, .mesh = { 1 }, .shard_count = 1 };
                shard.shards[0] =
                        (struct pw_run_shard){ .segment = DEVICE_SEGMENT(1), .device = 1, .offset = runs[0].results[1][1],
                                                .bytes = pw_room_bytes(8) };
                run_init(&runs[2], &program, &shard);
                spoil(&world, 100);
                run_order_all(&runs[2]);
                run_wait(&runs[2]);
                check_lost(&runs[2], 0, 0);
                assert_int_equal(run_head(&runs[2], 0, 1)->status, PW_OK);
                world_done(&world);
                program_done(&program);
        }
}

/* That function was launched ahead of the gang in which its device said that the shard is there. */
static void test_spoilt_ahead_of_the_mark(void **state)
{
        struct program program;
        struct world world;
        struct run run, ahead;
        (void)state;

        world_init(&world, 2, 1);
        spoilt = &world;
        program_init(&program, &world, build_reduce(false));
        world_start(&world, 1);
        spoiling = *pw_collective_kind("host");
        spoiling.assemble = assemble_and_spoil;
        world.collective = &spoiling;
        world_start(&world, 0);
        run_init(&run, &program, &input_one);
        run_init(&ahead, &program, &input_one);
        run_order(&run, 0);
        run_order(&run, 1);
        run_order(&ahead, 0);
        run_wait(&ahead);
        spoil(&world, atomic_load(&world.islands[0]->head));
        run_order(&run, 2);
        run_order(&run, 3);
        run_wait(&run);
        check_lost(&run, 1, 0);
        assert_int_equal(run_head(&run, 1, 1)->status, PW_OK);
        world_done(&world);
        program_done(&program);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_short_shards), cmocka_unit_test(test_past_the_room),
                cmocka_unit_test(test_spoilt_while_copied), cmocka_unit_test(test_spoilt_ahead_of_the_mark),
        };

        return world_tests(tests);
}
