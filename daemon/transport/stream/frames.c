/* Frames out of bytes. */
#include "daemon/transport/stream/frames.h"

#include "base/memory.h"

void pw_frames_done(struct pw_frames *frames)
{
        free(frames->bytes);
        *frames = (struct pw_frames){ .capacity = 0 };
}

uint8_t *pw_frames_room(struct pw_frames *frames, uint32_t *ret_bytes)
{
        uint32_t have = frames->end - frames->start;

        if (have && frames->start)
                memmove(frames->bytes, frames->bytes + frames->start, have);
        frames->start = 0;
        frames->end = have;
        if (frames->capacity - have < PW_FRAMES_PIECE / 2) { /* twice what came, at most */
                uint32_t capacity = frames->capacity ? 2 * frames->capacity : PW_FRAMES_PIECE;
                uint8_t *bytes = realloc(frames->bytes, capacity);

                if (!bytes)
                        return NULL;
                frames->bytes = bytes;
                frames->capacity = capacity;
        }
        *ret_bytes = (uint32_t)pw_min_u64(frames->capacity - have, PW_FRAMES_PIECE);
        return frames->bytes + have;
}

void pw_frames_came(struct pw_frames *frames, uint32_t bytes) { frames->end += bytes; }

enum pw_status pw_frames_next(struct pw_frames *frames, const uint8_t **ret_frame, uint32_t *ret_bytes, struct pw_error *ret_err)
{
        uint32_t have = frames->end - frames->start, bytes;
        const uint8_t *head;

        if (have < PW_FRAMES_HEAD)
                return PW_NOT_READY;
        head = frames->bytes + frames->start;
        bytes = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
        if (bytes > PW_FRAMES_MAX)
                return pw_error_set(ret_err, PW_PROTOCOL, "a frame of %u bytes, %u at most", bytes, PW_FRAMES_MAX);
        if (have - PW_FRAMES_HEAD < bytes)
                return PW_NOT_READY;
        frames->start += PW_FRAMES_HEAD + bytes;
        *ret_frame = head + PW_FRAMES_HEAD;
        *ret_bytes = bytes;
        return PW_OK;
}
