/* Changes of state, as lines. */
#include "base/transition.h"

#include <stdio.h>

char *pw_transition_format(const struct pw_transition *transition, char text[PW_TRANSITION_TEXT_BYTES])
{
        const struct pw_transition_kind *kind = transition->kind;
        char ids[3 * 21] = "";

        for (uint32_t i = 0, at = 0; i < kind->id_count; i++)
                at += (uint32_t)snprintf(ids + at, sizeof ids - at, kind->hex ? "%s%lx" : "%s%lu", i ? "." : "",
                                         (unsigned long)transition->id[i]);
        snprintf(text, PW_TRANSITION_TEXT_BYTES, "%s=%s from=%s to=%s cause=%s", kind->name, ids, kind->states[transition->from],
                 kind->states[transition->to], kind->events[transition->cause]);
        return text;
}
