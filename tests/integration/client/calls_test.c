/* What holds for every public call: nothing is taken for granted that a caller can get wrong, and a session that ends under a
 * caller ends its wait in PW_DAEMON_GONE, whoever ends it.
 */
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define WIDE 200u /* futures: more than one sleep can watch */

/* --- NULL --------------------------------------------------------------------------------------------------------------- */

static void objects_refuse_null(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_future *future = it_put_f64(pw, PW_DIMS(2), 1), *made;
        struct pw_view view;
        struct pw_info info;
        struct pw_id id;
        void *data;
        int fd;

        it_fails(pw_connect("/nonexistent", NULL, IT_ERR), PW_INVALID, "ret_session is NULL");
        it_fails(pw_put(NULL, "a", 1, NULL, &made, IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_put(pw, NULL, 1, NULL, &made, IT_ERR), PW_INVALID, "data is NULL|1 byte");
        it_fails(pw_put(pw, "a", 1, NULL, NULL, IT_ERR), PW_INVALID, "ret_future is NULL");
        it_fails(pw_put(pw, "a", 1, &(struct pw_put_params){ .flags = PW_PUT_FROZEN }, NULL, IT_ERR), PW_INVALID,
                 "ret_future is NULL");
        it_fails(pw_put(NULL, "a", 1, &(struct pw_put_params){ .flags = PW_PUT_FROZEN }, &made, IT_ERR), PW_INVALID,
                 "session is NULL");
        it_fails(pw_create(NULL, 1, NULL, &made, &data, IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_create(pw, 1, NULL, NULL, &data, IT_ERR), PW_INVALID, "ret_future is NULL");
        it_fails(pw_create(pw, 1, NULL, &made, NULL, IT_ERR), PW_INVALID, "ret_data is NULL");
        it_fails(pw_seal(NULL, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_abort(NULL, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_get(NULL, 0, &view, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_get(future, 0, NULL, IT_ERR), PW_INVALID, "ret_view is NULL");
        it_fails(pw_get_shard(NULL, 0, 0, &view, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_get_shard(future, 0, 0, NULL, IT_ERR), PW_INVALID, "ret_view is NULL");
        it_fails(pw_wait(NULL, 1, 1, 0, NULL, IT_ERR), PW_INVALID, "futures is NULL");
        it_fails(pw_wait((struct pw_future *[]){ future, NULL }, 2, 1, 0, NULL, IT_ERR), PW_INVALID, "future 1 is NULL");
        it_fails(pw_session_fd(NULL, &fd, IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_session_fd(pw, NULL, IT_ERR), PW_INVALID, "ret_fd is NULL");
        it_fails(pw_notify(NULL, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_notified(NULL, &made, IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_notified(pw, NULL, IT_ERR), PW_INVALID, "ret_future is NULL");
        it_fails(pw_id_parse(NULL, &id, IT_ERR), PW_INVALID, "text of an id is NULL");
        it_fails(pw_id_parse("h0.3/3f2a.7.12", NULL, IT_ERR), PW_INVALID, "ret_id is NULL");
        it_fails(pw_open(NULL, pw_future_id(future), &made, IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_open(pw, pw_future_id(future), NULL, IT_ERR), PW_INVALID, "ret_future is NULL");
        it_fails(pw_future_info(NULL, &info, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_future_info(future, NULL, IT_ERR), PW_INVALID, "ret_info is NULL");
        it_fails(pw_relocate(NULL, NULL, IT_ERR), PW_INVALID, "future is NULL");
        assert_int_equal(pw_poll(NULL), PW_INVALID);
        assert_null(pw_ref(NULL));
        pw_view_done(NULL);
        pw_unref(NULL);
        pw_unref(future);
}

static void names_refuse_null(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_future *future = it_put_f64(pw, PW_DIMS(2), 1), *found;

        it_fails(pw_name(NULL, "a", IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_name(future, NULL, IT_ERR), PW_INVALID, "name is NULL");
        it_fails(pw_name(future, "caf\xc3\xa9", IT_ERR), PW_INVALID, "byte 3|0xc3");
        it_fails(pw_unname(NULL, "a", IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_unname(pw, NULL, IT_ERR), PW_INVALID, "name is NULL");
        it_fails(pw_unname(pw, "caf\xc3\xa9", IT_ERR), PW_INVALID, "byte 3|0xc3");
        it_fails(pw_lookup(NULL, "a", 0, &found, IT_ERR), PW_INVALID, "session is NULL");
        it_fails(pw_lookup(pw, NULL, 0, &found, IT_ERR), PW_INVALID, "name is NULL");
        it_fails(pw_lookup(pw, "a", 0, NULL, IT_ERR), PW_INVALID, "ret_future is NULL");
        it_fails(pw_lease(NULL, 1, IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_transfer(NULL, "pid 1", IT_ERR), PW_INVALID, "future is NULL");
        it_fails(pw_transfer(future, NULL, IT_ERR), PW_INVALID, "name an owner");
        pw_unref(future);
}

static void programs_refuse_null(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_future *input = it_put_f64(pw, PW_DIMS(8), 1), *result;
        struct pw_slice *slice = it_slice(pw, 2, 1);
        struct pw_program *program = pw_program_new(NULL, "none");
        uint64_t peak;

        it_fails(pw_slice_open(NULL, &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR), PW_INVALID,
                 "session is NULL");
        it_fails(pw_slice_open(pw, NULL, &slice, IT_ERR), PW_INVALID, "at least one device");
        it_fails(pw_slice_open(pw, &(struct pw_slice_params){ .device_count = 1 }, NULL, IT_ERR), PW_INVALID, "ret_slice is NULL");
        it_fails(pw_slice_open(pw, &(struct pw_slice_params){ .device_count = 1, .island = -1 }, &slice, IT_ERR), PW_INVALID,
                 "island -1");
        it_fails(pw_compile(program, IT_ERR), PW_INVALID, "pw_program_new()|session is NULL");
        pw_program_free(program);
        assert_null(pw_input(NULL, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0));
        assert_null(pw_call(NULL, slice, "pw/nop", PW_NO_ARGS, PW_BROADCAST));
        assert_null(pw_stage(NULL, "stage", 1));
        assert_null(pw_as(NULL, PW_BROADCAST));
        assert_null(pw_move(NULL, slice, PW_BROADCAST));
        assert_null(pw_output(NULL, 0));
        assert_null(pw_donate(NULL));
        pw_result(NULL, NULL);
        it_fails(pw_compile(NULL, IT_ERR), PW_INVALID, "program is NULL");
        program = pw_program_new(pw, "calls/null");
        pw_result(program, pw_call_with(program, slice, "pw/nop", NULL, 1, PW_BROADCAST, NULL));
        it_fails(pw_compile(program, IT_ERR), PW_INVALID, "calls/null|pw/nop|args is NULL");
        it_fails(pw_run(program, PW_NO_FUTURES, &result, IT_ERR), PW_INVALID, "calls/null|not compiled");
        pw_program_free(program);
        program = it_one_node(pw, slice, "pw/nop", PW_DIMS(8), NULL);
        it_fails(pw_program_peak(NULL, &peak, IT_ERR), PW_INVALID, "program is NULL");
        it_fails(pw_program_peak(program, NULL, IT_ERR), PW_INVALID, "ret_bytes is NULL");
        it_fails(pw_run(NULL, PW_FUTURES(input), &result, IT_ERR), PW_INVALID, "program is NULL");
        it_fails(pw_run_with(program, NULL, 1, NULL, &result, IT_ERR), PW_INVALID, "inputs is NULL");
        it_fails(pw_run(program, PW_FUTURES(NULL), &result, IT_ERR), PW_INVALID, "input 0|NULL");
        it_fails(pw_run(program, PW_FUTURES(input), NULL, IT_ERR), PW_INVALID, "ret_results is NULL");
        it_fails(pw_run_with(program, PW_FUTURES(input), &(struct pw_run_params){ .priority = 1 }, &result, IT_ERR), PW_INVALID,
                 "priority 1");
        it_fails(pw_cancel(NULL, IT_ERR), PW_INVALID, "future is NULL");
        assert_int_equal(pw_program_input_count(NULL) + pw_program_result_count(NULL) + pw_slice_device_count(NULL), 0);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_unref(input);
}

static void timeouts_below_zero(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_put_params params = { .timeout_us = -1 };
        struct pw_future *future, *found;
        struct pw_view view;
        void *data;

        it_ok(pw_create(pw, 8, NULL, &future, &data, IT_ERR));
        it_fails(pw_get(future, -1, &view, IT_ERR), PW_NOT_READY, "");
        it_fails(pw_get(future, INT64_MIN, &view, IT_ERR), PW_NOT_READY, "");
        it_fails(pw_wait(&future, 1, 1, -1, NULL, IT_ERR), PW_DEADLINE, "0 of 1");
        it_fails(pw_lookup(pw, "nobody", -1, &found, IT_ERR), PW_NOT_FOUND, "nobody");
        it_fails(pw_put(pw, "a", 1, &params, &found, IT_ERR), PW_INVALID, "-1 us");
        params.flags = PW_PUT_FROZEN;
        it_fails(pw_put(pw, "a", 1, &params, &found, IT_ERR), PW_INVALID, "-1 us");
        params.flags = 0;
        it_fails(pw_create(pw, 1, &params, &found, &data, IT_ERR), PW_INVALID, "-1 us");
        it_fails(pw_lease(future, -1, IT_ERR), PW_INVALID, "-1 us");
        pw_unref(future);
}

/* --- the end of a session under its callers ---------------------------------------------------------------------------------- */

struct closing {
        struct pw_session *session;
        struct pw_future *wide[WIDE]; /* created, never sealed */
        pthread_barrier_t ready;
        enum pw_status ends[5];
        char texts[5][sizeof((struct pw_error *)NULL)->text];
};
struct caller { struct closing *closing; int number; };

static enum pw_status wait_somehow(struct closing *closing, int how, struct pw_error *ret_err)
{
        struct pw_future *found;
        struct pw_view view;

        switch (how) {
        case 0: return pw_get(closing->wide[0], PW_FOREVER, &view, ret_err);
        case 1: return pw_wait(closing->wide, 1, 1, PW_FOREVER, NULL, ret_err);
        case 2: return pw_wait(closing->wide, WIDE, 1, PW_FOREVER, NULL, ret_err);
        case 3: return pw_wait(closing->wide, WIDE, WIDE, PW_FOREVER, NULL, ret_err);
        default: return pw_lookup(closing->session, "calls/nobody", PW_FOREVER, &found, ret_err);
        }
}

static void *caller_run(void *argument)
{
        const struct caller *caller = argument;
        struct closing *closing = caller->closing;
        struct pw_error err = { .status = PW_OK };

        pthread_barrier_wait(&closing->ready);
        closing->ends[caller->number] = wait_somehow(closing, caller->number, &err);
        memcpy(closing->texts[caller->number], err.text, sizeof err.text);
        return NULL;
}

static void close_round(struct it_host *host)
{
        struct closing closing = { .session = it_connect(host) };
        struct caller callers[5];
        pthread_t threads[5];
        void *data;

        for (uint32_t i = 0; i < WIDE; i++)
                it_ok(pw_create(closing.session, 8, NULL, &closing.wide[i], &data, IT_ERR));
        pthread_barrier_init(&closing.ready, NULL, 6);
        for (int i = 0; i < 5; i++) {
                callers[i] = (struct caller){ &closing, i };
                assert_int_equal(pthread_create(&threads[i], NULL, caller_run, &callers[i]), 0);
        }
        pthread_barrier_wait(&closing.ready);
        while (atomic_load(&closing.session->refs) < 2 + 5) /* every caller is in its call: that holds the session */
                sched_yield();
        pw_close(closing.session);
        for (int i = 0; i < 5; i++) {
                pthread_join(threads[i], NULL);
                if (closing.ends[i] != PW_DAEMON_GONE || strcmp(closing.texts[i], "the session was closed"))
                        fail_msg("caller %d: %s: %s", i, pw_status_name(closing.ends[i]), closing.texts[i]);
        }
        for (uint32_t i = 0; i < WIDE; i++)
                pw_unref(closing.wide[i]);
        pthread_barrier_destroy(&closing.ready);
}

static void close_ends_every_wait(void **state)
{
        for (int round = 0; round < 20; round++)
                close_round(*state);
}

/* --- a process that closes all of its descriptors ----------------------------------------------------------------------------- */

static int close_everything(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *used = it_connect(host), *unused = it_connect(host);
        struct pw_future *future = it_put_f64(used, PW_DIMS(8), 1), *kept = it_put_f64(unused, PW_DIMS(8), 1);
        struct pw_view view;
        struct pw_error err = { .status = PW_OK };
        enum pw_status status;

        close_range(3, (unsigned)pipe - 1, 0);
        close_range((unsigned)pipe + 1, ~0u, 0);
        if (pw_name(future, "calls/lost", &err) != PW_DAEMON_GONE || !strstr(err.text, "this process has closed the socket"))
                return 1;
        if (pw_get(future, 0, &view, &err) != PW_DAEMON_GONE)
                return 2;
        /* Nothing has told the library yet; where the daemon has let the value go by now, this says why. */
        status = pw_get(kept, 0, &view, &err);
        if (status == PW_OK)
                pw_view_done(&view);
        else if (status != PW_DAEMON_GONE || !strstr(err.text, "this process has closed the socket")) {
                print_error("a value of a session whose socket is closed: %s: %s\n", pw_status_name(status), err.text);
                return 3;
        }
        pw_unref(future);
        pw_close(used);
        pw_close(unused);
        pw_unref(kept);
        return 0;
}

#define TAKEN 60 /* descriptors that the process opens once it has closed all: more than there were */

/* What sits where the library's descriptors were: half of them sockets, half eventfds. Returns the number of the other end. */
static int take_numbers(int pipe, int ends[TAKEN])
{
        int pair[2];

        for (int i = 0; i < TAKEN; i++)
                ends[i] = -1;
        for (int i = 3; i < TAKEN; i++) {
                if (i == pipe)
                        continue;
                if (i % 2 ? (ends[i] = eventfd(0, EFD_NONBLOCK)) < 0 :
                    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
                        return -1;
                if (i % 2)
                        continue;
                ends[i] = fcntl(pair[1], F_DUPFD, 3 + TAKEN);
                if (pair[1] != ends[i])
                        close(pair[1]);
        }
        return 0;
}

/* All of them are open, and nobody wrote into one. */
static bool untouched(int pipe, const int ends[TAKEN])
{
        uint64_t byte;

        for (int i = 3; i < TAKEN; i++)
                if (i != pipe && ends[i] >= 0 &&
                    (read(ends[i], &byte, sizeof byte) >= 0 || errno != EAGAIN || fcntl(i, F_GETFD) < 0))
                        return false;
        return true;
}

/* The numbers are others' before the library hears of anything. */
static int reuse_everything(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *sessions[3] = { it_connect(host), it_connect(host), it_connect(host) };
        struct pw_future *future = it_put_f64(sessions[0], PW_DIMS(8), 1), *made, *told;
        int ends[TAKEN], fd;
        void *data;

        it_ok(pw_session_fd(sessions[1], &fd, IT_ERR));
        it_ok(pw_create(sessions[1], 8, NULL, &made, &data, IT_ERR));
        it_ok(pw_notify(made, IT_ERR));
        close_range(3, (unsigned)pipe - 1, 0);
        close_range((unsigned)pipe + 1, ~0u, 0);
        if (take_numbers(pipe, ends) < 0)
                return 1;
        it_fails(pw_name(future, "calls/lost", IT_ERR), PW_DAEMON_GONE, "this process has closed the socket");
        (void)!pw_seal(made, NULL); /* what woke the library's thread last may have told this session, or not */
        while (pw_notified(sessions[1], &told, NULL) == PW_NOT_READY)
                sched_yield();
        for (int i = 0; i < 3; i++)
                pw_close(sessions[i]);
        return untouched(pipe, ends) ? 0 : 5;
}

static bool is_as_before(const struct pw_listing *listing, void *context)
{
        const int64_t *before = context;

        return it_number(listing, 0, "sessions") == *before;
}

static void descriptors_may_be_closed(void **state)
{
        struct it_host *host = *state;
        int64_t before = it_listed(host->session, "status", "sessions");
        int (*const lives[])(void *, int) = { close_everything, reuse_everything };

        for (size_t i = 0; i < 2; i++) {
                struct it_child child = it_fork(lives[i], host);
                assert_int_equal(it_reap_within(&child, IT_LONG), 0);
        }
        it_until(host->session, "status", is_as_before, &before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(objects_refuse_null), IT_TEST(names_refuse_null),     IT_TEST(programs_refuse_null),
                IT_TEST(timeouts_below_zero), IT_TEST(close_ends_every_wait), IT_TEST(descriptors_may_be_closed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
