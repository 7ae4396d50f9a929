/* For programs with an event loop: a descriptor that is readable while there is something to be told.
 *
 * A thread of the library's own waits for the futures that the program asked to be told of; it runs from the first of them on.
 */
#ifndef PW_LIBCLIENT_OBJECT_NOTIFY_H
#define PW_LIBCLIENT_OBJECT_NOTIFY_H

#include "libclient/session.h"

struct pw_notifier;

/* The session has ended: say so.   Threads: the connection's watcher. */
void pw_notifier_gone(struct pw_session *session);
/* After that: end the thread, let go of what it waits for and close the descriptor. */
void pw_notifier_end(struct pw_session *session);

#endif
