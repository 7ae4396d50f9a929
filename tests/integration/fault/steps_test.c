/* A client killed, or stopped for a while, between any two of its instructions: in a put, a reference by id, a get, a run, in what
 * is given up.
 *
 * The client is traced: one steps through its operation and notes each place, others are brought to one of them and killed there.
 * Then `check` finds nothing, what others hold is as it was, and the teardown looks whether anything is left. Or they stay there
 * while others work, who are not held up, and then go on to their end. PW_STEPS is how many places of each operation are tried,
 * spread over it from PW_SEED; 0: each one.
 */
#include "tests/integration/fault/places.h"
#include "tests/integration/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define BYTES 100

struct victim {
        struct it_host *host;
        struct pw_id shared; /* the test's: BYTES of 's' */
        void (*operation)(struct victim *victim);
        struct pw_program *others; /* NULL: it dies; else it stops, and the test runs this meanwhile */
        struct pw_session *session;
        struct pw_program *program;
        struct pw_future *input;
};

/* --- what it is killed in --------------------------------------------------------------------------------------------- */

static void put(struct victim *victim)
{
        char bytes[BYTES];
        struct pw_future *future;

        memset(bytes, 'p', sizeof bytes);
        it_ok(pw_put(victim->session, bytes, sizeof bytes, NULL, &future, IT_ERR));
        pw_unref(future);
}

static void create(struct victim *victim)
{
        struct pw_future *sealed, *aborted;
        void *data;

        it_ok(pw_create(victim->session, BYTES, NULL, &sealed, &data, IT_ERR));
        memset(data, 'c', BYTES);
        it_ok(pw_seal(sealed, IT_ERR));
        it_ok(pw_create(victim->session, BYTES, NULL, &aborted, &data, IT_ERR));
        it_ok(pw_abort(aborted, IT_ERR));
        pw_unref(aborted);
        pw_unref(sealed);
}

static void open_get(struct victim *victim)
{
        struct pw_future *future, *again;
        struct pw_view view;

        it_ok(pw_open(victim->session, victim->shared, &future, IT_ERR));
        again = pw_ref(future);
        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        pw_unref(future); /* the view goes on */
        pw_view_done(&view);
        pw_unref(again);
}

static void run(struct victim *victim)
{
        struct pw_future *result = NULL;

        it_ok(pw_run(victim->program, PW_FUTURES(victim->input), &result, IT_ERR));
        pw_unref(result);
}

static void run_donated(struct victim *victim)
{
        struct pw_future *result = NULL;

        it_ok(pw_run(victim->program, PW_FUTURES(pw_donate(&victim->input)), &result, IT_ERR));
        pw_unref(result);
}

static const struct { const char *name; void (*operation)(struct victim *victim); } operations[] = {
        { "put", put }, { "create", create }, { "open", open_get }, { "run", run }, { "run, donated", run_donated },
};

/* --- the client ----------------------------------------------------------------------------------------------------------- */

static struct pw_program *program_of(struct pw_session *session)
{
        struct pw_slice *slice = it_slice(session, 2, 1);
        struct pw_program *program = pw_program_new(session, "test/step");

        pw_result(program,
                  it_grow(program, slice, pw_input(program, slice, PW_F64, PW_DIMS(8), PW_SPLIT(0), PW_DONATED), PW_SPLIT(0), 1));
        it_ok(pw_compile(program, IT_ERR));
        pw_slice_close(slice);
        return program;
}

static int be_a_victim(void *context, int pipe)
{
        struct victim *victim = context;

        victim->session = it_connect(victim->host);
        victim->program = program_of(victim->session);
        victim->input = it_put_f64(victim->session, PW_DIMS(8), 0);
        if (victim->operation != run_donated)
                victim->operation(victim); /* rooms, slots and maps are there then */
        if (write(pipe, "v", 1) != 1 || !it_be_traced())
                return 2;
        victim->operation(victim);
        _exit(0);
}

/* A client that does `operation`, from its beginning. */
static struct it_child start_victim(struct victim *victim)
{
        struct it_child child = it_fork(be_a_victim, victim);
        char byte;

        it_read(&child, &byte, 1);
        return child;
}

static void record(struct victim *victim, struct it_places *ret_places)
{
        struct it_child child = start_victim(victim);

        it_places_record(child.pid, ret_places);
        it_forget(&child);
}

/* Another client puts, refers to what both know, computes, frees: the daemon reads all rings for it. */
static void others_go_on(const struct victim *victim)
{
        struct pw_session *session = victim->host->session;
        struct pw_future *input = it_put_f64(session, PW_DIMS(8), 0), *result = NULL, *shared;
        int64_t since_us = it_now_us();
        struct pw_view view;

        it_ok(pw_run(victim->others, PW_FUTURES(pw_donate(&input)), &result, IT_ERR));
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
        pw_unref(result);
        it_ok(pw_open(session, victim->shared, &shared, IT_ERR));
        it_ok(pw_get(shared, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
        pw_unref(shared);
        assert_true(it_listed(session, "status", "sessions") > 0);
        it_within("others, while a client is stopped", since_us, IT_SECOND);
}

/* False: it went another way than the one that was noted, and was done before. */
static bool halt_at(struct victim *victim, const struct it_places *places, size_t place)
{
        struct it_child child = start_victim(victim);
        bool reached = it_places_reach(child.pid, places, place);

        if (reached && victim->others) {
                others_go_on(victim);
                /* A thread beside it, which nobody traces, may have met the breakpoint in the same moment. */
                reached = ptrace(PTRACE_DETACH, child.pid, NULL, NULL) == 0;
                assert_int_equal(it_reap(&child, 0), reached ? 0 : 128 + SIGTRAP);
        } else if (reached) {
                assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        } else {
                it_forget(&child);
        }
        return reached;
}

/* --- the test ------------------------------------------------------------------------------------------------------------- */

static void nothing_wrong(const struct it_host *host, const char *name, size_t place)
{
        struct pw_listing *check = it_list(host->session, "check", NULL);

        if (it_rows(check)) {
                it_print(check);
                fail_msg("%s, halted at place %zu: check finds %d problems", name, place, (int)it_rows(check));
        }
        pw_listing_free(check);
}

static void halt_in(struct victim *victim, const char *name, uint64_t most, uint64_t *seed)
{
        struct it_places places;
        uint64_t stride, tried = 0, missed = 0;

        record(victim, &places);
        stride = most && places.count > most ? places.count / most : 1;
        for (uint64_t at = stride > 1 ? it_random(seed) % stride : 0; at < places.count; at += stride, tried++) {
                missed += !halt_at(victim, &places, at);
                nothing_wrong(victim->host, name, at);
        }
        print_message("%s: %s at %" PRIu64 " of %zu places, %" PRIu64 " not reached\n", name, victim->others ? "stopped" : "killed",
                      tried - missed, places.count, missed);
        assert_true(missed <= tried / (SANITIZED ? 2 : 4)); /* the sanitizer's allocator does not go the same way twice */
        it_places_done(&places);
}

static bool may_trace(void)
{
        pid_t pid = fork();
        int status;

        if (pid == 0)
                _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status == 0;
}

static void halt_between_any_two_steps(struct victim *victim)
{
        struct it_host *host = victim->host;
        uint64_t most = it_environment("PW_STEPS", 12), seed = it_environment("PW_SEED", 1);
        struct pw_future *shared;
        char bytes[BYTES];
        struct pw_view view;

        if (!may_trace()) {
                it_skip("steps of a client cannot be told: ptrace is not allowed here");
        }
        memset(bytes, 's', sizeof bytes);
        it_ok(pw_put(host->session, bytes, sizeof bytes, NULL, &shared, IT_ERR));
        victim->shared = pw_future_id(shared);
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
                victim->operation = operations[i].operation;
                halt_in(victim, operations[i].name, most, &seed);
        }
        it_ok(pw_get(shared, IT_LONG, &view, IT_ERR));
        assert_memory_equal(view.data, bytes, sizeof bytes);
        pw_view_done(&view);
        pw_unref(shared);
}

static void killed_between_any_two_steps(void **state)
{
        halt_between_any_two_steps(&(struct victim){ .host = *state });
}

static void stopped_between_any_two_steps(void **state)
{
        struct it_host *host = *state;
        struct victim victim = { .host = host, .others = program_of(host->session) };

        halt_between_any_two_steps(&victim);
        pw_program_free(victim.others);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(killed_between_any_two_steps), IT_TEST(stopped_between_any_two_steps) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
