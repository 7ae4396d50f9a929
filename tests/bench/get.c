/*
 * get_1k: looking at objects that the client holds, at random among a million. The pointers lie in the order of the looks, as the
 * numbers of the lines do that the floor looks at: one access at random each. get_1k_found: both look for the pointer first, at
 * random in an array of a million: two accesses at random that depend on each other.
 */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "plane/entry.h"
#include "tests/bench/daemon.h"

#define BYTES 1024u

struct gets {
        struct pw_future **futures, **shuffled; /* by number, and in the order of the looks */
        struct pw_entry *lines;                 /* what the floor looks at: as many lines as there are entries */
        struct pw_entry **line_of;              /* by number */
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
        gets->shuffled = calloc(count, sizeof *gets->shuffled);
        gets->lines = aligned_alloc(64, count * sizeof *gets->lines);
        gets->line_of = calloc(count, sizeof *gets->line_of);
        gets->order = calloc(count, sizeof *gets->order);
        if (!gets->futures || !gets->shuffled || !gets->lines || !gets->line_of || !gets->order)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u objects", count);
        memset(gets->lines, 3, count * sizeof *gets->lines);
        shuffle(gets->order, count);
        for (gets->held = 0; gets->held < count && status == PW_OK; gets->held++)
                status = pw_put(session, data, sizeof data, NULL, &gets->futures[gets->held], ret_err);
        for (uint32_t i = 0; i < count; i++) {
                gets->shuffled[i] = gets->futures[gets->order[i]];
                gets->line_of[i] = &gets->lines[i];
        }
        return status;
}

static void gets_done(struct gets *gets)
{
        for (uint32_t i = 0; gets->futures && i < gets->held; i++)
                pw_unref(gets->futures[i]);
        free(gets->futures);
        free(gets->shuffled);
        free(gets->lines);
        free(gets->line_of);
        free(gets->order);
}

static inline enum pw_status get(struct pw_future *future, struct pw_error *ret_err)
{
        struct pw_view view;
        enum pw_status status = pw_get(future, 0, &view, ret_err);

        if (status == PW_OK)
                pw_view_done(&view);
        return status;
}

static enum pw_status get_all(const struct gets *gets, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < gets->count && status == PW_OK; i++)
                status = get(gets->shuffled[i], ret_err);
        return status;
}

static enum pw_status find_and_get_all(const struct gets *gets, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < gets->count && status == PW_OK; i++)
                status = get(gets->futures[gets->order[i]], ret_err);
        return status;
}

/* The floors: load the word and compare its state. */
static uint32_t look_at_all(const struct gets *gets)
{
        uint32_t ready = 0;

        for (uint32_t i = 0; i < gets->count; i++)
                ready += pw_word_state(pw_entry_load(&gets->lines[gets->order[i]])) == PW_ENTRY_READY;
        return ready;
}

static uint32_t find_and_look_at_all(const struct gets *gets)
{
        uint32_t ready = 0;

        for (uint32_t i = 0; i < gets->count; i++)
                ready += pw_word_state(pw_entry_load(gets->line_of[gets->order[i]])) == PW_ENTRY_READY;
        return ready;
}

struct looks {
        const char *name;
        double reach; /* 0: for comparison alone */
        enum pw_status (*get)(const struct gets *gets, struct pw_error *ret_err);
        uint32_t (*look)(const struct gets *gets);
};

static enum pw_status measure(struct pw_bench_context *context, const struct gets *gets, const struct looks *looks,
                              struct pw_error *ret_err)
{
        struct pw_bench_row *row = pw_bench_row_add(context, looks->name, "ns", PW_BENCH_RATIO_AT_MOST, looks->reach);
        enum pw_status status = looks->get(gets, ret_err);

        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                double start = pw_bench_seconds();
                status = looks->get(gets, ret_err);
                double gotten = pw_bench_seconds();
                uint32_t ready = looks->look(gets);
                double looked = pw_bench_seconds();

                pw_bench_row_value(row, (gotten - start) * 1e9 / gets->count);
                pw_bench_row_floor(row, ready == gets->count ? (looked - gotten) * 1e9 / gets->count : 0);
        }
        return status;
}

enum pw_status pw_bench_get_1k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        static const struct looks held = { "get_1k", 3, get_all, look_at_all };
        static const struct looks found = { "get_1k_found", 3, find_and_get_all, find_and_look_at_all };
        struct pw_bench_daemon_params params = { .devices = 1, .host_memory = "3GiB" };
        struct pw_bench_host host;
        struct gets gets = { 0 };
        enum pw_status status = pw_bench_host_start(&params, &host, ret_err);

        if (status == PW_OK)
                status = gets_init(&gets, host.session, context->quick ? 100000 : 1000000, ret_err);
        if (status == PW_OK)
                status = measure(context, &gets, &held, ret_err);
        if (status == PW_OK)
                status = measure(context, &gets, &found, ret_err);
        gets_done(&gets);
        pw_bench_host_stop(&host);
        return status;
}
