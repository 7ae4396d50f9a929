/* Two threads of a session run, and wait for each result, while a third compiles programs with large parameters and the daemon is
 * stopped for some milliseconds at a time: doorbells meet a socket that is full, or that another thread sends a frame through. */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define RUNNERS 2u
#define RUNS 1500u /* of each; 10,000 by PW_DOORBELL_RUNS in the soak */
#define STOPPED_US 4000
#define DEADLINE_US (3 * IT_SECOND)
#define PARAM_BYTES 212000u /* with its frame, what the socket takes at once: it is full then, and nobody holds it */

struct threads {
        struct it_host *host;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_future *input;
        uint64_t runs;
        _Atomic uint32_t running, late;
};

static void *run_many(void *context)
{
        struct threads *threads = context;

        for (uint64_t i = 0; i < threads->runs && !atomic_load(&threads->late); i++) {
                struct pw_future *result;
                struct pw_view view;

                it_ok(pw_run(threads->program, PW_FUTURES(threads->input), &result, IT_ERR));
                if (pw_get(result, DEADLINE_US, &view, NULL) == PW_OK)
                        pw_view_done(&view);
                else
                        atomic_fetch_add(&threads->late, 1);
                pw_unref(result);
        }
        atomic_fetch_sub(&threads->running, 1);
        return NULL;
}

static void *compile_many(void *context)
{
        static uint8_t bytes[PARAM_BYTES];
        struct threads *threads = context;

        while (atomic_load(&threads->running)) {
                struct pw_program *program = pw_program_new(threads->session, "attack/large");
                struct pw_value *value = pw_input(program, threads->slice, PW_F64, PW_DIMS(1), PW_BROADCAST, 0);

                value = pw_call_with(program, threads->slice, "pw/none", PW_ARGS(value), PW_BROADCAST,
                                     &(struct pw_call_params){ .params = bytes, .params_bytes = sizeof bytes });
                pw_result(program, value);
                /* there is no such function: nothing is posted when it is freed */
                assert_int_not_equal(pw_compile(program, NULL), PW_OK);
                pw_program_free(program);
        }
        return NULL;
}

/* Not a wait for anything: how long the daemon is stopped, and runs in between, is what is tried. */
static void pause_us(int64_t us)
{
        const struct timespec span = { us / IT_SECOND, us % IT_SECOND * 1000 };

        nanosleep(&span, NULL);
}

/* The daemon sleeps in between, at times longer than a run takes. */
static void stop_again_and_again(struct threads *threads)
{
        uint64_t seed = 1;

        while (atomic_load(&threads->running)) {
                kill(threads->host->pid, SIGSTOP);
                pause_us(STOPPED_US);
                kill(threads->host->pid, SIGCONT);
                pause_us((int64_t)(it_random(&seed) % 2000));
        }
}

static void attack(struct it_host *host)
{
        struct threads threads = { .host = host, .session = it_connect(host), .runs = it_environment("PW_DOORBELL_RUNS", RUNS),
                                   .running = RUNNERS };
        pthread_t runners[RUNNERS], compiler;

        threads.slice = it_slice(threads.session, 1, 1);
        threads.program = it_one_node(threads.session, threads.slice, "pw/nop", PW_DIMS(1), NULL);
        threads.input = it_put_f64(threads.session, PW_DIMS(1), 1);
        for (uint32_t i = 0; i < RUNNERS; i++)
                assert_int_equal(pthread_create(&runners[i], NULL, run_many, &threads), 0);
        assert_int_equal(pthread_create(&compiler, NULL, compile_many, &threads), 0);
        stop_again_and_again(&threads);
        for (uint32_t i = 0; i < RUNNERS; i++)
                assert_int_equal(pthread_join(runners[i], NULL), 0);
        assert_int_equal(pthread_join(compiler, NULL), 0);
        assert_int_equal(threads.late, 0); /* runs that were not done within DEADLINE_US */
        pw_unref(threads.input);
        pw_program_free(threads.program);
        pw_slice_close(threads.slice);
        pw_close(threads.session);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "doorbell", .rule = "a wish to be rung is not lost", .run = attack,
                                             .alone = true,
                                             .unwatched = true });
}
