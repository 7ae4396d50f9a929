/* A tenant has very many runs wait: all for one object that is then sealed; all for one, and lets go of their results; each for the
 * one before, and the first for what is aborted; each for one of its own. Others are served meanwhile. */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define RUNS 32000u /* 128,000 by PW_WAITING_RUNS in the soak */
#define OWN 16000u

struct crowd {
        struct pw_session *session;
        struct pw_program *program;
        struct pw_future **results;
        uint32_t count;
};

static struct pw_future *create_number(struct pw_session *session)
{
        const struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(1) };
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, sizeof(double), &params, &future, &data, IT_ERR));
        *(double *)data = 1;
        return future;
}

static void run_on(struct crowd *crowd, uint32_t i, struct pw_future *input)
{
        it_ok(pw_run(crowd->program, PW_FUTURES(input), &crowd->results[i], IT_ERR));
}

static void all_done(struct crowd *crowd)
{
        for (uint32_t i = 0; i < crowd->count; i++) {
                struct pw_view view;

                it_ok(pw_get(crowd->results[i], 2 * IT_LONG, &view, IT_ERR));
                pw_view_done(&view);
                pw_unref(crowd->results[i]);
        }
}

/* The object gets ready: one bell is all that the daemon hears of it. */
static void sealed(struct crowd *crowd)
{
        struct pw_future *input = create_number(crowd->session);

        for (uint32_t i = 0; i < crowd->count; i++)
                run_on(crowd, i, input);
        it_ok(pw_session_fence(crowd->session, IT_ERR));
        it_ok(pw_seal(input, IT_ERR));
        all_done(crowd);
        pw_unref(input);
}

/* Nobody holds the results any more: each run leaves those that wait for the object. */
static void let_go(struct crowd *crowd)
{
        struct pw_future *input = create_number(crowd->session);

        for (uint32_t i = 0; i < crowd->count; i++)
                run_on(crowd, i, input);
        it_ok(pw_session_fence(crowd->session, IT_ERR));
        for (uint32_t i = 0; i < crowd->count; i++)
                pw_unref(crowd->results[i]);
        it_ok(pw_session_fence(crowd->session, IT_ERR));
        it_ok(pw_abort(input, IT_ERR));
        pw_unref(input);
}

/* Each waits for its own: with each seal the daemon looks at all that the session is to seal. */
static void one_by_one(struct crowd *crowd)
{
        struct pw_future **inputs = calloc(OWN, sizeof(struct pw_future *));

        assert_non_null(inputs);
        crowd->count = OWN;
        for (uint32_t i = 0; i < OWN; i++) {
                inputs[i] = create_number(crowd->session);
                run_on(crowd, i, inputs[i]);
        }
        it_ok(pw_session_fence(crowd->session, IT_ERR));
        for (uint32_t i = 0; i < OWN; i++)
                it_ok(pw_seal(inputs[i], IT_ERR));
        all_done(crowd);
        for (uint32_t i = 0; i < OWN; i++)
                pw_unref(inputs[i]);
        free(inputs);
}

/* Each waits for the one before; the first for what never comes. What it ends in all of them end in. */
static void chained(struct crowd *crowd)
{
        struct pw_future *input = create_number(crowd->session);
        struct pw_view view;

        for (uint32_t i = 0; i < crowd->count; i++)
                run_on(crowd, i, i ? crowd->results[i - 1] : input);
        it_ok(pw_session_fence(crowd->session, IT_ERR));
        it_ok(pw_abort(input, IT_ERR));
        for (uint32_t i = crowd->count; i--;) {
                assert_int_equal(pw_get(crowd->results[i], 2 * IT_LONG, &view, NULL), PW_CANCELLED);
                pw_unref(crowd->results[i]);
        }
        pw_unref(input);
}

static int have_them_wait(void *context, int pipe)
{
        const struct it_host *host = context;
        struct crowd crowd = { .session = it_connect(host), .count = (uint32_t)it_environment("PW_WAITING_RUNS", RUNS) };
        struct pw_slice *slice = it_slice(crowd.session, 1, 1);

        (void)pipe;
        crowd.program = it_one_node(crowd.session, slice, "pw/nop", PW_DIMS(1), NULL);
        crowd.results = calloc(crowd.count > OWN ? crowd.count : OWN, sizeof(struct pw_future *));
        assert_non_null(crowd.results);
        sealed(&crowd);
        let_go(&crowd);
        chained(&crowd);
        one_by_one(&crowd);
        free(crowd.results);
        pw_program_free(crowd.program);
        pw_slice_close(slice);
        pw_close(crowd.session);
        return 0;
}

/* Another tenant's runs wait for values of its own, too, and are told of them without coming behind all of the others. */
static void await_own(struct pw_session *session, struct pw_program *program)
{
        struct pw_future *input = create_number(session), *result;
        int64_t since_us;

        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_session_fence(session, IT_ERR));
        since_us = it_now_us();
        it_ok(pw_seal(input, IT_ERR));
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        if (!attack_is_shared()) /* else the bystander is who judges */
                it_within("a run that waited for its input", since_us, 50000);
        pw_unref(result);
        pw_unref(input);
}

static bool goes_on(const struct it_child *child)
{
        siginfo_t info = { .si_pid = 0 };

        assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        return !info.si_pid;
}

static void attack(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, have_them_wait, host);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(1), NULL);

        while (goes_on(&child))
                await_own(host->session, program);
        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
        pw_program_free(program);
        pw_slice_close(slice);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "waiting_runs", .rule = "who waits costs when it comes and when it goes, once",
                                             .args = IT_ARGS("--devices", "emulated:2", "--host-memory", "512MiB",
                                                             "--device-memory", "64MiB"), .run = attack,
                                             .users = true });
}
