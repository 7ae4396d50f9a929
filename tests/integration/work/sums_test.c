/* What GPUs make of values that differ from device to device, by NCCL and by reading each other's memory: the same bits each time,
 * and the right ones of each type.
 */
#include "tests/integration/work/nccl_scene.h"

#include "base/memory.h"

#include <signal.h>
#include <string.h>

#define RANKS_MAX 8u
#define COLUMNS 1000u

/* Eight GPUs, and as many processors where `devices` says so. */
static struct it_host *begin(void **state, const char *devices, bool by_nccl, const char *conf)
{
        struct it_host *host = *state;

        it_gpus_init(&nccl_gpus, "devices = 8\n");
        if (by_nccl)
                it_gpus_nccl(&nccl_gpus, it_gpus_given() ? NULL : conf);
        it_start(host, IT_ARGS("--devices", devices, "--cuda-driver", nccl_gpus.driver, "--host-memory", "64MiB", "--device-memory",
                               "2MiB", by_nccl ? "--nccl-communicators=1" : "--no-nccl", by_nccl ? "--nccl-library" : NULL,
                               nccl_gpus.nccl));
        host->session = it_connect(host);
        return host;
}

static struct pw_slice *slice_of(struct it_host *host, const char *kind, uint32_t ranks)
{
        struct pw_slice *slice;

        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = ranks, .kind = kind }, &slice, IT_ERR));
        return slice;
}

/* Each device of `slice` has `bytes` bytes of `data`, one after the other; what they are reduced to is copied to `to`. */
static void reduce(struct it_host *host, struct pw_slice *slice, const struct pw_put_params *whole, enum pw_op op, const void *data,
                   uint64_t bytes, void *to)
{
        struct pw_program *program = pw_program_new(host->session, "test/sums");
        struct pw_value *value = pw_input(program, slice, whole->dtype, whole->dims, PW_SPLIT(0), 0);
        uint64_t all = pw_dtype_bytes(whole->dtype) * whole->dims.dim[0];
        struct pw_future *input, *result;
        struct pw_view view;

        pw_result(program, pw_as(pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_PARTIAL(op)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_put(host->session, data, all, whole, &input, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, bytes);
        memcpy(to, view.data, bytes);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
}

/* --- the same bits ------------------------------------------------------------------------------------------------------------ */

/* Large ones of both signs and small ones, which are lost or not by when they are added. */
static float element(uint32_t rank, uint32_t column)
{
        static const float sizes[] = { 1e8f, 1.0f, -1e8f, 0.1f, 3e7f, -7.5f, 1e-3f, -3e7f };

        return sizes[(rank + column) % pw_array_count(sizes)] * (1.0f + (float)column / 7.0f);
}

/* The sum over the `ranks` devices of `slice`. */
static void sum(struct it_host *host, struct pw_slice *slice, uint32_t ranks, float to[COLUMNS])
{
        static float data[RANKS_MAX * COLUMNS];
        struct pw_put_params whole = { .dtype = PW_F32, .dims = PW_DIMS(ranks * COLUMNS) };

        for (uint32_t i = 0; i < ranks * COLUMNS; i++)
                data[i] = element(i / COLUMNS, i % COLUMNS);
        reduce(host, slice, &whole, PW_SUM, data, COLUMNS * sizeof *to, to);
}

/* In the order of ranks, and against it: else nothing would be shown. */
static void order_matters(uint32_t ranks)
{
        uint32_t differ = 0;

        for (uint32_t i = 0; i < COLUMNS; i++) {
                volatile float up = 0, down = 0;

                for (uint32_t rank = 0; rank < ranks; rank++) {
                        up += element(rank, i);
                        down += element(ranks - 1 - rank, i);
                }
                differ += up != down;
        }
        assert_true(differ > COLUMNS / 4);
}

/* One communicator is kept: that of the other devices is closed, and made again. */
static void by_nccl_twice(void **state)
{
        static const uint32_t order[] = { 8, 8, 4, 4, 8, 4 };
        static float first[RANKS_MAX + 1][COLUMNS], next[COLUMNS];
        struct it_host *host = begin(state, "cuda:8", true, "trace = trace\n");
        struct pw_slice *slices[RANKS_MAX + 1] = { [8] = slice_of(host, "cuda", 8), [4] = slice_of(host, "cuda", 4) };

        for (size_t i = 0; i < pw_array_count(order); i++) {
                bool is_first = i == 0 || i == 2;

                order_matters(order[i]);
                sum(host, slices[order[i]], order[i], is_first ? first[order[i]] : next);
                assert_true(is_first || !memcmp(first[order[i]], next, sizeof next));
        }
        pw_slice_close(slices[8]);
        pw_slice_close(slices[4]);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_true(it_gpus_given() || nccl_calls_of("ncclCommInitRankConfig") == 8 + 4 + 8 + 4);
        it_gpus_done(&nccl_gpus);
}

static void by_peers_as_by_processors(void **state)
{
        static float reference[COLUMNS], bits[COLUMNS];
        struct it_host *host = begin(state, "cuda:8,cpu:8", false, NULL);

        for (uint32_t ranks = 4; ranks <= RANKS_MAX; ranks += 4) {
                struct pw_slice *gpus = slice_of(host, "cuda", ranks), *processors = slice_of(host, "cpu", ranks);

                sum(host, processors, ranks, reference);
                for (uint32_t i = 0; i < 2; i++) {
                        sum(host, gpus, ranks, bits);
                        assert_memory_equal(bits, reference, sizeof bits);
                }
                pw_slice_close(processors);
                pw_slice_close(gpus);
        }
        nccl_end(host);
}

/* --- of each type ------------------------------------------------------------------------------------------------------------- */

#define RANKS 4u

/* Numbers which another type of that size, or another operation, would make something else of: those below zero are the largest
 * without a sign, 1.0 in 16 bits of one kind is small in the other. */
static const struct { enum pw_dtype dtype; enum pw_op op; uint64_t from[RANKS], want; } cases[] = {
        { PW_I8, PW_MAX, { 0xff, 5, 0xf9, 3 }, 5 },
        { PW_I8, PW_MIN, { 0xff, 5, 0xf9, 3 }, 0xf9 },
        { PW_U8, PW_MAX, { 0xff, 5, 0xf9, 3 }, 0xff },
        { PW_U8, PW_MIN, { 0xff, 5, 0xf9, 3 }, 3 },
        { PW_I32, PW_MAX, { 0xffffffff, 5, 0xfffffff9, 3 }, 5 },
        { PW_I32, PW_MIN, { 0xffffffff, 5, 0xfffffff9, 3 }, 0xfffffff9 },
        { PW_I32, PW_SUM, { 0xffffffff, 5, 0xfffffff9, 4 }, 1 },
        { PW_I32, PW_PROD, { 0xffffffff, 5, 0xfffffff9, 3 }, 105 },
        { PW_U32, PW_MAX, { 0xffffffff, 5, 0xfffffff9, 3 }, 0xffffffff },
        { PW_U32, PW_MIN, { 0xffffffff, 5, 0xfffffff9, 3 }, 3 },
        { PW_I64, PW_MAX, { UINT64_MAX, 5, UINT64_MAX - 6, 3 }, 5 },
        { PW_I64, PW_MIN, { UINT64_MAX, 5, UINT64_MAX - 6, 3 }, UINT64_MAX - 6 },
        { PW_U64, PW_MAX, { UINT64_MAX, 5, UINT64_MAX - 6, 3 }, UINT64_MAX },
        { PW_U64, PW_MIN, { UINT64_MAX, 5, UINT64_MAX - 6, 3 }, 3 },
        { PW_F16, PW_SUM, { 0x3c00, 0x3c00, 0x3c00, 0x3c00 }, 0x4400 },
        { PW_BF16, PW_SUM, { 0x3f80, 0x3f80, 0x3f80, 0x3f80 }, 0x4080 },
        { PW_F32, PW_MAX, { 0xbf800000, 0xc0000000, 0xc0400000, 0xc0800000 }, 0xbf800000 },
        { PW_F32, PW_SUM, { 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000 }, 0x40800000 },
        { PW_F64, PW_MIN, { 0xbff0000000000000, 0xc000000000000000, 0, 0xbff8000000000000 }, 0xc000000000000000 },
        { PW_F64, PW_SUM, { 0x3ff0000000000000, 0x3ff0000000000000, 0x3ff0000000000000, 0x3ff0000000000000 }, 0x4010000000000000 },
};

static void expect_all(struct it_host *host, const char *kind)
{
        struct pw_slice *slice = slice_of(host, kind, RANKS);

        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct pw_put_params whole = { .dtype = cases[i].dtype, .dims = PW_DIMS(RANKS) };
                uint64_t bytes = pw_dtype_bytes(cases[i].dtype), got = 0;
                uint8_t data[RANKS * sizeof(uint64_t)];

                for (uint32_t rank = 0; rank < RANKS; rank++)
                        memcpy(data + rank * bytes, &cases[i].from[rank], bytes);
                reduce(host, slice, &whole, cases[i].op, data, bytes, &got);
                if (got != cases[i].want)
                        fail_msg("op %d of %s on kind %s: %llx", (int)cases[i].op, pw_dtype_text(cases[i].dtype), kind,
                                 (unsigned long long)got);
        }
        pw_slice_close(slice);
}

static void each_type_by_nccl(void **state)
{
        struct it_host *host = begin(state, "cuda:8", true, "trace = trace\n");

        expect_all(host, "cuda");
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_true(it_gpus_given() || nccl_calls_of("ncclAllReduce") == (int)(RANKS * pw_array_count(cases)));
        it_gpus_done(&nccl_gpus);
}

static void each_type_by_peers(void **state)
{
        struct it_host *host = begin(state, "cuda:8,cpu:8", false, NULL);

        expect_all(host, "cuda");
        expect_all(host, "cpu");
        nccl_end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(by_nccl_twice), IT_FOLDER_TEST(by_peers_as_by_processors),
                                            IT_FOLDER_TEST(each_type_by_nccl), IT_FOLDER_TEST(each_type_by_peers) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
