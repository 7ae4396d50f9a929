/* The plain memory: rooms are maps of the process that the daemon made, and all that is asked for is done at once. */
#include "executor/device/memory.h"

#include <string.h>

static enum pw_status refuse(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_UNSUPPORTED, "a device whose memory is the host's has none of its own");
}

static enum pw_status host_make(struct pw_exec_device *device, uint64_t bytes, int *ret_fd, struct pw_error *ret_err)
{
        (void)device, (void)bytes, (void)ret_fd;
        return refuse(ret_err);
}

static enum pw_status host_map(struct pw_exec_device *device, const struct pw_arena *arena, uint8_t **ret_base,
                               struct pw_error *ret_err)
{
        (void)device, (void)arena, (void)ret_base;
        return refuse(ret_err);
}

static void host_unmap(struct pw_exec_device *device, uint8_t *base, uint64_t bytes) { (void)device, (void)base, (void)bytes; }

static enum pw_status host_zero(struct pw_exec_device *device, uint8_t *to, uint64_t bytes, struct pw_error *ret_err)
{
        (void)device, (void)ret_err;
        memset(to, 0, bytes);
        return PW_OK;
}

static enum pw_status host_copy_out(struct pw_exec_device *device, void *to, const uint8_t *from, uint64_t bytes,
                                    struct pw_error *ret_err)
{
        (void)device, (void)ret_err;
        if (bytes)
                memcpy(to, from, bytes);
        return PW_OK;
}

static enum pw_status host_copy_box(struct pw_exec_device *device, const struct pw_box_move *move, struct pw_error *ret_err)
{
        (void)device, (void)ret_err;
        pw_box_copy(move->to, move->to_box, move->from, move->from_box, move->part, pw_dtype_bytes(move->dtype));
        return PW_OK;
}

static enum pw_status host_reduce_box(struct pw_exec_device *device, const struct pw_box_move *move, enum pw_op op,
                                      struct pw_error *ret_err)
{
        (void)device;
        if (pw_box_reduce(move->to, move->to_box, move->from, move->from_box, move->part, move->dtype, op) == PW_OK)
                return PW_OK;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "a reduction of %s values", pw_dtype_text(move->dtype));
}

bool pw_memory_pins_nothing(struct pw_exec_device *device, uint8_t *base, uint64_t bytes, bool writable)
{
        (void)device, (void)base, (void)bytes, (void)writable;
        return false;
}

void pw_memory_unpins_nothing(struct pw_exec_device *device, uint8_t *base, uint64_t bytes)
{
        (void)device, (void)base, (void)bytes;
}

const struct pw_device_memory pw_memory_host = {
        .make = host_make,
        .map = host_map,
        .unmap = host_unmap,
        .zero = host_zero,
        .copy_out = host_copy_out,
        .copy_box = host_copy_box,
        .reduce_box = host_reduce_box,
        .pin = pw_memory_pins_nothing,
        .unpin = pw_memory_unpins_nothing,
};
