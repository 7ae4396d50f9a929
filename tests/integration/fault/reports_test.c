/* Executors that say what is not so of the values that they were to copy: what they were never given, what others were given, all
 * of it twice; that they failed by a status that there is not; or that end with what they were given.
 *
 * The daemon starts this program in place of pathways-executor: it is one, and only its reports are others.
 */
#include "executor/attach.h"
#include "tests/integration/folder.h"
#include "tests/integration/scene.h"

#include "base/memory.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICES 4u
#define SHARD 3u       /* elements that a device has of a value; of one with as many as these it */
#define SHARD_ENDS 5u  /* ends, once it was told to copy it, */
#define SHARD_ODD 7u   /* says that it failed by a status that there is not */
#define ENDS 1u        /* the device that does so */
#define SLOW 2u        /* and one that keeps what it was given for a while: others speak of that meanwhile */
#define SLOW_US 30000u
#define ABOUT 64u      /* tokens around its own, of which it speaks */

/* --- an executor -------------------------------------------------------------------------------------------------------------- */

static const struct pw_surroundings *real;
static uint32_t device;
static uint64_t last_token, odd_token;

static bool is_own(const struct pw_fetched *fetched, uint32_t count, uint64_t token)
{
        for (uint32_t i = 0; i < count; i++)
                if (fetched[i].token == token)
                        return true;
        return false;
}

/* All around the own ones are said to be done. Returns how many there are to be copied, as the real call. */
static uint32_t say_of_others(const struct pw_fetched *fetched, uint32_t count, struct pw_wanted_value *ret_tasks)
{
        static struct pw_fetched wrong[ABOUT];
        uint32_t said = 0;

        for (uint64_t i = 0; i < ABOUT; i++) {
                uint64_t token = i ? last_token + ABOUT / 2 - i : UINT64_MAX;

                if (!is_own(fetched, count, token))
                        wrong[said++] = (struct pw_fetched){ .token = token };
        }
        return real->fetches(real->context, wrong, said, ret_tasks);
}

static void take(const struct pw_wanted_value *tasks, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (device == ENDS && tasks[i].bytes == SHARD_ENDS * sizeof(double))
                        _exit(0);
                if (device == ENDS && tasks[i].bytes == SHARD_ODD * sizeof(double))
                        odd_token = tasks[i].token;
                last_token = tasks[i].token;
        }
        if (count && device == SLOW)
                usleep(SLOW_US);
}

static uint32_t report(void *context, const struct pw_fetched *fetched, uint32_t count, struct pw_wanted_value *ret_tasks)
{
        static struct pw_fetched told[PW_FETCHES_MAX];
        uint32_t given = say_of_others(fetched, count, ret_tasks);

        (void)context;
        memcpy(told, fetched, count * sizeof *told);
        for (uint32_t i = 0; i < count; i++)
                if (told[i].token == odd_token)
                        (void)!pw_error_set(&told[i].err, (enum pw_status)4711, "the device has no wish to");
        for (int i = 0; i < 2 && count && given <= PW_FETCHES_MAX / 2; i++) {
                struct pw_wanted_value more[PW_FETCHES_MAX];
                uint32_t came = real->fetches(real->context, told, count, more);

                if (came > PW_FETCHES_MAX - given)
                        _exit(1); /* this test has fewer of them */
                memcpy(ret_tasks + given, more, came * sizeof *more);
                given += came;
        }
        take(ret_tasks, given);
        return given;
}

static int be_executor(int argc, char **argv)
{
        struct pw_surroundings around;
        struct pw_launch_params params;
        struct pw_attached *attached;
        char path[600];
        struct pw_launch *launch;

        if (argc < 5 || strcmp(argv[1], "--device")) {
                execv(it_built("executor/pathways-executor", path), argv);
                return 127;
        }
        device = (uint32_t)atoi(argv[2]);
        fcntl(atoi(argv[4]), F_SETFD, FD_CLOEXEC);
        if (pw_attach(atoi(argv[4]), device, NULL, &attached, NULL) != PW_OK)
                return 1;
        params = *pw_attached_params(attached);
        real = params.around;
        around = *real;
        around.fetches = report;
        params.around = &around;
        launch = pw_launch_new(&params);
        if (!launch)
                return 1;
        while (true) {
                pw_launch_turn(launch);
                pw_launch_wait(launch);
        }
}

/* --- its daemon --------------------------------------------------------------------------------------------------------------- */

static struct it_host *begin(void **state)
{
        static char self[600];
        struct it_host *host = *state;
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        assert_true(length > 0);
        self[length] = 0;
        it_start(host, IT_ARGS("--devices", "emulated:4", "--islands", "1", "--emulated-apart", "--host-memory", "64MiB",
                               "--device-memory", "4MiB", "--executor", self));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* Of which each device has so many elements: there, and not fetched. */
static struct pw_future *value(struct it_host *host, struct pw_slice *slice, uint32_t shard, double start)
{
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(DEVICES * shard), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(DEVICES * shard), start), *result = it_run_1(program, input);

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        return result;
}

/* What a device was to copy it copies, whatever others say of it. */
static void what_others_say_is_not_heard(void **state)
{
        enum { VALUES = 24 }; /* one report has room for all that a device is given */
        struct it_host *host = begin(state);
        struct pw_slice *slice = it_slice(host->session, DEVICES, 1);
        struct pw_future *futures[VALUES];
        struct pw_view view;

        for (uint32_t i = 0; i < VALUES; i++)
                futures[i] = value(host, slice, SHARD, 100.0 * i);
        for (uint32_t i = 0; i < VALUES; i++) /* all are under way together */
                if (pw_get(futures[i], 0, &view, NULL) == PW_OK)
                        pw_view_done(&view);
        for (uint32_t i = 0; i < VALUES; i++) {
                it_ok(pw_get(futures[i], IT_LONG, &view, IT_ERR));
                for (uint32_t j = 0; j < DEVICES * SHARD; j++)
                        assert_true(((const double *)view.data)[j] == 100.0 * i + j);
                pw_view_done(&view);
                pw_unref(futures[i]);
        }
        pw_slice_close(slice);
        end(host);
}

static void an_unknown_status_is_a_failure(void **state)
{
        struct it_host *host = begin(state);
        struct pw_slice *slice = it_slice(host->session, DEVICES, 1);
        struct pw_future *future = value(host, slice, SHARD_ODD, 1);
        struct pw_view view;

        it_fails(pw_get(future, IT_LONG, &view, IT_ERR), PW_FAILED, "the device has no wish to");
        assert_int_equal(pw_poll(future), PW_OK); /* it is a value all the same: who asks again has it asked again */
        it_fails(pw_get(future, IT_LONG, &view, IT_ERR), PW_FAILED, "the device has no wish to");
        pw_unref(future);
        pw_slice_close(slice);
        end(host);
}

/* It ends with what it was given, which nobody waits for any longer. */
static void what_was_given_is_lost(void **state)
{
        struct it_host *host = begin(state);
        struct pw_slice *slice = it_slice(host->session, DEVICES, 1);
        struct pw_future *future = value(host, slice, SHARD_ENDS, 1), *other = value(host, slice, SHARD, 1);
        int64_t start_us = it_now_us();
        struct pw_view view;

        it_fails(pw_get(future, IT_LONG, &view, IT_ERR), PW_DEVICE_LOST, "h0:1");
        it_within("the loss is told", start_us, IT_SECOND);
        it_back_within_a_second(host->session, 1, start_us);
        it_fails(pw_get(other, IT_LONG, &view, IT_ERR), PW_DEVICE_LOST, "h0:1");
        pw_unref(future);
        pw_unref(other);
        other = value(host, slice, SHARD, 1);
        it_ok(pw_get(other, IT_LONG, &view, IT_ERR));
        assert_true(((const double *)view.data)[DEVICES * SHARD - 1] == DEVICES * SHARD);
        pw_view_done(&view);
        pw_unref(other);
        pw_slice_close(slice);
        end(host);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(what_others_say_is_not_heard), IT_FOLDER_TEST(an_unknown_status_is_a_failure),
                IT_FOLDER_TEST(what_was_given_is_lost),
        };

        if (argc > 1 && !strcmp(argv[0], "pathways-executor"))
                return be_executor(argc, argv);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
