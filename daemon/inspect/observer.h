/* What inspect/ does for clients.
 */
#ifndef PW_DAEMON_INSPECT_OBSERVER_H
#define PW_DAEMON_INSPECT_OBSERVER_H

#include "daemon/client/observer.h"

extern const struct pw_client_observer pw_inspect_observer;

#endif
