/* What the files of borrowing share. Nobody else includes this. */
#ifndef PW_CLUSTER_BORROW_BORROW_PRIVATE_H
#define PW_CLUSTER_BORROW_BORROW_PRIVATE_H

#include "cluster/borrow/borrow.h"

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"

#define PW_PROXY_FOUND_MAX 4u

/* What is known of another host. UNKNOWN: it was not met, nor given up. */
enum pw_borrow_peer_state { PW_BORROW_UNKNOWN = 0, PW_BORROW_THERE, PW_BORROW_AWAY };
struct pw_borrow_peer {
        uint32_t host, epoch;       /* 0: never met */
        enum pw_borrow_peer_state state;
        bool wanted_again;          /* since it was given up */
        uint64_t term;              /* counts those that ended */
        struct pw_list borrowed;    /* proxies that it holds, or is asked to, in this term */
        uint32_t successor, drained; /* who takes over from it, in this epoch of it; 0: nobody, it does not drain */
        struct pw_list draining;    /* in the borrower's list: what it holds for this host is to be looked at */
        struct pw_list staying;     /* like `borrowed`, and it was looked at: nothing can be done about it now */
        struct pw_list moves;       /* that it was asked for, and did not answer */
        struct pw_list alone;       /* proxies of its objects that are opened there again when it is met */
        struct pw_list asks;        /* searches that it has not answered */
        /* As a home that is lost: */
        struct pw_list waiting;     /* proxies that come with the next search */
        struct pw_list batch;       /* those of the one that is under way */
        uint32_t unanswered;        /* hosts */
        struct pw_list due;         /* in the borrower's list: a search is to begin, or has ended */
};

struct pw_proxy {
        struct pw_list of;          /* in a list of a peer, or in that of what is to be settled */
        struct pw_proxy *same_key;
        uint64_t key, number, term; /* term: of its lender, when it was asked */
        struct pw_id id;
        enum pw_proxy_state state;
        struct pw_borrow_peer *home, *lender;
        struct pw_list openers;
        struct pw_link_frame *release; /* of `number` */
        struct pw_borrow_move *move; /* of MOVING; else NULL */
        uint32_t holder, epoch;     /* who held it last, and in which epoch; `lender` may be one that was only asked to */
        uint32_t opener_count;
        uint32_t found[PW_PROXY_FOUND_MAX], found_count; /* hosts that have it, and were not asked to hold it */
        void *place;
        bool listed;                /* opens find it */
        bool led;                   /* who is asked is so as the home's successor, in the first place */
        bool not_at_home;           /* its home drains, and said that it is not there any more */
        uint8_t tenant_bytes;
        char tenant[];
};

/* A successor is asked to hold what another one lends. */
struct pw_borrow_move {
        struct pw_list link;        /* of the successor */
        struct pw_borrow_peer *to;
        uint64_t number;
        struct pw_link_frame *release;
        struct pw_proxy *proxy;     /* NULL: it does not want it any more */
        struct pw_id id;
        uint8_t tenant_bytes;
        char tenant[];
};
struct pw_opener { struct pw_list link; struct pw_heap_item deadline; struct pw_proxy *proxy; uint64_t number; };
struct pw_borrow_ask { struct pw_list link; struct pw_borrow_peer *home; uint64_t number; };
struct pw_borrow_miss { struct pw_list link; struct pw_id id; uint64_t key, until_us; };

struct pw_borrow {
        struct pw_borrow_params params;
        uint64_t numbers, now_us;
        struct pw_table peers;   /* by host */
        struct pw_table proxies; /* those that are listed, by id; chains of one key */
        struct pw_table opens;   /* proxies, by the number of their open */
        struct pw_table moves;   /* by number */
        struct pw_list drainers; /* peers */
        struct pw_table openers; /* by number */
        struct pw_heap deadlines;
        struct pw_list all_lost; /* proxies that no open finds */
        struct pw_list unsettled; /* proxies of terms that ended, and those whose home was met */
        struct pw_list due;      /* peers whose search is to begin, or to be ended */
        struct pw_table misses;  /* by id */
        struct pw_list aging;    /* misses, the oldest first */
        uint32_t miss_count;
        struct pw_borrow_action *actions;
        uint32_t first, count, capacity;
        uint32_t promised;       /* actions for which there is place: an answer for each opener, a release for each proxy */
};

/* borrow.c */
bool pw_proxy_step(struct pw_borrow *borrow, struct pw_proxy *proxy, enum pw_proxy_event event);
bool pw_proxy_may(const struct pw_proxy *proxy, enum pw_proxy_event event);
/* Is it held, or asked for, in the term that its lender's link has now? */
static inline bool pw_proxy_is_current(const struct pw_proxy *proxy)
{
        return proxy->number && proxy->term == proxy->lender->term;
}
/* So `lender` says: what is lost from now on is lost with it. */
static inline void pw_proxy_held_by(struct pw_proxy *proxy, const struct pw_borrow_peer *lender)
{
        proxy->holder = lender->host;
        proxy->epoch = lender->epoch;
}
/* Place for three actions more. */
bool pw_borrow_prepare(struct pw_borrow *borrow);
void pw_borrow_act(struct pw_borrow *borrow, const struct pw_borrow_action *action);
struct pw_borrow_peer *pw_borrow_peer(struct pw_borrow *borrow, uint32_t host); /* NULL: out of memory */
/* All who wait for it have their answer: the proxy, `known` NULL; or why not. */
void pw_proxy_answer(struct pw_borrow *borrow, struct pw_proxy *proxy, const struct pw_borrow_action *answer);
void pw_proxy_unlist(struct pw_borrow *borrow, struct pw_proxy *proxy); /* no open finds it any more */
void pw_proxy_forget(struct pw_borrow *borrow, struct pw_proxy *proxy); /* nor is it there */
void pw_opener_forget(struct pw_borrow *borrow, struct pw_opener *opener);
uint64_t pw_borrow_id_key(const struct pw_borrow *borrow, struct pw_id id);

/* borrow_term.c: what has a lender. Errors: PW_NO_MEMORY: nothing has changed. */
PW_MUST_CHECK enum pw_status pw_proxy_ask(struct pw_borrow *borrow, struct pw_proxy *proxy, struct pw_borrow_peer *lender);
PW_MUST_CHECK enum pw_status pw_proxy_route(struct pw_borrow *borrow, struct pw_proxy *proxy);
PW_MUST_CHECK enum pw_status pw_proxy_lose(struct pw_borrow *borrow, struct pw_proxy *proxy);
PW_MUST_CHECK enum pw_status pw_proxy_settle(struct pw_borrow *borrow, struct pw_proxy *proxy);
void pw_proxy_let_go(struct pw_borrow *borrow, struct pw_proxy *proxy); /* its number means nothing more */
bool pw_proxy_home_is_there(const struct pw_borrow *borrow, const struct pw_proxy *proxy);

/* borrow_drain.c */
/* Its home drains: who is to be asked for it first; NULL: nobody, or that is not there. */
struct pw_borrow_peer *pw_proxy_successor(const struct pw_borrow *borrow, const struct pw_proxy *proxy);
bool pw_proxy_home_drains(const struct pw_proxy *proxy);
void pw_proxy_look_again(struct pw_proxy *proxy); /* it has changed: perhaps it need not stay at a lender that drains */
/* `lender` was asked to hold it, and nobody wanted that any more: now it does. False: it was not. */
bool pw_proxy_was_asked(struct pw_proxy *proxy, struct pw_borrow_peer *lender);
/* From now on it is held, or asked for, by the number of its move. Errors: PW_NO_MEMORY: nothing has changed. */
PW_MUST_CHECK enum pw_status pw_proxy_take_move(struct pw_borrow *borrow, struct pw_proxy *proxy);
void pw_proxy_forget_move(struct pw_proxy *proxy); /* what was asked for is given back when it comes */
/* The lender of what is MOVING is lost. */
PW_MUST_CHECK enum pw_status pw_proxy_follow(struct pw_borrow *borrow, struct pw_proxy *proxy);
PW_MUST_CHECK enum pw_status pw_borrow_drain_said(struct pw_borrow *borrow, struct pw_borrow_peer *peer, uint32_t successor,
                                           struct pw_error *ret_err);
/* Who takes over has answered. */
PW_MUST_CHECK enum pw_status pw_borrow_move_answered(struct pw_borrow *borrow, struct pw_borrow_move *move,
                                              const struct pw_talk_known *known);
void pw_borrow_drain_peer_ended(struct pw_borrow *borrow, struct pw_borrow_peer *peer);
void pw_borrow_drain_peer_met(struct pw_borrow *borrow); /* it may be one that takes over, or has heard of that */
void pw_borrow_drain_turn(struct pw_borrow *borrow, uint32_t *parts);
bool pw_borrow_drain_is_due(const struct pw_borrow *borrow);
void pw_borrow_drain_done(struct pw_borrow *borrow);

/* borrow_search.c */
void pw_borrow_search_want(struct pw_borrow *borrow, struct pw_proxy *proxy);
bool pw_borrow_search_missed(struct pw_borrow *borrow, struct pw_id id);
/* Its home, if that is back, or the next host that was found to have it is asked to hold it; or who waits is told that nobody
 * has it. */
PW_MUST_CHECK enum pw_status pw_borrow_search_next(struct pw_borrow *borrow, struct pw_proxy *proxy);
PW_MUST_CHECK enum pw_status pw_borrow_search_found(struct pw_borrow *borrow, struct pw_borrow_peer *peer,
                                             const struct pw_talk_message *message, struct pw_error *ret_err);
void pw_borrow_search_peer_ended(struct pw_borrow *borrow, struct pw_borrow_peer *peer);
PW_MUST_CHECK enum pw_status pw_borrow_search_turn(struct pw_borrow *borrow);
void pw_borrow_search_done(struct pw_borrow *borrow);

#endif
