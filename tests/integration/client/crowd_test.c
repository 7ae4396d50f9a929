/* One session under many threads that do what comes to their minds, with futures that they take from each other, while signals
 * interrupt whatever waits, threads are cancelled wherever they are, and the process forks.
 */
#include "tests/integration/trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 6u
#define PLACES 8u /* where threads leave futures for each other */
#define ROUNDS 400u

struct crowd {
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *program;
        _Atomic(struct pw_future *) places[PLACES];
        _Atomic uint32_t cancelled;
        _Atomic bool wrong; /* the text is written */
        char text[400];
};
struct member { struct crowd *crowd; pthread_t thread; uint64_t seed; uint32_t number; };

static _Atomic uint32_t interruptions;
static void on_alarm(int number)
{
        (void)number;
        atomic_fetch_add(&interruptions, 1);
}

/* They are for the members: the harness does not expect any. */
static void mask_alarms(int how)
{
        sigset_t alarms;

        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        pthread_sigmask(how, &alarms, NULL);
}

/* `allowed`: besides PW_OK. */
static void judge(struct crowd *crowd, const char *what, enum pw_status status, const struct pw_error *err, uint64_t allowed)
{
        if (status == PW_OK || (status < 64 && allowed >> status & 1) || atomic_exchange(&crowd->wrong, true))
                return;
        snprintf(crowd->text, sizeof crowd->text, "%s: %s: %.200s", what, pw_status_name(status), err->text);
}
#define OR(status) (UINT64_C(1) << (status))

/* A future that somebody left there, or one of its own. The caller has a reference. */
static struct pw_future *find(struct member *member)
{
        struct crowd *crowd = member->crowd;
        struct pw_future *found = atomic_exchange(&crowd->places[it_random(&member->seed) % PLACES], NULL);
        struct pw_error err;
        double values[8] = { 1 };
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(8) };

        params.flags = it_random(&member->seed) % 8 ? 0 : PW_PUT_FROZEN;
        if (!found)
                judge(crowd, "put", pw_put(crowd->session, values, sizeof values, &params, &found, &err), &err, 0);
        return found;
}

static void leave(struct member *member, struct pw_future *future_take)
{
        pw_unref(atomic_exchange(&member->crowd->places[it_random(&member->seed) % PLACES], future_take));
}

static void make(struct member *member)
{
        struct crowd *crowd = member->crowd;
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(8) };
        struct pw_future *made = NULL;
        struct pw_error err;
        void *data;

        judge(crowd, "create", pw_create(crowd->session, 64, &params, &made, &data, &err), &err, 0);
        if (!made)
                return;
        leave(member, pw_ref(made)); /* others may wait for it */
        memset(data, 0, 64);
        judge(crowd, "seal", pw_seal(made, &err), &err, 0);
        pw_unref(made);
}

static void look(struct member *member, struct pw_future *future)
{
        struct crowd *crowd = member->crowd;
        struct pw_future *both[2] = { future, future }, *opened = NULL;
        struct pw_error err;
        struct pw_view view;

        judge(crowd, "wait", pw_wait(both, 2, 2, IT_LONG, NULL, &err), &err, 0);
        enum pw_status status = pw_get(future, PW_FOREVER, &view, &err);
        judge(crowd, "get", status, &err, OR(PW_CANCELLED));
        if (status == PW_OK)
                pw_view_done(&view);
        judge(crowd, "open", pw_open(crowd->session, pw_future_id(future), &opened, &err), &err, 0);
        pw_unref(opened);
}

static void compute(struct member *member, struct pw_future *future)
{
        struct crowd *crowd = member->crowd;
        struct pw_future *result = NULL;
        struct pw_error err;

        judge(crowd, "run", pw_run(crowd->program, PW_FUTURES(future), &result, &err), &err, 0);
        if (result && it_random(&member->seed) % 4 == 0)
                judge(crowd, "cancel", pw_cancel(result, &err), &err, OR(PW_NOT_FOUND));
        leave(member, result);
}

static void bind(struct member *member, struct pw_future *future)
{
        struct crowd *crowd = member->crowd;
        struct pw_future *found = NULL;
        struct pw_error err;
        char name[32];

        snprintf(name, sizeof name, "crowd/%u", member->number); /* a cancelled one's heir may find it bound */
        judge(crowd, "name", pw_name(future, name, &err), &err, OR(PW_EXISTS));
        judge(crowd, "lookup", pw_lookup(crowd->session, name, IT_LONG, &found, &err), &err, 0);
        judge(crowd, "unname", pw_unname(crowd->session, name, &err), &err, 0);
        pw_unref(found);
}

static void notice(struct member *member, struct pw_future *future)
{
        struct crowd *crowd = member->crowd;
        struct pw_future *told;
        struct pw_error err;

        judge(crowd, "notify", pw_notify(future, &err), &err, 0);
        enum pw_status status = pw_notified(crowd->session, &told, &err);
        judge(crowd, "notified", status, &err, OR(PW_NOT_READY));
        if (status == PW_OK)
                pw_unref(told);
}

static void act(struct member *member)
{
        struct pw_future *future = find(member);

        if (!future)
                return;
        switch (it_random(&member->seed) % 6) {
        case 0: make(member); break;
        case 1: look(member, future); break;
        case 2: compute(member, future); break;
        case 3: bind(member, future); break;
        case 4: notice(member, future); break;
        default: leave(member, pw_ref(future)); break;
        }
        pw_unref(future);
}

static void *member_run(void *argument)
{
        struct member *member = argument;

        mask_alarms(SIG_UNBLOCK);
        for (uint32_t i = 0; i < ROUNDS && !atomic_load(&member->crowd->wrong); i++) {
                pthread_testcancel(); /* it holds nothing here, and can be cancelled nowhere else */
                act(member);
        }
        return NULL;
}

/* The child has no part in any of it, whatever its parent's other threads were doing. */
static int in_the_child(void *context, int pipe)
{
        struct crowd *crowd = context;
        struct pw_error err;
        struct pw_future *future;

        (void)pipe;
        if (pw_put(crowd->session, "x", 1, NULL, &future, &err) != PW_FORKED)
                return 1;
        pw_unref(atomic_load(&crowd->places[0]));
        pw_close(crowd->session);
        return 0;
}

static void start(struct member *member)
{
        assert_int_equal(pthread_create(&member->thread, NULL, member_run, member), 0);
}

static void end(struct member *member)
{
        void *how;

        assert_int_equal(pthread_join(member->thread, &how), 0);
        if (how == PTHREAD_CANCELED)
                atomic_fetch_add(&member->crowd->cancelled, 1);
}

/* What was to be told may be told only now: a thread of the library has it until then. */
static void take_notices(struct crowd *crowd)
{
        struct pw_future *told;

        while (pw_notified(crowd->session, &told, NULL) == PW_OK)
                pw_unref(told);
}

static bool none_left(const struct pw_listing *listing, void *context)
{
        take_notices(context);
        return it_rows(listing) == 0;
}

static void crowd_done(struct crowd *crowd)
{
        for (uint32_t i = 0; i < PLACES; i++) {
                struct pw_future *left = atomic_load(&crowd->places[i]);
                if (left)
                        it_ok(pw_wait(&left, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(left);
        }
        for (uint32_t i = 0; i < THREADS; i++) {
                char name[32];
                snprintf(name, sizeof name, "crowd/%u", i);
                (void)!pw_unname(crowd->session, name, NULL);
        }
        pw_program_free(crowd->program);
        pw_slice_close(crowd->slice);
        it_until(crowd->session, "objects", none_left, crowd); /* the session lives: nobody lost a reference on the way */
}

static void a_crowd(void **state)
{
        struct it_host *host = *state;
        struct crowd crowd = { .session = host->session, .slice = it_slice(host->session, 2, 1) };
        struct sigaction action = { .sa_handler = on_alarm }, before; /* no SA_RESTART */
        struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
        struct member members[THREADS];
        uint64_t seed = it_environment("PW_CROWD_SEED", 1);

        crowd.program = it_one_node(host->session, crowd.slice, "pw/nop", PW_DIMS(8), NULL);
        mask_alarms(SIG_BLOCK);
        sigaction(SIGALRM, &action, &before);
        setitimer(ITIMER_REAL, &often, NULL);
        for (uint32_t i = 0; i < THREADS; i++) {
                members[i] = (struct member){ .crowd = &crowd, .seed = seed + i, .number = i };
                start(&members[i]);
        }
        for (uint32_t i = 0; i < 60; i++) { /* a thread is cancelled, and another one takes its place */
                struct member *member = &members[i % THREADS];
                pthread_cancel(member->thread);
                end(member);
                if (i % 20 == 19) {
                        struct it_child child = it_fork(in_the_child, &crowd);
                        assert_int_equal(it_reap_within(&child, IT_LONG), 0);
                }
                start(member);
        }
        for (uint32_t i = 0; i < THREADS; i++)
                end(&members[i]);
        setitimer(ITIMER_REAL, &never, NULL);
        mask_alarms(SIG_UNBLOCK);
        sigaction(SIGALRM, &before, NULL);
        if (atomic_load(&crowd.wrong))
                fail_msg("%s (PW_CROWD_SEED=%llu)", crowd.text, (unsigned long long)seed);
        assert_true(atomic_load(&crowd.cancelled) && atomic_load(&interruptions));
        crowd_done(&crowd);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(a_crowd) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
