/* Where device memory is mapped, and which device may touch it. */
#include "tests/fake_cuda/memory.h"

#include <sys/mman.h>

struct mapped {
        struct pw_list link;
        uint64_t address, bytes;
        struct fake_physical *physical; /* NULL: of cuMemAlloc */
        int device;                     /* then its own */
        unsigned access[FAKE_DEVICES_MAX];
};

static struct pw_list all = { &all, &all };

static uint64_t room_of(uint64_t bytes) { return pw_round_up(bytes, FAKE_GRANULARITY); }

static struct mapped *mapped_at(uint64_t address)
{
        struct mapped *one;

        pw_list_each(&all, one, struct mapped, link)
                if (address >= one->address && address - one->address < one->bytes)
                        return one;
        return NULL;
}

/* A device may touch a range when it may touch every map that the range lies in. */
void *fake_memory_at(const struct CUctx_st *context, uint64_t address, uint64_t bytes, bool writes)
{
        unsigned needed = writes ? PW_CUDA_ACCESS_READ_WRITE : PW_CUDA_ACCESS_READ;
        uint64_t at = address;

        while (at < address + bytes) {
                const struct mapped *one = mapped_at(at);

                if (!one || (one->access[context->device] & needed) != needed)
                        return NULL;
                at = one->address + one->bytes;
        }
        return fake_window_at(address);
}

void *fake_at(const struct CUctx_st *context, uint64_t address, uint64_t bytes, bool writes)
{
        void *memory;

        pthread_mutex_lock(&fake_lock);
        memory = fake_memory_at(context, address, bytes, writes);
        if (!memory)
                memory = fake_host_at(address, bytes, writes);
        pthread_mutex_unlock(&fake_lock);
        return memory;
}

static void mapped_free(struct mapped *one)
{
        void *at = fake_window_at(one->address);

        if (mmap(at, room_of(one->bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != at)
                fake_abort("cannot unmap %p", at);
        pw_list_remove(&one->link);
        if (one->physical) {
                fake_physical_unref(one->physical);
        } else {
                fake_uncharge(one->device, room_of(one->bytes));
                fake_window_free(one->address, room_of(one->bytes));
        }
        free(one);
}

void fake_memory_drop(struct CUctx_st *context)
{
        struct mapped *one;

        pw_list_each(&all, one, struct mapped, link)
                if (!one->physical && one->device == context->device)
                        mapped_free(one);
}

enum pw_cuda_result cuMemAddressReserve(unsigned long long *ret_address, size_t bytes, size_t align, unsigned long long wish,
                                        unsigned long long flags)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemAddressReserve);

        if (result)
                return result;
        if (!bytes || bytes % FAKE_GRANULARITY || align & (align - 1) || (align && align < FAKE_GRANULARITY) || flags)
                return PW_CUDA_INVALID_VALUE;
        pthread_mutex_lock(&fake_lock);
        *ret_address = fake_window_reserve(bytes, align, wish);
        pthread_mutex_unlock(&fake_lock);
        return *ret_address ? PW_CUDA_SUCCESS : PW_CUDA_OUT_OF_MEMORY;
}

/* Is anything of it mapped? */
static bool has_maps(uint64_t address, uint64_t bytes)
{
        struct mapped *one;

        pw_list_each(&all, one, struct mapped, link)
                if (one->address < address + bytes && address < one->address + room_of(one->bytes))
                        return true;
        return false;
}

enum pw_cuda_result cuMemAddressFree(unsigned long long address, size_t bytes)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemAddressFree);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (has_maps(address, bytes) || !fake_window_free(address, bytes))
                result = PW_CUDA_INVALID_VALUE;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* Nobody may touch it before it is said who may. */
static enum pw_cuda_result map(uint64_t address, uint64_t bytes, struct fake_physical *physical)
{
        struct mapped *one = calloc(1, sizeof *one);
        void *at = fake_window_at(address);

        if (!one || mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->fd, 0) != at) {
                free(one);
                return PW_CUDA_MAP_FAILED;
        }
        one->address = address;
        one->bytes = bytes;
        one->physical = physical;
        physical->refs++;
        pw_list_append(&all, &one->link);
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuMemMap(unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,
                             unsigned long long flags)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemMap);
        struct fake_physical *physical;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        physical = fake_physical_find(handle);
        if (!physical || !bytes || (address | bytes) % FAKE_GRANULARITY || offset || bytes > physical->bytes || flags ||
            !fake_window_has(address, bytes))
                result = PW_CUDA_INVALID_VALUE;
        else if (has_maps(address, bytes))
                result = PW_CUDA_ALREADY_MAPPED;
        else
                result = map(address, bytes, physical);
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* Is the range made of whole maps of cuMemMap? */
static bool is_whole(uint64_t address, uint64_t bytes)
{
        uint64_t at = address;

        while (at < address + bytes) {
                const struct mapped *one = mapped_at(at);

                if (!one || !one->physical || one->address != at)
                        return false;
                at += one->bytes;
        }
        return bytes && at == address + bytes;
}

enum pw_cuda_result cuMemUnmap(unsigned long long address, size_t bytes)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemUnmap);

        if (result)
                return result;
        pthread_rwlock_wrlock(&fake_maps);
        pthread_mutex_lock(&fake_lock);
        if (!is_whole(address, bytes))
                result = PW_CUDA_INVALID_VALUE;
        for (uint64_t at = address; !result && at < address + bytes;) {
                struct mapped *one = mapped_at(at);

                at += one->bytes;
                mapped_free(one);
        }
        pthread_mutex_unlock(&fake_lock);
        pthread_rwlock_unlock(&fake_maps);
        return result;
}

static bool access_ok(const struct pw_cuda_access *access)
{
        return access->location.kind == PW_CUDA_LOCATION_DEVICE && fake_context(access->location.id) &&
               (access->flags == PW_CUDA_ACCESS_NONE || access->flags == PW_CUDA_ACCESS_READ ||
                access->flags == PW_CUDA_ACCESS_READ_WRITE);
}

static enum pw_cuda_result access_set(struct mapped *one, const struct pw_cuda_access *accesses, size_t count)
{
        unsigned any = 0;

        for (size_t i = 0; i < count; i++)
                one->access[accesses[i].location.id] = accesses[i].flags;
        for (uint32_t i = 0; i < FAKE_DEVICES_MAX; i++)
                any |= one->access[i];
        if (mprotect(fake_window_at(one->address), one->bytes, any == PW_CUDA_ACCESS_READ ? PROT_READ :
                     any ? PROT_READ | PROT_WRITE : PROT_NONE) < 0)
                return PW_CUDA_OPERATING_SYSTEM;
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuMemSetAccess(unsigned long long address, size_t bytes, const struct pw_cuda_access *accesses, size_t count)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuMemSetAccess);

        if (result)
                return result;
        for (size_t i = 0; i < count; i++)
                if (!access_ok(&accesses[i]))
                        return PW_CUDA_INVALID_VALUE;
        pthread_mutex_lock(&fake_lock);
        if (!is_whole(address, bytes) || !count)
                result = PW_CUDA_INVALID_VALUE;
        for (uint64_t at = address; !result && at < address + bytes;) {
                struct mapped *one = mapped_at(at);

                at += one->bytes;
                result = access_set(one, accesses, count);
        }
        pthread_mutex_unlock(&fake_lock);
        return result;
}

static enum pw_cuda_result alloc(struct CUctx_st *context, uint64_t bytes, unsigned long long *ret_address)
{
        struct mapped *one = calloc(1, sizeof *one);
        uint64_t room = room_of(bytes), address;
        void *at;

        if (!one || !fake_charge(context->device, room)) {
                free(one);
                return PW_CUDA_OUT_OF_MEMORY;
        }
        address = fake_window_reserve(room, 0, 0);
        at = address ? fake_window_at(address) : NULL;
        if (!at || mprotect(at, room, PROT_READ | PROT_WRITE) < 0) {
                fake_uncharge(context->device, room);
                fake_window_free(address, room);
                free(one);
                return PW_CUDA_OUT_OF_MEMORY;
        }
        one->address = address;
        one->bytes = bytes;
        one->device = context->device;
        one->access[one->device] = PW_CUDA_ACCESS_READ_WRITE;
        pw_list_append(&all, &one->link);
        *ret_address = address;
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuMemAlloc_v2(unsigned long long *ret_address, size_t bytes)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemAlloc, &context);

        if (result || !bytes)
                return result ? result : PW_CUDA_INVALID_VALUE;
        if (bytes > fake_conf()->capacity)
                return PW_CUDA_OUT_OF_MEMORY;
        pthread_mutex_lock(&fake_lock);
        result = alloc(context, bytes, ret_address);
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* Behind all work of the context. */
enum pw_cuda_result cuMemFree_v2(unsigned long long address)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuMemFree, &context);
        struct mapped *one;

        if (result || !address)
                return result;
        pthread_mutex_lock(&fake_lock);
        result = fake_context_wait(context);
        pthread_mutex_unlock(&fake_lock);
        if (result)
                return result;
        pthread_rwlock_wrlock(&fake_maps);
        pthread_mutex_lock(&fake_lock);
        one = mapped_at(address);
        if (one && !one->physical && one->address == address)
                mapped_free(one);
        else
                result = PW_CUDA_INVALID_VALUE;
        pthread_mutex_unlock(&fake_lock);
        pthread_rwlock_unlock(&fake_maps);
        return result;
}
