/* What changes states of runs and fragments, told to who watches. */
#include "scheduler/step.h"

#include "base/transition.h"

static const char *const run_states[] = { "none", "waiting", "queued", "admitted", "ended" };
static const char *const run_events[] = { "arrive", "reserve", "done", "fail" };
const struct pw_transition_kind pw_run_transitions = { "run", 1, false, run_states, run_events };

static const char *const live_host_states[] = { "none", "idle", "asked", "reserved", "preparing", "prepared", "done" };
static const char *const live_host_events[] = { "ask", "reserve", "refuse", "give_back", "lose", "prepare", "answer", "finish" };
static const struct pw_transition_kind live_hosts = { "run_host", 2, false, live_host_states, live_host_events };

static const char *const host_run_states[] = { "none", "idle", "queued", "reserved" };
static const char *const host_run_events[] = { "queue", "place", "refuse", "cancel", "give_back", "done" };
static const struct pw_transition_kind host_runs = { "host_run", 1, false, host_run_states, host_run_events };

static const char *const fragment_states[] = { "none", "reserved", "recorded", "prepared", "started", "left" };
static const char *const fragment_events[] = { "record", "answer", "start", "leave" };
static const struct pw_transition_kind fragments = { "fragment", 2, false, fragment_states, fragment_events };

_Static_assert(sizeof run_states / sizeof *run_states == PW_RUN_STATES, "each state of a run has a word");
_Static_assert(sizeof run_events / sizeof *run_events == PW_RUN_EVENTS, "each event of a run has a word");
_Static_assert(sizeof live_host_states / sizeof *live_host_states == PW_LIVE_HOST_STATES, "each state of a run's host has a word");
_Static_assert(sizeof live_host_events / sizeof *live_host_events == PW_LIVE_HOST_EVENTS, "each event of a run's host has a word");
_Static_assert(sizeof host_run_states / sizeof *host_run_states == PW_HOST_RUN_STATES, "each state of a run here has a word");
_Static_assert(sizeof host_run_events / sizeof *host_run_events == PW_HOST_RUN_EVENTS, "each event of a run here has a word");
_Static_assert(sizeof fragment_states / sizeof *fragment_states == PW_FRAGMENT_STATES, "each state of a fragment has a word");
_Static_assert(sizeof fragment_events / sizeof *fragment_events == PW_FRAGMENT_EVENTS, "each event of a fragment has a word");

static void tell(const struct pw_scheduler *scheduler, const struct pw_transition *transition)
{
        scheduler->observer->tell(scheduler->observer->context, transition);
}

void pw_live_tell_step(const struct pw_live *live, enum pw_run_state from, enum pw_run_event cause)
{
        tell(live->program->scheduler,
             &(struct pw_transition){ .kind = &pw_run_transitions, .id = { live->run.number }, .from = (uint8_t)from,
                                      .to = (uint8_t)live->run.state, .cause = (uint8_t)cause });
}

void pw_live_host_tell_step(const struct pw_live *live, uint32_t host, enum pw_live_host_state from,
                            enum pw_live_host_event cause)
{
        tell(live->program->scheduler,
             &(struct pw_transition){ .kind = &live_hosts, .id = { live->run.number, live->program->hosts[host] },
                                      .from = (uint8_t)from, .to = (uint8_t)live->hosts[host].state, .cause = (uint8_t)cause });
}

void pw_host_run_tell_step(const struct pw_host_run *run, enum pw_host_run_state from, enum pw_host_run_event cause)
{
        tell(run->program->scheduler, &(struct pw_transition){ .kind = &host_runs, .id = { run->id.number }, .from = (uint8_t)from,
                                                               .to = (uint8_t)run->state, .cause = (uint8_t)cause });
}

void pw_fragment_tell_step(const struct pw_fragment *fragment, enum pw_fragment_state from, enum pw_fragment_event cause)
{
        tell(fragment->run->program->scheduler,
             &(struct pw_transition){ .kind = &fragments, .id = { fragment->run->id.number, fragment->island->number },
                                      .from = (uint8_t)from, .to = (uint8_t)fragment->state, .cause = (uint8_t)cause });
}
