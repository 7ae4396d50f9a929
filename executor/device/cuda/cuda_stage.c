/* A ring of pinned memory, by bytes: each piece is taken again when the event behind what read it has come. */
#include "executor/device/cuda_private.h"

#include "base/memory.h"

#define STAGE_BYTES (4 * PW_CUDA_PIECE_BYTES)

enum pw_status pw_cuda_stage_open(struct pw_exec_device *device, struct pw_error *ret_err)
{
        const struct pw_cuda_driver *driver = device->driver;
        struct pw_cuda_stage *stage = &device->stage;
        enum pw_status status;

        status = pw_cuda_check(device, driver->cuMemHostAlloc((void **)&stage->memory, STAGE_BYTES,
                                                              PW_CUDA_HOST_ALLOC_PORTABLE | PW_CUDA_HOST_ALLOC_DEVICEMAP),
                               "pinned memory of the host", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuMemHostGetDevicePointer(&stage->at, stage->memory, 0),
                                       "pinned memory of the host", ret_err);
        for (uint32_t i = 0; i < PW_CUDA_PIECES && status == PW_OK; i++)
                status = pw_cuda_check(device, driver->cuEventCreate(&stage->pieces[i].event, PW_CUDA_EVENT_BLOCKING_SYNC |
                                                                                                      PW_CUDA_EVENT_DISABLE_TIMING),
                                       "an event", ret_err);
        return status;
}

void pw_cuda_stage_close(struct pw_exec_device *device)
{
        struct pw_cuda_stage *stage = &device->stage;

        for (uint32_t i = 0; i < PW_CUDA_PIECES; i++)
                if (stage->pieces[i].event)
                        (void)device->driver->cuEventDestroy(stage->pieces[i].event);
        if (stage->memory)
                (void)device->driver->cuMemFreeHost(stage->memory);
}

static enum pw_status release_oldest(struct pw_exec_device *device, struct pw_error *ret_err)
{
        struct pw_cuda_stage *stage = &device->stage;
        const struct pw_cuda_piece *oldest = &stage->pieces[stage->first];
        enum pw_status status = pw_cuda_check(device, device->driver->cuEventSynchronize(oldest->event), "a copy from the host",
                                              ret_err);

        if (status != PW_OK)
                return status;
        stage->begin = oldest->end;
        stage->first = (stage->first + 1) % PW_CUDA_PIECES;
        stage->count--;
        return PW_OK;
}

enum pw_status pw_cuda_stage_take(struct pw_exec_device *device, uint64_t bytes, struct pw_cuda_staged *ret_staged,
                                  struct pw_error *ret_err)
{
        struct pw_cuda_stage *stage = &device->stage;
        uint64_t at, behind = stage->end % STAGE_BYTES;
        enum pw_status status = PW_OK;

        at = behind + bytes > STAGE_BYTES ? stage->end + STAGE_BYTES - behind : stage->end; /* a piece is in one */
        bytes = pw_round_up(bytes, PW_ROOM_ALIGN);
        while (status == PW_OK && stage->count && (at + bytes - stage->begin > STAGE_BYTES || stage->count == PW_CUDA_PIECES))
                status = release_oldest(device, ret_err);
        if (status != PW_OK)
                return status;
        if (!stage->count)
                stage->begin = at;
        stage->end = at + bytes;
        *ret_staged = (struct pw_cuda_staged){ stage->memory + at % STAGE_BYTES, stage->at + at % STAGE_BYTES };
        return PW_OK;
}

enum pw_status pw_cuda_stage_used(struct pw_exec_device *device, struct pw_error *ret_err)
{
        struct pw_cuda_stage *stage = &device->stage;
        struct pw_cuda_piece *piece = &stage->pieces[(stage->first + stage->count) % PW_CUDA_PIECES];

        piece->end = stage->end;
        stage->count++;
        return pw_cuda_check(device, device->driver->cuEventRecord(piece->event, device->launches), "an event", ret_err);
}
