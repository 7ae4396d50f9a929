/* What collectives, sends and recvs leave in memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_nccl/fixture.h"

#include "base/half.h"
#include "base/memory.h"

#define OWN ((rank)->rank)
#define LARGE 50000u /* u32: several steps, and a part of one */

/* One element that holds a small whole number. */
static void element_set(void *to, enum pw_nccl_dtype dtype, int value)
{
        static const uint8_t e4m3[] = { 0, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e, 0x50 };

        switch (dtype) {
        case PW_NCCL_I8: case PW_NCCL_U8: *(uint8_t *)to = (uint8_t)value; break;
        case PW_NCCL_I32: case PW_NCCL_U32: *(uint32_t *)to = (uint32_t)value; break;
        case PW_NCCL_I64: case PW_NCCL_U64: *(uint64_t *)to = (uint64_t)value; break;
        case PW_NCCL_F16: *(uint16_t *)to = pw_f16_from_float((float)value); break;
        case PW_NCCL_F32: *(float *)to = (float)value; break;
        case PW_NCCL_F64: *(double *)to = value; break;
        case PW_NCCL_BF16: *(uint16_t *)to = pw_bf16_from_float((float)value); break;
        case PW_NCCL_F8_E4M3: *(uint8_t *)to = e4m3[value]; break;
        case PW_NCCL_F8_E5M2: *(uint8_t *)to = (uint8_t)(pw_f16_from_float((float)value) >> 8); break;
        }
}

static void reduce(const struct rank *rank, struct ncclComm *comm, unsigned long long memory, enum pw_nccl_dtype dtype,
                   enum pw_nccl_op op)
{
        comm_did(rank, comm,
                 rank->nccl->ncclAllReduce(memory_at(memory), memory_at(memory), 1, dtype, op, comm, rank->stream));
}

/* 2, 1 and 2: numbers that all dtypes have, and so are all results. */
static void has_dtypes(struct rank *rank)
{
        static const int values[] = { 2, 1, 2 }, results[] = { 5, 4, 2, 1 };
        struct ncclComm *comm = comm_make(rank, 0, OWN, 3);

        for (int dtype = PW_NCCL_I8; dtype <= PW_NCCL_F8_E5M2; dtype++) {
                for (int op = PW_NCCL_SUM; op <= PW_NCCL_MIN; op++) {
                        uint8_t bytes[8] = { 0 }, expected[8] = { 0 };
                        unsigned long long memory;

                        element_set(bytes, (enum pw_nccl_dtype)dtype, values[OWN]);
                        element_set(expected, (enum pw_nccl_dtype)dtype, results[op]);
                        memory = memory_make(rank, bytes, sizeof bytes);
                        reduce(rank, comm, memory, (enum pw_nccl_dtype)dtype, (enum pw_nccl_op)op);
                        memory_read(rank, bytes, memory, sizeof bytes);
                        assert_memory_equal(bytes, expected, sizeof bytes);
                }
        }
}

static void test_dtypes(void **state)
{
        (void)state;
        ranks_try("", 3, has_dtypes);
}

#define REDUCED(type, dtype, op, expected, ...)                                                                        \
        do {                                                                                                           \
                const type reduced_values[] = { __VA_ARGS__ };                                                         \
                type reduced = reduced_values[OWN];                                                                    \
                unsigned long long reduced_at = memory_make(rank, &reduced, sizeof reduced);                           \
                reduce(rank, comm, reduced_at, PW_NCCL_##dtype, PW_NCCL_##op);                                         \
                memory_read(rank, &reduced, reduced_at, sizeof reduced);                                               \
                assert_true(reduced == (type)(expected));                                                              \
        } while (0)

/* In the order of ranks, rounded each time; what is too large, and what is no number. */
static void has_edges(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, OWN, 3);
        const float nan = pw_float_from_bits(0x7fc00000u);

        REDUCED(float, F32, SUM, 1, 1e8f, -1e8f, 1);
        REDUCED(float, F32, SUM, 0, 1, 1e8f, -1e8f);
        REDUCED(float, F32, MAX, 2, nan, 1, 2);
        REDUCED(float, F32, MAX, 2, 1, 2, nan);
        REDUCED(double, F64, MIN, 1, 1, (double)nan, 2);
        REDUCED(double, F64, SUM, 1, 1e300, -1e300, 1);
        REDUCED(uint16_t, F16, SUM, pw_f16_from_float(2048), pw_f16_from_float(2048), pw_f16_from_float(1), pw_f16_from_float(1));
        REDUCED(uint16_t, F16, SUM, pw_f16_from_float(2050), pw_f16_from_float(1), pw_f16_from_float(1), pw_f16_from_float(2048));
        REDUCED(uint16_t, BF16, SUM, 0x4380, 0x4380, 0x3f80, 0x3f80); /* 256 + 1 is 256 */
        REDUCED(int8_t, I8, SUM, -56, 100, 50, 50);
        REDUCED(int8_t, I8, MIN, -1, 0, -1, 1);
        REDUCED(uint8_t, U8, MIN, 0, 0, 255, 1);
        REDUCED(int32_t, I32, MAX, 1, 0, -1, 1);
        REDUCED(int64_t, I64, SUM, INT64_MIN, INT64_MAX, 1, 0);
        REDUCED(uint64_t, U64, PROD, UINT64_C(1) << 63, UINT64_C(1) << 32, UINT64_C(1) << 31, 3);
        REDUCED(uint8_t, F8_E4M3, SUM, 0x7e, 0x7e, 0x7e, 0);          /* 448 is the largest */
        REDUCED(uint8_t, F8_E4M3, SUM, 0xb8, 0x38, 0xb8, 0xb8);       /* 1 - 1 - 1 */
        REDUCED(uint8_t, F8_E4M3, SUM, 0x58, 0x58, 0x38, 0);          /* 17 is between 16 and 18: the even one */
        REDUCED(uint8_t, F8_E4M3, SUM, 0x7f, 0x38, 0x7f, 0);
        REDUCED(uint8_t, F8_E4M3, SUM, 0x03, 0x01, 0x01, 0x01);       /* the smallest ones */
        REDUCED(uint8_t, F8_E5M2, SUM, 0x7b, 0x7b, 0x7b, 0);
        REDUCED(uint8_t, F8_E5M2, MAX, 0x7b, 0x7c, 0, 0);             /* infinite */
        REDUCED(uint8_t, F8_E5M2, SUM, 0x48, 0x48, 0x38, 0);          /* 8.5 */
}

static void test_edges(void **state)
{
        (void)state;
        ranks_try("", 3, has_edges);
}

static uint32_t element(uint32_t rank, uint32_t i) { return i * 7 + rank * 1000003 + 1; }

/* `count` of rank `of`, from its `first` on. */
static uint32_t *elements_new(uint32_t of, uint32_t first, uint32_t count)
{
        uint32_t *elements = malloc(count * sizeof *elements);

        assert_non_null(elements);
        for (uint32_t i = 0; i < count; i++)
                elements[i] = element(of, first + i);
        return elements;
}

static void expect(const struct rank *rank, unsigned long long at, uint32_t *expected, uint32_t count)
{
        uint32_t *found = malloc(count * sizeof *found);

        assert_non_null(found);
        memory_read(rank, found, at, count * sizeof *found);
        assert_memory_equal(found, expected, count * sizeof *found);
        free(found);
        free(expected);
}

static uint32_t *sums_new(uint32_t first, uint32_t count)
{
        uint32_t *sums = elements_new(0, first, count);

        for (uint32_t i = 0; i < count; i++)
                sums[i] += element(1, first + i) + element(2, first + i);
        return sums;
}

static void moves(struct rank *rank, bool is_in_place)
{
        struct ncclComm *comm = comm_make(rank, 0, OWN, 3);
        const struct pw_nccl_library *nccl = rank->nccl;
        uint32_t *own = elements_new(OWN, 0, 3 * LARGE);
        unsigned long long from = memory_make(rank, own, 12 * LARGE), to = is_in_place ? from : memory_make(rank, NULL, 12 * LARGE);
        unsigned long long part = is_in_place ? from + OWN * 4 * LARGE : from, to_part = is_in_place ? part : to;

        comm_did(rank, comm, nccl->ncclAllReduce(memory_at(from), memory_at(to), LARGE, PW_NCCL_U32, PW_NCCL_SUM, comm,
                                                 rank->stream));
        expect(rank, to, sums_new(0, LARGE), LARGE);
        GOOD(rank->cuda->cuMemcpyHtoDAsync(from, own, 12 * LARGE, rank->stream));
        comm_did(rank, comm, nccl->ncclReduceScatter(memory_at(from), memory_at(to_part), LARGE, PW_NCCL_U32, PW_NCCL_SUM, comm,
                                                     rank->stream));
        expect(rank, to_part, sums_new(OWN * LARGE, LARGE), LARGE);
        GOOD(rank->cuda->cuMemcpyHtoDAsync(part, own, 4 * LARGE, rank->stream));
        comm_did(rank, comm, nccl->ncclAllGather(memory_at(part), memory_at(to), LARGE, PW_NCCL_U32, comm, rank->stream));
        for (uint32_t i = 0; i < 3; i++)
                expect(rank, to + i * 4 * LARGE, elements_new(i, 0, LARGE), LARGE);
        GOOD(rank->cuda->cuMemcpyHtoDAsync(from, own, 12 * LARGE, rank->stream));
        comm_did(rank, comm, nccl->ncclBroadcast(memory_at(from), memory_at(to), LARGE, PW_NCCL_U32, 1, comm, rank->stream));
        expect(rank, to, elements_new(1, 0, LARGE), LARGE);
        free(own);
}

static void moves_apart(struct rank *rank) { moves(rank, false); }
static void moves_in_place(struct rank *rank) { moves(rank, true); }

static void test_moves(void **state)
{
        (void)state;
        ranks_try("", 3, moves_apart);
        ranks_try("", 3, moves_in_place);
}

/* All that one group asks for goes at once: each sends two messages to the next one, and one to itself. */
static void sends(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, OWN, 3);
        const struct pw_nccl_library *nccl = rank->nccl;
        uint32_t *own = elements_new(OWN, 0, LARGE);
        unsigned long long from = memory_make(rank, own, 4 * LARGE), to = memory_make(rank, NULL, 12 * LARGE);
        int next = (int)(OWN + 1) % 3, last = (int)(OWN + 2) % 3;

        GIVES(SUCCESS, nccl->ncclGroupStart());
        GIVES(SUCCESS, nccl->ncclSend(memory_at(from), LARGE, PW_NCCL_U32, next, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclGroupStart());
        GIVES(SUCCESS, nccl->ncclSend(memory_at(from + 40), 10, PW_NCCL_U32, next, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclSend(memory_at(from), 3, PW_NCCL_U32, (int)OWN, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclGroupEnd());
        GIVES(SUCCESS, nccl->ncclRecv(memory_at(to + 8 * LARGE), 3, PW_NCCL_U32, (int)OWN, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclRecv(memory_at(to), LARGE, PW_NCCL_U32, last, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclRecv(memory_at(to + 4 * LARGE), 10, PW_NCCL_U32, last, comm, rank->stream));
        GIVES(SUCCESS, comm_state(rank, comm));
        comm_did(rank, comm, nccl->ncclGroupEnd());
        expect(rank, to, elements_new((uint32_t)last, 0, LARGE), LARGE);
        expect(rank, to + 4 * LARGE, elements_new((uint32_t)last, 10, 10), 10);
        expect(rank, to + 8 * LARGE, elements_new(OWN, 0, 3), 3);
        free(own);
}

/* Messages of one pair are in order, also where the second could go before the first is over. */
static void sends_to_itself(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);
        const struct pw_nccl_library *nccl = rank->nccl;
        uint32_t *own = elements_new(0, 0, LARGE);
        unsigned long long from = memory_make(rank, own, 4 * LARGE), to = memory_make(rank, NULL, 8 * LARGE);

        GIVES(SUCCESS, nccl->ncclGroupStart());
        GIVES(SUCCESS, nccl->ncclRecv(memory_at(to), LARGE, PW_NCCL_U32, 0, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclSend(memory_at(from), LARGE, PW_NCCL_U32, 0, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclRecv(memory_at(to + 4 * LARGE), 10, PW_NCCL_U32, 0, comm, rank->stream));
        GIVES(SUCCESS, nccl->ncclSend(memory_at(from + 40), 10, PW_NCCL_U32, 0, comm, rank->stream));
        comm_did(rank, comm, nccl->ncclGroupEnd());
        expect(rank, to, own, LARGE);
        expect(rank, to + 4 * LARGE, elements_new(0, 10, 10), 10);
}

/* Each a kernel of its own: where all send first, nobody receives. */
static void sends_first(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);
        unsigned long long memory = memory_make(rank, NULL, 8);

        comm_did(rank, comm, rank->nccl->ncclSend(memory_at(memory), 1, PW_NCCL_U32, 1 - (int)OWN, comm, rank->stream));
        comm_did(rank, comm, rank->nccl->ncclRecv(memory_at(memory + 4), 1, PW_NCCL_U32, 1 - (int)OWN, comm, rank->stream));
        assert_false(stream_ends(rank, rank->stream, 2 * LONG_US));
        /* What is behind a kernel that was ended does nothing: else the first to leave would take what the other sends. */
        if (OWN)
                mark_meet(rank, 0, 1);
        if (OWN)
                assert_false(stream_ends(rank, rank->stream, LONG_US));
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(comm));
        mark_set(rank, 0);
        assert_true(stream_ends(rank, rank->stream, 0));
}

static void sends_less(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);
        unsigned long long memory = memory_make(rank, NULL, 8);

        if (OWN)
                rank->nccl->ncclSend(memory_at(memory), 1, PW_NCCL_U32, 0, comm, rank->stream);
        else
                rank->nccl->ncclRecv(memory_at(memory), 2, PW_NCCL_U32, 1, comm, rank->stream);
        comm_settle(rank, comm);
        stream_ends(rank, rank->stream, LONG_US);
        abort();
}

static void test_sends(void **state)
{
        (void)state;
        ranks_try("", 3, sends);
        ranks_try("", 1, sends_to_itself);
        ranks_try("", 2, sends_first);
        ranks_die("", 2, sends_less, "rank 0 receives 8 bytes, rank 1 sends 4");
}

/* Of a group in which a call failed nothing is done; one of several communicators has a kernel for each. */
static void groups(struct rank *rank)
{
        struct ncclComm *comms[2] = { comm_make(rank, 0, OWN, 2), comm_make(rank, 1, OWN, 2) };
        const struct pw_nccl_library *nccl = rank->nccl;
        uint32_t value = 5;
        unsigned long long memory = memory_make(rank, &value, 4);
        void *at = memory_at(memory);

        GIVES(INVALID_USAGE, nccl->ncclGroupEnd());
        GIVES(SUCCESS, nccl->ncclGroupStart());
        GIVES(SUCCESS, nccl->ncclAllReduce(at, at, 1, PW_NCCL_U32, PW_NCCL_SUM, comms[0], rank->stream));
        GIVES(INVALID_ARGUMENT, nccl->ncclBroadcast(at, at, 1, PW_NCCL_U32, 2, comms[0], rank->stream));
        GIVES(INVALID_ARGUMENT, nccl->ncclGroupEnd());
        GIVES(SUCCESS, comm_settle(rank, comms[0]));
        GIVES(INVALID_ARGUMENT, nccl->ncclAllReduce(at, at, 1, (enum pw_nccl_dtype)12, PW_NCCL_SUM, comms[0], rank->stream));
        GIVES(INVALID_ARGUMENT, nccl->ncclAllReduce(at, at, 1, PW_NCCL_U32, (enum pw_nccl_op)4, comms[0], rank->stream));
        GIVES(UNHANDLED_CUDA_ERROR, nccl->ncclAllReduce(at, at, 1, PW_NCCL_U32, PW_NCCL_SUM, comms[0], at));
        GIVES(SUCCESS, nccl->ncclAllReduce(at, at, 0, PW_NCCL_U32, PW_NCCL_SUM, comms[0], rank->stream));
        GIVES(SUCCESS, nccl->ncclGroupStart());
        GIVES(SUCCESS, nccl->ncclGroupEnd());
        memory_read(rank, &value, memory, 4);
        assert_int_equal(value, 5);
        GIVES(SUCCESS, nccl->ncclGroupStart());
        for (uint32_t i = 0; i < 6; i++)
                GIVES(SUCCESS, nccl->ncclAllReduce(at, at, 1, PW_NCCL_U32, PW_NCCL_SUM, comms[i % 2], rank->stream));
        GIVES(IN_PROGRESS, nccl->ncclGroupEnd());
        GIVES(SUCCESS, comm_settle(rank, comms[0]));
        GIVES(SUCCESS, comm_settle(rank, comms[1]));
        memory_read(rank, &value, memory, 4);
        assert_int_equal(value, 5 * 64);
}

static void test_groups(void **state)
{
        (void)state;
        ranks_try("", 2, groups);
}

/* The same bits again and elsewhere, whatever the delays were: a sum whose order is seen. */
static void repeats(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, OWN, 3);
        unsigned long long from, to = memory_make(rank, NULL, sizeof rank->scene->bytes[0]);
        float values[sizeof rank->scene->bytes[0] / sizeof(float)];

        for (uint32_t i = 0; i < pw_array_count(values); i++)
                values[i] = 1.0f / (float)(3 + i * 3 + OWN);
        from = memory_make(rank, values, sizeof values);
        for (int i = 0; i < 10; i++) {
                comm_did(rank, comm, rank->nccl->ncclAllReduce(memory_at(from), memory_at(to), pw_array_count(values), PW_NCCL_F32,
                                                               PW_NCCL_SUM, comm, rank->stream));
                memory_read(rank, values, to, sizeof values);
                if (i)
                        assert_memory_equal(values, rank->scene->bytes[OWN], sizeof values);
                memcpy(rank->scene->bytes[OWN], values, sizeof values);
        }
        mark_set(rank, 0);
        mark_meet(rank, 0, 3);
        assert_memory_equal(values, rank->scene->bytes[0], sizeof values);
}

static void test_repeat(void **state)
{
        (void)state;
        ranks_try("delay_us = 1000\n", 3, repeats);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dtypes), cmocka_unit_test(test_edges),  cmocka_unit_test(test_moves),
                cmocka_unit_test(test_sends),  cmocka_unit_test(test_groups), cmocka_unit_test(test_repeat),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
