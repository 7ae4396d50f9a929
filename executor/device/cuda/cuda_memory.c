/* The memory of a GPU: an arena of the driver's virtual memory, which others map by its descriptor; copies and reductions by
 * kernels where both arrays are on GPUs, by way of a pinned stage where one is the host's and does not lie in one piece. */
#include "executor/device/cuda_private.h"

#include "base/memory.h"
#include "executor/device/cuda/peer.h"

static struct pw_cuda_location location_of(const struct pw_exec_device *device)
{
        return (struct pw_cuda_location){ PW_CUDA_LOCATION_DEVICE, device->device };
}

/* --- arenas ------------------------------------------------------------------------------------------------------------------- */

static enum pw_status making_failed(struct pw_exec_device *device, uint64_t bytes, enum pw_cuda_result result,
                                    struct pw_error *ret_err)
{
        size_t free_bytes = 0, all = 0;

        if (result != PW_CUDA_OUT_OF_MEMORY)
                return pw_cuda_failed(device, result, "the memory of the device", ret_err);
        (void)device->driver->cuMemGetInfo(&free_bytes, &all);
        return pw_error_set(ret_err, PW_NO_SPACE, "GPU %u has too little free memory: %llu MiB for --device-memory, of %llu MiB "
                                                  "%llu MiB are free: ask for less, or 0 for what there is",
                            (unsigned)device->params.ordinal, (unsigned long long)bytes >> 20, (unsigned long long)all >> 20,
                            (unsigned long long)free_bytes >> 20);
}

static enum pw_status cuda_make(struct pw_exec_device *device, uint64_t bytes, int *ret_fd, struct pw_error *ret_err)
{
        struct pw_cuda_allocation allocation = { .kind = PW_CUDA_ALLOCATION_PINNED, .handle_kind = PW_CUDA_HANDLE_FD,
                                                 .location = location_of(device) };
        unsigned long long handle;
        enum pw_cuda_result result;
        enum pw_status status;

        if (bytes > UINT64_MAX - device->granularity)
                return making_failed(device, bytes, PW_CUDA_OUT_OF_MEMORY, ret_err);
        bytes = pw_round_up(bytes, device->granularity);
        result = device->driver->cuMemCreate(&handle, bytes, &allocation, 0);
        if (result != PW_CUDA_SUCCESS)
                return making_failed(device, bytes, result, ret_err);
        status = pw_cuda_check(device, device->driver->cuMemExportToShareableHandle(ret_fd, handle, PW_CUDA_HANDLE_FD, 0),
                               "a descriptor of the memory", ret_err);
        (void)device->driver->cuMemRelease(handle); /* it lives while the descriptor does */
        return status;
}

/* Some drivers know no reading alone: others' memory is not written all the same. */
static enum pw_cuda_result allow(struct pw_exec_device *device, unsigned long long at, size_t bytes, bool own)
{
        struct pw_cuda_access access = { location_of(device), own ? PW_CUDA_ACCESS_READ_WRITE : PW_CUDA_ACCESS_READ };
        enum pw_cuda_result result = device->driver->cuMemSetAccess(at, bytes, &access, 1);

        if (result == PW_CUDA_SUCCESS || own)
                return result;
        access.flags = PW_CUDA_ACCESS_READ_WRITE;
        return device->driver->cuMemSetAccess(at, bytes, &access, 1);
}

static enum pw_status map_at(struct pw_exec_device *device, unsigned long long at, size_t bytes, const struct pw_arena *arena,
                             struct pw_error *ret_err)
{
        const struct pw_cuda_driver *driver = device->driver;
        unsigned long long handle;
        enum pw_status status;

        status = pw_cuda_check(device, driver->cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)arena->fd,
                                                                              PW_CUDA_HANDLE_FD),
                               "the memory of a device", ret_err);
        if (status != PW_OK)
                return status;
        status = pw_cuda_check(device, driver->cuMemMap(at, bytes, 0, handle, 0), "mapping the memory of a device", ret_err);
        (void)driver->cuMemRelease(handle);
        if (status != PW_OK)
                return status;
        status = pw_cuda_check(device, allow(device, at, bytes, arena->own), "access to the memory of a device", ret_err);
        if (status != PW_OK)
                (void)driver->cuMemUnmap(at, bytes);
        return status;
}

static enum pw_status cuda_map(struct pw_exec_device *device, const struct pw_arena *arena, uint8_t **ret_base,
                               struct pw_error *ret_err)
{
        size_t bytes = pw_round_up(arena->bytes, device->granularity);
        unsigned long long at;
        enum pw_status status;

        status = pw_cuda_check(device, device->driver->cuMemAddressReserve(&at, bytes, 0, 0, 0), "addresses for a device", ret_err);
        if (status == PW_OK && (status = map_at(device, at, bytes, arena, ret_err)) != PW_OK)
                (void)device->driver->cuMemAddressFree(at, bytes);
        if (status == PW_OK)
                *ret_base = (uint8_t *)(uintptr_t)at;
        return status;
}

static void cuda_unmap(struct pw_exec_device *device, uint8_t *base, uint64_t bytes)
{
        size_t rounded = pw_round_up(bytes, device->granularity);

        (void)device->driver->cuMemUnmap((uintptr_t)base, rounded);
        (void)device->driver->cuMemAddressFree((uintptr_t)base, rounded);
}

/* --- bytes -------------------------------------------------------------------------------------------------------------------- */

static enum pw_status cuda_zero(struct pw_exec_device *device, uint8_t *to, uint64_t bytes, struct pw_error *ret_err)
{
        if (!bytes)
                return PW_OK;
        return pw_cuda_check(device, device->driver->cuMemsetD8Async((uintptr_t)to, 0, bytes, device->launches), "zeroing",
                             ret_err);
}

static enum pw_status cuda_copy_out(struct pw_exec_device *device, void *to, const uint8_t *from, uint64_t bytes,
                                    struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        bool pinned;

        if (!bytes)
                return PW_OK;
        pw_cuda_flush(device);
        for (uint64_t at = 0, now; at < bytes && status == PW_OK; at += now) {
                now = pw_cuda_alike(device, (uint8_t *)to + at, bytes - at, &pinned);
                status = pw_cuda_check(device,
                                       device->driver->cuMemcpyDtoHAsync((uint8_t *)to + at, (uintptr_t)from + at, now,
                                                                         device->copies),
                                       "a copy to the host", ret_err);
        }
        if (status != PW_OK)
                return status;
        return pw_cuda_check(device, device->driver->cuStreamSynchronize(device->copies), "a copy to the host", ret_err);
}

/* --- boxes -------------------------------------------------------------------------------------------------------------------- */

static enum pw_status launch_box(struct pw_exec_device *device, const struct pw_box_move *move, const char *kernel,
                                 struct pw_error *ret_err)
{
        struct pw_peer_part part;
        unsigned long long to = (uintptr_t)move->to, from = (uintptr_t)move->from;
        void *args[] = { &to, &from, &part };
        struct pw_cuda_grid grid;

        pw_peer_part_init(&part, move->to_box, move->from_box, move->part);
        grid = (struct pw_cuda_grid){ pw_peer_blocks(&part, pw_dtype_bytes(move->dtype)), PW_PEER_BLOCK };
        return pw_cuda_launch_own(device, &(struct pw_cuda_kernel_of){ 0, &pw_peer_code, kernel }, grid, args, ret_err);
}

/* The part lies in one piece in both: where in each. */
static bool is_one_piece(const struct pw_box_move *move, uint64_t *ret_to, uint64_t *ret_from)
{
        struct pw_peer_part part;

        pw_peer_part_init(&part, move->to_box, move->from_box, move->part);
        *ret_to = part.to * pw_dtype_bytes(move->dtype);
        *ret_from = part.from * pw_dtype_bytes(move->dtype);
        return part.rows == 1;
}

/* The first axis along which it can be halved, or the rank. */
static uint32_t divisible_axis(const struct pw_box *part)
{
        uint32_t axis = 0;

        while (axis < part->rank && part->size[axis] < 2)
                axis++;
        return axis;
}

static enum pw_status staged(struct pw_exec_device *device, const struct pw_box_move *move, const char *kernel,
                             struct pw_error *ret_err);

static enum pw_status in_halves(struct pw_exec_device *device, const struct pw_box_move *move, const char *kernel,
                                struct pw_error *ret_err)
{
        struct pw_box first = *move->part, second = *move->part;
        uint32_t axis = divisible_axis(move->part);
        struct pw_box_move half = *move;
        enum pw_status status;

        first.size[axis] /= 2;
        second.start[axis] += first.size[axis];
        second.size[axis] -= first.size[axis];
        half.part = &first;
        status = staged(device, &half, kernel, ret_err);
        half.part = &second;
        return status == PW_OK ? staged(device, &half, kernel, ret_err) : status;
}

/* Gathered on the host in pieces, which a kernel reads there. */
static enum pw_status staged(struct pw_exec_device *device, const struct pw_box_move *move, const char *kernel,
                             struct pw_error *ret_err)
{
        uint64_t bytes = pw_box_elements(move->part) * pw_dtype_bytes(move->dtype);
        struct pw_box_move from_stage = *move;
        struct pw_cuda_staged piece;
        enum pw_status status;

        if (bytes > PW_CUDA_PIECE_BYTES)
                return in_halves(device, move, kernel, ret_err);
        status = pw_cuda_stage_take(device, bytes, &piece, ret_err);
        if (status != PW_OK)
                return status;
        pw_box_copy(piece.host, move->part, move->from, move->from_box, move->part, pw_dtype_bytes(move->dtype));
        from_stage.from = (const void *)(uintptr_t)piece.at;
        from_stage.from_box = move->part;
        status = launch_box(device, &from_stage, kernel, ret_err);
        return status == PW_OK ? pw_cuda_stage_used(device, ret_err) : status;
}

static enum pw_status copy_pinned(struct pw_exec_device *device, unsigned long long to, const uint8_t *from, uint64_t bytes,
                                  struct pw_error *ret_err)
{
        return pw_cuda_check(device, device->driver->cuMemcpyHtoDAsync(to, from, bytes, device->launches), "a copy from the host",
                             ret_err);
}

/* A piece at most. */
static enum pw_status copy_staged(struct pw_exec_device *device, unsigned long long to, const uint8_t *from, uint64_t bytes,
                                  struct pw_error *ret_err)
{
        struct pw_cuda_staged piece;
        enum pw_status status = pw_cuda_stage_take(device, bytes, &piece, ret_err);

        if (status != PW_OK)
                return status;
        memcpy(piece.host, from, bytes);
        status = copy_pinned(device, to, piece.host, bytes, ret_err);
        return status == PW_OK ? pw_cuda_stage_used(device, ret_err) : status;
}

/* In one piece here and there. */
static enum pw_status copy_in(struct pw_exec_device *device, unsigned long long to, const uint8_t *from, uint64_t bytes,
                              struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        bool pinned;

        for (uint64_t at = 0, now; at < bytes && status == PW_OK; at += now) {
                now = pw_cuda_alike(device, from + at, bytes - at, &pinned);
                if (!pinned)
                        now = pw_min_u64(now, PW_CUDA_PIECE_BYTES);
                status = (pinned ? copy_pinned : copy_staged)(device, to + at, from + at, now, ret_err);
        }
        return status;
}

static enum pw_status cuda_copy_box(struct pw_exec_device *device, const struct pw_box_move *move, struct pw_error *ret_err)
{
        const char *kernel = pw_peer_copy(pw_dtype_bytes(move->dtype));
        uint64_t bytes = pw_box_elements(move->part) * pw_dtype_bytes(move->dtype), to, from;
        bool one_piece;

        if (!bytes)
                return PW_OK;
        one_piece = is_one_piece(move, &to, &from);
        if (one_piece && move->from_host)
                return copy_in(device, (uintptr_t)move->to + to, (const uint8_t *)move->from + from, bytes, ret_err);
        if (one_piece)
                return pw_cuda_check(device, device->driver->cuMemcpyDtoDAsync((uintptr_t)move->to + to,
                                                                               (uintptr_t)move->from + from, bytes,
                                                                               device->launches),
                                     "a copy between devices", ret_err);
        if (!kernel)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "copies of %s values", pw_dtype_text(move->dtype));
        return move->from_host ? staged(device, move, kernel, ret_err) : launch_box(device, move, kernel, ret_err);
}

static enum pw_status cuda_reduce_box(struct pw_exec_device *device, const struct pw_box_move *move, enum pw_op op,
                                      struct pw_error *ret_err)
{
        const char *kernel = pw_peer_reduce(move->dtype, op);

        if (!kernel)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "a reduction of %s values", pw_dtype_text(move->dtype));
        if (!pw_box_elements(move->part))
                return PW_OK;
        return move->from_host ? staged(device, move, kernel, ret_err) : launch_box(device, move, kernel, ret_err);
}

const struct pw_device_memory pw_memory_cuda = {
        .make = cuda_make,
        .map = cuda_map,
        .unmap = cuda_unmap,
        .zero = cuda_zero,
        .copy_out = cuda_copy_out,
        .copy_box = cuda_copy_box,
        .reduce_box = cuda_reduce_box,
        .pin = pw_cuda_pin,
        .unpin = pw_cuda_unpin,
};
