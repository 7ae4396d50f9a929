/* The part of NCCL that kind nccl uses, declared here: so it builds without NVIDIA's headers, and the library is looked for when a
 * communicator is first asked for. tests/gpu/nccl_header_test.c holds this file against a nccl.h.
 *
 * Names are those of NCCL's manual, which says what each function does; only those of types and numbers begin with pw_nccl.
 * Every communicator is made with `blocking` 0: a call that gives PW_NCCL_IN_PROGRESS is over, and what it asks for is in its
 * stream, when ncclCommGetAsyncError() says so; until then no other call on that communicator.
 */
#ifndef PW_EXECUTOR_NCCL_LIBRARY_H
#define PW_EXECUTOR_NCCL_LIBRARY_H

#include "base/error.h"

#include <limits.h>
#include <stddef.h>

#define PW_NCCL_LIBRARY "libnccl.so.2"
#define PW_NCCL_VERSION_MIN 22800 /* 10000 times the major number, 100 times the minor one; that of struct pw_nccl_config too */

/* X(name, number, NCCL's name, status, what it means here) */
#define PW_NCCL_RESULT_MAP(X)                                                                                          \
        X(UNHANDLED_CUDA_ERROR, 1, ncclUnhandledCudaError, PW_SYSTEM, "the next call of the CUDA driver says more")    \
        X(SYSTEM_ERROR, 2, ncclSystemError, PW_SYSTEM, "the operating system, or a network card, refused")             \
        X(INTERNAL_ERROR, 3, ncclInternalError, PW_SYSTEM, "NCCL has a bug, or its memory was written over")           \
        X(INVALID_ARGUMENT, 4, ncclInvalidArgument, PW_INVALID, "a call of NCCL was wrong")                            \
        X(INVALID_USAGE, 5, ncclInvalidUsage, PW_INVALID, "ranks and devices do not fit, or calls of NCCL come out of order") \
        X(REMOTE_ERROR, 6, ncclRemoteError, PW_DEVICE_LOST, "another rank has ended, or its network")                  \
        X(IN_PROGRESS, 7, ncclInProgress, PW_NOT_READY, "it is not over yet")

enum pw_nccl_result {
        PW_NCCL_SUCCESS = 0,
#define PW_NCCL_RESULT_ENUM(name, number, theirs, status, text) PW_NCCL_##name = number,
        PW_NCCL_RESULT_MAP(PW_NCCL_RESULT_ENUM)
#undef PW_NCCL_RESULT_ENUM
};

/* X(name, number, NCCL's name, bytes of an element) */
#define PW_NCCL_DTYPE_MAP(X)                                                                                           \
        X(I8, 0, ncclInt8, 1)                                                                                          \
        X(U8, 1, ncclUint8, 1)                                                                                         \
        X(I32, 2, ncclInt32, 4)                                                                                        \
        X(U32, 3, ncclUint32, 4)                                                                                       \
        X(I64, 4, ncclInt64, 8)                                                                                        \
        X(U64, 5, ncclUint64, 8)                                                                                       \
        X(F16, 6, ncclFloat16, 2)                                                                                      \
        X(F32, 7, ncclFloat32, 4)                                                                                      \
        X(F64, 8, ncclFloat64, 8)                                                                                      \
        X(BF16, 9, ncclBfloat16, 2)                                                                                    \
        X(F8_E4M3, 10, ncclFloat8e4m3, 1)                                                                              \
        X(F8_E5M2, 11, ncclFloat8e5m2, 1)

enum pw_nccl_dtype {
#define PW_NCCL_DTYPE_ENUM(name, number, theirs, bytes) PW_NCCL_##name = number,
        PW_NCCL_DTYPE_MAP(PW_NCCL_DTYPE_ENUM)
#undef PW_NCCL_DTYPE_ENUM
};

enum pw_nccl_op { PW_NCCL_SUM = 0, PW_NCCL_PROD = 1, PW_NCCL_MAX = 2, PW_NCCL_MIN = 3 };

#define PW_NCCL_ID_BYTES 128u
struct pw_nccl_id { char bytes[PW_NCCL_ID_BYTES]; };

/* As of PW_NCCL_VERSION_MIN, which newer releases understand. */
#define PW_NCCL_CONFIG_MAGIC 0xcafebeefu
#define PW_NCCL_CONFIG_UNSET INT_MIN
struct pw_nccl_config {
        size_t size;
        unsigned magic, version;
        int blocking;
        int cga_cluster_size, min_ctas, max_ctas;
        const char *net_name;
        int split_share, traffic_class;
        const char *comm_name;
        int collnet_enable, cta_policy, shrink_share, nvls_ctas, channels_per_net_peer, nvlink_centric_sched;
};
/* Only `blocking` is set; NCCL chooses the rest. */
#define PW_NCCL_CONFIG_INIT                                                                                            \
        {                                                                                                              \
                .size = sizeof(struct pw_nccl_config), .magic = PW_NCCL_CONFIG_MAGIC, .version = PW_NCCL_VERSION_MIN,   \
                .blocking = 0, .cga_cluster_size = PW_NCCL_CONFIG_UNSET, .min_ctas = PW_NCCL_CONFIG_UNSET,              \
                .max_ctas = PW_NCCL_CONFIG_UNSET, .net_name = NULL, .split_share = PW_NCCL_CONFIG_UNSET,                \
                .traffic_class = PW_NCCL_CONFIG_UNSET, .comm_name = NULL, .collnet_enable = PW_NCCL_CONFIG_UNSET,       \
                .cta_policy = PW_NCCL_CONFIG_UNSET, .shrink_share = PW_NCCL_CONFIG_UNSET,                               \
                .nvls_ctas = PW_NCCL_CONFIG_UNSET, .channels_per_net_peer = PW_NCCL_CONFIG_UNSET,                       \
                .nvlink_centric_sched = PW_NCCL_CONFIG_UNSET,                                                          \
        }

/* NCCL's own, and the driver's: their tags. */
struct ncclComm;
struct CUstream_st;

/* X(name, type of what it returns, parameters) */
#define PW_NCCL_FUNCTION_MAP(X)                                                                                        \
        X(ncclGetVersion, enum pw_nccl_result, (int *version))                                                         \
        X(ncclGetErrorString, const char *, (enum pw_nccl_result result))                                              \
        X(ncclGetLastError, const char *, (struct ncclComm *comm))                                                     \
        X(ncclGetUniqueId, enum pw_nccl_result, (struct pw_nccl_id *id))                                               \
        X(ncclCommInitRankConfig, enum pw_nccl_result,                                                                 \
          (struct ncclComm **comm, int rank_count, struct pw_nccl_id id, int rank, struct pw_nccl_config *config))     \
        X(ncclCommGetAsyncError, enum pw_nccl_result, (struct ncclComm *comm, enum pw_nccl_result *result))            \
        X(ncclCommFinalize, enum pw_nccl_result, (struct ncclComm *comm))                                              \
        X(ncclCommDestroy, enum pw_nccl_result, (struct ncclComm *comm))                                               \
        X(ncclCommAbort, enum pw_nccl_result, (struct ncclComm *comm))                                                 \
        X(ncclCommRegister, enum pw_nccl_result, (struct ncclComm *comm, void *memory, size_t bytes, void **handle))   \
        X(ncclCommDeregister, enum pw_nccl_result, (struct ncclComm *comm, void *handle))                              \
        X(ncclGroupStart, enum pw_nccl_result, (void))                                                                 \
        X(ncclGroupEnd, enum pw_nccl_result, (void))                                                                   \
        X(ncclAllReduce, enum pw_nccl_result,                                                                          \
          (const void *from, void *to, size_t count, enum pw_nccl_dtype dtype, enum pw_nccl_op op,                     \
           struct ncclComm *comm, struct CUstream_st *stream))                                                         \
        X(ncclReduceScatter, enum pw_nccl_result,                                                                      \
          (const void *from, void *to, size_t to_count, enum pw_nccl_dtype dtype, enum pw_nccl_op op,                  \
           struct ncclComm *comm, struct CUstream_st *stream))                                                         \
        X(ncclAllGather, enum pw_nccl_result,                                                                          \
          (const void *from, void *to, size_t from_count, enum pw_nccl_dtype dtype, struct ncclComm *comm,             \
           struct CUstream_st *stream))                                                                                \
        X(ncclBroadcast, enum pw_nccl_result,                                                                          \
          (const void *from, void *to, size_t count, enum pw_nccl_dtype dtype, int root, struct ncclComm *comm,        \
           struct CUstream_st *stream))                                                                                \
        X(ncclSend, enum pw_nccl_result,                                                                               \
          (const void *from, size_t count, enum pw_nccl_dtype dtype, int peer, struct ncclComm *comm,                  \
           struct CUstream_st *stream))                                                                                \
        X(ncclRecv, enum pw_nccl_result,                                                                               \
          (void *to, size_t count, enum pw_nccl_dtype dtype, int peer, struct ncclComm *comm, struct CUstream_st *stream))

struct pw_nccl_library {
        void *library;
        int version; /* of what was found, as PW_NCCL_VERSION_MIN */
#define PW_NCCL_FUNCTION_FIELD(name, type, parameters) type(*name) parameters;
        PW_NCCL_FUNCTION_MAP(PW_NCCL_FUNCTION_FIELD)
#undef PW_NCCL_FUNCTION_FIELD
};

/* Load NCCL: `name` is a path or a name, NULL or "" means PW_NCCL_LIBRARY. The CUDA driver is loaded already.
 * Own:    *ret_library is given back with close().
 * Errors: PW_NOT_FOUND (not installed), PW_UNSUPPORTED (too old, or no NCCL), PW_NO_MEMORY, and as pw_nccl_error(). */
PW_MUST_CHECK enum pw_status pw_nccl_library_open(const char *name, struct pw_nccl_library **ret_library, struct pw_error *ret_err);
/* The library itself stays in the process: it has threads. Accepts NULL. */
void pw_nccl_library_close(struct pw_nccl_library *library);

/* What a call gave that did not succeed, as the status of its row in the table (PW_SYSTEM where it has none) and a sentence that
 * begins with `what`. */
enum pw_status pw_nccl_error(const struct pw_nccl_library *library, enum pw_nccl_result result, const char *what,
                             struct pw_error *ret_err);

#endif
