/* A test of the fake NCCL: ranks, each in a process of its own with a device of its own, in a folder that has links to the two
 * fakes and a fake_nccl.conf.
 */
#ifndef PW_TESTS_FAKE_NCCL_FIXTURE_H
#define PW_TESTS_FAKE_NCCL_FIXTURE_H

#include "executor/collective/nccl_library.h"
#include "executor/device/cuda/cuda_driver.h"

#define RANKS_MAX 4u
#define IDS 4u
#define GOOD(call) assert_int_equal((call), 0)
#define GIVES(result, call) assert_int_equal((call), PW_NCCL_##result)
/* What is under way, and stays so, is seen after this long. */
#define LONG_US 200000u

/* What all ranks of a test see. */
struct scene {
        char folder[64], cuda[96], nccl[96], log[96];
        struct pw_nccl_id ids[IDS];
        _Atomic uint32_t has_ids, marks[4];
        _Atomic uint32_t is_killed[RANKS_MAX]; /* it kills itself: that is right */
        uint8_t bytes[RANKS_MAX][4096];        /* what each leaves for the others */
};

struct rank {
        struct scene *scene;
        uint32_t rank, count;
        struct pw_cuda_driver *cuda;
        struct pw_nccl_library *nccl;
        struct CUctx_st *context; /* of device `rank`, current */
        struct CUstream_st *stream;
};

/* Try `body` on `count` ranks with the lines `conf`. */
void ranks_try(const char *conf, uint32_t count, void (*body)(struct rank *rank));
/* The same; each rank ends by SIGABRT, and one says `text`. */
void ranks_die(const char *conf, uint32_t count, void (*body)(struct rank *rank), const char *text);
/* This rank ends here. */
void rank_kill(struct rank *rank) __attribute__((noreturn));

/* Until so many ranks have come to mark `number`. */
void mark_meet(struct rank *rank, uint32_t number, uint32_t count);
void mark_set(struct rank *rank, uint32_t number);

/* Member `number` of `of` of the communicator of that id: asked for, or ready. */
struct ncclComm *comm_ask(struct rank *rank, uint32_t id, uint32_t number, uint32_t of);
struct ncclComm *comm_make(struct rank *rank, uint32_t id, uint32_t number, uint32_t of);
/* What it says, now or when it is done with what it was asked for. */
enum pw_nccl_result comm_state(const struct rank *rank, struct ncclComm *comm);
enum pw_nccl_result comm_settle(const struct rank *rank, struct ncclComm *comm);
/* Takes what a call on `comm` gave, which is in progress, and has it in its stream. */
void comm_did(const struct rank *rank, struct ncclComm *comm, enum pw_nccl_result result);

unsigned long long memory_make(const struct rank *rank, const void *bytes, size_t count); /* NULL: zeros */
void memory_read(const struct rank *rank, void *to, unsigned long long from, size_t count); /* behind the stream */
void *memory_at(unsigned long long address); /* as NCCL is given it */
/* Is the stream done within that time? */
bool stream_ends(const struct rank *rank, struct CUstream_st *stream, uint64_t limit_us);
struct CUstream_st *stream_make(const struct rank *rank);
uint64_t now_us(void);

#endif
