/* What this host lends: which reference each other host holds here, for all of its holders.
 *
 * A host in a term of its link is a *session*, with a handle of its own. When the term ends the session is no longer the host's, at
 * once, and its references go in parts, as many at a time as the daemon likes; what the host says in its next term is another
 * session's. So nothing that is said of one term is ever done to a reference of another.
 *
 * Events are calls, effects are actions. Which objects there are is the store's: HOLD asks it, pw_lend_held() is its answer, and
 * pw_lend_told() says what becomes of what it holds. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_BORROW_LEND_H
#define PW_CLUSTER_BORROW_LEND_H

#include "cluster/borrow/talk.h"

struct pw_lend;
struct pw_observer;

enum pw_loan_state {
        PW_LOAN_NONE = 0, /* there is none */
        PW_LOAN_ASKED,    /* the store is asked, the borrower waits */
        PW_LOAN_PENDING,  /* held, and not decided */
        PW_LOAN_READY,    /* held; the borrower knows its value, or where it is */
        PW_LOAN_ENDED,    /* held; the borrower knows an error of it: nothing more becomes of it */
        PW_LOAN_DROPPED,  /* its session ended while the store was asked */
        PW_LOAN_STATES
};
enum pw_loan_event {
        PW_LOAN_OPEN = 0, PW_LOAN_HELD, PW_LOAN_VALUE, PW_LOAN_ERROR, PW_LOAN_REFUSE, PW_LOAN_RELEASE, PW_LOAN_END, PW_LOAN_EVENTS
};

enum pw_lend_action_kind {
        /* hold `id` for `session`, if it is an object of `tenant`, or a whole replica of one: pw_lend_held() is the answer, and
         * what becomes of it is told from then on */
        PW_LEND_HOLD = 1,
        PW_LEND_UNHOLD, /* `session` holds `id`, loan `number`, no longer */
        PW_LEND_FIND,   /* of which of `ids` is there a whole replica here? pw_lend_found() is the answer */
        PW_LEND_SEND,   /* to `host`, on its link: `frame`, which is the daemon's now. `answers`: a work is done with it */
};
struct pw_lend_action {
        enum pw_lend_action_kind kind;
        uint32_t host;
        uint64_t session, number;
        struct pw_id id;
        const struct pw_talk_message *message; /* of HOLD, with the tenant; of FIND, with the ids */
        struct pw_link_frame *frame;
        bool answers;
};

PW_MUST_CHECK enum pw_status pw_lend_new(const struct pw_observer *observer, struct pw_lend **ret_lend, struct pw_error *ret_err);
void pw_lend_free(struct pw_lend *lend);

/* `host` said something that is for a lender, in the term that its link has now. The message stays until the actions are done.
 * Errors: PW_PROTOCOL, PW_NO_MEMORY: nothing has changed; give the host up. */
PW_MUST_CHECK enum pw_status pw_lend_receive(struct pw_lend *lend, uint32_t host, const struct pw_talk_message *message,
                                             struct pw_error *ret_err);
/* The term with `host` has ended. */
void pw_lend_ended(struct pw_lend *lend, uint32_t host);
/* So many references of ended sessions go. True: there are more. */
bool pw_lend_turn(struct pw_lend *lend, uint32_t parts);

/* --- what the store says ---------------------------------------------------------------------------------------------------- */

/* It answers HOLD: held, as `known` says; or not held, state PW_TALK_NONE, and why. Errors: PW_NO_MEMORY: nothing has changed; give
 * the host up, then say that it is held. */
PW_MUST_CHECK enum pw_status pw_lend_held(struct pw_lend *lend, uint64_t session, uint64_t number,
                                          const struct pw_talk_known *known, struct pw_error *ret_err);
/* What is held has become that: a value or an error, or its value ended. Nothing where the borrower has let go of it. Errors:
 * PW_NO_MEMORY: give the host up. */
PW_MUST_CHECK enum pw_status pw_lend_told(struct pw_lend *lend, uint64_t session, uint64_t number,
                                          const struct pw_talk_known *known, struct pw_error *ret_err);
/* It answers FIND, message `number`: `count` of the ids, written by pw_talk_put_id(). Errors: as above. */
PW_MUST_CHECK enum pw_status pw_lend_found(struct pw_lend *lend, uint64_t session, uint64_t number, struct pw_talk_bytes ids,
                                           struct pw_error *ret_err);

/* --- what is to be done ----------------------------------------------------------------------------------------------------- */

/* The next action; false: none. Each is given once, in order; all are done before the next event. */
bool pw_lend_next(struct pw_lend *lend, struct pw_lend_action *ret_action);

/* --- who has what ----------------------------------------------------------------------------------------------------------- */

uint64_t pw_lend_count(const struct pw_lend *lend); /* references, those included that are asked for or about to go */
struct pw_lend_row { uint32_t host; uint64_t session, number; struct pw_id id; enum pw_loan_state state; bool is_over; };
/* Each reference; is_over: its session has ended, and it has not gone yet. */
void pw_lend_each(const struct pw_lend *lend, void (*row)(void *, const struct pw_lend_row *), void *context);

#endif
