/* Many clients: at once, coming and going, and more than there are descriptors for; many threads of one.
 *
 * PW_CLIENTS is how many at once (10,000 in `make soak`), PW_COMINGS how many come and go.
 */
#include "tests/integration/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define WAVE 8
#define PROCESSES 4

static int setup(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--device-memory", "16MiB", "--host-memory", "2GiB"));
}

/* --- coming and going ---------------------------------------------------------------------------------------------------- */

static bool has_sessions(const struct pw_listing *status, void *context)
{
        return it_number(status, 0, "sessions") == *(const int64_t *)context;
}

/* All that it waits for is that the others' ends were seen. */
static void until_alone(const struct it_host *host)
{
        int64_t count = 1; /* this one */

        it_until(host->session, "status", has_sessions, &count);
}

struct coming { const struct it_host *host; uint32_t number; struct pw_id shared; };

/* Put, refer to what another one put, and leave: killed, without a word, or properly. */
static int come(void *context, int pipe)
{
        const struct coming *coming = context;
        struct pw_session *session;
        struct pw_future *mine = NULL, *shared = NULL;
        char value[3000] = { 1 };
        struct pw_error err;
        enum pw_status status = pw_connect(coming->host->socket, &session, &err);

        for (uint32_t i = 0; i < 10 && status == PW_OK; i++)
                status = pw_put(session, value, 16 << (i % 8), NULL, &mine, &err);
        if (status == PW_OK)
                status = pw_open(session, coming->shared, &shared, &err);
        if (status != PW_OK) {
                print_error("client %u: %s\n", coming->number, err.text);
                return 1;
        }
        if (write(pipe, "", 1) != 1)
                return 1;
        while (coming->number % 3 == 0)
                pause();
        if (coming->number % 3 == 1)
                pw_close(session);
        return 0;
}

static void wave(struct coming *coming)
{
        struct it_child children[WAVE];
        char byte;

        for (uint32_t i = 0; i < WAVE; i++) {
                coming->number++;
                children[i] = it_fork(come, coming);
        }
        for (uint32_t i = 0; i < WAVE; i++) {
                bool kill = (coming->number - WAVE + 1 + i) % 3 == 0;

                it_read(&children[i], &byte, 1);
                assert_int_equal(it_reap(&children[i], kill ? SIGKILL : 0), kill ? 128 + SIGKILL : 0);
        }
}

static void test_come_and_go(void **state)
{
        struct it_host *host = *state;
        uint64_t comings = it_environment("PW_COMINGS", 240);
        struct coming coming = { .host = host };
        struct pw_future *shared;
        struct it_has before = { 0 }, after;

        it_ok(pw_put(host->session, "shared", 6, NULL, &shared, IT_ERR));
        coming.shared = pw_future_id(shared);
        while (coming.number < comings) {
                wave(&coming);
                if (before.fds || coming.number < comings / 3)
                        continue;
                until_alone(host); /* from now on nothing grows */
                before = it_has(host->pid);
        }
        until_alone(host);
        after = it_has(host->pid);
        print_message("%u came and went: %llu descriptors (%llu before), %llu maps (%llu), %llu KiB (%llu)\n", coming.number,
                      (unsigned long long)after.fds, (unsigned long long)before.fds, (unsigned long long)after.maps,
                      (unsigned long long)before.maps, (unsigned long long)after.private_kib,
                      (unsigned long long)before.private_kib);
        assert_true(after.fds <= before.fds + 4);
        assert_true(after.maps <= before.maps + 16);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed for a while */
        assert_true(after.private_kib <= before.private_kib + 1024);
#endif
        pw_unref(shared);
}

/* One process, again and again: it lives, but what it left is nobody's. */
static void test_open_and_close(void **state)
{
        struct it_host *host = *state;
        uint64_t comings = it_environment("PW_COMINGS", 300);
        char value[3000] = { 1 };
        struct it_has before = { 0 }, after;

        for (uint64_t i = 0; i < comings; i++) {
                struct pw_session *session = it_connect(host);
                struct pw_future *mine, *theirs;

                it_ok(pw_put(session, value, sizeof value, NULL, &mine, IT_ERR));
                it_ok(pw_open(host->session, pw_future_id(mine), &theirs, IT_ERR));
                pw_unref(mine);
                pw_close(session);
                pw_unref(theirs);
                if (i == comings / 3) {
                        until_alone(host);
                        before = it_has(host->pid);
                }
        }
        until_alone(host);
        after = it_has(host->pid);
        print_message("%llu opened and closed: %llu descriptors (%llu before), %llu maps (%llu), %llu KiB (%llu)\n",
                      (unsigned long long)comings, (unsigned long long)after.fds, (unsigned long long)before.fds,
                      (unsigned long long)after.maps, (unsigned long long)before.maps, (unsigned long long)after.private_kib,
                      (unsigned long long)before.private_kib);
        assert_true(after.fds <= before.fds + 4);
        assert_true(after.maps <= before.maps + 16);
#ifndef __SANITIZE_ADDRESS__
        assert_true(after.private_kib <= before.private_kib + 1024);
#endif
}

/* --- at once --------------------------------------------------------------------------------------------------------------- */

struct many { const struct it_host *host; uint32_t count; };

static int open_many(void *context, int pipe)
{
        const struct many *many = context;
        struct pw_session *session = NULL;
        struct pw_future *future;
        struct pw_error err = { PW_OK, "" };
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < many->count && status == PW_OK; i++) {
                status = pw_connect(many->host->socket, &session, &err);
                if (status == PW_OK)
                        status = pw_put(session, &i, sizeof i, NULL, &future, &err);
                if (status == PW_OK && write(pipe, "", 1) != 1)
                        return 1;
        }
        if (status != PW_OK)
                print_error("%s\n", err.text);
        while (status == PW_OK)
                pause();
        return 1;
}

/* As many as asked for, or as there are descriptors for: one each, one for every 64 of a process, and some for the
 * daemon itself. */
static uint32_t clients_at_once(void)
{
        uint64_t wanted = it_environment("PW_CLIENTS", 200);
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        if (wanted + wanted / 32 + 200 <= limit.rlim_max)
                return (uint32_t)wanted;
        print_message("a limit of %llu descriptors does not hold %llu clients\n", (unsigned long long)limit.rlim_max,
                      (unsigned long long)wanted);
        return (uint32_t)(limit.rlim_max - 200) / 33 * 32;
}

static void test_at_once(void **state)
{
        struct it_host *host = *state;
        struct many many = { host, clients_at_once() / PROCESSES };
        struct it_child children[PROCESSES];
        struct pw_future *future;
        struct pw_view view;
        struct it_has before = it_has(host->pid), has;
        int64_t others = it_listed(host->session, "status", "sessions"), all = others + many.count * PROCESSES;
        char byte;

        for (uint32_t i = 0; i < PROCESSES; i++)
                children[i] = it_fork(open_many, &many);
        for (uint32_t i = 0; i < many.count * PROCESSES; i++) /* a byte of each, none of which takes long */
                it_read(&children[i % PROCESSES], &byte, 1);
        it_until(host->session, "status", has_sessions, &all);
        has = it_has(host->pid);
        print_message("%u at once: %llu descriptors, %llu maps, %llu KiB of the daemon's own\n", many.count * PROCESSES,
                      (unsigned long long)has.fds, (unsigned long long)has.maps, (unsigned long long)has.private_kib);
        assert_true(has.fds <= before.fds + (uint64_t)(all - others) * 33 / 32 + 16);
        for (uint32_t i = 0; i < 1000; i++) { /* among all of them, one works */
                it_ok(pw_put(host->session, &i, sizeof i, NULL, &future, IT_ERR));
                it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
                assert_int_equal(*(const uint32_t *)view.data, i);
                pw_view_done(&view);
                pw_unref(future);
        }
        for (uint32_t i = 0; i < PROCESSES; i++)
                assert_int_equal(it_reap(&children[i], SIGKILL), 128 + SIGKILL);
        it_until(host->session, "status", has_sessions, &others);
}

/* --- threads of one session -------------------------------------------------------------------------------------------- */

#define THREADS 511u /* at once, as libpathways(3) says */

struct crowd { struct pw_session *session; pthread_barrier_t all_in, refused; };
struct member { struct crowd *crowd; pthread_t thread; uint32_t number; enum pw_status status; bool same; };

/* Put, be there with all the others, get. */
static void *take_part(void *argument)
{
        struct member *member = argument;
        struct pw_future *future = NULL;
        struct pw_view view;

        member->status = pw_put(member->crowd->session, &member->number, sizeof member->number, NULL, &future, NULL);
        pthread_barrier_wait(&member->crowd->all_in);
        pthread_barrier_wait(&member->crowd->refused);
        if (member->status == PW_OK)
                member->status = pw_get(future, IT_LONG, &view, NULL);
        if (member->status == PW_OK) {
                member->same = *(const uint32_t *)view.data == member->number;
                pw_view_done(&view);
        }
        pw_unref(future);
        return NULL;
}

static void test_many_threads(void **state)
{
        struct it_host *host = *state;
        struct crowd crowd = { .session = it_connect(host) };
        struct member *members = calloc(THREADS, sizeof *members);
        struct pw_future *future;

        assert_non_null(members);
        assert_int_equal(pthread_barrier_init(&crowd.all_in, NULL, THREADS + 1), 0);
        assert_int_equal(pthread_barrier_init(&crowd.refused, NULL, THREADS + 1), 0);
        for (uint32_t i = 0; i < THREADS; i++) {
                members[i] = (struct member){ .crowd = &crowd, .number = i };
                assert_int_equal(pthread_create(&members[i].thread, NULL, take_part, &members[i]), 0);
        }
        pthread_barrier_wait(&crowd.all_in);
        it_fails(pw_put(crowd.session, "x", 1, NULL, &future, IT_ERR), PW_LIMIT, "511 threads|connect another");
        pthread_barrier_wait(&crowd.refused);
        for (uint32_t i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(members[i].thread, NULL), 0);
                assert_int_equal(members[i].status, PW_OK);
                assert_true(members[i].same);
        }
        it_ok(pw_put(crowd.session, "x", 1, NULL, &future, IT_ERR)); /* there is a lane again */
        pw_unref(future);
        pw_close(crowd.session);
        pthread_barrier_destroy(&crowd.all_in);
        pthread_barrier_destroy(&crowd.refused);
        free(members);
}

/* --- descriptors ------------------------------------------------------------------------------------------------------------ */

static void test_no_more_descriptors(void **state)
{
        struct pw_session *sessions[100];
        struct it_host host;
        struct pw_future *future;
        struct rlimit limit = { 100, 100 };
        char said[600];
        uint32_t count = 0;
        int ended;

        (void)state;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0); /* for the daemon, and for this process too */
        it_host_init(&host);
        assert_true(it_host_start(&host, IT_ARGS("--device-memory", "1MiB", "--host-memory", "64MiB"), &ended, said));
        for (struct pw_error err; count < 100; count++) {
                enum pw_status status = pw_connect(host.socket, &sessions[count], &err);

                if (status == PW_OK)
                        continue;
                assert_int_equal(status, PW_LIMIT);
                assert_non_null(strstr(err.text, "LimitNOFILE"));
                break;
        }
        assert_in_range(count, 10, 45);
        for (uint32_t i = 0; i < count; i++) { /* those that are in go on */
                it_ok(pw_put(sessions[i], "a", 1, NULL, &future, IT_ERR));
                pw_unref(future);
        }
        for (uint32_t i = 1; i < count; i++)
                pw_close(sessions[i]);
        host.session = sessions[0];
        until_alone(&host);
        sessions[1] = it_connect(&host);
        pw_close(sessions[1]);
        it_host_clean(&host);
        assert_int_equal(it_host_end(&host, SIGTERM), 0);
        it_host_done(&host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_come_and_go, setup, it_teardown),
                cmocka_unit_test_setup_teardown(test_open_and_close, setup, it_teardown),
                cmocka_unit_test_setup_teardown(test_at_once, setup, it_teardown),
                cmocka_unit_test_setup_teardown(test_many_threads, setup, it_teardown),
                cmocka_unit_test(test_no_more_descriptors), /* the last: its limit stays */
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
