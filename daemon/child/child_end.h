/* How the process of a child ended, and what it was in: found out once, when it has ended, and told from then on.
 */
#ifndef PW_DAEMON_CHILD_CHILD_END_H
#define PW_DAEMON_CHILD_CHILD_END_H

#include "daemon/child/child.h"

#include <signal.h>

/* It ended itself, because a function wrote past its output. */
bool pw_child_overran(const siginfo_t *info);
/* Set ended_how, ended_in, ended_seq and ended_run: how it ended, and what it was in, if that was a gang. */
void pw_child_end_note(struct pw_child *child, const siginfo_t *info);
void pw_child_end_log(const struct pw_child *child);
/* "device h0:2", "describer" */
void pw_child_name(const struct pw_child *child, char text[40]);

#endif
