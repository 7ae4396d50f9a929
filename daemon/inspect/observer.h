/* What inspect/ does for clients.
 */
#ifndef PW_DAEMON_INSPECT_ONLOOKER_H
#define PW_DAEMON_INSPECT_ONLOOKER_H

#include "daemon/client/onlooker.h"

extern const struct pw_onlooker pw_inspect_onlooker;

#endif
