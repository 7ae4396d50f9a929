/* Changes of states (base/transition.h) of runs, fragments, objects and names: the log has them at level debug, traces those of
 * runs.
 */
#ifndef PW_DAEMON_INSPECT_TRACE_STATES_H
#define PW_DAEMON_INSPECT_TRACE_STATES_H

struct pw_daemon;

/* Store and scheduler tell of them while somebody wants to know: asked at the beginning of each turn, and where a trace begins. */
void pw_states_follow(struct pw_daemon *daemon);

#endif
