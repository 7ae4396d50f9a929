/* Objects of other hosts: what the session has of them are proxies, in the futures segment of its tenant (plane/entry.h).
 */
#ifndef PW_LIBCLIENT_OBJECT_FOREIGN_H
#define PW_LIBCLIENT_OBJECT_FOREIGN_H

#include "libclient/session.h"

/* Does the future stand for an object of another host? It is held. */
bool pw_future_is_proxy(const struct pw_future *future);
/* Where it stands on this host, which is what the daemon is asked about. */
struct pw_id pw_future_local_id(const struct pw_future *future);
/* Of a READY word of its entry: its value is not where its list says; ask for it. */
static inline bool pw_word_elsewhere(uint64_t word)
{
        return __builtin_expect((~word & (PW_ENTRY_SHARDED | PW_ENTRY_MOVING)) == 0, 0);
}
/* Have the bytes of such a one brought here; *word is its word then, of a value that is here. `timeout_us` as in pathways.h.
 * Errors: the one that it is ready with now, PW_NOT_READY and PW_DEADLINE (they are not here yet), PW_NO_SPACE (no room for them),
 * those of pw_session_call(). */
PW_MUST_CHECK enum pw_status pw_future_fetch(struct pw_future *future, int64_t timeout_us, uint64_t *word,
                                             struct pw_error *ret_err);
#define PW_FOREIGN_OPEN_US INT64_C(30000000) /* how long the daemon asks another host */
/* Take a reference to an object of another host. */
PW_MUST_CHECK enum pw_status pw_foreign_future(struct pw_session *session, struct pw_id id, struct pw_future **ret_future,
                                               struct pw_error *ret_err);

#endif
