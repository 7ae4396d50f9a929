/* Frames on the Unix stream socket: 8 bytes of header, a protobuf message, descriptors beside the first byte; doorbells between.
 *
 * A decoder takes whatever bytes came and hands out whole items one after the other; it never blocks and never trusts a length.
 */
#ifndef PW_WIRE_FRAME_H
#define PW_WIRE_FRAME_H

#include "base/error.h"

#define PW_WIRE_VERSION 1u
#define PW_LAYOUT_VERSION 14u /* of entry, ring, control, hint, image, board, size classes: any change of these counts it up */
#define PW_FRAME_HEADER 8u
#define PW_FRAME_MAX (64u << 20)
#define PW_FRAME_FDS_MAX 128u
#define PW_MESSAGE_FDS_MAX 253u /* SCM_MAX_FD: what one message can bring, so that the kernel closes none of them on arrival */

enum pw_frame_kind { PW_FRAME_DOORBELL = 0, PW_FRAME_REQUEST = 1, PW_FRAME_REPLY = 2 };

struct pw_frame {
        enum pw_frame_kind kind;
        const uint8_t *payload; /* good until the next call on the decoder */
        uint32_t bytes;
        int *fds;               /* the receiver takes those that it sets to -1; pw_frame_next() closes the rest */
        uint32_t fd_count;
};

struct pw_decoder {
        uint8_t *buffer;
        uint32_t start, end, capacity;
        uint32_t frame_max; /* longer frames are refused; PW_FRAME_MAX unless set */
        int fds[PW_MESSAGE_FDS_MAX];
        uint32_t fd_count;     /* received and not yet closed or taken, of which */
        uint32_t handed_count; /* the first are the last frame's */
};
void pw_decoder_init(struct pw_decoder *decoder);
void pw_decoder_done(struct pw_decoder *decoder); /* closes descriptors that nobody took */
void pw_decoder_rest(struct pw_decoder *decoder); /* gives its buffer back if nothing is left in it */

/* Read once from `socket` (recvmsg, MSG_DONTWAIT if `block` is false). *ret_bytes 0: nothing there now.
 * Errors: PW_DAEMON_GONE (end of file or reset), PW_NO_MEMORY, PW_SYSTEM, PW_PROTOCOL (too many descriptors). */
PW_MUST_CHECK enum pw_status pw_decoder_read(struct pw_decoder *decoder, int socket, bool block, size_t *ret_bytes,
                                             struct pw_error *ret_err);
/* The same, never blocking, from a peer that may send no descriptors: none is received, as closing one waits for the server of
 * its file, and no signal ends that. `looks`: the socket may have some, so it looks before it reads.
 * Errors: as above; PW_PROTOCOL: descriptors are next, which go with the socket. */
PW_MUST_CHECK enum pw_status pw_decoder_read_bytes(struct pw_decoder *decoder, int socket, bool looks, size_t *ret_bytes,
                                                   struct pw_error *ret_err);
/* Feed bytes without descriptors: for tests and fuzzers. */
PW_MUST_CHECK enum pw_status pw_decoder_feed(struct pw_decoder *decoder, const uint8_t *bytes, size_t count,
                                             struct pw_error *ret_err);
/* The next whole frame; PW_NOT_READY if there is none yet. Errors: PW_PROTOCOL (kind, length, descriptors that did not come). */
PW_MUST_CHECK enum pw_status pw_frame_next(struct pw_decoder *decoder, struct pw_frame *ret_frame, struct pw_error *ret_err);

/* Take the bytes of the frame that pw_frame_next() handed out last: the payload stays where it is if it is large, and others move.
 * Own: *ret_buffer, of *ret_bytes, in which frame->payload lies from now on, is the caller's to free(). Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_decoder_detach(struct pw_decoder *decoder, struct pw_frame *frame, uint8_t **ret_buffer,
                                               uint64_t *ret_bytes, struct pw_error *ret_err);

/* Header of a frame; returns PW_FRAME_HEADER. */
uint32_t pw_frame_header(uint8_t header[PW_FRAME_HEADER], enum pw_frame_kind kind, uint32_t bytes, uint32_t fd_count);
/* Send a whole frame, waiting for room in the socket. The descriptors are borrowed. `message` is a packed protobuf.
 * Errors: PW_DAEMON_GONE, PW_SYSTEM.   Blocks: yes. */
PW_MUST_CHECK enum pw_status pw_frame_send(int socket, enum pw_frame_kind kind, const uint8_t *message, uint32_t bytes,
                                           const int *fds, uint32_t fd_count, struct pw_error *ret_err);
/* The same of frames without descriptors that lie one behind the other, each with its header. */
PW_MUST_CHECK enum pw_status pw_frames_send(int socket, const uint8_t *frames, size_t bytes, struct pw_error *ret_err);

#endif
