/* NCCL without hardware, for tests: what its files share. README.md says where it is like a real one.
 *
 * The ranks of a communicator, each in a process of its own, meet in memory that they share: a file whose path is the unique id.
 * Only sequentially consistent operations change what more than one of them writes, and whoever waits there looks again and again:
 * so a rank that is killed leaves nothing locked, and the others waiting. In a process fake_lock guards what is here; the fake
 * driver's own lock is taken before it, so nothing of the driver is called under it.
 */
#ifndef PW_TESTS_FAKE_NCCL_FAKE_H
#define PW_TESTS_FAKE_NCCL_FAKE_H

#include "base/list.h"
#include "executor/collective/nccl_library.h"
#include "tests/fake_cuda/enqueue.h"

#include <pthread.h>
#include <stdatomic.h>

#define FAKE_RANKS_MAX 16u
#define FAKE_DEVICES_MAX 16u
#define FAKE_FAILS_MAX 16u
#define FAKE_TEXT_BYTES 1024u
#define FAKE_CHUNK_BYTES (64u << 10) /* of what a rank gives in one step of a collective */
#define FAKE_PAIR_BYTES (16u << 10)  /* of what a rank sends to another at once */
/* Of each thread, in the room that is there for libraries that come late: what is made on demand crashes the leak sanitizer. */
#define FAKE_OF_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

/* Number of each function. */
enum fake_call {
#define FAKE_CALL(name, type, parameters) FAKE_##name,
        PW_NCCL_FUNCTION_MAP(FAKE_CALL)
#undef FAKE_CALL
        FAKE_CALLS
};
/* The functions themselves, which NCCL exports and no header of the product declares. */
#define FAKE_DECLARE(name, type, parameters) type name parameters;
PW_NCCL_FUNCTION_MAP(FAKE_DECLARE)
#undef FAKE_DECLARE

/* fake_nccl.conf */
#define FAKE_HANGS ((enum pw_nccl_result)-1) /* it does not return */
struct fake_fail { enum fake_call call; uint64_t at; enum pw_nccl_result result; };
struct fake_conf {
        uint64_t version, seed, delay_us, hang_abort, refuse_register, refuse_nvls, memory;
        char counts[FAKE_TEXT_BYTES], trace[FAKE_TEXT_BYTES];
        char folder[FAKE_TEXT_BYTES]; /* where it lies: paths in it begin there */
        struct fake_fail fails[FAKE_FAILS_MAX];
        uint32_t fail_count;
};

enum fake_kind { FAKE_ALL_REDUCE, FAKE_REDUCE_SCATTER, FAKE_ALL_GATHER, FAKE_BROADCAST, FAKE_SEND, FAKE_RECV };

/* What a rank asks for in a step: all ask for the same. */
struct fake_ask { uint64_t count; uint32_t kind, dtype, op, root; };
struct fake_rank {
        _Alignas(64) _Atomic uint64_t step; /* the last one whose slot it has filled */
        _Atomic uint32_t has_joined, gpu;
        struct fake_ask asks[2];            /* by the parity of the step, as the slots are */
};
/* What one rank sends to another: its own again when `taken` is `sent`. */
struct fake_pair {
        _Atomic uint64_t sent, taken; /* pieces */
        uint64_t bytes;               /* of the whole message */
        uint8_t data[FAKE_PAIR_BYTES];
};
struct fake_meeting {
        _Atomic uint32_t rank_count, joined, left; /* 0: nobody has come, or gone */
        _Atomic uint32_t is_broken;                /* one left before all had joined: it never is whole */
        struct fake_rank ranks[FAKE_RANKS_MAX];
        uint8_t slots[FAKE_RANKS_MAX][2][FAKE_CHUNK_BYTES];
        struct fake_pair pairs[FAKE_RANKS_MAX][FAKE_RANKS_MAX]; /* from, to */
};

struct ncclComm {
        struct pw_list link;          /* of all: also when it is gone, so that a later call is seen */
        int device;
        uint32_t rank, rank_count;
        bool is_blocking, is_finalized, is_gone;
        _Atomic bool is_aborted;
        enum pw_nccl_result state;    /* in progress, or an error that stays */
        uint32_t threads;             /* that make it or launch for it */
        uint32_t kernels;             /* given to streams, and not over */
        uint64_t submitted;           /* kernels; they begin in this order, whatever their streams */
        _Atomic uint64_t begun;
        uint64_t step;                /* of its kernels, one after the other */
        struct fake_meeting *meeting; /* NULL: not yet, or there is none */
        uint8_t *scratch;             /* FAKE_CHUNK_BYTES */
        struct pw_list registered;
        unsigned random;
        char path[PW_NCCL_ID_BYTES];
};

/* One thing that is asked for. */
struct fake_part {
        struct pw_list link;
        struct ncclComm *comm;
        struct CUstream_st *stream;
        enum fake_kind kind;
        unsigned long long from, to;  /* addresses of the device */
        uint64_t count;
        enum pw_nccl_dtype dtype;
        enum pw_nccl_op op;
        int root;                     /* or the other one, of a send or a recv */
        uint64_t at;                  /* bytes that are sent, or taken */
        bool is_over;
};
/* All that one group asks of one communicator: it has the device for itself. */
struct fake_kernel {
        struct pw_list link;
        struct ncclComm *comm;
        struct CUstream_st *stream;
        uint64_t number;
        struct pw_list parts;
};

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;

/* conf.c */
const struct fake_conf *fake_conf(void);
/* The test is wrong, or what it tries: a sentence, and the end. */
void fake_abort(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* calls.c */
enum pw_nccl_result fake_enter(enum fake_call call);
/* What ncclGetLastError() says from now on; returns `result`. */
enum pw_nccl_result fake_error(enum pw_nccl_result result, const char *text);
/* How often a function was called; for tests. */
uint64_t fake_nccl_calls(const char *name);
/* Append "PID NAME COUNT" lines to the file `counts`, as happens at exit too; for tests. */
void fake_nccl_counts(void);

/* cuda.c: the fake driver of this process. */
struct fake_driver {
#define FAKE_FIELD(name, type, parameters) type(*name) parameters;
        FAKE_ENQUEUE_MAP(FAKE_FIELD)
#undef FAKE_FIELD
};
const struct fake_driver *fake_driver(void);

/* meeting.c */
struct fake_meeting *fake_meeting_open(const char *path); /* NULL: it is over, or never was */
/* The last one to join removes the path. */
enum pw_nccl_result fake_meeting_join(struct ncclComm *comm);
bool fake_meeting_is_whole(const struct ncclComm *comm);
bool fake_meeting_has_twins(const struct ncclComm *comm); /* two ranks of one GPU */
void fake_meeting_leave(struct ncclComm *comm);
void fake_nap(void);

/* comm.c */
/* Counts the call; errors are those of the configuration, and of a communicator that is not ready. */
enum pw_nccl_result fake_enter_comm(enum fake_call call, struct ncclComm *comm);
void fake_delay(struct ncclComm *comm); /* an abort ends it */
/* Under fake_lock. An error stays. */
void fake_state_set(struct ncclComm *comm, enum pw_nccl_result state);
bool fake_thread_start(void *(*run)(void *argument), void *argument);

/* kernel.c: puts it in its stream.   Own: takes it. */
void fake_kernel_submit(struct fake_kernel *kernel);
void fake_kernel_free(struct fake_kernel *kernel);

/* part.c: how a kernel does what it was asked for. `is_left` is true where it ends before that. */
enum pw_cuda_result fake_collective_run(const struct fake_kernel *kernel, const struct fake_part *part, bool *is_left);
enum pw_cuda_result fake_pairs_run(const struct fake_kernel *kernel, bool *is_left);
bool fake_is_left(const struct fake_kernel *kernel);

/* reduce.c: to[i] = to[i] op from[i]. */
void fake_reduce(const struct fake_part *part, void *to, const void *from, uint64_t bytes);
size_t fake_dtype_bytes(enum pw_nccl_dtype dtype); /* 0: no such */

#endif
