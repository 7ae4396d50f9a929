/* Closing sockets of clients that may hold descriptors which nobody asked for. No such descriptor is ever received: close() of one
 * asks its file system and waits, whatever signal comes; with the socket it just goes.
 *
 * Who lets the last reference to a file go may wait for as long as its owner likes all the same: a socket that lingers, a terminal
 * that drains. So the loop does not: a thread does, made when it is first needed, which a signal lets go of each wait after a
 * moment; and another one where no signal does. Where the system refuses descriptors at the socket's door there are none.
 * Threads: loop thread only.
 */
#ifndef PW_DAEMON_CLOSER_H
#define PW_DAEMON_CLOSER_H

#include "daemon/daemon.h"

#define PW_CLOSERS_MAX 16u

/* Own: takes the descriptors. `daemon->closer` is made where there is none.   Blocks: only where no thread can be had. */
void pw_closer_take(struct pw_daemon *daemon, const int *fds, uint32_t count);
/* Nobody can send descriptors to this socket, nor to those that are accepted from it, from their first byte on. False: before Linux
 * 6.16. */
bool pw_closer_refuse_files(int socket);
/* A client's socket: nothing more comes in, and what has come and was not read may bring descriptors. Own: takes *fd, sets it to
 * -1. */
void pw_closer_take_socket(struct pw_daemon *daemon, int *fd);
void pw_closer_free(struct pw_closer *closer); /* closes what is left, as far as nothing holds it; accepts NULL */

#endif
