/* Ends of handles: DROP records, and those that no ring had room for.
 */
#ifndef PW_LIBCLIENT_UNREF_H
#define PW_LIBCLIENT_UNREF_H

#include "libclient/session.h"

/* One local reference less; at 0 the session's reference goes and the handle is free.   Blocks: never. */
void pw_future_release(struct pw_future *future);
/* The handle's last local reference has ended: DROP its session's reference, free the handle. */
void pw_future_drop(struct pw_future *future);
/* Send what is parked by lane 0.   Threads: the connection's watcher. */
void pw_parked_flush(struct pw_session *session);

#endif
