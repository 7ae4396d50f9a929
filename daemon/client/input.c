/* What comes in from sessions: frames, taken in turn by user within a budget of time, and what bounds those that begin and do not
 * end.
 *
 * A socket that has something to read puts its session behind the others of its user, and the user behind other users. Each turn of
 * the loop takes frames in that order, of one session for SESSION_US at a time: of each user that has some, if that takes no longer
 * than ROUND_US, and where it took less, on until TURN_US. So what somebody asks waits for its share of others' time, however much
 * they ask, and not for several turns where much else is done in each. Executors come first, within a ROUND_US of their own: a
 * device stands still while its executor waits for an answer.
 *
 * Whatever arrives is a doorbell, as a thread whose own meets a full socket, or another's frame on its way, sends none. And what a
 * client published before it said something is read before that is taken, its leaving included: a part at a time. */
#include "base/memory.h"
#include "daemon/client/lane.h"
#include "daemon/client/request.h"
#include "daemon/client/client.h"

#include <event2/event.h>

#define TURN_US 1000u
#define ROUND_US 2500u
#define SESSION_US 250u
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
        return pw_error_set(ret_err, PW_LIMIT, "frames of tenant %s that have begun and not ended take %llu MiB",
                            session->tenant->name, (unsigned long long)session->tenant->begun_bytes >> 20);
}

static enum pw_status read_some(struct pw_dsession *session, struct pw_error *ret_err)
{
        size_t bytes;
        enum pw_status status = pw_decoder_read_bytes(&session->decoder, session->fd, session->daemon->may_be_sent_files,
                                                      &bytes, ret_err);

        if (status == PW_OK && bytes)
                pw_lanes_rung(session);
        return status == PW_OK ? begun_check(session, ret_err) : status;
}

static void take_frame(struct pw_dsession *session, const struct pw_frame *frame)
{
        if (frame->kind == PW_FRAME_REQUEST)
                pw_request_take(session, frame);
        else if (frame->kind == PW_FRAME_REPLY)
                pw_request_answered(session, frame);
}

/* Is all read that it published before it said what came last? */
static bool is_read(struct pw_dsession *session)
{
        if (session->wish && pw_lanes_read(session, session->wish))
                session->wish = 0;
        return !session->wish;
}

/* The next frame; what there is to be read is read once. Errors: PW_BUSY (what it published before is not all read yet). */
static enum pw_status next_frame(struct pw_dsession *session, bool *read, struct pw_frame *frame, struct pw_error *err)
{
        enum pw_status status;

        if (!is_read(session))
                return PW_BUSY;
        status = session->ended ? PW_NOT_READY : pw_frame_next(&session->decoder, frame, err);
        if (status != PW_NOT_READY || *read || session->ended)
                return status;
        *read = true;
        status = read_some(session, err);
        if (status == PW_DAEMON_GONE && !session->gone)
                session->wish = pw_lanes_pass(session);
        session->gone |= status == PW_DAEMON_GONE;
        if (status != PW_OK && status != PW_DAEMON_GONE)
                return status;
        if (!is_read(session))
                return PW_BUSY;
        return status == PW_OK && !session->ended ? pw_frame_next(&session->decoder, frame, err) : status;
}

/* What it said, for SESSION_US. If that is not all, it stands behind the others again. */
static void hear(struct pw_dsession *session)
{
        struct pw_error err;
        struct pw_frame frame;
        enum pw_status status = PW_OK;
        uint64_t until_us = pw_now_us() + SESSION_US;
        bool read = false;

        do {
                status = next_frame(session, &read, &frame, &err);
                if (status == PW_OK && !session->ended)
                        take_frame(session, &frame);
                if (session->ended || !session->heard)
                        return; /* who is heard again speaks up again */
        } while (status == PW_OK && pw_now_us() < until_us);
        if (status == PW_OK || status == PW_BUSY) {
                pw_session_speaks(session);
        } else if (status == PW_NOT_READY) {
                pw_decoder_rest(&session->decoder);
                begun_count(session);
        } else {
                pw_session_end(session, status == PW_DAEMON_GONE ? NULL : err.text);
        }
}

/* Executors are a user of their own. */
static struct pw_speakers *speakers_of(struct pw_dsession *session)
{
        return session->role == PW_ROLE_EXECUTOR || session->role == PW_ROLE_DESCRIBER ? &session->daemon->clients.child_speakers :
                &session->tenant->speakers;
}

static void take_turn(struct pw_daemon *daemon, struct pw_speakers *speakers)
{
        if (!pw_list_empty(&speakers->sessions) && pw_list_empty(&speakers->turn))
                pw_list_append(&daemon->clients.speaking, &speakers->turn);
}

void pw_session_speaks(struct pw_dsession *session)
{
        struct pw_speakers *speakers = speakers_of(session);

        if (session->ended || !session->heard || !pw_list_empty(&session->of_speakers))
                return;
        pw_woken(&session->daemon->loop);
        pw_list_append(&speakers->sessions, &session->of_speakers);
        take_turn(session->daemon, speakers);
}

void pw_session_input_mind(struct pw_dsession *session)
{
        bool heard = pw_session_is_heard(session);

        if (session->ended || heard == session->heard)
                return;
        session->heard = heard;
        if (heard && event_add(session->readable, NULL) < 0)
                pw_session_end(session, "out of memory to hear it again");
        else if (heard)
                pw_session_speaks(session); /* frames that came before it was not heard */
        else
                event_del(session->readable);
}

static void hear_first(struct pw_list *sessions)
{
        struct pw_dsession *session = pw_list_first(sessions, struct pw_dsession, of_speakers);

        pw_list_remove(&session->of_speakers);
        hear(session);
}

/* Each that said something, once. */
static void hear_children(struct pw_daemon *daemon, uint64_t until_us)
{
        struct pw_list *sessions = &daemon->clients.child_speakers.sessions, now;

        pw_list_init(&now);
        pw_list_splice(&now, sessions);
        while (!pw_list_empty(&now) && pw_now_us() < until_us)
                hear_first(&now);
        pw_list_splice(&now, sessions);
        pw_list_splice(sessions, &now);
        pw_list_remove(&daemon->clients.child_speakers.turn);
        take_turn(daemon, &daemon->clients.child_speakers);
}

/* Each user that has something to say, once; one at least, whatever the time is. */
static void hear_users(struct pw_daemon *daemon, uint64_t until_us)
{
        struct pw_list now;

        pw_list_init(&now);
        pw_list_splice(&now, &daemon->clients.speaking);
        while (!pw_list_empty(&now)) {
                struct pw_speakers *speakers = pw_list_first(&now, struct pw_speakers, turn);

                pw_list_remove(&speakers->turn);
                if (!pw_list_empty(&speakers->sessions))
                        hear_first(&speakers->sessions);
                take_turn(daemon, speakers);
                if (pw_now_us() >= until_us)
                        break;
        }
        pw_list_splice(&now, &daemon->clients.speaking);
        pw_list_splice(&daemon->clients.speaking, &now);
}

bool pw_inputs_turn(struct pw_daemon *daemon)
{
        uint64_t began_us;

        if (pw_list_empty(&daemon->clients.speaking))
                return false;
        hear_children(daemon, pw_now_us() + ROUND_US);
        began_us = pw_now_us(); /* users have their time, however long executors took */
        if (!pw_list_empty(&daemon->clients.speaking))
                hear_users(daemon, began_us + ROUND_US);
        while (!pw_list_empty(&daemon->clients.speaking) && pw_now_us() < began_us + TURN_US)
                hear_users(daemon, began_us + TURN_US);
        return true;
}

void pw_session_input_done(struct pw_dsession *session)
{
        if (session->tenant)
                session->tenant->begun_bytes -= session->begun_bytes;
        pw_decoder_done(&session->decoder);
}
