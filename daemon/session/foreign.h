/* Objects of other hosts, as those who serve the clients of this one need them: a table that is filled by who speaks with other
 * hosts. None (NULL in the registry): there are no other hosts here.
 *
 * Who asks by `open`, `fetch` or `name` is answered exactly once, by pw_session_reply...(), now or later, by until_us
 * (CLOCK_MONOTONIC; UINT64_MAX: for ever) at the latest, unless its session ends first. Loop thread only.
 */
#ifndef PW_DAEMON_SESSION_FOREIGN_H
#define PW_DAEMON_SESSION_FOREIGN_H

#include "base/id.h"

struct pw_daemon;
struct pw_dsession;
struct pw_object;

struct pw_name_told;

/* A name of the session's tenant that is to be bound to `object`, or removed from it; borrowed for the call. */
struct pw_foreign_name {
        struct pw_id object;
        uint32_t keeper; /* who keeps its binding; 0: the home of the object */
        const char *name;
        bool removes;
        int64_t ttl_us; /* 0: for good */
};

struct pw_foreign {
        /* The proxy of the id, an object of another host or of an earlier epoch of this one, in the tenant of that name; NULL, in
         * any. NULL: nobody here holds it. */
        struct pw_object *(*find)(struct pw_daemon *daemon, const char *tenant, struct pw_id id);
        /* The session opens such an id: answered by pw_session_reply_object(), and the session holds it from then on; or by an
         * error. */
        void (*open)(struct pw_dsession *session, uint64_t request, struct pw_id id, uint64_t until_us);
        /* It wants the bytes of a proxy that are not here: answered when they are, or when the proxy is decided otherwise; or an
         * error. */
        void (*fetch)(struct pw_dsession *session, uint64_t request, struct pw_object *object, uint64_t until_us);
        /* The home of the object does it, as pw_store_name_bind() or pw_store_name_remove(); answered when it has, by
         * pw_session_reply_ok() or an error: PW_HOST_LOST, where it was given up meanwhile. There is no other deadline. */
        void (*name)(struct pw_dsession *session, uint64_t request, const struct pw_foreign_name *name);
        /* The store tells of a name who is no session: if another host asked, it is answered. */
        void (*named)(struct pw_daemon *daemon, const struct pw_name_told *told);
        void (*session_end)(struct pw_dsession *session);                /* it waits for no answer any more */
        void (*freed)(struct pw_daemon *daemon, uint64_t number);        /* PW_STORE_FREE_PROXY */
        /* PW_STORE_FETCH_PROXY: a run wants its bytes. If they cannot be had: pw_store_proxy_unfetched(). */
        void (*wanted)(struct pw_daemon *daemon, uint64_t number);
};

#endif
