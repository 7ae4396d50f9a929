/* What comes in from a session: frames, a budget of them per turn, and what bounds those that begin and do not end.
 *
 * Whatever arrives is a doorbell, as a thread whose own meets a full socket, or another's frame on its way, sends none. */
#include "base/memory.h"
#include "daemon/closer.h"
#include "daemon/lane.h"
#include "daemon/request.h"
#include "daemon/session.h"

#include <event2/event.h>

#define FRAME_BUDGET 64
#define HELLO_MAX_BYTES 4096u            /* a frame of who has not said hello */
#define BEGUN_FREE_BYTES (1u << 20)      /* of one session: buffers up to that size are not counted */
#define BEGUN_MAX_BYTES (128u << 20)     /* of the sessions of a tenant together */

void pw_session_input_init(struct pw_dsession *session)
{
        pw_decoder_init(&session->decoder);
        session->decoder.frame_max = HELLO_MAX_BYTES; /* pw_session_attach() knows better */
}

/* What the session's frame takes until it is whole. */
static void begun_count(struct pw_dsession *session)
{
        uint32_t bytes = session->decoder.capacity > BEGUN_FREE_BYTES ? session->decoder.capacity : 0;

        session->tenant->begun_bytes += (uint64_t)bytes - session->begun_bytes;
        session->begun_bytes = bytes;
}

/* Errors: PW_LIMIT. */
static enum pw_status begun_check(struct pw_dsession *session, struct pw_error *ret_err)
{
        begun_count(session);
        if (!session->begun_bytes || session->tenant->begun_bytes <= BEGUN_MAX_BYTES)
                return PW_OK;
        return pw_error_set(ret_err, PW_LIMIT, "frames of tenant %s that have begun and not ended take %llu MiB", session->tenant->name,
                            (unsigned long long)session->tenant->begun_bytes >> 20);
}

static enum pw_status read_some(struct pw_dsession *session, struct pw_error *ret_err)
{
        size_t bytes;
        enum pw_status status = pw_decoder_read(&session->decoder, session->fd, false, &bytes, ret_err);

        if (status == PW_OK && bytes)
                pw_lanes_rung(session);
        if (status == PW_OK && session->decoder.fd_count)
                status = pw_error_set(ret_err, PW_PROTOCOL, "it sent descriptors");
        return status == PW_OK ? begun_check(session, ret_err) : status;
}

static void take_frame(struct pw_dsession *session, const struct pw_frame *frame)
{
        if (frame->kind == PW_FRAME_REQUEST)
                pw_request_take(session, frame);
        else if (frame->kind == PW_FRAME_REPLY)
                pw_request_answered(session, frame);
}

void pw_session_hear(struct pw_dsession *session)
{
        struct pw_error err;
        struct pw_frame frame;
        enum pw_status status = PW_OK;

        if (session->ended || !pw_session_is_heard(session))
                return;
        pw_woken(session->daemon);
        status = read_some(session, &err);
        for (int i = 0; status == PW_OK && !session->ended && pw_session_is_heard(session) && i < FRAME_BUDGET; i++) {
                status = pw_frame_next(&session->decoder, &frame, &err);
                if (status == PW_OK)
                        take_frame(session, &frame);
        }
        if (status == PW_DAEMON_GONE)
                pw_session_end(session, NULL);
        else if (status != PW_OK && status != PW_NOT_READY)
                pw_session_end(session, err.text);
        else if (status == PW_OK && !session->ended && session->heard)
                event_active(session->readable, EV_READ, 0); /* frames are left: next turn, or when it is heard again */
        else if (status == PW_NOT_READY) {
                pw_decoder_rest(&session->decoder);
                begun_count(session);
        }
}

void pw_session_mind(struct pw_dsession *session)
{
        bool heard = pw_session_is_heard(session);

        if (session->ended || heard == session->heard)
                return;
        session->heard = heard;
        if (heard && event_add(session->readable, NULL) < 0)
                pw_session_end(session, "out of memory to hear it again");
        else if (heard)
                event_active(session->readable, EV_READ, 0); /* for frames that came before it was not heard */
        else
                event_del(session->readable);
}

void pw_session_input_done(struct pw_dsession *session)
{
        struct pw_decoder *decoder = &session->decoder;

        if (session->tenant)
                session->tenant->begun_bytes -= session->begun_bytes;
        if (decoder->fd_count)
                pw_closer_take(session->daemon, decoder->fds, decoder->fd_count);
        decoder->fd_count = 0;
        pw_decoder_done(decoder);
}
