/* Allocations of device memory, their handles and descriptors. The name of the file says of which device it is: so another process
 * knows one that it is given. */
#include "tests/fake_cuda/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct pw_list all = { &all, &all };

struct fake_physical *fake_physical_find(unsigned long long handle)
{
        struct fake_physical *physical;

        pw_list_each(&all, physical, struct fake_physical, link)
                if ((uintptr_t)physical == handle && physical->has_handle)
                        return physical;
        return NULL;
}

void fake_physical_unref(struct fake_physical *physical)
{
        if (--physical->refs)
                return;
        if (physical->is_charged)
                fake_uncharge(physical->device, physical->bytes);
        pw_list_remove(&physical->link);
        close(physical->fd);
        free(physical);
}

static bool allocation_ok(const struct pw_cuda_allocation *allocation)
{
        return allocation && allocation->kind == PW_CUDA_ALLOCATION_PINNED &&
               allocation->location.kind == PW_CUDA_LOCATION_DEVICE && allocation->handle_kind <= PW_CUDA_HANDLE_FD &&
               !allocation->windows;
}

enum pw_cuda_result cuMemGetAllocationGranularity(size_t *ret_bytes, const struct pw_cuda_allocation *allocation,
                                                  enum pw_cuda_granularity granularity)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemGetAllocationGranularity);

        if (result)
                return result;
        if (!allocation_ok(allocation) || granularity > PW_CUDA_GRANULARITY_RECOMMENDED)
                return PW_CUDA_INVALID_VALUE;
        *ret_bytes = FAKE_GRANULARITY;
        return PW_CUDA_SUCCESS;
}

/* `fd` is taken in any case. */
static enum pw_cuda_result physical_make(int fd, struct fake_physical like, unsigned long long *ret_handle)
{
        struct fake_physical *physical = malloc(sizeof *physical);

        if (!physical) {
                close(fd);
                return PW_CUDA_OUT_OF_MEMORY;
        }
        *physical = like;
        physical->fd = fd;
        physical->refs = 1;
        physical->has_handle = true;
        pw_list_append(&all, &physical->link);
        *ret_handle = (uintptr_t)physical;
        return PW_CUDA_SUCCESS;
}

static enum pw_cuda_result create(unsigned long long *ret_handle, size_t bytes, const struct pw_cuda_allocation *allocation)
{
        int device = allocation->location.id, fd;
        struct fake_physical like = {
                .device = device, .bytes = bytes, .handle_kind = allocation->handle_kind, .is_charged = true,
        };
        enum pw_cuda_result result = PW_CUDA_OUT_OF_MEMORY;
        char name[32];

        if (!fake_charge(device, bytes))
                return PW_CUDA_OUT_OF_MEMORY;
        snprintf(name, sizeof name, "fake_cuda:%d", device);
        fd = memfd_create(name, MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
                result = physical_make(fd, like, ret_handle);
        else if (fd >= 0)
                close(fd);
        if (result)
                fake_uncharge(device, bytes);
        return result;
}

enum pw_cuda_result cuMemCreate(unsigned long long *ret_handle, size_t bytes, const struct pw_cuda_allocation *allocation,
                                unsigned long long flags)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemCreate);

        if (result)
                return result;
        if (!allocation_ok(allocation) || flags || !bytes || bytes % FAKE_GRANULARITY)
                return PW_CUDA_INVALID_VALUE;
        if (!fake_context(allocation->location.id))
                return PW_CUDA_INVALID_DEVICE;
        pthread_mutex_lock(&fake_lock);
        result = create(ret_handle, bytes, allocation);
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuMemRelease(unsigned long long handle)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemRelease);
        struct fake_physical *physical;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        physical = fake_physical_find(handle);
        if (physical) {
                physical->has_handle = false;
                fake_physical_unref(physical);
        }
        pthread_mutex_unlock(&fake_lock);
        return physical ? PW_CUDA_SUCCESS : PW_CUDA_INVALID_VALUE;
}

enum pw_cuda_result cuMemExportToShareableHandle(void *ret_fd, unsigned long long handle, enum pw_cuda_handle_kind kind,
                                                 unsigned long long flags)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemExportToShareableHandle);
        struct fake_physical *physical;
        int fd = -1;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        physical = fake_physical_find(handle);
        if (!physical || kind != PW_CUDA_HANDLE_FD || physical->handle_kind != kind || flags)
                result = PW_CUDA_INVALID_VALUE;
        else if ((fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0)) < 0)
                result = PW_CUDA_OPERATING_SYSTEM;
        else
                memcpy(ret_fd, &fd, sizeof fd);
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* The device of an exported descriptor, or -1. */
static int device_of(int fd)
{
        char path[40], name[64];
        ssize_t bytes;
        int device;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        bytes = readlink(path, name, sizeof name - 1);
        name[bytes > 0 ? bytes : 0] = 0;
        return sscanf(name, "/memfd:fake_cuda:%d", &device) == 1 && fake_context(device) ? device : -1;
}

/* The descriptor stays the caller's. What it stands for was charged by the process that made it. */
enum pw_cuda_result cuMemImportFromShareableHandle(unsigned long long *ret_handle, void *fd_value, enum pw_cuda_handle_kind kind)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemImportFromShareableHandle);
        int fd = (int)(intptr_t)fd_value, device = device_of(fd), own;
        struct fake_physical like;
        struct stat stat;

        if (result)
                return result;
        if (kind != PW_CUDA_HANDLE_FD || device < 0 || fstat(fd, &stat) < 0)
                return PW_CUDA_INVALID_VALUE;
        own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (own < 0)
                return PW_CUDA_OPERATING_SYSTEM;
        pthread_mutex_lock(&fake_lock);
        like = (struct fake_physical){ .device = device, .bytes = (uint64_t)stat.st_size, .handle_kind = kind };
        result = physical_make(own, like, ret_handle);
        pthread_mutex_unlock(&fake_lock);
        return result;
}
