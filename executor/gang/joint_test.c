/* What becomes of a joint whose members end, or give it up, while others are in it. */
#include "executor/gang/failure.h"

#include <signal.h>
#include <sys/mman.h>

#define LATE_US 100u
#define TURNS 4u
#define AT_ONCE_NS INT64_C(2000000000) /* far less than a member waits where it knows of nothing */

/* A collective of these tests: members are together once all have begun, and over with it as they are told. */
static struct played {
        struct pw_device_board *boards[PW_DEVICES_MAX];
        _Atomic bool ends; /* the next process of rank 1 that begins, with the board as between two gangs */
        _Atomic uint32_t says[PW_DEVICES_MAX][TURNS]; /* by device and number of its joint: enum pw_status */
} *played;

static struct { uint32_t device, count; } own; /* of a process */

static bool is_off(struct pw_collective *collective)
{
        (void)collective;
        return false;
}

static uint32_t takes(struct pw_collective *collective, const struct pw_joint *joint)
{
        (void)collective;
        return joint->devices[joint->rank] + 1u;
}

static uint64_t channel(struct pw_collective *collective, const struct pw_joint *joint)
{
        (void)collective;
        (void)joint;
        return 1;
}

static enum pw_status begin(struct pw_collective *collective, const struct pw_joint *joint, const struct pw_channel_id *id,
                            struct pw_error *ret_err)
{
        (void)collective;
        (void)id;
        (void)ret_err;
        own.device = joint->devices[joint->rank];
        own.count++;
        if (joint->rank == 1 && atomic_exchange(&played->ends, false)) {
                atomic_store(&played->boards[own.device]->running, 0);
                _exit(0);
        }
        return PW_OK;
}

static enum pw_status say(struct pw_collective *collective, struct pw_error *ret_err)
{
        enum pw_status status = (enum pw_status)atomic_load(&played->says[own.device][own.count - 1]);

        (void)collective;
        return status == PW_OK ? status : pw_error_set(ret_err, status, "as the test says");
}

static bool has_launched(const struct pw_collective *collective)
{
        (void)collective;
        return true;
}

static void stop(struct pw_collective *collective) { (void)collective; }

static struct pw_collective_kind kind;

static struct build *build_reduce_over(const uint32_t at[2])
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, at, 2, 0), values[3];

        for (uint32_t i = 0; i < 3; i++)
                values[i] = build_value(build, slice, PW_F64, PW_SCALAR, i == 1 ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        build_input(build, values[0]);
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { values[0] }, .input_count = 1, .output = values[1] });
        build_transfer(build, &(struct build_transfer){ .from = values[1], .to = values[2] });
        build_result(build, values[2]);
        return build;
}

/* An all-reduce over the first two of `count` devices; in each joint all that comes is "not yet". */
static void trial_play(struct trial *trial, uint32_t count)
{
        trial_init(trial, count, 1, build_reduce_over(devices));
        kind = *pw_collective_kind("host");
        kind.is_off = is_off;
        kind.takes = takes;
        kind.channel = channel;
        kind.begin = begin;
        kind.poll = say;
        kind.has_launched = has_launched;
        kind.abort = stop;
        trial->world.collective = &kind;
        trial->world.launch_delay_us = LATE_US;
        played = mmap(NULL, sizeof *played, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(played != MAP_FAILED);
        memcpy(played->boards, trial->world.boards, sizeof played->boards);
        for (uint32_t i = 0; i < count * TURNS; i++)
                atomic_store(&played->says[i / TURNS][i % TURNS], PW_NOT_READY);
        world_start_all(&trial->world);
}

static void trial_played(struct trial *trial)
{
        trial_done(trial);
        munmap(played, sizeof *played);
}

static void begin_run(struct run *run, struct program *program)
{
        run_init(run, program, &input_one);
        run_order_all(run);
}

/* `device` has begun the joint that was ordered last. */
static void until_begun(struct trial *trial, uint32_t device)
{
        WORLD_UNTIL(atomic_load(&trial->world.boards[device]->joint.launched) == atomic_load(&trial->world.islands[0]->head));
}

static void test_it_ends_well(void **state)
{
        struct trial trial;
        (void)state;

        trial_play(&trial, 2);
        begin_run(&trial.run, &trial.program);
        until_begun(&trial, 0);
        until_begun(&trial, 1);
        atomic_store(&played->says[0][0], PW_OK);
        atomic_store(&played->says[1][0], PW_OK);
        run_wait(&trial.run);
        assert_int_equal(run_head(&trial.run, 0, 0)->status, PW_OK);
        assert_int_equal(run_head(&trial.run, 0, 1)->status, PW_OK);
        trial_played(&trial);
}

/* A process ends between two gangs, as its board says: the one ahead is done, and it has not said yet that it is in this one. No
 * gang is failed by the daemon then. The next process of the device finds that it had come, and says that it is lost. */
static void test_ends_between_gangs(void **state)
{
        struct trial trial;
        int64_t since_ns;
        (void)state;

        trial_play(&trial, 2);
        atomic_store(&played->ends, true);
        begin_run(&trial.run, &trial.program);
        until_begun(&trial, 0);
        assert_int_equal(waitpid(trial.world.pids[1], NULL, 0), trial.world.pids[1]);
        since_ns = pw_now_ns();
        world_start(&trial.world, 1);
        run_wait(&trial.run);
        assert_true(pw_now_ns() - since_ns < AT_ONCE_NS);
        check_lost(&trial.run, 0, 0);
        check_lost(&trial.run, 0, 1);
        trial_played(&trial);
}

/* A member gives up two joints in a row, before one of the first looks. */
static void test_gives_up_twice(void **state)
{
        struct program behind;
        struct trial trial;
        struct run second;
        int64_t since_ns;
        (void)state;

        trial_play(&trial, 3);
        program_init(&behind, &trial.world, build_reduce_over(devices + 1));
        begin_run(&trial.run, &trial.program);
        until_begun(&trial, 0);
        until_begun(&trial, 1);
        assert_int_equal(kill(trial.world.pids[0], SIGSTOP), 0);
        begin_run(&second, &behind);
        atomic_store(&played->says[1][0], PW_SYSTEM); /* device 1 in the first, */
        until_begun(&trial, 1);
        atomic_store(&played->says[1][1], PW_UNSUPPORTED); /* and in the second */
        world_wait(&trial.world, 1, atomic_load(&trial.world.islands[0]->head));
        since_ns = pw_now_ns();
        assert_int_equal(kill(trial.world.pids[0], SIGCONT), 0);
        run_wait(&trial.run);
        assert_true(pw_now_ns() - since_ns < AT_ONCE_NS);
        for (uint32_t place = 0; place < 2; place++) {
                assert_int_equal(run_head(&trial.run, 0, place)->status, PW_SYSTEM);
                assert_int_equal(run_head(&trial.run, 0, place)->cause_device.device, 1);
                assert_int_equal(run_head(&second, 0, place)->status, PW_UNSUPPORTED);
        }
        program_done(&behind);
        trial_played(&trial);
}

/* What nobody thought of: a member is done, and the other's part never comes. */
static void test_nobody_knows_why(void **state)
{
        struct trial trial;
        (void)state;

        trial_play(&trial, 2);
        atomic_store(&played->says[1][0], PW_OK);
        begin_run(&trial.run, &trial.program);
        run_wait(&trial.run);
        check_lost(&trial.run, 0, 0);
        assert_int_equal(run_head(&trial.run, 0, 1)->status, PW_OK);
        trial_played(&trial);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_it_ends_well), cmocka_unit_test(test_ends_between_gangs),
                                            cmocka_unit_test(test_gives_up_twice), cmocka_unit_test(test_nobody_knows_why) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
