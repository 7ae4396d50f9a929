/* wait_10k: waiting for all of many futures that four processes make ready. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "plane/hint.h"
#include "tests/bench/daemon.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>

#define BYTES 1024u
#define MAKERS 4u
#define FUTURES_MAX 10000u
#define LONG_US (INT64_C(60) * 1000 * 1000)

/* What the processes share. A round: the makers note their ids, the first process says begin, the makers seal. */
struct shared {
        _Atomic uint32_t noted, begun, sealed, ended; /* each counts up for ever */
        uint32_t each;                                /* futures of one maker in one round */
        struct pw_id ids[FUTURES_MAX];
};

static void word_add(_Atomic uint32_t *word)
{
        atomic_fetch_add(word, 1);
        pw_futex_wake(word, INT_MAX);
}

/* Until it is at least `value`; false: the other side has ended, or a minute went by. */
static bool word_await(struct shared *shared, _Atomic uint32_t *word, uint32_t value)
{
        int64_t deadline_ns = pw_now_ns() + LONG_US * 1000;
        uint32_t now;

        while ((now = atomic_load(word)) < value && !atomic_load(&shared->ended)) {
                if (pw_now_ns() > deadline_ns)
                        return false;
                pw_futex_wait(word, now, pw_now_ns() + 100000000);
        }
        return now >= value;
}

/* --- a maker -------------------------------------------------------------------------------------------------------- */

static enum pw_status make_round(struct shared *shared, struct pw_session *session, uint32_t maker, uint32_t round)
{
        static struct pw_future *futures[FUTURES_MAX];
        static void *rooms[FUTURES_MAX];
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < shared->each && status == PW_OK; i++) {
                status = pw_create(session, BYTES, NULL, &futures[i], &rooms[i], NULL);
                if (status == PW_OK)
                        shared->ids[maker * shared->each + i] = pw_future_id(futures[i]);
        }
        if (status != PW_OK)
                return status;
        word_add(&shared->noted);
        if (!word_await(shared, &shared->begun, round))
                return PW_DEADLINE;
        for (uint32_t i = 0; i < shared->each && status == PW_OK; i++) {
                memset(rooms[i], (int)round, BYTES);
                status = pw_seal(futures[i], NULL);
        }
        word_add(&shared->sealed);
        for (uint32_t i = 0; i < shared->each; i++)
                pw_unref(futures[i]);
        return status;
}

static int make(struct shared *shared, const char *socket, uint32_t maker)
{
        struct pw_session *session;
        enum pw_status status = pw_connect(socket, &session, NULL);

        for (uint32_t round = 1; status == PW_OK; round++)
                status = make_round(shared, session, maker, round);
        atomic_fetch_add(&shared->ended, 1);
        return 0;
}

/* --- who waits ------------------------------------------------------------------------------------------------------ */

struct waits {
        struct shared *shared;
        struct pw_session *session;
        struct pw_future *futures[FUTURES_MAX];
        uint32_t count, round;
};

/* Milliseconds from the word to begin until all are there, as pw_wait() says; else until they are sealed. */
static enum pw_status measure_round(struct waits *waits, bool waiting, double *ret_ms, struct pw_error *ret_err)
{
        struct shared *shared = waits->shared;
        uint32_t opened = 0;
        enum pw_status status = PW_OK;

        waits->round++;
        if (!word_await(shared, &shared->noted, waits->round * MAKERS))
                return pw_error_set(ret_err, PW_DEADLINE, "a process that makes futures has ended");
        while (opened < waits->count && status == PW_OK) {
                status = pw_open(waits->session, shared->ids[opened], &waits->futures[opened], ret_err);
                opened += status == PW_OK;
        }
        double start = pw_bench_seconds();
        word_add(&shared->begun);
        if (waiting && status == PW_OK)
                status = pw_wait(waits->futures, waits->count, waits->count, LONG_US, NULL, ret_err);
        if (!waiting)
                word_await(shared, &shared->sealed, waits->round * MAKERS);
        *ret_ms = (pw_bench_seconds() - start) * 1e3;
        while (opened)
                pw_unref(waits->futures[--opened]);
        return status;
}

static enum pw_status measure(struct waits *waits, struct pw_bench_row *row, struct pw_error *ret_err)
{
        double ms;
        enum pw_status status = measure_round(waits, true, &ms, ret_err);

        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = measure_round(waits, true, &ms, ret_err);
                pw_bench_row_value(row, ms);
                if (status == PW_OK)
                        status = measure_round(waits, false, &ms, ret_err);
                pw_bench_row_floor(row, ms);
        }
        return status;
}

/* The makers, forked before there is a session: that one does not outlive a fork. */
static enum pw_status makers_start(struct shared *shared, const char *socket, pid_t pids[MAKERS], struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < MAKERS; i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        _exit(make(shared, socket, i));
                }
                if (pids[i] < 0)
                        return pw_error_errno(ret_err, errno, "fork");
        }
        return PW_OK;
}

static void makers_end(struct shared *shared, const pid_t pids[MAKERS])
{
        word_add(&shared->ended);
        pw_futex_wake(&shared->begun, INT_MAX);
        for (uint32_t i = 0; i < MAKERS; i++)
                if (pids[i] > 0)
                        waitpid(pids[i], NULL, 0);
}

enum pw_status pw_bench_wait_10k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        static struct waits waits;
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_daemon daemon;
        struct pw_bench_row *row = pw_bench_row_add(context, "wait_10k", "ms", PW_BENCH_RATIO_AT_MOST, 2);
        pid_t pids[MAKERS] = { 0 };
        struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (shared == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "mmap of %zu bytes", sizeof *shared);
        waits = (struct waits){ .shared = shared, .count = context->quick ? FUTURES_MAX / 10 : FUTURES_MAX };
        shared->each = waits.count / MAKERS;
        enum pw_status status = pw_bench_daemon_start(&params, &daemon, ret_err);
        if (status == PW_OK)
                status = makers_start(shared, daemon.socket, pids, ret_err);
        if (status == PW_OK)
                status = pw_connect(daemon.socket, &waits.session, ret_err);
        if (status == PW_OK)
                status = measure(&waits, row, ret_err);
        makers_end(shared, pids);
        pw_close(waits.session);
        pw_bench_daemon_stop(&daemon);
        munmap(shared, sizeof *shared);
        return status;
}
