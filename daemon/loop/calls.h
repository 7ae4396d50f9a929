/* See calls.c.
 */
#ifndef PW_DAEMON_LOOP_CALLS_H
#define PW_DAEMON_LOOP_CALLS_H

#include "daemon/child/child.h"

extern const struct pw_child_calls pw_child_calls;

struct pw_fetched_value;
void pw_fetched_value(struct pw_daemon *daemon, const struct pw_fetched_value *value); /* for pw_fetches_told() */

#endif
