/* The one way in which states of runs and fragments change: by an event, as the table of their kind has it (pw_run_rules,
 * pw_live_host_rules, pw_host_run_rules, pw_fragment_rules). An event that has no meaning in a state changes nothing, and is
 * counted: pw_scheduler_check() names it. Messages that may come at any time are looked at before. Each change is told to who
 * watches (base/transition.h); a record begins in its first state without one.
 */
#ifndef PW_SCHEDULER_STEP_H
#define PW_SCHEDULER_STEP_H

#include "scheduler/state.h"

/* step.c: it was changed by `cause`; somebody watches. */
void pw_live_tell_step(const struct pw_live *live, enum pw_run_state from, enum pw_run_event cause);
void pw_live_host_tell_step(const struct pw_live *live, uint32_t host, enum pw_live_host_state from,
                            enum pw_live_host_event cause);
void pw_host_run_tell_step(const struct pw_host_run *run, enum pw_host_run_state from, enum pw_host_run_event cause);
void pw_fragment_tell_step(const struct pw_fragment *fragment, enum pw_fragment_state from, enum pw_fragment_event cause);

/* A run of this host's clients; what is counted by state. */
static inline void pw_live_step(struct pw_live *live, enum pw_run_event event)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        enum pw_run_state from = live->run.state, to = pw_run_rules[from][event];
        int queued = (to == PW_RUN_QUEUED) - (from == PW_RUN_QUEUED);
        int admitted = (to == PW_RUN_ADMITTED) - (from == PW_RUN_ADMITTED);

        if (!to) {
                scheduler->impossible++;
                return;
        }
        live->run.state = to;
        scheduler->queue_count += (uint32_t)queued;
        scheduler->admitted_count += (uint32_t)admitted;
        live->run.row->runs_admitted += (uint64_t)admitted;
        live->program->quota->runs_admitted += (uint64_t)admitted;
        if (scheduler->observer)
                pw_live_tell_step(live, from, event);
}

/* What one of its hosts has of it; not told where that is the only one, as its own states say the same. */
static inline void pw_live_host_step(struct pw_live *live, uint32_t host, enum pw_live_host_event event)
{
        enum pw_live_host_state from = live->hosts[host].state, to = pw_live_host_rules[from][event];

        if (!to) {
                live->program->scheduler->impossible++;
                return;
        }
        live->hosts[host].state = to;
        live->hosts_in[from]--;
        live->hosts_in[to]++;
        if (live->program->scheduler->observer && live->host_count > 1)
                pw_live_host_tell_step(live, host, from, event);
}

/* A run on its host. */
static inline void pw_host_run_step(struct pw_host_run *run, enum pw_host_run_event event)
{
        struct pw_scheduler *scheduler = run->program->scheduler;
        enum pw_host_run_state from = run->state, to = pw_host_run_rules[from][event];

        if (!to) {
                scheduler->impossible++;
                return;
        }
        run->state = to;
        if (scheduler->observer && to != from)
                pw_host_run_tell_step(run, from, event);
}

static inline void pw_fragment_step(struct pw_fragment *fragment, enum pw_fragment_event event)
{
        struct pw_scheduler *scheduler = fragment->run->program->scheduler;
        enum pw_fragment_state from = fragment->state, to = pw_fragment_rules[from][event];

        if (!to) {
                scheduler->impossible++;
                return;
        }
        fragment->state = to;
        if (scheduler->observer)
                pw_fragment_tell_step(fragment, from, event);
}

#endif
