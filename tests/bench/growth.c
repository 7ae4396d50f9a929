/* How costs grow: with live objects, clients that rest, shards and devices, nodes of a program. One figure each, as seen. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "tests/bench/daemon.h"
#include "tests/bench/memory.h"

#include <stdio.h>

#define STEPS_MAX 5u

struct steps { const char *what; uint32_t count, sizes[STEPS_MAX]; };

static void print_row(const char *cost, const char *unit, const struct steps *steps, const double *values)
{
        printf("%-44s %-4s", cost, unit);
        for (uint32_t i = 0; i < steps->count; i++)
                printf(" %10.3g", values[i]);
        putchar('\n');
        fflush(stdout);
}

static void print_heading(const struct steps *steps)
{
        printf("\n%-49s", steps->what);
        for (uint32_t i = 0; i < steps->count; i++)
                printf(" %10u", steps->sizes[i]);
        putchar('\n');
}

/* Nanoseconds for a put and its unref, and for a get. */
static enum pw_status put_and_get(struct pw_session *session, double *ret_put_ns, double *ret_get_ns, struct pw_error *ret_err)
{
        enum { TURNS = 100000 };
        uint8_t data[1024] = { 1 };
        struct pw_future *future = NULL;
        struct pw_view view;
        double start = pw_bench_seconds();
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < TURNS && status == PW_OK; i++) {
                pw_unref(future);
                status = pw_put(session, data, sizeof data, NULL, &future, ret_err);
        }
        *ret_put_ns = (pw_bench_seconds() - start) * 1e9 / TURNS;
        start = pw_bench_seconds();
        for (uint32_t i = 0; i < TURNS && status == PW_OK; i++) {
                status = pw_get(future, 0, &view, ret_err);
                if (status == PW_OK)
                        pw_view_done(&view);
        }
        *ret_get_ns = (pw_bench_seconds() - start) * 1e9 / TURNS;
        pw_unref(future);
        return status;
}

/* Milliseconds of a listing. */
static enum pw_status look(struct pw_session *session, double *ret_ms, struct pw_error *ret_err)
{
        uint64_t bytes;
        double start = pw_bench_seconds();
        enum pw_status status = pw_bench_granted(session, &bytes, ret_err);

        *ret_ms = (pw_bench_seconds() - start) * 1e3;
        return status;
}

struct costs { double put_ns[STEPS_MAX], get_ns[STEPS_MAX], look_ms[STEPS_MAX]; };

static enum pw_status measure(struct pw_session *session, struct costs *costs, uint32_t step, struct pw_error *ret_err)
{
        enum pw_status status = put_and_get(session, &costs->put_ns[step], &costs->get_ns[step], ret_err);

        return status == PW_OK ? look(session, &costs->look_ms[step], ret_err) : status;
}

static void print_costs(const struct steps *steps, const struct costs *costs)
{
        print_heading(steps);
        print_row("put and unref of 1 KiB", "ns", steps, costs->put_ns);
        print_row("get", "ns", steps, costs->get_ns);
        print_row("pathways memory", "ms", steps, costs->look_ms);
}

static enum pw_status grow_objects(struct pw_error *ret_err)
{
        static const struct steps steps = { "live objects of 16 bytes", 4, { 1, 1000, 100000, 1000000 } };
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_bench_host host;
        struct costs costs;
        uint32_t live = 0;
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        for (uint32_t i = 0; i < steps.count && status == PW_OK; i++) {
                for (; live < steps.sizes[i] && status == PW_OK; live++) {
                        struct pw_future *future; /* held until the session ends */
                        status = pw_put(host.session, "a value of 16 by", 16, NULL, &future, ret_err);
                }
                if (status == PW_OK)
                        status = measure(host.session, &costs, i, ret_err);
        }
        if (status == PW_OK)
                print_costs(&steps, &costs);
        pw_bench_host_stop(&host);
        return status;
}

static enum pw_status grow_clients(struct pw_error *ret_err)
{
        static const struct steps steps = { "sessions of the tenant, all but one at rest", 4, { 1, 10, 100, 1000 } };
        struct pw_bench_daemon_params params = { .devices = 1 };
        struct pw_session *sessions[1000];
        struct pw_bench_host host;
        struct costs costs;
        uint32_t open = 1;
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        for (uint32_t i = 0; i < steps.count && status == PW_OK; i++) {
                for (; open < steps.sizes[i] && status == PW_OK; open++)
                        status = pw_connect(host.daemon.socket, &sessions[open], ret_err);
                if (status == PW_OK)
                        status = measure(host.session, &costs, i, ret_err);
        }
        if (status == PW_OK)
                print_costs(&steps, &costs);
        while (--open && status == PW_OK)
                pw_close(sessions[open]);
        pw_bench_host_stop(&host);
        return status;
}

/* A chain of `nodes` calls over all devices. Seconds to compile it, microseconds per node of a run. */
static enum pw_status chain(struct pw_session *session, uint32_t devices, uint32_t nodes, double *ret_compile_s,
                            double *ret_node_us, struct pw_error *ret_err)
{
        struct pw_slice_params params = { .device_count = devices };
        struct pw_put_params shape = { .dtype = PW_F32, .dims = PW_DIMS(64) };
        float zeros[64] = { 0 };
        struct pw_slice *slice = NULL;
        struct pw_future *input = NULL, *result = NULL;
        struct pw_program *program = pw_program_new(session, "bench/growth");
        enum pw_status status = pw_slice_open(session, &params, &slice, ret_err);
        struct pw_value *value = pw_input(program, slice, PW_F32, PW_DIMS(64), PW_SPLIT(0), 0);

        for (uint32_t i = 0; i < nodes; i++)
                value = pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_SPLIT(0));
        pw_result(program, value);
        double start = pw_bench_seconds();
        if (status == PW_OK)
                status = pw_compile(program, ret_err);
        *ret_compile_s = pw_bench_seconds() - start;
        if (status == PW_OK)
                status = pw_put(session, zeros, sizeof zeros, &shape, &input, ret_err);
        start = pw_bench_seconds();
        if (status == PW_OK)
                status = pw_run(program, PW_FUTURES(input), &result, ret_err);
        if (status == PW_OK)
                status = pw_wait(&result, 1, 1, 60000000, NULL, ret_err);
        *ret_node_us = (pw_bench_seconds() - start) * 1e6 / nodes;
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        return status;
}

static enum pw_status grow_devices(struct pw_error *ret_err)
{
        static const struct steps steps = { "devices, and shards of a value", 4, { 1, 4, 16, 64 } };
        double start_s[STEPS_MAX], node_us[STEPS_MAX], compile_s;
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < steps.count && status == PW_OK; i++) {
                struct pw_bench_daemon_params params = { .devices = steps.sizes[i], .host_memory = "6GiB" };
                struct pw_bench_host host;

                status = pw_bench_host_start(&params, &host, ret_err);
                start_s[i] = host.daemon.start_seconds;
                if (status == PW_OK)
                        status = chain(host.session, steps.sizes[i], 50, &compile_s, &node_us[i], ret_err);
                pw_bench_host_stop(&host);
        }
        if (status != PW_OK)
                return status;
        print_heading(&steps);
        print_row("start of the daemon", "s", &steps, start_s);
        print_row("a node of a chain of 50, once over all", "us", &steps, node_us);
        return PW_OK;
}

static enum pw_status grow_nodes(struct pw_error *ret_err)
{
        static const struct steps steps = { "nodes of a program", 4, { 100, 1000, 10000, 60000 } };
        struct pw_bench_daemon_params params = { .devices = 1 };
        double compile_s[STEPS_MAX], node_us[STEPS_MAX];
        struct pw_bench_host host;
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        for (uint32_t i = 0; i < steps.count && status == PW_OK; i++)
                status = chain(host.session, 1, steps.sizes[i], &compile_s[i], &node_us[i], ret_err);
        if (status == PW_OK) {
                print_heading(&steps);
                print_row("compile", "s", &steps, compile_s);
                print_row("a node of its first run", "us", &steps, node_us);
        }
        pw_bench_host_stop(&host);
        return status;
}

enum pw_status pw_bench_growth(struct pw_error *ret_err)
{
        enum pw_status status = grow_objects(ret_err);

        if (status == PW_OK)
                status = grow_clients(ret_err);
        if (status == PW_OK)
                status = grow_devices(ret_err);
        return status == PW_OK ? grow_nodes(ret_err) : status;
}
