/* Who waits for what, read from where the waits themselves are kept: notes of sleeping threads, requests for room, lookups,
 * compilations.
 */
#ifndef PW_DAEMON_INSPECT_WAITS_H
#define PW_DAEMON_INSPECT_WAITS_H

#include "daemon/client/session.h"

enum pw_wait_kind { PW_WAIT_KIND_OBJECT = 1, PW_WAIT_KIND_ROOM, PW_WAIT_KIND_NAME, PW_WAIT_KIND_SHAPE, PW_WAIT_KIND_COMPILE };

struct pw_wait_row {
        enum pw_wait_kind kind;
        struct pw_dsession *session;
        uint32_t lane, thread;        /* thread: its id; 0: not known */
        uint32_t segment, slot;       /* object: a claim of the client, to be looked up */
        uint64_t bytes, token;        /* room: of one; of the request */
        const char *name;             /* of an object, or of the function whose shapes a program needs */
        uint64_t since_us, until_us;  /* 0: not known; until UINT64_MAX: no deadline */
};

/* Those of `session`, or of all (NULL). There may be 65,536 notes a session: false: some were not looked at, since it took too
 * long. */
bool pw_waits_each(struct pw_daemon *daemon, struct pw_dsession *session, void (*row)(void *context, const struct pw_wait_row *row),
                   void *context);

#endif
