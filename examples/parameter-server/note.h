/* What server and workers say to each other: notes, objects that each of them makes before it is asked for them.
 *
 * A note is made PENDING, is filled and sealed when there is something to say, and names the one that comes next, which is PENDING
 * by then. So who waits for the next note of a process is woken by its value, or by the loss of that process, daemon or host.
 * Who wrote a note, and what it names, holds them until the answer to it has come: the other side has opened all of them by then.
 * Names are needed for the first two notes only: RUN/task/K is what worker K is to do, RUN/answer/K what it has done.
 */
#ifndef PARAMETER_SERVER_NOTE_H
#define PARAMETER_SERVER_NOTE_H

#include "examples/parameter-server/schedule.h"
#include "pathways.h"

#include <stdio.h>

/* From the server to one worker. */
struct task_note {
        struct pw_id next;           /* the worker's next struct task_note */
        struct pw_id images, labels; /* of the part: f32 [rows, touched], u8 [rows] */
        struct pw_id weights;        /* f32 [touched, classes]: the rows that the part touches, and no others */
        struct turn turn;
        uint32_t place, places; /* of the part, among all: a worker keeps what it made for each */
        uint32_t is_last;       /* not 0: the training is over, and the rest is 0 */
        uint32_t zero;
};

/* From a worker to the server. What it names may be ready with an error: that is told so, too. */
struct answer_note {
        struct pw_id next;     /* the worker's next struct answer_note */
        struct pw_id gradient; /* f32 [touched, classes]: of the sum of the losses of the part's rows */
        struct pw_id loss;     /* f32: that sum */
        struct turn turn;
};

#define NOTE_NAME_BYTES 256

/* The name of the first note of worker `worker`; `what`: "task" or "answer". Returns `name`. */
static inline char *note_name(char name[NOTE_NAME_BYTES], const char *run, const char *what, uint32_t worker)
{
        snprintf(name, NOTE_NAME_BYTES, "%s/%s/%u", run, what, worker);
        return name;
}

#endif
