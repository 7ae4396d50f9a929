/* Runs with thousands of results each over all devices, many of them waiting for one value: when it comes, finding them room,
 * deciding what they make and letting it go are the work of one tenant, and others do not wait for it. */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "base/memory.h"
#include "libclient/program/program.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 2
#define RESULTS 2000u
#ifdef __SANITIZE_ADDRESS__ /* several times as much work each */
#define RUNS 25
#define SHARE 1u
#else
#define RUNS 60
/* a fence is answered by the second turn at the latest: a twentieth of it all; where runs count as one each, a quarter */
#define SHARE 8u
#endif

struct plan { const struct it_host *host; uint32_t runs; /* of a thread */ };
struct runner {
        struct pw_session *session;
        struct pw_program *program;
        struct pw_future **results;
        uint32_t runs;
        pthread_t thread;
};

static struct pw_program *widen(struct pw_session *session)
{
        struct pw_slice *slice = it_slice(session, 4, 1);
        struct pw_program *program = pw_program_new(session, "wide");
        struct pw_sharding split = PW_SPLIT(0);
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(4), split, 0);

        for (uint32_t i = 0; i < RESULTS; i++)
                pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(x, x), split));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* As many as there is room for in its quota. */
static void *submit(void *context)
{
        struct runner *runner = context;
        struct pw_future *input;
        uint32_t runs = 0;
        void *data;

        it_ok(pw_create(runner->session, 32, &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(4) }, &input,
                        &data, IT_ERR));
        while (runs < runner->runs &&
               pw_run_with(runner->program, &input, 1, NULL, runner->results + (size_t)runs * RESULTS, NULL) == PW_OK)
                runs++;
        runner->runs = runs;
        it_ok(pw_seal(input, IT_ERR));
        pw_unref(input);
        return NULL;
}

/* Lets the results of half of them go, and is killed with the others. */
static int run_wide(void *context, int pipe)
{
        const struct plan *plan = context;
        struct runner runners[THREADS];
        uint64_t runs = 0;

        for (int i = 0; i < THREADS; i++) {
                runners[i] = (struct runner){ .session = it_connect(plan->host), .runs = plan->runs };
                runners[i].program = widen(runners[i].session);
                runners[i].results = calloc((size_t)plan->runs * RESULTS, sizeof *runners[i].results);
                assert_int_equal(pthread_create(&runners[i].thread, NULL, submit, &runners[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
                pthread_join(runners[i].thread, NULL);
                runs += runners[i].runs;
                it_ok(pw_wait(runners[i].results, RESULTS, RESULTS, IT_LONG, NULL, IT_ERR));
                for (size_t j = 0; j < (size_t)runners[i].runs * RESULTS / 2; j++)
                        pw_unref(runners[i].results[j]);
        }
        if (write(pipe, &runs, sizeof runs) != sizeof runs)
                return 1;
        pause();
        return 0;
}

/* One fence after the other, until the child speaks: each is answered by the next turn. Returns the most processor time that the
 * loop had for one. */
static uint64_t fence_until(struct it_host *host, const struct it_child *child)
{
        struct pollfd speaks = { .fd = child->pipe, .events = POLLIN };
        int64_t limit_us = it_now_us() + IT_LONG;
        uint64_t most_us = 0;

        while (poll(&speaks, 1, 0) == 0 && it_now_us() < limit_us) {
                uint64_t ran_us = attack_loop_us(host->pid);

                it_ok(pw_session_fence(host->session, IT_ERR));
                most_us = pw_max_u64(most_us, attack_loop_us(host->pid) - ran_us);
        }
        return most_us;
}

static void attack(struct it_host *host)
{
        struct plan plan = { host, (uint32_t)it_environment("PW_WIDE_RUNS", attack_is_shared() ? 10 : RUNS) };
        struct it_child child = attack_fork(ATTACK_USER, run_wide, &plan);
        uint64_t began_us = attack_loop_us(host->pid), runs, most_us = fence_until(host, &child),
                all_us = attack_loop_us(host->pid) - began_us;

        it_read(&child, &runs, sizeof runs);
        print_message("wide_runs: %u runs of %u results each; for a fence the loop ran %u ms of %u at most\n",
                      (unsigned)runs, RESULTS, (unsigned)(most_us / 1000), (unsigned)(all_us / 1000));
        assert_true(attack_is_shared() || runs >= plan.runs);
        it_reap(&child, SIGKILL);
        assert_true(attack_is_shared() || most_us <= all_us / SHARE);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "wide_runs",
                                             .rule = "runs are placed, told of and let go in parts, by what they take",
                                             .args = IT_ARGS("--devices", "emulated:4", "--host-memory", "1GiB", "--device-memory",
                                                             "32MiB"),
                                             .run = attack, .users = true });
}
