/* One worker, as the server sees it. */
#include "examples/parameter-server/seat.h"

#include "examples/common/failure.h"

#include <signal.h>
#include <string.h>

static void let_go(struct pw_future **future)
{
        pw_unref(*future);
        *future = NULL;
}

/* The note that is to be filled next. */
static enum pw_status make_task(struct seat *seat, struct pw_session *session, struct pw_error *err)
{
        void *room;
        enum pw_status status = pw_create(session, sizeof(struct task_note), NULL, &seat->task, &room, err);

        if (status == PW_OK)
                seat->room = room;
        return status;
}

enum pw_status seat_offer(struct seat *seat, struct pw_session *session, const char *run, struct pw_error *err)
{
        char name[NOTE_NAME_BYTES];
        enum pw_status status = make_task(seat, session, err);

        if (status == PW_OK)
                status = pw_name(seat->task, note_name(name, run, "task", seat->number), err);
        if (status != PW_OK)
                let_go(&seat->task);
        return status;
}

/* What is not bound is as good as unbound: that of the answer is, where the worker is on another host, which lets it go itself. */
static void unbind(struct seat *seat, struct pw_session *session, const char *run)
{
        char name[NOTE_NAME_BYTES];

        if (pw_unname(session, note_name(name, run, "task", seat->number), NULL) != PW_OK ||
            pw_unname(session, note_name(name, run, "answer", seat->number), NULL) != PW_OK)
                return;
}

enum pw_status seat_await(struct seat *seat, struct pw_session *session, const char *run, int64_t timeout_us, struct pw_error *err)
{
        char name[NOTE_NAME_BYTES];
        enum pw_status status = pw_lookup(session, note_name(name, run, "answer", seat->number), timeout_us, &seat->answer, err);

        if (status != PW_OK)
                return status;
        unbind(seat, session, run);
        seat->state = SEAT_IDLE;
        return PW_OK;
}

enum pw_status seat_tell(struct seat *seat, struct pw_session *session, const struct task_note *note, struct pw_error *err)
{
        struct task_note *room = seat->room;

        seat->told = seat->task;
        seat->task = NULL;
        enum pw_status status = make_task(seat, session, err);
        if (status != PW_OK)
                return status;
        *room = *note;
        room->next = pw_future_id(seat->task);
        if (seat->weights)
                room->weights = pw_future_id(seat->weights);
        seat->state = SEAT_BUSY;
        return pw_seal(seat->told, err);
}

enum pw_status seat_hear(struct seat *seat, struct pw_session *session, struct answer *ret_answer, struct pw_error *err)
{
        struct answer answer = { NULL, NULL, NULL };
        struct answer_note note = { .turn = { 0, 0 } };
        struct pw_view view;
        enum pw_status status = pw_get(seat->answer, 0, &view, err);

        if (status != PW_OK)
                return status;
        if (view.bytes == sizeof note)
                memcpy(&note, view.data, sizeof note);
        if (view.bytes != sizeof note || seat->state != SEAT_BUSY || memcmp(&note.turn, &seat->turn, sizeof note.turn) != 0)
                status = failure(err, PW_PROTOCOL, "its answer", "is not to what it was told");
        pw_view_done(&view);
        if (status == PW_OK)
                status = pw_open(session, note.next, &answer.next, err);
        if (status == PW_OK)
                status = pw_open(session, note.gradient, &answer.gradient, err);
        if (status == PW_OK)
                status = pw_open(session, note.loss, &answer.loss, err);
        if (status != PW_OK)
                answer_done(&answer);
        else
                *ret_answer = answer;
        return status;
}

void seat_answered(struct seat *seat, struct answer *answer)
{
        let_go(&seat->told);
        let_go(&seat->weights);
        let_go(&seat->answer);
        seat->answer = answer->next;
        answer->next = NULL;
        seat->state = SEAT_IDLE;
}

void answer_done(struct answer *answer)
{
        let_go(&answer->next);
        let_go(&answer->gradient);
        let_go(&answer->loss);
}

void seat_leave(struct seat *seat, struct pw_session *session, const char *run)
{
        if (seat->state == SEAT_COMING)
                unbind(seat, session, run);
        seat->state = SEAT_LOST;
        /* What a worker would have said is in error once its session has ended: its process ends by itself. */
        bool has_ended = seat->answer && pw_poll(seat->answer) != PW_NOT_READY && pw_poll(seat->answer) != PW_OK;
        /* Whoever waits for this note is told that nothing comes any more. */
        if (seat->task && pw_abort(seat->task, NULL) != PW_OK)
                seat->room = NULL;
        let_go(&seat->task);
        let_go(&seat->told);
        let_go(&seat->weights);
        let_go(&seat->answer);
        if (!seat->pid)
                return;
        if (!has_ended)
                kill(seat->pid, SIGKILL);
        start_await(seat->pid);
        seat->pid = 0;
}
