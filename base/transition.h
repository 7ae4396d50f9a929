/* A change of state, as a record: of a run, a fragment of one, an object, a name. The core that decides hands it to who watches, if
 * somebody does; log, trace and tests read it as the same line. "fragment=7.0 from=prepared to=started cause=start".
 */
#ifndef PW_BASE_TRANSITION_H
#define PW_BASE_TRANSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How one kind of thing is written: its states and events have the numbers that they have in its table of rules. */
struct pw_transition_kind {
        const char *name;
        uint8_t id_count; /* of a record's numbers it takes so many to say which one it is */
        bool hex;         /* they are written like those of an object's id */
        const char *const *states, *const *events;
};

struct pw_transition {
        const struct pw_transition_kind *kind;
        uint64_t id[3];
        uint8_t from, to; /* states; */
        uint8_t cause;    /* an event */
};

/* Who watches: told of each change once it was made. Calls nothing of the core that tells it. */
struct pw_observer {
        void (*tell)(void *context, const struct pw_transition *transition);
        void *context;
};

#define PW_TRANSITION_TEXT_BYTES 160u
/* Its line, without an end of line; returns `text`. */
char *pw_transition_format(const struct pw_transition *transition, char text[PW_TRANSITION_TEXT_BYTES]);

#endif
