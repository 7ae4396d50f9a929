/* The library and its communicators: how they are found, made and left, and what a configuration says of calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_nccl/fixture.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static enum pw_nccl_result sum(const struct rank *rank, struct ncclComm *comm, unsigned long long at)
{
        return rank->nccl->ncclAllReduce(memory_at(at), memory_at(at), 1, PW_NCCL_F32, PW_NCCL_SUM, comm, rank->stream);
}

static void opens(struct rank *rank)
{
        struct pw_nccl_library *library;
        struct pw_error err;

        assert_int_equal(rank->nccl->version, 22901);
        assert_int_equal(pw_nccl_library_open("libnccl.so.none", &library, &err), PW_NOT_FOUND);
        assert_non_null(strstr(err.text, "libnccl.so.none"));
        assert_non_null(strstr(err.text, "install NCCL 2.28 or newer"));
        assert_int_equal(pw_nccl_library_open("libm.so.6", &library, &err), PW_UNSUPPORTED);
        assert_non_null(strstr(err.text, "libm.so.6: has no ncclGetVersion: "));
        assert_int_equal(pw_nccl_library_open("libm.so.6", &library, NULL), PW_UNSUPPORTED);
        assert_int_equal(pw_nccl_library_open(rank->scene->nccl, &library, &err), PW_SYSTEM);
        assert_non_null(strstr(err.text, "the version of NCCL: internal error"));
}

static void test_open(void **state)
{
        (void)state;
        ranks_try("version = 22901\nfail = ncclGetVersion@2=3\n", 1, opens);
        ranks_die("version = 22703\n", 1, opens, "NCCL too old: is 2.27, needs 2.28: install a newer one");
        ranks_die("version = 2708\n", 1, opens, "NCCL too old: is 2.7, needs 2.28: install a newer one");
        ranks_die("versions = 22703\n", 1, opens, "fake_nccl.conf: no key versions");
}

static void errors_map(struct rank *rank)
{
        const struct pw_nccl_library *nccl = rank->nccl;
        struct pw_error err;

        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_IN_PROGRESS, "a sum", &err), PW_NOT_READY);
        assert_string_equal(err.text, "a sum: NCCL operation in progress (ncclInProgress, 7): it is not over yet");
        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_REMOTE_ERROR, "a sum", &err), PW_DEVICE_LOST);
        assert_string_equal(err.text, "a sum: remote process exited or there was a network error (ncclRemoteError, 6): "
                                      "another rank has ended, or its network");
        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_UNHANDLED_CUDA_ERROR, "x", NULL), PW_SYSTEM);
        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_SYSTEM_ERROR, "x", NULL), PW_SYSTEM);
        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_INTERNAL_ERROR, "x", NULL), PW_SYSTEM);
        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_INVALID_ARGUMENT, "x", NULL), PW_INVALID);
        assert_int_equal(pw_nccl_error(nccl, PW_NCCL_INVALID_USAGE, "x", NULL), PW_INVALID);
        assert_int_equal(pw_nccl_error(nccl, (enum pw_nccl_result)77, "x", &err), PW_SYSTEM);
        assert_string_equal(err.text, "x: unknown result code (NCCL, 77): unknown to this version; "
                                      "pathwaysd --no-nccl does without NCCL");
        GIVES(INVALID_USAGE, nccl->ncclGroupEnd());
        pw_nccl_error(nccl, PW_NCCL_INVALID_USAGE, "x", &err);
        assert_non_null(strstr(err.text, ": ncclGroupEnd without ncclGroupStart"));
}

static void test_errors(void **state)
{
        (void)state;
        ranks_try("", 1, errors_map);
}

/* The last one comes when the others have seen that they wait. */
static void joins(struct rank *rank)
{
        struct ncclComm *comm;
        uint64_t begin_us;

        if (rank->rank == 2)
                mark_meet(rank, 0, 2);
        comm = comm_ask(rank, 0, rank->rank, 3);
        if (rank->rank != 2) {
                for (begin_us = now_us(); now_us() - begin_us < LONG_US;)
                        GIVES(IN_PROGRESS, comm_state(rank, comm));
                GIVES(INVALID_ARGUMENT, sum(rank, comm, 0));
                mark_set(rank, 0);
        }
        GIVES(SUCCESS, comm_settle(rank, comm));
        /* The last one to join removes it before it is ready itself. */
        mark_set(rank, 2);
        mark_meet(rank, 2, 3);
        assert_int_equal(access(rank->scene->ids[0].bytes, F_OK), -1);
        GIVES(SUCCESS, rank->nccl->ncclCommFinalize(comm));
        GIVES(SUCCESS, comm_state(rank, comm));
        GIVES(INVALID_ARGUMENT, sum(rank, comm, 0));
        GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comm));
        /* The id is used up. */
        mark_set(rank, 1);
        mark_meet(rank, 1, 3);
        comm = comm_ask(rank, 0, rank->rank, 3);
        GIVES(REMOTE_ERROR, comm_settle(rank, comm));
        GIVES(REMOTE_ERROR, rank->nccl->ncclCommDestroy(comm));
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(comm));
}

static void test_join(void **state)
{
        (void)state;
        ranks_try("", 3, joins);
}

/* Rank 1 never comes, or when rank 0 has left; so rank 1 waits for ever too. */
static void joins_nobody(struct rank *rank)
{
        struct ncclComm *comm;
        uint64_t begin_us;

        if (rank->rank)
                mark_meet(rank, 0, 1);
        comm = comm_ask(rank, 1, rank->rank, 2);
        for (begin_us = now_us(); now_us() - begin_us < LONG_US;)
                GIVES(IN_PROGRESS, comm_state(rank, comm));
        GIVES(SUCCESS, rank->nccl->ncclCommAbort(comm));
        mark_set(rank, 0);
}

static void test_join_nobody(void **state)
{
        (void)state;
        ranks_try("", 1, joins_nobody);
        ranks_try("", 2, joins_nobody);
}

/* It is killed in the call, or before it has joined: the mean delay is 10 s. Nobody is told. */
static void dies_joining(struct rank *rank)
{
        struct ncclComm *comm;
        uint64_t begin_us;

        if (rank->rank) {
                comm_ask(rank, 0, 1, 2);
                rank_kill(rank);
        }
        while (!rank->scene->is_killed[1])
                sched_yield();
        comm = comm_ask(rank, 0, 0, 2);
        for (begin_us = now_us(); now_us() - begin_us < LONG_US;)
                GIVES(IN_PROGRESS, comm_state(rank, comm));
}

static void test_killed_joining(void **state)
{
        (void)state;
        ranks_try("delay_us = 10000000\nseed = 5\n", 2, dies_joining);
}

/* That of the two which comes second. */
static void one_fails(const struct rank *rank, struct ncclComm *one, struct ncclComm *other)
{
        while (comm_state(rank, one) == PW_NCCL_IN_PROGRESS && comm_state(rank, other) == PW_NCCL_IN_PROGRESS)
                sched_yield();
        assert_true(comm_state(rank, one) == PW_NCCL_INVALID_ARGUMENT || comm_state(rank, other) == PW_NCCL_INVALID_ARGUMENT);
}

static void joins_wrongly(struct rank *rank)
{
        struct pw_nccl_config config = PW_NCCL_CONFIG_INIT, unset = { .size = sizeof unset };
        const struct pw_nccl_library *nccl = rank->nccl;
        struct ncclComm *comm;

        GIVES(INVALID_ARGUMENT, nccl->ncclCommInitRankConfig(&comm, 2, rank->scene->ids[0], 2, &config));
        GIVES(INVALID_ARGUMENT, nccl->ncclCommInitRankConfig(&comm, 2, rank->scene->ids[0], -1, &config));
        GIVES(INVALID_ARGUMENT, nccl->ncclCommInitRankConfig(&comm, 2, rank->scene->ids[0], 0, &unset));
        one_fails(rank, comm_ask(rank, 0, 0, 2), comm_ask(rank, 0, 0, 2));
        one_fails(rank, comm_ask(rank, 1, 0, 3), comm_ask(rank, 1, 1, 4));
        GOOD(rank->cuda->cuCtxSetCurrent(NULL));
        GIVES(UNHANDLED_CUDA_ERROR, nccl->ncclCommInitRankConfig(&comm, 1, rank->scene->ids[2], 0, &config));
}

static void test_join_wrongly(void **state)
{
        (void)state;
        ranks_try("", 1, joins_wrongly);
}

/* Without a config, or where it says so, calls wait. */
static void blocks(struct rank *rank)
{
        float value = 3;
        unsigned long long memory = memory_make(rank, &value, sizeof value);
        struct ncclComm *comm;

        GIVES(SUCCESS, rank->nccl->ncclCommInitRankConfig(&comm, 2, rank->scene->ids[0], (int)rank->rank, NULL));
        GIVES(SUCCESS, comm_state(rank, comm));
        GIVES(SUCCESS, sum(rank, comm, memory));
        GIVES(SUCCESS, rank->nccl->ncclCommFinalize(comm));
        assert_true(stream_ends(rank, rank->stream, 0));
        memory_read(rank, &value, memory, sizeof value);
        assert_true(value == 6);
        GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comm));
}

static void test_blocking(void **state)
{
        (void)state;
        ranks_try("", 2, blocks);
}

static void registers(struct rank *rank)
{
        unsigned long long memory = memory_make(rank, NULL, 4096);
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);
        void *handle, *second;

        GIVES(SUCCESS, rank->nccl->ncclCommRegister(comm, memory_at(memory), 4096, &handle));
        GIVES(SUCCESS, rank->nccl->ncclCommRegister(comm, memory_at(memory), 16, &second));
        GIVES(INVALID_ARGUMENT, rank->nccl->ncclCommRegister(comm, memory_at(memory), 4097, &second));
        GIVES(SUCCESS, rank->nccl->ncclCommDeregister(comm, handle));
        GIVES(INVALID_USAGE, rank->nccl->ncclCommDeregister(comm, handle));
        GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comm));
}

static void registers_not(struct rank *rank)
{
        unsigned long long memory = memory_make(rank, NULL, 4096);
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);
        void *handle;

        GIVES(SYSTEM_ERROR, rank->nccl->ncclCommRegister(comm, memory_at(memory), 4096, &handle));
        GIVES(SUCCESS, comm_state(rank, comm));
}

static void test_register(void **state)
{
        (void)state;
        ranks_try("", 1, registers);
        ranks_try("refuse_register = 2\n", 1, registers_not);
}

/* Of a call, at once; of ncclCommGetAsyncError, what it says from then on. */
static void fails(struct rank *rank)
{
        unsigned long long memory = memory_make(rank, NULL, 4);
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);
        const struct pw_nccl_library *nccl = rank->nccl;

        GIVES(SYSTEM_ERROR, sum(rank, comm, memory));
        comm_did(rank, comm, sum(rank, comm, memory));
        for (int i = 0; i < 100000 && comm_state(rank, comm) == PW_NCCL_SUCCESS; i++)
                ;
        GIVES(REMOTE_ERROR, comm_state(rank, comm));
        GIVES(REMOTE_ERROR, sum(rank, comm, memory));
        GIVES(SUCCESS, nccl->ncclCommAbort(comm));
}

static void test_fails(void **state)
{
        (void)state;
        ranks_try("fail = ncclAllReduce@1=2, ncclCommGetAsyncError@100000=6\n", 1, fails);
        ranks_die("fail = ncclAllReduce@1\n", 1, fails, "is not FUNCTION@COUNT=RESULT");
        ranks_die("fail = ncclAllReduces@1=2\n", 1, fails, "no function ncclAllReduces");
}

static void counts(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);
        char path[96], text[1024] = "", line[64];
        uint64_t (*calls)(const char *name);
        void (*write)(void);
        void *found = dlsym(rank->nccl->library, "fake_nccl_calls");
        FILE *file;

        memcpy(&calls, &found, sizeof found);
        found = dlsym(rank->nccl->library, "fake_nccl_counts");
        memcpy(&write, &found, sizeof found);
        GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comm));
        assert_int_equal(calls("ncclGetUniqueId"), IDS);
        assert_int_equal(calls("ncclCommDestroy"), 1);
        assert_int_equal(calls("ncclAllReduce"), 0);
        write();
        snprintf(path, sizeof path, "%s/said", rank->scene->folder);
        file = fopen(path, "re");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        snprintf(line, sizeof line, "%d ncclCommInitRankConfig 1\n", (int)getpid());
        assert_non_null(strstr(text, line));
}

static void test_counts(void **state)
{
        (void)state;
        ranks_try("counts = said\n", 1, counts);
}

static void uses_what_is_gone(struct rank *rank)
{
        struct ncclComm *comm = comm_make(rank, 0, 0, 1);

        GIVES(SUCCESS, rank->nccl->ncclCommDestroy(comm));
        comm_state(rank, comm);
}

static void test_gone(void **state)
{
        (void)state;
        ranks_die("", 1, uses_what_is_gone, "ncclCommGetAsyncError of a communicator that is gone");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open),         cmocka_unit_test(test_errors),         cmocka_unit_test(test_join),
                cmocka_unit_test(test_join_nobody),  cmocka_unit_test(test_killed_joining), cmocka_unit_test(test_join_wrongly),
                cmocka_unit_test(test_blocking),     cmocka_unit_test(test_register),       cmocka_unit_test(test_fails),
                cmocka_unit_test(test_counts),       cmocka_unit_test(test_gone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
