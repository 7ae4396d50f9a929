/* Emulated memory of its own: each arena is mapped twice as far as addresses go, once for nobody and once where the bytes are. */
#include "executor/device/memory_apart.h"

#include "base/memory.h"
#include "plane/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void *pw_apart_at(const struct pw_apart *apart, const void *address)
{
        uintptr_t at = (uintptr_t)address;

        for (uint32_t i = 0; i < apart->count; i++) {
                const struct pw_apart_arena *arena = &apart->arenas[i];
                if (at >= (uintptr_t)arena->base && at - (uintptr_t)arena->base <= arena->bytes)
                        return (void *)(at + (uintptr_t)arena->delta);
        }
        return (void *)at;
}

static enum pw_status apart_make(struct pw_exec_device *device, uint64_t bytes, int *ret_fd, struct pw_error *ret_err)
{
        (void)device;
        return pw_memfd_create("pathways-arena", bytes, ret_fd, ret_err);
}

static enum pw_status apart_map(struct pw_exec_device *device, const struct pw_arena *arena, uint8_t **ret_base,
                                struct pw_error *ret_err)
{
        struct pw_apart *apart = pw_apart_of(device);
        struct pw_map map;
        enum pw_status status;
        void *base;

        if (apart->count == PW_APART_ARENAS)
                return pw_error_set(ret_err, PW_LIMIT, "more than %u arenas", PW_APART_ARENAS);
        status = pw_map_fd(arena->fd, arena->bytes, arena->own, &map, ret_err);
        if (status != PW_OK)
                return status;
        base = mmap(NULL, arena->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) {
                int number = errno;
                pw_unmap(&map);
                return pw_error_errno(ret_err, number, "addresses for an arena of %llu bytes", (unsigned long long)arena->bytes);
        }
        *ret_base = base;
        apart->arenas[apart->count++] = (struct pw_apart_arena){ base, (ptrdiff_t)((uintptr_t)map.base - (uintptr_t)base),
                                                                 arena->bytes };
        return PW_OK;
}

static void apart_unmap(struct pw_exec_device *device, uint8_t *base, uint64_t bytes)
{
        struct pw_apart *apart = pw_apart_of(device);

        for (uint32_t i = 0; i < apart->count; i++) {
                if (apart->arenas[i].base != base)
                        continue;
                munmap(base + apart->arenas[i].delta, bytes);
                munmap(base, bytes);
                apart->arenas[i] = apart->arenas[--apart->count];
                return;
        }
}

static enum pw_status apart_zero(struct pw_exec_device *device, uint8_t *to, uint64_t bytes, struct pw_error *ret_err)
{
        (void)ret_err;
        memset(pw_apart_at(pw_apart_of(device), to), 0, bytes);
        return PW_OK;
}

static enum pw_status apart_copy_out(struct pw_exec_device *device, void *to, const uint8_t *from, uint64_t bytes,
                                     struct pw_error *ret_err)
{
        (void)ret_err;
        if (bytes)
                memcpy(to, pw_apart_at(pw_apart_of(device), from), bytes);
        return PW_OK;
}

/* With addresses of this process, for the plain table. */
static struct pw_box_move here(struct pw_exec_device *device, const struct pw_box_move *move)
{
        const struct pw_apart *apart = pw_apart_of(device);
        struct pw_box_move here = *move;

        here.to = pw_apart_at(apart, move->to);
        here.from = move->from_host ? move->from : pw_apart_at(apart, move->from);
        return here;
}

static enum pw_status apart_copy_box(struct pw_exec_device *device, const struct pw_box_move *move, struct pw_error *ret_err)
{
        struct pw_box_move moved = here(device, move);

        return pw_memory_host.copy_box(device, &moved, ret_err);
}

static enum pw_status apart_reduce_box(struct pw_exec_device *device, const struct pw_box_move *move, enum pw_op op,
                                       struct pw_error *ret_err)
{
        struct pw_box_move moved = here(device, move);

        return pw_memory_host.reduce_box(device, &moved, op, ret_err);
}

const struct pw_device_memory pw_memory_apart = {
        .make = apart_make,
        .map = apart_map,
        .unmap = apart_unmap,
        .zero = apart_zero,
        .copy_out = apart_copy_out,
        .copy_box = apart_copy_box,
        .reduce_box = apart_reduce_box,
        .pin = pw_memory_pins_nothing,
        .unpin = pw_memory_unpins_nothing,
};
