/* Runs on what other threads and sessions have only just begun to make: their records lie in lanes that the daemon reads in an
 * order of its own.
 */
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- one makes, another uses -------------------------------------------------------------------------------------------- */

struct handover { struct pw_program *program; _Atomic(struct pw_future *) next; _Atomic bool over; };

/* Uses results that another thread's runs make as soon as it has them: runs on them, drops them. */
static void *take_over(void *context)
{
        struct handover *handover = context;

        while (!atomic_load(&handover->over)) {
                struct pw_future *future = atomic_exchange(&handover->next, NULL), *result;

                if (!future)
                        continue;
                if (pw_run(handover->program, PW_FUTURES(future), &result, NULL) == PW_OK)
                        pw_unref(result);
                pw_unref(future);
        }
        return NULL;
}

/* The record of the run lies in one lane, what is done with its result in another. */
static void results_of_another_thread(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct handover handover = { .program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(1), NULL) };
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(1), 1), *result;
        pthread_t taker;

        assert_int_equal(pthread_create(&taker, NULL, take_over, &handover), 0);
        for (int i = 0; i < 100000; i++) {
                it_ok(pw_run(handover.program, PW_FUTURES(input), &result, IT_ERR));
                pw_unref(atomic_exchange(&handover.next, result));
        }
        it_ok(pw_run(handover.program, PW_FUTURES(input), &result, IT_ERR));
        assert_true(it_get_scalar(result) == 1); /* the session lives */
        atomic_store(&handover.over, true);
        assert_int_equal(pthread_join(taker, NULL), 0);
        pw_unref(atomic_load(&handover.next));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(handover.program);
        pw_slice_close(slice);
}

/* --- a chain through all lanes ------------------------------------------------------------------------------------------ */

#define MAKERS 3u
#define WARM MAKERS /* links after which all have what they need */
#define LINKS 33u /* no more of each thread than its first grant has slots for: nobody answers for another */

/* Each link is a run on the result of the one before, by the next of three threads; the third has a session of its own. */
struct chain {
        struct pw_session *sessions[MAKERS];
        struct pw_program *programs[MAKERS];
        pthread_mutex_t lock;
        pthread_cond_t moved;
        uint32_t done, until;
        struct pw_future *last;
};
struct maker { struct chain *chain; uint32_t number; pthread_t thread; };

static void add_link(struct chain *chain, uint32_t maker)
{
        struct pw_future *input, *result;

        it_ok(pw_open(chain->sessions[maker], pw_future_id(chain->last), &input, IT_ERR));
        pw_unref(chain->last);
        it_ok(pw_run(chain->programs[maker], PW_FUTURES(input), &result, IT_ERR));
        pw_unref(input);
        chain->last = result;
}

static void *make_links(void *argument)
{
        const struct maker *maker = argument;
        struct chain *chain = maker->chain;

        pthread_mutex_lock(&chain->lock);
        while (chain->done < LINKS) {
                if (chain->done < chain->until && chain->done % MAKERS == maker->number) {
                        add_link(chain, maker->number);
                        chain->done++;
                        pthread_cond_broadcast(&chain->moved);
                } else {
                        pthread_cond_wait(&chain->moved, &chain->lock);
                }
        }
        pthread_mutex_unlock(&chain->lock);
        return NULL;
}

/* False: after 25 s they are still not there. */
static bool make_until(struct chain *chain, uint32_t links)
{
        struct timespec until = { .tv_sec = time(NULL) + IT_LONG / IT_SECOND };
        bool late = false;

        pthread_mutex_lock(&chain->lock);
        chain->until = links;
        pthread_cond_broadcast(&chain->moved);
        while (chain->done < links && !late)
                late = pthread_cond_timedwait(&chain->moved, &chain->lock, &until) != 0;
        pthread_mutex_unlock(&chain->lock);
        return !late;
}

/* All of it is published before the daemon reads the first record: whichever lane it begins with, the rest is in others. */
static void a_chain_through_all_lanes(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct chain chain = { .sessions = { host->session, host->session, other }, .lock = PTHREAD_MUTEX_INITIALIZER,
                               .moved = PTHREAD_COND_INITIALIZER, .last = it_put_scalar(host->session, 0) };
        struct pw_slice *slices[] = { it_slice(host->session, 1, 1), it_slice(other, 1, 1) };
        struct maker makers[MAKERS];
        int status;

        for (uint32_t i = 0; i < MAKERS; i++) {
                struct pw_slice *slice = slices[chain.sessions[i] == other];

                chain.programs[i] =
                        it_one_node(chain.sessions[i], slice, "parts/grow", PW_SCALAR,
                                    &(struct pw_call_params){ .params = &(double){ 1 }, .params_bytes = sizeof(double) });
                makers[i] = (struct maker){ .chain = &chain, .number = i };
                assert_int_equal(pthread_create(&makers[i].thread, NULL, make_links, &makers[i]), 0);
        }
        assert_true(make_until(&chain, WARM));
        assert_true(it_get_scalar(chain.last) == WARM);
        assert_int_equal(kill(host->pid, SIGSTOP), 0);
        assert_int_equal(waitpid(host->pid, &status, WUNTRACED), host->pid);
        bool made = make_until(&chain, LINKS);
        assert_int_equal(kill(host->pid, SIGCONT), 0);
        assert_true(made);
        assert_true(it_get_scalar(chain.last) == LINKS);
        for (uint32_t i = 0; i < MAKERS; i++) {
                assert_int_equal(pthread_join(makers[i].thread, NULL), 0);
                pw_program_free(chain.programs[i]);
        }
        pw_unref(chain.last);
        pw_slice_close(slices[0]);
        pw_slice_close(slices[1]);
        pw_close(other);
}

/* --- a chain through two sessions, while the daemon reads ---------------------------------------------------------------- */

#define OTHERS 4u
#define LONG_LINKS 300u

static int spin(void *context, int pipe)
{
        (void)context;
        for (int64_t end_us = it_now_us() + IT_LONG; it_now_us() < end_us;)
                ;
        return pipe < 0;
}

/* On a busy machine, so that the daemon is interrupted anywhere. Each link is a run, in the other session, on the one before, and
 * some are published while the daemon looks from one lane to the next: what it sees there may be younger than what it saw
 * before. */
static void a_chain_while_it_is_read(void **state)
{
        struct it_host *host = *state;
        struct pw_session *sessions[2] = { host->session, it_connect(host) };
        struct pw_slice *slices[2] = { it_slice(sessions[0], 1, 1), it_slice(sessions[1], 1, 1) };
        struct pw_future *links[LONG_LINKS];
        struct pw_program *programs[2];
        struct it_child others[OTHERS];
        uint64_t turns = it_environment("PW_CHAINS", 10);

        for (uint32_t i = 0; i < OTHERS; i++)
                others[i] = it_fork(spin, NULL);
        for (uint32_t i = 0; i < 2; i++)
                programs[i] = it_one_node(sessions[i], slices[i], "parts/grow", PW_SCALAR,
                                          &(struct pw_call_params){ .params = &(double){ 1 }, .params_bytes = sizeof(double) });
        for (uint64_t turn = 0; turn < turns; turn++) {
                links[0] = it_put_scalar(sessions[0], 0);
                for (uint32_t i = 1; i < LONG_LINKS; i++) {
                        struct pw_future *before;
                        it_ok(pw_open(sessions[i % 2], pw_future_id(links[i - 1]), &before, IT_ERR));
                        it_ok(pw_run(programs[i % 2], PW_FUTURES(before), &links[i], IT_ERR));
                        pw_unref(before);
                }
                assert_true(it_get_scalar(links[LONG_LINKS - 1]) == LONG_LINKS - 1);
                for (uint32_t i = 0; i < LONG_LINKS; i++)
                        pw_unref(links[i]);
        }
        for (uint32_t i = 0; i < 2; i++) {
                pw_program_free(programs[i]);
                pw_slice_close(slices[i]);
        }
        pw_close(sessions[1]);
        for (uint32_t i = 0; i < OTHERS; i++)
                it_reap(&others[i], SIGKILL);
}

/* --- what is asked before a record is read -------------------------------------------------------------------------------- */

static void fill_cancel(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__ObjectId object;
        static Pathways__Wire__Cancel body;
        const struct pw_id *id = context;

        (void)i;
        pathways__wire__object_id__init(&object);
        pathways__wire__cancel__init(&body);
        object.place = id->place;
        object.epoch = id->epoch;
        object.generation = id->generation;
        body.object = &object;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_CANCEL;
        request->cancel = &body;
}

#define ROUNDS 4

static bool has_one(const struct pw_listing *objects, void *context)
{
        (void)context;
        return it_rows(objects) == 1;
}

/* The daemon is not quick: another session asks it to cancel a run whose record it has not read yet. */
static void cancelled_before_it_is_read(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/sleep");
        struct pw_future *before[ROUNDS], *pending, *result;
        struct pw_view view;
        char text[200];
        void *data;
        int fd = raw_connect(host);

        pw_result(program, it_sleep(program, slice, pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0), PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        assert_int_equal(raw_hello(fd, text), PW_OK);
        it_ok(pw_create(host->session, sizeof(double), &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_SCALAR }, &pending,
                        &data, IT_ERR));
        for (int i = 0; i < ROUNDS; i++) /* from then on the thread has so many places for results */
                before[i] = it_run_1(program, pending);
        for (int i = 0; i < ROUNDS; i++) {
                it_ok(pw_cancel(before[i], IT_ERR));
                pw_unref(before[i]);
        }
        it_until(host->session, "objects", has_one, NULL);
        for (int i = 0; i < ROUNDS; i++) {
                assert_int_equal(kill(host->pid, SIGSTOP), 0);
                result = it_run_1(program, pending);
                struct pw_id id = pw_future_id(result);
                struct raw_flood cancel = { .fd = fd, .count = 1, .fill = fill_cancel, .context = &id, .limit_us = IT_LONG,
                                            .unread = true };
                (void)raw_flood(&cancel);
                assert_int_equal(kill(host->pid, SIGCONT), 0);
                it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_CANCELLED, "cancelled by");
                cancel.unread = false;
                cancel.before = 1;
                assert_int_equal(raw_flood(&cancel), 2); /* the second comes too late, and is none the worse */
                pw_unref(result);
        }
        it_ok(pw_abort(pending, IT_ERR));
        pw_unref(pending);
        pw_program_free(program);
        pw_slice_close(slice);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(results_of_another_thread),
                IT_TEST(a_chain_through_all_lanes),
                IT_TEST(a_chain_while_it_is_read), IT_TEST(cancelled_before_it_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
