/* What this driver exports to other fakes that work on its devices, as a fake NCCL does: work of theirs in a stream. They find the
 * functions by dlsym, for a test may have any library of this name loaded. A real driver has none of them.
 */
#ifndef PW_TESTS_FAKE_CUDA_ENQUEUE_H
#define PW_TESTS_FAKE_CUDA_ENQUEUE_H

#include "executor/device/cuda/cuda_driver.h"

struct fake_enqueued {
        /* In its turn, on the stream's thread; it may wait for long. What it gives sticks. It is not called where an error sticks
         * already, or the context is no more. */
        enum pw_cuda_result (*run)(void *argument);
        /* It is over, or was never run. Under the driver's lock: calls nothing of the driver. */
        void (*drop)(void *argument);
        void *argument;
};

/* X(name, type of what it returns, parameters) */
#define FAKE_ENQUEUE_MAP(X)                                                                                            \
        /* Behind all that the stream was given before. On failure `drop` is not called. */                            \
        X(fake_cuda_enqueue, enum pw_cuda_result, (struct CUstream_st *stream, const struct fake_enqueued *work))      \
        /* The device of this thread's context; -1: it has none. */                                                    \
        X(fake_cuda_device, int, (void))                                                                               \
        /* Memory of a device, of this process: taken, or given back. False: there is not as much. */                  \
        X(fake_cuda_takes, bool, (int device, uint64_t bytes))                                                         \
        X(fake_cuda_gives, void, (int device, uint64_t bytes))                                                         \
        /* That of a stream; -1: no such stream. Stream 0 is the end of the process. */                                \
        X(fake_cuda_stream_device, int, (struct CUstream_st *stream))                                                  \
        /* May that device touch all of that? */                                                                       \
        X(fake_cuda_reaches, bool, (int device, unsigned long long address, size_t bytes, bool writes))                \
        /* Called by `run`. Is there still somebody to run for? */                                                     \
        X(fake_cuda_goes_on, bool, (struct CUstream_st *stream))                                                       \
        /* The same: bytes at an address of the device. False: it may not touch them all. */                           \
        X(fake_cuda_read, bool, (struct CUstream_st *stream, void *to, unsigned long long from, size_t bytes))         \
        X(fake_cuda_write, bool, (struct CUstream_st *stream, unsigned long long to, const void *from, size_t bytes))

#define FAKE_ENQUEUE_DECLARE(name, type, parameters) type name parameters;
FAKE_ENQUEUE_MAP(FAKE_ENQUEUE_DECLARE)
#undef FAKE_ENQUEUE_DECLARE

#endif
