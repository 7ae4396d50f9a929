/* Changes of states, for the log and for traces. */
#include "daemon/inspect/trace/states.h"

#include "base/transition.h"
#include "daemon/inspect/trace/trace_log.h"

static bool logs(const struct pw_daemon *daemon) { return daemon->log.level >= PW_LOG_DEBUG; }

static void tell(void *context, const struct pw_transition *transition)
{
        struct pw_daemon *daemon = context;
        char text[PW_TRANSITION_TEXT_BYTES];

        if (logs(daemon))
                pw_log(&daemon->log, PW_LOG_DEBUG, "state changed %s", pw_transition_format(transition, text));
        if (transition->kind == &pw_run_transitions && !pw_list_empty(&daemon->inspection.traces))
                pw_trace_logs_state(daemon, transition, pw_now_us());
}

void pw_states_follow(struct pw_daemon *daemon)
{
        struct pw_observer *observer = &daemon->inspection.observer;
        bool wanted = logs(daemon) || !pw_list_empty(&daemon->inspection.traces);

        if (wanted == (observer->tell != NULL))
                return;
        *observer = (struct pw_observer){ wanted ? tell : NULL, daemon };
        pw_scheduler_observe(daemon->scheduler, wanted ? observer : NULL);
        pw_store_observe(daemon->store, wanted ? observer : NULL);
}
