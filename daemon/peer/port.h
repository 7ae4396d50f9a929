/* The port that --listen ADDR:0 gave this host, kept in its state dir: it is asked for first at the next start, so that hosts that
 * start again while Redis is away are where others look for them.
 *
 * Threads: loop thread only.   Blocks: on the state dir.
 */
#ifndef PW_DAEMON_PEER_PORT_H
#define PW_DAEMON_PEER_PORT_H

#include "daemon/daemon.h"

#define PW_PORT_ADDRESS_BYTES 128u

/* Where it listened last. False: --listen names a port or a path, or it listened nowhere there before. */
bool pw_port_last(const struct pw_daemon *daemon, char address[PW_PORT_ADDRESS_BYTES]);
/* It listens there. What cannot be kept is in the log. */
void pw_port_keep(struct pw_daemon *daemon, const char *address);

#endif
