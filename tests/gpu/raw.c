/* The driver's calls, which have to succeed. */
#include "tests/gpu/raw.h"

#include <stdio.h>
#include <stdlib.h>

static const char code[] =
#include "tests/gpu/kernels.ptx.inc"
        ;

void gpu_must(const struct gpu_raw *raw, enum pw_cuda_result result, const char *what)
{
        struct pw_error err;

        if (result == PW_CUDA_SUCCESS)
                return;
        (void)pw_cuda_error(raw->driver, result, what, &err);
        fprintf(stderr, "%s\n", err.text);
        exit(1);
}

bool gpu_raw_start(struct gpu_raw *raw, const char *driver, struct pw_error *ret_err)
{
        enum pw_cuda_result result;

        *raw = (struct gpu_raw){ .device = 0 };
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
        if (pw_cuda_driver_open(driver, &raw->driver, ret_err) != PW_OK)
                return false;
        result = raw->driver->cuInit(0);
        if (result == PW_CUDA_SUCCESS)
                result = raw->driver->cuDeviceGetCount(&raw->count);
        if (result != PW_CUDA_SUCCESS)
                (void)pw_cuda_error(raw->driver, result, "no GPU: starting the CUDA driver", ret_err);
        else if (!raw->count)
                (void)pw_error_set(ret_err, PW_NOT_FOUND, "no GPU: the CUDA driver finds none");
        return result == PW_CUDA_SUCCESS && raw->count > 0;
}

void gpu_raw_open(struct gpu_raw *raw, const char *driver, int ordinal)
{
        struct pw_error err;

        if (!gpu_raw_start(raw, driver, &err)) {
                fprintf(stderr, "%s\n", err.text);
                exit(1);
        }
        gpu_must(raw, raw->driver->cuDeviceGet(&raw->device, ordinal), "a GPU");
        gpu_must(raw, raw->driver->cuDevicePrimaryCtxRetain(&raw->context, raw->device), "a context");
        gpu_must(raw, raw->driver->cuCtxSetCurrent(raw->context), "a context");
        gpu_must(raw, raw->driver->cuStreamCreate(&raw->stream, PW_CUDA_STREAM_NON_BLOCKING), "a stream");
        gpu_must(raw, raw->driver->cuModuleLoadDataEx(&raw->module, code, 0, NULL, NULL), "loading kernels");
}

struct CUfunc_st *gpu_raw_kernel(const struct gpu_raw *raw, const char *name)
{
        struct CUfunc_st *function;

        gpu_must(raw, raw->driver->cuModuleGetFunction(&function, raw->module, name), name);
        return function;
}

void gpu_raw_launch(const struct gpu_raw *raw, struct CUfunc_st *function, void **args)
{
        gpu_must(raw, raw->driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, raw->stream, args, NULL), "a launch");
}

int gpu_raw_make(const struct gpu_raw *raw, uint64_t bytes)
{
        const struct pw_cuda_allocation allocation = { .kind = PW_CUDA_ALLOCATION_PINNED, .handle_kind = PW_CUDA_HANDLE_FD,
                                                       .location = { PW_CUDA_LOCATION_DEVICE, raw->device } };
        unsigned long long handle;
        int fd = -1;

        gpu_must(raw, raw->driver->cuMemCreate(&handle, bytes, &allocation, 0), "cuMemCreate");
        gpu_must(raw, raw->driver->cuMemExportToShareableHandle(&fd, handle, PW_CUDA_HANDLE_FD, 0), "a descriptor of memory");
        gpu_must(raw, raw->driver->cuMemRelease(handle), "cuMemRelease");
        return fd;
}

unsigned long long gpu_raw_map(const struct gpu_raw *raw, int fd, uint64_t bytes)
{
        const struct pw_cuda_access access = { { PW_CUDA_LOCATION_DEVICE, raw->device }, PW_CUDA_ACCESS_READ_WRITE };
        unsigned long long handle, at;

        gpu_must(raw, raw->driver->cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, PW_CUDA_HANDLE_FD), "an import");
        gpu_must(raw, raw->driver->cuMemAddressReserve(&at, bytes, 0, 0, 0), "addresses");
        gpu_must(raw, raw->driver->cuMemMap(at, bytes, 0, handle, 0), "a map");
        gpu_must(raw, raw->driver->cuMemRelease(handle), "cuMemRelease");
        gpu_must(raw, raw->driver->cuMemSetAccess(at, bytes, &access, 1), "access to a map");
        return at;
}

const char *gpu_raw_name(const struct gpu_raw *raw, enum pw_cuda_result result)
{
        const char *name = NULL;

        if (result == PW_CUDA_SUCCESS)
                return "CUDA_SUCCESS";
        return raw->driver->cuGetErrorName(result, &name) == PW_CUDA_SUCCESS && name ? name : "unknown";
}
