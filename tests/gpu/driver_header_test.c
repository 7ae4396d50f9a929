/* What executor/device/cuda/cuda_driver.h declares is what a cuda.h has: functions, structs and numbers. It is the compiler that
 * compares. Where configure found none, this is skipped.
 */
#include "executor/device/cuda/cuda_driver.h"

#include <stdio.h>

#ifdef PW_HAVE_CUDA_H
#include <cuda.h>
#endif

/* The first release that has every number. */
#if defined(PW_HAVE_CUDA_H) && CUDA_VERSION >= 12080

#define RESULT(name, number, sticks) _Static_assert((int)PW_CUDA_##name == (int)CUDA_ERROR_##name, #name);
PW_CUDA_RESULT_MAP(RESULT)

#define ATTRIBUTE(name, number)                                                                                        \
        _Static_assert((int)PW_CUDA_ATTRIBUTE_##name == (int)CU_DEVICE_ATTRIBUTE_##name, #name);
PW_CUDA_ATTRIBUTE_MAP(ATTRIBUTE)

#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
NUMBER(PW_CUDA_SUCCESS, CUDA_SUCCESS);
NUMBER(PW_CUDA_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
NUMBER(PW_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
NUMBER(PW_CUDA_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
NUMBER(PW_CUDA_GRANULARITY_RECOMMENDED, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
NUMBER(PW_CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
NUMBER(PW_CUDA_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
NUMBER(PW_CUDA_HANDLE_NONE, CU_MEM_HANDLE_TYPE_NONE);
NUMBER(PW_CUDA_HANDLE_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
NUMBER(PW_CUDA_ACCESS_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
NUMBER(PW_CUDA_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ);
NUMBER(PW_CUDA_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
NUMBER(PW_CUDA_CONTEXT_BLOCKING_SYNC, CU_CTX_SCHED_BLOCKING_SYNC);
NUMBER(PW_CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
NUMBER(PW_CUDA_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC);
NUMBER(PW_CUDA_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
NUMBER(PW_CUDA_HOST_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
NUMBER(PW_CUDA_HOST_REGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP);
NUMBER(PW_CUDA_HOST_REGISTER_READ_ONLY, CU_MEMHOSTREGISTER_READ_ONLY);
NUMBER(PW_CUDA_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
NUMBER(PW_CUDA_HOST_ALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP);

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define FIELD(ours, our_field, theirs, their_field)                                                                    \
        _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #theirs "." #their_field);          \
        SIZE(((ours *)0)->our_field, ((theirs *)0)->their_field)
SIZE(struct pw_cuda_uuid, CUuuid);
SIZE(struct pw_cuda_location, CUmemLocation);
FIELD(struct pw_cuda_location, kind, CUmemLocation, type);
FIELD(struct pw_cuda_location, id, CUmemLocation, id);
SIZE(struct pw_cuda_allocation, CUmemAllocationProp);
FIELD(struct pw_cuda_allocation, kind, CUmemAllocationProp, type);
FIELD(struct pw_cuda_allocation, handle_kind, CUmemAllocationProp, requestedHandleTypes);
FIELD(struct pw_cuda_allocation, location, CUmemAllocationProp, location);
FIELD(struct pw_cuda_allocation, windows, CUmemAllocationProp, win32HandleMetaData);
FIELD(struct pw_cuda_allocation, flags, CUmemAllocationProp, allocFlags);
FIELD(struct pw_cuda_allocation, flags.compression, CUmemAllocationProp, allocFlags.compressionType);
FIELD(struct pw_cuda_allocation, flags.rdma, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
FIELD(struct pw_cuda_allocation, flags.usage, CUmemAllocationProp, allocFlags.usage);
SIZE(struct pw_cuda_access, CUmemAccessDesc);
FIELD(struct pw_cuda_access, location, CUmemAccessDesc, location);
FIELD(struct pw_cuda_access, flags, CUmemAccessDesc, flags);

/* In the parameters our tags stand for theirs; the functions are those that the library exports, which cuda.h names by macros. */
#define pw_cuda_result cudaError_enum
#define pw_cuda_attribute CUdevice_attribute_enum
#define pw_cuda_jit_option CUjit_option_enum
#define pw_cuda_granularity CUmemAllocationGranularity_flags_enum
#define pw_cuda_handle_kind CUmemAllocationHandleType_enum
#define pw_cuda_uuid CUuuid_st
#define pw_cuda_allocation CUmemAllocationProp_st
#define pw_cuda_access CUmemAccessDesc_st
#define FUNCTION(field, symbol, parameters)                                                                            \
        _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), enum pw_cuda_result parameters), #symbol);
PW_CUDA_FUNCTION_MAP(FUNCTION)

int main(void)
{
        printf("cuda.h of %d.%d\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
        return 0;
}

#else

int main(void)
{
        puts("SKIP: no cuda.h of 12.8 or newer (configure looks in CUDA_HOME)");
        return 77;
}

#endif
