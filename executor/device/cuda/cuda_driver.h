/* The part of the CUDA driver that kind cuda uses, declared here: so it builds without NVIDIA's headers, and the library is looked
 * for when a device is opened. tests/gpu/driver_header_test.c holds this file against a cuda.h.
 *
 * Names are those of the driver's manual, which says what each function does; only those of types and numbers begin with pw_cuda.
 * Only cuda_driver.c and the files of kind cuda know enum pw_cuda_result: others are told an enum pw_status.
 * Stream 0 is never used: where a stream is asked for, one that was created is given.
 */
#ifndef PW_EXECUTOR_DEVICE_CUDA_DRIVER_H
#define PW_EXECUTOR_DEVICE_CUDA_DRIVER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PW_CUDA_LIBRARY "libcuda.so.1"
#define PW_CUDA_VERSION_MIN 12000 /* of the driver: 1000 times the major number, 10 times the minor one */
#define PW_CUDA_ARCHITECTURE_MIN 75 /* of GPUs: compute capability 7.5, as executor/device/cuda/peer.ptx says */

/* X(name, number, true: sticks). After a result that sticks every call of the context gives it, until the process ends. */
#define PW_CUDA_RESULT_MAP(X)                                                                                          \
        X(INVALID_VALUE, 1, false)                                                                                     \
        X(OUT_OF_MEMORY, 2, false)                                                                                     \
        X(NOT_INITIALIZED, 3, false)                                                                                   \
        X(DEINITIALIZED, 4, false)                                                                                     \
        X(STUB_LIBRARY, 34, false)                                                                                     \
        X(NO_DEVICE, 100, false)                                                                                       \
        X(INVALID_DEVICE, 101, false)                                                                                  \
        X(INVALID_IMAGE, 200, false)                                                                                   \
        X(INVALID_CONTEXT, 201, false)                                                                                 \
        X(MAP_FAILED, 205, false)                                                                                      \
        X(ALREADY_MAPPED, 208, false)                                                                                  \
        X(NO_BINARY_FOR_GPU, 209, false)                                                                               \
        X(ECC_UNCORRECTABLE, 214, true)                                                                                \
        X(INVALID_PTX, 218, false)                                                                                     \
        X(NVLINK_UNCORRECTABLE, 220, true)                                                                             \
        X(UNSUPPORTED_PTX_VERSION, 222, false)                                                                         \
        X(CONTAINED, 226, true)                                                                                        \
        X(OPERATING_SYSTEM, 304, false)                                                                                \
        X(INVALID_HANDLE, 400, false)                                                                                  \
        X(NOT_FOUND, 500, false)                                                                                       \
        X(NOT_READY, 600, false)                                                                                       \
        X(ILLEGAL_ADDRESS, 700, true)                                                                                  \
        X(LAUNCH_OUT_OF_RESOURCES, 701, false)                                                                         \
        X(LAUNCH_TIMEOUT, 702, true)                                                                                   \
        X(CONTEXT_IS_DESTROYED, 709, true)                                                                             \
        X(ASSERT, 710, true)                                                                                           \
        X(HOST_MEMORY_ALREADY_REGISTERED, 712, false)                                                                  \
        X(HOST_MEMORY_NOT_REGISTERED, 713, false)                                                                      \
        X(HARDWARE_STACK_ERROR, 714, true)                                                                             \
        X(ILLEGAL_INSTRUCTION, 715, true)                                                                              \
        X(MISALIGNED_ADDRESS, 716, true)                                                                               \
        X(INVALID_ADDRESS_SPACE, 717, true)                                                                            \
        X(INVALID_PC, 718, true)                                                                                       \
        X(LAUNCH_FAILED, 719, true)                                                                                    \
        X(TENSOR_MEMORY_LEAK, 721, true)                                                                               \
        X(NOT_PERMITTED, 800, false)                                                                                   \
        X(NOT_SUPPORTED, 801, false)                                                                                   \
        X(MPS_CLIENT_TERMINATED, 810, true)                                                                            \
        X(EXTERNAL_DEVICE, 911, true)                                                                                  \
        X(UNKNOWN, 999, false)

enum pw_cuda_result {
        PW_CUDA_SUCCESS = 0,
#define PW_CUDA_RESULT_ENUM(name, number, sticks) PW_CUDA_##name = number,
        PW_CUDA_RESULT_MAP(PW_CUDA_RESULT_ENUM)
#undef PW_CUDA_RESULT_ENUM
};

/* X(name, number): what is asked of a device. */
#define PW_CUDA_ATTRIBUTE_MAP(X)                                                                                       \
        X(MAX_THREADS_PER_BLOCK, 1)                                                                                    \
        X(MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                                              \
        X(WARP_SIZE, 10)                                                                                               \
        X(MULTIPROCESSOR_COUNT, 16)                                                                                    \
        X(INTEGRATED, 18)                                                                                              \
        X(ECC_ENABLED, 32)                                                                                             \
        X(PCI_BUS_ID, 33)                                                                                              \
        X(PCI_DEVICE_ID, 34)                                                                                           \
        X(ASYNC_ENGINE_COUNT, 40)                                                                                      \
        X(UNIFIED_ADDRESSING, 41)                                                                                      \
        X(PCI_DOMAIN_ID, 50)                                                                                           \
        X(COMPUTE_CAPABILITY_MAJOR, 75)                                                                                \
        X(COMPUTE_CAPABILITY_MINOR, 76)                                                                                \
        X(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91)                                                                 \
        X(HOST_REGISTER_SUPPORTED, 99)                                                                                 \
        X(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102)                                                                    \
        X(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103)                                                            \
        X(READ_ONLY_HOST_REGISTER_SUPPORTED, 113)                                                                      \
        X(CAN_USE_64_BIT_STREAM_MEM_OPS, 122)                                                                          \
        X(MPS_ENABLED, 133)

enum pw_cuda_attribute {
#define PW_CUDA_ATTRIBUTE_ENUM(name, number) PW_CUDA_ATTRIBUTE_##name = number,
        PW_CUDA_ATTRIBUTE_MAP(PW_CUDA_ATTRIBUTE_ENUM)
#undef PW_CUDA_ATTRIBUTE_ENUM
};

enum pw_cuda_jit_option { PW_CUDA_JIT_ERROR_LOG_BUFFER = 5, PW_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum pw_cuda_granularity { PW_CUDA_GRANULARITY_MINIMUM = 0, PW_CUDA_GRANULARITY_RECOMMENDED = 1 };
enum pw_cuda_location_kind { PW_CUDA_LOCATION_DEVICE = 1 };
enum pw_cuda_allocation_kind { PW_CUDA_ALLOCATION_PINNED = 1 };
enum pw_cuda_handle_kind { PW_CUDA_HANDLE_NONE = 0, PW_CUDA_HANDLE_FD = 1 };
enum pw_cuda_access_flags { PW_CUDA_ACCESS_NONE = 0, PW_CUDA_ACCESS_READ = 1, PW_CUDA_ACCESS_READ_WRITE = 3 };

#define PW_CUDA_CONTEXT_BLOCKING_SYNC 4u    /* who waits sleeps */
#define PW_CUDA_STREAM_NON_BLOCKING 1u      /* does not wait for stream 0 */
#define PW_CUDA_EVENT_BLOCKING_SYNC 1u
#define PW_CUDA_EVENT_DISABLE_TIMING 2u
#define PW_CUDA_HOST_REGISTER_PORTABLE 1u   /* pinned for all contexts */
#define PW_CUDA_HOST_REGISTER_DEVICEMAP 2u  /* has an address for kernels */
#define PW_CUDA_HOST_REGISTER_READ_ONLY 8u
#define PW_CUDA_HOST_ALLOC_PORTABLE 1u
#define PW_CUDA_HOST_ALLOC_DEVICEMAP 2u

struct pw_cuda_uuid { char bytes[16]; };
struct pw_cuda_location {
        enum pw_cuda_location_kind kind;
        int id; /* the device's number */
};
struct pw_cuda_allocation {
        enum pw_cuda_allocation_kind kind;
        enum pw_cuda_handle_kind handle_kind; /* what it can be exported as */
        struct pw_cuda_location location;
        void *windows;            /* NULL */
        struct {
                unsigned char compression;
                unsigned char rdma;   /* 1: network cards may reach it */
                unsigned short usage;
                unsigned char reserved[4];
        } flags;
};
struct pw_cuda_access {
        struct pw_cuda_location location;
        enum pw_cuda_access_flags flags;
};

/* The driver's own: its tags. */
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

/* X(field, exported symbol, parameters). All return enum pw_cuda_result; device memory is an unsigned long long. */
#define PW_CUDA_NEEDED_MAP(X)                                                                                          \
        X(cuInit, cuInit, (unsigned flags))                                                                            \
        X(cuDriverGetVersion, cuDriverGetVersion, (int *version))                                                      \
        X(cuGetErrorName, cuGetErrorName, (enum pw_cuda_result result, const char **name))                             \
        X(cuGetErrorString, cuGetErrorString, (enum pw_cuda_result result, const char **text))                         \
        X(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                                            \
        X(cuDeviceGet, cuDeviceGet, (int *device, int number))                                                         \
        X(cuDeviceGetName, cuDeviceGetName, (char *name, int bytes, int device))                                       \
        X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *value, enum pw_cuda_attribute attribute, int device))      \
        X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (struct pw_cuda_uuid *uuid, int device))                                \
        X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, int device))                                          \
        X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (struct CUctx_st **context, int device))                 \
        X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int device))                                       \
        X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, (int device, unsigned flags))                     \
        X(cuCtxSetCurrent, cuCtxSetCurrent, (struct CUctx_st *context))                                                \
        X(cuMemGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                                                \
        X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity,                                                \
          (size_t *bytes, const struct pw_cuda_allocation *allocation, enum pw_cuda_granularity granularity))          \
        X(cuMemCreate, cuMemCreate,                                                                                    \
          (unsigned long long *handle, size_t bytes, const struct pw_cuda_allocation *allocation,                      \
           unsigned long long flags))                                                                                  \
        X(cuMemRelease, cuMemRelease, (unsigned long long handle))                                                     \
        X(cuMemExportToShareableHandle, cuMemExportToShareableHandle,                                                  \
          (void *fd, unsigned long long handle, enum pw_cuda_handle_kind kind, unsigned long long flags))              \
        X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle,                                              \
          (unsigned long long *handle, void *fd, enum pw_cuda_handle_kind kind))                                       \
        X(cuMemAddressReserve, cuMemAddressReserve,                                                                    \
          (unsigned long long *address, size_t bytes, size_t align, unsigned long long wish, unsigned long long flags)) \
        X(cuMemAddressFree, cuMemAddressFree, (unsigned long long address, size_t bytes))                              \
        X(cuMemMap, cuMemMap,                                                                                          \
          (unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,                         \
           unsigned long long flags))                                                                                  \
        X(cuMemUnmap, cuMemUnmap, (unsigned long long address, size_t bytes))                                          \
        X(cuMemSetAccess, cuMemSetAccess,                                                                              \
          (unsigned long long address, size_t bytes, const struct pw_cuda_access *accesses, size_t count))             \
        X(cuMemAlloc, cuMemAlloc_v2, (unsigned long long *address, size_t bytes))                                      \
        X(cuMemFree, cuMemFree_v2, (unsigned long long address))                                                       \
        X(cuMemsetD8Async, cuMemsetD8Async,                                                                            \
          (unsigned long long to, unsigned char value, size_t count, struct CUstream_st *stream))                      \
        X(cuMemsetD32Async, cuMemsetD32Async,                                                                          \
          (unsigned long long to, unsigned value, size_t count, struct CUstream_st *stream))                           \
        X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                                     \
          (unsigned long long to, const void *from, size_t bytes, struct CUstream_st *stream))                         \
        X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                                                     \
          (void *to, unsigned long long from, size_t bytes, struct CUstream_st *stream))                               \
        X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                                     \
          (unsigned long long to, unsigned long long from, size_t bytes, struct CUstream_st *stream))                  \
        X(cuMemHostAlloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                               \
        X(cuMemFreeHost, cuMemFreeHost, (void *memory))                                                                \
        X(cuMemHostRegister, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))                       \
        X(cuMemHostUnregister, cuMemHostUnregister, (void *memory))                                                    \
        X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                                     \
          (unsigned long long *address, void *memory, unsigned flags))                                                 \
        X(cuStreamCreate, cuStreamCreate, (struct CUstream_st **stream, unsigned flags))                               \
        X(cuStreamDestroy, cuStreamDestroy_v2, (struct CUstream_st *stream))                                           \
        X(cuStreamQuery, cuStreamQuery, (struct CUstream_st *stream))                                                  \
        X(cuStreamSynchronize, cuStreamSynchronize, (struct CUstream_st *stream))                                      \
        X(cuStreamWaitEvent, cuStreamWaitEvent, (struct CUstream_st *stream, struct CUevent_st *event, unsigned flags)) \
        X(cuStreamWriteValue64, cuStreamWriteValue64_v2,                                                               \
          (struct CUstream_st *stream, unsigned long long to, uint64_t value, unsigned flags))                         \
        X(cuEventCreate, cuEventCreate, (struct CUevent_st **event, unsigned flags))                                   \
        X(cuEventDestroy, cuEventDestroy_v2, (struct CUevent_st *event))                                               \
        X(cuEventRecord, cuEventRecord, (struct CUevent_st *event, struct CUstream_st *stream))                        \
        X(cuEventQuery, cuEventQuery, (struct CUevent_st *event))                                                      \
        X(cuEventSynchronize, cuEventSynchronize, (struct CUevent_st *event))                                          \
        X(cuModuleLoadDataEx, cuModuleLoadDataEx,                                                                      \
          (struct CUmod_st **module, const void *image, unsigned option_count, enum pw_cuda_jit_option *options,       \
           void **values))                                                                                             \
        X(cuModuleUnload, cuModuleUnload, (struct CUmod_st *module))                                                   \
        X(cuModuleGetFunction, cuModuleGetFunction,                                                                    \
          (struct CUfunc_st **function, struct CUmod_st *module, const char *name))                                    \
        X(cuLaunchKernel, cuLaunchKernel,                                                                              \
          (struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,            \
           unsigned block_y, unsigned block_z, unsigned shared_bytes, struct CUstream_st *stream, void **args,         \
           void **extra))
/* Those that not every driver has: NULL where it does not. */
#define PW_CUDA_OPTIONAL_MAP(X)                                                                                        \
        X(cuFuncGetParamInfo, cuFuncGetParamInfo, /* of CUDA 12.4 */                                                   \
          (struct CUfunc_st *function, size_t index, size_t *offset, size_t *bytes))
#define PW_CUDA_FUNCTION_MAP(X) PW_CUDA_NEEDED_MAP(X) PW_CUDA_OPTIONAL_MAP(X)

struct pw_cuda_driver {
        void *library;
        int version; /* of the driver, as PW_CUDA_VERSION_MIN */
#define PW_CUDA_FUNCTION_FIELD(field, symbol, parameters) enum pw_cuda_result(*field) parameters;
        PW_CUDA_FUNCTION_MAP(PW_CUDA_FUNCTION_FIELD)
#undef PW_CUDA_FUNCTION_FIELD
};

/* Load the driver's library: `library` is a path or a name, NULL or "" means PW_CUDA_LIBRARY. cuInit is the caller's to call.
 * Own:    *ret_driver is given back with close().
 * Errors: PW_NOT_FOUND (no such library), PW_UNSUPPORTED (too old, or no driver of CUDA), PW_NO_MEMORY, and as pw_cuda_error(). */
PW_MUST_CHECK enum pw_status pw_cuda_driver_open(const char *library, struct pw_cuda_driver **ret_driver, struct pw_error *ret_err);
/* The library itself stays in the process: a driver has threads. Accepts NULL. */
void pw_cuda_driver_close(struct pw_cuda_driver *driver);

/* Does every later call of the context fail with this result too? */
bool pw_cuda_is_sticky(enum pw_cuda_result result);
/* What a call gave that did not succeed, as a status and a sentence that begins with `what`: PW_NO_SPACE (of the device),
 * PW_DEVICE_LOST (it sticks), else PW_SYSTEM. */
enum pw_status pw_cuda_error(const struct pw_cuda_driver *driver, enum pw_cuda_result result, const char *what,
                             struct pw_error *ret_err);

#endif
