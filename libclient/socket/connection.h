/* The socket to the daemon: requests and their replies, the doorbell, and the watcher thread that sees the daemon go.
 *
 * Used by sessions of clients and by executors. Who asks while nobody else does reads the socket until its answer is there, which
 * spares a wake-up; else the watcher thread reads, and hands each reply to who waits for its id. At the end of the socket who reads
 * changes the life word, wakes everybody, and every call answers PW_DAEMON_GONE.
 * Threads: any, for all calls but open and close.
 */
#ifndef PW_LIBCLIENT_SOCKET_CONNECTION_H
#define PW_LIBCLIENT_SOCKET_CONNECTION_H

#include "base/error.h"
#include "wire/frame.h"
#include "wire/pathways.pb-c.h"

#include <stdatomic.h>

struct pw_connection;

struct pw_connection_params {
        const char *path;   /* of the socket; NULL: the places that pw_connect() names */
        int fd;             /* connected already (executors: inherited), or -1: connect to `path` */
        const char *role;   /* "client", "executor", "describer" */
        uint32_t device;    /* of an executor */
        /* The daemon is gone, on the watcher thread or one that found the socket closed, once. May be NULL. */
        void (*gone)(void *context);
        /* On the watcher thread, after pw_connection_nudge() and after the reply to a posted request. May be NULL. */
        void (*nudged)(void *context);
        void *context;
};

struct pw_answer {
        Pathways__Wire__Reply *reply;
        int fds[PW_FRAME_FDS_MAX];
        uint32_t fd_count;
};
void pw_answer_done(struct pw_answer *answer); /* frees the reply, closes the descriptors that were not taken (set to -1) */

/* Connect and shake hands. *ret_welcome is the answer to Hello, body checked to be Welcome.
 * Errors: PW_DAEMON_GONE, PW_PROTOCOL (versions, layout), PW_LIMIT, PW_DENIED. */
PW_MUST_CHECK enum pw_status pw_connection_open(const struct pw_connection_params *params, struct pw_connection **ret_connection,
                                                struct pw_answer *ret_welcome, struct pw_error *ret_err);
/* End it: the socket closes, every wait and call answers PW_DAEMON_GONE, the watcher thread has ended. The struct and its life
 * word stay until pw_connection_close(). Not on the watcher thread. In the child of a fork nothing but this process's descriptors
 * is closed. */
void pw_connection_end(struct pw_connection *connection);
void pw_connection_close(struct pw_connection *connection); /* ends it, then frees it; accepts NULL */

/* Ask and wait for the reply. `request`'s id is set here. A reply with a status other than PW_OK is returned as that error with
 * its text. Own: *ret_answer is given back with pw_answer_done(). Errors: PW_DAEMON_GONE, PW_PROTOCOL, what the daemon says. */
PW_MUST_CHECK enum pw_status pw_connection_call(struct pw_connection *connection, Pathways__Wire__Request *request,
                                                struct pw_answer *ret_answer, struct pw_error *ret_err);
/* The same of several at once, sent together: each has an answer of its own, with a reply that has a status of its own. PW_OK: each
 * is there; else none. Errors: PW_DAEMON_GONE, PW_NO_MEMORY, PW_TOO_LARGE. */
PW_MUST_CHECK enum pw_status pw_connection_call_all(struct pw_connection *connection, Pathways__Wire__Request *const *requests,
                                                    uint32_t count, struct pw_answer *ret_answers, struct pw_error *ret_err);
/* The reply's own status as a call's. */
PW_MUST_CHECK enum pw_status pw_answer_status(const struct pw_answer *answer, struct pw_error *ret_err);
/* Ask without waiting: the reply is dropped, then nudged() is called.   Blocks: while the socket is full. */
PW_MUST_CHECK enum pw_status pw_connection_post(struct pw_connection *connection, Pathways__Wire__Request *request,
                                                struct pw_error *ret_err);
/* Have the watcher thread call nudged().   Blocks: never. */
void pw_connection_nudge(struct pw_connection *connection);
/* As a post, on the watcher thread.   Blocks: never: it is sent when there is room in the socket. */
PW_MUST_CHECK enum pw_status pw_connection_post_soon(struct pw_connection *connection, Pathways__Wire__Request *request,
                                                     struct pw_error *ret_err);
/* One zero byte. Never blocks, never fails: a full socket means that the daemon has something to read, which is a doorbell too; and
 * if another thread is sending just now, that one rings when it is done. */
void pw_connection_doorbell(struct pw_connection *connection);

/* Whether pathwaysd has hung up, or this process has closed the socket. Either is so before pathwaysd decides what the end of the
 * session leads to; so who reads that knows by this call what it was.   Blocks: until the watcher thread has come to the end too,
 * and the life word says it. */
bool pw_connection_hung_up(struct pw_connection *connection);

/* Whether the process still has the descriptors of the connection: closefrom(3) takes all of a session at once. */
bool pw_connection_holds(const struct pw_connection *connection);

/* The life word: futex-wait on it beside an entry. It lies on a page that the child of a fork finds wiped, so one look says
 * all three. */
const _Atomic uint32_t *pw_connection_life(const struct pw_connection *connection);
#define PW_LIFE_FORKED 0u
#define PW_LIFE_ALIVE 1u
#define PW_LIFE_GONE 2u
/* PW_OK, or PW_DAEMON_GONE or PW_FORKED with a text. */
enum pw_status pw_connection_check(const struct pw_connection *connection, struct pw_error *ret_err);

#endif
