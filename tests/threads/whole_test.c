/* Threads of one process put, get, wait, refer to each other's values by id, run programs and close sessions, while the daemon they
 * are attached to turns in another thread. Nothing but ids goes from thread to thread, and these without order: what orders the
 * bytes of values are the entries, the rings and the library, as between processes. */
#include "pathways.h"
#include "tests/threads/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORKERS 4u
#define SESSIONS 2u
#define ROUNDS 2000u
#define KEPT 6u
#define WAIT_US (20 * INT64_C(1000000))
#define WORDS_MAX 2500u

struct whole;
struct worker {
        struct whole *whole;
        uint32_t number;
        uint64_t seed;
        struct pw_session *session;
        struct pw_program *program;
        struct pw_future *kept[KEPT];
        _Atomic uint64_t offer[2]; /* the id of what it made last; may be read torn */
        uint32_t opened, gone;
        pthread_t thread;
};

struct whole {
        struct inside inside;
        struct pw_session *sessions[SESSIONS];
        struct pw_slice *slices[SESSIONS];
        struct pw_program *programs[SESSIONS];
        struct worker workers[WORKERS];
};

static uint32_t chance(struct worker *worker, uint32_t below)
{
        worker->seed = worker->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(worker->seed >> 33) % below;
}

/* cmocka's own reports belong to its thread: elsewhere a failure ends the program. */
static void must(enum pw_status status, const struct pw_error *err, const char *what)
{
        if (status == PW_OK)
                return;
        fprintf(stderr, "%s: %s\n", what, err->text);
        abort();
}

/* --- values: words that are all the same ------------------------------------------------------------------------------------- */

static uint64_t words_of(struct worker *worker)
{
        static const uint64_t words[] = { 1, 3, 8, 125, 512, WORDS_MAX };

        return words[chance(worker, sizeof words / sizeof *words)];
}

static void fill(uint64_t *words, uint64_t count, uint64_t value)
{
        for (uint64_t i = 0; i < count; i++)
                words[i] = value;
}

static void look(const struct pw_view *view)
{
        const uint64_t *words = view->data;

        for (uint64_t i = 1; i < view->bytes / sizeof *words; i++)
                if (words[i] != words[0])
                        must(PW_INVALID, &(struct pw_error){ .text = "it has words of another" }, "look at a value");
}

static void offer(struct worker *worker, const struct pw_future *future)
{
        struct pw_id id = pw_future_id(future);

        atomic_store_explicit(&worker->offer[0], id.place, memory_order_relaxed);
        atomic_store_explicit(&worker->offer[1], (uint64_t)id.epoch << 32 | id.generation, memory_order_relaxed);
}

static void keep(struct worker *worker, struct pw_future *future)
{
        struct pw_future **place = &worker->kept[chance(worker, KEPT)];

        pw_unref(*place);
        *place = future;
}

static struct pw_future *put(struct worker *worker)
{
        uint64_t words[WORDS_MAX], count = words_of(worker);
        struct pw_future *future;
        struct pw_error err;

        fill(words, count, worker->seed);
        must(pw_put(worker->session, words, count * sizeof *words, NULL, &future, &err), &err, "put");
        return future;
}

/* --- what a thread does ------------------------------------------------------------------------------------------------------- */

static void put_one(struct worker *worker)
{
        struct pw_future *future = put(worker);

        offer(worker, future);
        keep(worker, future);
}

/* Others open it before it is sealed, and wait. */
static void create_one(struct worker *worker)
{
        uint64_t count = words_of(worker);
        struct pw_future *future;
        struct pw_error err;
        void *data;

        must(pw_create(worker->session, count * sizeof(uint64_t), NULL, &future, &data, &err), &err, "create");
        offer(worker, future);
        pw_unref(put(worker));
        fill(data, count, worker->seed);
        if (chance(worker, 8))
                must(pw_seal(future, &err), &err, "seal");
        else
                must(pw_abort(future, &err), &err, "abort");
        keep(worker, future);
}

static void open_one(struct worker *worker)
{
        struct worker *other = &worker->whole->workers[chance(worker, WORKERS)];
        uint64_t rest = atomic_load_explicit(&other->offer[1], memory_order_relaxed);
        struct pw_id id = { .place = atomic_load_explicit(&other->offer[0], memory_order_relaxed), .epoch = (uint32_t)(rest >> 32),
                            .generation = (uint32_t)rest };
        struct pw_future *future;
        struct pw_view view;
        struct pw_error err;

        if (pw_open(worker->session, id, &future, &err) != PW_OK) {
                worker->gone++;
                return;
        }
        worker->opened++;
        if (pw_get(future, WAIT_US, &view, &err) == PW_OK) {
                look(&view);
                pw_view_done(&view);
        } else if (pw_poll(future) != PW_CANCELLED && pw_poll(future) != PW_PRODUCER_LOST) {
                must(err.status, &err, "get of what was opened");
        }
        if (chance(worker, 2))
                keep(worker, future);
        else
                pw_unref(future);
}

static void wait_some(struct worker *worker)
{
        struct pw_future *futures[KEPT];
        struct pw_error err;
        size_t count = 0, ready;

        for (uint32_t i = 0; i < KEPT; i++)
                if (worker->kept[i])
                        futures[count++] = pw_ref(worker->kept[i]);
        if (count)
                must(pw_wait(futures, count, 1 + chance(worker, (uint32_t)count), WAIT_US, &ready, &err), &err, "wait");
        for (size_t i = 0; i < count; i++)
                pw_unref(futures[i]);
}

/* x + x, on a device. */
static void run_one(struct worker *worker)
{
        double words[16] = { 0 };
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(16) };
        struct pw_future *input, *result;
        struct pw_view view;
        struct pw_error err;

        for (uint32_t i = 0; i < 16; i++)
                words[i] = worker->number;
        must(pw_put(worker->session, words, sizeof words, &params, &input, &err), &err, "put of an input");
        must(pw_run(worker->program, PW_FUTURES(input), &result, &err), &err, "run");
        pw_unref(input);
        offer(worker, result);
        if (chance(worker, 2)) {
                must(pw_get(result, WAIT_US, &view, &err), &err, "get of a result");
                look(&view);
                pw_view_done(&view);
        }
        keep(worker, result);
}

/* A session of its own, closed while something of it is held. */
static void come_and_go(struct worker *worker)
{
        struct pw_session *shared = worker->session;
        struct pw_future *left;
        struct pw_error err;

        must(pw_connect(worker->whole->inside.socket, &worker->session, &err), &err, "connect");
        left = put(worker);
        offer(worker, left);
        pw_unref(put(worker));
        pw_close(worker->session);
        pw_unref(left);
        worker->session = shared;
}

static void *work(void *context)
{
        struct worker *worker = context;

        for (uint32_t round = 0; round < ROUNDS; round++) {
                uint32_t dice = chance(worker, 32);

                if (dice < 10)
                        put_one(worker);
                else if (dice < 14)
                        create_one(worker);
                else if (dice < 24)
                        open_one(worker);
                else if (dice < 28)
                        wait_some(worker);
                else if (dice < 31)
                        run_one(worker);
                else
                        come_and_go(worker);
        }
        for (uint32_t i = 0; i < KEPT; i++)
                pw_unref(worker->kept[i]);
        return NULL;
}

/* --- the test ----------------------------------------------------------------------------------------------------------------- */

static void open_session(struct whole *whole, uint32_t number)
{
        struct pw_sharding everywhere = PW_BROADCAST;
        struct pw_error err;

        must(pw_connect(whole->inside.socket, &whole->sessions[number], &err), &err, "connect");
        must(pw_slice_open(whole->sessions[number], &(struct pw_slice_params){ .device_count = 1 + number }, &whole->slices[number],
                           &err),
             &err, "slice");
        whole->programs[number] = pw_program_new(whole->sessions[number], "twice");
        struct pw_value *input = pw_input(whole->programs[number], whole->slices[number], PW_F64, PW_DIMS(16), everywhere, 0);
        pw_result(whole->programs[number],
                  pw_call(whole->programs[number], whole->slices[number], "pw/add", PW_ARGS(input, input), everywhere));
        must(pw_compile(whole->programs[number], &err), &err, "compile");
}

static void test_whole(void **state)
{
        static struct whole whole;
        uint32_t opened = 0;

        (void)state;
        inside_start(&whole.inside, NULL);
        for (uint32_t i = 0; i < SESSIONS; i++)
                open_session(&whole, i);
        for (uint32_t i = 0; i < WORKERS; i++) {
                whole.workers[i].whole = &whole;
                whole.workers[i].number = i;
                whole.workers[i].seed = i + 1;
                whole.workers[i].session = whole.sessions[i % SESSIONS];
                whole.workers[i].program = whole.programs[i % SESSIONS];
        }
        for (uint32_t i = 0; i < WORKERS; i++)
                assert_int_equal(pthread_create(&whole.workers[i].thread, NULL, work, &whole.workers[i]), 0);
        for (uint32_t i = 0; i < WORKERS; i++) {
                assert_int_equal(pthread_join(whole.workers[i].thread, NULL), 0);
                opened += whole.workers[i].opened;
        }
        for (uint32_t i = 0; i < SESSIONS; i++) {
                pw_program_free(whole.programs[i]);
                pw_slice_close(whole.slices[i]);
                pw_close(whole.sessions[i]);
        }
        inside_stop(&whole.inside);
        print_message("%u values opened by another thread\n", opened);
        assert_true(opened > ROUNDS / 10);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole) };

        /* its own handler of crashes ends the program without a word where another thread crashed */
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        return cmocka_run_group_tests_name("whole", tests, NULL, NULL);
}
