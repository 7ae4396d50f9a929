/* One object of another host that somebody here has: between the proxy of cluster/borrow/borrow.h, its slot in the store, and the
 * room for its bytes. What the files of borrowing share.
 */
#ifndef PW_DAEMON_PEER_BORROWED_H
#define PW_DAEMON_PEER_BORROWED_H

#include "daemon/memory/freezer/replica.h"
#include "daemon/peer/peers_private.h"
#include "daemon/wait.h"

struct pw_dsession;
struct pw_object;
struct pw_pulling;
struct pw_taking;
struct pw_tenant;

struct pw_borrowed {
        struct pw_list link;        /* in peers->unmade; else alone */
        uint64_t number;            /* in peers->borrowed; the store knows it by that */
        struct pw_peers *peers;
        struct pw_proxy *proxy;     /* NULL: the core has forgotten it */
        struct pw_tenant *tenant;
        struct pw_id id;
        struct pw_object *object;   /* its slot; NULL while it is made, or could not be; pw_borrowed_object() */
        struct pw_cell cell;        /* there */
        bool handed_out;            /* those who waited for the slot have been answered */
        struct pw_error unmade;     /* why there is no slot; status PW_OK: it is being made, or there */
        struct pw_list openers;     /* struct pw_opening: they wait for the slot; or for its end, to open the object anew */
        struct pw_list fetches;     /* struct pw_fetching: they wait for the bytes */
        /* What is known of it; `value` and `text` lie in `own`. */
        struct pw_talk_known known;
        uint8_t *own;
        /* Its bytes. */
        struct pw_replica *replica; /* room was asked for, or is there; until the proxy has it */
        struct pw_pulling *pulling; /* while any thread may have that room */
        uint64_t slow_since_us;     /* CLOCK_MONOTONIC; its source was not in time, and is asked again since; 0: it was */
        uint32_t pulled_from;       /* the lender, when that began */
        struct pw_object *kept;     /* the replica that the proxy has, held for as long */
};

/* --- opening.c: who opens ---------------------------------------------------------------------------------------------------- */

/* Of struct pw_foreign. */
void pw_opening_open(struct pw_dsession *session, uint64_t request, struct pw_id id, uint64_t until_us);
void pw_opening_session_end(struct pw_dsession *session);

/* The same, by this host itself: pw_taking_opened(). */
void pw_opening_take(struct pw_peers *peers, struct pw_taking *taking, struct pw_id id, uint64_t until_us);

/* Those who wait for the slot get it, or the reason why there is none. */
void pw_opening_answer_all(struct pw_borrowed *borrowed);
/* The core answers an opener: with `borrowed`, or with `why`. */
void pw_opening_answer(struct pw_peers *peers, uint64_t opener, struct pw_borrowed *borrowed, const struct pw_error *why);
/* Those of `session`, or of all (NULL), that wait. */
void pw_opening_each_wait(const struct pw_peers *peers, const struct pw_dsession *session,
                          void (*row)(void *, const struct pw_wait_row *), void *context);
/* Those in the list open the object anew: the slot that they were answered with has ended. */
void pw_opening_open_anew(struct pw_peers *peers, struct pw_list *openers, struct pw_id id);
void pw_opening_done(struct pw_peers *peers);

/* --- fetching.c: where its bytes come from ------------------------------------------------------------------------------------ */

/* Of struct pw_foreign. */
void pw_fetching_fetch(struct pw_dsession *session, uint64_t request, struct pw_object *object, uint64_t until_us);
void pw_fetching_session_end(struct pw_dsession *session);
void pw_fetching_wanted(struct pw_daemon *daemon, uint64_t number);
/* This host itself wants them, and waits for room for so long: pw_taking_fetched(), later. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_fetching_take(struct pw_borrowed *borrowed, struct pw_taking *taking, uint64_t wait_us);

/* The value that came along is put into a room, which is asked for. False: it is not known, or there can be none now. */
bool pw_fetching_place(struct pw_borrowed *borrowed);
/* Who waits for the bytes is answered: they are here, or it was decided otherwise (`why` NULL), or they cannot be had now. */
void pw_fetching_answer(struct pw_borrowed *borrowed, const struct pw_error *why);
/* Its bytes are not wanted any more: room, threads. */
void pw_fetching_stop(struct pw_borrowed *borrowed);
/* Who waits for the bytes until now_us (CLOCK_MONOTONIC) is told so. When somebody is due next; UINT64_MAX: nobody. */
uint64_t pw_fetching_turn(struct pw_peers *peers, uint64_t now_us);
/* Those of `session`, or of all (NULL), that wait. */
void pw_fetching_each_wait(const struct pw_peers *peers, const struct pw_dsession *session,
                           void (*row)(void *, const struct pw_wait_row *), void *context);

/* --- borrowing.c -------------------------------------------------------------------------------------------------------------- */

struct pw_borrowed *pw_borrowed_of(const struct pw_peers *peers, uint64_t number); /* NULL: it is no more */
/* Its slot; NULL: there is none, or the store has freed it and is about to say so. */
struct pw_object *pw_borrowed_object(const struct pw_borrowed *borrowed);
/* The store has let go of its slot, and is about to say so by PW_STORE_FREE_PROXY: nobody can hold it any more. */
bool pw_borrowed_ends(const struct pw_borrowed *borrowed);
/* Do what the core wants. */
void pw_borrowing_act(struct pw_peers *peers);
/* It is READY, and its bytes are not here. Errors of the store stay in the entry. */
void pw_borrowed_decide(struct pw_borrowed *borrowed);
/* It is nobody's any more, and no thread has a room of it: freed. */
void pw_borrowed_settle(struct pw_borrowed *borrowed);

#endif
