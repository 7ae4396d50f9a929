/* What tells clients what there is, and is told of their ends: a table, handed in at the start; all of it is filled
 * (inspect/observer.c). */
#ifndef PW_DAEMON_CLIENT_OBSERVER_H
#define PW_DAEMON_CLIENT_OBSERVER_H

#include "daemon/session/output.h"

/* A value that moved, or did not. `from`, `why` and `kind` ("pull", "send"; that lives for ever): between hosts, else NULL. */
struct pw_moved {
        const char *object, *to, *client, *tenant;
        uint64_t bytes, start_us, end_us;
        const char *from, *kind;
        enum pw_status status;
        const char *why;
};

struct pw_client_observer {
        void (*list)(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request);
        void (*trace)(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request);
        void (*session_ended)(struct pw_dsession *session);
        void (*session_freed)(struct pw_dsession *session); /* what it published last was read */
        void (*moved)(struct pw_daemon *daemon, const struct pw_moved *moved);
};

#endif
