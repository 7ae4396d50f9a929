/* Questions to the describing executor: what a function makes of given shapes. Nothing is remembered of the answers here
 * (shapes.h).
 */
#ifndef PW_DAEMON_WORK_SHAPE_DESCRIBE_H
#define PW_DAEMON_WORK_SHAPE_DESCRIBE_H

#include "daemon/session/output.h"
#include "program/graph/graph.h"

/* Called once, later or at once, with the outputs filled into query->task, or with an error. */
typedef void (*pw_described_fn)(void *context, enum pw_status status, const struct pw_function_facts *facts,
                                const struct pw_error *err);

struct pw_describe;

PW_MUST_CHECK enum pw_status pw_describe_new(struct pw_daemon *daemon, struct pw_describe **ret_describe, struct pw_error *ret_err);
void pw_describe_free(struct pw_describe *describe);
/* `query` and `context` are kept until the call. */
struct pw_ask {
        uint64_t id;               /* of the request in `frame`; never used before */
        struct pw_outgoing *frame; /* Own: taken */
        struct pw_shape_query *query;
        pw_described_fn done;
        void *context;
};
void pw_describe_ask(struct pw_daemon *daemon, const struct pw_ask *ask);
/* Whoever waits with `context` waits no more. */
void pw_describe_forget(struct pw_daemon *daemon, void *context);
/* What the executor is in: one question at a time, each for so long at most. */
struct pw_describe_now {
        const void *context; /* of who asked; NULL: has left */
        uint64_t since_us;   /* 0: it is in none, as it is being started */
        uint64_t limit_us;
};
struct pw_describe_now pw_describe_now(const struct pw_daemon *daemon);
void pw_describe_answered(struct pw_daemon *daemon, const Pathways__Wire__Reply *reply);
/* The describer attached: ask it what waits. It died: what it was asked first fails, with `status` and `how`; the rest waits for
 * the next one. False: it was asked nothing. */
void pw_describe_up(struct pw_daemon *daemon, struct pw_dsession *session);
/* Its session has ended, which may be before its process has: it is asked no more. */
void pw_describe_detached(struct pw_daemon *daemon);
bool pw_describe_down(struct pw_daemon *daemon, enum pw_status status, const char *how);
/* A shape function that runs for longer than its limit ends its executor: when to look, and the look. */
uint64_t pw_describe_next_us(const struct pw_daemon *daemon);
void pw_describe_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
