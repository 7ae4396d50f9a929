/* When collectives begin and end: late, one at a time on a device, all ranks together; and what of it ends when ranks are killed or
 * communicators aborted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_nccl/fixture.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>

#define OWN ((rank)->rank)

/* The sum of one u32 over the communicator. */
static enum pw_nccl_result sum(const struct rank *rank, struct ncclComm *comm, unsigned long long word, struct CUstream_st *stream)
{
        return rank->nccl->ncclAllReduce(memory_at(word), memory_at(word), 1, PW_NCCL_U32, PW_NCCL_SUM, comm, stream);
}

static uint32_t word_of(const struct rank *rank, unsigned long long word)
{
        uint32_t value;

        memory_read(rank, &value, word, sizeof value);
        return value;
}

/* The kernel is in its stream when the communicator says so, not when the call is over: mean delay 50 ms. */
static void is_late(struct rank *rank)
{
        unsigned long long word = memory_make(rank, &(uint32_t){ 5 }, 4);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);

        GIVES(IN_PROGRESS, sum(rank, comm, word, rank->stream));
        GIVES(INVALID_ARGUMENT, sum(rank, comm, word, rank->stream));
        GOOD(rank->cuda->cuStreamQuery(rank->stream));
        GIVES(IN_PROGRESS, comm_state(rank, comm));
        GIVES(SUCCESS, comm_settle(rank, comm));
        assert_int_equal(word_of(rank, word), 10);
}

/* 10 ms in the mean, 20 times. */
static void is_delayed(struct rank *rank)
{
        unsigned long long word = memory_make(rank, NULL, 4);
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);
        uint64_t begin_us = now_us();

        for (int i = 0; i < 20; i++)
                comm_did(rank, comm, sum(rank, comm, word, rank->stream));
        assert_true(now_us() - begin_us > 50000);
}

static void test_late(void **state)
{
        (void)state;
        ranks_try("delay_us = 50000\nseed = 3\n", 2, is_late);
        ranks_try("delay_us = 10000\n", 1, is_delayed);
}

/* Nobody is done before the last one has begun, and finalizing waits for what is in streams. */
static void is_together(struct rank *rank)
{
        unsigned long long word = memory_make(rank, &(uint32_t){ 5 }, 4);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);

        if (OWN)
                mark_meet(rank, 0, 1);
        comm_did(rank, comm, sum(rank, comm, word, rank->stream));
        if (!OWN) {
                assert_false(stream_ends(rank, rank->stream, LONG_US));
                GIVES(IN_PROGRESS, rank->nccl->ncclCommFinalize(comm));
                GIVES(IN_PROGRESS, comm_state(rank, comm));
                mark_set(rank, 0);
        } else {
                rank->nccl->ncclCommFinalize(comm);
        }
        GIVES(SUCCESS, comm_settle(rank, comm));
        assert_true(stream_ends(rank, rank->stream, 100 * LONG_US));
        assert_int_equal(word_of(rank, word), 10);
        GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comm));
}

static void test_together(void **state)
{
        (void)state;
        ranks_try("", 2, is_together);
}

/* Two communicators of the same three devices, by one stream each: in the same order they pass. */
static void has_one_order(struct rank *rank)
{
        unsigned long long words[2];
        struct ncclComm *comms[2];

        for (uint32_t c = 0; c < 2; c++) {
                words[c] = memory_make(rank, &(uint32_t){ 1 }, 4);
                comms[c] = comm_make(rank, c, c ? 2 - OWN : OWN, 3);
        }
        for (uint32_t i = 0; i < 20; i++)
                comm_did(rank, comms[i % 2], sum(rank, comms[i % 2], words[i % 2], rank->stream));
        GOOD(rank->cuda->cuStreamSynchronize(rank->stream));
        for (uint32_t c = 0; c < 2; c++) {
                assert_int_equal(word_of(rank, words[c]), 59049); /* 3 to the 10th */
                GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comms[c]));
        }
}

static void test_one_order(void **state)
{
        (void)state;
        ranks_try("", 3, has_one_order);
}

/* Where each has a stream of its own, events make the order. */
static void is_ordered_by_events(struct rank *rank)
{
        const struct pw_cuda_driver *cuda = rank->cuda;
        struct CUstream_st *streams[2] = { rank->stream, stream_make(rank) };
        unsigned long long words[2];
        struct ncclComm *comms[2];
        struct CUevent_st *event;

        GOOD(cuda->cuEventCreate(&event, PW_CUDA_EVENT_DISABLE_TIMING));
        for (uint32_t c = 0; c < 2; c++) {
                words[c] = memory_make(rank, &(uint32_t){ 1 }, 4);
                comms[c] = comm_make(rank, c, OWN, 2);
        }
        for (uint32_t i = 0; i < 20; i++) {
                comm_did(rank, comms[i % 2], sum(rank, comms[i % 2], words[i % 2], streams[i % 2]));
                GOOD(cuda->cuEventRecord(event, streams[i % 2]));
                GOOD(cuda->cuStreamWaitEvent(streams[(i + 1) % 2], event, 0));
        }
        GOOD(cuda->cuStreamSynchronize(streams[0]));
        assert_int_equal(word_of(rank, words[0]), 1024);
        assert_int_equal(word_of(rank, words[1]), 1024);
}

static void test_events(void **state)
{
        (void)state;
        ranks_try("", 2, is_ordered_by_events);
}

/* Three communicators of two devices each, around: each rank begins with another one, and nobody goes on. By one stream, or by two:
 * a device runs one kernel at a time. Rank r is in communicators r and r + 1, modulo 3. */
static void has_a_circle(struct rank *rank, bool has_two_streams)
{
        struct CUstream_st *second = has_two_streams ? stream_make(rank) : rank->stream;
        struct ncclComm *own = comm_ask(rank, OWN, 0, 2), *next = comm_ask(rank, (OWN + 1) % 3, 1, 2);
        unsigned long long words[2] = { memory_make(rank, NULL, 4), memory_make(rank, NULL, 4) };

        GIVES(SUCCESS, comm_settle(rank, own));
        GIVES(SUCCESS, comm_settle(rank, next));
        comm_did(rank, own, sum(rank, own, words[0], rank->stream));
        /* It has begun, where the other one has a stream of its own. */
        if (has_two_streams)
                assert_false(stream_ends(rank, rank->stream, LONG_US));
        comm_did(rank, next, sum(rank, next, words[1], second));
        assert_false(stream_ends(rank, rank->stream, 2 * LONG_US));
        assert_false(stream_ends(rank, second, 0));
        GIVES(SUCCESS, comm_state(rank, own));
        mark_set(rank, 0);
        mark_meet(rank, 0, 3);
        /* What the device is at ends first: the other one has not begun, and cannot look before. */
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(own));
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(next));
        assert_true(stream_ends(rank, rank->stream, 0) && stream_ends(rank, second, 0));
}

static void has_a_circle_in_one(struct rank *rank) { has_a_circle(rank, false); }
static void has_a_circle_in_two(struct rank *rank) { has_a_circle(rank, true); }

static void test_circle(void **state)
{
        (void)state;
        ranks_try("", 3, has_a_circle_in_one);
        ranks_try("", 3, has_a_circle_in_two);
}

struct abort { const struct rank *rank; struct ncclComm *comm; _Atomic bool is_over; };

static void *abort_run(void *argument)
{
        struct abort *task = argument;

        GIVES(SUCCESS, task->rank->nccl->ncclCommAbort(task->comm));
        task->is_over = true;
        return NULL;
}

/* A kernel that another communicator's keeps from its device cannot see that it is aborted: the abort waits for the other one. */
static void aborts_the_second(struct rank *rank)
{
        struct ncclComm *first = comm_make(rank, 0, OWN, 2), *second = comm_make(rank, 1, OWN, 2);
        unsigned long long word = memory_make(rank, NULL, 4);
        struct CUstream_st *other = stream_make(rank);
        struct abort task = { .rank = rank, .comm = second };
        uint64_t begin_us = now_us();
        pthread_t thread;

        if (!OWN) {
                comm_did(rank, first, sum(rank, first, word, rank->stream));
                assert_false(stream_ends(rank, rank->stream, LONG_US));
                comm_did(rank, second, sum(rank, second, word, other));
                GOOD(pthread_create(&thread, NULL, abort_run, &task));
                for (begin_us = now_us(); now_us() - begin_us < LONG_US;)
                        assert_false(task.is_over);
                GIVES(SUCCESS, rank->nccl->ncclCommAbort(first));
                GOOD(pthread_join(thread, NULL));
        }
}

static void test_abort_second(void **state)
{
        (void)state;
        ranks_try("", 2, aborts_the_second);
}

/* Rank 1 is killed before it begins, or in the middle; the others wait, are told nothing, and leave. */
static void loses_one(struct rank *rank, bool begins)
{
        uint64_t bytes = begins ? 64 << 20 : 1024;
        unsigned long long memory = memory_make(rank, NULL, bytes);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 3);

        if (OWN == 1 && !begins)
                rank_kill(rank);
        comm_did(rank, comm, rank->nccl->ncclAllReduce(memory_at(memory), memory_at(memory), bytes, PW_NCCL_I8, PW_NCCL_MAX, comm,
                                                       rank->stream));
        if (OWN == 1) {
                stream_ends(rank, rank->stream, 5000);
                rank_kill(rank);
        }
        while (!rank->scene->is_killed[1])
                sched_yield();
        assert_false(stream_ends(rank, rank->stream, 5 * LONG_US));
        GIVES(SUCCESS, comm_state(rank, comm));
        /* The first leaves, which tells the other nothing. */
        if (OWN == 2)
                mark_meet(rank, 0, 1);
        if (OWN == 2) {
                assert_false(stream_ends(rank, rank->stream, LONG_US));
                GIVES(SUCCESS, comm_state(rank, comm));
        }
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(comm));
        mark_set(rank, 0);
        GOOD(rank->cuda->cuStreamSynchronize(rank->stream));
}

static void loses_one_before(struct rank *rank) { loses_one(rank, false); }
static void loses_one_within(struct rank *rank) { loses_one(rank, true); }

static void test_killed(void **state)
{
        (void)state;
        ranks_try("", 3, loses_one_before);
        ranks_try("", 3, loses_one_within);
}

/* After an abort a communicator of the same devices is made anew, and works. */
static void is_made_anew(struct rank *rank)
{
        unsigned long long word = memory_make(rank, &(uint32_t){ 4 }, 4);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);

        if (!OWN) {
                comm_did(rank, comm, sum(rank, comm, word, rank->stream));
                assert_false(stream_ends(rank, rank->stream, LONG_US));
        }
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(comm));
        comm = comm_make(rank, 1, OWN, 2);
        comm_did(rank, comm, sum(rank, comm, word, rank->stream));
        assert_int_equal(word_of(rank, word), 8);
}

static void test_anew(void **state)
{
        (void)state;
        ranks_try("", 2, is_made_anew);
}

/* An abort that does not return: its kernels end and it says so, or not even that. */
static void hangs(struct rank *rank, bool kernels_end)
{
        unsigned long long word = memory_make(rank, NULL, 4);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);
        struct abort task = { .rank = rank, .comm = comm };
        pthread_t thread;

        if (OWN) {
                mark_meet(rank, 0, 1);
                return;
        }
        comm_did(rank, comm, sum(rank, comm, word, rank->stream));
        assert_false(stream_ends(rank, rank->stream, LONG_US));
        GOOD(pthread_create(&thread, NULL, abort_run, &task));
        assert_int_equal(stream_ends(rank, rank->stream, kernels_end ? 100 * LONG_US : LONG_US), kernels_end);
        assert_int_equal(comm_state(rank, comm), kernels_end ? PW_NCCL_INTERNAL_ERROR : PW_NCCL_SUCCESS);
        assert_false(task.is_over);
        mark_set(rank, 0);
}

static void hangs_after(struct rank *rank) { hangs(rank, true); }
static void hangs_before(struct rank *rank) { hangs(rank, false); }

static void test_hang(void **state)
{
        (void)state;
        ranks_try("hang_abort = 1\n", 2, hangs_after);
        ranks_try("hang_abort = 2\n", 2, hangs_before);
}

/* A rank whose device may not reach what it reads, or writes: its context is broken; the other one waits where it got nothing. */
static void faults(struct rank *rank, bool is_writing)
{
        unsigned long long word = memory_make(rank, NULL, 4), nothing = word + (8 << 20);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);
        void *from = memory_at(OWN || is_writing ? word : nothing), *to = memory_at(OWN || !is_writing ? word : nothing);

        comm_did(rank, comm, rank->nccl->ncclAllReduce(from, to, 1, PW_NCCL_U32, PW_NCCL_SUM, comm, rank->stream));
        if (OWN && is_writing) {
                GOOD(rank->cuda->cuStreamSynchronize(rank->stream));
        } else if (OWN) {
                assert_false(stream_ends(rank, rank->stream, 2 * LONG_US));
                GIVES(SUCCESS, comm_state(rank, comm));
        } else {
                assert_int_equal(rank->cuda->cuStreamSynchronize(rank->stream), PW_CUDA_ILLEGAL_ADDRESS);
        }
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(comm));
}

static void faults_reading(struct rank *rank) { faults(rank, false); }
static void faults_writing(struct rank *rank) { faults(rank, true); }

static void test_fault(void **state)
{
        (void)state;
        ranks_try("", 2, faults_reading);
        ranks_try("", 2, faults_writing);
}

/* Whoever asks for another collective than the others has a bug; NCCL would hang, or worse. */
static void differs(struct rank *rank)
{
        unsigned long long memory = memory_make(rank, NULL, 64);
        struct ncclComm *comm = comm_make(rank, 0, OWN, 2);

        rank->nccl->ncclAllReduce(memory_at(memory), memory_at(memory), 1 + OWN, PW_NCCL_U32, PW_NCCL_SUM, comm, rank->stream);
        comm_settle(rank, comm);
        stream_ends(rank, rank->stream, 100 * LONG_US);
}

static void test_differ(void **state)
{
        (void)state;
        ranks_die("", 2, differs, "asks for collective 0 of");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_late),   cmocka_unit_test(test_together), cmocka_unit_test(test_one_order),
                cmocka_unit_test(test_events), cmocka_unit_test(test_circle),   cmocka_unit_test(test_abort_second),
                cmocka_unit_test(test_killed), cmocka_unit_test(test_anew),     cmocka_unit_test(test_hang),
                cmocka_unit_test(test_fault),  cmocka_unit_test(test_differ),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
