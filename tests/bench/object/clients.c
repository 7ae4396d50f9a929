/* clients: many at a time, each putting and getting; and what the daemon spends on one that does nothing. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/child.h"
#include "tests/bench/daemon.h"
#include "tests/bench/memory.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define BYTES 1024u
#define CLIENTS 1000u

/* What all processes share. The order: how many of them work, and a serial number behind which they do not look back. */
#define ORDER(serial, workers) ((uint32_t)(serial) << 16 | (workers))
struct shared {
        _Alignas(64) _Atomic uint32_t order;
        _Atomic uint32_t failed;
        _Alignas(64) _Atomic uint64_t done[CLIENTS]; /* puts and gets of each */
};

struct crowd {
        const struct pw_bench_host *host;
        struct shared *shared;
        struct pw_bench_child *children;
        uint32_t count, started, serial;
};
struct member { const struct crowd *crowd; uint32_t number; struct pw_session *session; };

static enum pw_status put_and_get(struct pw_session *session)
{
        static const uint8_t data[BYTES] = { 1 };
        struct pw_future *future;
        struct pw_view view;
        enum pw_status status = pw_put(session, data, BYTES, NULL, &future, NULL);

        if (status != PW_OK)
                return status;
        status = pw_get(future, PW_FOREVER, &view, NULL);
        if (status == PW_OK)
                pw_view_done(&view);
        pw_unref(future);
        return status;
}

/* --- in the clients ------------------------------------------------------------------------------------------------ */

static bool join(void *context)
{
        struct member *member = context;

        return pw_connect(member->crowd->host->daemon.socket, &member->session, NULL) == PW_OK &&
               put_and_get(member->session) == PW_OK;
}

static void serve(void *context)
{
        const struct member *member = context;
        struct shared *shared = member->crowd->shared;
        uint64_t done = 0;

        for (;;) {
                uint32_t order = atomic_load(&shared->order);

                while (member->number < (order & 0xffff) && atomic_load_explicit(&shared->order, memory_order_relaxed) == order) {
                        if (put_and_get(member->session) != PW_OK) {
                                atomic_store(&shared->failed, 1);
                                return;
                        }
                        atomic_store_explicit(&shared->done[member->number], ++done, memory_order_relaxed);
                }
                syscall(SYS_futex, &shared->order, FUTEX_WAIT, order, NULL, NULL, 0);
        }
}

/* --- in the bench --------------------------------------------------------------------------------------------------- */

static enum pw_status crowd_start(struct crowd *crowd, uint32_t count, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (; crowd->started < count && status == PW_OK; crowd->started++) {
                struct member member = { crowd, crowd->started, NULL };
                status = pw_bench_child_start(&(struct pw_bench_work){ join, serve, &member }, &crowd->children[crowd->started],
                                              ret_err);
        }
        return status;
}

static uint64_t work_done(const struct crowd *crowd)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < crowd->started; i++)
                sum += atomic_load(&crowd->shared->done[i]);
        return sum;
}

static void give_order(struct crowd *crowd, uint32_t workers)
{
        atomic_store(&crowd->shared->order, ORDER(++crowd->serial, workers));
        syscall(SYS_futex, &crowd->shared->order, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Puts and gets per second of so many clients together. */
static enum pw_status rate(struct crowd *crowd, uint32_t workers, double seconds, double *ret_per_s, struct pw_error *ret_err)
{
        give_order(crowd, workers);
        pw_bench_pass(seconds / 4); /* until all of them are awake */
        double start = pw_bench_seconds();
        uint64_t before = work_done(crowd);
        pw_bench_pass(seconds);
        *ret_per_s = (double)(work_done(crowd) - before) / (pw_bench_seconds() - start);
        give_order(crowd, 0);
        return atomic_load(&crowd->shared->failed) ? pw_error_set(ret_err, PW_FAILED, "a client of the bench failed") : PW_OK;
}

/* What the daemon has in memory: its own, and what it shares with clients less their rooms. */
static enum pw_status daemon_bytes(const struct crowd *crowd, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        uint64_t rooms;
        enum pw_status status = pw_bench_granted(crowd->host->session, &rooms, ret_err);

        if (status == PW_OK)
                *ret_bytes = pw_bench_shared_bytes(crowd->host->daemon.pid) - rooms +
                        pw_bench_private_bytes(crowd->host->daemon.pid);
        return status;
}

static enum pw_status measure(struct crowd *crowd, struct pw_bench_row *rates, struct pw_bench_row *idle, struct pw_error *ret_err)
{
        double seconds = crowd->count == CLIENTS ? 2 : 0.2, value;
        uint64_t before = 0, after = 0;
        enum pw_status status = crowd_start(crowd, 1, ret_err);

        if (status == PW_OK)
                status = daemon_bytes(crowd, &before, ret_err);
        if (status == PW_OK)
                status = crowd_start(crowd, crowd->count, ret_err);
        if (status == PW_OK)
                status = daemon_bytes(crowd, &after, ret_err);
        pw_bench_row_value(idle, (double)(after - before) / 1024 / (crowd->count - 1));
        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = rate(crowd, crowd->count, seconds, &value, ret_err);
                if (repeat) /* the first one warms up */
                        pw_bench_row_value(rates, value);
                if (status == PW_OK)
                        status = rate(crowd, 1, seconds, &value, ret_err);
                if (repeat)
                        pw_bench_row_floor(rates, value);
        }
        return status;
}

static enum pw_status crowd_init(struct crowd *crowd, const struct pw_bench_host *host, uint32_t count, struct pw_error *ret_err)
{
        void *memory = mmap(NULL, sizeof *crowd->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        *crowd = (struct crowd){ .host = host, .count = count, .children = calloc(count, sizeof *crowd->children) };
        if (memory == MAP_FAILED || !crowd->children)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u clients", count);
        crowd->shared = memory;
        return PW_OK;
}

static void crowd_done(struct crowd *crowd)
{
        for (uint32_t i = 0; i < crowd->started; i++)
                pw_bench_child_done(&crowd->children[i]);
        if (crowd->shared)
                munmap(crowd->shared, sizeof *crowd->shared);
        free(crowd->children);
}

enum pw_status pw_bench_clients(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1, .host_memory = "3GiB" };
        struct pw_bench_row *rates = pw_bench_row_add(context, "clients", "1/s", PW_BENCH_RATIO_AT_LEAST, 1);
        struct pw_bench_row *idle = pw_bench_row_add(context, "client_idle", "KiB", PW_BENCH_AT_MOST, 64);
        struct pw_bench_host host;
        struct crowd crowd = { 0 };
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        if (status == PW_OK)
                status = crowd_init(&crowd, &host, context->quick ? CLIENTS / 20 : CLIENTS, ret_err);
        if (status == PW_OK)
                status = measure(&crowd, rates, idle, ret_err);
        crowd_done(&crowd);
        pw_bench_host_stop(&host);
        return status;
}
