/* Works of a tenant are done one after the other, those of others beside them, on a few threads. */
#include "base/memory.h"
#include "daemon/work/compiler.h"

#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define THREADS 4u /* as many as there may be */
#define LANES (THREADS + 2)

uint64_t pw_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

struct place {
        struct pw_daemon daemon;
        struct pw_compiler *compiler;
        struct pw_compile_lane lanes[LANES];
        pthread_mutex_t lock; /* of what follows */
        pthread_cond_t changed;
        uint32_t begun, leave; /* works that began, in all; that may end */
        uint32_t done;         /* the loop's */
};

struct job { struct pw_compile_work work; struct place *place; };

static void work(struct pw_compile_work *work_)
{
        struct job *job = (struct job *)work_;
        struct place *place = job->place;

        pthread_mutex_lock(&place->lock);
        place->begun++;
        pthread_cond_broadcast(&place->changed);
        while (!place->leave)
                pthread_cond_wait(&place->changed, &place->lock);
        place->leave--;
        pthread_mutex_unlock(&place->lock);
}

static void done(struct pw_compile_work *work_) { ((struct job *)work_)->place->done++; }

static int begin(void **state)
{
        struct place *place = calloc(1, sizeof *place);

        assert_non_null(place);
        place->daemon.loop.base = event_base_new();
        pthread_mutex_init(&place->lock, NULL);
        pthread_cond_init(&place->changed, NULL);
        assert_int_equal(pw_compiler_new(&place->daemon, &place->compiler, NULL), PW_OK);
        for (uint32_t i = 0; i < LANES; i++)
                pw_compile_lane_init(&place->lanes[i]);
        *state = place;
        return 0;
}

static int end(void **state)
{
        struct place *place = *state;

        pw_compiler_free(place->compiler);
        event_base_free(place->daemon.loop.base);
        pthread_cond_destroy(&place->changed);
        pthread_mutex_destroy(&place->lock);
        free(place);
        return 0;
}

static void ask(struct place *place, struct job *job, uint32_t lane)
{
        *job = (struct job){ .work = { .lane = &place->lanes[lane], .work = work, .done = done }, .place = place };
        pw_list_init(&job->work.link);
        pw_compiler_ask(place->compiler, &job->work);
}

/* False: they have not begun within `bound_us`. */
static bool have_begun(struct place *place, uint32_t count, uint64_t bound_us)
{
        struct timespec until;
        bool all;
        int late = 0;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)(bound_us / 1000000);
        until.tv_nsec += (long)(bound_us % 1000000) * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&place->lock);
        while (place->begun < count && !late)
                late = pthread_cond_timedwait(&place->changed, &place->lock, &until);
        all = place->begun >= count;
        pthread_mutex_unlock(&place->lock);
        return all;
}

static void let_go(struct place *place, uint32_t count)
{
        pthread_mutex_lock(&place->lock);
        place->leave += count;
        pthread_cond_broadcast(&place->changed);
        pthread_mutex_unlock(&place->lock);
}

static void await_done(struct place *place, uint32_t count)
{
        while (place->done < count)
                assert_int_equal(event_base_loop(place->daemon.loop.base, EVLOOP_ONCE), 0);
}

/* Does one work: then its thread rests, the only one. */
static void begin_to_rest(struct place *place)
{
        struct job job;

        let_go(place, 1);
        ask(place, &job, 0);
        await_done(place, 1);
}

/* Asked at once, each is at a thread at once, though only one was at rest; more than there may be threads wait. */
static void test_tenants_beside_each_other(void **state)
{
        struct place *place = *state;
        struct job jobs[LANES];
        bool begun, more;

        begin_to_rest(place);
        for (uint32_t i = 0; i < LANES; i++)
                ask(place, &jobs[i], i);
        begun = have_begun(place, 1 + THREADS, 10000000);
        more = have_begun(place, 1 + THREADS + 1, 20000);
        let_go(place, LANES); /* so that it ends, whatever was seen */
        await_done(place, 1 + LANES);
        assert_true(begun);
        assert_false(more);
}

/* However many threads rest. */
static void test_one_of_a_tenant(void **state)
{
        struct place *place = *state;
        struct job jobs[LANES], more_jobs[LANES];
        bool begun, more;

        let_go(place, LANES);
        for (uint32_t i = 0; i < LANES; i++)
                ask(place, &jobs[i], i);
        await_done(place, LANES); /* now there are threads */
        ask(place, &more_jobs[0], 0);
        begun = have_begun(place, LANES + 1, 10000000);
        for (uint32_t i = 1; i < LANES; i++)
                ask(place, &more_jobs[i], 0);
        more = have_begun(place, LANES + 2, 20000);
        let_go(place, LANES);
        await_done(place, 2 * LANES);
        assert_true(begun);
        assert_false(more);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_tenants_beside_each_other, begin, end),
                                            cmocka_unit_test_setup_teardown(test_one_of_a_tenant, begin, end) };

        return cmocka_run_group_tests_name("compiler", tests, NULL, NULL);
}
