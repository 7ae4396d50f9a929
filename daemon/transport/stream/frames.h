/* Frames in a row of bytes: a length of four bytes, little-endian, then as many bytes. Whole ones are handed out; a length is
 * checked as soon as it is there, and room is taken for bytes that came, not for those that are said to come.
 */
#ifndef PW_DAEMON_TRANSPORT_STREAM_FRAMES_H
#define PW_DAEMON_TRANSPORT_STREAM_FRAMES_H

#include "base/error.h"

#define PW_FRAMES_HEAD 4u
#define PW_FRAMES_MAX (1u << 20)    /* bytes of a frame, at most; 0 is a frame too */
#define PW_FRAMES_PIECE (64u << 10) /* bytes that are read at once, at most */

/* Zeroed: empty. */
struct pw_frames {
        uint8_t *bytes;
        uint32_t start, end, capacity;
};
void pw_frames_done(struct pw_frames *frames);

/* Where the next bytes go, *ret_bytes at most, and at least one; NULL: out of memory. Whole frames are taken out before. */
uint8_t *pw_frames_room(struct pw_frames *frames, uint32_t *ret_bytes);
void pw_frames_came(struct pw_frames *frames, uint32_t bytes);
/* The next whole frame, good until room is asked for; PW_NOT_READY: there is none yet. Errors: PW_PROTOCOL: too long. */
PW_MUST_CHECK enum pw_status pw_frames_next(struct pw_frames *frames, const uint8_t **ret_frame, uint32_t *ret_bytes,
                                            struct pw_error *ret_err);
static inline bool pw_frames_empty(const struct pw_frames *frames) { return frames->start == frames->end; } /* none is half here */

#endif
