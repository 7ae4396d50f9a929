/* Quotas and operators: what is over a quota waits, says so to who asks why, and goes on when SIGHUP raises it; who is refused is
 * told who of his own tenant holds the room, of other tenants only how much. Operators see all.
 */
#include "tests/integration/folder.h"
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define BASE "devices = emulated:2\nhost-memory = 128 MiB\ndevice-memory = 16 MiB\n"

static int finish(void **state)
{
        struct it_host *host = *state;

        if (host->session) {
                it_host_clean(host);
                assert_int_equal(it_host_end(host, SIGTERM), 0);
        }
        return it_remove_folder(state);
}

static struct pw_session *start(struct it_host *host, const char *lines)
{
        char text[400];

        snprintf(text, sizeof text, BASE "%s", lines);
        it_start_configured(host, text);
        host->session = it_connect(host);
        return host->session;
}

static void reload(const struct it_host *host, const char *lines)
{
        char text[400];

        snprintf(text, sizeof text, BASE "%s", lines);
        it_reload(host, text);
}

static bool says(const struct pw_listing *listing, const char *text)
{
        for (size_t i = 0; i < it_rows(listing); i++)
                if (strstr(it_text(listing, i, "what"), text) || strstr(it_text(listing, i, "waits_for"), text))
                        return true;
        return false;
}

/* Ask why until an answer has `text`. */
static void until_why(struct pw_session *session, const char *filter, const char *text)
{
        for (int64_t end_us = it_now_us() + IT_LONG;;) {
                struct pw_listing *why = it_list(session, "why", filter);
                bool said = says(why, text);

                if (!said && it_now_us() > end_us) {
                        it_print(why);
                        fail_msg("why %s does not say \"%s\"", filter, text);
                }
                pw_listing_free(why);
                if (said)
                        return;
        }
}

/* --- host memory and objects -------------------------------------------------------------------------------------------- */

/* Puts values of `bytes` until one has to wait; ends when that one is there. */
struct putter { const struct it_host *host; uint64_t bytes; };

static int put_and_wait(void *context, int pipe)
{
        const struct putter *putter = context;
        struct pw_session *session = it_connect(putter->host);
        struct pw_put_params at_once = { .timeout_us = 1000 };
        static const char bytes[MIB];
        struct pw_future *future;
        struct pw_error err;
        enum pw_status status;

        while ((status = pw_put(session, bytes, putter->bytes, &at_once, &future, &err)) == PW_OK)
                ;
        if (write(pipe, &err, sizeof err) != sizeof err)
                return 2;
        it_ok(pw_put(session, bytes, putter->bytes, NULL, &future, IT_ERR));
        return 0;
}

static void expect_waiting(struct it_host *host, uint64_t bytes, const char *refused, const char *why, const char *raised)
{
        struct putter putter = { host, bytes };
        struct it_child child = it_fork(put_and_wait, &putter);
        struct pw_error err;
        char pid[32];

        it_read(&child, &err, sizeof err);
        it_judge(err.status, &err, &(struct it_expected){ PW_NO_SPACE, refused, "pw_put()", __FILE__, __LINE__ });
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        until_why(host->session, pid, why);
        reload(host, raised);
        assert_int_equal(it_reap(&child, 0), 0);
}

static void objects(void **state)
{
        struct it_host *host = *state;

        start(host, "quota = *:objects=1000\n");
        expect_waiting(host, 16, "1000 objects|held by|quota_test|raise --quota", "of 1000 objects", "quota = *:objects=100000\n");
}

static void host_memory(void **state)
{
        struct it_host *host = *state;

        start(host, "quota = *:host=8MiB\n");
        expect_waiting(host, MIB, "of its quota of 8 MiB|held by|quota_test|raise --quota", "of 8 MiB of host memory", "");
}

static void *sleep_through(void *until)
{
        pthread_mutex_lock(until);
        return NULL;
}

#define RESULTS 10000u

/* Runs whose results it keeps, until there may be no more. A run that has 10 s is told so at once where nobody but the thread that
 * runs could give one back; else when the time of the run is over. */
static int keep_results(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input = it_put_scalar(session, 1), *kept[RESULTS], *more;
        struct pw_run_params late = { .deadline_us = 10 * IT_SECOND }, soon = { .deadline_us = IT_SECOND / 4 };
        pthread_mutex_t until = PTHREAD_MUTEX_INITIALIZER;
        int64_t since_us = it_now_us();
        uint32_t count = 0;
        struct pw_error err;
        pthread_t other;

        (void)pipe;
        while (count < RESULTS && pw_run_with(program, PW_FUTURES(input), &late, &kept[count], &err) == PW_OK)
                count++;
        it_judge(err.status, &err, &(struct it_expected){ PW_NO_SPACE, "test/one|10000 objects, all held by|pw_unref()",
                                                          "pw_run()", __FILE__, __LINE__ });
        assert_true(it_now_us() - since_us < 10 * IT_SECOND);
        pthread_mutex_lock(&until);
        assert_int_equal(pthread_create(&other, NULL, sleep_through, &until), 0);
        it_fails(pw_run_with(program, PW_FUTURES(input), &soon, &more, IT_ERR), PW_NO_SPACE, "test/one|waited|10000 objects");
        pw_unref(kept[--count]);
        it_ok(pw_run_with(program, PW_FUTURES(input), &late, &kept[count], IT_ERR));
        pthread_mutex_unlock(&until);
        pthread_join(other, NULL);
        return 0;
}

static void results(void **state)
{
        struct it_host *host = *state;
        struct it_child child;

        start(host, "quota = *:objects=10000\n");
        child = it_fork(keep_results, host);
        assert_int_equal(it_reap(&child, 0), 0);
}

/* --- sessions ----------------------------------------------------------------------------------------------------------- */

static void sessions(void **state)
{
        struct it_host *host = *state;
        struct pw_session *first = start(host, "quota = *:sessions=2\n"), *second = it_connect(host), *third;

        it_fails(pw_connect(host->socket, &third, IT_ERR), PW_LIMIT, "2 sessions|its quota|--quota");
        assert_int_equal(it_listed(first, "owners", "tenant_sessions"), 2);
        pw_close(second);
        for (int64_t end_us = it_now_us() + IT_LONG; pw_connect(host->socket, &third, NULL) != PW_OK;)
                assert_true(it_now_us() < end_us);
        pw_close(third);
}

/* --- device memory ------------------------------------------------------------------------------------------------------ */

static struct pw_program *make_filler(struct pw_session *session, uint64_t mib)
{
        struct { double value; uint64_t dtype, rank, dim[1]; } fill = { 1, PW_F64, 1, { mib * MIB / sizeof(double) } };
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = pw_program_new(session, "test/filler");

        pw_result(program, pw_call_with(program, slice, "pw/fill", PW_NO_ARGS, PW_BROADCAST,
                                        &(struct pw_call_params){ .params = &fill, .params_bytes = sizeof fill }));
        it_ok(pw_compile(program, IT_ERR));
        pw_slice_close(slice);
        return program;
}

/* And no device: all of them have room enough. */
static void blames_the_quota(struct pw_session *session, const char *filter)
{
        struct pw_listing *why = it_list(session, "why", filter);
        size_t last = it_rows(why) - 1;

        assert_non_null(strstr(it_text(why, last, "what"), "the quota of device memory of tenant"));
        assert_non_null(strstr(it_text(why, last, "remedy"), "raise --quota"));
        for (size_t i = 0; i <= last; i++)
                assert_null(strstr(it_text(why, i, "what"), "memory of device"));
        pw_listing_free(why);
}

static void device_memory(void **state)
{
        struct it_host *host = *state;
        struct pw_session *session = start(host, "quota = *:device=8MiB\n");
        struct pw_program *program = make_filler(session, 6), *large = make_filler(session, 10);
        struct pw_run_params soon = { .deadline_us = 50000 };
        struct pw_future *held, *late, *waiting, *never;
        struct pw_view view;
        char id[PW_ID_TEXT_BYTES];

        it_ok(pw_run(large, PW_NO_FUTURES, &never, IT_ERR));
        it_fails(pw_get(never, IT_LONG, &view, IT_ERR), PW_TOO_LARGE, "10 MiB|quota|8 MiB");
        it_ok(pw_run(program, PW_NO_FUTURES, &held, IT_ERR));
        assert_true(it_get_scalar(held) == 1);
        it_ok(pw_run_with(program, NULL, 0, &soon, &late, IT_ERR));
        it_fails(pw_get(late, IT_LONG, &view, IT_ERR), PW_NO_SPACE,
                 "of its quota of 8 MiB of device memory|held by|quota_test|test/filler");
        it_ok(pw_run(program, PW_NO_FUTURES, &waiting, IT_ERR));
        until_why(session, pw_id_format(pw_future_id(waiting), id), "quota of 8 MiB of device memory");
        blames_the_quota(session, id);
        reload(host, "quota = *:device=14MiB\n");
        assert_true(it_get_scalar(waiting) == 1);
        pw_unref(held);
        pw_unref(late);
        pw_unref(waiting);
        pw_unref(never);
        pw_program_free(program);
        pw_program_free(large);
}

/* --- what is seen of others --------------------------------------------------------------------------------------------- */

struct look { const struct it_host *host; unsigned group; };
struct seen { int64_t objects, sessions; struct pw_error err; };

/* As another tenant: what `status` counts, and what a put is told that does not fit. */
static int look(void *context, int pipe)
{
        const struct look *look = context;
        struct pw_session *session = it_connect_as_other(look->host, look->group);
        struct pw_put_params at_once = { .timeout_us = 1000 };
        struct seen seen = { .objects = it_listed(session, "status", "objects"),
                             .sessions = it_listed(session, "status", "sessions") };
        struct pw_future *future;
        void *data;

        if (pw_create(session, 60 * MIB, &at_once, &future, &data, &seen.err) == PW_OK ||
            write(pipe, &seen, sizeof seen) != sizeof seen)
                return 2;
        pw_close(session);
        return 0;
}

static struct seen seen_by(const struct it_host *host, unsigned group)
{
        struct look how = { host, group };
        struct it_child child = it_fork(look, &how);
        struct seen seen;

        it_read(&child, &seen, sizeof seen);
        assert_int_equal(it_reap(&child, 0), 0);
        return seen;
}

static void expect_refused(const struct seen *seen, const char *texts)
{
        it_judge(seen->err.status, &seen->err, &(struct it_expected){ PW_NO_SPACE, texts, "pw_create()", __FILE__, __LINE__ });
}

/* Of another tenant only how much it holds; an operator sees all, from the next reading of the config on. */
static void what_is_seen_of_others(void **state)
{
        struct it_host *host = *state;
        const struct group *group = getgrnam("nogroup");
        struct pw_future *future;
        struct seen seen;
        void *data;

        if (!group)
                it_skip("there is no group nogroup");
        if (it_alone(host))
                skip();
        it_ok(pw_create(start(host, ""), 60 * MIB, NULL, &future, &data, IT_ERR));
        seen = seen_by(host, group->gr_gid);
        assert_int_equal(seen.objects, 0);
        assert_int_equal(seen.sessions, 1);
        expect_refused(&seen, "held by other tenants");
        assert_null(strstr(seen.err.text, "quota_test"));
        assert_null(strstr(seen.err.text, "root"));
        reload(host, "operators = nogroup\n");
        for (int64_t end_us = it_now_us() + IT_LONG; seen.objects != 1; seen = seen_by(host, group->gr_gid))
                assert_true(it_now_us() < end_us);
        assert_true(seen.sessions >= 2);
        expect_refused(&seen, "held by tenant root|quota_test");
        seen = seen_by(host, 0); /* of no group */
        assert_int_equal(seen.objects, 0);
        expect_refused(&seen, "held by other tenants");
        reload(host, "");
        for (int64_t end_us = it_now_us() + IT_LONG; seen_by(host, group->gr_gid).objects;)
                assert_true(it_now_us() < end_us);
        pw_unref(future);
}

/* --- what who asks can do -------------------------------------------------------------------------------------------------- */

static int attach_and_wait(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);

        assert_int_equal(write(pipe, "a", 1), 1);
        pause();
        pw_close(session);
        return 0;
}

struct asked { const struct it_host *host; unsigned group; pid_t pid; };

/* An operator by group may see root's process, and send it no signal. */
static int ask_for_a_remedy(void *context, int pipe)
{
        const struct asked *asked = context;
        struct pw_session *session = it_connect_as_other(asked->host, asked->group);
        char what[32], expected[64];
        struct pw_listing *why;
        bool told;

        snprintf(what, sizeof what, "pid %d", (int)asked->pid);
        snprintf(expected, sizeof expected, "as root, `kill -CONT %d`", (int)asked->pid);
        why = it_list(session, "why", what);
        told = it_rows(why) == 1 && !strcmp(it_text(why, 0, "remedy"), expected);
        if (!told)
                it_print(why);
        pw_listing_free(why);
        pw_close(session);
        (void)pipe;
        return !told;
}

static void a_remedy_is_for_who_asks(void **state)
{
        struct it_host *host = *state;
        const struct group *group = getgrnam("nogroup");
        char what[32], expected[64], byte;

        if (!group)
                it_skip("there is no group nogroup");
        if (it_alone(host))
                skip();
        start(host, "operators = nogroup\n");
        struct it_child stopped = it_fork(attach_and_wait, host);
        it_read(&stopped, &byte, 1);
        assert_int_equal(kill(stopped.pid, SIGSTOP), 0);
        snprintf(what, sizeof what, "pid %d", (int)stopped.pid);
        until_why(host->session, what, "it is stopped");
        struct pw_listing *why = it_list(host->session, "why", what);
        snprintf(expected, sizeof expected, "`kill -CONT %d`", (int)stopped.pid);
        assert_string_equal(it_text(why, 0, "remedy"), expected);
        pw_listing_free(why);
        struct asked asked = { host, group->gr_gid, stopped.pid };
        struct it_child other = it_fork(ask_for_a_remedy, &asked);
        assert_int_equal(it_reap(&other, 0), 0);
        assert_int_equal(it_reap(&stopped, SIGKILL), 128 + SIGKILL);
}

/* --- who waits with others ------------------------------------------------------------------------------------------------ */

static int wait_for_room(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        void *data;

        (void)pipe;
        return pw_create(session, 60 * MIB, NULL, &future, &data, NULL) == PW_OK;
}

static void *create(void *argument)
{
        struct pw_future *future;
        void *data;

        (void)!pw_create(argument, 60 * MIB, NULL, &future, &data, NULL);
        return NULL;
}

/* As another tenant, who waits behind four of the first: what is said of its own thread, and that nothing is of theirs. */
static int wait_behind(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        struct pw_listing *why;
        pthread_t thread;

        (void)pipe;
        assert_int_equal(pthread_create(&thread, NULL, create, session), 0);
        until_why(session, "h0", "room of 60 MiB");
        why = it_list(session, "why", "h0");
        if (says(why, "other threads") || says(why, "tenant root") || !says(why, "of another tenant to be let go")) {
                it_print(why);
                return 2;
        }
        _exit(0); /* while the thread waits */
}

static void why_of_a_crowded_host(void **state)
{
        struct it_host *host = *state;
        struct it_child children[4], other;
        struct pw_future *future;
        void *data;

        if (it_alone(host))
                skip();
        it_ok(pw_create(start(host, ""), 60 * MIB, NULL, &future, &data, IT_ERR));
        for (uint32_t i = 0; i < 4; i++)
                children[i] = it_fork(wait_for_room, host);
        until_why(host->session, "h0", "host memory for 1 other threads");
        other = it_fork(wait_behind, host);
        assert_int_equal(it_reap(&other, 0), 0);
        for (uint32_t i = 0; i < 4; i++)
                it_reap(&children[i], SIGKILL);
        it_ok(pw_abort(future, IT_ERR));
        pw_unref(future);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, it_setup_folder, finish)
        const struct CMUnitTest tests[] = {
                TEST(objects), TEST(results), TEST(host_memory), TEST(sessions), TEST(device_memory), TEST(what_is_seen_of_others),
                TEST(a_remedy_is_for_who_asks),
                TEST(why_of_a_crowded_host),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
