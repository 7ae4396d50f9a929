/* One worker, as the server sees it: the notes between the two, and what these hold.
 */
#ifndef PARAMETER_SERVER_SEAT_H
#define PARAMETER_SERVER_SEAT_H

#include "examples/parameter-server/note.h"
#include "examples/parameter-server/start.h"

enum seat_state {
        SEAT_COMING, /* nobody has come yet: the first task is there under its name */
        SEAT_IDLE,   /* has nothing to do */
        SEAT_BUSY,   /* has `turn` to do */
        SEAT_LOST,   /* left: holds nothing */
};

struct seat {
        uint32_t number;
        enum seat_state state;
        pid_t pid; /* 0: not started here */
        struct turn turn;
        struct pw_future *task; /* the note that is to be filled next, in `room` */
        struct task_note *room;
        struct pw_future *told, *weights; /* the note before and what it names: until it is answered */
        struct pw_future *answer;         /* the note of the worker that comes next */
};

/* What an answer named, opened. */
struct answer {
        struct pw_future *next, *gradient, *loss;
};

/* Make the first task of worker seat->number, and name it. Errors: PW_EXISTS (another training has this name). */
enum pw_status seat_offer(struct seat *seat, struct pw_session *session, const char *run, struct pw_error *err);
/* Wait until its worker has come; the names are not needed any more then. Errors: PW_DEADLINE. */
enum pw_status seat_await(struct seat *seat, struct pw_session *session, const char *run, int64_t timeout_us, struct pw_error *err);
/* Fill and seal its task: `note`, but for what comes next, and seat->weights, if there are some. */
enum pw_status seat_tell(struct seat *seat, struct pw_session *session, const struct task_note *note, struct pw_error *err);
/* Read its answer, which is ready. Own: *ret_answer is ended by answer_done(). Errors: that the worker is lost, or its host. */
enum pw_status seat_hear(struct seat *seat, struct pw_session *session, struct answer *ret_answer, struct pw_error *err);
/* Its answer was good: what it was told has served, and what it says next is waited for. Own: takes answer->next. */
void seat_answered(struct seat *seat, struct answer *answer);
void answer_done(struct answer *answer);
/* Let go of all that it has; if its process was started here, wait for its end, and kill it where it has not said goodbye. */
void seat_leave(struct seat *seat, struct pw_session *session, const char *run);

#endif
