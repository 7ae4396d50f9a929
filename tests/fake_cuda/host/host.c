/* Host memory that the driver has pinned: it is copied late, and kernels reach it by its own address. */
#include "tests/fake_cuda/fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE_BYTES UINT64_C(4096)

struct pinned {
        struct pw_list link;
        uint64_t begin, end; /* whole pages */
        uint64_t address;    /* as it was given */
        bool is_read_only, is_allocated;
        struct fake_held *held; /* NULL: it was allocated */
};

static struct pw_list all = { &all, &all };

/* The first that has anything of it. */
static struct pinned *pinned_find(uint64_t address, uint64_t bytes)
{
        struct pinned *one;

        pw_list_each(&all, one, struct pinned, link)
                if (one->begin < address + bytes && address < one->end)
                        return one;
        return NULL;
}

void *fake_host_at(uint64_t address, uint64_t bytes, bool writes)
{
        const struct pinned *one = pinned_find(address, bytes);

        if (!one || address < one->begin || address + bytes > one->end || (writes && one->is_read_only))
                return NULL;
        return (void *)(uintptr_t)address;
}

int fake_host_pinned(const void *memory, uint64_t bytes)
{
        uint64_t address = (uintptr_t)memory;
        const struct pinned *one = pinned_find(address, bytes);

        if (!one)
                return 0;
        return address >= one->begin && address + bytes <= one->end ? 1 : -1;
}

void fake_host_read(uint64_t address, void *to, uint64_t bytes)
{
        const struct pinned *one;

        pthread_mutex_lock(&fake_lock);
        one = pinned_find(address, bytes);
        if (one)
                fake_held_read(one->held, address, to, bytes);
        pthread_mutex_unlock(&fake_lock);
}

/* Pages can be pinned where this process may read them, and write them too unless they are pinned read-only. */
static bool can_pin(uint64_t begin, uint64_t end, bool is_read_only)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512], may[5];
        uint64_t first, last;

        if (!maps)
                fake_abort("cannot read /proc/self/maps");
        while (begin < end && fgets(line, sizeof line, maps)) {
                if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &first, &last, may) != 3 || last <= begin)
                        continue;
                if (first > begin || may[0] != 'r' || (may[1] != 'w' && !is_read_only))
                        break;
                begin = last;
        }
        fclose(maps);
        return begin >= end;
}

static enum pw_cuda_result pin(void *memory, uint64_t bytes, struct pinned like)
{
        struct pinned *one = malloc(sizeof *one);

        if (!one)
                return PW_CUDA_OUT_OF_MEMORY;
        *one = like;
        one->address = (uintptr_t)memory;
        one->begin = one->address & ~(PAGE_BYTES - 1);
        one->end = pw_round_up(one->address + bytes, PAGE_BYTES);
        if (pinned_find(one->begin, one->end - one->begin)) {
                free(one);
                return PW_CUDA_HOST_MEMORY_ALREADY_REGISTERED;
        }
        if (!can_pin(one->begin, one->end, one->is_read_only)) {
                free(one);
                return PW_CUDA_INVALID_VALUE;
        }
        if (!one->is_allocated)
                one->held = fake_held_begin(one->begin, one->end);
        pw_list_append(&all, &one->link);
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemHostRegister, &context);

        if (result)
                return result;
        if (fake_conf()->refuse_register || (flags & PW_CUDA_HOST_REGISTER_READ_ONLY && fake_conf()->refuse_read_only))
                return PW_CUDA_NOT_SUPPORTED;
        if (!memory || !bytes ||
            flags & ~(PW_CUDA_HOST_REGISTER_PORTABLE | PW_CUDA_HOST_REGISTER_DEVICEMAP | PW_CUDA_HOST_REGISTER_READ_ONLY))
                return PW_CUDA_INVALID_VALUE;
        pthread_mutex_lock(&fake_lock);
        result = pin(memory, bytes, (struct pinned){ .is_read_only = flags & PW_CUDA_HOST_REGISTER_READ_ONLY });
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* Gives its end, or 0 where nothing was pinned so at `memory`. */
static uint64_t unpin(const void *memory, bool is_allocated)
{
        struct pinned *one = pinned_find((uintptr_t)memory, 1);
        uint64_t end = 0;

        if (one && one->address == (uintptr_t)memory && one->is_allocated == is_allocated) {
                end = one->end;
                pw_list_remove(&one->link);
                fake_held_end(one->held);
                free(one);
        }
        return end;
}

enum pw_cuda_result cuMemHostUnregister(void *memory)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemHostUnregister, &context);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (!unpin(memory, false))
                result = PW_CUDA_HOST_MEMORY_NOT_REGISTERED;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuMemHostAlloc(void **ret_memory, size_t bytes, unsigned flags)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemHostAlloc, &context);
        void *memory;

        if (result)
                return result;
        if (!bytes || flags & ~(PW_CUDA_HOST_ALLOC_PORTABLE | PW_CUDA_HOST_ALLOC_DEVICEMAP))
                return PW_CUDA_INVALID_VALUE;
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                return PW_CUDA_OUT_OF_MEMORY;
        pthread_mutex_lock(&fake_lock);
        result = pin(memory, bytes, (struct pinned){ .is_allocated = true });
        pthread_mutex_unlock(&fake_lock);
        if (result)
                munmap(memory, bytes);
        else
                *ret_memory = memory;
        return result;
}

/* Behind all work of the context. */
enum pw_cuda_result cuMemFreeHost(void *memory)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemFreeHost, &context);
        uint64_t end = 0;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        result = fake_context_wait(context);
        if (!result)
                end = unpin(memory, true);
        pthread_mutex_unlock(&fake_lock);
        if (result)
                return result;
        if (end)
                munmap(memory, end - (uintptr_t)memory);
        return end ? PW_CUDA_SUCCESS : PW_CUDA_INVALID_VALUE;
}

enum pw_cuda_result cuMemHostGetDevicePointer_v2(unsigned long long *ret_address, void *memory, unsigned flags)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemHostGetDevicePointer, &context);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (flags || fake_host_pinned(memory, 1) != 1)
                result = PW_CUDA_INVALID_VALUE;
        else
                *ret_address = (uintptr_t)memory;
        pthread_mutex_unlock(&fake_lock);
        return result;
}
