/* Clients that die between counting themselves on their tenant's hint page and noting it, or while they leave: what they counted is
 * nobody's, and would have the daemon call the kernel for each decision in those buckets from then on. A living one of the tenant
 * that is going to such a bucket keeps its count; a waiter is woken. */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"
#include "plane/control.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define TIMES 8u
#define CLEARED_US (5 * IT_SECOND) /* until the counts are gone: milliseconds */
#define BUCKETS 8u                 /* of which counts are left, each time */

/* The last that a client did: its notes say that it was on its way, and it is counted. */
static void count_and_note(const struct pw_session *session, struct pw_lane *lane, uint32_t i)
{
        enum pw_note_state state = i % 2 ? PW_NOTE_GOING : PW_NOTE_LEAVING;

        if (i == 0) {
                atomic_store(&lane->notes[0], pw_note_make(state, PW_NOTE_EVERY, 0, 0));
                for (uint32_t j = 0; j < PW_HINT_BUCKETS; j += 3)
                        atomic_fetch_add(&session->hints->waiters[j], PW_HINT_WIDE);
        } else {
                atomic_store(&lane->notes[i], pw_note_make(state, i, 0, 0));
                atomic_fetch_add(&session->hints->waiters[i], 1);
        }
}

static int die_on_the_way(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future = it_put_f64(session, PW_DIMS(1), 1); /* so that there is a lane that the daemon knows */

        (void)pipe;
        pw_unref(future);
        for (uint32_t i = 0; i < BUCKETS; i++)
                count_and_note(session, &session->control->lanes[1], i);
        kill(getpid(), SIGKILL);
        return 1;
}

static uint32_t counted(const struct pw_session *session)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                count += atomic_load(&session->hints->waiters[i]) != 0;
        return count;
}

struct expected { const struct pw_session *session; uint32_t count; };

static bool is_counted(const struct pw_listing *status, void *context)
{
        const struct expected *expected = context;

        (void)status;
        return counted(expected->session) == expected->count;
}

/* Nobody tells when the daemon has walked the notes: with each answer it had a turn for that. */
static void until_counted(struct pw_session *session, uint32_t count)
{
        int64_t since_us = it_now_us();

        it_until(session, "status", is_counted, &(struct expected){ session, count });
        it_within("what the dead counted is cleared", since_us, CLEARED_US);
}

static void one_dies(struct it_host *host)
{
        struct it_child child = it_fork(die_on_the_way, host);

        assert_int_equal(it_reap_within(&child, IT_LONG), 128 + SIGKILL);
}

/* A session of the same tenant looks on: it sees the page. */
static int watch(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_lane *lane = &session->control->lanes[1];
        struct pw_future *future = it_put_f64(session, PW_DIMS(1), 1);

        (void)pipe;
        for (uint32_t i = 0; i < TIMES; i++) {
                one_dies(host);
                until_counted(session, 0);
        }
        /* One that lives is going to a bucket: it stays counted, what the dead left there goes. */
        atomic_store(&lane->notes[2], pw_note_make(PW_NOTE_GOING, 2, 0, 0));
        atomic_fetch_add(&session->hints->waiters[2], 1);
        one_dies(host);
        until_counted(session, 1);
        assert_int_equal(atomic_load(&session->hints->waiters[2]), 1);
        atomic_fetch_sub(&session->hints->waiters[2], 1);
        atomic_store(&lane->notes[2], 0);
        pw_unref(future);
        pw_close(session);
        return 0;
}

static void attack(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, watch, host);

        assert_int_equal(it_reap_within(&child, IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "stale_hints", .rule = "what the dead counted is cleared", .run = attack,
                                             .alone = true });
}
