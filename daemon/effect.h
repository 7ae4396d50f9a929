/* Doing what store and scheduler want done.
 */
#ifndef PW_DAEMON_EFFECT_H
#define PW_DAEMON_EFFECT_H

#include "daemon/daemon.h"

/* Do every action of both queues until both are empty. True: there was one. */
bool pw_effects(struct pw_daemon *daemon, uint64_t now_us);

#endif
