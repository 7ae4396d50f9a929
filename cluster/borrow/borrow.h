/* What this host borrows: a *proxy* for each object of another host that somebody here has, or is about to.
 *
 * The first who opens a foreign id has this host open it at its lender; all who open it meanwhile wait for the same answer, and
 * later ones find the proxy. When its slot is free, the lender is told, once. So a lender holds at most one reference of this host
 * for an object. Within a term of a link references are named by the numbers of their opens; when the term ends, what was borrowed
 * there is lost, but for what is whole here: values never change. That is handed on from here as its home did, and opened at its
 * home again when that is met. A proxy of an ended term is not what a later open gets, even where its end was not told yet (it goes
 * in parts).
 *
 * An id whose home is lost is searched at the hosts that are there, one search under way per lost host, many ids at a time; what
 * was not found is not searched again for a lease. What nobody has is PW_HOST_LOST; that is only ever said of what is here, not
 * handed on.
 *
 * A host that *drains* names another one that takes over what it has, its successor: there its objects are opened first from then
 * on. What is whole here needs no lender, and is given back to it; of what is not, the successor is asked to hold it, and then it
 * is given back to who drains. If the successor is this host, all that it borrowed there is pulled. What is not decided waits for
 * that. A successor that refuses changes nothing; it is asked again when the host says again that it drains.
 *
 * Only a home is asked so, in the epoch of the id: it borrows nothing of its own, so no two hosts come to hold an object for each
 * other alone. (In a later epoch it may: its replica may be of who asks.)
 *
 * Events are calls, effects are actions. Slots and values are the store's, links the daemon's. Times are those of CLOCK_BOOTTIME.
 * Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_BORROW_BORROW_H
#define PW_CLUSTER_BORROW_BORROW_H

#include "base/hash.h"
#include "cluster/borrow/talk.h"

struct pw_borrow;
struct pw_observer;
struct pw_proxy;
struct pw_proxy_row;

enum pw_proxy_state {
        PW_PROXY_NONE = 0,
        PW_PROXY_SEARCHING, /* no slot: the home is lost, others are asked who has it */
        PW_PROXY_OPENING,   /* no slot: a lender is asked to hold it */
        PW_PROXY_PENDING,   /* from here on it has a slot. Held there, not decided */
        PW_PROXY_ELSEWHERE, /* held there and ready; its bytes are not here */
        PW_PROXY_WHOLE,     /* held there; its value, or error, is here */
        PW_PROXY_ENDED,     /* held there; it was ready, and no memory has it any more */
        PW_PROXY_ALONE,     /* here it is, and nobody else holds it for this host */
        PW_PROXY_RENEWING,  /* likewise, and its home is asked to hold it again */
        PW_PROXY_MOVING,    /* as ELSEWHERE; its lender drains, and who takes over from that is asked to hold it too */
        PW_PROXY_FOLLOWING, /* likewise, and that lender is lost: it depends on the answer */
        PW_PROXY_LOST,      /* its lender was given up before it was here; no later open finds it */
        PW_PROXY_STATES
};
enum pw_proxy_event {
        PW_PROXY_SEARCH = 0, PW_PROXY_ASK, PW_PROXY_HOLD, PW_PROXY_READY, PW_PROXY_HAVE, PW_PROXY_END, PW_PROXY_REFUSE,
        PW_PROXY_TERM, PW_PROXY_FREE, PW_PROXY_MOVE, PW_PROXY_EVENTS
};

enum pw_borrow_action_kind {
        PW_BORROW_SEND = 1, /* to `host`, on its link: `frame`, which is the daemon's now */
        PW_BORROW_WANT,     /* `host` was given up, and somebody wants it: call it again */
        /* make a slot for `proxy`, and hold it until the answers that follow are given; `known`: what it is. A slot that cannot be
         * made, or that nobody takes, is pw_borrow_freed() */
        PW_BORROW_MAKE,
        PW_BORROW_ANSWER,   /* `opener` has `proxy`; or NULL: pw_borrow_explain() */
        PW_BORROW_TELL,     /* decide the slot, as `known` says: a value, here or elsewhere, an error; or its value ended */
        PW_BORROW_RENEWED,  /* `host` holds `proxy`, which is whole here, for this host again: pw_pull_renewed() */
        PW_BORROW_FETCH,    /* its lender drains, and this host takes over: pull the bytes of `proxy`, for whoever asks for them */
        PW_BORROW_LOSE,     /* `host`, which held it, is lost: the value ends, or never comes; pw_borrow_explain() */
};
struct pw_borrow_action {
        enum pw_borrow_action_kind kind;
        enum pw_status status;             /* of ANSWER without a proxy, and of LOSE */
        uint32_t host, epoch;              /* whom it is about; of SEND, WANT: to whom */
        uint64_t opener;
        struct pw_proxy *proxy;
        struct pw_link_frame *frame;
        const struct pw_talk_known *known; /* in what was received; NULL: nothing */
};
/* The error of ANSWER without a proxy, or of LOSE, with its sentence. */
enum pw_status pw_borrow_explain(const struct pw_borrow_action *action, struct pw_error *ret_err);

struct pw_borrow_params {
        uint32_t own;                       /* number of this host */
        uint64_t lease_us;
        struct pw_hash_secret secret;
        const struct pw_observer *observer; /* NULL: nobody watches; borrowed */
};
PW_MUST_CHECK enum pw_status pw_borrow_new(const struct pw_borrow_params *params, struct pw_borrow **ret_borrow,
                                           struct pw_error *ret_err);
void pw_borrow_free(struct pw_borrow *borrow);

/* --- those here ------------------------------------------------------------------------------------------------------------- */

struct pw_borrow_request {
        struct pw_id id;
        const char *tenant; /* who asks, */
        uint64_t opener;    /* by this number, which no other has; it comes back with the answer */
        uint64_t until_us, now_us;
};
/* PW_OK: *ret_proxy has a slot, take a reference of it now. PW_NOT_READY: it was asked for, ANSWER comes, once. Errors:
 * PW_HOST_LOST (its home is, and nobody had it a while ago), PW_INVALID (an id of no host, a tenant without a name), PW_EXISTS
 * (`opener`), PW_NO_MEMORY. An object of this host, in its epoch, is the store's, and not asked for here. */
PW_MUST_CHECK enum pw_status pw_borrow_open(struct pw_borrow *borrow, const struct pw_borrow_request *request,
                                            struct pw_proxy **ret_proxy, struct pw_error *ret_err);
/* It waits no longer: no ANSWER comes. */
void pw_borrow_forget(struct pw_borrow *borrow, uint64_t opener);
/* A replica of it is whole: all of its value is here. */
void pw_borrow_pulled(struct pw_borrow *borrow, struct pw_proxy *proxy);
/* Its slot is free: nobody here holds it. `proxy` is no more. */
void pw_borrow_freed(struct pw_borrow *borrow, struct pw_proxy *proxy);
/* What is whole here, to lend it; NULL: nothing. */
struct pw_proxy *pw_borrow_whole(struct pw_borrow *borrow, struct pw_id id, struct pw_talk_bytes tenant);
/* What this host knows of it, for the tenant, or, `tenant` NULL, for any; also while it is searched or opened. False: nothing. */
bool pw_borrow_see(const struct pw_borrow *borrow, struct pw_id id, const char *tenant, struct pw_proxy_row *ret_row);
/* What stands for it here, and has a slot or is about to: of the tenant, or, `tenant` NULL, of any; NULL: nothing. */
struct pw_proxy *pw_borrow_find(const struct pw_borrow *borrow, struct pw_id id, const char *tenant);
/* Is it whole here, whoever's it is? */
bool pw_borrow_has(struct pw_borrow *borrow, struct pw_id id);

/* --- other hosts ------------------------------------------------------------------------------------------------------------ */

/* `host` said something that is for a borrower, in the term that its link has now. The message stays until the actions are
 * done. Errors: PW_PROTOCOL, PW_NO_MEMORY: nothing has changed; give the host up. */
PW_MUST_CHECK enum pw_status pw_borrow_receive(struct pw_borrow *borrow, uint32_t host, const struct pw_talk_message *message,
                                               struct pw_error *ret_err);
/* The two have met: it is there, in that epoch. Nothing, where they had met in this term. Errors: PW_NO_MEMORY: shut the
 * connection. */
PW_MUST_CHECK enum pw_status pw_borrow_met(struct pw_borrow *borrow, uint32_t host, uint32_t epoch, struct pw_error *ret_err);
/* Does a host that is there drain, so that this one takes over from it? Then what it is asked to lend, and has not, it opens
 * itself, and pulls; PW_NOT_READY is the answer where that is not decided: its home lends it. */
bool pw_borrow_takes_over(const struct pw_borrow *borrow);
/* So the host table says of `host`, in that epoch: who has not heard it itself asks its successor, too. What the host itself says
 * counts more. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_borrow_drained(struct pw_borrow *borrow, uint32_t host, uint32_t epoch, uint32_t successor,
                                               struct pw_error *ret_err);
/* Who takes over from `host`, in the epoch in which it was met last; 0: it does not drain. */
uint32_t pw_borrow_successor(const struct pw_borrow *borrow, uint32_t host);
/* The term with `host` has ended. What was sent since belongs to the next one. */
void pw_borrow_ended(struct pw_borrow *borrow, uint32_t host);
/* What is due at now_us, and so many proxies of what has ended. True: there are more. */
bool pw_borrow_turn(struct pw_borrow *borrow, uint64_t now_us, uint32_t parts);
uint64_t pw_borrow_next_us(const struct pw_borrow *borrow); /* when the next turn is due; UINT64_MAX: not before something comes */

/* --- what is to be done ----------------------------------------------------------------------------------------------------- */

/* The next action; false: none. Each is given once, in order; all are done before the next event. */
bool pw_borrow_next(struct pw_borrow *borrow, struct pw_borrow_action *ret_action);

/* --- proxies ---------------------------------------------------------------------------------------------------------------- */

struct pw_proxy_row {
        const struct pw_proxy *proxy;
        struct pw_id id;
        struct pw_talk_bytes tenant;
        enum pw_proxy_state state;
        uint32_t lender;    /* who holds it for this host; of OPENING, RENEWING, FOLLOWING: who is asked */
        uint64_t number;    /* of its open there, in this term; 0: nobody is asked, nobody holds it */
        uint32_t openers;   /* who wait */
        void *place;        /* the daemon's */
};
void pw_proxy_row(const struct pw_proxy *proxy, struct pw_proxy_row *ret_row);
void pw_proxy_set_place(struct pw_proxy *proxy, void *place);
void pw_borrow_each(const struct pw_borrow *borrow, void (*row)(void *, const struct pw_proxy_row *), void *context);

#endif
