/* The sessions of a user, or of the executors, that said something: they take turns, and so do users; executors come before
 * (client/input.c).
 */
#ifndef PW_DAEMON_SESSION_SPEAKERS_H
#define PW_DAEMON_SESSION_SPEAKERS_H

#include "base/list.h"

struct pw_speakers { struct pw_list turn, sessions; };

static inline void pw_speakers_init(struct pw_speakers *speakers)
{
        pw_list_init(&speakers->turn);
        pw_list_init(&speakers->sessions);
}

#endif
