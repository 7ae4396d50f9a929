/* Changes of states, for the log. */
#include "daemon/inspect/trace/states.h"

#include "base/transition.h"
#include "daemon/daemon.h"

static void tell(void *context, const struct pw_transition *transition)
{
        const struct pw_daemon *daemon = context;
        char text[PW_TRANSITION_TEXT_BYTES];

        pw_log(&daemon->log, PW_LOG_DEBUG, "state changed %s", pw_transition_format(transition, text));
}

void pw_states_follow(struct pw_daemon *daemon)
{
        struct pw_observer *observer = &daemon->inspection.observer;
        bool wanted = daemon->log.level >= PW_LOG_DEBUG;

        if (wanted == (observer->tell != NULL))
                return;
        *observer = (struct pw_observer){ wanted ? tell : NULL, daemon };
        pw_scheduler_observe(daemon->scheduler, wanted ? observer : NULL);
        pw_store_observe(daemon->store, wanted ? observer : NULL);
}
