/* get_1k: looking at objects that the client holds, at random among a million. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "plane/entry.h"
#include "tests/bench/daemon.h"

#define BYTES 1024u

struct gets {
        struct pw_future **futures;
        struct pw_entry *lines; /* what the floor looks at: as many lines as there are entries */
        uint32_t *order;
        uint32_t count, held;
};

/* A shuffle by Fisher and Yates, of xorshift numbers: the same one each time. */
static void shuffle(uint32_t *order, uint32_t count)
{
        uint64_t state = 88172645463325252;

        for (uint32_t i = 0; i < count; i++)
                order[i] = i;
        for (uint32_t i = count - 1; i > 0; i--) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                uint32_t other = (uint32_t)(state % (i + 1)), kept = order[i];
                order[i] = order[other];
                order[other] = kept;
        }
}

static enum pw_status gets_init(struct gets *gets, struct pw_session *session, uint32_t count, struct pw_error *ret_err)
{
        uint8_t data[BYTES] = { 1 };
        enum pw_status status = PW_OK;

        *gets = (struct gets){ .count = count };
        gets->futures = calloc(count, sizeof *gets->futures);
        gets->lines = aligned_alloc(64, count * sizeof *gets->lines);
        gets->order = calloc(count, sizeof *gets->order);
        if (!gets->futures || !gets->lines || !gets->order)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u objects", count);
        memset(gets->lines, 3, count * sizeof *gets->lines);
        shuffle(gets->order, count);
        for (gets->held = 0; gets->held < count && status == PW_OK; gets->held++)
                status = pw_put(session, data, sizeof data, NULL, &gets->futures[gets->held], ret_err);
        return status;
}

static void gets_done(struct gets *gets)
{
        for (uint32_t i = 0; gets->futures && i < gets->held; i++)
                pw_unref(gets->futures[i]);
        free(gets->futures);
        free(gets->lines);
        free(gets->order);
}

/* Nanoseconds for one. */
static enum pw_status get_all(const struct gets *gets, double *ret_ns, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < gets->count && status == PW_OK; i++) {
                struct pw_view view;
                status = pw_get(gets->futures[gets->order[i]], 0, &view, ret_err);
                if (status == PW_OK)
                        pw_view_done(&view);
        }
        *ret_ns = (pw_bench_seconds() - start) * 1e9 / gets->count;
        return status;
}

/* The floor: load the word and compare its state. */
static double look_at_all(const struct gets *gets)
{
        uint32_t ready = 0;
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < gets->count; i++)
                ready += pw_word_state(pw_entry_load(&gets->lines[gets->order[i]])) == PW_ENTRY_READY;
        double ns = (pw_bench_seconds() - start) * 1e9 / gets->count;
        return ready == gets->count ? ns : 0;
}

enum pw_status pw_bench_get_1k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1, .host_memory = "3GiB" };
        struct pw_bench_host host;
        struct pw_bench_row *row = pw_bench_row_add(context, "get_1k", "ns", PW_BENCH_RATIO_AT_MOST, 3);
        struct gets gets = { 0 };
        double ns;
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        if (status == PW_OK)
                status = gets_init(&gets, host.session, context->quick ? 100000 : 1000000, ret_err);
        if (status == PW_OK)
                status = get_all(&gets, &ns, ret_err);
        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = get_all(&gets, &ns, ret_err);
                pw_bench_row_value(row, ns);
                pw_bench_row_floor(row, look_at_all(&gets));
        }
        gets_done(&gets);
        pw_bench_host_stop(&host);
        return status;
}
