/* reclaim: how soon what a killed client held is free again. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "plane/segment.h"
#include "tests/bench/child.h"
#include "tests/bench/daemon.h"
#include "tests/bench/memory.h"

#define BYTES 1024u

struct holder { const char *socket; uint32_t count; };

static bool hold(void *context)
{
        const struct holder *holder = context;
        struct pw_session *session;
        struct pw_future *future; /* held until the process ends */
        uint8_t data[BYTES] = { 1 };
        enum pw_status status = pw_connect(holder->socket, &session, NULL);

        for (uint32_t i = 0; i < holder->count && status == PW_OK; i++)
                status = pw_put(session, data, sizeof data, NULL, &future, NULL);
        return status == PW_OK;
}

/* Milliseconds from the kernel's report that the client is dead until nothing is granted any more. */
static enum pw_status reclaim_once(struct pw_bench_host *host, uint32_t count, double *ret_ms, struct pw_error *ret_err)
{
        struct holder holder = { host->daemon.socket, count };
        struct pw_bench_child child;
        uint64_t bytes = 0;
        double start = 0;
        enum pw_status status = pw_bench_child_start(&(struct pw_bench_work){ hold, NULL, &holder }, &child, ret_err);

        if (status == PW_OK)
                status = pw_bench_granted(host->session, &bytes, ret_err);
        if (status == PW_OK && bytes < (uint64_t)count * BYTES)
                status = pw_error_set(ret_err, PW_FAILED, "%llu bytes are granted to who holds %u objects",
                                      (unsigned long long)bytes, count);
        if (status == PW_OK)
                status = pw_bench_child_kill(&child, &start, ret_err);
        while (status == PW_OK && bytes)
                status = pw_bench_granted(host->session, &bytes, ret_err);
        *ret_ms = (pw_bench_seconds() - start) * 1e3;
        pw_bench_child_done(&child);
        return status;
}

/* The floor: the kernel alone takes the pages back. */
static enum pw_status free_pages(uint32_t count, double *ret_ms, struct pw_error *ret_err)
{
        uint64_t bytes = (uint64_t)count * BYTES;
        pw_auto_close int fd = -1;
        enum pw_status status = pw_memfd_create("bench", bytes, &fd, ret_err);

        if (status == PW_OK)
                status = pw_memfd_populate(fd, 0, bytes, ret_err);
        double start = pw_bench_seconds();
        if (status == PW_OK)
                status = pw_memfd_punch(fd, 0, bytes, ret_err);
        *ret_ms = (pw_bench_seconds() - start) * 1e3;
        return status;
}

enum pw_status pw_bench_reclaim(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_host host;
        struct pw_bench_row *row = pw_bench_row_add(context, "reclaim", "ms", PW_BENCH_AT_MOST, 5);
        uint32_t count = context->quick ? 1000 : 10000;
        double value;
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        for (uint32_t repeat = 0; repeat <= PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = reclaim_once(&host, count, &value, ret_err);
                if (repeat) /* the first one warms up */
                        pw_bench_row_value(row, value);
                if (status == PW_OK)
                        status = free_pages(count, &value, ret_err);
                if (repeat)
                        pw_bench_row_floor(row, value);
        }
        pw_bench_host_stop(&host);
        return status;
}
