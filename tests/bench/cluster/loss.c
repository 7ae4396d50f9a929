/* giving_up: how soon those who wait for a host's objects are told that it is lost. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/cluster/hosts.h"

#include <signal.h>

#define LEASE_S 1.0
#define LEASE "1s"
#define WAIT_US 20000000

/* A client of host 1 waits for an object of host 0, which is not there yet; then host 0 is sent the signal. */
static enum pw_status lose(const struct pw_bench_cluster *cluster, struct pw_session *const sessions[2], int signal,
                           double *ret_seconds, struct pw_error *ret_err)
{
        struct pw_future *made = NULL, *opened = NULL;
        void *room;
        double start;
        enum pw_status status = pw_create(sessions[0], 8, NULL, &made, &room, ret_err);

        if (status == PW_OK)
                status = pw_open(sessions[1], pw_future_id(made), &opened, ret_err);
        if (status != PW_OK)
                return status;
        start = pw_bench_seconds();
        kill(cluster->hosts[0].pid, signal);
        status = pw_wait(&opened, 1, 1, WAIT_US, NULL, ret_err);
        *ret_seconds = pw_bench_seconds() - start;
        if (status == PW_OK && pw_poll(opened) != PW_HOST_LOST)
                status = pw_error_set(ret_err, PW_FAILED, "who waited was told: %s", pw_status_text(pw_poll(opened)));
        pw_unref(opened);
        kill(cluster->hosts[0].pid, SIGKILL); /* also one that is stopped */
        pw_unref(made);
        return status;
}

static enum pw_status measure(int signal, struct pw_bench_row *row, struct pw_error *ret_err)
{
        struct pw_bench_cluster_params params = { .hosts = 2, .lease = LEASE };
        struct pw_bench_cluster cluster;
        struct pw_session *sessions[2] = { NULL, NULL };
        double seconds = 0;
        enum pw_status status = pw_bench_cluster_start(&params, &cluster, ret_err);

        for (uint32_t i = 0; i < 2 && status == PW_OK; i++)
                status = pw_bench_cluster_connect(&cluster, i, &sessions[i], ret_err);
        if (status == PW_OK)
                status = lose(&cluster, sessions, signal, &seconds, ret_err);
        if (status == PW_OK)
                pw_bench_row_value(row, seconds);
        pw_close(sessions[0]);
        pw_close(sessions[1]);
        pw_bench_cluster_stop(&cluster);
        return status;
}

enum pw_status pw_bench_giving_up(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_row *silent = pw_bench_row_add(context, "giving_up", "s", PW_BENCH_AT_MOST, LEASE_S + 0.2);
        struct pw_bench_row *closed = pw_bench_row_add(context, "giving_up_dead", "s", PW_BENCH_AT_MOST, 0.1);
        enum pw_status status = PW_OK;

        if (!pw_bench_cluster_possible(context))
                return PW_OK;
        for (uint32_t repeat = 0; repeat < (context->quick ? 1 : PW_BENCH_REPEATS) && status == PW_OK; repeat++) {
                status = measure(SIGSTOP, silent, ret_err);
                if (status == PW_OK)
                        status = measure(SIGKILL, closed, ret_err);
        }
        return status;
}
