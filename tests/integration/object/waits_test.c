/* Waits for thousands of futures that other processes make: any, some, all; and when their makers die. A thousand that wait for a
 * name. */
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define MAKERS 2u
#define EACH 1500u
#define ALL (MAKERS * EACH)
#define STEPS 3u

/* How many of its futures each maker has sealed after each step; the rest it keeps. */
static const uint32_t sealed_after[STEPS] = { 1, EACH / 2, EACH - 1 };

struct maker { struct it_host *host; uint32_t number; };

/* A step begins when its name is bound. */
static void await_step(struct pw_session *session, uint32_t step)
{
        struct pw_future *future;
        char name[16];

        snprintf(name, sizeof name, "step%u", step);
        it_ok(pw_lookup(session, name, PW_FOREVER, &future, IT_ERR));
        pw_unref(future);
}

static int make(void *context, int pipe)
{
        static struct pw_future *futures[EACH];
        static struct pw_id ids[EACH];
        const struct maker *maker = context;
        struct pw_session *session = it_connect(maker->host);
        uint64_t seed = maker->number;
        void *data;

        for (uint32_t i = 0; i < EACH; i++) {
                it_ok(pw_create(session, 8, NULL, &futures[i], &data, IT_ERR));
                ids[i] = pw_future_id(futures[i]);
        }
        assert_int_equal(write(pipe, ids, sizeof ids), sizeof ids);
        for (uint32_t i = EACH - 1; i > 0; i--) { /* sealed in some order */
                uint32_t other = (uint32_t)(it_random(&seed) % (i + 1));
                struct pw_future *kept = futures[i];
                futures[i] = futures[other];
                futures[other] = kept;
        }
        for (uint32_t step = 0, done = 0; step < STEPS; step++) {
                await_step(session, step);
                for (; done < sealed_after[step]; done++)
                        it_ok(pw_seal(futures[done], IT_ERR));
        }
        await_step(session, STEPS); /* never */
        return 0;
}

static void begin_step(struct it_host *host, uint32_t step)
{
        struct pw_future *mark;
        char name[16];

        snprintf(name, sizeof name, "step%u", step);
        it_ok(pw_put(host->session, "x", 1, NULL, &mark, IT_ERR));
        it_ok(pw_name(mark, name, IT_ERR));
        pw_unref(mark);
}

static void start(struct it_host *host, struct maker *makers, struct it_child *children, struct pw_future **futures)
{
        static struct pw_id ids[EACH];

        for (uint32_t m = 0; m < MAKERS; m++) {
                makers[m] = (struct maker){ host, m };
                children[m] = it_fork(make, &makers[m]);
                it_read(&children[m], ids, sizeof ids);
                for (uint32_t i = 0; i < EACH; i++)
                        it_ok(pw_open(host->session, ids[i], &futures[m * EACH + i], IT_ERR));
        }
}

static void finish(struct it_host *host, struct pw_future **futures)
{
        for (uint32_t i = 0; i < ALL; i++)
                pw_unref(futures[i]);
        for (uint32_t step = 0; step < STEPS; step++) {
                char name[16];
                snprintf(name, sizeof name, "step%u", step);
                it_ok(pw_unname(host->session, name, IT_ERR));
        }
}

static void waits_for_thousands(void **state)
{
        static struct pw_future *futures[ALL];
        struct it_host *host = *state;
        struct maker makers[MAKERS];
        struct it_child children[MAKERS];
        size_t ready = 0;

        start(host, makers, children, futures);
        it_fails(pw_wait(futures, ALL, 1, 20000, &ready, IT_ERR), PW_DEADLINE, "0 of 3000");
        for (uint32_t step = 0; step < STEPS; step++) {
                begin_step(host, step);
                if (step == 0)
                        it_ok(pw_wait(futures, ALL, 1, IT_LONG, &ready, IT_ERR));
                it_ok(pw_wait(futures, ALL, MAKERS * sealed_after[step], IT_LONG, &ready, IT_ERR));
                assert_int_equal(ready, MAKERS * sealed_after[step]);
        }
        it_fails(pw_wait(futures, ALL, ALL, 20000, &ready, IT_ERR), PW_DEADLINE, "2998 of 3000|3000 are needed");
        for (uint32_t m = 0; m < MAKERS; m++) /* their last futures end with an error */
                assert_int_equal(it_reap(&children[m], SIGKILL), 128 + SIGKILL);
        it_ok(pw_wait(futures, ALL, ALL, IT_LONG, &ready, IT_ERR));
        assert_int_equal(ready, ALL);
        finish(host, futures);
}

/* Waiters of that kind, and such as wait for a few, are killed: nobody is counted for them, and others go on as they were. */
struct sleeper { struct it_host *host; uint32_t count; };

static int wait_for_ever(void *context, int pipe)
{
        static struct pw_future *futures[EACH];
        const struct sleeper *sleeper = context;
        struct pw_session *session = it_connect(sleeper->host);
        void *data;

        for (uint32_t i = 0; i < sleeper->count; i++)
                it_ok(pw_create(session, 8, NULL, &futures[i], &data, IT_ERR));
        assert_int_equal(write(pipe, "w", 1), 1);
        return pw_wait(futures, sleeper->count, 1, PW_FOREVER, NULL, NULL) == PW_OK;
}

/* Until somebody of the tenant is counted as waiting, or nobody any more. */
static void until_counted(struct pw_session *session, bool somebody)
{
        for (int64_t end_us = it_now_us() + IT_LONG;;) {
                uint64_t sum = 0;

                for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                        sum += atomic_load(&session->hints->waiters[i]);
                if ((sum > 0) == somebody)
                        return;
                if (it_now_us() > end_us)
                        fail_msg("the hint page counts %llu", (unsigned long long)sum);
                sched_yield();
        }
}

static void a_killed_waiter_leaves_no_trace(void **state)
{
        static const uint32_t counts[] = { 1, 5, EACH };
        struct it_host *host = *state;
        struct pw_future *future;
        char byte;

        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                struct sleeper sleeper = { host, counts[i] };
                struct it_child child = it_fork(wait_for_ever, &sleeper);

                it_read(&child, &byte, 1);
                until_counted(host->session, true);
                it_ok(pw_put(host->session, &byte, 1, NULL, &future, IT_ERR));
                pw_unref(future);
                assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
                until_counted(host->session, false);
                it_ok(pw_put(host->session, &byte, 1, NULL, &future, IT_ERR));
                pw_unref(future);
        }
}

/* --- wakes ---------------------------------------------------------------------------------------------------------------- */

#define TRIPS 100u
#define ASLEEP_US 400 /* longer than a wait looks before it sleeps */

/* What only a second look found of `waits`: nothing where the machine is quiet; a process may be stopped between swap and wake. */
static void expect_woken(struct pw_session *session, const char *what, uint32_t before, uint32_t waits)
{
        uint32_t late = atomic_load(&session->hints->second_looks) - before;

        if (late)
                print_message("%s: %u of %u waits ended by a second look\n", what, late, waits);
        assert_true(late <= (it_slack() == 1 ? 0 : waits / 10));
}

static void burn(void)
{
        for (int64_t end_us = it_now_us() + ASLEEP_US; it_now_us() < end_us;)
                ;
}

struct asked { struct it_host *host; struct pw_id ids[TRIPS]; };

static int answer(void *context, int pipe)
{
        static struct pw_future *mine[TRIPS], *theirs[TRIPS];
        const struct asked *asked = context;
        static struct pw_id ids[TRIPS];
        struct pw_session *session = it_connect(asked->host);
        void *data;

        for (uint32_t i = 0; i < TRIPS; i++) {
                it_ok(pw_create(session, 8, NULL, &mine[i], &data, IT_ERR));
                ids[i] = pw_future_id(mine[i]);
                it_ok(pw_open(session, asked->ids[i], &theirs[i], IT_ERR));
        }
        assert_int_equal(write(pipe, ids, sizeof ids), sizeof ids);
        for (uint32_t i = 0; i < TRIPS; i++) {
                it_ok(pw_wait(&theirs[i], 1, 1, IT_LONG, NULL, IT_ERR));
                burn();
                it_ok(pw_seal(mine[i], IT_ERR));
        }
        return 0;
}

/* Two processes seal one after the other, and each sleeps until the other has. */
static void who_seals_wakes(void **state)
{
        static struct pw_future *mine[TRIPS], *theirs[TRIPS];
        static struct pw_id ids[TRIPS];
        static struct asked asked;
        struct it_host *host = *state;
        uint32_t before = atomic_load(&host->session->hints->second_looks);
        void *data;

        asked.host = host;
        for (uint32_t i = 0; i < TRIPS; i++) {
                it_ok(pw_create(host->session, 8, NULL, &mine[i], &data, IT_ERR));
                asked.ids[i] = pw_future_id(mine[i]);
        }
        struct it_child child = it_fork(answer, &asked);
        it_read(&child, ids, sizeof ids);
        for (uint32_t i = 0; i < TRIPS; i++)
                it_ok(pw_open(host->session, ids[i], &theirs[i], IT_ERR));
        for (uint32_t i = 0; i < TRIPS; i++) {
                burn();
                it_ok(pw_seal(mine[i], IT_ERR));
                it_ok(pw_wait(&theirs[i], 1, 1, IT_LONG, NULL, IT_ERR));
        }
        expect_woken(host->session, "seal", before, 2 * TRIPS);
        assert_int_equal(it_reap(&child, 0), 0);
        for (uint32_t i = 0; i < TRIPS; i++) {
                pw_unref(mine[i]);
                pw_unref(theirs[i]);
        }
}

/* Results of runs wake who sleeps until they come: for one, or, by bells, for one of more than a sleep can watch. */
static void results_wake(void **state)
{
        static struct pw_future *any[300];
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        uint64_t us = 1000;
        const struct pw_call_params params = { .params = &us, .params_bytes = sizeof us };
        struct pw_program *program = it_one_node(host->session, slice, "pw/sleep_us", PW_DIMS(8), &params);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 0);
        uint32_t many = sizeof any / sizeof *any;
        void *data;

        for (uint32_t i = 1; i < many; i++)
                it_ok(pw_create(host->session, 8, NULL, &any[i], &data, IT_ERR));
        for (uint32_t count = 1; count <= many; count += many - 1) {
                uint32_t before = atomic_load(&host->session->hints->second_looks);

                for (uint32_t i = 0; i < TRIPS; i++) {
                        any[0] = it_run_1(program, input);
                        it_ok(pw_wait(any, count, 1, IT_LONG, NULL, IT_ERR));
                        pw_unref(any[0]);
                }
                expect_woken(host->session, count == 1 ? "result" : "one of many results", before, TRIPS);
        }
        for (uint32_t i = 1; i < many; i++)
                pw_unref(any[i]);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* --- many who wait for one name ----------------------------------------------------------------------------------------------- */

#define LOOKUPS 1000u /* of one session: several turns tell them */

static void fill_lookup(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__NameLookup body;

        (void)i;
        pathways__wire__name_lookup__init(&body);
        body.name = context;
        body.timeout_us = -1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        request->name_lookup = &body;
}

/* Nobody says a word to the daemon between the bind and the last answer: it goes on by itself until all are told. */
static void all_are_told_of_a_name(void **state)
{
        struct it_host *host = *state;
        char name[] = "late", text[200];
        struct raw_flood flood = { .fd = raw_connect(host), .count = LOOKUPS, .fill = fill_lookup, .context = name,
                                   .limit_us = IT_LONG, .unread = true };
        struct pw_future *future;

        assert_int_equal(raw_hello(flood.fd, text), PW_OK);
        assert_int_equal(raw_flood(&flood), 0);
        assert_true(it_listed(host->session, "status", "host") >= 0); /* what came before this was taken */
        it_ok(pw_put(host->session, "x", 1, NULL, &future, IT_ERR));
        it_ok(pw_name(future, name, IT_ERR));
        assert_int_equal(raw_flood(&(struct raw_flood){ .fd = flood.fd, .before = LOOKUPS, .limit_us = IT_LONG }), LOOKUPS);
        close(flood.fd);
        it_ok(pw_unname(host->session, name, IT_ERR));
        pw_unref(future);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(waits_for_thousands),
                IT_TEST(a_killed_waiter_leaves_no_trace),
                IT_TEST(who_seals_wakes),
                IT_TEST(results_wake),
                IT_TEST(all_are_told_of_a_name),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
