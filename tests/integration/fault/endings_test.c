/* Runs that end before they are done: cancelled by a call, with a member killed while others still write.
 */
#include "tests/integration/scene.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* --- cancel ----------------------------------------------------------------------------------------------------------- */

/* Of four runs in a row the third is cancelled: that one alone ends, with what was computed from it. */
static void one_of_many(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 200000);
        struct pw_future *input = it_put_scalar(host->session, 1), *runs[4], *after;
        char client[32];

        for (int i = 0; i < 4; i++)
                runs[i] = it_run_1(program, input);
        after = it_run_1(program, runs[2]);
        it_until(host->session, "gangs", it_are_running, &(int){ 2 });
        it_ok(pw_cancel(runs[2], IT_ERR));
        snprintf(client, sizeof client, "test/sleep|cancelled by|[%d]", (int)getpid());
        it_fails_with(runs[2], PW_CANCELLED, client);
        assert_int_equal(pw_poll(runs[0]), PW_NOT_READY);
        it_fails_with(after, PW_CANCELLED, client);
        for (int i = 0; i < 4; i++)
                if (i != 2)
                        assert_true(it_get_scalar(runs[i]) == 1);
        it_ok(pw_cancel(runs[0], IT_ERR)); /* done: it stays as it is */
        assert_true(it_get_scalar(runs[0]) == 1);
        it_fails(pw_cancel(input, IT_ERR), PW_INVALID, "no run makes it");
        it_fails(pw_cancel(NULL, IT_ERR), PW_INVALID, "NULL");
        assert_int_equal(it_listed(host->session, "devices", "restarts"), 0);
        for (int i = 0; i < 4; i++)
                pw_unref(runs[i]);
        pw_unref(after);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* Another session that holds the future cancels it; a run that waits for its input ends at once. */
static void by_another_holder(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_sleeper(host->session, slice, 0);
        struct pw_future *input, *result, *seen;
        void *data;

        it_ok(pw_create(host->session, sizeof(double), &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_SCALAR }, &input,
                        &data, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_open(other, pw_future_id(result), &seen, IT_ERR));
        it_ok(pw_cancel(seen, IT_ERR));
        it_fails_with(result, PW_CANCELLED, "cancelled by");
        it_fails_with(seen, PW_CANCELLED, "cancelled by");
        it_ok(pw_abort(input, IT_ERR));
        pw_unref(seen);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(other);
}

/* Result 0 is there at once, result 1 only after `us`. */
static struct pw_program *soon_and_late(struct pw_session *session, struct pw_slice *slice, uint64_t us)
{
        struct pw_program *program = pw_program_new(session, "test/late");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);

        pw_result(program, it_grow(program, slice, input, PW_BROADCAST, 1));
        pw_result(program, it_sleep(program, slice, it_sleep(program, slice, input, PW_BROADCAST, us), PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* How the last run of `program` ended. */
static void ended_as(struct pw_session *session, const char *program, const char *state)
{
        struct pw_listing *runs = it_list(session, "runs", NULL);
        const char *last = "";

        for (size_t i = 0; i < it_rows(runs); i++)
                if (!strcmp(it_text(runs, i, "program"), program))
                        last = it_text(runs, i, "state");
        assert_string_equal(last, state);
        pw_listing_free(runs);
}

/* Somebody holds the result that has come, nobody the one that has not: the run goes on, until that too is given back. */
static void held_in_part(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1), *apart = it_slice(host->session, 1, 1);
        struct pw_program *other = it_sleeper(host->session, apart, 0);
        struct pw_future *input = it_put_scalar(host->session, 1), *results[2], *after;

        for (int held = 0; held < 2; held++) {
                struct pw_program *program = soon_and_late(host->session, slice, held ? 300000 : 2 * IT_SECOND);
                it_ok(pw_run(program, PW_FUTURES(input), results, IT_ERR));
                it_ok(pw_wait(&results[0], 1, 1, IT_LONG, NULL, IT_ERR));
                if (!it_apart()) /* its device sleeps: it would be copied when that is over */
                        assert_true(it_get_scalar(results[0]) == 2);
                pw_unref(results[1]);
                after = it_run_1(other, input); /* submitted behind the drop: that was read when this is there */
                assert_true(it_get_scalar(after) == 1);
                if (!held)
                        pw_unref(results[0]);
                it_until(host->session, "status", it_rests, NULL);
                ended_as(host->session, "test/late", held ? "done" : "cancelled");
                if (held)
                        pw_unref(results[0]);
                pw_unref(after);
                pw_program_free(program);
        }
        pw_unref(input);
        pw_program_free(other);
        pw_slice_close(slice);
        pw_slice_close(apart);
}

/* --- late bytes ------------------------------------------------------------------------------------------------------- */

/* A result of 12 of the 16 MiB that each of two devices has, written by `function`. */
static struct pw_program *writer(struct it_host *host, struct pw_slice *slice, const char *function, const void *params,
                                 uint64_t bytes)
{
        struct pw_program *program = pw_program_new(host->session, function);

        pw_result(program, pw_call_with(program, slice, function, PW_NO_ARGS, PW_BROADCAST,
                                        &(struct pw_call_params){ .params = params, .params_bytes = bytes }));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static struct pw_program *filler(struct it_host *host, struct pw_slice *slice)
{
        struct { double value; uint64_t dtype, rank, dim[1]; } fill = { 7, PW_F64, 1, { 12 * MIB / sizeof(double) } };

        return writer(host, slice, "pw/fill", &fill, sizeof fill);
}

/* Device memory of which *context says how much is letting go. */
static bool lets_go(const struct pw_listing *memory, void *context)
{
        uint64_t bytes = 0;

        for (size_t i = 0; i < it_rows(memory); i++)
                if (strchr(it_text(memory, i, "memory"), ':') && !strcmp(it_text(memory, i, "term"), "letting go"))
                        bytes += (uint64_t)it_number(memory, i, "bytes");
        return bytes == *(const uint64_t *)context;
}

static void expect_sevens(struct pw_future *future, uint32_t shards)
{
        for (uint32_t shard = 0; shard < shards; shard++) {
                struct pw_view view;
                const double *values;

                it_ok(pw_get_shard(future, shard, IT_LONG, &view, IT_ERR));
                values = view.data;
                for (uint64_t i = 0; i < view.bytes / sizeof(double); i++)
                        if (values[i] != 7)
                                fail_msg("shard %u: element %lu is %g", shard, (unsigned long)i, values[i]);
                pw_view_done(&view);
        }
}

/* The function broken/late writes its output once nobody holds the lock of this file. */
struct gate { char path[64]; int fd; };

static struct gate shut(void)
{
        struct gate gate = { "/tmp/pathways-late-XXXXXX", -1 };

        gate.fd = mkostemp(gate.path, O_CLOEXEC);
        assert_true(gate.fd >= 0);
        assert_int_equal(fchmod(gate.fd, 0644), 0); /* executors are another user */
        assert_int_equal(flock(gate.fd, LOCK_EX), 0);
        return gate;
}

static void open_gate(struct gate *gate)
{
        unlink(gate->path);
        close(gate->fd);
}

/* How many processes wait for its lock. */
static int waiting_at(const struct gate *gate)
{
        FILE *locks = fopen("/proc/locks", "re");
        char line[256], file[32];
        struct stat stat;
        int waiting = 0;

        assert_non_null(locks);
        assert_int_equal(fstat(gate->fd, &stat), 0);
        snprintf(file, sizeof file, ":%lu ", (unsigned long)stat.st_ino);
        while (fgets(line, sizeof line, locks))
                waiting += strstr(line, "->") && strstr(line, file);
        fclose(locks);
        return waiting;
}

/* A gang runs from its start on, and begins its function some time after: a cancel in between would skip that. */
static void await_at(const struct gate *gate, int members)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (waiting_at(gate) != members) {
                if (it_now_us() > limit_us)
                        fail_msg("%d members wait at the gate, not %d", waiting_at(gate), members);
                sched_yield();
        }
}

/* Two devices write into a run that is cancelled: the next holder of that room comes when they are done, not before. */
static void a_cancel_while_members_write(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct gate gate = shut();
        struct pw_program *late = writer(host, slice, "broken/late", gate.path, sizeof gate.path), *fill = filler(host, slice);
        struct pw_future *cancelled, *next;

        it_ok(pw_run(late, PW_NO_FUTURES, &cancelled, IT_ERR));
        await_at(&gate, 2);
        it_ok(pw_cancel(cancelled, IT_ERR));
        it_fails_with(cancelled, PW_CANCELLED, "broken/late|cancelled by");
        it_ok(pw_run(fill, PW_NO_FUTURES, &next, IT_ERR));
        it_until(host->session, "memory", lets_go, &(uint64_t){ 2 * (12 * MIB + 256) });
        assert_int_equal(pw_poll(next), PW_NOT_READY);
        open_gate(&gate);
        expect_sevens(next, 2);
        it_until(host->session, "memory", lets_go, &(uint64_t){ 0 });
        pw_unref(cancelled);
        pw_unref(next);
        pw_program_free(late);
        pw_program_free(fill);
        pw_slice_close(slice);
}

/* One member is killed, the other writes on; the room of both is granted again only then. */
static void a_member_killed_while_another_writes(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct gate gate = shut();
        struct pw_program *late = writer(host, slice, "broken/late", gate.path, sizeof gate.path), *fill = filler(host, slice);
        struct pw_future *failed, *next;

        it_ok(pw_run(late, PW_NO_FUTURES, &failed, IT_ERR));
        await_at(&gate, 2);
        assert_true(it_signal_executor(host, "h0:1", SIGKILL));
        it_until(host->session, "gangs", it_are_running, &(int){ 1 });
        it_ok(pw_run(fill, PW_NO_FUTURES, &next, IT_ERR));
        assert_int_equal(pw_poll(failed), PW_NOT_READY);
        it_ok(pw_cancel(failed, IT_ERR));
        it_until(host->session, "memory", lets_go, &(uint64_t){ 2 * (12 * MIB + 256) });
        assert_int_equal(pw_poll(next), PW_NOT_READY);
        open_gate(&gate);
        expect_sevens(next, 2);
        pw_unref(failed);
        pw_unref(next);
        pw_program_free(late);
        pw_program_free(fill);
        pw_slice_close(slice);
}

static int setup_2(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--host-memory", "256MiB", "--device-memory", "16MiB"));
}

#define TEST_2(test) cmocka_unit_test_setup_teardown(test, setup_2, it_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST_2(one_of_many),
                TEST_2(by_another_holder),
                TEST_2(held_in_part),
                TEST_2(a_cancel_while_members_write),
                TEST_2(a_member_killed_while_another_writes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
