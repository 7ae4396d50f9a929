/* Names of objects of other hosts: their homes bind and remove them, as sessions of this host ask; and the same of theirs here.
 *
 * Who waits for a name to be bound anywhere tells all hosts so, once, and each says when it has bound some: then metadata is asked
 * again, and not only with the next beat. What was bound before it was told is said at once, by the count of all.
 *
 * A question is answered once its home's metadata has answered, or ends with the term of the link: then who asked is told that the
 * host was lost, and looks the name up to know what came of it.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_NAME_NAMING_H
#define PW_DAEMON_PEER_NAME_NAMING_H

#include "daemon/peer/peers_private.h"
#include "daemon/session/foreign.h"
#include "daemon/wait.h"

/* As in struct pw_foreign. */
void pw_naming_ask(struct pw_dsession *session, uint64_t request, const struct pw_foreign_name *name);
void pw_naming_told(struct pw_daemon *daemon, const struct pw_name_told *told);
void pw_naming_session_end(struct pw_dsession *session);

/* The name is taken over from `from`, as `host` asked by number `theirs`: answered once metadata has answered. Errors: those of
 * pw_store_name_take(); then it is not. */
struct pw_naming_taken {
        uint32_t host;
        uint64_t theirs;
        const char *tenant, *name;
        struct pw_object *object;
        struct pw_name_keeper from;
        uint64_t until_us;
};
PW_MUST_CHECK enum pw_status pw_naming_take(struct pw_peers *peers, const struct pw_naming_taken *taken, struct pw_error *ret_err);
void pw_naming_answer(struct pw_peers *peers, uint32_t host, uint64_t theirs, enum pw_status status, const char *text);

/* `host` asks, or answers. Errors: PW_PROTOCOL, PW_NO_MEMORY: give it up. */
PW_MUST_CHECK enum pw_status pw_naming_hear(struct pw_peers *peers, uint32_t host, const uint8_t *bytes, uint32_t count,
                                            struct pw_error *ret_err);
/* Say to `host`, if the two are met, that somebody waits for names, or that some were bound. */
void pw_naming_turn(struct pw_peers *peers, const struct pw_host *host);
/* The term with `host` has ended. */
void pw_naming_ended(struct pw_peers *peers, uint32_t host);
/* Those of `session`, or of all (NULL), that wait for an answer. */
void pw_naming_each_wait(const struct pw_peers *peers, const struct pw_dsession *session,
                         void (*row)(void *, const struct pw_wait_row *), void *context);
void pw_naming_done(struct pw_peers *peers);

#endif
