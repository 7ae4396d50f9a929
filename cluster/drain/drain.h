/* Draining this host: others take over what they hold of it, so that it may end and nobody loses anything.
 *
 * It names another host, its *successor*, and says so to all; borrow.h says what they do then. Nothing is sent away from here: who
 * takes over opens what it wants itself, and this host keeps what it has until it is given back. It has drained when nobody holds
 * anything of it any more; somebody may come to hold something again. A successor that is lost, or drains itself, is followed by
 * another one; where no other host is there, those who wait are told so. There is no way back but to start the host again.
 *
 * Events are calls, effects are actions. Times are those of CLOCK_BOOTTIME. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_DRAIN_DRAIN_H
#define PW_CLUSTER_DRAIN_DRAIN_H

#include "base/error.h"

struct pw_drain;
struct pw_observer;

enum pw_drain_state {
        PW_DRAIN_NONE = 0, /* it does not drain */
        PW_DRAIN_DRAINS,   /* its successor is named, and somebody holds something of it, or may */
        PW_DRAIN_STRANDED, /* nobody is there who could take over */
        PW_DRAIN_DRAINED,  /* nobody holds anything of it */
        PW_DRAIN_STATES
};
enum pw_drain_event { PW_DRAIN_NAME = 0, PW_DRAIN_STRAND, PW_DRAIN_EMPTY, PW_DRAIN_HELD, PW_DRAIN_EVENTS };

enum pw_drain_action_kind {
        PW_DRAIN_SAY = 1, /* to `host`: this one drains, `successor` takes over */
        PW_DRAIN_TELL,    /* who asked, by `waiter`: it has drained, status PW_OK; or why not: pw_drain_explain() */
};
struct pw_drain_action {
        enum pw_drain_action_kind kind;
        uint32_t host, successor;
        uint64_t waiter;
        enum pw_status status;
        uint64_t held;    /* of PW_DEADLINE: what is held here still */
};
enum pw_status pw_drain_explain(const struct pw_drain_action *action, struct pw_error *ret_err);

struct pw_drain_params {
        uint32_t own;                       /* number of this host */
        const struct pw_observer *observer; /* NULL: nobody watches; borrowed */
};
PW_MUST_CHECK enum pw_status pw_drain_new(const struct pw_drain_params *params, struct pw_drain **ret_drain,
                                          struct pw_error *ret_err);
void pw_drain_free(struct pw_drain *drain);

/* --- who asks --------------------------------------------------------------------------------------------------------------- */

struct pw_drain_request {
        uint64_t waiter;    /* by this number, which comes back once, with TELL */
        uint32_t to;        /* who is to take over; 0: the next one that is there */
        uint64_t held;      /* as pw_drain_held() */
        uint64_t until_us;
};
/* It drains from now on; where it does already, all are told again, and `to` takes over if it is given.
 * Errors: PW_INVALID (to itself), PW_NOT_FOUND (`to` is not there; or nobody is), PW_BUSY (`to` drains itself), PW_EXISTS
 * (`waiter`), PW_NO_MEMORY; nothing has changed then, and no TELL comes. */
PW_MUST_CHECK enum pw_status pw_drain_begin(struct pw_drain *drain, const struct pw_drain_request *request,
                                            struct pw_error *ret_err);
void pw_drain_forget(struct pw_drain *drain, uint64_t waiter); /* no TELL comes */

/* --- what happens ----------------------------------------------------------------------------------------------------------- */

/* The two have met in a new term; `host` was given up. Errors: PW_NO_MEMORY: shut the connection. */
PW_MUST_CHECK enum pw_status pw_drain_met(struct pw_drain *drain, uint32_t host, struct pw_error *ret_err);
void pw_drain_ended(struct pw_drain *drain, uint32_t host);
/* `host` says that it drains itself. */
void pw_drain_heard(struct pw_drain *drain, uint32_t host);
/* So much is held here by others. Nothing, while it does not drain. */
void pw_drain_held(struct pw_drain *drain, uint64_t count);
/* Who waited until now_us is told so. */
void pw_drain_turn(struct pw_drain *drain, uint64_t now_us);
uint64_t pw_drain_next_us(const struct pw_drain *drain); /* UINT64_MAX: not before something comes */
/* The next action; false: none. All are done before the next event. */
bool pw_drain_next(struct pw_drain *drain, struct pw_drain_action *ret_action);

enum pw_drain_state pw_drain_state(const struct pw_drain *drain);
uint32_t pw_drain_successor(const struct pw_drain *drain); /* 0: none */

#endif
