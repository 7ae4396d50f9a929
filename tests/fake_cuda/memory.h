/* Device memory: allocations of bytes, and where they are mapped. */
#ifndef PW_TESTS_FAKE_CUDA_MEMORY_H
#define PW_TESTS_FAKE_CUDA_MEMORY_H

#include "tests/fake_cuda/fake.h"

/* Bytes of a device, in a file without a name: they live while a descriptor or a map of it does, in whatever process. */
struct fake_physical {
        struct pw_list link;
        uint32_t refs;         /* its handle and its maps */
        bool has_handle, is_charged;
        int fd, device;
        uint64_t bytes;
        enum pw_cuda_handle_kind handle_kind;
};

/* Under fake_lock. NULL: no such handle. */
struct fake_physical *fake_physical_find(unsigned long long handle);
void fake_physical_unref(struct fake_physical *physical);

#endif
