/* Handles under threads: made by one, given back by others; DROPs that no ring has room for. */
#include "libclient/fake/fake_daemon.h"
#include "libclient/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define PUTS 20000u
#define THREADS 4u

static struct fake_daemon *start(const struct fake_params *params, struct pw_session **ret_session)
{
        struct fake_daemon *fake = fake_start(params);
        struct pw_session_params session = { .fd = fake_client_fd(fake) };
        assert_int_equal(pw_session_open(&session, ret_session, NULL), PW_OK);
        return fake;
}

static void test_slab_recycles(void **state)
{
        (void)state;
        struct pw_session *session;
        struct fake_daemon *fake = start(&(struct fake_params){ .room_bytes = 0 }, &session);
        struct pw_client_lane *lane;
        assert_int_equal(pw_lane_get(session, &lane, NULL), PW_OK);
        struct pw_future *all[2 * PW_SLAB_HANDLES];
        for (size_t i = 0; i < pw_array_count(all); i++) {
                all[i] = pw_future_alloc(lane);
                assert_non_null(all[i]);
        }
        assert_non_null(lane->slabs->next);
        assert_null(lane->slabs->next->next);
        for (size_t i = 0; i < pw_array_count(all); i++)
                pw_future_free(all[i], i % 2 ? lane : NULL); /* as its own thread, as another one */
        for (size_t i = 0; i < pw_array_count(all); i++)
                assert_non_null(pw_future_alloc(lane));
        assert_null(lane->slabs->next->next); /* nothing was lost on the way */
        pw_close(session);
        fake_stop(fake);
}

struct producer {
        struct pw_session *session;
        _Atomic(struct pw_future *) slots[64]; /* from here one thread takes what another one put */
        _Atomic uint32_t failures;
};

static void *churn(void *argument)
{
        struct producer *producer = argument;
        for (uint64_t i = 0; i < PUTS; i++) {
                struct pw_future *future;
                uint64_t value = i, *place = &value;
                if (pw_put(producer->session, place, sizeof value, NULL, &future, NULL) != PW_OK) {
                        producer->failures++;
                        continue;
                }
                struct pw_view view;
                if (pw_get(future, 0, &view, NULL) != PW_OK || *(const uint64_t *)view.data != i)
                        producer->failures++;
                pw_view_done(&view);
                pw_unref(atomic_exchange(&producer->slots[i % 64], future));
        }
        return NULL;
}

static void test_threads_pass_handles(void **state)
{
        (void)state;
        struct producer producer = { .failures = 0 };
        struct fake_daemon *fake = start(&(struct fake_params){ .room_bytes = 0 }, &producer.session);
        pthread_t threads[THREADS];
        for (uint32_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, churn, &producer), 0);
        for (uint32_t i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        for (uint32_t i = 0; i < 64; i++)
                pw_unref(producer.slots[i]);
        fake_settle(fake);
        assert_int_equal(producer.failures, 0);
        assert_int_equal(fake_counts(fake)->drops, PUTS * THREADS);
        assert_int_equal(fake_counts(fake)->dropped_unknown, 0);
        assert_int_equal(fake_counts(fake)->lane_ends, THREADS);
        pw_close(producer.session);
        fake_stop(fake);
}

/* More DROPs than a ring has cells, while nobody reads: they are parked, and all arrive once the daemon reads again. */
static void test_drops_are_parked(void **state)
{
        (void)state;
        struct pw_session *session;
        struct fake_daemon *fake = start(&(struct fake_params){ .unread_rings = true }, &session);
        uint32_t count = 3 * PW_RING_CELLS;
        struct pw_future **all = calloc(count, sizeof *all);
        for (uint32_t i = 0; i < count; i++)
                assert_int_equal(pw_put(session, &i, sizeof i, NULL, &all[i], NULL), PW_OK);
        for (uint32_t i = 0; i < count; i++)
                pw_unref(all[i]);
        fake_listen(fake);
        while (fake_counts(fake)->drops < count) /* the watcher thread brings the rest, ring by ring */
                fake_settle(fake);
        assert_int_equal(fake_counts(fake)->drops, count);
        assert_int_equal(fake_counts(fake)->dropped_unknown, 0);
        free(all);
        pw_close(session);
        fake_stop(fake);
}

static void *hold_lane(void *argument)
{
        struct pw_session **place = argument;
        struct pw_future *future;
        enum pw_status status = pw_put(*place, "x", 1, NULL, &future, NULL);
        if (status == PW_OK)
                pw_unref(future);
        return (void *)(uintptr_t)status;
}

/* A lane whose thread has ended goes to the next thread, so more threads than lanes may come one after the other. */
static void test_lanes_are_reused(void **state)
{
        (void)state;
        struct pw_session *session;
        struct fake_daemon *fake = start(&(struct fake_params){ .room_bytes = 0 }, &session);
        for (uint32_t i = 0; i < 2 * PW_LANES_MAX; i++) {
                pthread_t thread;
                void *status;
                assert_int_equal(pthread_create(&thread, NULL, hold_lane, &session), 0);
                pthread_join(thread, &status);
                assert_int_equal((uintptr_t)status, PW_OK);
        }
        assert_int_equal(session->control->lane_count, 2);
        pw_close(session);
        fake_stop(fake);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slab_recycles), cmocka_unit_test(test_threads_pass_handles),
                cmocka_unit_test(test_drops_are_parked), cmocka_unit_test(test_lanes_are_reused),
        };
        alarm(120); /* threads that wait for each other */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
