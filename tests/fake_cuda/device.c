/* Devices and their primary contexts. */
#include "tests/fake_cuda/fake.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static struct CUctx_st contexts[FAKE_DEVICES_MAX];
static FAKE_OF_THREAD struct CUctx_st *current;
static pid_t started; /* a child that forks has no driver */

struct CUctx_st *fake_context(int device)
{
        return device >= 0 && (uint64_t)device < fake_conf()->devices ? &contexts[device] : NULL;
}

struct CUctx_st *fake_current(void) { return current; }
bool fake_is_started(void) { return started == getpid(); }

/* A file of this process and device has what it uses, for the fake NVML of a daemon; as many digits each time. */
static void account(const struct CUctx_st *context)
{
        uint64_t bytes = context->used_bytes + (context->holders ? fake_conf()->context : 0);
        char name[64], path[2 * FAKE_TEXT_BYTES], text[32];
        int fd;

        if (!fake_conf()->account)
                return;
        snprintf(name, sizeof name, "used.%d.%d", (int)getpid(), context->device);
        fd = open(fake_conf_path(name, path), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        snprintf(text, sizeof text, "%020" PRIu64 "\n", bytes);
        if (fd < 0 || pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
                fake_abort("%s: cannot be written", path);
        close(fd);
}

bool fake_charge(int device, uint64_t bytes)
{
        if (bytes > fake_conf()->capacity - contexts[device].used_bytes)
                return false;
        contexts[device].used_bytes += bytes;
        account(&contexts[device]);
        return true;
}

void fake_uncharge(int device, uint64_t bytes)
{
        contexts[device].used_bytes -= bytes;
        account(&contexts[device]);
}

enum pw_cuda_result cuInit(unsigned flags)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuInit);

        if (result || flags)
                return result ? result : PW_CUDA_INVALID_VALUE;
        pthread_mutex_lock(&fake_lock);
        if (!started) {
                for (int i = 0; i < (int)FAKE_DEVICES_MAX; i++) {
                        contexts[i].device = i;
                        pw_list_init(&contexts[i].streams);
                }
                fake_window_start();
                fake_kernels_open();
                started = getpid();
        }
        pthread_mutex_unlock(&fake_lock);
        return fake_is_started() ? PW_CUDA_SUCCESS : PW_CUDA_NOT_INITIALIZED;
}

enum pw_cuda_result cuDriverGetVersion(int *ret_version)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuDriverGetVersion);

        if (!result)
                *ret_version = (int)fake_conf()->driver;
        return result;
}

enum pw_cuda_result cuDeviceGetCount(int *ret_count)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuDeviceGetCount);

        if (!result)
                *ret_count = (int)fake_conf()->devices;
        return result;
}

static enum pw_cuda_result enter_device(enum fake_call call, int device)
{
        enum pw_cuda_result result = fake_enter(call);

        if (result)
                return result;
        return fake_context(device) ? PW_CUDA_SUCCESS : PW_CUDA_INVALID_DEVICE;
}

enum pw_cuda_result cuDeviceGet(int *ret_device, int number)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDeviceGet, number);

        if (!result)
                *ret_device = number;
        return result;
}

enum pw_cuda_result cuDeviceGetName(char *name, int bytes, int device)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDeviceGetName, device);

        if (!result)
                snprintf(name, (size_t)bytes, "Fake GPU %d", device);
        return result;
}

enum pw_cuda_result cuDeviceGetAttribute(int *ret_value, enum pw_cuda_attribute attribute, int device)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDeviceGetAttribute, device);
        const struct fake_conf *conf = fake_conf();
        const int values[] = {
                [PW_CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
                [PW_CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 48 << 10,
                [PW_CUDA_ATTRIBUTE_WARP_SIZE] = 32,
                [PW_CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132,
                [PW_CUDA_ATTRIBUTE_ECC_ENABLED] = 1,
                [PW_CUDA_ATTRIBUTE_PCI_BUS_ID] = 16 + device,
                [PW_CUDA_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 3,
                [PW_CUDA_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
                [PW_CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = (int)conf->arch / 10,
                [PW_CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = (int)conf->arch % 10,
                [PW_CUDA_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
                [PW_CUDA_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = !conf->refuse_register,
                [PW_CUDA_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
                [PW_CUDA_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,
                [PW_CUDA_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED] = !conf->refuse_register && !conf->refuse_read_only,
                [PW_CUDA_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS] = !conf->refuse_write_value,
                [PW_CUDA_ATTRIBUTE_MPS_ENABLED] = (int)conf->mps,
        };

        if (result)
                return result;
        if ((unsigned)attribute >= pw_array_count(values))
                return PW_CUDA_INVALID_VALUE;
        *ret_value = values[attribute];
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuDeviceGetUuid_v2(struct pw_cuda_uuid *ret_uuid, int device)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDeviceGetUuid, device);

        if (!result)
                *ret_uuid = (struct pw_cuda_uuid){ { 'f', 'a', 'k', 'e', [15] = (char)(device + 1) } };
        return result;
}

enum pw_cuda_result cuDeviceTotalMem_v2(size_t *ret_bytes, int device)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDeviceTotalMem, device);

        if (!result)
                *ret_bytes = fake_conf()->capacity;
        return result;
}

/* An error that sticks stays: it is the process that has to begin again. */
enum pw_cuda_result cuDevicePrimaryCtxRetain(struct CUctx_st **ret_context, int device)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDevicePrimaryCtxRetain, device);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        result = contexts[device].error;
        if (!result) {
                contexts[device].holders++;
                account(&contexts[device]);
                *ret_context = &contexts[device];
        }
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuDevicePrimaryCtxRelease_v2(int device)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDevicePrimaryCtxRelease, device);
        struct CUctx_st *context = fake_context(device);

        if (result)
                return result;
        pthread_rwlock_wrlock(&fake_maps);
        pthread_mutex_lock(&fake_lock);
        if (!context->holders) {
                result = PW_CUDA_INVALID_CONTEXT;
        } else if (!--context->holders) {
                fake_streams_end(context);
                fake_memory_drop(context);
                account(context);
        }
        pthread_mutex_unlock(&fake_lock);
        pthread_rwlock_unlock(&fake_maps);
        return result;
}

enum pw_cuda_result cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
        enum pw_cuda_result result = enter_device(FAKE_cuDevicePrimaryCtxSetFlags, device);

        if (result || flags & ~0x3fu)
                return result ? result : PW_CUDA_INVALID_VALUE;
        contexts[device].flags = flags;
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuCtxSetCurrent(struct CUctx_st *context)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuCtxSetCurrent);

        if (result)
                return result;
        if (context && !context->holders)
                return PW_CUDA_INVALID_CONTEXT;
        current = context;
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemGetInfo, &context);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        *ret_total = fake_conf()->capacity;
        *ret_free = fake_conf()->capacity - context->used_bytes;
        pthread_mutex_unlock(&fake_lock);
        return PW_CUDA_SUCCESS;
}
