/* A GPU of NVIDIA, by its driver. Memory, calls, code and the thread that waits are in cuda/; this is its life. */
#include "executor/device/cuda_private.h"
#include "executor/device/kinds.h"

#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <unistd.h>

enum pw_status pw_cuda_failed(struct pw_exec_device *device, enum pw_cuda_result result, const char *what, struct pw_error *ret_err)
{
        enum pw_status status = pw_cuda_error(device->driver, result, what, ret_err);

        if (pw_cuda_is_sticky(result))
                device->params.lost(device->params.context, ret_err->text); /* does not return */
        return status;
}

/* --- open --------------------------------------------------------------------------------------------------------------------- */

static enum pw_status start_driver(struct pw_exec_device *device, struct pw_error *ret_err)
{
        enum pw_cuda_result result = device->driver->cuInit(0);

        if (result != PW_CUDA_NO_DEVICE)
                return pw_cuda_check(device, result, "starting the CUDA driver", ret_err);
        return pw_error_set(ret_err, PW_NOT_FOUND, "the CUDA driver finds no GPU: is there one, and may the user of executors open "
                                                   "/dev/nvidia*? nvidia-smi, as that user, says more");
}

/* The driver says nothing of it, and starts take seconds. */
static void tell_of_cache(const struct pw_exec_device *device)
{
        const char *path = getenv("CUDA_CACHE_PATH");

        if (path && access(path, W_OK | X_OK))
                pw_log(device->params.log, PW_LOG_WARNING,
                       "code for GPUs is compiled anew by this executor text=\"CUDA_CACHE_PATH %s: %s\"", path, strerror(errno));
}

/* Before the driver starts: all of a module's code is loaded with it, and devices are numbered as the system does. */
static enum pw_status load_driver(struct pw_exec_device *device, struct pw_error *ret_err)
{
        enum pw_status status;

        tell_of_cache(device);
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
        status = pw_cuda_driver_open(device->params.library, &device->driver, ret_err);
        return status == PW_OK ? start_driver(device, ret_err) : status;
}

static enum pw_status needs(struct pw_exec_device *device, enum pw_cuda_attribute attribute, const char *what,
                            struct pw_error *ret_err)
{
        int value = 0;
        enum pw_status status = pw_cuda_check(device, device->driver->cuDeviceGetAttribute(&value, attribute, device->device), what,
                                              ret_err);

        if (status != PW_OK || value)
                return status;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "GPU %u: its driver has no %s", (unsigned)device->params.ordinal, what);
}

/* There a fault of one process ends all others'. Drivers before 12.4 do not know. */
static enum pw_status has_no_mps(struct pw_exec_device *device, struct pw_error *ret_err)
{
        int is_shared = 0;

        if (device->driver->cuDeviceGetAttribute(&is_shared, PW_CUDA_ATTRIBUTE_MPS_ENABLED, device->device) != PW_CUDA_SUCCESS ||
            !is_shared)
                return PW_OK;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "GPU %u is shared by MPS, where a fault of one process ends others: end MPS, "
                                                     "`echo quit | nvidia-cuda-mps-control`", (unsigned)device->params.ordinal);
}

/* Kernels of the executor and of module pw are PTX for it. */
static enum pw_status is_new_enough(struct pw_exec_device *device, struct pw_error *ret_err)
{
        const struct pw_cuda_driver *driver = device->driver;
        int major = 0, minor = 0;
        enum pw_status status;

        status = pw_cuda_check(device, driver->cuDeviceGetAttribute(&major, PW_CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                                                    device->device), "what a GPU is", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuDeviceGetAttribute(&minor, PW_CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                                                            device->device), "what a GPU is", ret_err);
        if (status != PW_OK || major * 10 + minor >= PW_CUDA_ARCHITECTURE_MIN)
                return status;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "GPU %u is too old: of architecture sm_%d%d, needs sm_%d: leave it out with "
                                                     "--devices cuda@NUMBERS", (unsigned)device->params.ordinal, major, minor,
                            PW_CUDA_ARCHITECTURE_MIN);
}

static enum pw_status find_device(struct pw_exec_device *device, struct pw_error *ret_err)
{
        struct pw_cuda_allocation allocation = { .kind = PW_CUDA_ALLOCATION_PINNED, .handle_kind = PW_CUDA_HANDLE_FD };
        struct pw_cuda_driver *driver = device->driver;
        int count = 0, writes = 0;
        enum pw_status status = pw_cuda_check(device, driver->cuDeviceGetCount(&count), "counting GPUs", ret_err);

        if (status == PW_OK && device->params.ordinal >= (uint64_t)count)
                return pw_error_set(ret_err, PW_NOT_FOUND,
                                    "there is no GPU %u on this host: it has %d, counted from 0; `nvidia-smi -L` lists them",
                                    (unsigned)device->params.ordinal, count);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuDeviceGet(&device->device, (int)device->params.ordinal), "a GPU", ret_err);
        if (status == PW_OK)
                status = has_no_mps(device, ret_err);
        if (status == PW_OK)
                status = is_new_enough(device, ret_err);
        if (status == PW_OK)
                status = needs(device, PW_CUDA_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory", ret_err);
        if (status == PW_OK)
                status = needs(device, PW_CUDA_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "memory by descriptors",
                               ret_err);
        allocation.location = (struct pw_cuda_location){ PW_CUDA_LOCATION_DEVICE, device->device };
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuMemGetAllocationGranularity(&device->granularity, &allocation,
                                                                                     PW_CUDA_GRANULARITY_MINIMUM),
                                       "how memory is divided", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device,
                                       driver->cuDeviceGetAttribute(&writes, PW_CUDA_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                                                    device->device),
                                       "what streams can do", ret_err);
        device->writes = writes;
        return status;
}

static enum pw_status open_context(struct pw_exec_device *device, struct pw_error *ret_err)
{
        struct pw_cuda_driver *driver = device->driver;
        enum pw_status status;

        (void)driver->cuDevicePrimaryCtxSetFlags(device->device, PW_CUDA_CONTEXT_BLOCKING_SYNC);
        status = pw_cuda_check(device, driver->cuDevicePrimaryCtxRetain(&device->context, device->device), "a context", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuCtxSetCurrent(device->context), "a context", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuStreamCreate(&device->launches, PW_CUDA_STREAM_NON_BLOCKING), "a stream",
                                       ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuStreamCreate(&device->copies, PW_CUDA_STREAM_NON_BLOCKING), "a stream",
                                       ret_err);
        for (uint32_t i = 0; i < PW_CUDA_FLIGHTS && status == PW_OK; i++)
                status = pw_cuda_check(device, driver->cuEventCreate(&device->flights[i].event, PW_CUDA_EVENT_DISABLE_TIMING),
                                       "an event", ret_err);
        return status;
}

static enum pw_status open_memory(struct pw_exec_device *device, struct pw_error *ret_err)
{
        struct pw_cuda_driver *driver = device->driver;
        unsigned flags = PW_CUDA_HOST_ALLOC_PORTABLE | PW_CUDA_HOST_ALLOC_DEVICEMAP;
        enum pw_status status = pw_cuda_check(device,
                                              driver->cuMemHostAlloc((void **)&device->page, sizeof *device->page, flags),
                                              "pinned memory of the host", ret_err);

        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuMemHostGetDevicePointer(&device->page_at, device->page, 0),
                                       "pinned memory of the host", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuMemAlloc(&device->words, PW_CUDA_FLIGHTS * sizeof(struct pw_guard_words)),
                                       "memory of the device", ret_err);
        if (status == PW_OK)
                memset(device->page, 0, sizeof *device->page);
        return status == PW_OK ? pw_cuda_stage_open(device, ret_err) : status;
}

static void cuda_close(struct pw_exec_device *device);

static enum pw_status cuda_open(const struct pw_device_params *params, struct pw_exec_device **ret_device,
                                struct pw_error *ret_err)
{
        struct pw_exec_device *device = calloc(1, sizeof *device);
        enum pw_status status;

        if (!device)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for device %u", params->number);
        device->params = *params;
        device->first = device->unended = device->kept = device->last = 1;
        device->services = (struct pw_task_services){ pw_cuda_service_sleep, pw_cuda_service_launch, pw_cuda_service_copy };
        status = load_driver(device, ret_err);
        if (status == PW_OK)
                status = find_device(device, ret_err);
        if (status == PW_OK)
                status = open_context(device, ret_err);
        if (status == PW_OK)
                status = open_memory(device, ret_err);
        if (status == PW_OK)
                status = pw_cuda_code_open(device, ret_err);
        if (status == PW_OK)
                status = pw_cuda_watch_open(device, ret_err);
        if (status != PW_OK) {
                cuda_close(device);
                return status;
        }
        *ret_device = device;
        return PW_OK;
}

static void close_context(struct pw_exec_device *device)
{
        struct pw_cuda_driver *driver = device->driver;

        if (device->launches)
                (void)driver->cuStreamSynchronize(device->launches);
        pw_cuda_watch_close(device);
        pw_cuda_code_close(device);
        pw_cuda_stage_close(device);
        if (device->page)
                (void)driver->cuMemFreeHost(device->page);
        if (device->words)
                (void)driver->cuMemFree(device->words);
        for (uint32_t i = 0; i < PW_CUDA_FLIGHTS; i++)
                if (device->flights[i].event)
                        (void)driver->cuEventDestroy(device->flights[i].event);
        if (device->copies)
                (void)driver->cuStreamDestroy(device->copies);
        if (device->launches)
                (void)driver->cuStreamDestroy(device->launches);
        (void)driver->cuCtxSetCurrent(NULL);
        (void)driver->cuDevicePrimaryCtxRelease(device->device);
}

static void cuda_close(struct pw_exec_device *device)
{
        if (device->context)
                close_context(device);
        pw_cuda_driver_close(device->driver);
        free(device);
}

static void cuda_name_of(const struct pw_exec_device *device, char *text, size_t text_bytes)
{
        if (device->driver->cuDeviceGetName(text, (int)text_bytes, device->device) != PW_CUDA_SUCCESS)
                text[0] = 0;
        text[text_bytes - 1] = 0;
}

static uint64_t cuda_free_bytes(const struct pw_exec_device *device)
{
        size_t bytes = 0, all = 0;

        return device->driver->cuMemGetInfo(&bytes, &all) == PW_CUDA_SUCCESS ? bytes : 0;
}

static uint32_t cuda_caps(const struct pw_exec_device *device)
{
        (void)device;
        return PW_DEVICE_APART | PW_DEVICE_KERNELS | PW_DEVICE_NCCL;
}

static const struct pw_device_memory *cuda_memory(const struct pw_exec_device *device)
{
        (void)device;
        return &pw_memory_cuda;
}

static void cuda_moved(struct pw_exec_device *device, uint64_t bytes)
{
        (void)device;
        (void)bytes;
}

static uint64_t cuda_ended_ns(struct pw_exec_device *device, uint64_t now_ns)
{
        (void)device;
        return now_ns;
}

static void cuda_not_before(struct pw_exec_device *device, uint64_t ns)
{
        (void)device;
        (void)ns;
}

static void cuda_idle(struct pw_exec_device *device) { (void)device; }

const struct pw_device_kind pw_device_cuda = {
        .name = "cuda",
        .about = "a GPU of NVIDIA",
        .open = cuda_open,
        .close = cuda_close,
        .name_of = cuda_name_of,
        .free_bytes = cuda_free_bytes,
        .caps = cuda_caps,
        .memory = cuda_memory,
        .launch = pw_cuda_launch,
        .done = pw_cuda_done,
        .next_ns = pw_cuda_next_ns,
        .moved = cuda_moved,
        .ended_ns = cuda_ended_ns,
        .not_before = cuda_not_before,
        .idle = cuda_idle,
};
