/* The kinds of transport, for kinds.c alone.
 */
#ifndef PW_DAEMON_TRANSPORT_KINDS_H
#define PW_DAEMON_TRANSPORT_KINDS_H

#include "daemon/transport/pipe.h"

extern const struct pw_transport_kind pw_transport_unix, pw_transport_tcp, pw_transport_tls;

#endif
