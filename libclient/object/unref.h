/* Ends of handles: DROP records, and those that no ring had room for.
 */
#ifndef PW_LIBCLIENT_OBJECT_UNREF_H
#define PW_LIBCLIENT_OBJECT_UNREF_H

#include "libclient/session.h"

/* The last local reference has ended; `old` is the word before. */
void pw_future_release_last(struct pw_future *future, uint32_t old);
/* One local reference less; at 0 the session's reference goes and the handle is free.   Blocks: never. */
static inline void pw_future_release(struct pw_future *future)
{
        uint32_t old = atomic_fetch_sub(&future->refs, 1);
        if ((old & PW_REFS_COUNT) == 1)
                pw_future_release_last(future, old);
}
/* The handle's last local reference has ended: DROP its session's reference, free the handle. */
void pw_future_drop(struct pw_future *future);
/* Send what is parked by lane 0.   Threads: the connection's watcher. */
void pw_parked_flush(struct pw_session *session);

#endif
